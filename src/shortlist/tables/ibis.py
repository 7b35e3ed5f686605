"""Ibis tables: the counts are an expression, cached in the backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ibis

from shortlist._reading import Frame
from shortlist.tables.candidates import as_text, known_rows
from shortlist.tables.held import Place
from shortlist.tables.question import LARGEST, SATURATED, Clip, Question
from shortlist.tables.reading import in_one_sentence

WRONG = "the Ibis table cannot be counted"


def count_ibis(table: Any, question: Question, candidates: object) -> IbisCounts:
    """The counts, held by the backend until the scores are forgotten."""
    if not hasattr(table, "schema"):
        raise TypeError("source must be an Ibis table, not a column or a value")
    kinds = table.schema()
    question.check_columns(kinds.names)
    for item in question.items:
        if kinds[item].is_nested():
            raise ValueError(f"item={item!r} holds nested values; choose columns of text, numbers or dates")
    if question.value is not None and not (kinds[question.value].is_numeric() or kinds[question.value].is_boolean()):
        raise ValueError(f"value={question.value!r} must be a column of numbers; convert it first")
    known = None if candidates is None else _known(candidates, kinds, question)
    with in_one_sentence(WRONG):
        counts = _counted(_rows(table, question), question)
        held = counts if known is None else _matched(counts, known, question)
        return IbisCounts(held.cache(), question.keys)


def _rows(table: Any, question: Question) -> Any:
    wanted = {"u": _key(table[question.user])}
    wanted |= {key: _key(table[item]) for key, item in zip(question.keys, question.items, strict=True)}
    if question.value is not None:
        number = table[question.value].cast("float64")
        wanted["v"] = _is_nan(number).ifelse(None, number)
    rows = table.select(**wanted)
    return rows.filter(*(rows[name].notnull() for name in wanted))


def _key(column: Any) -> Any:
    """A user or an item: missing floats are missing, and there is one zero."""
    return _is_nan(column).ifelse(None, column + 0.0) if column.type().is_floating() else column


def _is_nan(column: Any) -> Any:
    """With a list, for the reason told in `sql.is_nan`."""
    return ibis.array([column])[0].isnan()


def _counted(rows: Any, question: Question) -> Any:
    if question.clip is None:
        return rows.group_by(list(question.keys)).agg(score=rows.u.nunique())
    stepped = rows.mutate(v=_steps(rows.v, question.clip))
    persons = stepped.group_by(["u", *question.keys]).agg(v=stepped.v.sum())
    parts = persons.mutate(v=persons.v.clip(question.clip.low, question.clip.high))
    sums = parts.group_by(list(question.keys)).agg(score=parts.v.sum())
    return sums.mutate(score=sums.score.clip(-LARGEST, LARGEST).cast("int64"))


def _steps(column: Any, clip: Clip) -> Any:
    return ((column * clip.steps).clip(-SATURATED, SATURATED) + 0.5).floor().cast("int64")


def _known(candidates: Any, kinds: Any, question: Question) -> Any:
    """The candidates as a table with the items' own types."""
    if hasattr(candidates, "schema") and type(candidates).__module__.startswith("ibis"):
        if any(item not in candidates.schema().names for item in question.items):
            raise ValueError("candidates: the query must have the item columns, by the same names")
        listed = candidates.select(
            **{key: _key(candidates[item]) for key, item in zip(question.keys, question.items, strict=True)}
        )
        listed = listed.filter(*(listed[key].notnull() for key in question.keys))
    else:
        rows = known_rows(candidates, question.items)
        columns = zip(*([as_text(part) for part in row] for row in rows), strict=True)
        listed = ibis.memtable(dict(zip(question.keys, map(list, columns), strict=True)))
    types = {key: kinds[item] for key, item in zip(question.keys, question.items, strict=True)}
    return listed.select(**{key: listed[key].cast(kind) for key, kind in types.items()}).distinct()


def _matched(counts: Any, known: Any, question: Question) -> Any:
    joined = known.left_join(counts, list(question.keys))
    return joined.select(*question.keys, score=joined.score.fill_null(0))


@dataclass(frozen=True, slots=True)
class IbisCounts:
    """A cached table of (item, score)."""

    counts: Any
    keys: tuple[str, ...]

    @property
    def frame(self) -> Frame:
        return ibis.memtable  # type: ignore[no-any-return]

    def classes(self) -> list[tuple[int, int]]:
        with in_one_sentence(WRONG):
            found = self.counts.group_by("score").agg(size=self.counts.count()).to_pyarrow().to_pydict()
        return list(zip(found["score"], found["size"], strict=True))

    def winners(self, places: Sequence[Place]) -> list[tuple[object, ...]]:
        scores, ranks = zip(*places, strict=True)
        wanted = ibis.memtable({"n": list(range(len(places))), "score": list(scores), "rank": list(ranks)})
        with in_one_sentence(WRONG):
            tied = self.counts.filter(self.counts.score.isin(sorted(set(scores))))
            number = ibis.row_number().over(group_by=tied.score, order_by=[tied[key] for key in self.keys]) + 1
            named = tied.mutate(rank=number).inner_join(wanted, ["score", "rank"])
            found = named.order_by("n").select(*self.keys).to_pyarrow()
        return list(zip(*(found[key].to_pylist() for key in self.keys), strict=True))
