"""The guarded race over all k-subsets of a few candidates, by enumeration and quadrature of its own."""

from __future__ import annotations

from itertools import combinations

import numpy as np

NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def losses(x, k, rate, gamma=0.5):
    """rate ((1 - gamma) M - gamma m), relative to the best set, for every k-subset."""
    x = np.asarray(x, float)
    u = {}
    for y in combinations(range(len(x)), k):
        outside = [x[i] for i in range(len(x)) if i not in y]
        u[y] = rate * (gamma * min(x[i] for i in y) - (1 - gamma) * max(outside))
    best = max(u.values())
    return {y: best - value for y, value in u.items()}


def junk_mass(x, k, rate, junk, gamma=0.5):
    """sum over the junk classes of their mass: the classes are given by rank, ties in the caller's order."""
    order = sorted(range(len(x)), key=lambda i: -x[i])
    rank = {i: r for r, i in enumerate(order)}
    total = 0.0
    for y, loss in losses(x, k, rate, gamma).items():
        ranks = sorted(rank[i] for i in y)
        if ranks == list(range(k)):
            continue
        missing = next(r for r in range(len(x)) if r not in ranks)
        if (k - 1 - missing, ranks[-1] - k) in junk:
            total += np.exp(-loss)
    return total


def guarded_law(x, k, rate, a, tau, junk, gamma=0.5):
    """{subset: probability, None: that of the guard} for exponential noise on the subsets and rate a on the guard."""
    loss = losses(x, k, rate, gamma)
    p = np.exp(-np.array(list(loss.values())))
    v = tau + np.log(junk_mass(x, k, rate, junk, gamma))
    end = min(1.0, np.exp(-v))
    edges = end * np.concatenate([[0.0], 2.0 ** np.arange(-60, 1)])
    half = np.diff(edges) / 2
    s = ((edges[:-1] + half)[:, None] + half[:, None] * NODES).ravel()
    weight = (half[:, None] * WEIGHTS).ravel()
    survive = 1 - p[:, None] * s
    guard = 1 - (s * np.exp(v)) ** a
    everything = np.prod(survive, axis=0) * guard
    law = {y: float(weight @ (p[i] * everything / survive[i])) for i, y in enumerate(loss)}
    law[None] = 1 - sum(law.values())
    return law
