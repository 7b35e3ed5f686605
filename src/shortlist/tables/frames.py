"""pandas, polars and pyarrow frames: their columns in the few kinds that are counted, from their declared types alone.

They are in memory already, and so are their counts. What narwhals says of a pandas column of objects depends on its
cells, so such columns are read here, cell by cell. Only users who have more than they keep are hashed, in Python.
"""

from __future__ import annotations

import functools
import hashlib
import operator
import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import narwhals as nw
import numpy as np

from shortlist._arrays import FRAMES, Frame, FrameKind, Indices, describe_type
from shortlist._files import as_text
from shortlist.scores import Grid
from shortlist.tables.algebra import FrameAlgebra
from shortlist.tables.columns import FIRST, FIRST_DAY, LAST, Kind, Row, family_of, is_float, kind_of, text_of
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.question import BETWEEN, FARTHEST, Columns, Plan
from shortlist.tables.where import COMPARE, WRITTEN, Form, Leaves, Op, compile_condition, readings

WRONG = "the frame cannot be counted"
OBJECTS = "objects"
"""A pandas column of Python objects or categories: text, cell by cell (`columns.text_of`)."""
WIDE = {"integer": nw.Int64, "unsigned": nw.UInt64}
FORMS: dict[Form, Any] = {"integer": nw.Int64, "unsigned": nw.UInt64, "float": nw.Float64}


