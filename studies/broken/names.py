"""Broken choices between mechanisms for names from the data, by their exact laws; each has one thing left out.

`h` are counts, an absent label counts 0. The bar of a set with limit L stands at h_(L+1) + 1 + t_L.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

from flint import arb, fmpq

from shortlist.audit import Law
from shortlist.audit.certified.base import Point
from shortlist.privacy import ApproxDP, BoundedRange
from studies.broken.entry import Broken

EPSILON, DELTA, GAMMA = 1, Fraction(1, 20), Fraction(17, 20)
RATE = Fraction(1, 10)
"""Of the choice."""


def _row(counts: Point, rank: int) -> int:
    ranking = sorted(counts, reverse=True)
    return int(ranking[rank - 1]) if rank <= len(ranking) else 0


def _ball(number: Fraction) -> arb:
    return arb(fmpq(number.numerator, number.denominator))


def bar(counts: Point, k: int, limit: int) -> arb:
    """Where the bar of sets with that limit stands."""
    sets = sum(comb(limit, j) for j in range(1, k + 1))
    return _row(counts, limit + 1) + 1 + _ball(sets * (1 - DELTA) / DELTA).log() / _ball(GAMMA * EPSILON)


def sets_law(counts: Point, k: int, limit: int, high: arb) -> dict[Any, arb]:
    """Canonical sets of the labels above row limit + 1, with the bar where it is put."""
    beyond = _row(counts, limit + 1)
    there = [i for i, count in enumerate(counts) if count > beyond]
    weights: dict[Any, arb] = {}
    for names in (y for j in range(k + 1) for y in combinations(there, j)):
        inside, outside = arb(1) * high, arb(1) * high
        if names:
            least = arb(min(int(counts[i]) for i in names))
            inside = least if len(names) == k else least.min(high)
        for i in there:
            outside = outside if i in names else outside.max(arb(int(counts[i])))
        weights[names] = (EPSILON * (_ball(GAMMA) * inside - _ball(1 - GAMMA) * outside)).exp()
    total = sum(weights.values(), start=arb(0))
    return {names: weight / total for names, weight in weights.items()}


def lowest_bar(k: int, limits: Sequence[int]) -> Callable[[Point], Law]:
    """The longest list, with the lowest of the bars of all limits."""

    def law(counts: Point) -> Law:
        high = bar(counts, k, limits[0])
        for limit in limits[1:]:
            high = high.min(bar(counts, k, limit))
        return Law(sets_law(counts, k, max(limits), high))

    return law


def without_noise(k: int, limits: Sequence[int]) -> Callable[[Point], Law]:
    """The limit with the lowest bar, always; which one it was is told."""

    def law(counts: Point) -> Law:
        best = min(limits, key=lambda limit: float(bar(counts, k, limit)))
        sets = sets_law(counts, k, best, bar(counts, k, best))
        return Law({(best, names): chance for names, chance in sets.items()})

    return law


def margins(k: int, limits: Sequence[int]) -> Callable[[Point], Law]:
    """The choice by how far the k-th count stands above each bar, and by the k-th count for a key set."""

    def law(counts: Point) -> Law:
        kth = _row(counts, k)
        weights = {limit: (_ball(RATE) * (kth - bar(counts, k, limit))).exp() for limit in limits}
        weights[0] = (_ball(RATE) * -kth).exp()
        total = sum(weights.values(), start=arb(0))
        return Law({limit: weight / total for limit, weight in weights.items()})

    return law


BY_HAND = "easily written: see docs/mechanisms/names-choice.md"
CLAIM = ApproxDP(float(EPSILON), float(DELTA))

ENTRIES = (
    Broken(
        name="names, lowest bar over the longest list",
        what="of several limits the longest list is taken, with the lowest of their bars",
        source=BY_HAND,
        law=lowest_bar(1, (1, 4)),
        pairs=(((2, 2, 2, 2, 1), (2, 2, 2, 2, 2)),),
        claim=CLAIM,
    ),
    Broken(
        name="names, lowest bar over the longest list, sets of two",
        what="the same for k = 2",
        source=BY_HAND,
        law=lowest_bar(2, (2, 4)),
        pairs=(((3, 3, 3, 3, 2), (3, 3, 3, 3, 3)),),
        claim=CLAIM,
    ),
    Broken(
        name="names, choice without noise",
        what="the limit whose bar is lowest is taken, without noise on that choice",
        source=BY_HAND,
        law=without_noise(1, (1, 3)),
        pairs=(((4, 3, 3, 2), (5, 3, 4, 2)),),
        claim=CLAIM,
    ),
    Broken(
        name="names, choice by margins",
        what="bars are compared as margins of the k-th count, which move both ways, at the price of one way",
        source=BY_HAND,
        law=margins(2, (2, 4)),
        pairs=(((3, 2, 0, 0, 0), (3, 3, 0, 0, 0)),),
        claim=BoundedRange(float(RATE)),
    ),
)
