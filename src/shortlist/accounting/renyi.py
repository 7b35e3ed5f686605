"""Renyi divergences as guarantees, and the least zCDP parameter of pure and bounded-range mechanisms.

From Renyi divergence to (epsilon, delta), with the best order found.

For each order a > 1, a mechanism with D_a at most r is (epsilon, delta)-DP with

    delta = e^{(a-1)(r - epsilon)} (1 - 1/a)^a / (a - 1),        epsilon = r + ln(1 - 1/a) - ln(a delta) /
    (a-1)

(Canonne, Kamath and Steinke 2020: maximise (1 - e^{epsilon-l})_+ e^{-(a-1) l} over the loss
l). Every order gives a sound number, so a coarse search costs tightness and never soundness.

The least rho of bounded range and of pure DP, and the largest parameter that a rho admits (Theorem 164).

Both are the Kullback-Leibler divergence of the worst pair: the Renyi divergence of order a, divided by a, falls in a.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting.checked_numbers import up
from shortlist.accounting.privacy_curves import ULP, Profile, Renyi
from shortlist.exact.crossing import crossing, narrowed, neighbours
from shortlist.exact.partial_reals import ball, exactly

if TYPE_CHECKING:
    from flint import arb

WIDEST = (1e-6, 1e10)
"""Least and greatest order searched, less one."""
COARSE = np.geomspace(*WIDEST, 257)
"""Where every search begins."""
FINE = np.arange(33.0)
"""How many orders are tried between two neighbours of the best."""


def log_delta(divergence: Floats, less: Floats, epsilon: Floats | float) -> Floats:
    """ln delta for D_a <= divergence at the orders 1 + less; rounded up."""
    order = 1 + less
    shape = -np.log(less) - order * np.log1p(1 / less)
    with np.errstate(over="ignore", invalid="ignore"):  # beyond floats it is infinite or nothing, and no order to take
        terms = less * (divergence - epsilon)
        return terms + shape + 4 * ULP * (1 + less * (divergence + np.abs(epsilon)) + np.abs(shape))


def epsilon_from(divergence: Floats, less: Floats, delta: float) -> Floats:
    """epsilon for D_a <= divergence at the orders 1 + less; rounded up."""
    tail = (math.log(delta) + np.log1p(less)) / less
    shape = -np.log1p(1 / less)
    return divergence + shape - tail + 4 * ULP * (1 + divergence + np.abs(shape) + np.abs(tail))


def _search(cost: Callable[[Floats], Floats]) -> tuple[float, float]:
    """The least cost over the orders 1 + less, and its `less`: a grid, then finer ones around the best."""
    less, costs, best = _least(COARSE, cost)
    for _ in range(3):
        low, high = float(less[max(best - 1, 0)]), float(less[min(best + 1, len(less) - 1)])
        less, costs, best = _least(_between(low, high), cost)
    return float(costs[best]), float(less[best])


def _between(low: float, high: float) -> Floats:
    """np.geomspace(low, high, 33), bit for bit: that asks itself so many questions that it took most of a search."""
    start, stop = np.log10(low), np.log10(high)
    step = (stop - start) / FINE[-1]
    if not step:
        return np.geomspace(low, high, len(FINE))
    between: Floats = np.power(10.0, FINE * step + start)
    between[0], between[-1] = low, high
    return between


def _least(less: Floats, cost: Callable[[Floats], Floats]) -> tuple[Floats, Floats, int]:
    costs = cost(less)
    return less, costs, int(np.argmin(np.where(np.isnan(costs), math.inf, costs)))


def renyi_delta(renyi: Renyi, epsilon: float, coarse: Floats | None = None) -> tuple[float, float]:
    """The least delta over all orders, rounded up, and the order it was found at.

    `coarse` is renyi(1 + COARSE), for whoever asks at many epsilons.
    """

    def cost(grid: Floats) -> Floats:
        return log_delta(renyi(1 + grid) if coarse is None or grid is not COARSE else coarse, grid, epsilon)

    value, less = _search(cost)
    return min(1.0, math.exp(min(value, 0.0)) * (1 + 4 * ULP)), 1 + less


def renyi_epsilon(renyi: Renyi, delta: float) -> tuple[float, float]:
    """The least epsilon over all orders, rounded up and never below 0, and the order it was found at."""
    value, less = _search(lambda grid: epsilon_from(renyi(1 + grid), grid, delta))
    return max(0.0, value), 1 + less


def renyi_profile(renyi: Renyi) -> Profile:
    """delta at x >= 0: the best order for a single x, a grid of orders for many. Its hull is a bound too."""
    less = np.geomspace(1e-4, 1e7, 400)
    fixed = log_delta(renyi(1 + less), less, 0.0)
    usable = np.isfinite(fixed)
    fixed, rates = fixed[usable], less[usable] * (1 - 8 * ULP)
    coarse = renyi(1 + COARSE)

    def half(x: Floats) -> Floats:
        if x.size == 1:
            return np.full(x.shape, renyi_delta(renyi, float(x.flat[0]), coarse)[0])
        if not x.size:
            return x
        delta = np.ones(x.size)
        for block in np.array_split(np.arange(x.size), x.size // 512 + 1):
            delta[block] = np.exp((fixed - rates * x.flat[block][:, None]).min(axis=1, initial=0.0))
        return delta.reshape(x.shape) * (1 + 4 * ULP)

    return half


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
