"""Guarded lists beside one-shot top-k with exponential noise: recall and exact order, by exact laws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from bench.looser import every_shape
from shortlist import Scores
from shortlist.mechanisms import GuardedListTopK, OneshotTopK

KS = (3, 8, 10, 30, 100)
POINTS = 5


def one_shot_order(values: Any, k: int, scale: float) -> float:
    """P[one-shot with exponential noise gives the k best scores in order]: k integrals, each up to the next item."""
    x = np.sort(values)[::-1] / scale
    top, (others, counts) = x[:k], np.unique(x[k:], return_counts=True)
    edges = np.unique(np.concatenate([top, others[others > top[-1]], [top[0] + 45.0]]))
    spans = [(a, min(b, a + 45.0)) for a, b in pairwise(edges)]  # beyond that no noise is left
    parts = [np.linspace(a, b, math.ceil((b - a) / 0.25) + 1) for a, b in spans]
    left, right = (np.concatenate([part[cut] for part in parts]) for cut in (slice(-1), slice(1, None)))
    node, weight = np.polynomial.legendre.leggauss(8)
    within = np.polynomial.legendre.legval(node, np.polynomial.legendre.legint(np.eye(8), lbnd=-1)).T
    within = within @ np.linalg.inv(np.polynomial.legendre.legvander(node, 7))
    half = (right - left)[:, None] / 2
    level = (right + left)[:, None] / 2 + half * node
    log_below = np.zeros(level.shape)  # no other item is above this level
    for other, count in zip(others, counts, strict=True):
        if other > level[0, 0] - 45.0:
            log_below += count * np.log(-np.expm1(-np.maximum(level - other, 1e-300)))
    below, total = np.exp(log_below), 0.0
    for place in top[::-1]:
        density = np.where(level >= place, np.exp(-np.maximum(level - place, 0.0)), 0.0) * below
        sums = np.concatenate([[0.0], np.cumsum((density @ weight) * half[:, 0])])
        below, total = sums[:-1, None] + (density @ within.T) * half, sums[-1]
    return total * _orders(x, k)


def _orders(x: Any, k: int) -> float:
    """How many lists have the scores of the k best, in order."""
    scores, inside = np.unique(x[:k], return_counts=True)
    return math.exp(
        sum(
            math.lgamma(np.count_nonzero(x == score) + 1) - math.lgamma(np.count_nonzero(x == score) - n + 1)
            for score, n in zip(scores, inside, strict=True)
        )
    )


def recall(mechanism: Any, scores: Scores) -> float:
    right: float = mechanism.number_correct(scores) @ np.arange(mechanism.k + 1) / mechanism.k
    return right


def epsilons(scores: Scores, k: int) -> Any:
    """From where one-shot is .15 of recall above chance to where it has .997."""
    ends = []
    for wanted in (min(0.15 + k / len(scores), 0.9), 0.997):
        low, high = 1e-7, 1e5
        while high / low > 1.1:
            middle = math.sqrt(low * high)
            enough = recall(OneshotTopK(k=k, epsilon=middle, noise="exponential"), scores) >= wanted
            low, high = (low, middle) if enough else (middle, high)
        ends.append(high)
    return np.geomspace(*ends, POINTS).tolist()


def gained(scores: Scores, k: int, epsilon: float) -> tuple[float, float]:
    """(recall, chance of the exact order) that a guarded list has more than one-shot."""
    mechanism = GuardedListTopK(k=k, epsilon=epsilon)
    guard, order = mechanism.guard_probability(scores), mechanism.least_order_probability(scores)
    values = scores.values.astype(float)
    order += guard * one_shot_order(values, k, k / (0.99 * epsilon))
    plain = OneshotTopK(k=k, epsilon=epsilon, noise="exponential")
    return recall(mechanism, scores) - recall(plain, scores), order - one_shot_order(values, k, k / epsilon)


def lists_table() -> Iterator[str]:
    """What a guarded list has more than one-shot at the same epsilon: expected recall, and the chance of the order."""
    yield "| k | shapes, points | recall: mean, worst, best | exact order: mean, worst, best |"
    yield "|---|---|---|---|"
    for k in KS:
        found, shapes = [], 0
        for _, scores in every_shape():
            if 2 * k <= len(scores):
                shapes += 1
                found += [gained(scores, k, epsilon) for epsilon in epsilons(scores, k)]
        cells = [f"{np.mean(one):+.3f}, {min(one):+.3f}, {max(one):+.3f}" for one in zip(*found, strict=True)]
        yield f"| {k} | {shapes}, {len(found)} | {cells[0]} | {cells[1]} |"


TABLES = {"lists": lists_table}
