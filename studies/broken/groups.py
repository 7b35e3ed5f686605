"""Broken lists for groups: a person is in more groups than was paid for, or the list of groups tells who is there.

A group has two items and its winner is drawn by the exponential mechanism with the whole of epsilon, as one group may.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from flint import arb

from shortlist.audit import Law
from shortlist.audit.certified.base import Point, ordered_law
from studies.broken.entry import Broken

Array = npt.NDArray[Any]
Rng = np.random.Generator


def winners(groups: Sequence[Sequence[int]]) -> Law:
    """One winner of each group, drawn independently."""
    law: dict[tuple[int, ...], arb] = {(): arb(1)}
    for counts in groups:
        each = ordered_law(counts, 1, "gumbel", 1)
        law = {(*order, *one): chance * p for order, chance in law.items() for one, p in each.items()}
    return Law(law)


def never_truncated(x: Point) -> Law:
    """Two groups of two items: x has the counts of all four."""
    return winners((x[:2], x[2:]))


def least_crowded(x: Point) -> Law:
    """x[0] people hold the second item of both groups, x[1] people the first item of the first group alone.

    Everybody is kept in the group of theirs in which there are fewer people, the first one if there are as many.
    """
    both, one = x
    kept_first = both if both + one <= both else 0
    return winners(((one, kept_first), (0, both - kept_first)))


def listed_if_there(x: Point) -> Law:
    """A group is listed, with a winner, if anybody is in it; x has its counts."""
    return winners((x,)) if any(x) else Law({"not listed": arb(1)})


def _rankings(x: Sequence[float]) -> tuple[list[float], list[int], list[int]]:
    """Return (weights, items by weight, items by count).

    x[0] users hold item 0 alone, x[1] users hold items 1 and 2 and two others, and x[2] users hold item 2 alone. A user
    of four items adds 1/2 to the weight of each.
    """
    weights, counts = [x[0], x[1] / 2, x[1] / 2 + x[2]], [x[0], x[1], x[1] + x[2]]
    by_weight, by_count = (sorted(range(3), key=lambda i: -one[i]) for one in (weights, counts))
    return weights, by_weight, by_count


def winner_by_weight(x: Point, *, named_by_count: bool = True) -> Law:
    """One winner by noisy weights, named by its place in one of the rankings."""
    weights, by_weight, by_count = _rankings([float(one) for one in x])
    named = dict(zip(by_weight, by_count if named_by_count else by_weight, strict=True))
    return Law({named[item]: chance for (item,), chance in ordered_law(weights, 1, "gumbel", 1).items()})


def _draws_by_weight(x: Array, draws: int, rng: Rng) -> Array:
    """Draw what `winner_by_weight` is the exact distribution of."""
    weights, by_weight, by_count = _rankings(x.tolist())
    winners = (np.array(weights) + rng.gumbel(size=(draws, 3))).argmax(1)
    places = np.argsort(by_weight)[winners]
    named: Array = np.array(by_count)[places]
    return named


BY_HAND = "easily written: see docs/theory/19-groups.md"

ENTRIES = (
    Broken(
        name="groups, paid once and not truncated",
        what="the charge is that of one group, and a person's rows count in all of them",
        source=BY_HAND,
        law=never_truncated,
        pairs=(((0, 1, 0, 1), (0, 2, 0, 2)),),
    ),
    Broken(
        name="groups, kept by how crowded they are",
        what="everybody is kept in their least crowded group: one person moves all others",
        source=BY_HAND,
        law=least_crowded,
        pairs=(((5, 0), (5, 1)),),
    ),
    Broken(
        name="groups, keys from the data without delta",
        what="every group that has people is listed, with a winner from a public list",
        source=BY_HAND,
        law=listed_if_there,
        pairs=(((0, 0), (0, 1)),),
    ),
    Broken(
        name="groups, winners by weight named by count",
        what="positions drawn in the ranking by capped weights are looked up in the ranking by exact counts",
        source="shipped: shortlist 0.2.0, lists of scores that were counted from tables",
        run=_draws_by_weight,
        law=winner_by_weight,
        pairs=(((50, 60, 0), (50, 60, 1)),),
    ),
)
