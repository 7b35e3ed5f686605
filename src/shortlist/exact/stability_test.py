"""How likely a top-j set passes its test of stability, as a function of the gap behind it (Theorem 102, 103).

Whole-number counts, and a gap q between rank j and the next. One person can change the top-j set only if q <= slack: 1
for counts under add/remove, 2 where one person may move every count by one either way (Lemma 101). There the
test passes with probability at most delta; above, its one bit costs epsilon or rho. Chances are balls at the working
precision, so that one uniform number decides exactly; a tie (q = 0) never passes, whichever test it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from shortlist._runtime import IMPORTS
from shortlist.exact.partial_reals import ball

if TYPE_CHECKING:
    from flint import arb


class StabilityTest(Protocol):
    """The probability of passing at each gap of at least 1."""

    def chance(self, gap: int) -> arb: ...


@dataclass(frozen=True, slots=True)
class GaussianTest:
    """max(slack, q) + N(0, 1/rate^2) - z/rate > slack: passes with Phi((max(slack, q) - slack) rate - z).

    Moving q by one person's `slack` shifts the normal law by slack * rate: (slack rate)^2 / 2-zCDP. z is rounded up so
    that Phi(-z) <= delta.
    """

    rate: Fraction
    z: float
    slack: int = 1

    def chance(self, gap: int) -> arb:
        from flint import arb

        a = (max(self.slack, gap) - self.slack) * self.rate - Fraction(self.z)
        return (-ball(a) / arb(2).sqrt()).erfc() / 2


@dataclass(frozen=True, slots=True)
class LaplaceTest:
    """max(1, q) + Lap(1/epsilon) > 1 + ln(1/(2 delta)) / epsilon: (epsilon, delta)-DP, delta < 1/2."""

    epsilon: Fraction
    delta: Fraction

    def chance(self, gap: int) -> arb:
        low = ball(self.delta) * ball(self.epsilon * (max(1, gap) - 1)).exp()
        if low < 0.5:
            return low
        high = 1 - 1 / (4 * low)
        return high if low > 0.5 else low.union(high)


@dataclass(frozen=True, slots=True)
class OptimalTest:
    """pi(0) = 0, pi(q + 1) = min(e^epsilon pi(q) + delta, 1 - e^-epsilon (1 - pi(q) - delta), 1).

    The largest probabilities of passing that (epsilon, delta) allows to a test that is silent at a tie. In closed form:
    delta (e^(q epsilon) - 1) / (e^epsilon - 1) up to the first q = n above (1 - delta) / (e^epsilon + 1); from there
    1 - pi falls to w = -delta / (e^epsilon - 1) by a factor e^-epsilon each step, until it reaches 0.
    """

    epsilon: Fraction
    delta: Fraction

    def chance(self, gap: int) -> arb:
        from flint import arb

        turn = _turn(self.epsilon, self.delta)
        if gap <= turn:
            return self._rising(gap)
        floor = -ball(self.delta) / ball(self.epsilon).expm1()
        rest = floor + (1 - self._rising(turn) - floor) * (-ball(self.epsilon * (gap - turn))).exp()
        return arb(1) if rest < 0 else 1 - rest

    def _rising(self, gap: int) -> arb:
        return ball(self.delta) * ball(self.epsilon * gap).expm1() / ball(self.epsilon).expm1()


@lru_cache
def _turn(epsilon: Fraction, delta: Fraction) -> int:
    """The first q with pi(q) > (1 - delta) / (e^epsilon + 1), where the other branch takes over: certified.

    It is floor(x) + 1 with delta (e^(x epsilon) - 1) / (e^epsilon - 1) = (1 - delta) / (e^epsilon + 1); x is never
    whole, because e^epsilon is transcendental.
    """
    from flint import ctx

    precision = 128
    while True:
        with ctx.workprec(precision):
            rate = ball(epsilon)
            rise = ball((1 - delta) / delta) * rate.expm1() / (rate.exp() + 1)
            whole = (rise.log1p() / rate).floor().unique_fmpz()
        if whole is not None:
            return int(whole) + 1
        precision *= 2


@lru_cache
def quantile_above(delta: float) -> float:
    """z with Phi(-z) <= delta, the least float that is certified, or nearly."""
    from flint import arb, ctx

    with IMPORTS:
        from scipy.special import ndtri

    z = -float(ndtri(delta))
    with ctx.workprec(128):
        while not (arb(z) / arb(2).sqrt()).erfc() / 2 <= arb(delta):
            z = math.nextafter(z, math.inf)
    return z


def rate_below(rho: float, slack: int) -> Fraction:
    """The largest float r, or nearly, with (slack r)^2 / 2 <= rho."""
    r = math.sqrt(2 * rho) / slack
    while (slack * Fraction(r)) ** 2 / 2 > Fraction(rho):
        r = math.nextafter(r, 0.0)
    return Fraction(r)
