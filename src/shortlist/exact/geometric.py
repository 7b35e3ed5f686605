"""Two-sided geometric noise on -K .. K, or on all whole numbers: P[X = x] in proportion to e^(-epsilon |x|).

With a = e^-epsilon and c = 1 + a - 2 a^(K+1) the survival function is P[X >= x] = (a^x - a^(K+1)) / c for x >= 1, and
by symmetry P[X >= x] = 1 - P[X >= 1 - x] for x <= 0. So X is a floor of a logarithm of its survival uniform U:
floor(-ln(c U + a^(K+1)) / epsilon) for U < P[X >= 1], minus that of 1 - U for U > P[X >= 0], and 0 between.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats, Indices, Words
from shortlist.exact.noise import log_uniform
from shortlist.exact.reals import Bits, Uniform, ball, floor_of, formula, shows, word
from shortlist.exact.search import bisect, whole_numbers

if TYPE_CHECKING:
    from flint import arb

FLOAT_ERROR = 2.0**-40
"""Relative, of what is computed in floats here; the truth is about 2^-50."""

LARGEST = 1 << 62
"""Whole sums of a score and noise are cut there, which is a function of the sum alone."""
FAR = 1 << 42


@dataclass(frozen=True, slots=True)
class Geometric:
    """The noise of that epsilon, cut at `reach` (K), or not at all."""

    epsilon: Fraction
    reach: int | None = None

    def chance_at_least(self, x: int) -> arb:
        """P[X >= x], a ball at the working precision."""
        from flint import arb

        if self.reach is not None and not -self.reach < x <= self.reach:
            return arb(int(x <= 0))
        if x < 1:
            return 1 - self.chance_at_least(1 - x)
        return ((-ball(self.epsilon * x)).exp() - self._end()) / self._total()

    def chance(self, x: int) -> arb:
        """P[X = x]."""
        from flint import arb

        if self.reach is not None and abs(x) > self.reach:
            return arb(0)
        e = ball(self.epsilon)
        return (-e * abs(x)).exp() * -(-e).expm1() / self._total()

    def _end(self) -> arb:
        """a^(K+1), the first weight that is cut off."""
        from flint import arb

        return arb(0) if self.reach is None else (-ball(self.epsilon * (self.reach + 1))).exp()

    def _total(self) -> arb:
        """c, what the weights a^|x| add up to, times 1 - a."""
        return 1 + (-ball(self.epsilon)).exp() - 2 * self._end()

    def survival(self, x: Floats) -> Floats:
        """P[X >= x] in floats, for whole x."""
        rate, _, total = self._floats()
        above = np.where(x >= 1, x, 1 - x)
        rest = 1.0 if self.reach is None else -np.expm1(-rate * np.maximum(self.reach + 1 - above, 0))
        high = np.exp(-rate * above) * rest / total
        return np.where(x >= 1, high, 1 - high)

    def _floats(self) -> tuple[float, float, float]:
        """(epsilon, a^(K+1), c)"""
        rate = float(self.epsilon)
        end = 0.0 if self.reach is None else math.exp(-rate * (self.reach + 1))
        return rate, end, 1 + math.exp(-rate) - 2 * end

    def variance(self) -> float:
        """E[X^2], to 1e-12.

        sum_1^K x^2 a^x = a (1 + a - a^K ((K+1)^2 - (2 K^2 + 2 K - 1) a + K^2 a^2)) / (1 - a)^3.
        """
        from flint import ctx

        if (reach := self.reach) is None:
            rate = float(self.epsilon)
            return 2 * math.exp(-rate) / math.expm1(-rate) ** 2 if rate > 1e-150 else math.inf
        with ctx.workprec(128 + 4 * (reach.bit_length() + self.epsilon.denominator.bit_length())):
            a = (-ball(self.epsilon)).exp()
            end = (-ball(self.epsilon * reach)).exp()
            last = (reach + 1) ** 2 - (2 * reach**2 + 2 * reach - 1) * a + reach**2 * a**2
            squares = a * (1 + a - end * last) / (1 - a) ** 3
            return float((2 * squares * (1 - a) / (1 + a - 2 * end * a)).mid())

    def sums(self, scores: Indices, words: Words, level: Indices, source: Bits) -> Indices:
        """score + X, cut at LARGEST, of survival uniforms of which `level` zeros and then 64 bits are known.

        More bits are drawn where needed.
        """
        rate, end, total = self._floats()
        log, error = log_uniform(words, level)
        u = np.exp(log)
        upper = (level == 0) & (words >= np.uint64(1 << 63))
        mirrored, slack = log_uniform(~words, 0)
        tail = np.where(upper, np.exp(mirrored), u)
        slack = np.where(upper, slack, error)
        first = (math.exp(-rate) - end) / total
        inside = tail < first
        with np.errstate(all="ignore"):
            depth = -np.log(total * tail + end) / rate
            magnitude = np.floor(depth)
            spread = (slack + FLOAT_ERROR * (1 + np.abs(depth * rate))) / rate
            sure = (np.floor(depth - spread) == np.floor(depth + spread)) & np.isfinite(depth)
            sure &= np.abs(tail - first) > (slack + FLOAT_ERROR) * (tail + first)
            sure |= ~inside & (tail - first > (slack + FLOAT_ERROR) * (tail + first))
        magnitude = np.where(inside & sure, magnitude, 0.0)  # at most 2^40, or its spread would be above 1
        sums: Indices = np.clip(np.asarray(scores, np.int64), -LARGEST - FAR, LARGEST + FAR)
        sums = np.clip(sums + np.where(upper, -magnitude, magnitude).astype(np.int64), -LARGEST, LARGEST)
        for i in np.flatnonzero(~sure).tolist():
            exact = int(scores[i]) + self.exactly(int(words[i]), 64 + int(level[i]), source)
            sums[i] = min(max(exact, -LARGEST), LARGEST)
        return sums

    def exactly(self, value: int, bits: int, source: Bits) -> int:
        """X of the survival uniform that begins with these bits: decided in balls, with more bits where needed."""
        uniform = Uniform(partial(word, source), value, bits)
        if shows(partial(self.chance_at_least, 1), uniform):
            return self._depth(uniform.ball, uniform)
        if not shows(partial(self.chance_at_least, 0), uniform):
            return -self._depth(lambda: 1 - uniform.ball(), uniform)
        return 0

    def _depth(self, tail: Callable[[], arb], uniform: Uniform) -> int:
        def depth() -> arb:
            return -(self._total() * tail() + self._end()).log() / ball(self.epsilon)

        return floor_of(formula(depth, [uniform]))


@dataclass(frozen=True, slots=True)
class PublicCoin:
    """K is `reach` - 1 with probability lam = (delta - d(K)) / (d(K-1) - d(K)), else `reach`; d(K) = P[X = K] under K.

    So P[X = K] is delta on average, and no name is wasted by rounding (Theorem 202).
    """

    epsilon: Fraction
    delta: Fraction
    reach: int

    def chance(self) -> arb:
        """lam, the chance of the shorter reach, by which delta is met exactly."""
        low = end_chance(self.epsilon, self.reach)
        return (ball(self.delta) - low) / (end_chance(self.epsilon, self.reach - 1) - low)

    def toss(self, source: Bits) -> bool:
        """Whether the coin says `reach` - 1: exactly."""
        return shows(self.chance, Uniform(partial(word, source)))

    def noises(self) -> tuple[Geometric, Geometric]:
        """The noise for a coin that says no, and for one that says yes."""
        return Geometric(self.epsilon, self.reach), Geometric(self.epsilon, self.reach - 1)


def end_chance(epsilon: Fraction, reach: int) -> arb:
    """d(K) = P[X = K] where X is cut at K."""
    return Geometric(epsilon, reach).chance(reach)


@lru_cache
def public_coin(epsilon: Fraction, delta: Fraction) -> PublicCoin:
    """The coin with the least K for which d(K) <= delta, certified.

    >>> public_coin(Fraction(1), Fraction(1, 10**6)).reach
    14
    """
    from flint import ctx

    def fits(reach: int) -> bool:
        with ctx.workprec(128 + 2 * reach.bit_length()):
            return bool(end_chance(epsilon, reach) <= ball(delta))

    high = max(1, math.ceil(float(-(ball(delta).log()).mid()) / float(epsilon)))
    while not fits(high):
        high *= 2
    return PublicCoin(epsilon, delta, high if high == 1 else bisect(fits, 0, high, whole_numbers)[1])
