"""The full law of one-shot releases on a small box of scores, by quadrature of its own.

P[i_1 > .. > i_k are the k largest, in order] = Int f(z - s_k) G(z) prod_losers F(z - s_j) dz over the k-th finish
z, where G is the chance that the others finish above it in order: for k = 1 nothing, for k = 2 a survival.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

import numpy as np

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


def _grid(s, noise):
    kinks = {round(v + k, 12) for v in s for k in (noise.kinks or (0.0,))}
    edges = np.array(sorted(kinks | set(np.arange(-9.0, 46.0, 2.5))))
    half = np.diff(edges) / 2
    z = (edges[:-1] + half)[:, None] + half[:, None] * NODES
    return z.ravel(), (half[:, None] * WEIGHTS).ravel()


def ordered_law(s, k, noise):
    """{(i_1, .., i_k): probability} for scaled scores s, k = 1 or 2."""
    s = np.asarray(s, float)
    z, weight = _grid(s, noise)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        above = [noise.log_survival(z - v) for v in s]
        below = [noise.log_cdf(z - v) for v in s]
        density = [noise.log_density(z - v) for v in s]
        law = {}
        for order in permutations(range(len(s)), k):
            logs = density[order[-1]] + sum(above[i] for i in order[:-1])
            logs = logs + sum(below[j] for j in range(len(s)) if j not in order)
            law[order] = float(weight @ np.nan_to_num(np.exp(logs), nan=0.0))
    return law


def set_law(ordered):
    law = {}
    for order, p in ordered.items():
        key = frozenset(order)
        law[key] = law.get(key, 0.0) + p
    return law


def shifts(d, monotone):
    """How one person may move d scores of sensitivity 1: all one way, or each any way."""
    if monotone:
        return [*product((0, 1), repeat=d), *product((0, -1), repeat=d)]
    return list(product((-1, 0, 1), repeat=d))


def worst_log_ratio(law_of, d, monotone, top=2):
    """The largest log ratio of any outcome over all scores in {0..top}^d and all neighbours."""
    law = cache(lambda x: law_of(tuple(v - max(x) for v in x)))
    worst = 0.0
    for x in product(range(top + 1), repeat=d):
        if list(x) != sorted(x):
            continue  # the mechanisms are equivariant: one order of the scores is enough
        here = law(x)
        for shift in shifts(d, monotone):
            there = law(tuple(a + b for a, b in zip(x, shift, strict=True)))
            worst = max(worst, max(abs(np.log(here[o] / there[o])) for o in here))
    return worst
