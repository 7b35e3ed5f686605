"""Ibis tables: cells are read in one form for each kind, whatever a backend's own texts and dates are.

Texts are compared by their bytes while they are counted, where a backend may have collations that Ibis does not tell.
The counts are cached in the backend until they are forgotten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import Any

import ibis
import ibis.expr.datatypes as dtypes
import ibis.expr.operations as ops
import narwhals as nw
import numpy as np

from shortlist._arrays import Indices
from shortlist._files import as_text
from shortlist._runtime import MissingPackageError
from shortlist.errors import bad_value
from shortlist.tables.algebra import FrameAlgebra
from shortlist.tables.columns import FIRST, LAST, Kind, Row, check_query, kind_of
from shortlist.tables.errors import TableError, fresh, in_one_sentence
from shortlist.tables.question import BETWEEN, Plan, Question
from shortlist.tables.where import WRITTEN, Condition, Form, Leaves, Test, compile_condition, leaves_of, readings

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
LARGE, TINY = 1e308, 2.0**-530
"""Ends of the floats that PostgreSQL is asked to make, and to divide by what is of an ordinary size."""


def _builtin(name: str, takes: tuple[str, ...], gives: str) -> Any:
    """A function of the backend's own, by its name there."""
    stands = (lambda words, encoding: None) if len(takes) == 2 else (lambda words: None)
    return ibis.udf.scalar.builtin(stands, name=name, signature=(takes, gives))


_to_bytes = _builtin("convert_to", ("string", "string"), "binary")
_to_text = _builtin("convert_from", ("binary", "string"), "string")
HIDDEN: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "duckdb": (_builtin("encode", ("string",), "binary"), _builtin("decode", ("binary",), "string")),
    "sqlite": (lambda words: words.cast("binary"), lambda key: key.cast("string")),
    "postgres": (lambda words: _to_bytes(words, "UTF8"), lambda key: _to_text(key, "UTF8")),
}
"""Backends in which texts are compared by their bytes here, whatever collation a column has: how a text becomes such
bytes, and what makes it a text again."""
_postgres_md5 = _builtin("md5", ("string",), "string")
"""PostgreSQL's own, which Ibis does not know of."""
_sqlite_day = _builtin("date", ("date",), "date")
"""SQLite's one spelling of a day, for its columns of dates hold any text or number; None for no day."""


@ibis.udf.scalar.python  # type: ignore[untyped-decorator]
def _md5(words: str) -> str:
    """For SQLite, which has none and runs in this process."""
    return hashlib.md5(words.encode(), usedforsecurity=False).hexdigest()


@ibis.udf.scalar.python  # type: ignore[untyped-decorator]
def _real(words: str) -> float:
    """For SQLite, whose own reading of a number may be off by a last bit."""
    return float(words)


