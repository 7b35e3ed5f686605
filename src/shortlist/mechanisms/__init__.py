"""Every mechanism has a folder here; these are their classes, for users.

In a folder: `mechanism.py` is the class, with its promise, its parameters and `_draw`; `law.py` is its exact utility,
where that is not in `shortlist.exact`; `certified.py` is its law once more, for the proof on a box; `entry.py` is what
`top_k`, `compare`, `plan`, the audit and the docs know of it.

Shared by all: `contract.py` (from scores to a release), `checks.py` (arguments), `utility.py` (methods that ask a
law), `entry.py` and `entries.py` (what an entry is, and the list of all), `plan_rows.py` (rows of a plan); and for
candidates that come from the data `unknown_domain.py` and `unknown_domain_rule.py`.
"""

from shortlist.mechanisms.base import Mechanism
from shortlist.mechanisms.gaps import ExponentialWithGap, GumbelTopKValues, MeasuredTopK, TopKWithGaps
from shortlist.mechanisms.lists import GuardedListTopK, JointTopK, OrderedCanonicalTopK
from shortlist.mechanisms.partition import KeySet, NamesChoice
from shortlist.mechanisms.quantiles import Quantile
from shortlist.mechanisms.race import NoisyMax, OneshotTopK
from shortlist.mechanisms.sets import CanonicalTopK, GuardedTopK
from shortlist.mechanisms.stable import LargeGap, StableTopK
from shortlist.mechanisms.threshold import HybridSparseVector, HybridTopK, SparseVector
from shortlist.mechanisms.unknown_domain import CanonicalLimitedDomain, LimitedDomainTopK
from shortlist.mechanisms.values import MeasuredSet, NoisyHistogram

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
