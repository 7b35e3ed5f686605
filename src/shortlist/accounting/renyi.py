"""From Renyi divergence to (epsilon, delta), with the best order found.

For each order a > 1, a mechanism with D_a at most r is (epsilon, delta)-DP with

    delta = e^{(a-1)(r - epsilon)} (1 - 1/a)^a / (a - 1),        epsilon = r + ln(1 - 1/a) - ln(a delta) /
    (a-1)

(Canonne, Kamath and Steinke 2020: maximise (1 - e^{epsilon-l})_+ e^{-(a-1) l} over the loss
l). Every order gives a sound number, so a coarse search costs tightness and never soundness.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting.privacy_curves import ULP, Profile, Renyi

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
