"""How high the bar of an unknown domain must stand: public numbers, exact or rounded up.

The bar of a list (Definition 110) and that of a set (Theorem 115). A label whose presence one person decides has a
count of at most c + 1, c the count of row limit + 1. The bar stands at c + 1 + offset, so high that all such labels
together are named with probability at most delta.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from shortlist.exact.crossing import narrowed, whole_numbers
from shortlist.exact.partial_reals import ball, exactly

GRID = 1 << 20
"""Offsets are multiples of 1/GRID, so that every score is a short rational number."""

PRECISION = 256


def dummies(limit: int, delta: Fraction) -> int:
    """M = ceil(limit (1 - delta) / delta), so limit / (limit + M) <= delta: the bar is the best of M counts c + 1.

    >>> dummies(3, Fraction(1, 100))
    297
    """
    return math.ceil(limit * (1 - delta) / delta)


@lru_cache
def exponential_offset(limit: int, e: Fraction, delta: Fraction) -> Fraction:
    """The least offset t on the grid with P[max of `limit` exponential noises > t + one more] <= delta, scale 1 / e.

    With x = e^(-e t) that chance is 1 - (1 - (1 - x)^(limit + 1)) / ((limit + 1) x), and at most limit x / 2.

    >>> float(exponential_offset(3, Fraction(1), Fraction(1, 100)))
    5.006169319152832
    """
    from flint import arb, ctx

    def fits(step: int) -> bool:
        x = (-ball(e * Fraction(step, GRID))).exp()
        chance = 1 + (arb(limit + 1) * (-x).log1p()).expm1() / ((limit + 1) * x)
        return bool(limit * x / 2 <= bound or chance <= bound)

    with ctx.workprec(PRECISION + 2 * limit.bit_length() + 2 * (delta.denominator // delta.numerator).bit_length()):
        bound = ball(delta)
        low, high = 0, GRID
        while not fits(high):
            low, high = high, 2 * high
        least = narrowed(fits, low, high, whole_numbers)[1]
    return Fraction(least, GRID)


@lru_cache
def canonical_offset(k: int, limit: int, inner: Fraction, delta: Fraction) -> Fraction:
    """The least offset t on the grid, or the next, with t >= ln(N (1 - delta) / delta) / inner.

    N = sum_{j = 1 .. k} C(limit, j) is the number of sets that share what reaches the bar; `inner` is gamma epsilon.

    >>> float(canonical_offset(2, 3, Fraction(1), Fraction(1, 100)))
    6.386879920959473
    """
    from flint import ctx, fmpz

    term, sets = fmpz(1), fmpz(0)
    for j in range(1, k + 1):
        term = term * (limit - j + 1) // j
        sets += term
    with ctx.workprec(PRECISION):
        offset = (ball(int(sets) * (1 - delta) / delta).log() / ball(inner) * GRID).upper()
        return Fraction(math.ceil(exactly(offset)), GRID)
