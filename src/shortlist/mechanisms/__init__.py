"""Every mechanism has a folder here; these are their classes, for users.

In a folder: `mechanism.py` is the class, with its promise, its parameters and `_draw`; `law.py` is its exact utility,
where that is not in `shortlist.exact`; `certified.py` is its law once more, for the proof on a box; `entry.py` is what
`top_k`, `compare`, `plan`, the audit and the docs know of it.

Shared by all: `contract.py` (from scores to a release), `checks.py` (arguments), `utility.py` (methods that ask a
law), `entry.py` and `entries.py` (what an entry is, and the list of all), `plan_rows.py` (rows of a plan); and for
candidates that come from the data `unknown_domain.py` and `unknown_domain_rule.py`.
"""

from shortlist.mechanisms.canonical.mechanism import CanonicalTopK
from shortlist.mechanisms.canonical_limited.mechanism import CanonicalLimitedDomain
from shortlist.mechanisms.contract import Mechanism
from shortlist.mechanisms.exponential_gap.mechanism import ExponentialWithGap
from shortlist.mechanisms.gaps.mechanism import MeasuredTopK, TopKWithGaps
from shortlist.mechanisms.guarded.mechanism import GuardedTopK
from shortlist.mechanisms.guarded_list.mechanism import GuardedListTopK
from shortlist.mechanisms.gumbel_values.mechanism import GumbelTopKValues
from shortlist.mechanisms.histogram.mechanism import NoisyHistogram
from shortlist.mechanisms.hybrids.mechanism import HybridSparseVector, HybridTopK
from shortlist.mechanisms.joint.mechanism import JointTopK
from shortlist.mechanisms.keys.mechanism import KeySet
from shortlist.mechanisms.large_gap.mechanism import LargeGap
from shortlist.mechanisms.limited_domain.mechanism import LimitedDomainTopK
from shortlist.mechanisms.measured.mechanism import MeasuredSet
from shortlist.mechanisms.names_choice.mechanism import NamesChoice
from shortlist.mechanisms.noisy_max.mechanism import NoisyMax
from shortlist.mechanisms.oneshot.mechanism import OneshotTopK
from shortlist.mechanisms.ordered_canonical.mechanism import OrderedCanonicalTopK
from shortlist.mechanisms.quantile.mechanism import Quantile
from shortlist.mechanisms.sparse_vector.mechanism import SparseVector
from shortlist.mechanisms.stable.mechanism import StableTopK

__all__ = [
    "CanonicalLimitedDomain",
    "CanonicalTopK",
    "ExponentialWithGap",
    "GuardedListTopK",
    "GuardedTopK",
    "GumbelTopKValues",
    "HybridSparseVector",
    "HybridTopK",
    "JointTopK",
    "KeySet",
    "LargeGap",
    "LimitedDomainTopK",
    "MeasuredSet",
    "MeasuredTopK",
    "Mechanism",
    "NamesChoice",
    "NoisyHistogram",
    "NoisyMax",
    "OneshotTopK",
    "OrderedCanonicalTopK",
    "Quantile",
    "SparseVector",
    "StableTopK",
    "TopKWithGaps",
]
