"""Laws of one draw at a noise scale of 1, asked of the mechanisms: what is below compares them with other paths."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np

from shortlist.mechanisms import CanonicalTopK, NoisyMax, OneshotTopK

NOISES = ("gumbel", "exponential", "laplace", "logistic", "half-logistic")
"""Every noise of a race by its name."""


def winner_probabilities(s: Any, noise: Any) -> Any:
    return np.asarray(NoisyMax(epsilon=1.0, noise=noise).probabilities(s, monotone=True))


def _oneshot(k: int, noise: Any) -> OneshotTopK:
    return OneshotTopK(k=k, epsilon=float(k), noise=noise)


def right_probability(s: Any, k: int, noise: Any) -> float:
    return _oneshot(k, noise).success_probability(s, monotone=True)


def number_correct(s: Any, k: int, noise: Any) -> Any:
    return _oneshot(k, noise).number_correct(s, monotone=True)


def inclusion_probabilities(s: Any, k: int, noise: Any) -> Any:
    return _oneshot(k, noise).inclusion_probabilities(s, monotone=True)


def quality(s: Any, k: int, noise: Any) -> Any:
    return _oneshot(k, noise).quality(s, monotone=True)


def canonical(k: int, rate: float, gamma: Any = Fraction(1, 2), noise: str = "gumbel", loss: Any = "gap-aware") -> Any:
    """The canonical mechanism that weighs a loss by this rate if scores are monotone."""
    return CanonicalTopK(k=k, epsilon=rate, gamma=gamma, noise=noise, loss=loss)


def great_ranks(k: int) -> tuple[int, int]:
    """A great set has all of the first of these ranks, and none beyond the second."""
    return ceil(Fraction(k, 10)), floor(Fraction(11, 10) * k)


def good_ranks(k: int) -> tuple[int, int]:
    return ceil(Fraction(k, 100)), floor(Fraction(3, 2) * k)


def holds(x: Any, chosen: Any, head: int, reach: int) -> bool:
    """All that are among the first `head` however ties are broken, and none that is beyond `reach` however."""
    values = np.asarray(x)
    worst, best = (
        [int(np.count_nonzero(how(values, one))) for one in values] for how in (np.greater_equal, np.greater)
    )
    return all(i in chosen for i in range(len(values)) if worst[i] <= head) and all(best[i] < reach for i in chosen)
