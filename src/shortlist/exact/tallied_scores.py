"""Many integers of which there are few different ones: counted by number, not sorted. Draws nothing.

What a set is drawn from are the ranked scores, and these are known from how many candidates have each number. Who is at
which rank is looked up for the winners alone (Lemma 268). So a set costs two readings of the scores and little memory,
where the winners have few different numbers; many of them are looked up in an order of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shortlist._arrays import Indices, Values
from shortlist._runs import Runs
from shortlist.exact.ranked_subsets import descending

MANY = 1 << 16
"""Fewer candidates than these are sorted in little time."""
SPAN = 1 << 22
"""Numbers further apart than this are not counted one by one."""
CHUNK = 1 << 20
FEW = 64
"""Each different number of the winners is looked for in all scores: more than so many cost more than an order."""


@dataclass(frozen=True, slots=True)
class Tallied:
    """Scores and their runs, best first; tied candidates stand in the caller's order."""

    values: Values
    runs: Runs

    def positions(self, ranks: Indices) -> Indices:
        """Where these ranks stand among the candidates, in the same order."""
        which = np.searchsorted(self.runs.ends, ranks, side="right")
        different = np.unique(which).tolist()
        if len(different) > FEW:
            return descending(self.values)[ranks]
        place = ranks - self.runs.starts_and_length[which]  # among those that are tied
        positions, before = np.zeros(len(ranks), np.int64), np.zeros(len(ranks), np.int64)
        least = self.runs.values[which.max(initial=0)]
        for start, chunk in _chunks(self.values):
            near = np.flatnonzero(chunk >= least)
            scores = chunk[near]
            for one in different:
                mine = which == one
                tied = near[scores == self.runs.values[one]]
                here = mine & (place >= before) & (place < before + len(tied))
                positions[here] = start + tied[place[here] - before[here]]
                before[mine] += len(tied)
        return positions


def tallied(values: Values) -> Tallied | None:
    """The scores, counted; None where there are few, where they are no integers or too far apart."""
    if values.dtype.kind not in "iu" or len(values) < MANY:
        return None
    least, most = int(values.min()), int(values.max())
    if most - least >= min(SPAN, 4 * len(values)) or most >= 1 << 63:
        return None
    counts = np.zeros(most - least + 1, np.int64)
    for _, chunk in _chunks(values):
        counts += np.bincount(most - chunk.astype(np.int64), minlength=len(counts))
    some = np.flatnonzero(counts)
    return Tallied(values, Runs.of(most - some, counts[some]))


def runs_of(counted: Runs | Tallied) -> Runs:
    """The ranked scores, whoever has them."""
    return counted.runs if isinstance(counted, Tallied) else counted


def positions_of(counted: Runs | Tallied, ranks: Indices) -> Indices:
    """The candidates at these ranks; those that came as runs have no other place."""
    return counted.positions(ranks) if isinstance(counted, Tallied) else ranks


def _chunks(values: Values) -> Iterator[tuple[int, Values]]:
    return ((start, values[start : start + CHUNK]) for start in range(0, len(values), CHUNK))
