"""The exact law of a noisy maximum: who wins, with which probability (Proposition 54)."""

from __future__ import annotations

import numpy as np

from shortlist._arrays import Floats
from shortlist.exact.noise_distributions import EXPONENTIAL, GUMBEL, Noise
from shortlist.exact.quadrature import blocks, crowd_of, gather, highest_density, refined, separation_range
from shortlist.exact.set_chances import Items, checked_scores, items_of

_SETTLED = 1e-10
"""Change accepted between two rules, the second with twice the nodes: its own error is about the square."""

_WHOLE = 1e-12
"""How far from 1 the probabilities may sum, and as much again for every 10000 items: rounding errors add up."""


def winner_probabilities(s: Floats, noise: Noise) -> Floats:
    """P[i has the largest s_i + N_i] for every i, with independent noise N_i: exact to 1e-12, and summing to 1.

    Gumbel: e^{s_i} / sum_j e^{s_j}. Exponential, with p_j = e^{s_j - max s}: the permute-and-flip law
    ``p_i Int_0^1 prod_{j != i} (1 - p_j t) dt``. Otherwise ``Int f(z - s_i) prod_{j != i} F(z - s_j) dz``.

    Parameters
    ----------
    s
        Scores in noise units, one per item; -inf is an item that is never chosen.
    noise
        Any noise kind that is smooth between its kinks.

    Raises
    ------
    ValueError
        If s has a NaN, a +inf, or no finite score.
    ArithmeticError
        If the accuracy was not reached, which smooth noise does not do.

    Examples
    --------
    >>> winner_probabilities(np.array([1.5, 1.0, 0.0]), EXPONENTIAL).round(4).tolist()
    [0.6303, 0.2807, 0.089]
    """
    items = items_of(checked_scores(s), 1)
    if noise is GUMBEL:
        odds = np.exp(items.values)
        return items.per_item(odds / (odds @ items.counts))
    if noise is EXPONENTIAL:
        return items.per_item(permute_and_flip(items.values, items.counts))
    return items.per_item(_by_level(items, noise))


def permute_and_flip(values: Floats, counts: Floats) -> Floats:
    """p_i Int_0^1 prod_{j != i} (1 - p_j t) dt per value, by Gauss-Legendre and never by coefficients.

    Values are those of classes of so many items, at most 0; one at least is 0. Up to d = 32 one rule of 16 nodes is
    exact. Beyond, the product is below e^-45 from t = 45 / sum p on, and behaves like e^(-t sum p) before: 16 nodes on
    each of 4 panels leave less than 1e-15.
    """
    chance = np.exp(values)
    panels, last = (1, 1.0) if counts.sum() <= 32 else (4, min(1.0, 45.0 / float(chance @ counts)))
    node, weight = np.polynomial.legendre.leggauss(16)
    result = np.zeros_like(chance)
    for panel in range(panels):
        for t, share in zip((2 * panel + 1 + node) * last / (2 * panels), weight * last / (2 * panels), strict=True):
            log_product = np.log1p(-chance * t) @ counts
            result += share * np.exp(log_product) * chance / (1.0 - chance * t)
    return result


def _by_level(items: Items, noise: Noise) -> Floats:
    """Int f(z - s_i) prod_{j != i} F(z - s_j) dz per value."""
    crowd, nobody = crowd_of(items.values, items.counts), crowd_of(items.values, np.zeros_like(items.counts))
    levels = separation_range(nobody, crowd, noise)

    def evaluate(refinement: int) -> Floats:
        near = gather(crowd, levels, noise, refinement, count_above=False)
        result = np.zeros(near.crowd.values.size)
        for block in blocks([near.crowd.values], levels, noise, refinement):
            gathering = gather(near.crowd, block.levels, noise, refinement, count_above=False)
            densities = highest_density(gathering.crowd, noise, block.nodes, np.log(block.weights))
            result += gathering.spread(densities.sum(axis=0), 0.0)
        return near.spread(result, 0.0)

    def settled(previous: Floats, current: Floats) -> bool:
        change = float(np.max(np.abs(current - previous) * items.counts))
        return change <= _SETTLED and abs(float(current @ items.counts) - 1.0) <= _WHOLE * (1.0 + items.size / 10_000)

    return np.maximum(refined(evaluate, settled), 0.0)
