"""How columns of Ibis tables are read: in one form for each kind, whatever a backend's own texts and dates are."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import ibis
import ibis.expr.datatypes as dtypes
import ibis.expr.operations as ops

from shortlist.tables.column_types import FIRST, LAST, Kind, kind_of
from shortlist.tables.errors import TableError

WRONG = "the Ibis table cannot be counted"
TYPES: dict[Kind, str] = {
    "text": "string", "integer": "int64", "unsigned": "uint64", "boolean": "boolean", "date": "date",
}  # fmt: skip
CASELESS = ("mysql", "mssql", "singlestoredb")
"""Backends in which 'tea' = 'TEA' unless somebody asked for the contrary: a label would be one person's spelling."""

LARGE, TINY = 1e308, 2.0**-530
"""Ends of the floats that PostgreSQL is asked to make, and to divide by what is of an ordinary size."""

BYTEWISE = ("duckdb", "sqlite", "postgres")
"""Backends in which texts are compared by their bytes here, whatever collation a column has (`Texts.hidden`)."""


@ibis.udf.scalar.builtin(name="encode")  # type: ignore[untyped-decorator]
def _encode(words: str) -> bytes:  # type: ignore[empty-body]
    """DuckDB's bytes of a text."""


@ibis.udf.scalar.builtin(name="decode")  # type: ignore[untyped-decorator]
def _decode(letters: bytes) -> str:  # type: ignore[empty-body]
    """The text of such bytes."""


@ibis.udf.scalar.builtin(name="convert_to")  # type: ignore[untyped-decorator]
def _to_bytes(words: str, encoding: str) -> bytes:  # type: ignore[empty-body]
    """PostgreSQL's bytes of a text, whatever its type and its collation take for equal."""


@ibis.udf.scalar.builtin(name="convert_from")  # type: ignore[untyped-decorator]
def _to_text(letters: bytes, encoding: str) -> str:  # type: ignore[empty-body]
    """The text of such bytes."""


@ibis.udf.scalar.builtin(name="md5")  # type: ignore[untyped-decorator]
def _postgres_md5(words: str) -> str:  # type: ignore[empty-body]
    """PostgreSQL's own, which Ibis does not know of."""


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
        return self.backend in ("sqlite", "postgres") or bool(table.get_backend().has_operation(ops.HexDigest))

    @property
    def bytewise(self) -> bool:
        """Whether texts are compared by their bytes."""
        return self.backend in BYTEWISE

    def parts(self, user: Any) -> bool:
        """Whether two people are never taken for one, so that one's items do not use up what the other keeps."""
        return self.bytewise or kind_of(str(user)) != "text"

    def hash(self, words: Any) -> Any:
        if self.backend == "postgres":
            return _postgres_md5(words)
        return _md5(words) if self.backend == "sqlite" else words.hexdigest("md5")

    def hidden(self, words: Any) -> Any:
        if self.backend == "duckdb":
            return _encode(words)
        if self.backend == "postgres":
            return _to_bytes(words, "UTF8")
        return words.cast("binary") if self.backend == "sqlite" else words

    def shown(self, key: Any) -> Any:
        if self.backend == "duckdb":
            return _decode(key)
        if self.backend == "postgres":
            return _to_text(key, "UTF8")
        return key.cast("string") if self.backend == "sqlite" else key


def within(rows: Any, known: Any, on: list[str]) -> Any:
    """The rows whose `on` is among the known ones. By a plain join: not every backend that Ibis knows has others."""
    names = list(rows.columns)
    return rows.inner_join(known.select(*on).distinct(), on).select(*names)


@contextmanager
def passing(beside: Any, columns: Mapping[str, Sequence[int]]) -> Iterator[Any]:
    """A table of these numbers beside another one, dropped behind us: Ibis would keep it as long as its session.

    What cannot be dropped is left to Ibis: an answer that is paid for is not lost over it.
    """
    rows, backend = ibis.memtable({name: list(numbers) for name, numbers in columns.items()}), beside.get_backend()
    try:
        yield rows
    finally:
        with suppress(Exception):
            if backend.name == "duckdb":  # there it is a view of what is held in Python
                backend.con.unregister(rows.get_name())
            else:
                backend.drop_table(rows.get_name(), force=True)


def item_of(column: Any, form: Kind, texts: Texts) -> Any:
    if form == "text":
        return texts.hidden(column.cast("string"))
    if form == "date":
        day = day_of(column, texts)
        return day.year().between(FIRST.year, LAST.year).ifelse(day, None)
    return _whole(column, form) if texts.backend == "sqlite" else column.cast(TYPES[form])


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


def value_of(column: Any, texts: Texts) -> Any:
    """The same to be counted in steps.

    PostgreSQL refuses what is too large or too small for a float, as a cast and as a quotient: so one person's cell
    would be an error. Too large is held at the largest ones; TINY is less than a quarter of every step there may be.
    """
    if texts.backend != "postgres":
        return number_of(column, texts)
    if not column.type().is_decimal():
        number = number_of(column, texts)
        return (number.abs() < TINY).ifelse(0.0, number)
    large, small = (ibis.literal(Decimal(end), type=dtypes.Decimal()) for end in (LARGE, TINY))
    return ibis.cases(
        (column.cast("string") == "NaN", None),
        (column > large, LARGE),
        (column < -large, -LARGE),
        (column.abs() < small, 0.0),
        else_=column.cast("float64"),
    )


def in_steps(number: Any, step: float, most: float) -> Any:
    """floor(number / step + 1/2) of a float, at most so many either way; held first, so that no quotient overflows."""
    return (number.clip(-most * step, most * step) / step + 0.5).floor().cast("int64")


def _is_nan(column: Any) -> Any:
    """With a list, for the reason told in `sql.is_nan`."""
    return ibis.array([column])[0].isnan()


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


def day_of(column: Any, texts: Texts) -> Any:
    """A date, and missing where SQLite holds something else."""
    return _sqlite_day(column) if texts.backend == "sqlite" else column
