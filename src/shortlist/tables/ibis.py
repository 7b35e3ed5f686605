"""Ibis tables: cells are read in one form for each kind, whatever a backend's own texts and dates are.

Texts are compared by their bytes while they are counted, where a backend may have collations that Ibis does not tell.
The counts are cached in the backend until they are forgotten.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import Any

import ibis
import ibis.expr.datatypes as dtypes
import ibis.expr.operations as ops
import narwhals as nw
import numpy as np

from shortlist._arrays import Frame, Indices
from shortlist._files import as_text
from shortlist._runtime import MissingPackageError
from shortlist.errors import bad_value
from shortlist.tables import algebra
from shortlist.tables.columns import FIRST, LAST, Kind, Row, kind_of
from shortlist.tables.errors import TableError, fresh, in_one_sentence
from shortlist.tables.question import BETWEEN, Columns, Plan, Question
from shortlist.tables.values import ValuePlan
from shortlist.tables.where import WRITTEN, Condition, Form, Leaves, compile_condition, leaves_of, readings

try:  # every answer comes through it, so it must be here before a charge
    import pyarrow  # noqa: F401
except ImportError:
    raise MissingPackageError("an Ibis table needs pyarrow: pip install 'shortlist[ibis]'", name="pyarrow") from None

WRONG = "the Ibis table cannot be counted"
TYPES: dict[Any, str] = {
    "text": "string", "integer": "int64", "unsigned": "uint64", "boolean": "boolean", "date": "date",
}  # fmt: skip
FORMS: dict[Form, str] = {**TYPES, "float": "float64", "written number": "float64", "written date": "string"}
TEXTS = ("text", "written date")
CASELESS = ("mysql", "mssql", "singlestoredb")
"""Backends in which 'tea' = 'TEA' unless somebody asked for the contrary: a label would be one user's spelling."""
BYTEWISE = ("duckdb", "sqlite", "postgres")
"""Backends in which texts are compared by their bytes here, whatever collation a column has (`IbisTable.hide`)."""
LARGE, TINY = 1e308, 2.0**-530
"""Ends of the floats that PostgreSQL is asked to make, and to divide by what is of an ordinary size."""


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


@ibis.udf.scalar.python  # type: ignore[untyped-decorator]
def _real(words: str) -> float:
    """For SQLite, whose own reading of a number may be off by a last bit."""
    return float(words)


