"""The density of an ordered list with its gaps, by quadrature of its own."""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

import numpy as np

from tests.helpers.box import NODES, WEIGHTS, shifts


def nodes(kinks, low=-40.0, high=60.0, width=2.5):
    """Gauss-Legendre nodes and weights on panels that end at every kink."""
    inside = [round(float(k), 12) for k in kinks if low < k < high]
    edges = np.array(sorted({*inside, *np.arange(low, high, width), high}))
    half = np.diff(edges) / 2
    z = (edges[:-1] + half)[:, None] + half[:, None] * NODES
    return z.ravel(), (half[:, None] * WEIGHTS).ravel()


def gap_density(s, order, gaps, noise):
    """Density of "order wins with these gaps": an integral over the best loser's finish z.

    Winner i finishes at z + g_i + .. + g_k, and z is the largest of the losers' finishes.
    """
    s = np.asarray(s, float)
    ahead = np.cumsum(np.asarray(gaps, float)[::-1])[::-1]
    losers = [j for j in range(len(s)) if j not in order]
    z, weight = nodes([*s, *(s[list(order)] - ahead)])
    with np.errstate(divide="ignore", invalid="ignore"):
        winners = sum(noise.log_density(z + a - s[i]) for i, a in zip(order, ahead, strict=True))
        total = np.zeros_like(z)
        for last in losers:
            below = sum((noise.log_cdf(z - s[j]) for j in losers if j != last), np.zeros_like(z))
            total += np.exp(winners + noise.log_density(z - s[last]) + below)
    return float(weight @ total)


GAPS = (0.0, 0.3, 1.0, 2.6, 30.0)


def gap_law(s, k, noise, gaps):
    return {
        (order, g): gap_density(s, order, g, noise)
        for order in permutations(range(len(s)), k)
        for g in product(gaps, repeat=k)
    }


def worst_gap_ratio(k, d, scale, noise, monotone, top=2):
    """The largest log ratio of any (order, gaps) over all scores in {0..top}^d and all neighbours."""
    law = cache(lambda x: gap_law(np.array(x) / scale, k, noise, tuple(g / scale for g in GAPS)))
    worst = 0.0
    for x in product(range(top + 1), repeat=d):
        if list(x) != sorted(x):
            continue
        here = law(tuple(v - max(x) for v in x))
        for shift in shifts(d, monotone):
            y = [a + b for a, b in zip(x, shift, strict=True)]
            there = law(tuple(v - max(y) for v in y))
            worst = max(worst, max(abs(np.log(here[o] / there[o])) for o in here))
    return worst
