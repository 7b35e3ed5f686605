"""Conditions for Spark, as columns."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from pyspark.sql import functions as sf

from shortlist.tables.column_types import FIRST, LAST
from shortlist.tables.where.conditions import COMPARE, WRITTEN, Condition, Form, Leaf, Missing, Pair, built

TYPES: dict[Form, str] = {
    "text": "string", "integer": "bigint", "float": "double", "boolean": "boolean", "date": "date",
    "written number": "double", "written date": "string",
}  # fmt: skip


def in_spark(condition: Condition, column: Callable[[str], Any]) -> Any:
    """The condition over the columns that `column` finds by name."""

    def leaf(one: Leaf) -> Any:
        assert one.form is not None
        cell = _read(column(one.column), one.form)
        if isinstance(one, Missing):
            return cell.isNull() if one.yes else cell.isNotNull()
        if isinstance(one, Pair):
            return COMPARE[one.op](cell, _read(column(one.other), one.form))
        kind = TYPES[one.form]
        values = [sf.lit(value).cast(kind) for value in one.values]
        if len(values) == 1:
            return COMPARE[one.op](cell, values[0])
        return cell.isin(values) if one.op == "=" else ~cell.isin(values)

    return built(condition, leaf, operator.and_, operator.or_, lambda: sf.lit(False))


def _read(cell: Any, form: Form) -> Any:
    """Missing floats are missing, and there is one zero; no cast stops at a cell."""
    if form == "date":
        return sf.when(sf.year(cell).between(FIRST.year, LAST.year), cell)
    if form == "float":
        number = cell.cast("double")
        return sf.when(~sf.isnan(number), number + sf.lit(0.0))
    if form not in WRITTEN:
        return cell.cast(TYPES[form])
    like, unlike = WRITTEN[form]
    fits = cell.rlike(like) & ~cell.rlike(unlike)
    return sf.when(fits, cell.try_cast("double") + sf.lit(0.0) if form == "written number" else cell)
