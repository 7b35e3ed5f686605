"""P[each set of winners], one by one: every set is one integral over the level at which the list ends (Theorem 125).

Without a line the list ends at the best loser. With a line, which runs along with noise of its own, it ends there or
after k items, whichever comes first (Proposition 263): then smaller sets are possible too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain, combinations

import numpy as np

from shortlist._arrays import Floats
from shortlist.exact.best_loser import threshold_range
from shortlist.exact.distinct_scores import checked_k, checked_scores, items_of
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.quadrature import blocks, find_range, refined
from shortlist.exact.weighted_scores import Levels, crowd_of

MOST_SETS = 100_000
"""Of more sets nobody reads a list."""
ERROR = 1e-10
"""Doubling the nodes a last time changed no chance by more: their own errors are far smaller."""

LOWEST_LOG = -1e5
"""ln 0 for our purposes."""
_CELLS = 1 << 22


def set_probabilities(s: Floats, k: int, noise: Noise, line: float | None = None) -> dict[tuple[int, ...], float]:
    """P[the items returned are these], by their positions in ``s``: exact, to 1e-9.

    Parameters
    ----------
    s
        Scores in noise units, one per item, above the line if there is one; -inf is an item that is never chosen.
    k
        How many items are returned; with a line, at most so many.
    noise
        Any noise kind that is smooth between its kinks.
    line
        The noise of the line is that of an item, divided by this rate. None: there is no line.

    Raises
    ------
    ValueError
        if there are more than 100,000 sets.

    Examples
    --------
    >>> from shortlist.exact.noise_distributions import EXPONENTIAL
    >>> {one: round(p, 4) for one, p in set_probabilities(np.array([1.5, 1.0, 0.0]), 1, EXPONENTIAL).items()}
    {(0,): 0.6303, (1,): 0.2807, (2,): 0.089}
    """
    s = checked_scores(s)
    able = np.flatnonzero(s > -np.inf)
    d = len(able)
    sizes = [checked_k(k, s)] if line is None else list(range(min(k, d) + 1))
    if sum(math.comb(d, size) for size in sizes) > MOST_SETS:
        raise ValueError(f"there are more than {MOST_SETS:,} sets; ask for quality or inclusion_probabilities instead")
    if line is None and k == d:
        return {tuple(able.tolist()): 1.0}
    sets = list(chain.from_iterable(combinations(range(d), size) for size in sizes))
    values = s[able] if line is not None else s[able] - np.sort(s[able])[d - 1 - k]
    levels = line_levels(values, k, noise, line) if line is not None else _loser_levels(values, k, noise)
    inside = _indicator(sets, d)
    full = np.array([len(one) == k for one in sets])

    def evaluate(refinement: int) -> Floats:
        total = np.zeros(len(sets))
        for block in blocks([values, np.zeros(0 if line is None else 1)], levels, noise, refinement):
            size = max(1, _CELLS // len(sets))
            for start in range(0, block.nodes.size, size):
                rows = slice(start, start + size)
                total += block.weights[rows] @ _ending(block.nodes[rows], values, noise, line, inside, full)
        return total

    def settled(old: Floats, new: Floats) -> bool:
        return float(np.abs(new - old).max()) <= ERROR and abs(float(new.sum()) - 1.0) <= 10 * ERROR

    chances = np.clip(refined(evaluate, settled), 0.0, 1.0)
    named = (tuple(able[list(one)].tolist()) for one in sets)
    return dict(zip(named, chances.tolist(), strict=True))


def _ending(z: Floats, values: Floats, noise: Noise, line: float | None, inside: Floats, full: Floats) -> Floats:
    """Per level and set, the density that this set is above the level, all others below, and the list ends there."""
    x = z[:, None] - values
    above = np.maximum(noise.log_survival(x), LOWEST_LOG)
    below = np.maximum(noise.log_cdf(x), LOWEST_LOG)
    by_loser = np.exp(np.minimum(noise.log_density(x) - below, 700.0)) @ (1.0 - inside).T * full
    together = above @ inside.T + below @ (1.0 - inside).T
    if line is not None:
        log_line, log_density = line_law(z, noise, line)
        by_loser = by_loser + np.exp(np.minimum(log_density - log_line, 700.0))[:, None]
        together = together + log_line[:, None]
    result: Floats = np.exp(together) * by_loser
    return result


def line_law(z: Floats, noise: Noise, rate: float) -> tuple[Floats, Floats]:
    """ln of the distribution function and of the density of a line at 0 with noise divided by ``rate``."""
    return np.maximum(noise.log_cdf(rate * z), LOWEST_LOG), noise.log_density(rate * z) + math.log(rate)


def line_levels(values: Floats, k: int, noise: Noise, rate: float) -> Levels:
    """Levels outside of which no list ends, to a mass of e^-41 on each side: at the line, or at the best loser."""
    low, high = find_range(lambda z: noise.log_cdf(rate * z), lambda z: noise.log_survival(rate * z), (-1.0, 1.0))
    if k >= len(values):
        return low, high
    reference = float(np.sort(values)[len(values) - 1 - k])
    return low, max(high, reference + _loser_levels(values - reference, k, noise)[1])


def _loser_levels(values: Floats, k: int, noise: Noise) -> Levels:
    items = items_of(values, k + 1)
    return threshold_range(crowd_of(items.values, items.counts), k, noise)


def _indicator(sets: Iterable[tuple[int, ...]], d: int) -> Floats:
    """One row per set, 1 where an item is in it."""
    return np.array([[float(i in one) for i in range(d)] for one in map(frozenset, sets)])