class FrameTable(FrameAlgebra):
    """A frame in memory."""

    wrong = WRONG
    engine: FrameKind

    def __init__(self, source: Any) -> None:
        family = family_of(source)
        self.source = source
        self.engine = next(kind for kind in FRAMES if kind in family)
        if not {kind.__name__ for kind in type(source).__mro__} & {"DataFrame", "LazyFrame", "Table"}:
            raise TypeError(f"source must be a frame with named columns, not {describe_type(source)}")
        self.header, self.types = in_one_sentence(WRONG, lambda: _declare(source, self.engine))

    def columns(self) -> Columns:
        types = {name: "string" if kind == OBJECTS else kind for name, kind in self.types.items()}
        return Columns(tuple(self.header), types, {name for name, kind in self.types.items() if kind == OBJECTS})

    def empty(self) -> Any:
        return self.source.slice(0, 0) if self.engine == "pyarrow" else self.source.head(0)

    def rows(self, plan: Plan) -> Any:
        question, value = plan.question, "d" if plan.question.dated else "v"
        names = question.labels | ({} if question.user is None else {"u": question.user})
        names |= {} if question.value is None else {value: question.value}
        read = () if plan.where is None else ((name, form == "float") for name, form in readings(plan.where))
        looked = {key: f"{'v' if key[1] else 'w'}{n}" for n, key in enumerate(dict.fromkeys(read))}
        frame = self._select(names | {ours: name for (name, _), ours in looked.items()})
        if plan.where is not None:
            frame = frame.filter(_compile(plan.where, looked))
        wanted, filters = {name: nw.col(name) for name in names}, list[nw.Expr]()
        for name, kind in (plan.forms | {"d": "date"}).items():
            if name in names and name != "u":
                wanted[name] = nw.col(name).cast(WIDE[kind]) if kind in WIDE else nw.col(name)
                filters += [nw.col(name).is_between(FIRST, LAST)] if kind == "date" else []
        if "v" in names:
            wanted["v"] = nw.col("v").cast(nw.Float64)
            filters.append(~nw.col("v").is_nan())
        if question.user is not None and is_float(self.types[question.user]):
            wanted["u"] = nw.col("u") + 0.0  # one zero
            filters.append(~nw.col("u").is_nan())
        filters += [nw.col("u") != ""] if plan.drops_unnamed else []
        rows = frame.select(**wanted).drop_nulls()
        rows = rows.filter(*filters) if filters else rows
        if any(one is not None for one in (question.cap, question.grouping, question.grid)):
            return self.hold(rows, {})
        return rows

    def place(self, rows: Any, plan: Plan, grid: Grid) -> Any:
        """By numpy, for polars would multiply by the reciprocal of the step."""
        name = "d" if plan.question.dated else "v"
        values = rows[name].to_numpy()
        if plan.question.dated:
            values = values.astype("datetime64[D]").astype(np.int64) + FIRST_DAY
        values = values.astype(np.float64)
        if not plan.question.adds:
            return _add(rows.drop(name), i=grid.places(values))
        with np.errstate(all="ignore"):  # a warning would tell of a value
            held = np.clip(values / grid.ends[2], -2.0 * FARTHEST, 2.0 * FARTHEST)
        return _add(rows.drop(name), i=np.floor(held + 0.5).astype(np.int64))

    def _select(self, names: dict[str, str]) -> Any:
        """Return a frame of these columns under our own names; those that begin with v are read as floats."""
        source, types, library = self.source, self.types, import_module(self.engine)
        if self.engine == "polars":
            at = self.header.index  # by place, for col("*") and col("^a$") are patterns
            columns = {ours: _polars(library.nth(at(name)), types[name]) for ours, name in names.items()}
            return nw.from_native(source.select(**columns))
        read, make = (_arrow, library.table) if self.engine == "pyarrow" else (_pandas, library.DataFrame)
        columns = {ours: read(source[name], types[name], ours[0] == "v") for ours, name in names.items()}
        return nw.from_native(make(columns))

    def listing(self, rows: Sequence[Row], kinds: Sequence[Kind], names: Sequence[str], beside: Any) -> Any:
        """In the very types of the rows, for some libraries join no two types of text."""
        cells: dict[str, Any] = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        like, library = beside.to_native(), import_module(self.engine)
        if self.engine == "polars":
            polars = like.collect_schema()
            schema = {name: polars.get(name, library.Int64) for name in names}
            return nw.from_native(library.DataFrame(cells, schema=schema))
        if self.engine == "pyarrow":
            arrow = dict(zip(like.schema.names, like.schema.types, strict=True))
            schema = library.schema([(name, arrow.get(name, library.int64())) for name in names])
            return nw.from_native(library.table(cells, schema=schema))
        columns = {name: library.Series(cells[name], dtype=like.dtypes.get(name, "int64")) for name in names}
        return nw.from_native(library.DataFrame(columns))

    def distinct(self, rows: Any, names: list[str]) -> Any:
        return rows.select(*names).unique(names)

    def semi(self, rows: Any, listed: Any, on: list[str]) -> Any:
        lazy = isinstance(rows, nw.LazyFrame) and not isinstance(listed, nw.LazyFrame)
        return rows.join(listed.lazy() if lazy else listed, on=on, how="semi")

    def rank(self, rows: Any, among: list[str], order: list[str]) -> Any:
        if all(rows.schema[name] == nw.Int64 for name in order):
            numbers = [rows[name].to_numpy() for name in reversed(order)]
        else:
            rows, numbers = rows.sort(*order), []
        codes = _number(rows, among)
        place = np.lexsort((*numbers, codes))
        ranks = np.empty(len(codes), np.int64)
        ranks[place] = _ranks(codes[place])
        return _add(rows, j=ranks, held=np.bincount(codes)[codes])

    def first(self, rows: Any, among: list[str], words: list[str], salt: str, most: int, plan: Plan) -> Any:
        codes = _number(rows, among)
        held = np.bincount(codes)[codes]
        keeps = held <= most
        heavy = np.flatnonzero(~keeps)
        if len(heavy):
            some, codes = rows[heavy], codes[heavy]
            hashes, names = _hash(some, words, salt), [name for name in words if name != "u"]
            high, low = np.frombuffer(b"".join(hashes), ">u8").astype(np.uint64).reshape(-1, 2).T
            many = -some["many"].to_numpy() if "many" in some.columns else np.zeros(len(some), np.int64)
            order = np.lexsort((low, high, many, codes))
            if np.logical_and.reduce([part[order[1:]] == part[order[:-1]] for part in (codes, many, high, low)]).any():
                labels = _plain_rows(some.select(*names))  # equal hashes: by the names then
                order = np.array(sorted(range(len(some)), key=lambda n: (codes[n], many[n], hashes[n], labels[n])))
            keeps[heavy[order]] = _ranks(codes[order]) <= most
        return _add(rows, keeps=keeps, held=held)

    def hold(self, rows: Any, forms: dict[str, Kind | None]) -> Any:
        return rows.collect() if isinstance(rows, nw.LazyFrame) else rows

    def names(self, rows: Any, columns: Sequence[str], forms: dict[str, Kind | None]) -> list[Row]:
        return _plain_rows(rows.select(*columns))

    def numbers(self, rows: Any, columns: Sequence[str]) -> list[Indices]:
        return [rows[name].to_numpy().astype(np.int64) for name in columns]

    def frame(self, plan: Plan, counts: Any = None, groups: Any = None) -> Frame:
        parts = [] if plan.question.grouping is None else [groups.select(*plan.question.grouping.keys)]
        natives = [part.to_native() for part in (*parts, counts.select(*plan.question.keys))]
        types = (one.schema.types if self.engine == "pyarrow" else one.dtypes for one in natives)
        return Frame.of(self.engine, [str(kind) for several in types for kind in several])


