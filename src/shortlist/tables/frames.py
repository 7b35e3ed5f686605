"""pandas, polars and pyarrow frames, through narwhals. They are in memory already, and so are their counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from shortlist._reading import FRAMES, Frame, FrameKind
from shortlist.tables.candidates import Row, known_rows
from shortlist.tables.held import Place
from shortlist.tables.question import LARGEST, SATURATED, Clip, Question
from shortlist.tables.reading import in_one_sentence

WRONG = "the frame cannot be counted"


def count_frame(source: Any, question: Question, candidates: object) -> FrameCounts:
    """The counts as a frame of the same library."""
    try:
        frame: Any = nw.from_native(source)
    except TypeError:
        message = f"source must be a frame with the columns of users and items, not a {type(source).__name__}"
        raise TypeError(message) from None
    with in_one_sentence(WRONG):
        schema = frame.collect_schema()
    question.check_columns(schema.names())
    for item in question.items:
        if schema[item].is_nested():
            raise ValueError(f"item={item!r} holds nested values; choose columns of text, numbers or dates")
    if question.value is not None and not (schema[question.value].is_numeric() or schema[question.value] == nw.Boolean):
        raise ValueError(f"value={question.value!r} must be a column of numbers; convert it first")
    library = _library(source)
    known = None if candidates is None else known_rows(candidates, question.items)
    with in_one_sentence(WRONG):
        counts = _counted(_rows(frame, schema, question), question)
        counts = counts.collect() if isinstance(counts, nw.LazyFrame) else counts
    if known is not None:
        with in_one_sentence("the candidates do not fit the item column"):
            counts = _matched(counts, known, library, question)
    return FrameCounts(counts, question.keys, library)


def _rows(frame: Any, schema: Any, question: Question) -> Any:
    """Our own names for the columns, rows with a missing user, item or value dropped."""
    columns = {"u": question.user, **dict(zip(question.keys, question.items, strict=True))}
    wanted = {ours: _key(theirs, schema[theirs]) for ours, theirs in columns.items()}
    if question.value is not None:
        wanted["v"] = nw.col(question.value).cast(nw.Float64)
        columns["v"] = question.value
    rows = frame.select(**wanted).drop_nulls()
    floats = [ours for ours, theirs in columns.items() if ours == "v" or schema[theirs].is_float()]
    return rows.filter(*(~nw.col(name).is_nan() for name in floats)) if floats else rows


def _key(name: str, kind: Any) -> nw.Expr:
    """A user or an item: categories are their names, and there is one zero."""
    if isinstance(kind, nw.Categorical | nw.Enum):
        return nw.col(name).cast(nw.String)
    return nw.col(name) + 0.0 if kind.is_float() else nw.col(name)


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
    keys = list(question.keys)
    kinds = counts.collect_schema()
    columns = dict(zip(keys, map(list, zip(*known, strict=True)), strict=True))
    listed = nw.from_dict(columns, backend=library)
    listed = listed.with_columns(nw.col(key).cast(kinds[key]) for key in keys if kinds[key] != nw.Object)
    if library == "pyarrow":  # it has several types of text, and joins none of them with another
        listed = nw.from_native(listed.to_native().cast(counts.select(*keys).to_native().schema))
    if listed.select(nw.all().null_count()).row(0) != (0,) * len(keys):
        raise ValueError("a candidate was lost in the cast")
    joined = listed.unique(keys).join(counts, on=keys, how="left")
    return joined.with_columns(nw.col("score").fill_null(0).cast(nw.Int64))


@dataclass(frozen=True, slots=True)
class FrameCounts:
    """A frame of (item, score)."""

    counts: Any
    keys: tuple[str, ...]
    library: FrameKind

    @property
    def frame(self) -> Frame:
        return self.library

    def classes(self) -> list[tuple[int, int]]:
        scores, sizes = np.unique(self.counts["score"].to_numpy(), return_counts=True)
        return list(zip(scores.tolist(), sizes.tolist(), strict=True))

    def winners(self, places: Sequence[Place]) -> list[tuple[object, ...]]:
        names: dict[Place, tuple[object, ...]] = {}
        for score in {score for score, _ in places}:
            ranks = [rank for other, rank in places if other == score]
            for rank, row in zip(ranks, self._of_class(score, ranks), strict=True):
                names[score, rank] = row
        return [names[place] for place in places]

    def _of_class(self, score: int, ranks: list[int]) -> list[tuple[object, ...]]:
        """The items of one class at these ranks, in the order of their names."""
        tied = self.counts.filter(nw.col("score") == score).select(*self.keys)
        try:
            rows = tied.sort(*self.keys)[[rank - 1 for rank in ranks]].rows()
        except TypeError:  # names of several types, which only pandas has
            everyone = sorted(tied.rows(), key=lambda row: [(type(part).__name__, str(part)) for part in row])
            rows = [everyone[rank - 1] for rank in ranks]
        return [tuple(part.item() if isinstance(part, np.generic) else part for part in row) for row in rows]


def _library(source: Any) -> FrameKind:
    family = {kind.__module__.partition(".")[0] for kind in type(source).__mro__}
    return next(kind for kind in FRAMES if kind in family)
