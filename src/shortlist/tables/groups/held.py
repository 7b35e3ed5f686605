"""Groups that stay in their engine: Python sees how many items of each have which score, and the winners' names.

A group is a number; an item of it is a score class and a rank inside it, as in `remote_scores.py`. Items of a public
list that nobody has are not held: they are the class of 0, and are asked for only where one of them wins.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shortlist._arrays import Frame, Indices
from shortlist.scores import Pick
from shortlist.tables.column_types import Row
from shortlist.tables.groups.grouping import plain_key
from shortlist.tables.remote_scores import CHANGED, Column

Spot = tuple[int, int, int]
"""(group, score, rank inside its class, from 1)."""
Sizes = tuple[Indices, Indices, Indices]
"""Group, score and how many items have it there, side by side, in any order."""


class GroupEngine(Protocol):
    """An aggregate of (group, item, score) and perhaps a weight, of scores that are not 0, until it is forgotten."""

    @property
    def frame(self) -> Frame | None:
        """How a released table is made in the caller's own kind: with the columns of the key first."""

    @property
    def weighted(self) -> bool:
        """Whether items have weights."""

    def classes(self, column: Column) -> Sizes:
        """Of the scores, or of the weights above 0."""

    def winners(self, spots: Sequence[Spot], column: Column) -> list[Row]:
        """The items there, in this order: the only names that travel."""

    def counts(self, spots: Sequence[Spot]) -> list[int]:
        """The scores of the items at these spots of the weights, in this order."""

    def keys(self, groups: Sequence[int]) -> list[Row]:
        """The keys of these groups, in this order, where they come from the data: of those that are listed."""


@dataclass(frozen=True, slots=True)
class NoGroups:
    """Groups before anything is counted: all that is public of them is right, and nobody is in any."""

    weighted: bool = False
    frame: Frame | None = None

    def classes(self, column: Column) -> Sizes:
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing

    def winners(self, spots: Sequence[Spot], column: Column) -> list[Row]:
        raise RuntimeError("nothing was counted yet")

    def counts(self, spots: Sequence[Spot]) -> list[int]:
        raise RuntimeError("nothing was counted yet")

    def keys(self, groups: Sequence[int]) -> list[Row]:
        raise RuntimeError("nothing was counted yet")


@dataclass(frozen=True, slots=True, repr=False)
class Classes:
    """The classes of every group, best first, one group after the other."""

    scores: Indices
    sizes: Indices
    starts: Indices
    """Where each group begins, and the end."""

    @classmethod
    def of(cls, sizes: Sizes, groups: int, offered: Indices | None) -> Classes:
        """With `offered`, how many candidates each group has: those that were not found score 0."""
        group, score, size = sizes
        if offered is not None:
            left = offered - np.bincount(group, size, minlength=groups).astype(np.int64)
            rest = np.flatnonzero(left > 0)
            group, score = np.append(group, rest), np.append(score, np.zeros(len(rest), np.int64))
            size = np.append(size, left[rest])
        order = np.lexsort((-score, group))
        starts = np.searchsorted(group[order], np.arange(groups + 1))
        return cls(score[order], size[order], starts)


class GroupHeld:
    """The names of all groups of one count. Private."""

    __slots__ = ("_classes", "engine", "listed", "offered")

    def __init__(self, engine: GroupEngine, listed: list[Row] | None, offered: Indices | None) -> None:
        self.engine = engine
        self.listed = listed
        self.offered = offered
        self._classes: dict[Column, Classes] = {}
        first = engine.classes("score")
        number = len(listed) if listed is not None else int(first[0].max(initial=-1)) + 1
        self._classes["score"] = Classes.of(first, number, offered)

    @property
    def number(self) -> int:
        """How many groups there are."""
        return len(self._classes["score"].starts) - 1

    def classes(self, column: Column) -> Classes:
        """Read when they are needed."""
        if column not in self._classes:
            self._classes[column] = Classes.of(self.engine.classes(column), self.number, None)
        return self._classes[column]

    def keys(self, groups: Sequence[int]) -> list[Hashable]:
        """The keys of these groups."""
        rows = self.engine.keys(groups) if self.listed is None else [self.listed[group] for group in groups]
        if len(rows) != len(groups):
            raise RuntimeError(CHANGED)
        return list(map(plain_key, rows))

    def names(self, picks: Sequence[Pick]) -> list[list[Hashable]]:
        """The items of many groups in one question (two, if some were found by weight)."""
        items: dict[tuple[int, int], Hashable] = {}
        for column in ("score", "weight"):
            wanted = [n for n, pick in enumerate(picks) if pick.by_weight == (column == "weight")]
            places = [(n, i) for n in wanted for i in range(len(picks[n].positions))]
            spots = [spot for n in wanted for spot in self.spots(picks[n].group, picks[n].positions, column)]
            rows = self.engine.winners(spots, column) if spots else []
            if len(rows) != len(spots):
                raise RuntimeError(CHANGED)
            items |= dict(zip(places, map(plain_key, rows), strict=True))
        return [[items[n, i] for i in range(len(pick.positions))] for n, pick in enumerate(picks)]

    def spots(self, group: int, positions: Sequence[int], column: Column) -> list[Spot]:
        """These positions of a group, as the engine knows them."""
        part = _Part(self, group, column)
        ends, where = np.cumsum(part.sizes), np.asarray(positions, np.int64)
        which = np.searchsorted(ends, where, side="right")
        ranks = where - (ends - part.sizes)[which] + 1
        return [(group, score, rank) for score, rank in zip(part.scores[which].tolist(), ranks.tolist(), strict=True)]


class _Part:
    """The items of one group by their scores, or by their weights: positions are best first."""

    __slots__ = ("_column", "_group", "_held")

    def __init__(self, held: GroupHeld, group: int, column: Column) -> None:
        self._held = held
        self._group = group
        self._column = column

    @property
    def scores(self) -> Indices:
        classes = self._held.classes(self._column)
        return classes.scores[classes.starts[self._group] : classes.starts[self._group + 1]]

    @property
    def sizes(self) -> Indices:
        classes = self._held.classes(self._column)
        return classes.sizes[classes.starts[self._group] : classes.starts[self._group + 1]]

    def names(self, positions: Sequence[int]) -> list[Hashable]:
        return self._held.names([Pick(self._group, positions, self._column == "weight")])[0]


class GroupNames(_Part):
    """The names behind the positions of one group."""

    __slots__ = ()

    def __init__(self, held: GroupHeld, group: int) -> None:
        super().__init__(held, group, "score")


class GroupWeights(_Part):
    """The items of one group by their weights (Theorem 195)."""

    __slots__ = ("most",)

    def __init__(self, held: GroupHeld, group: int, most: int) -> None:
        super().__init__(held, group, "weight")
        self.most = most

    def counts(self, positions: Sequence[int]) -> list[int]:
        if not len(positions):
            return []
        counts = self._held.engine.counts(self._held.spots(self._group, positions, "weight"))
        if len(counts) != len(positions):
            raise RuntimeError(CHANGED)
        return counts
