"""Ibis tables: the counts are an expression, cached in the backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import ibis
import numpy as np

from shortlist._arrays import Frame
from shortlist._files import as_text
from shortlist._runtime import MissingPackageError
from shortlist.errors import bad_value
from shortlist.exact.thresholds import UNIT
from shortlist.release_io import own_frame
from shortlist.tables.candidates import known_rows
from shortlist.tables.caps import BETWEEN, Cap
from shortlist.tables.column_types import Kind, Row, check_user, item_kind, kind_of
from shortlist.tables.errors import TableError, in_one_sentence
from shortlist.tables.groups.grouping import candidates_of_groups
from shortlist.tables.groups.held import GroupHeld
from shortlist.tables.groups.in_ibis import Hashing, Shown, count_groups
from shortlist.tables.ibis_columns import (
    TYPES,
    WRONG,
    Texts,
    Written,
    in_steps,
    item_of,
    number_of,
    passing,
    user_of,
    value_of,
    within,
)
from shortlist.tables.question import LARGEST, SATURATED, Question
from shortlist.tables.remote_scores import Column, Place
from shortlist.tables.where.conditions import Form, form_of
from shortlist.tables.where.in_ibis import in_ibis

try:  # every answer comes through it, so it must be here before a charge
    import pyarrow  # noqa: F401
except ImportError:
    raise MissingPackageError("an Ibis table needs pyarrow: pip install 'shortlist[ibis]'", name="pyarrow") from None

T = TypeVar("T")


def count_ibis(table: Any, question: Question, candidates: object) -> IbisCounts | GroupHeld:
    """The counts, held by the backend until the scores are forgotten."""
    if not hasattr(table, "schema"):
        raise TypeError("source must be an Ibis table, not a column or a value")
    kinds = table.schema()
    question.check_columns(kinds.names)
    check_user(question.user, str(kinds[question.user]))
    forms = [item_kind(item, str(kinds[item])) for item in question.items]
    if question.value is not None and not (kinds[question.value].is_numeric() or kinds[question.value].is_boolean()):
        raise bad_value(f"$value={question.value!r} must be a column of numbers; convert it first")
    looked = [] if question.where is None else [form_of(name, str(kinds[name])) for name in question.where.columns]
    declared = {name: str(kind) for name, kind in kinds.items()}
    by = [] if question.grouping is None else question.grouping.kinds(declared)
    texts = in_one_sentence(WRONG, lambda: Texts.of(table, "text" in (*forms, *looked, *by)))
    if question.where is not None:
        _condition(table, texts, question)
    apart = texts.hashes(table) and texts.parts(kinds[question.user])
    cap = question.cap if apart else None
    if not apart and (question.most is not None or question.grouping is not None):
        raise TableError(
            f"{WRONG}: {texts.backend} has no MD5 here, by which most= and by= choose, or may take texts for equal "
            "that differ, so that two people would be one; have users as whole numbers, or count elsewhere"
        )
    written = Written(texts, (kind_of(str(kinds[question.user])), *forms))
    if question.grouping is not None:
        return _groups(table, question, candidates, forms, by, written)
    known = None if candidates is None else _known(candidates, forms, texts, question)

    def counted() -> IbisCounts:
        rows = _rows(table, forms, texts, question)
        counts = _counted(rows, question) if cap is None else _capped(rows, known, written, question, cap)
        held = counts if known is None else _matched(counts, known, question)
        engine = IbisCounts(held.cache(), question.keys, forms, texts, cap is not None and cap.weighted)
        engine.check_names()
        return engine

    return in_one_sentence(WRONG, counted)


def _rows(table: Any, forms: list[Kind], texts: Texts, question: Question) -> Any:
    wanted = {"u": user_of(table[question.user], texts)} | _items(table, forms, texts, question.labels)
    if question.value is not None:
        wanted["v"] = value_of(table[question.value], texts)
    condition = None if question.where is None else _condition(table, texts, question)
    rows = (table if condition is None else table.filter(condition)).select(**wanted)
    return rows.filter(*(rows[name].notnull() for name in wanted))


def _condition(table: Any, texts: Texts, question: Question) -> Any:
    """Which rows count."""
    assert question.where is not None
    kinds = table.schema()

    def read(column: Any, form: Form) -> Any:
        if form == "float":
            return number_of(column, texts) + 0.0
        assert form != "written number"
        assert form != "written date"
        return item_of(column, form, texts)

    return in_ibis(
        question.where.typed(lambda name: form_of(name, str(kinds[name]))),
        table,
        read,
        texts.hidden,
        sqlite=texts.backend == "sqlite",
        bytewise=texts.bytewise,
    )


def _groups(
    table: Any, question: Question, candidates: object, forms: list[Kind], by: list[Kind], written: Written
) -> GroupHeld:
    """The counts of every group."""
    assert question.grouping is not None
    listed, texts = question.grouping.fitted(by), written.texts
    lists, known, offered = candidates_of_groups(candidates, listed), None, None
    if lists is not None:
        each = [known_rows(one, question.items, forms) for one in lists]
        rows = [(n, *row) for n, one in enumerate(each) for row in one]
        known = listed_rows(rows, ["integer", *forms], texts, ("n", *question.keys))
        offered = np.array(list(map(len, each)), np.int64)
    elif candidates is not None:
        assert listed is not None
        known = _known(candidates, forms, texts, question)
        there = table.get_backend()  # a list alone would be counted by Ibis' own engine, which knows other functions
        offered = np.full(
            len(listed), in_one_sentence(WRONG, lambda: there.to_pyarrow(known.count()).as_py()), np.int64
        )
    groups = None
    if listed is not None:
        numbered = [(n, *row) for n, row in enumerate(listed)]
        groups = listed_rows(numbered, ["integer", *by], texts, ("n", *question.grouping.keys))
    shown = Shown(texts.shown, dict(zip(question.labels, [*forms, *by], strict=True)), TYPES)
    hashing = Hashing(lambda words: texts.hash(ibis.literal(BETWEEN).join(words)), written.of, texts.shown)

    def counted() -> GroupHeld:
        rows = _rows(table, [*forms, *by], texts, question)
        named = rows.filter(written.of([rows.u])[0] != "")
        engine = count_groups(named, groups, known, lists is not None, question, shown, hashing)
        return GroupHeld(engine, listed, offered)

    return in_one_sentence(WRONG, counted)


def _items(table: Any, forms: list[Kind], texts: Texts, labels: dict[str, str]) -> dict[str, Any]:
    """The items in the form that is counted."""
    return {key: item_of(table[item], form, texts) for (key, item), form in zip(labels.items(), forms, strict=True)}


def _counted(rows: Any, question: Question) -> Any:
    if question.clip is None:
        pairs = rows.distinct()  # for some backends count distinct users by a sketch
        return pairs.group_by(list(question.keys)).agg(score=pairs.count())
    stepped = rows.mutate(v=in_steps(rows.v, question.clip.grid, SATURATED))
    persons = stepped.group_by(["u", *question.keys]).agg(v=stepped.v.sum())
    parts = persons.mutate(v=persons.v.clip(question.clip.low, question.clip.high))
    sums = parts.group_by(list(question.keys)).agg(score=parts.v.sum())
    return sums.mutate(score=sums.score.clip(-LARGEST, LARGEST).cast("int64"))


def _capped(rows: Any, known: Any, written: Written, question: Question, cap: Cap) -> Any:
    """Scores and weights of what each person keeps (caps.py), of the known items alone if there are such."""
    some = rows if known is None else within(rows, known, list(question.keys))
    pairs = some.filter(written.of([some.u])[0] != "").distinct()
    keys = [pairs[key] for key in question.keys]
    words = [ibis.literal(cap.salt), *written.of([pairs.u, *keys])]
    hashed = written.texts.hash(ibis.literal(BETWEEN).join(words))
    ranked = pairs.select(
        *question.keys,
        keeps=ibis.row_number().over(group_by=pairs.u, order_by=[hashed, *keys]) < cap.most,
        held=pairs.count().over(group_by=pairs.u),
    )
    held = ranked.filter(ranked.keeps) if cap.caps_scores else ranked
    root = (float(UNIT**2) / ibis.least(held.held, cap.most)).floor().sqrt().floor().cast("int64")
    parts = {"score": held.count()}
    if cap.weighted:
        parts["weight"] = held.keeps.ifelse(root, 0).sum().cast("int64")
    return held.group_by(list(question.keys)).agg(**parts)


def _known(candidates: Any, forms: list[Kind], texts: Texts, question: Question) -> Any:
    """The candidates as a table with the items' own kinds."""
    if hasattr(candidates, "schema") and type(candidates).__module__.startswith("ibis"):
        own = candidates.schema()
        if any(item not in own.names for item in question.items):
            raise bad_value("$candidates: the query must have the item columns, by the same names")
        if [kind_of(str(own[item])) for item in question.items] != forms:
            raise bad_value("$candidates: the query's columns must be of the same kinds as the item columns; cast them")
        own_items = dict(zip(question.keys, question.items, strict=True))
        listed = candidates.select(**_items(candidates, forms, texts, own_items))
        return listed.filter(*(listed[key].notnull() for key in question.keys)).distinct()
    return listed_rows(known_rows(candidates, question.items, forms), forms, texts, question.keys).distinct()


