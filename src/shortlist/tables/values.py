"""From rows to votes on a grid: each person has one vote, made of that person's rows alone (Theorem 249)."""

from __future__ import annotations

import numpy as np

from shortlist._arrays import Indices

SATURATED_VALUES = float(1 << 33)
"""One row adds at most so many steps to a person's sum, so that no engine's 64 bits overflow."""

FIRST_DAY = 719163
"""The ordinal of 1 January 1970."""

Placed = tuple[Indices, Indices]
"""(places that hold weight, increasing; their weights)."""


def split_by_group(groups: Indices, places: Indices, weights: Indices, number: int) -> list[Placed]:
    """Return votes of each group that were added up by group and place, in any order."""
    order = np.lexsort((places, groups))
    groups, places, weights = groups[order], places[order], weights[order]
    ends = np.searchsorted(groups, np.arange(number + 1))
    return [(places[ends[n] : ends[n + 1]], weights[ends[n] : ends[n + 1]]) for n in range(number)]


def add_places(places: Indices, weights: Indices) -> Placed:
    """Added up by place; those without weight left out."""
    if not len(places):
        return places, weights
    if np.any(places[1:] < places[:-1]):
        order = np.argsort(places, kind="stable")
        places, weights = places[order], weights[order]
    return add_sorted(places, weights)


def add_sorted(places: Indices, weights: Indices) -> Placed:
    """The same of places in order."""
    if not len(places):
        return places, weights
    first = np.empty(len(places), np.bool_)
    first[0] = True
    np.not_equal(places[1:], places[:-1], out=first[1:])
    if not first.all():
        starts = np.flatnonzero(first)
        places, weights = places[starts], np.add.reduceat(weights, starts)
    if weights.min() > 0:
        return places, weights
    some = weights > 0
    return places[some], weights[some]
