"""Spark DataFrames, by the DataFrame API alone, so that Spark Connect works. Counts are persisted in the cluster."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import narwhals as nw
import numpy as np
from pyspark.sql import functions as sf

from shortlist._arrays import Frame, Indices
from shortlist._files import as_text
from shortlist.errors import bad_value
from shortlist.tables import algebra
from shortlist.tables.columns import FIRST, LAST, Kind, Row, is_float, kind_of
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.question import BETWEEN, Columns, Plan, Question
from shortlist.tables.values import FIRST_DAY, ValuePlan
from shortlist.tables.where import WRITTEN, Form, Leaves, compile_condition

WRONG = "the Spark DataFrame cannot be counted"
TYPES: dict[Any, str] = {"text": "string", "integer": "bigint", "boolean": "boolean", "date": "date"}
FORMS: dict[Form, str] = {**TYPES, "float": "double", "written number": "double", "written date": "string"}


class SparkTable:
    """A Spark DataFrame, for `algebra`."""

    wrong = WRONG
    exact = True
    engine, kinds = "spark", TYPES
    count = algebra.count
    dry_count = algebra.dry_count
    votes = algebra.votes

    def __init__(self, source: Any) -> None:
        if not hasattr(source, "dtypes"):
            raise TypeError("source must be a Spark DataFrame, not a column or a session")
        self.source, self.types = source, dict(source.dtypes)

    def columns(self) -> Columns:
        return Columns(tuple(self.source.columns), self.types)

    def query(self, candidates: Any, question: Question, kinds: tuple[Kind, ...]) -> tuple[Any, int] | None:
        if not type(candidates).__module__.startswith("pyspark"):
            return None
        own = dict(candidates.dtypes)
        if any(item not in own for item in question.items):
            raise bad_value("$candidates: the query must have the item columns, by the same names")
        if tuple(kind_of(own[item]) for item in question.items) != kinds:
            raise bad_value("$candidates: the query's columns must be of the same kinds as the item columns; cast them")
        parts = zip(question.keys, question.items, kinds, strict=True)
        listed = candidates.select(*(_label(_column(item), kind).alias(key) for key, item, kind in parts))
        known = self.hold(nw.from_native(listed.dropna().distinct()), {})
        return known, int(in_one_sentence(WRONG, nw.to_native(known).count))

    def weighs(self, plan: Plan | ValuePlan) -> bool:
        return True

    def empty(self) -> Any:
        return self.source.limit(0)

    def rows(self, plan: Plan) -> Any:
        question, source = plan.question, self.source
        if plan.where is not None:
            source = source.where(_compile(plan.where))
        wanted = [_user(question.user, self.types[question.user]), *_labels(question.labels, plan.kinds)]
        if question.value is not None:
            number = _column(question.value).cast("double")
            wanted.append(sf.when(~sf.isnan(number), number).alias("v"))
        rows = source.select(*wanted).dropna()
        return nw.from_native(rows.where(sf.col("u").cast("string") != "") if plan.drops_unnamed else rows)

    def values(self, plan: ValuePlan) -> Any:
        question, column = plan.question, _column(plan.question.value)
        if plan.dated:
            day = sf.when(sf.year(column).between(FIRST.year, LAST.year), column)
            number = (sf.unix_date(day) + sf.lit(FIRST_DAY)).cast("double")
        else:
            double = column.cast("double")
            number = sf.when(~sf.isnan(double), double)
        user = [] if question.user is None else [_user(question.user, self.types[question.user])]
        rows = self.source.select(number.alias("v"), *user, *_labels(question.keys, plan.kinds)).dropna()
        rows = rows.where(sf.col("u") != "") if plan.drops_unnamed else rows
        return algebra.place_values(nw.from_native(rows), plan)

    def listing(self, rows: Sequence[Row], kinds: Sequence[Kind], names: Sequence[str], beside: Any) -> Any:
        texts = [tuple(map(as_text, row)) for row in rows]
        listed = self.source.sparkSession.createDataFrame(texts, ", ".join(f"{name} string" for name in names))
        parts = zip(names, kinds, strict=True)
        return nw.from_native(listed.select(*(listed[name].cast(TYPES[kind]).alias(name) for name, kind in parts)))

    @contextmanager
    def passing(self, columns: dict[str, Sequence[int]], beside: Any) -> Iterator[Any]:
        schema = ", ".join(f"{name} bigint" for name in columns)
        rows = list(zip(*columns.values(), strict=True))
        yield nw.from_native(sf.broadcast(self.source.sparkSession.createDataFrame(rows, schema)))

    def distinct(self, rows: Any, names: list[str]) -> Any:
        return nw.from_native(nw.to_native(rows).select(*names).distinct())

    def semi(self, rows: Any, listed: Any, on: list[str]) -> Any:
        return rows.join(listed, on=on, how="semi")

    def rank(self, rows: Any, among: list[str], order: list[str]) -> Any:
        return algebra.rank_by_window(rows, among, order)

    def first(
        self, rows: Any, among: list[str], words: list[str], salt: str, most: int, forms: dict[str, Kind | None]
    ) -> Any:
        texts = sf.concat_ws(BETWEEN, sf.lit(salt), *(sf.col(word).cast("string") for word in words))
        hashed = nw.from_native(nw.to_native(rows).withColumn("h", sf.md5(texts)))
        return algebra.first_by_window(hashed, among, words, most)

    def cut(self, rows: Any) -> Any:
        return rows

    def hold(self, rows: Any, forms: dict[str, Kind | None]) -> Any:
        native = nw.to_native(rows).persist()
        held = nw.from_native(native)
        weakref.finalize(held, _forget, native)
        return held

    def names(self, rows: Any, columns: Sequence[str], forms: dict[str, Kind | None]) -> list[Row]:
        return [tuple(row) for row in nw.to_native(rows).select(*columns).collect()]

    def numbers(self, rows: Any, columns: Sequence[str]) -> list[Indices]:
        cells = np.array(self.names(rows, columns, {}), np.int64).reshape(-1, len(columns))
        return list(cells.T)

    def frame(self, kinds: Sequence[Kind], held: Any) -> Frame:
        return Frame.of("spark", [TYPES[kind] for kind in kinds])


def _forget(native: Any) -> None:
    with contextlib.suppress(Exception):  # the session may be gone
        native.unpersist()


def _column(name: str) -> Any:
    return sf.col("`" + name.replace("`", "``") + "`")


def _user(name: str, kind: str) -> Any:
    """Missing floats are missing, and there is one zero."""
    column = _column(name)
    return (sf.when(~sf.isnan(column), column + sf.lit(0.0).cast(kind)) if is_float(kind) else column).alias("u")


def _labels(columns: dict[str, str], kinds: Sequence[Kind]) -> list[Any]:
    parts = zip(columns.items(), kinds, strict=True)
    return [_label(_column(column), kind).alias(ours) for (ours, column), kind in parts]


def _label(column: Any, form: Kind) -> Any:
    """Bytes that are no UTF-8 are refused: Spark would show others in their place. In words of our own, for Spark logs
    what its `validate_utf8` says, and that quotes the cell."""
    if form == "text":
        text = column.cast("string")
        whole = text.isNull() | sf.is_valid_utf8(text)
        return sf.when(whole, text).otherwise(sf.raise_error(sf.lit("not valid UTF8")).cast("string"))
    shown = sf.when(sf.year(column).between(FIRST.year, LAST.year), column) if form == "date" else column
    return shown.cast(TYPES[form])


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
    """Read a cell in a form: missing floats are missing, and there is one zero; no cast stops at a cell."""
    if form == "date":
        return sf.when(sf.year(cell).between(FIRST.year, LAST.year), cell)
    if form == "float":
        number = cell.cast("double")
        return sf.when(~sf.isnan(number), number + sf.lit(0.0))
    if form not in WRITTEN:
        return cell.cast(FORMS[form])
    like, unlike = WRITTEN[form]
    fits = cell.rlike(like) & ~cell.rlike(unlike)
    return sf.when(fits, cell.try_cast("double") + sf.lit(0.0) if form == "written number" else cell)
