"""Conditions for Ibis tables, as expressions."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import ibis

from shortlist.errors import bad_value
from shortlist.tables.where.conditions import (
    COMPARE,
    WRITTEN,
    Condition,
    Form,
    Leaf,
    Missing,
    Pair,
    Test,
    built,
)

TYPES: dict[Form, str] = {
    "text": "string", "integer": "int64", "unsigned": "uint64", "float": "float64", "boolean": "boolean",
    "date": "date", "written number": "float64", "written date": "string",
}  # fmt: skip
TEXTS = ("text", "written date")


@ibis.udf.scalar.python  # type: ignore[untyped-decorator]
def _real(words: str) -> float:
    """For SQLite, whose own reading of a number may be off by a last bit."""
    return float(words)


def in_ibis(
    condition: Condition,
    table: Any,
    read: Callable[[Any, Form], Any],
    hidden: Callable[[Any], Any],
    *,
    sqlite: bool,
    bytewise: bool,
) -> Any:
    """The condition over that table.

    `read` gives a column in one of the forms that are no writing, missing where it has none, and `hidden` a text as it
    is compared.

    Raises
    ------
    ValueError
        for an order of texts where the backend's collation would decide.
    """

    def cell(column: str, form: Form) -> Any:
        if form not in WRITTEN:
            return read(table[column], form)
        words = table[column].cast("string")
        like, unlike = WRITTEN[form]
        fits = words.re_search(like) & ~words.re_search(unlike)
        if form == "written date":
            return hidden(fits.ifelse(words, None))
        safe = fits.ifelse(words, "0")
        return fits.ifelse((_real(safe) if sqlite else safe.cast("float64")) + 0.0, None)

    def value(one: Any, form: Form) -> Any:
        words = ibis.literal(one, type=TYPES[form])
        return hidden(words) if form in TEXTS else words

    def leaf(one: Leaf) -> Any:
        assert one.form is not None
        if not bytewise and one.form in TEXTS and isinstance(one, Test | Pair) and one.op not in ("=", "<>"):
            raise bad_value(
                f"$where: the order of texts in {one.column!r} is not the same in every backend, and this one's is not "
                "known; write = or IN"
            )
        here = cell(one.column, one.form)
        if isinstance(one, Missing):
            return here.isnull() if one.yes else here.notnull()
        if isinstance(one, Pair):
            return COMPARE[one.op](here, cell(one.other, one.form))
        values = [value(each, one.form) for each in one.values]
        if len(values) == 1:
            return COMPARE[one.op](here, values[0])
        return here.isin(values) if one.op == "=" else here.notin(values)

    return built(condition, leaf, operator.and_, operator.or_, lambda: ibis.literal(False))
