"""Slow, independent paths to the laws: textbook formulas, every set, every item, plain dense quadrature."""

from __future__ import annotations

import math
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np

TEXTBOOK = {
    "exponential": (
        lambda x: np.where(x > 0, np.exp(-np.maximum(x, 0)), 1.0),
        lambda x: np.where(x > 0, -np.expm1(-np.maximum(x, 0)), 0.0),
        lambda x: np.where(x > 0, np.exp(-np.maximum(x, 0)), 0.0),
    ),
    "gumbel": (
        lambda x: -np.expm1(-np.exp(-x)),
        lambda x: np.exp(-np.exp(-x)),
        lambda x: np.exp(-x - np.exp(-x)),
    ),
    "laplace": (
        lambda x: np.where(x > 0, 0.5 * np.exp(-np.abs(x)), 1 - 0.5 * np.exp(-np.abs(x))),
        lambda x: np.where(x < 0, 0.5 * np.exp(-np.abs(x)), 1 - 0.5 * np.exp(-np.abs(x))),
        lambda x: 0.5 * np.exp(-np.abs(x)),
    ),
    "logistic": (
        lambda x: 1 / (1 + np.exp(x)),
        lambda x: 1 / (1 + np.exp(-x)),
        lambda x: 1 / (2 + np.exp(x) + np.exp(-x)),
    ),
    "half-logistic": (
        lambda x: np.where(x > 0, 2 / (1 + np.exp(np.maximum(x, 0))), 1.0),
        lambda x: np.where(x > 0, np.tanh(np.maximum(x, 0) / 2), 0.0),
        lambda x: np.where(x > 0, 2 / (2 + np.exp(x) + np.exp(-x)), 0.0),
    ),
}
"""Survival function, distribution function and density, as in any textbook."""


def _grid(s, kinks, low=-50.0, high=60.0, width=1.0, order=16):
    """Gauss-Legendre on short panels around the scores, cut at every kink."""
    low, high = min(s) + low, max(s) + high
    cuts = np.unique([low, high, *(score + kink for score in s for kink in kinks if low < score + kink < high)])
    parts = [np.linspace(a, b, math.ceil((b - a) / width), endpoint=False) for a, b in pairwise(cuts)]
    edges = np.concatenate([*parts, [high]])
    node, weight = np.polynomial.legendre.leggauss(order)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + node)).ravel(), (half * weight).ravel()


def _at_levels(s, law, kinks):
    survival, distribution, density = TEXTBOOK[law] if isinstance(law, str) else law
    z, weight = _grid(s, kinks)
    x = z[:, None] - np.asarray(s)
    return survival(x), distribution(x), density(x), weight


def set_probabilities(s, k, law, kinks=(0.0,)):
    """P[the top k is this set] for every k-subset: one integral over the best loser's level for each loser."""
    above, below, density, weight = _at_levels(s, law, kinks)
    result = {}
    for chosen in combinations(range(len(s)), k):
        others = [i for i in range(len(s)) if i not in chosen]
        inside = above[:, list(chosen)].prod(axis=1)
        result[chosen] = sum(
            float(weight @ (inside * density[:, j] * below[:, [i for i in others if i != j]].prod(axis=1)))
            for j in others
        )
    return result


def plackett_luce(s, k):
    """P[the k rounds of the exponential mechanism without replacement return this list], for every list."""
    w = np.exp(np.asarray(s) - max(s))
    result = {}
    for chosen in permutations(range(len(s)), k):
        left, chance = w.sum(), 1.0
        for i in chosen:
            chance, left = chance * w[i] / left, left - w[i]
        result[chosen] = chance
    return result


def as_sets(lists):
    result: dict[Any, Any] = {}
    for chosen, chance in lists.items():
        key = tuple(sorted(chosen))
        result[key] = result.get(key, 0.0) + chance
    return result


def right(sets, s, k):
    best = sorted(s)[-k:]
    return sum(chance for chosen, chance in sets.items() if sorted(s[i] for i in chosen) == best)


def correct(sets, s, k):
    least = sorted(s)[-k]
    result = np.zeros(k + 1)
    for chosen, chance in sets.items():
        result[sum(s[i] >= least for i in chosen)] += chance
    return result


def inclusion(sets, d):
    return np.array([sum(chance for chosen, chance in sets.items() if i in chosen) for i in range(d)])


def within(sets, s, head, reach):
    ranked = sorted(range(len(s)), key=lambda i: -s[i])
    first, allowed = set(ranked[:head]), set(ranked[:reach])
    return sum(chance for chosen, chance in sets.items() if first <= set(chosen) <= allowed)


def _counts(above, below):
    """The law of how many exceed, row by row, one item after the other."""
    law = np.zeros((above.shape[0], above.shape[1] + 1))
    law[:, 0] = 1.0
    for p, o in zip(above.T, below.T, strict=True):
        law[:, 1:] = law[:, 1:] * o[:, None] + law[:, :-1] * p[:, None]
        law[:, 0] *= o
    return law


def correct_by_recursion(s, k, law, kinks=(0.0,)):
    """P[c correct], c = 0..k, for dozens of items: counts by recursion, one loser after the other."""
    above, below, density, weight = _at_levels(s, law, kinks)
    good = np.asarray(s) >= sorted(s)[-k]
    result = np.zeros(k + 1)
    for j in range(len(s)):
        rest = np.arange(len(s)) != j
        alpha, beta = (_counts(above[:, rest & part], below[:, rest & part]) for part in (good, ~good))
        for c in range(k + 1):
            if c < alpha.shape[1] and k - c < beta.shape[1]:
                result[c] += weight @ (density[:, j] * alpha[:, c] * beta[:, k - c])
    return result


def inclusion_by_recursion(s, k, law, kinks=(0.0,)):
    """P[i among the top k]: at most k - 1 of the others exceed it."""
    above, below, density, weight = _at_levels(s, law, kinks)
    result = np.zeros(len(s))
    for i in range(len(s)):
        rest = np.arange(len(s)) != i
        result[i] = weight @ (density[:, i] * _counts(above[:, rest], below[:, rest])[:, :k].sum(axis=1))
    return result
