"""pandas, polars and pyarrow frames, through narwhals. They are in memory already, and so are their counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from shortlist._arrays import FRAMES, Frame, FrameKind
from shortlist.release_io import own_frame
from shortlist.tables.candidates import known_rows
from shortlist.tables.column_types import Kind, Row
from shortlist.tables.columns import (
    check_types,
    declared_types,
    group_kinds,
    is_text,
    kept_rows,
    names_of,
    type_names,
    typed_frame,
    written,
)
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.frame_caps import capped
from shortlist.tables.groups.grouping import candidates_of_groups
from shortlist.tables.groups.held import GroupHeld
from shortlist.tables.groups.in_frames import groups_of_rows
from shortlist.tables.question import LARGEST, SATURATED, Clip, Question
from shortlist.tables.remote_scores import Column, Place

WRONG = "the frame cannot be counted"


def count_frame(source: Any, question: Question, candidates: object) -> FrameCounts | GroupHeld:
    """The counts as a frame of the same library."""
    library = library_of(source)
    if not {kind.__name__ for kind in type(source).__mro__} & {"DataFrame", "LazyFrame", "Table"}:
        raise TypeError(f"source must be a frame with the columns of users and items, not a {type(source).__name__}")
    names, types = in_one_sentence(WRONG, lambda: (names_of(source, library), declared_types(source, library)))
    question.check_columns(names)
    kinds = check_types(types, question)
    if question.grouping is not None:
        return _groups(source, library, types, kinds, question, candidates)
    known = None if candidates is None else known_rows(candidates, question.items, kinds, written(types))

    def counted() -> Any:
        rows = kept_rows(source, library, types, kinds, question)
        if question.cap is not None:
            counts = capped(_pairs(rows, known, library, types, question), list(question.keys), question.cap)
        else:
            counts = _collected(_counted(rows, question))
        return counts if known is None else _matched(counts, known, library, question)

    return FrameCounts(in_one_sentence(WRONG, counted), question.keys, library, question.weighted)


def _groups(
    source: Any,
    library: FrameKind,
    types: dict[str, str],
    kinds: list[Kind],
    question: Question,
    candidates: object,
) -> GroupHeld:
    """The counts of every group."""
    assert question.grouping is not None
    listed = question.grouping.fitted(group_kinds(types, question), written(types))
    lists = candidates_of_groups(candidates, listed)
    if lists is None:
        known = None if candidates is None else [known_rows(candidates, question.items, kinds, written(types))]
    else:
        known = [known_rows(one, question.items, kinds, written(types)) for one in lists]

    def counted() -> GroupHeld:
        rows = kept_rows(source, library, types, kinds, question)
        named = _collected(rows.filter(nw.col("u") != "") if is_text(types[question.user]) else rows)
        return groups_of_rows(named, library, question, listed, known)

    return in_one_sentence(WRONG, counted)


def _collected(frame: Any) -> Any:
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def _pairs(rows: Any, known: list[Row] | None, library: FrameKind, types: dict[str, str], question: Question) -> Any:
    """Each person's distinct items. Whoever has no name would be many people, and items off the list use up no cap."""
    named = rows.filter(nw.col("u") != "") if is_text(types[question.user]) else rows
    pairs = _collected(named.unique())
    return pairs if known is None else pairs.join(_listed(known, pairs, library, question), list(question.keys), "semi")


def _counted(rows: Any, question: Question) -> Any:
    keys = list(question.keys)
    if question.clip is None:
        return rows.group_by(keys).agg(nw.col("u").n_unique().alias("score"))
    persons = rows.with_columns(v=_steps(question.clip)).group_by(["u", *keys]).agg(nw.col("v").sum())
    parts = persons.with_columns(v=nw.col("v").clip(question.clip.low, question.clip.high))
    sums = parts.group_by(keys).agg(nw.col("v").sum().alias("score"))
    return sums.with_columns(nw.col("score").clip(-LARGEST, LARGEST))


def _steps(clip: Clip) -> nw.Expr:
    return ((nw.col("v") * clip.steps).clip(-SATURATED, SATURATED) + 0.5).floor().cast(nw.Int64)


def _matched(counts: Any, known: list[Row], library: FrameKind, question: Question) -> Any:
    """The counts of the known candidates, 0 where there are none."""
    joined = _listed(known, counts, library, question).join(counts, on=list(question.keys), how="left")
    return joined.with_columns(nw.col("score").fill_null(0).cast(nw.Int64))


def _listed(known: list[Row], beside: Any, library: FrameKind, question: Question) -> Any:
    """The known candidates, for a join with that frame."""
    columns = dict(zip(question.keys, map(list, zip(*known, strict=True)), strict=True))
    return nw.from_native(typed_frame(columns, beside.select(*question.keys).to_native(), library))


@dataclass(frozen=True, slots=True, repr=False)
class FrameCounts:
    """A frame of (item, score), perhaps with weights."""

    held: Any
    keys: tuple[str, ...]
    library: FrameKind
    weighted: bool

    @property
    def frame(self) -> Frame:
        return own_frame(self.library, type_names(self.held.select(*self.keys).to_native(), self.library))

    def classes(self, column: Column = "score") -> list[tuple[int, int]]:
        numbers = self.held[column].to_numpy()
        some = numbers[numbers > 0] if column == "weight" else numbers
        scores, sizes = np.unique(some, return_counts=True)
        return list(zip(scores.tolist(), sizes.tolist(), strict=True))

    def winners(self, places: Sequence[Place], column: Column = "score") -> list[tuple[object, ...]]:
        return self._at(places, column, self.keys)

    def counts(self, places: Sequence[Place]) -> list[int]:
        return [row[0] for row in self._at(places, "weight", ("score",))]

    def _at(self, places: Sequence[Place], column: Column, shown: Sequence[str]) -> list[Any]:
        names: dict[Place, tuple[object, ...]] = {}
        for score in {score for score, _ in places}:
            ranks = [rank for other, rank in places if other == score]
            for rank, row in zip(ranks, self._of_class(score, ranks, column, shown), strict=True):
                names[score, rank] = row
        return [names[place] for place in places]

    def _of_class(self, score: int, ranks: list[int], column: Column, shown: Sequence[str]) -> list[tuple[object, ...]]:
        """Of the items of one class those at these ranks, in the order of their names."""
        tied = self.held.filter(nw.col(column) == score)
        places = [rank - 1 for rank in ranks]
        rows = in_one_sentence(WRONG, lambda: tied.sort(*self.keys).select(*shown)[places].rows())
        return [tuple(part.item() if isinstance(part, np.generic) else part for part in row) for row in rows]


def library_of(source: Any) -> FrameKind:
    family = {kind.__module__.partition(".")[0] for kind in type(source).__mro__}
    return next(kind for kind in FRAMES if kind in family)