class IbisTable(FrameAlgebra):
    """An Ibis table."""

    wrong, engine, kinds = WRONG, "ibis", TYPES
    exact = False
    """Some backends count distinct users by a sketch."""

    def __init__(self, source: Any) -> None:
        if not hasattr(source, "schema"):
            raise TypeError("source must be an Ibis table, not a column or a value")
        self.source = source
        self.types = {name: str(kind) for name, kind in source.schema().items()}
        self.backend: str = in_one_sentence(WRONG, lambda: source.get_backend().name)
        self.hide, self.show = HIDDEN.get(self.backend, (lambda words: words, lambda words: words))

    def query(self, question: Question, kinds: tuple[Kind, ...]) -> tuple[Any, int] | None:
        candidates: Any = question.candidates
        if not (hasattr(candidates, "schema") and type(candidates).__module__.startswith("ibis")):
            return None
        check_query(question.items, kinds, {name: str(kind) for name, kind in candidates.schema().items()})
        labels = dict(zip(question.keys, question.items, strict=True))
        listed = candidates.select(**self._labels(candidates, labels, kinds))
        known = listed.filter(*(listed[key].notnull() for key in question.keys)).distinct()
        there = self.source.get_backend()
        if in_one_sentence(WRONG, candidates.get_backend) is there:  # held: what is counted is what was charged
            known = in_one_sentence(WRONG, lambda: _keep(known))
        # a list alone would be counted by Ibis' own engine, which knows other functions
        number = in_one_sentence(WRONG, lambda: there.to_pyarrow(known.count()).as_py())
        return nw.from_native(known), number

    def weighs(self, plan: Plan) -> bool:
        """Refuse texts where some that differ are equal, and what chooses by a hash where there is none."""
        question, forms = plan.question, plan.forms
        looked = [] if plan.where is None else [form for _, form in readings(plan.where)]
        labels = [form for name, form in forms.items() if name != "u"]
        hashes = self.backend in ("sqlite", "postgres") or self.source.get_backend().has_operation(ops.HexDigest)
        apart = self.backend in HIDDEN or forms.get("u") != "text"
        chooses = question.user is not None and (question.most is not None or question.grouping is not None)
        votes = question.user is not None and question.grid is not None
        if self.backend in CASELESS and {*TEXTS, "written number"} & {*looked, *labels}:
            wrong = "takes texts for equal that differ; count whole numbers, or elsewhere"
        elif (chooses and not hashes) or ((chooses or votes) and not apart):
            wrong = (
                "has no MD5 here, by which most= and by= choose, or may take texts for equal that differ, so that two "
                "people would be one; have users as whole numbers, or count elsewhere"
            )
        else:
            return bool(hashes and apart)
        raise TableError(f"{WRONG}: {self.backend} {wrong}")

    def rows(self, plan: Plan) -> Any:
        """The rows that count and lack nothing, under our own names."""
        question, source = plan.question, self.source
        wanted = {} if question.user is None else {"u": self._user(question.user)}
        wanted |= self._labels(source, question.labels, plan.kinds)
        if question.value is not None:
            column = source[question.value]
            wanted["v"] = self._value(column)
            if plan.question.dated:
                wanted["v"] = (self._day(column).delta(ibis.literal(FIRST), unit="day") + 1).cast("float64")
        if plan.where is not None:
            source = source.filter(self._compile(plan.where))
        rows = source.select(**wanted)
        rows = rows.filter(*(rows[name].notnull() for name in rows.columns))
        return nw.from_native(rows.filter(self.show(rows.u) != "") if plan.drops_unnamed else rows)

    def cut(self, rows: Any) -> Any:
        return nw.from_native(_keep(nw.to_native(rows))) if self.backend == "sqlite" else rows

    def listing(self, rows: Sequence[Row], kinds: Sequence[Kind], names: Sequence[str], beside: Any) -> Any:
        texts = ([as_text(int(part) if isinstance(part, bool) else part) for part in row] for row in rows)
        columns = zip(*texts, strict=True)  # truth values as 1 and 0: SQLite makes 0 of 'true'
        table = ibis.memtable(dict(zip(names, map(list, columns), strict=True)))
        cast = table.mutate(**{name: table[name].cast(TYPES[kind]) for name, kind in zip(names, kinds, strict=True)})
        return nw.from_native(cast.select(**self._labels(cast, dict(zip(names, names, strict=True)), kinds)))

    @contextmanager
    def passing(self, rows: Sequence[Row], names: Sequence[str], beside: Any) -> Iterator[Any]:
        """Dropped behind us: Ibis would keep them as long as its session.

        What cannot be dropped is left to Ibis: an answer that is paid for is not lost over it.
        """
        table = ibis.memtable(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
        backend = self.source.get_backend()
        try:
            yield nw.from_native(table)
        finally:
            with suppress(Exception):
                if backend.name == "duckdb":  # there it is a view of what is held in Python
                    backend.con.unregister(table.get_name())
                else:
                    backend.drop_table(table.get_name(), force=True)

    def semi(self, rows: Any, listed: Any, on: list[str]) -> Any:
        """By a plain join: not every backend that Ibis knows has others."""
        native = nw.to_native(rows)
        known = nw.to_native(listed).select(*on).distinct()
        return nw.from_native(native.inner_join(known, on).select(*native.columns))

    def hash(self, native: Any, words: list[str], forms: dict[str, Kind | None]) -> Any:
        salt, *columns = words
        parts = [ibis.literal(salt), *(self._as_text(native[name], forms[name]) for name in columns)]
        texts = ibis.literal(BETWEEN).join(parts)
        if self.backend == "postgres":
            return native.mutate(h=_postgres_md5(texts))
        return native.mutate(h=_md5(texts) if self.backend == "sqlite" else texts.hexdigest("md5"))

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

    def _compile(self, condition: Condition) -> Any:
        """Return the condition, or refuse an order of texts that the backend's collation would decide."""
        for leaf in leaves_of(condition) if self.backend not in HIDDEN else ():
            if isinstance(leaf, Test) and leaf.form in TEXTS and leaf.op not in ("=", "<>"):
                raise bad_value(f"$where: texts as in {leaf.column!r} have no known order here; write = or IN")
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
