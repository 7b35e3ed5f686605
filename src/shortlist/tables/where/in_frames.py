"""Conditions for pandas, polars and pyarrow, through narwhals. What is neither true nor false is false at once."""

from __future__ import annotations

import functools
import operator
from typing import Any

import narwhals as nw

from shortlist.tables.column_types import FIRST, LAST
from shortlist.tables.where.conditions import (
    COMPARE,
    WRITTEN,
    Condition,
    Form,
    Leaf,
    Missing,
    Pair,
    built,
)

TYPES: dict[Form, Any] = {"integer": nw.Int64, "unsigned": nw.UInt64, "float": nw.Float64}


def in_frames(condition: Condition, names: dict[tuple[str, bool], str]) -> nw.Expr:
    """The condition over a frame that has these names for the columns, by whether they are read as floats."""

    def read(column: str, form: Form) -> nw.Expr:
        return _read(nw.col(names[column, form == "float"]), form)

    def leaf(one: Leaf) -> nw.Expr:
        assert one.form is not None
        cell = read(one.column, one.form)
        if isinstance(one, Missing):
            return cell.is_null() if one.yes else ~cell.is_null()
        if isinstance(one, Pair):
            other = read(one.other, one.form)
            return _sure(COMPARE[one.op](cell, other), cell, other)
        if len(one.values) == 1 or one.form in ("unsigned", "date"):
            tests: list[nw.Expr] = [COMPARE[one.op](cell, _value(value, one.form)) for value in one.values]
            return _sure(functools.reduce(operator.or_ if one.op == "=" else operator.and_, tests), cell)
        inside = cell.is_in(list(one.values))
        return _sure(inside if one.op == "=" else ~inside, cell)

    def never() -> nw.Expr:
        return nw.col("u").is_null() & ~nw.col("u").is_null()

    rows: nw.Expr = built(condition, leaf, operator.and_, operator.or_, never)
    return rows


def _sure(test: nw.Expr, *cells: nw.Expr) -> nw.Expr:
    """Some libraries take something missing for unequal to all."""
    there = functools.reduce(operator.and_, [~cell.is_null() for cell in cells])
    return test.fill_null(False) & there


def _value(value: Any, form: Form) -> Any:
    """Arrow makes no number beyond 63 bits of Python's, but of a text."""
    return nw.lit(str(value)).cast(nw.UInt64) if form == "unsigned" else value


def _read(cell: nw.Expr, form: Form) -> nw.Expr:
    """Missing floats are missing, and there is one zero."""
    if form == "date":
        return nw.when(cell.is_between(FIRST, LAST).fill_null(False)).then(cell)
    if form == "float":
        return _number(cell.cast(nw.Float64))
    if form not in WRITTEN:
        return cell.cast(TYPES[form]) if form in TYPES else cell
    like, unlike = WRITTEN[form]
    fits = cell.str.contains(like).fill_null(False) & ~cell.str.contains(unlike).fill_null(True)
    if form == "written date":
        return nw.when(fits).then(cell)
    safe = nw.when(fits).then(cell).otherwise(nw.lit("0"))  # what is no number would stop the whole column
    return nw.when(fits).then(safe.cast(nw.Float64) + 0.0)


def _number(cell: nw.Expr) -> nw.Expr:
    return nw.when(~cell.is_nan().fill_null(True)).then(cell + 0.0)
