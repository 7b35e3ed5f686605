"""Guarded lists beside one-shot top-k, and beside peeling under zCDP: recall and exact order, by exact laws."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from bench.looser import every_shape
from shortlist import Scores
from shortlist.exact.sequences import ladder
from shortlist.mechanisms import GuardedListTopK, OneshotTopK
from shortlist.mechanisms.race import epsilon_of_a_round
from shortlist.privacy import ZCDP
from shortlist.sampling.sets import list_switch

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


ZCDP_KS = (20, 50)


def peeling_order(values: Any, k: int, e: float) -> float:
    """P[k rounds of e give the k best scores in order], ties counting as equal."""
    ranked = np.sort(values)[::-1]
    left = np.logaddexp.accumulate(ranked[::-1] * e)[::-1]
    tied = [np.count_nonzero(ranked[i:] == ranked[i]) for i in range(k)]
    return math.exp(float((ranked[:k] * e - left[:k] + np.log(tied)).sum()))


def even(scores: Scores, k: int) -> float:
    """The e at which the right list weighs as much as the junk."""
    low, high = 1e-7, 1e5
    steps = ladder(scores._numbers, k, gap=True)[0]
    while high / low > 1.05:
        middle = math.sqrt(low * high)
        ahead = list_switch(steps, Fraction(middle) / 2).junk.high < 0
        low, high = (low, middle) if ahead else (middle, high)
    return high


def gained_by_switch(scores: Scores, k: int, e: float) -> tuple[float, float]:
    """(recall, chance of the exact order) that a guarded list under rho = e^2 / 8 has more than peeling."""
    budget, values = ZCDP(e**2 / 8), scores.values.astype(float)
    mechanism, peeling = GuardedListTopK(k=k, budget=budget), OneshotTopK(k=k, budget=budget)
    order = mechanism.least_order_probability(scores)
    after = peeling_order(values, k, float(mechanism._one_shot(len(values))[1]))
    order += mechanism.guard_probability(scores) * after
    more = recall(mechanism, scores) - recall(peeling, scores)
    return more, order - peeling_order(values, k, epsilon_of_a_round(k, budget))


def lists_zcdp_table() -> Iterator[str]:
    """What a guarded list has more than peeling under the same rho, from half to eight times the e of even weights."""
    yield "| k | shapes, points | recall: mean, worst, best | exact order: mean, worst, best |"
    yield "|---|---|---|---|"
    for k in ZCDP_KS:
        found, shapes = [], 0
        for name, scores in every_shape():
            if 2 * k <= len(scores) and not name.startswith("random"):
                shapes += 1
                for e in (even(scores, k) * np.geomspace(0.5, 8, POINTS)).tolist():
                    try:
                        found.append(gained_by_switch(scores, k, e))
                    except ValueError:
                        continue  # too many levels are likely for an exact law
        cells = [f"{np.mean(one):+.3f}, {min(one):+.3f}, {max(one):+.3f}" for one in zip(*found, strict=True)]
        yield f"| {k} | {shapes}, {len(found)} | {cells[0]} | {cells[1]} |"


TABLES = {"lists": lists_table, "lists-zcdp": lists_zcdp_table}
