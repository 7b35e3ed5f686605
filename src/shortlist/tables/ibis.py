"""Ibis tables: the counts are an expression, cached in the backend."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import ibis.expr.operations as ops

from shortlist._reading import Frame
from shortlist._sql import as_text
from shortlist.exact.key_bars import UNIT
from shortlist.released_frames import own_frame
from shortlist.tables.candidates import known_rows
from shortlist.tables.caps import BETWEEN, Cap
from shortlist.tables.column_types import FIRST, LAST, Kind, check_user, item_kind, kind_of
from shortlist.tables.errors import TableError, in_one_sentence
from shortlist.tables.question import LARGEST, SATURATED, Clip, Question
from shortlist.tables.remote_scores import Column, Place

WRONG = "the Ibis table cannot be counted"
TYPES: dict[Kind, str] = {
    "text": "string", "integer": "int64", "unsigned": "uint64", "boolean": "boolean", "date": "date",
}  # fmt: skip
CASELESS = ("mysql", "mssql", "singlestoredb")
"""Backends in which 'tea' = 'TEA' unless somebody asked for the contrary: a label would be one person's spelling."""

BYTEWISE = ("duckdb", "sqlite")
"""Backends in which texts are compared by their bytes here, whatever collation a column has (`Texts.hidden`)."""


def count_ibis(table: Any, question: Question, candidates: object) -> IbisCounts:
    """The counts, held by the backend until the scores are forgotten."""
    if not hasattr(table, "schema"):
        raise TypeError("source must be an Ibis table, not a column or a value")
    kinds = table.schema()
    question.check_columns(kinds.names)
    check_user(question.user, str(kinds[question.user]))
    forms = [item_kind(item, str(kinds[item])) for item in question.items]
    if question.value is not None and not (kinds[question.value].is_numeric() or kinds[question.value].is_boolean()):
        raise ValueError(f"value={question.value!r} must be a column of numbers; convert it first")
    texts = in_one_sentence(WRONG, lambda: Texts.of(table, "text" in forms))
    cap = question.cap if texts.hashes(table) and texts.parts(kinds[question.user]) else None
    if question.most is not None and cap is None:
        raise TableError(
            f"{WRONG}: {texts.backend} has no MD5 here, by which most= chooses, or may take texts for equal that "
            "differ, so that two people would be one; have users as whole numbers, or count elsewhere"
        )
    known = None if candidates is None else _known(candidates, forms, texts, question)
    written = Written(texts, (kind_of(str(kinds[question.user])), *forms))

    def counted() -> IbisCounts:
        rows = _rows(table, forms, texts, question)
        counts = _counted(rows, question) if cap is None else _capped(rows, known, written, question, cap)
        held = counts if known is None else _matched(counts, known, question)
        engine = IbisCounts(held.cache(), question.keys, forms, texts, cap is not None and cap.weighted)
        engine.check_names()
        return engine

    return in_one_sentence(WRONG, counted)


@ibis.udf.scalar.builtin(name="encode")  # type: ignore[untyped-decorator]
def _encode(words: str) -> bytes:  # type: ignore[empty-body]
    """DuckDB's bytes of a text."""


@ibis.udf.scalar.builtin(name="decode")  # type: ignore[untyped-decorator]
def _decode(letters: bytes) -> str:  # type: ignore[empty-body]
    """The text of such bytes."""


@ibis.udf.scalar.builtin(name="date")  # type: ignore[untyped-decorator]
def _sqlite_day(moment: dt.date) -> dt.date:  # type: ignore[empty-body]
    """SQLite's one spelling of a day, for its columns of dates hold any text or number; None for no day."""


