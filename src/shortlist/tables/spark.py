"""Spark DataFrames, by the DataFrame API alone, so that Spark Connect works. Counts are persisted in the cluster."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Sequence
from typing import Any

import narwhals as nw
from pyspark.sql import functions as sf

from shortlist._files import as_text
from shortlist.tables.algebra import FrameAlgebra
from shortlist.tables.columns import FIRST, FIRST_DAY, LAST, Kind, Row, check_query, is_float
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.question import BETWEEN, Columns, Plan, Question
from shortlist.tables.where import WRITTEN, Form, Leaves, compile_condition

WRONG = "the Spark DataFrame cannot be counted"
TYPES: dict[Any, str] = {"text": "string", "integer": "bigint", "boolean": "boolean", "date": "date"}
FORMS: dict[Form, str] = {**TYPES, "float": "double", "written number": "double", "written date": "string"}


class SparkTable(FrameAlgebra):
    """A Spark DataFrame."""

    wrong, engine, kinds = WRONG, "spark", TYPES

    def __init__(self, source: Any) -> None:
        if not hasattr(source, "dtypes"):
            raise TypeError("source must be a Spark DataFrame, not a column or a session")
        self.source, self.types = source, dict(source.dtypes)

    def columns(self) -> Columns:
        return Columns(tuple(self.source.columns), self.types)

    def query(self, question: Question, kinds: tuple[Kind, ...]) -> tuple[Any, int] | None:
        candidates: Any = question.candidates
        if not type(candidates).__module__.startswith("pyspark"):
            return None
        check_query(question.items, kinds, dict(candidates.dtypes))
        parts = zip(question.keys, question.items, kinds, strict=True)
        listed = candidates.select(*(_label(_column(item), kind).alias(key) for key, item, kind in parts))
        known = self.hold(nw.from_native(listed.dropna().distinct()), {})
        return known, int(in_one_sentence(WRONG, nw.to_native(known).count))

    def rows(self, plan: Plan) -> Any:
        question, source, wanted = plan.question, self.source, []
        if plan.where is not None:
            source = source.where(_compile(plan.where))
        if question.user is not None:
            column, kind = _column(question.user), self.types[question.user]
            wanted.append((_number(column, kind) if is_float(kind) else column).alias("u"))
        parts = zip(question.labels.items(), plan.kinds, strict=True)
        wanted += [_label(_column(name), kind).alias(ours) for (ours, name), kind in parts]
        if question.value is not None:
            column = _column(question.value)
            day = (sf.unix_date(_day(column)) + sf.lit(FIRST_DAY)).cast("double") if plan.question.dated else None
            wanted.append((_number(column) if day is None else day).alias("v"))
        rows = source.select(*wanted).dropna()
        return nw.from_native(rows.where(sf.col("u") != "") if plan.drops_unnamed else rows)

    def listing(self, rows: Sequence[Row], kinds: Sequence[Kind], names: Sequence[str], beside: Any) -> Any:
        texts = [tuple(map(as_text, row)) for row in rows]
        listed = self.source.sparkSession.createDataFrame(texts, ", ".join(f"{name} string" for name in names))
        parts = zip(names, kinds, strict=True)
        return nw.from_native(listed.select(*(listed[name].cast(TYPES[kind]).alias(name) for name, kind in parts)))

    def hash(self, native: Any, words: list[str], forms: dict[str, Kind | None]) -> Any:
        salt, *columns = words
        texts = sf.concat_ws(BETWEEN, sf.lit(salt), *(sf.col(name).cast("string") for name in columns))
        return native.withColumn("h", sf.md5(texts))

    def hold(self, rows: Any, forms: dict[str, Kind | None]) -> Any:
        native = nw.to_native(rows).persist()
        held = nw.from_native(native)
        weakref.finalize(held, _forget, native)
        return held

    def names(self, rows: Any, columns: Sequence[str], forms: dict[str, Kind | None]) -> list[Row]:
        return [tuple(row) for row in nw.to_native(rows).select(*columns).collect()]


def _forget(native: Any) -> None:
    with contextlib.suppress(Exception):  # the session may be gone
        native.unpersist()


def _column(name: str) -> Any:
    return sf.col("`" + name.replace("`", "``") + "`")


def _number(column: Any, kind: str = "double") -> Any:
    """A float: missing ones are missing, and there is one zero."""
    number = column.cast(kind)
    return sf.when(~sf.isnan(number), number + sf.lit(0.0).cast(kind))


def _day(column: Any) -> Any:
    """A date, and missing outside the years 1 to 9999."""
    return sf.when(sf.year(column).between(FIRST.year, LAST.year), column)


def _label(column: Any, form: Kind) -> Any:
    """Bytes that are no UTF-8 are refused: Spark would show others in their place. In words of our own, for Spark logs
    what its `validate_utf8` says, and that quotes the cell."""
    if form == "text":
        text = column.cast("string")
        whole = text.isNull() | sf.is_valid_utf8(text)
        return sf.when(whole, text).otherwise(sf.raise_error(sf.lit("not valid UTF8")).cast("string"))
    return (_day(column) if form == "date" else column).cast(TYPES[form])


def _compile(condition: Any) -> Any:
    """Return the condition as a column."""
    return compile_condition(condition, Leaves(
        read=lambda column, form: _read(_column(column), form),
        value=lambda value, form: sf.lit(value).cast(FORMS[form]),
        missing=lambda cell, yes: cell.isNull() if yes else cell.isNotNull(),
        inside=lambda cell, values, yes: cell.isin(values) if yes else ~cell.isin(values),
        never=lambda: sf.lit(False),
    ))  # fmt: skip


def _read(cell: Any, form: Form) -> Any:
    """Read a cell in a form; no cast stops at a cell."""
    if form in ("date", "float"):
        return _day(cell) if form == "date" else _number(cell)
    if form not in WRITTEN:
        return cell.cast(FORMS[form])
    like, unlike = WRITTEN[form]
    fits = cell.rlike(like) & ~cell.rlike(unlike)
    return sf.when(fits, cell.try_cast("double") + sf.lit(0.0) if form == "written number" else cell)
