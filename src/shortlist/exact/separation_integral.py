"""Levels that separate: all of one crowd above z, all of another below it.

The law of the largest noisy score of a crowd, and the chance that one crowd stays entirely above another, need no
counting: with S_A(z) = prod_A S(z - s) and F_B(z) = prod_B F(z - s) they are integrals of S_A dF_B.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shortlist._arrays import Floats
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.quadrature import find_range
from shortlist.exact.weighted_scores import Crowd, Levels, gather, rounded

_LOWEST_LOG = -1e5
"""ln 0 for our purposes: weights of either sign can be applied to it."""


def log_all_above(crowd: Crowd, noise: Noise, nodes: Floats) -> Floats:
    """ln S_A at the nodes."""
    logs = noise.log_survival(nodes[:, None] - crowd.values)
    return np.maximum(logs, _LOWEST_LOG) @ crowd.weights


def log_all_below(crowd: Crowd, noise: Noise, nodes: Floats) -> Floats:
    """ln F_B at the nodes."""
    logs = noise.log_cdf(nodes[:, None] - crowd.values)
    return np.maximum(logs, _LOWEST_LOG) @ crowd.weights


def highest_density(crowd: Crowd, noise: Noise, nodes: Floats, log_factor: Floats) -> Floats:
    """Per node and site, e^log_factor times the density that an item at the site is the highest, there."""
    x = nodes[:, None] - crowd.values
    logs = np.maximum(noise.log_cdf(x), _LOWEST_LOG)
    together = logs @ crowd.weights + log_factor
    return np.exp(noise.log_density(x) - logs + together[:, None])


def seen_above(crowd: Crowd, levels: Levels, noise: Noise, refinement: int) -> Crowd:
    """A crowd that is to exceed, gathered so that ln S_A stays accurate however small S_A is."""
    return gather(crowd, levels, noise, refinement, drop_below=False).crowd


def seen_below(crowd: Crowd, levels: Levels, noise: Noise, refinement: int) -> Crowd:
    """A crowd that is to stay below, gathered so that ln F_B stays accurate however small F_B is."""
    return gather(crowd, levels, noise, refinement, count_above=False).crowd


def separation_range(above: Crowd, below: Crowd, noise: Noise) -> Levels:
    """The levels that matter, to e^-41 of the result, in the integral of S_A dF_B (which is 1 if A is empty).

    What lies below z adds at most F_B(z), what lies above at most S_A(z) sum_B S(z - s), and the result is at least
    S_A F_B at every level. First with scores rounded to quarters so that the bounds hold, then with all of them.
    """
    above_up, above_down = rounded(above, up=True), rounded(above, up=False)
    below_up, below_down = rounded(below, up=True), rounded(below, up=False)
    outer = _range((above_up, above_down), (below_up, below_down), noise, (-1.0, 1.0))
    near_above, near_below = seen_above(above, outer, noise, 0), seen_below(below, outer, noise, 0)
    return _range((near_above, near_above), (near_below, near_below), noise, outer)


def _range(above: tuple[Crowd, Crowd], below: tuple[Crowd, Crowd], noise: Noise, guess: Levels) -> Levels:
    """Each crowd as (rounded up, rounded down); the range is relative to a lower bound on the result."""
    least = _least_log_chance(above[1], below[0], noise, guess)

    def log_below(levels: Floats) -> Floats:
        return log_all_below(below[1], noise, levels) - least

    def log_above(levels: Floats) -> Floats:
        exceed = np.exp(noise.log_survival(levels[:, None] - below[0].values)) @ below[0].weights
        together: Floats = log_all_above(above[0], noise, levels) + np.log(np.clip(exceed, 1e-300, 1.0)) - least
        return together

    return find_range(log_below, log_above, guess)


def _least_log_chance(above: Crowd, below: Crowd, noise: Noise, guess: Levels) -> float:
    """ln of the largest S_A F_B found: near where the two are equal, and on a grid around it."""
    if not above.values.size:
        return 0.0

    def difference(levels: Floats) -> Floats:
        return log_all_below(below, noise, levels) - log_all_above(above, noise, levels)

    low, high = _sign_change(difference, guess)
    grid = np.concatenate([np.linspace(*guess, 33), np.linspace(low, high, 3)])
    return float(np.max(log_all_below(below, noise, grid) + log_all_above(above, noise, grid)))


def _sign_change(increasing: Callable[[Floats], Floats], guess: Levels) -> Levels:
    """Two levels, as near as 12 halvings bring them, between which the sign changes."""
    low, high = guess
    step = 1.0
    while increasing(np.array([low])) > 0:
        low, step = low - step, 2 * step
    step = 1.0
    while increasing(np.array([high])) < 0:
        high, step = high + step, 2 * step
    for _ in range(2):
        grid = np.linspace(low, high, 65)
        place = int(np.append(increasing(grid[1:-1]) >= 0, True).argmax())
        low, high = float(grid[place]), float(grid[place + 1])
    return low, high
