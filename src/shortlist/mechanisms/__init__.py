"""Every mechanism, one file each."""

from shortlist.mechanisms.base import Mechanism
from shortlist.mechanisms.canonical import CanonicalTopK
from shortlist.mechanisms.canonical_limited import CanonicalLimitedDomain
from shortlist.mechanisms.exponential_gap import ExponentialWithGap
from shortlist.mechanisms.gaps import MeasuredTopK, TopKWithGaps
from shortlist.mechanisms.guarded import GuardedTopK
from shortlist.mechanisms.gumbel_values import GumbelTopKValues
from shortlist.mechanisms.hybrids import HybridSparseVector, HybridTopK
from shortlist.mechanisms.joint import JointTopK
from shortlist.mechanisms.large_gap import LargeGap
from shortlist.mechanisms.limited_domain import LimitedDomainTopK
from shortlist.mechanisms.noisy_max import NoisyMax
from shortlist.mechanisms.oneshot import OneshotTopK
from shortlist.mechanisms.sparse_vector import SparseVector
from shortlist.mechanisms.stable import StableTopK

__all__ = [
    "CanonicalLimitedDomain",
    "CanonicalTopK",
    "ExponentialWithGap",
    "GuardedTopK",
    "GumbelTopKValues",
    "HybridSparseVector",
    "HybridTopK",
    "JointTopK",
    "LargeGap",
    "LimitedDomainTopK",
    "MeasuredTopK",
    "Mechanism",
    "NoisyMax",
    "OneshotTopK",
    "SparseVector",
    "StableTopK",
    "TopKWithGaps",
]
