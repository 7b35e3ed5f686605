"""How much noise a capped histogram needs: public numbers, rounded so that there is never too little (Theorem 196)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from shortlist.exact.noise import GAUSSIAN, LAPLACE, Noise
from shortlist.exact.search import bisect
from shortlist.exact.thresholds import keeps
from shortlist.mechanisms.base import Budget
from shortlist.privacy import ZCDP, ApproxDP, PureDP


@dataclass(frozen=True, slots=True)
class RoundedNoise:
    """The noise on each count: Laplace or Gaussian noise of that scale, the sum rounded to the nearest whole number.

    Its law on whole errors is P[error >= z] = P[scale N >= z - 1/2], so P[|error| <= h] = 1 - 2 P[scale N >= h + 1/2].
    """

    noise: Noise
    scale: Fraction

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, before it is rounded."""
        return float(self.scale) * (math.sqrt(2.0) if self.noise is LAPLACE else 1.0)


FAR = 2.0**40
"""Laplace noise is far narrower than Gaussian noise from this epsilon on, whatever the cap."""


@lru_cache
def histogram_noise(budget: Budget, most: int, sensitivity: Fraction) -> RoundedNoise:
    """For scores of which one person moves `most` at most, each by the sensitivity at most.

    Laplace noise of scale m Delta / epsilon, or Gaussian noise of deviation sqrt(m) Delta / mu; of the two that an
    (epsilon, delta) budget allows, the one with the smaller deviation.
    """
    if isinstance(budget, PureDP):
        return RoundedNoise(LAPLACE, most * sensitivity / Fraction(budget.epsilon))
    if isinstance(budget, ZCDP):
        return RoundedNoise(GAUSSIAN, sensitivity * root_above(most / (2 * Fraction(budget.rho))))
    narrow = [RoundedNoise(LAPLACE, most * sensitivity / Fraction(budget.epsilon))] if budget.epsilon else []
    if budget.delta and budget.epsilon < FAR:
        narrow.append(RoundedNoise(GAUSSIAN, sensitivity * root_above(Fraction(most)) / _rate(budget)))
    return min(narrow, key=lambda one: one.deviation)


def root_above(square: Fraction) -> Fraction:
    """A float no smaller than the root, and hardly larger."""
    root = math.sqrt(square)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return Fraction(root)


@lru_cache
def _rate(budget: ApproxDP) -> Fraction:
    """mu, rounded down: Gaussian noise of deviation 1 on what moves by mu is certainly within the budget."""

    def too_much(mu: float) -> bool:
        return not keeps(Fraction(budget.epsilon), budget.delta, Fraction(mu))

    low, high = 0.0, 1.0
    while not too_much(high):
        low, high = high, 2 * high
    return Fraction(bisect(too_much, low, high, _between)[0])


def _between(low: float, high: float) -> float | None:
    """Halves until the points differ by at most 2^-40 of the smaller."""
    return (low + high) / 2 if high - low > low * 2.0**-40 else None
