"""The law of the canonical mechanism by brute force over all k-subsets, and the printed algorithms."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from tests.helpers.laws import winner_probabilities


def utilities(x, k, gamma, loss="gap-aware"):
    """{subset: u}, straight from the definition."""
    result = {}
    for y in combinations(range(len(x)), k):
        inside = min(x[i] for i in y)
        outside = max(x[i] for i in range(len(x)) if i not in y)
        if loss == "paper":
            outside = max(outside, inside)
        result[y] = gamma * inside - (1 - gamma) * outside
    return result


def subset_law(x, k, rate, gamma, noise, loss="gap-aware"):
    """{subset: probability}; rate is epsilon / R."""
    u = utilities(x, k, gamma, loss)
    return dict(zip(u, winner_probabilities(rate * np.array(list(u.values())), noise), strict=True))


def counted(rows, law):
    """How often each subset of the law occurs among rows of positions."""
    place = {subset: n for n, subset in enumerate(law)}
    return np.bincount([place[tuple(sorted(row))] for row in np.asarray(rows).tolist()], minlength=len(law))
