"""How much noise a capped histogram needs: public numbers, rounded so that there is never too little (Theorem 196)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from shortlist.exact.gaussian_noise import GAUSSIAN
from shortlist.exact.noise_distributions import LAPLACE, Noise
from shortlist.exact.partial_reals import ball
from shortlist.mechanisms.checks import Budget
from shortlist.privacy import ZCDP, ApproxDP, PureDP

PRECISION = 256


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
    if budget.delta and (rate := gaussian_rate(budget)):
        narrow.append(RoundedNoise(GAUSSIAN, sensitivity * root_above(Fraction(most)) / rate))
    return min(narrow, key=lambda one: one.deviation)


def root_above(square: Fraction) -> Fraction:
    """A float no smaller than the root, and hardly larger."""
    found = math.sqrt(square)
    while Fraction(found) ** 2 < square:
        found = math.nextafter(found, math.inf)
    return Fraction(found)


@lru_cache
def gaussian_rate(budget: ApproxDP) -> Fraction:
    """mu, rounded down: Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) is certainly at most delta.

    0 where balls cannot tell, which is at an epsilon beyond 2^200; Laplace noise is far narrower there.
    """
    low, high = 0.0, 1.0
    while _fits(budget, high):
        low, high = high, 2 * high
    while high - low > low * 2.0**-40:
        middle = (low + high) / 2
        low, high = (middle, high) if _fits(budget, middle) else (low, middle)
    return Fraction(low)


def _fits(budget: ApproxDP, mu: float) -> bool:
    from flint import arb, ctx

    with ctx.workprec(PRECISION):
        rate, epsilon = ball(Fraction(mu)), ball(Fraction(budget.epsilon))
        half, far = rate / 2, epsilon / rate
        here, there = ((far - half) / arb(2).sqrt()).erfc() / 2, ((far + half) / arb(2).sqrt()).erfc() / 2
        return bool(here - epsilon.exp() * there <= ball(Fraction(budget.delta)))