class IbisTable:
    """An Ibis table, for `algebra`."""

    wrong = WRONG
    engine, kinds = "ibis", TYPES
    exact = False
    """Some backends count distinct users by a sketch."""
    count = algebra.count
    dry_count = algebra.dry_count
    votes = algebra.votes

    def __init__(self, source: Any) -> None:
        if not hasattr(source, "schema"):
            raise TypeError("source must be an Ibis table, not a column or a value")
        self.source = source
        self.types = {name: str(kind) for name, kind in source.schema().items()}
        self.backend: str = in_one_sentence(WRONG, lambda: source.get_backend().name)

    def columns(self) -> Columns:
        return Columns(tuple(self.types), self.types)

    def query(self, candidates: Any, question: Question, kinds: tuple[Kind, ...]) -> tuple[Any, int] | None:
        if not (hasattr(candidates, "schema") and type(candidates).__module__.startswith("ibis")):
            return None
        own = candidates.schema()
        if any(item not in own.names for item in question.items):
            raise bad_value("$candidates: the query must have the item columns, by the same names")
        if tuple(kind_of(str(own[item])) for item in question.items) != kinds:
            raise bad_value("$candidates: the query's columns must be of the same kinds as the item columns; cast them")
        labels = dict(zip(question.keys, question.items, strict=True))
        listed = candidates.select(**self._labels(candidates, labels, kinds))
        known = listed.filter(*(listed[key].notnull() for key in question.keys)).distinct()
        there = self.source.get_backend()
        if in_one_sentence(WRONG, candidates.get_backend) is there:  # held: what is counted is what was charged
            known = in_one_sentence(WRONG, lambda: _keep(known))
        # a list alone would be counted by Ibis' own engine, which knows other functions
        number = in_one_sentence(WRONG, lambda: there.to_pyarrow(known.count()).as_py())
        return nw.from_native(known), number

    def weighs(self, plan: Plan | ValuePlan) -> bool:
        """Refuse texts where some that differ are equal, and what chooses by a hash where there is none."""
        asks, user, forms = plan.question, plan.question.user, plan.forms
        labels = [kind for name, kind in forms.items() if name != "u"]
        looked = [] if not isinstance(plan, Plan) or plan.where is None else [form for _, form in readings(plan.where)]
        if self.backend in CASELESS and {"text", *TEXTS, "written number"} & {*labels, *looked}:
            raise TableError(
                f"{WRONG}: {self.backend} takes texts for equal that differ; count whole numbers, or elsewhere"
            )
        hashes = self.backend in ("sqlite", "postgres") or self.source.get_backend().has_operation(ops.HexDigest)
        apart = self.backend in BYTEWISE or forms.get("u") != "text"
        if isinstance(plan, Plan):
            if not (hashes and apart) and (plan.question.most is not None or asks.grouping is not None):
                raise TableError(
                    f"{WRONG}: {self.backend} has no MD5 here, by which most= and by= choose, or may take texts "
                    "for equal that differ, so that two people would be one; have users as whole numbers, or count "
                    "elsewhere"
                )
            return bool(hashes and apart)
        if user is not None and asks.grouping is not None and not hashes:
            raise TableError(f"{WRONG}: {self.backend} has no MD5 here, by which by= chooses; count elsewhere")
        if user is not None and not apart:
            raise TableError(
                f"{WRONG}: {self.backend} may take texts for equal that differ, so that two people would share one "
                "vote; have users as whole numbers, or count elsewhere"
            )
        return bool(hashes)

    def empty(self) -> Any:
        return self.source.limit(0)

    def rows(self, plan: Plan) -> Any:
        question, source = plan.question, self.source
        wanted = {"u": self._user(question.user)} | self._labels(source, question.labels, plan.kinds)
        if question.value is not None:
            wanted["v"] = self._value(source[question.value])
        if plan.where is not None:
            source = source.filter(self._compile(plan.where))
        return self._clean(source.select(**wanted), plan.drops_unnamed)

    def values(self, plan: ValuePlan) -> Any:
        question, column = plan.question, self.source[plan.question.value]
        wanted = {"v": self._ordinal(column) if plan.dated else self._value(column)}
        if question.user is not None:
            wanted["u"] = self._user(question.user)
        wanted |= self._labels(self.source, question.keys, plan.kinds)
        return algebra.place_values(self._clean(self.source.select(**wanted), plan.drops_unnamed), plan)

    def _clean(self, rows: Any, named: bool) -> Any:
        """Return the rows that lack nothing."""
        rows = rows.filter(*(rows[name].notnull() for name in rows.columns))
        return nw.from_native(rows.filter(self.show(rows.u) != "") if named else rows)

    def cut(self, rows: Any) -> Any:
        return nw.from_native(_keep(nw.to_native(rows))) if self.backend == "sqlite" else rows

    def listing(self, rows: Sequence[Row], kinds: Sequence[Kind], names: Sequence[str], beside: Any) -> Any:
        texts = ([as_text(int(part) if isinstance(part, bool) else part) for part in row] for row in rows)
        columns = zip(*texts, strict=True)  # truth values as 1 and 0: SQLite makes 0 of 'true'
        table = ibis.memtable(dict(zip(names, map(list, columns), strict=True)))
        cast = table.mutate(**{name: table[name].cast(TYPES[kind]) for name, kind in zip(names, kinds, strict=True)})
        return nw.from_native(cast.select(**self._labels(cast, dict(zip(names, names, strict=True)), kinds)))

    @contextmanager
    def passing(self, columns: dict[str, Sequence[int]], beside: Any) -> Iterator[Any]:
        """Dropped behind us: Ibis would keep them as long as its session.

        What cannot be dropped is left to Ibis: an answer that is paid for is not lost over it.
        """
        rows = ibis.memtable({name: list(numbers) for name, numbers in columns.items()})
        backend = self.source.get_backend()
        try:
            yield nw.from_native(rows)
        finally:
            with suppress(Exception):
                if backend.name == "duckdb":  # there it is a view of what is held in Python
                    backend.con.unregister(rows.get_name())
                else:
                    backend.drop_table(rows.get_name(), force=True)

    def distinct(self, rows: Any, names: list[str]) -> Any:
        return nw.from_native(nw.to_native(rows).select(*names).distinct())

    def semi(self, rows: Any, listed: Any, on: list[str]) -> Any:
        """By a plain join: not every backend that Ibis knows has others."""
        native = nw.to_native(rows)
        known = nw.to_native(listed).select(*on).distinct()
        return nw.from_native(native.inner_join(known, on).select(*native.columns))

    def rank(self, rows: Any, among: list[str], order: list[str]) -> Any:
        return algebra.rank_by_window(rows, among, order)

    def first(
        self, rows: Any, among: list[str], words: list[str], salt: str, most: int, forms: dict[str, Kind | None]
    ) -> Any:
        native = nw.to_native(rows)
        texts = ibis.literal(BETWEEN).join([ibis.literal(salt), *(self._as_text(native[w], forms[w]) for w in words)])
        if self.backend == "postgres":
            hashed = _postgres_md5(texts)
        else:
            hashed = _md5(texts) if self.backend == "sqlite" else texts.hexdigest("md5")
        return algebra.first_by_window(nw.from_native(native.mutate(h=hashed)), among, words, most)

    def hold(self, rows: Any, forms: dict[str, Kind | None]) -> Any:
        """Cache, and refuse now what could not be named later.

        SQLite's columns hold anything, whatever their declared type, and it runs in this process: every name passes
        through once and is forgotten. DuckDB may have taken over text from memory without a look at its bytes.
        """
        held = _keep(nw.to_native(rows))
        labels = [name for name in held.columns if name in forms]
        texts = [name for name in labels if forms[name] == "text"]
        if self.backend == "sqlite":
            self.names(nw.from_native(held), labels, forms)
        elif self.backend == "duckdb" and texts:
            held.agg(**{name: self.show(held[name]).length().max() for name in texts}).to_pyarrow()
        return nw.from_native(held)

    def names(self, rows: Any, columns: Sequence[str], forms: dict[str, Kind | None]) -> list[Row]:
        native = nw.to_native(rows)
        shown = {name: self.show(native[name]) if forms.get(name) == "text" else native[name] for name in columns}
        table = native.select(**shown).to_pyarrow()
        return list(zip(*(table[name].to_pylist() for name in columns), strict=True))

    def numbers(self, rows: Any, columns: Sequence[str]) -> list[Indices]:
        table = nw.to_native(rows).select(*columns).to_pyarrow()
        return [np.asarray(table[name].to_numpy(), np.int64) for name in columns]

    def frame(self, kinds: Sequence[Kind], held: Any) -> Frame:
        return Frame.of("ibis", [TYPES[kind] for kind in kinds])

    def hide(self, words: Any) -> Any:
        """A text as it is compared."""
        if self.backend == "duckdb":
            return _encode(words)
        if self.backend == "postgres":
            return _to_bytes(words, "UTF8")
        return words.cast("binary") if self.backend == "sqlite" else words

    def show(self, key: Any) -> Any:
        """The text that was hidden."""
        if self.backend == "duckdb":
            return _decode(key)
        if self.backend == "postgres":
            return _to_text(key, "UTF8")
        return key.cast("string") if self.backend == "sqlite" else key

    def _as_text(self, column: Any, form: Kind | None) -> Any:
        """The user or a part of a label as a text, the same for equal ones: there is one zero."""
        if form == "text":
            return self.show(column)
        return (column + 0.0 if column.type().is_floating() else column).cast("string")

    def _labels(self, table: Any, columns: dict[str, str], kinds: Sequence[Kind]) -> dict[str, Any]:
        """Columns of items and keys in the form that is counted."""
        parts = zip(columns.items(), kinds, strict=True)
        return {ours: self._label(table[column], kind) for (ours, column), kind in parts}

    def _label(self, column: Any, form: Kind) -> Any:
        if form == "text":
            return self.hide(column.cast("string"))
        if form == "date":
            return self._day(column)
        if self.backend != "sqlite":
            return column.cast(TYPES[form])
        number = column.cast("int64")  # SQLite's columns hold anything: what is not of the declared type is missing
        fits = column.typeof() == "integer"
        return (fits & number.isin([0, 1]) if form == "boolean" else fits).ifelse(column, None)

    def _day(self, column: Any) -> Any:
        """A date, and missing outside the years 1 to 9999, or where SQLite holds something else."""
        day = _sqlite_day(column) if self.backend == "sqlite" else column
        return day.year().between(FIRST.year, LAST.year).ifelse(day, None)

    def _user(self, name: str) -> Any:
        """Missing floats are missing, there is one zero, and users whose names a collation takes for equal are two."""
        column = self.source[name]
        if kind_of(self.types[name]) == "text":
            return self.hide(column)
        if self.backend == "sqlite":  # it stores NaN as null, 0.0 = -0.0 there, and what is no column has no collation
            return column.notnull().ifelse(column, None)
        return _is_nan(column).ifelse(None, column + 0.0) if column.type().is_floating() else column

    def _number(self, column: Any) -> Any:
        """A float, and missing where there is no number."""
        number = column.cast("float64")
        if self.backend == "sqlite":
            return column.typeof().isin(["integer", "real"]).ifelse(number, None)
        return _is_nan(number).ifelse(None, number)

    def _value(self, column: Any) -> Any:
        """A float to be counted in steps.

        PostgreSQL refuses what is too large or too small for a float, as a cast and as a quotient: so one user's cell
        would be an error. Too large is held at the largest; TINY is less than a quarter of every step there may be.
        """
        if self.backend != "postgres":
            return self._number(column)
        if not column.type().is_decimal():
            number = self._number(column)
            return (number.abs() < TINY).ifelse(0.0, number)
        large, small = (ibis.literal(Decimal(end), type=dtypes.Decimal()) for end in (LARGE, TINY))
        return ibis.cases(
            (column.cast("string") == "NaN", None),
            (column > large, LARGE),
            (column < -large, -LARGE),
            (column.abs() < small, 0.0),
            else_=column.cast("float64"),
        )

    def _ordinal(self, column: Any) -> Any:
        return (self._day(column).delta(ibis.literal(FIRST), unit="day") + 1).cast("float64")

    def _compile(self, condition: Condition) -> Any:
        """Return the condition, or refuse an order of texts that the backend's collation would decide."""
        for leaf in leaves_of(condition) if self.backend not in BYTEWISE else ():
            if leaf.form in TEXTS and getattr(leaf, "op", "=") not in ("=", "<>"):
                raise bad_value(
                    f"$where: the order of texts in {leaf.column!r} is not the same in every backend, and this one's "
                    "is not known; write = or IN"
                )
        return compile_condition(condition, Leaves(
            read=self._read,
            value=self._literal,
            missing=lambda cell, yes: cell.isnull() if yes else cell.notnull(),
            inside=lambda cell, values, yes: cell.isin(values) if yes else cell.notin(values),
            never=lambda: ibis.literal(False),
        ))  # fmt: skip

    def _literal(self, one: Any, form: Form) -> Any:
        words = ibis.literal(one, type=FORMS[form])
        return self.hide(words) if form in TEXTS else words

    def _read(self, name: str, form: Form) -> Any:
        """Read a cell in a form; missing where it has none."""
        column = self.source[name]
        if form == "float":
            return self._number(column) + 0.0
        if form not in WRITTEN:
            return self._label(column, form)  # type: ignore[arg-type]
        words = column.cast("string")
        like, unlike = WRITTEN[form]
        fits = words.re_search(like) & ~words.re_search(unlike)
        if form == "written date":
            return self.hide(fits.ifelse(words, None))
        safe = fits.ifelse(words, "0")
        return fits.ifelse((_real(safe) if self.backend == "sqlite" else safe.cast("float64")) + 0.0, None)


def _keep(table: Any) -> Any:
    """Cache what is there now. What is always true makes it another question: of one that it has cached and that is
    still held, Ibis would give the old rows."""
    return table.filter(ibis.literal(fresh()) != "").cache()


def _is_nan(column: Any) -> Any:
    """With a list, for the reason told in `duckdb.is_nan`."""
    return ibis.array([column])[0].isnan()