def _add(rows: Any, **columns: Any) -> Any:
    """Add columns of numpy."""
    kinds = {name: nw.Boolean if cells.dtype == np.bool_ else nw.Int64 for name, cells in columns.items()}
    backend = rows.implementation
    return rows.with_columns(*(nw.new_series(n, cells, kinds[n], backend=backend) for n, cells in columns.items()))


def _ranks(codes: Indices) -> Indices:
    """Return 1, 2, .. for each run of equal numbers."""
    starts = np.flatnonzero(np.append(True, np.diff(codes) != 0)) if len(codes) else codes
    return np.arange(1, len(codes) + 1) - np.repeat(starts, np.diff(np.append(starts, len(codes))))


def _number(rows: Any, among: list[str]) -> Indices:
    """Return a small number for each combination of these columns, the same for equal ones.

    Arrow has no window over groups: narwhals joins there, and a join of arrow keeps no order of rows.
    """
    codes: Indices | None = None
    for name in among:
        if name != "u":  # a number
            numbers = rows[name].to_numpy()
        elif rows.implementation is nw.Implementation.PYARROW:
            chunks = rows[name].to_native().dictionary_encode().unify_dictionaries().chunks
            numbers = np.concatenate([np.empty(0, np.int64), *(chunk.indices.to_numpy() for chunk in chunks)])
        else:
            numbers = rows.with_row_index("row").select(nw.col("row").min().over(name)).to_numpy().ravel()
        numbers = numbers.astype(np.int64)
        if codes is None:
            codes = numbers
        elif len(codes):
            if numbers.max() - numbers.min() > 1 << 20:
                numbers = np.unique(numbers, return_inverse=True)[1]
            pairs = codes * (numbers.max() - numbers.min() + 1) + numbers - numbers.min()
            codes = np.unique(pairs, return_inverse=True)[1]
    assert codes is not None
    return codes


def _hash(rows: Any, columns: Sequence[str], salt: str) -> list[bytes]:
    """Return the hash of each row by these columns."""
    words = zip(*(map(_text, rows[name].to_list()) for name in columns), strict=True)
    return [hashlib.md5(BETWEEN.join((salt, *one)).encode(), usedforsecurity=False).digest() for one in words]


def _text(cell: Any) -> str:
    """Return the same for equal cells: there is one zero."""
    if type(cell) is str:
        return cell
    return as_text(cell + 0.0 if isinstance(cell, float) else cell)


def _plain_rows(frame: Any) -> list[Row]:
    return [tuple(part.item() if isinstance(part, np.generic) else part for part in row) for row in frame.rows()]


def _compile(condition: Any, names: dict[tuple[str, bool], str]) -> Any:
    """Return the condition over a frame with these names for columns, by whether they are read as floats."""
    return compile_condition(condition, Leaves(
        read=lambda column, form: _read(nw.col(names[column, form == "float"]), form),
        value=lambda value, form: nw.lit(str(value)).cast(nw.UInt64) if form == "unsigned" else value,
        missing=lambda cell, yes: cell.is_null() if yes else ~cell.is_null(),
        inside=_inside,
        never=lambda: nw.col("u").is_null() & ~nw.col("u").is_null(),
        compare=_compare,
    ))  # fmt: skip


def _compare(op: Op, cell: nw.Expr, other: Any) -> nw.Expr:
    """Compare; some libraries take something missing for unequal to all."""
    sure: nw.Expr = COMPARE[op](cell, other).fill_null(False) & ~cell.is_null()
    return sure & ~other.is_null() if isinstance(other, nw.Expr) else sure