def listed_rows(rows: list[Row], forms: list[Kind], texts: Texts, keys: Sequence[str]) -> Any:
    """Public rows as a table of these kinds, in the form that is counted."""
    columns = zip(*([as_text(part) for part in row] for row in rows), strict=True)
    table = ibis.memtable(dict(zip(keys, map(list, columns), strict=True)))
    parts = dict(zip(keys, forms, strict=True))
    cast = table.mutate(**{key: table[key].cast(TYPES[form]) for key, form in parts.items()})
    return cast.select(**_items(cast, forms, texts, dict(zip(keys, keys, strict=True))))


def _matched(counts: Any, known: Any, question: Question) -> Any:
    joined = known.left_join(counts, list(question.keys))
    return joined.select(*question.keys, score=joined.score.fill_null(0))


@dataclass(frozen=True, slots=True, repr=False)
class IbisCounts:
    """A cached table of (item, score), perhaps with weights."""

    held: Any
    keys: tuple[str, ...]
    forms: list[Kind]
    texts: Texts
    weighted: bool

    @property
    def frame(self) -> Frame:
        return own_frame("ibis", [TYPES[form] for form in self.forms])

    def classes(self, column: Column = "score") -> list[tuple[int, int]]:
        some = self.held.filter(self.held.weight > 0) if column == "weight" else self.held
        sizes = some.group_by(column).agg(size=some.count())
        table = in_one_sentence(WRONG, lambda: sizes.to_pyarrow().to_pydict())
        return list(zip(table[column], table["size"], strict=True))

    def check_names(self) -> None:
        """Refuse now what could not be named later.

        SQLite's columns hold anything, whatever their declared type, and it runs in this process: every name passes
        through once and is forgotten. DuckDB may have taken over text from memory without a look at its bytes.
        """
        texts = [key for key, form in zip(self.keys, self.forms, strict=True) if form == "text"]
        if self.texts.backend == "sqlite":
            self._named(self.held)
        elif self.texts.backend == "duckdb" and texts:
            self.held.agg(**{key: self.texts.shown(self.held[key]).length().max() for key in texts}).to_pyarrow()

    def winners(self, places: Sequence[Place], column: Column = "score") -> list[tuple[object, ...]]:
        return in_one_sentence(WRONG, lambda: self._at(places, column, self._named))

    def counts(self, places: Sequence[Place]) -> list[int]:
        return in_one_sentence(WRONG, lambda: self._at(places, "weight", _scores))

    def _at(self, places: Sequence[Place], column: Column, read: Callable[[Any], list[T]]) -> list[T]:
        """What is read of the rows at these places, in their order."""
        scores, ranks = zip(*places, strict=True)
        tied = self.held.filter(self.held[column].isin(sorted(set(scores))))
        number = ibis.row_number().over(group_by=tied[column], order_by=[tied[key] for key in self.keys]) + 1
        with passing(self.held, {"n": range(len(places)), column: scores, "rank": ranks}) as wanted:
            return read(tied.mutate(rank=number).inner_join(wanted, [column, "rank"]).order_by("n"))

    def _named(self, rows: Any) -> list[tuple[object, ...]]:
        parts = zip(self.keys, self.forms, strict=True)
        shown = {key: self.texts.shown(rows[key]) if form == "text" else rows[key] for key, form in parts}
        table = rows.select(**shown).to_pyarrow()
        return list(zip(*(table[key].to_pylist() for key in self.keys), strict=True))


def _scores(rows: Any) -> list[int]:
    scores: list[int] = rows.score.to_pyarrow().to_pylist()
    return scores
