"""The least rho of bounded range and of pure DP, and the largest parameter that a rho admits (Theorem 164).

Both are the Kullback-Leibler divergence of the worst pair: the Renyi divergence of order a, divided by a, falls in a.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from shortlist.accounting.checked_numbers import up
from shortlist.exact.crossing import crossing, narrowed, neighbours
from shortlist.exact.partial_reals import ball, exactly

if TYPE_CHECKING:
    from flint import arb

SMALL = 2.0**-8
"""Below it three terms of the series, which are never too small (Lemma 165), are within 1e-19 of the value."""
BITS = 128
"""From there on Arb's balls: some 20 bits cancel, a hundred are left."""

LARGEST = sys.float_info.max
NEAR = 2.0**-48
"""How near floats come to the largest range, before exact numbers say which it is."""


@lru_cache(1024)
def range_rho(epsilon: float) -> float:
    """x - 1 - ln x with x = epsilon / (1 - e^-epsilon), for epsilon-bounded range; rounded up.

    >>> range_rho(1.0)  # an eighth would do too
    0.12330156148224454
    """
    if epsilon < SMALL:
        return _series(epsilon, (3240, 45, 1), 25920)  # z/8 - z^2/576 + z^3/25920

    def value(wide: arb) -> arb:
        x = wide / -(-wide).expm1()
        return x - 1 - x.log()

    return _rounded_up(value, epsilon)


@lru_cache(1024)
def pure_rho(epsilon: float) -> float:
    """epsilon tanh(epsilon / 2), for epsilon-DP, that of randomised response; rounded up.

    >>> pure_rho(1.0)  # a half would do too
    0.4621171572600098
    """
    if epsilon < SMALL:
        return _series(epsilon, (120, 10, 1), 240)  # z/2 - z^2/24 + z^3/240
    return _rounded_up(lambda exact: exact * (exact / 2).tanh(), epsilon)


@lru_cache(1024)
def largest_range(rho: float, rounds: int = 1) -> float:
    """The largest epsilon of which `rounds` rounds of bounded range cost at most rho; rounded down, 0 if there is none.

    >>> largest_range(0.5)  # sqrt(8 rho) = 2 would do too
    2.055967111261563
    """

    def costs_more(epsilon: float) -> bool:
        return rounds * Fraction(range_rho(epsilon)) > Fraction(rho)

    low = math.sqrt(8) * math.sqrt(rho / rounds) * (1 - 1e-14)  # (Theorem 15)
    if costs_more(low):
        low = 0.0  # among the smallest floats
    high = 2 * low or 1.0
    while not costs_more(high):
        if high == LARGEST:
            return high
        low, high = high, min(2 * high, LARGEST)

    def excess(epsilon: float) -> float:
        return rounds * range_rho(epsilon) - rho

    near = crossing(excess, (low, excess(low)), (high, excess(high)), NEAR * low) if low else (low, high)
    if not costs_more(near[0]) and costs_more(near[1]):  # floats have come near, and exact numbers agree
        low, high = near
    return narrowed(costs_more, low, high, neighbours)[0]


def _series(epsilon: float, terms: tuple[int, int, int], common: int) -> float:
    """(first z - second z^2 + third z^3) / common of the exact z = epsilon^2; rounded up.

    In whole numbers, since fractions would be reduced at each step.
    """
    top, bottom = (whole * whole for whole in epsilon.as_integer_ratio())
    first, second, third = terms
    top, bottom = top * (bottom * (bottom * first - top * second) + top * top * third), bottom**3 * common
    nearest = top / bottom
    whole, parts = nearest.as_integer_ratio()
    return nearest if whole * bottom >= top * parts else math.nextafter(nearest, math.inf)


def _rounded_up(value: Callable[[arb], arb], epsilon: float) -> float:
    """The value, which is below epsilon; rounded up."""
    from flint import ctx

    with ctx.workprec(BITS):
        return min(up(exactly(value(ball(Fraction(epsilon))).upper())), epsilon)