def _inside(cell: nw.Expr, values: list[Any], yes: bool) -> nw.Expr:
    """Arrow makes no number beyond 63 bits of Python's, and no day that is one of several."""
    if any(isinstance(value, nw.Expr) or hasattr(value, "toordinal") for value in values):
        tests = [_compare("=" if yes else "<>", cell, value) for value in values]
        return functools.reduce(operator.or_ if yes else operator.and_, tests)
    inside = cell.is_in(values)
    return (inside if yes else ~inside).fill_null(False) & ~cell.is_null()


def _read(cell: nw.Expr, form: Form) -> nw.Expr:
    """Read a cell in a form: missing floats are missing, and there is one zero."""
    if form == "date":
        return nw.when(cell.is_between(FIRST, LAST).fill_null(False)).then(cell)
    if form == "float":
        number = cell.cast(nw.Float64)
        return nw.when(~number.is_nan().fill_null(True)).then(number + 0.0)
    if form not in WRITTEN:
        return cell.cast(FORMS[form]) if form in FORMS else cell
    like, unlike = WRITTEN[form]
    fits = cell.str.contains(like).fill_null(False) & ~cell.str.contains(unlike).fill_null(True)
    if form == "written date":
        return nw.when(fits).then(cell)
    safe = nw.when(fits).then(cell).otherwise(nw.lit("0"))  # what is no number would stop the whole column
    return nw.when(fits).then(safe.cast(nw.Float64) + 0.0)


def _declare(source: Any, library: FrameKind) -> tuple[list[str], dict[str, str]]:
    """Return the names of the columns, repeated ones too, and the type of each as columns.py reads it."""
    if library == "polars":
        schema = source.collect_schema()
        kinds = [re.sub("^(Categorical|Enum).*", "string", str(kind)) for kind in schema.dtypes()]
        names = schema.names()
    elif library == "pyarrow":
        names, kinds = source.schema.names, [_arrow_type(field.type) for field in source.schema]
    else:
        names, kinds = list(source.columns), [_pandas_type(kind) for kind in source.dtypes]
    return list(names), dict(zip(names, kinds, strict=True))


def _polars(column: Any, declared: str) -> Any:
    """Read text by way of its bytes, for only that looks whether they are UTF-8: others could be counted, not named."""
    import polars as pl

    return column.cast(pl.String).cast(pl.Binary).cast(pl.String) if kind_of(declared) == "text" else column


def _arrow_type(kind: Any) -> str:
    """A dictionary is its values."""
    return str(kind.value_type) if str(kind).startswith("dictionary<") else str(kind)


def _arrow(column: Any, declared: str, number: bool) -> Any:
    """Decoded, and in types that arrow can group. Numbers are rounded to floats, where its own cast would stop."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if number:
        if pa.types.is_decimal(column.type):  # its own cast is not to the nearest float, as every other engine's is
            column = column.cast(pa.string())
        whole = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
        return whole.cast(pa.float64(), safe=False)
    better = {"string_view": pa.large_string(), "date64[ms]": pa.date32()}.get(str(column.type))
    array = column if better is None else column.cast(better, safe=False)
    if str(array.type) in ("string", "large_string"):
        array.validate(full=True)  # bytes that are no UTF-8 could be counted, and not be named
    return array


def _pandas_type(kind: Any) -> str:
    if hasattr(kind, "pyarrow_dtype"):
        return _arrow_type(kind.pyarrow_dtype)
    if hasattr(kind, "categories"):
        within = _pandas_type(kind.categories.dtype)
        return OBJECTS if within == OBJECTS or kind_of(within) else "categories"
    return {"object": OBJECTS, "str": "string"}.get(str(kind), str(kind))


def _pandas(column: Any, declared: str, number: bool) -> Any:
    import pandas as pd

    if hasattr(column.dtype, "pyarrow_dtype") or getattr(column.dtype, "storage", None) == "pyarrow":
        import pyarrow as pa

        array = _arrow(pa.chunked_array(pa.array(column)), declared, number)
        if not hasattr(column.dtype, "pyarrow_dtype"):
            return column  # it was read for its check alone
        return pd.Series(pd.arrays.ArrowExtensionArray(array), index=column.index)
    if declared != OBJECTS and kind_of(declared) != "text":
        return column
    if hasattr(column.dtype, "categories"):
        names = [*(text_of(name) for name in column.cat.categories), None]  # code -1 is the missing one
        cells = np.array(names, object)[column.cat.codes.to_numpy()]
    else:
        cells = [text_of(cell) for cell in column.to_numpy(dtype=object)]
    return pd.Series(cells, index=column.index, dtype="string")
