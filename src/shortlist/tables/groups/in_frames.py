"""Groups of frames in memory: people, groups and items are numbered by joins, and the rest is arithmetic on numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from shortlist._arrays import Frame, FrameKind, Indices, Mask
from shortlist.exact.thresholds import UNIT
from shortlist.release_io import own_frame
from shortlist.tables.caps import Cap
from shortlist.tables.column_types import Row
from shortlist.tables.columns import type_names, typed_frame
from shortlist.tables.frame_caps import first_of, hashes_of, people_of
from shortlist.tables.groups.grouping import Grouping
from shortlist.tables.groups.held import GroupHeld, Sizes, Spot
from shortlist.tables.question import LARGEST, SATURATED, Clip, Question
from shortlist.tables.remote_scores import Column


def groups_of_rows(
    rows: Any, library: FrameKind, question: Question, listed: list[Row] | None, known: list[list[Row]] | None
) -> GroupHeld:
    """The counts of every group, from a frame of our own names; `known` has one list for all groups or one for each."""
    grouping = question.grouping
    assert grouping is not None
    frame, types = _numbered(rows, library, question, listed, known)
    group, item = (frame[name].to_numpy().astype(np.int64) for name in ("group", "item"))
    offered = None if known is None else _offered(known, types.items, question)
    if offered is not None and len(offered) > 1:  # each group has its own list
        places = np.flatnonzero(np.isin(group * types.size + item, _codes(offered, types.size)))
        frame, group, item = frame[places], group[places], item[places]
    person = people_of(frame)
    inside = np.flatnonzero(stays(frame, person, group, grouping, types.groups))
    frame = frame[inside]
    person, group, item = person[inside], group[inside], item[inside]
    counts = _counted(frame, person, group, item, types.size, question)
    engine = FrameGroups(*counts, types, question.keys, grouping.keys, offered, library, question.weighted)
    if offered is None:
        return GroupHeld(engine, listed, None)
    assert listed is not None
    sizes = [len(one) for one in offered]
    return GroupHeld(engine, listed, np.array(sizes * (len(listed) if len(sizes) == 1 else 1), np.int64))


@dataclass(frozen=True, slots=True)
class Numbers:
    """Which item, and which group, has which number: frames in the order of names."""

    items: Any
    groups: Any

    @property
    def size(self) -> int:
        """How many items there are, at least 1."""
        return max(len(self.items), 1)


def _numbered(
    rows: Any, library: FrameKind, question: Question, listed: list[Row] | None, known: list[list[Row]] | None
) -> tuple[Any, Numbers]:
    """The rows that count, with the numbers of their group and item."""
    assert question.grouping is not None
    keys, by = list(question.keys), list(question.grouping.keys)
    every = None if known is None else list(dict.fromkeys(row for one in known for row in one))
    items = (listed_frame(every, rows, keys, library) if every is not None else rows.select(*keys).unique()).sort(*keys)
    groups = listed_frame(listed, rows, by, library) if listed is not None else rows.select(*by).unique().sort(*by)
    numbered = Numbers(items.with_row_index("item"), groups.with_row_index("group"))
    return rows.join(numbered.items, on=keys, how="inner").join(numbered.groups, on=by, how="inner"), numbered


def listed_frame(rows: list[Row], beside: Any, keys: list[str], library: FrameKind) -> Any:
    columns = dict(zip(keys, map(list, zip(*rows, strict=True)), strict=True))
    return nw.from_native(typed_frame(columns, beside.select(*keys).to_native(), library))


def _offered(known: list[list[Row]], items: Any, question: Question) -> list[Indices]:
    """The numbers of the candidates, in order: for all groups, or for each."""
    names = _rows(items.select(*question.keys))
    number = {name: n for n, name in enumerate(names)}
    return [np.array(sorted({number[row] for row in one}), np.int64) for one in known]


def _rows(frame: Any) -> list[Row]:
    return [tuple(part.item() if isinstance(part, np.generic) else part for part in row) for row in frame.rows()]


def _codes(offered: list[Indices], size: int) -> Indices:
    return np.concatenate([n * size + one for n, one in enumerate(offered)])


def stays(frame: Any, person: Indices, group: Indices, grouping: Grouping, groups: Any) -> Mask:
    """Which rows are in a group that their person keeps (grouping.py)."""
    if not len(person):
        return np.ones(0, np.bool_)
    number = max(len(groups), 1)
    codes, first, which, many = np.unique(
        person * number + group, return_index=True, return_inverse=True, return_counts=True
    )
    who = codes // number
    start = np.searchsorted(who, who)
    held = np.searchsorted(who, who, side="right") - start
    keeps = np.ones(len(codes), np.bool_)
    heavy = np.flatnonzero(held > grouping.per_user)
    if len(heavy):
        some = frame[first[heavy]]
        hashes = hashes_of(some, ("u", *grouping.keys), grouping.salt)
        names = _rows(some.select(*grouping.keys))
        order = sorted(range(len(heavy)), key=lambda n: (who[heavy[n]], -many[heavy[n]], hashes[n], names[n]))
        ranks = np.arange(len(heavy)) - np.searchsorted(who[heavy], who[heavy])  # heavy is in the order of people
        keeps[heavy[np.array(order)]] = ranks < grouping.per_user
    stays: Mask = keeps[which]
    return stays


def _counted(
    frame: Any, person: Indices, group: Indices, item: Indices, size: int, question: Question
) -> tuple[Indices, Indices, Indices, Indices]:
    """(group, item, score, weight) of all that do not score 0."""
    pairs, pair = np.unique(np.stack([person, group]), axis=1, return_inverse=True) if len(person) else (
        np.empty((2, 0), np.int64), np.empty(0, np.int64)
    )  # fmt: skip
    codes, first, which = np.unique(pair.ravel() * size + item, return_index=True, return_inverse=True)
    inside, what = codes // size, codes % size
    if question.clip is not None:
        parts = _shares(frame, which, len(codes), question.clip)
        return _added(pairs[1][inside], what, parts, np.zeros_like(parts), size, question.clip)
    score, weight = np.ones(len(codes), np.int64), np.zeros(len(codes), np.int64)
    if question.cap is not None and len(codes):
        score, weight = _capped(frame, first, inside, list(question.keys), question.cap)
    return _added(pairs[1][inside], what, score, weight, size, None)


def _capped(frame: Any, first: Indices, inside: Indices, keys: list[str], cap: Cap) -> tuple[Indices, Indices]:
    """What each distinct (person, group, item) adds to scores and weights (caps.py)."""
    held = np.bincount(inside)[inside]
    keeps = held <= cap.most
    heavy = np.flatnonzero(~keeps)
    if len(heavy):
        keeps[heavy] = first_of(frame[first[heavy]], keys, inside[heavy], cap)
    weights = np.floor(np.sqrt(np.floor(float(UNIT**2) / np.minimum(held, cap.most)))).astype(np.int64)
    scores = keeps.astype(np.int64) if cap.caps_scores else np.ones(len(held), np.int64)
    return scores, np.where(keeps, weights, 0)


def _shares(frame: Any, which: Indices, number: int, clip: Clip) -> Indices:
    """What each person adds to each item of a group, in whole steps."""
    values = np.clip(frame["v"].to_numpy() * clip.steps, -SATURATED, SATURATED)
    steps = np.floor(values + 0.5).astype(np.int64)
    totals = np.zeros(number, np.int64)
    np.add.at(totals, which.ravel(), steps)
    return np.clip(totals, clip.low, clip.high)


def _added(
    group: Indices, item: Indices, parts: Indices, weights: Indices, size: int, clip: Clip | None
) -> tuple[Indices, Indices, Indices, Indices]:
    codes, which = np.unique(group * size + item, return_inverse=True)
    scores, heavy = np.zeros(len(codes), np.int64), np.zeros(len(codes), np.int64)
    np.add.at(scores, which.ravel(), parts)
    np.add.at(heavy, which.ravel(), weights)
    scores = scores if clip is None else np.clip(scores, -LARGEST, LARGEST)
    some = np.flatnonzero(scores)
    return codes[some] // size, codes[some] % size, scores[some], heavy[some]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class FrameGroups:
    """Groups, items and scores by their numbers, in the order of (group, item)."""

    group: Indices
    item: Indices
    score: Indices
    weight: Indices
    numbers: Numbers
    items: tuple[str, ...]
    key: tuple[str, ...]
    offered: list[Indices] | None
    library: FrameKind
    weighted: bool

    @property
    def frame(self) -> Frame:
        both = [self.numbers.groups.select(*self.key), self.numbers.items.select(*self.items)]
        return own_frame(self.library, [name for one in both for name in type_names(one.to_native(), self.library)])

    def classes(self, column: Column) -> Sizes:
        numbers = self.score if column == "score" else self.weight
        some = np.flatnonzero(numbers) if column == "weight" else np.arange(len(numbers))
        if not len(some):
            return (np.empty(0, np.int64),) * 3
        classes, sizes = np.unique(np.stack([self.group[some], numbers[some]]), axis=1, return_counts=True)
        return classes[0], classes[1], sizes

    def winners(self, spots: Sequence[Spot], column: Column) -> list[Row]:
        rows = [self._at(spot, column) for spot in spots]
        unheld = {spot[0]: self._zeros(spot[0]) for row, spot in zip(rows, spots, strict=True) if row is None}
        numbers = [
            int(unheld[group][rank - 1] if row is None else self.item[row])
            for row, (group, _, rank) in zip(rows, spots, strict=True)
        ]
        return _rows(self.numbers.items.select(*self.items)[numbers])

    def counts(self, spots: Sequence[Spot]) -> list[int]:
        return [int(self.score[row]) for spot in spots if (row := self._at(spot, "weight")) is not None]

    def keys(self, groups: Sequence[int]) -> list[Row]:
        return _rows(self.numbers.groups.select(*self.key)[list(groups)]) if groups else []

    def _at(self, spot: Spot, column: Column) -> int | None:
        """The row of what stands there; None for a candidate that nobody has."""
        group, score, rank = spot
        if score == 0:
            return None
        start, end = np.searchsorted(self.group, [group, group + 1])
        numbers = (self.score if column == "score" else self.weight)[start:end]
        return int(start + np.flatnonzero(numbers == score)[rank - 1])

    def _zeros(self, group: int) -> Indices:
        """The candidates of a group that nobody has there."""
        assert self.offered is not None
        start, end = np.searchsorted(self.group, [group, group + 1])
        offered = self.offered[group if len(self.offered) > 1 else 0]
        return np.setdiff1d(offered, self.item[start:end], assume_unique=True)