@ibis.udf.scalar.python  # type: ignore[untyped-decorator]
def _md5(words: str) -> str:
    """For SQLite, which has none and runs in this process."""
    return hashlib.md5(words.encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts as their bytes while they are counted, where a backend may have collations that Ibis does not tell."""

    backend: str

    @classmethod
    def of(cls, table: Any, needed: bool) -> Texts:
        backend = table.get_backend().name
        if needed and backend in CASELESS:
            raise TableError(f"{WRONG}: {backend} takes texts for equal that differ; count whole numbers, or elsewhere")
        return cls(backend)

    def hashes(self, table: Any) -> bool:
        """Whether there is a hash by which a person's items are chosen."""
        return self.backend == "sqlite" or bool(table.get_backend().has_operation(ops.HexDigest))

    def parts(self, user: Any) -> bool:
        """Whether two people are never taken for one, so that one's items do not use up what the other keeps."""
        return self.backend in BYTEWISE or kind_of(str(user)) != "text"

    def hash(self, words: Any) -> Any:
        return _md5(words) if self.backend == "sqlite" else words.hexdigest("md5")

    def hidden(self, words: Any) -> Any:
        if self.backend == "duckdb":
            return _encode(words)
        return words.cast("binary") if self.backend == "sqlite" else words

    def shown(self, key: Any) -> Any:
        if self.backend == "duckdb":
            return _decode(key)
        return key.cast("string") if self.backend == "sqlite" else key


def _rows(table: Any, forms: list[Kind], texts: Texts, question: Question) -> Any:
    wanted = {"u": user_of(table[question.user], texts)} | _items(table, forms, texts, question)
    if question.value is not None:
        wanted["v"] = number_of(table[question.value], texts)
    rows = table.select(**wanted)
    return rows.filter(*(rows[name].notnull() for name in wanted))


def _items(table: Any, forms: list[Kind], texts: Texts, question: Question) -> dict[str, Any]:
    """The items in the form that is counted."""
    parts = zip(question.keys, question.items, forms, strict=True)
    return {key: _item(table[item], form, texts) for key, item, form in parts}


def _item(column: Any, form: Kind, texts: Texts) -> Any:
    if form == "text":
        return texts.hidden(column.cast("string"))
    if form == "date":
        day = day_of(column, texts)
        return day.year().between(FIRST.year, LAST.year).ifelse(day, None)
    return _whole(column, form) if texts.backend == "sqlite" else column.cast(TYPES[form])


def day_of(column: Any, texts: Texts) -> Any:
    """A date, and missing where SQLite holds something else."""
    return _sqlite_day(column) if texts.backend == "sqlite" else column


def _whole(column: Any, form: Kind) -> Any:
    """SQLite's columns hold anything: what is not of the declared type is missing."""
    number = column.cast("int64")
    fits = column.typeof() == "integer"
    return (fits & number.isin([0, 1]) if form == "boolean" else fits).ifelse(column, None)


def user_of(column: Any, texts: Texts) -> Any:
    """Missing floats are missing, and there is one zero. Two people whose names a collation takes for equal are two."""
    if kind_of(str(column.type())) == "text":
        return texts.hidden(column)
    if texts.backend == "sqlite":  # it stores NaN as null, 0.0 = -0.0 there, and what is no column has no collation
        return column.notnull().ifelse(column, None)
    if not column.type().is_floating():
        return column
    return _is_nan(column).ifelse(None, column + 0.0)


def number_of(column: Any, texts: Texts) -> Any:
    """A float, and missing where there is no number."""
    number = column.cast("float64")
    if texts.backend == "sqlite":
        return column.typeof().isin(["integer", "real"]).ifelse(number, None)
    return _is_nan(number).ifelse(None, number)


def _is_nan(column: Any) -> Any:
    """With a list, for the reason told in `sql.is_nan`."""
    return ibis.array([column])[0].isnan()


def _counted(rows: Any, question: Question) -> Any:
    if question.clip is None:
        pairs = rows.distinct()  # for some backends count distinct users by a sketch
        return pairs.group_by(list(question.keys)).agg(score=pairs.count())
    stepped = rows.mutate(v=_steps(rows.v, question.clip))
    persons = stepped.group_by(["u", *question.keys]).agg(v=stepped.v.sum())
    parts = persons.mutate(v=persons.v.clip(question.clip.low, question.clip.high))
    sums = parts.group_by(list(question.keys)).agg(score=parts.v.sum())
    return sums.mutate(score=sums.score.clip(-LARGEST, LARGEST).cast("int64"))


@dataclass(frozen=True, slots=True)
class Written:
    """The user and the items of a row as texts, the same for equal ones."""

    texts: Texts
    forms: tuple[Kind | None, ...]

    def of(self, columns: list[Any]) -> list[Any]:
        return [self._text(one, form) for one, form in zip(columns, self.forms, strict=False)]

    def _text(self, column: Any, form: Kind | None) -> Any:
        if form == "text":
            return self.texts.shown(column)
        return (column + 0.0 if column.type().is_floating() else column).cast("string")  # there is one zero


def _capped(rows: Any, known: Any, written: Written, question: Question, cap: Cap) -> Any:
    """Scores and weights of what each person keeps (caps.py), of the known items alone if there are such."""
    some = rows if known is None else rows.semi_join(known, list(question.keys))
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


def _steps(column: Any, clip: Clip) -> Any:
    return ((column * clip.steps).clip(-SATURATED, SATURATED) + 0.5).floor().cast("int64")


def _known(candidates: Any, forms: list[Kind], texts: Texts, question: Question) -> Any:
    """The candidates as a table with the items' own kinds."""
    if hasattr(candidates, "schema") and type(candidates).__module__.startswith("ibis"):
        own = candidates.schema()
        if any(item not in own.names for item in question.items):
            raise ValueError("candidates: the query must have the item columns, by the same names")
        if [kind_of(str(own[item])) for item in question.items] != forms:
            raise ValueError("candidates: the query's columns must be of the same kinds as the item columns; cast them")
        listed = candidates.select(**_items(candidates, forms, texts, question))
        return listed.filter(*(listed[key].notnull() for key in question.keys)).distinct()
    rows = known_rows(candidates, question.items, forms)
    columns = zip(*([as_text(part) for part in row] for row in rows), strict=True)
    table = ibis.memtable(dict(zip(question.items, map(list, columns), strict=True)))
    cast = table.mutate(
        **{item: table[item].cast(TYPES[form]) for item, form in zip(question.items, forms, strict=True)}
    )
    return cast.select(**_items(cast, forms, texts, question)).distinct()


def _matched(counts: Any, known: Any, question: Question) -> Any:
    joined = known.left_join(counts, list(question.keys))
    return joined.select(*question.keys, score=joined.score.fill_null(0))


@dataclass(frozen=True, slots=True)
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
        return in_one_sentence(WRONG, lambda: self._named(self._at(places, column)))

    def counts(self, places: Sequence[Place]) -> list[int]:
        counts: list[int] = in_one_sentence(WRONG, lambda: self._at(places, "weight").score.to_pyarrow().to_pylist())
        return counts

    def _at(self, places: Sequence[Place], column: Column) -> Any:
        scores, ranks = zip(*places, strict=True)
        wanted = ibis.memtable({"n": list(range(len(places))), column: list(scores), "rank": list(ranks)})
        tied = self.held.filter(self.held[column].isin(sorted(set(scores))))
        number = ibis.row_number().over(group_by=tied[column], order_by=[tied[key] for key in self.keys]) + 1
        return tied.mutate(rank=number).inner_join(wanted, [column, "rank"]).order_by("n")

    def _named(self, rows: Any) -> list[tuple[object, ...]]:
        parts = zip(self.keys, self.forms, strict=True)
        shown = {key: self.texts.shown(rows[key]) if form == "text" else rows[key] for key, form in parts}
        table = rows.select(**shown).to_pyarrow()
        return list(zip(*(table[key].to_pylist() for key in self.keys), strict=True))
