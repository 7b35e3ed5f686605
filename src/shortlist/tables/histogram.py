"""A grouped histogram that stays in its engine: Python sees how many items have each score, and the winners' names.

Every table is one: rows of (group, item, score), perhaps with a weight. One list is one group, with the number 0. An
item of a group is a score class and a rank inside it. Positions go to a mechanism, which treats candidates alike, so
any fixed way to number the candidates of a class gives the same distribution (docs/tables.md#names). Items of a public
list that nobody has are not held: they are in the class of 0, and are asked for only where one of them wins.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from shortlist._arrays import Frame, Indices
from shortlist.scores import GroupedScores, Pick, Remote, Scores
from shortlist.tables.column_types import Row
from shortlist.tables.question import Plan, plain_key

Column = Literal["score", "weight"]
"""By which of its numbers an item is found. Weights are made where an engine is `weighted`; items that weigh nothing
are not found by them."""
Spot = tuple[int, int, int]
"""(group, score, rank inside its class, from 1)."""
Sizes = tuple[Indices, Indices, Indices]
"""Group, score and how many items have it there, side by side, in any order."""
CHANGED = "the table changed between counting and naming the winners; count again"


class Aggregate(Protocol):
    """The rows (group, item, score), of scores that are not 0, held where they were made until they are forgotten.

    Scores and weights were made of the same rows in one pass, and naming the winners reads what is held, never the
    rows.
    """

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
class NoRows:
    """A table before anything is counted: all that is public of it is right, and nobody is in it."""

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
        """Return the classes; of `offered` candidates in each group those that were not found score 0."""
        group, score, size = sizes
        if offered is not None:
            left = offered - np.bincount(group, size, minlength=groups).astype(np.int64)
            rest = np.flatnonzero(left > 0)
            group, score = np.append(group, rest), np.append(score, np.zeros(len(rest), np.int64))
            size = np.append(size, left[rest])
        order = np.lexsort((-score, group))
        return cls(score[order], size[order], np.searchsorted(group[order], np.arange(groups + 1)))


class Histogram:
    """The names behind the positions of every group. Private."""

    __slots__ = ("_classes", "engine", "listed", "number")

    def __init__(
        self, engine: Aggregate, number: int | None, listed: list[Row] | None = None, offered: Indices | None = None
    ) -> None:
        """`number` counts the groups (None: those that were found), `listed` are their public keys, `offered` says how
        many public candidates each has."""
        self.engine = engine
        self.listed = listed
        classes = engine.classes("score")
        self.number = int(classes[0].max(initial=-1)) + 1 if number is None else number
        self._classes: dict[Column, Classes] = {"score": Classes.of(classes, self.number, offered)}

    def classes(self, column: Column) -> Classes:
        """Read when they are needed."""
        if column not in self._classes:
            self._classes[column] = Classes.of(self.engine.classes(column), self.number, None)
        return self._classes[column]

    def keys(self, groups: Sequence[int]) -> list[Hashable]:
        """Return the keys of these groups."""
        rows = self.engine.keys(groups) if self.listed is None else [self.listed[group] for group in groups]
        if len(rows) != len(groups):
            raise RuntimeError(CHANGED)
        return list(map(plain_key, rows))

    def names(self, picks: Sequence[Pick]) -> list[list[Hashable]]:
        """Return the items of many groups in one question (two, if some were found by weight)."""
        items: dict[tuple[int, int], Hashable] = {}
        columns: tuple[Column, ...] = ("score", "weight")
        for column in columns:
            wanted = [n for n, pick in enumerate(picks) if pick.by_weight == (column == "weight")]
            places = [(n, i) for n in wanted for i in range(len(picks[n].positions))]
            spots = [spot for n in wanted for spot in self.spots(picks[n].group, picks[n].positions, column)]
            rows = self.engine.winners(spots, column) if spots else []
            if len(rows) != len(spots):
                raise RuntimeError(CHANGED)
            items |= dict(zip(places, map(plain_key, rows), strict=True))
        return [[items[n, i] for i in range(len(pick.positions))] for n, pick in enumerate(picks)]

    def spots(self, group: int, positions: Sequence[int], column: Column) -> list[Spot]:
        """Return these positions of a group, as the engine knows them."""
        part = Ranking(self, group, column)
        sizes = part.sizes
        ends, where = np.cumsum(sizes), np.asarray(positions, np.int64)
        which = np.searchsorted(ends, where, side="right")
        ranks = where - (ends - sizes)[which] + 1
        return [(group, score, rank) for score, rank in zip(part.scores[which].tolist(), ranks.tolist(), strict=True)]


class Ranking:
    """The items of one group, best first, by their scores or by their weights; of the group -1 there are none.

    Weights are whole numbers of 2^-20, of items that have some. One user, added, raises the weights of t <= most items
    by weight(t) each, and no other: the squares of what they add are 1 at most in all (Theorem 195). Private, as scores
    are.
    """

    __slots__ = ("_column", "_group", "_histogram", "most")

    def __init__(self, histogram: Histogram, group: int, column: Column = "score", most: int = 0) -> None:
        """`most` says how many items of a user were weighed, at most: public."""
        self._histogram, self._group, self._column, self.most = histogram, group, column, most

    @property
    def engine(self) -> Aggregate:
        """Where the names are."""
        return self._histogram.engine

    @property
    def scores(self) -> Indices:
        """The distinct scores, decreasing."""
        classes = self._histogram.classes(self._column)
        return classes.scores[classes.starts[self._group] : classes.starts[self._group + 1]]

    @property
    def sizes(self) -> Indices:
        """How many items have each."""
        classes = self._histogram.classes(self._column)
        return classes.sizes[classes.starts[self._group] : classes.starts[self._group + 1]]

    def names(self, positions: Sequence[int]) -> list[Hashable]:
        """Return the items at these positions."""
        return self._histogram.names([Pick(self._group, positions, self._column == "weight")])[0]

    def counts(self, positions: Sequence[int]) -> list[int]:
        """Return the scores of the items at these positions of the weights."""
        if not len(positions):
            return []
        counts = self.engine.counts(self._histogram.spots(self._group, positions, "weight"))
        if len(counts) != len(positions):
            raise RuntimeError(CHANGED)
        return counts


def scores_of(engine: Aggregate, plan: Plan, unit: str, table: str) -> Scores | GroupedScores:
    """Return what was counted as scores: of one list, or of every group, made when they are asked for."""
    question = plan.question
    clip, cap, grouping, offered = question.clip, question.cap, question.grouping, plan.candidate_counts
    histogram = Histogram(engine, plan.number, plan.groups, offered)
    most = cap.most if cap is not None and engine.weighted else None
    factor: int | float = 1 if clip is None else float(clip.grid)

    def content(group: int) -> Remote:
        weights = None if most is None else Ranking(histogram, group, "weight", most)
        return Remote(Ranking(histogram, group), weights, factor)

    scores = Scores._of_table(
        content(0 if grouping is None else -1),
        sensitivity=1.0 if clip is None else clip.sensitivity,
        monotone=clip is None or clip.monotone,
        public=plan.public,
        unit=unit,
        frame=engine.frame if grouping is None else None,
        columns=question.items if len(question.items) > 1 else (),
        most=question.most,
        source=question.in_words(table),
    )
    if grouping is None:
        return scores
    sizes = set() if offered is None else set(offered.tolist())
    return GroupedScores._of(
        scores,
        lambda group: scores._with_content(content(group)),
        names=histogram,
        keys=None if plan.groups is None else map(plain_key, plan.groups),
        by=grouping.by,
        per_user=grouping.per_user,
        frame=engine.frame,
        size=sizes.pop() if len(sizes) == 1 else None,
    )
