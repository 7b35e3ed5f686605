"""The certified law of the k largest Gumbel values with their items, by its divergences from its like (Theorem 90).

In E = e^(-value / scale) the noisy scores are exponential clocks of rates w_i = e^(x_i / scale), and the first k rings
are released. With W_j the sum of the rates that still run before ring j, the waits s_j between rings have the density

    prod_j w_(i_j) e^(-W_j s_j)

so against other scores (rates v_i, sums V_j) the log ratio of an order i_1 .. i_k is linear in independent waits:

    sum_j (x_(i_j) - y_(i_j)) / scale + sum_j (V_j - W_j) s_j

It has no bound, but an order's share of the hockey stick is p P[X > c] - e^epsilon q P'[X > c]: p, q are the chances of
the order, X is the second sum, c is epsilon less the first. X adds up exponential variables of either sign, of means
m_j = V_j / W_j - 1 (under y: 1 - W_j / V_j). By partial fractions of prod_j 1 / (1 - m_j t), for c >= 0

    P[X > c] = sum_(m_j > 0) e^(-c / m_j) m_j^(n-1) / prod_(l != j) (m_j - m_l),

the divided difference of m^(n-1) e^(-c / m) [m > 0] at the means, which by continuity holds for equal ones too. Which
are equal or 0 is no matter of precision: different rational powers of e are linearly independent (Lindemann and
Weierstrass), so sums of them are equal only if their exponents are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import TYPE_CHECKING, Self

from flint import arb, arb_series, ctx

from shortlist.certified.curves import PRECISION, power, rational
from shortlist.certified.law import rounded_up

if TYPE_CHECKING:
    from shortlist.mechanisms.gumbel_values.mechanism import GumbelTopKValues
    from shortlist.scores import Scores

Pairs = tuple[tuple[Fraction, Fraction], ...]
"""(x_i / scale, y_i / scale) of clocks."""
Means = list[tuple[arb, int]]
"""Different ones, and how many waits have each."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """The first k of clocks with rates e^exponent: which ring, and when."""

    exponents: tuple[Fraction, ...]
    k: int

    def stick(self, other: Self, epsilon: float) -> float:
        """sup over events S of P(S) - e^epsilon P'(S), rounded up."""
        return _stick(self._beside(other), self.k, Fraction(epsilon))

    def log_moment(self, other: Self, order: float) -> float:
        """ln of the sum over orders, and integral over waits, of density^order other^(1 - order); rounded up."""
        with ctx.workprec(PRECISION):
            orders = _orders(self._beside(other), self.k)
            return rounded_up(sum((one.times * one.moment(Fraction(order)) for one in orders), start=arb(0)).log())

    def _beside(self, other: Self) -> Pairs:
        """Clocks that are renamed, or all run faster by the same factor under both laws, tell the same."""
        top = max(self.exponents)
        return tuple(sorted((x - top, y - top) for x, y in zip(self.exponents, other.exponents, strict=True)))


def law(mechanism: GumbelTopKValues, scores: Scores) -> Clocks:
    """The clocks of these scores under the mechanism's own noise."""
    scale = mechanism.scale(scores)
    return Clocks(tuple(Fraction(value) / scale for value in scores.values.tolist()), mechanism.k)


@dataclass(frozen=True, slots=True)
class _Order:
    """Clocks in the order in which k of them ring; `times` orders are like it."""

    times: int
    rung: Pairs
    rates: list[tuple[arb, arb]]
    """(W_j, V_j)"""
    here: Means
    there: Means
    p: arb
    q: arb

    def stick(self, epsilon: Fraction) -> arb:
        c = epsilon - sum((x - y for x, y in self.rung), Fraction(0))
        return self.p * _above(self.here, c) - power(rational(epsilon)) * self.q * _above(self.there, c)

    def moment(self, order: Fraction) -> arb:
        a, value = arb(rational(order)), arb(1)
        for (x, y), (here, there) in zip(self.rung, self.rates, strict=True):
            rate = a * here + (1 - a) * there
            if not rate > 0:
                return arb(math.inf)
            value *= power(rational(order * x + (1 - order) * y)) / rate
        return value


@lru_cache(maxsize=4096)
def _stick(clocks: Pairs, k: int, epsilon: Fraction) -> float:
    with ctx.workprec(PRECISION):
        return rounded_up(sum((one.times * one.stick(epsilon) for one in _orders(clocks, k)), start=arb(0)))


@lru_cache
def _orders(clocks: Pairs, k: int) -> list[_Order]:
    """All orders of k rings, those of like clocks together."""
    counts: Counter[Pairs] = Counter()
    for order in permutations(range(len(clocks)), k):
        rest = (pair for i, pair in enumerate(clocks) if i not in order)
        counts[(*(clocks[i] for i in order), *rest)] += 1
    return [_order(one, k, times) for one, times in counts.items()]


def _order(clocks: Pairs, k: int, times: int) -> _Order:
    """The first k ring, the others do not."""
    rates, kinds, p, q = [], Counter[int](), arb(1), arb(1)
    for j, (x, y) in enumerate(clocks[:k]):
        running = [one for one, _ in clocks[j:]], [two for _, two in clocks[j:]]
        here, there = map(_rate, running)
        p, q = p * power(rational(x)) / here, q * power(rational(y)) / there
        rates.append((here, there))
        if sorted(running[0]) != sorted(running[1]):
            kinds[next(i for i in range(j + 1) if _proportional(clocks[i:], clocks[j:]))] += 1
    means = [(rates[j][1] / rates[j][0] - 1, n) for j, n in kinds.items()]
    others = [(1 - rates[j][0] / rates[j][1], n) for j, n in kinds.items()]
    return _Order(times, clocks[:k], rates, means, others, p, q)


def _rate(exponents: Iterable[Fraction]) -> arb:
    return sum((power(rational(one)) for one in exponents), start=arb(0))


def _proportional(some: Pairs, others: Pairs) -> bool:
    """Whether W / V is the same number for both, that is W V' = W' V."""
    products = (sorted(x + y for x, _ in one for _, y in two) for one, two in ((some, others), (others, some)))
    return next(products) == next(products)


def _above(means: Means, c: Fraction) -> arb:
    """P[X > c], X the sum of independent exponential variables of these means."""
    if not means:
        return arb(int(c < 0))
    if c < 0:
        return 1 - _above([(-mean, n) for mean, n in means], -c)
    at = [place for place, (_, n) in enumerate(means) for _ in range(n)]

    def difference(first: int, last: int) -> arb:
        one, two = at[first], at[last]
        if one == two:
            return _derivative(means[one][0], c, len(at) - 1, last - first)
        return (difference(first + 1, last) - difference(first, last - 1)) / (means[two][0] - means[one][0])

    return difference(0, len(at) - 1)


def _derivative(mean: arb, c: Fraction, n: int, order: int) -> arb:
    """The Taylor coefficient of m^n e^(-c / m) [m > 0] at the mean."""
    if mean < 0:
        return arb(0)
    if not mean > 0:
        raise ArithmeticError("a mean could not be told from 0: more precision is needed")
    m = arb_series([mean, 1], order + 1)
    value = (-arb(rational(c)) * (1 / m)).exp()  # 0 / m is an error of python-flint before 0.9
    for _ in range(n):
        value *= m
    return value[order]
