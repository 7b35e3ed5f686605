"""Every mechanism, one file each."""

from shortlist.mechanisms.base import Mechanism
from shortlist.mechanisms.canonical import CanonicalTopK
from shortlist.mechanisms.guarded import GuardedTopK
from shortlist.mechanisms.gumbel_values import GumbelTopKValues
from shortlist.mechanisms.joint import JointTopK
from shortlist.mechanisms.noisy_max import NoisyMax
from shortlist.mechanisms.oneshot import OneshotTopK

__all__ = [
    "CanonicalTopK",
    "GuardedTopK",
    "GumbelTopKValues",
    "JointTopK",
    "Mechanism",
    "NoisyMax",
    "OneshotTopK",
]
