"""A condition on one row, as a tree of a few nodes, and what it means for columns of declared types.

Three values, as in SQL: a comparison with something missing, or with what does not compare, is neither true nor false,
and a row is kept where the whole is true. NOT is carried down to the comparisons when the text is read (`parse.py`), so
there is none left here; with AND and OR alone "neither" may be taken for "false", which every engine can do.

Whether a row is kept depends on that row and on the text alone: nobody's row decides on another's (Theorem 131).
"""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeVar

from shortlist.errors import bad_value
from shortlist.tables.column_types import RANGES, is_float, kind_of

Built = TypeVar("Built")
Op = Literal["=", "<>", "<", "<=", ">", ">="]
Value = str | bool | Fraction | datetime.date

Form = Literal["text", "integer", "unsigned", "float", "boolean", "date", "written number", "written date"]
"""How a cell is read. A written number or date is a text that looks like one; other texts do not compare with it."""

OPPOSITE: dict[Op, Op] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED: dict[Op, Op] = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
COMPARE: dict[Op, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip

NUMBER = r"^-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?:[eE][+-]?[0-9]{1,2})?$"
NOT_IN_NUMBERS = r"[^0-9.eE+-]"
DAY = r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$"
NOT_IN_DAYS = r"[^0-9-]"
"""What a written number and day look like; nothing of the second kind may be in it, for to some engines `$` is also the
place before a line's end. Every engine reads such a number as the nearest float, and a day's text sorts as the day."""
WRITTEN: dict[Form, tuple[str, str]] = {
    "written number": (NUMBER, NOT_IN_NUMBERS),
    "written date": (DAY, NOT_IN_DAYS),
}


@dataclass(frozen=True, slots=True)
class All:
    """AND: true if every part is. Without parts it is never used."""

    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """OR: true if one part is. Without parts it is never true."""

    parts: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """A column beside a literal or another column, as it was written."""

    column: str
    op: Op
    value: Value | None
    other: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A column and a list of literals, one of which it is, or none."""

    column: str
    values: tuple[Value, ...]
    inside: bool


@dataclass(frozen=True, slots=True)
class Missing:
    """IS NULL, or IS NOT NULL."""

    column: str
    yes: bool
    form: Form | None = None


@dataclass(frozen=True, slots=True)
class Test:
    """A cell, read in that form, beside values that have it; with several, whether it is one of them or none."""

    column: str
    form: Form
    op: Op
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two cells of a row, both read in that form."""

    column: str
    form: Form
    op: Op
    other: str


Leaf = Test | Pair | Missing
Condition = All | Some | Leaf
"""What engines build."""

NEVER = Some(())


def form_of(column: str, declared: str) -> Form:
    """How a column is read, by its declared type alone; or a refusal that shows the name the caller wrote."""
    form = kind_of(declared) or ("float" if is_float(declared) else None)
    if form is None:
        raise bad_value(
            f"$where: {column!r} must be a column of text, numbers (64 bits), truth values or dates; convert it first, "
            "for example to text or dates"
        )
    return form


def typed(tree: Any, forms: Mapping[str, Form]) -> Condition:
    """The condition for columns of these forms; refuses, by types alone, what could never compare."""
    if isinstance(tree, All | Some):
        return type(tree)(tuple(typed(part, forms) for part in tree.parts))
    if isinstance(tree, Missing):
        return Missing(tree.column, tree.yes, forms[tree.column])
    if isinstance(tree, Listed):
        return _listed(tree, forms[tree.column])
    if tree.other is not None:
        return _pair(tree, forms[tree.column], forms[tree.other])
    return _test(tree.column, forms[tree.column], tree.op, tree.value)


def built(tree: Condition, leaf: Callable[[Leaf], Built], both: Callable[[Built, Built], Built],
          either: Callable[[Built, Built], Built], never: Callable[[], Built]) -> Built:  # fmt: skip
    """The condition in an engine's own words."""
    if not isinstance(tree, All | Some):
        return leaf(tree)
    parts = [built(part, leaf, both, either, never) for part in tree.parts]
    if not parts:
        return never()
    whole = parts[0]
    for part in parts[1:]:
        whole = (both if isinstance(tree, All) else either)(whole, part)
    return whole


def columns_of(tree: Any) -> Iterator[str]:
    """Every column that it looks at, as often as it does."""
    if isinstance(tree, All | Some):
        for part in tree.parts:
            yield from columns_of(part)
    else:
        yield tree.column
        if getattr(tree, "other", None) is not None:
            yield tree.other


def paired(tree: Any) -> Iterator[str]:
    """Every column that is compared with another."""
    for part in tree.parts if isinstance(tree, All | Some) else ():
        yield from paired(part)
    if getattr(tree, "other", None) is not None:
        yield from (tree.column, tree.other)


def readings(tree: Condition) -> Iterator[tuple[str, Form]]:
    """Every column and the form in which it is read, as often as it is."""
    if isinstance(tree, All | Some):
        for part in tree.parts:
            yield from readings(part)
        return
    assert tree.form is not None
    yield from ((column, tree.form) for column in columns_of(tree))


def _listed(tree: Listed, form: Form) -> Condition:
    """Literals of one kind are one test; others are a test each."""
    parts = [_test(tree.column, form, "=" if tree.inside else "<>", value) for value in tree.values]
    same = {(part.form, part.op) for part in parts if isinstance(part, Test)}
    if len(same) == 1 and all(isinstance(part, Test) for part in parts):
        read, op = same.pop()
        if op == ("=" if tree.inside else "<>"):
            return Test(tree.column, read, op, tuple(dict.fromkeys(part.values[0] for part in parts)))  # type: ignore[union-attr]
    return Some(tuple(parts)) if tree.inside else All(tuple(parts))


def _pair(tree: Compared, form: Form, other: Form) -> Condition:
    assert tree.other is not None
    numbers = {"integer", "unsigned", "float"}
    if form != other and not {form, other} <= numbers:
        raise bad_value(f"$where: {tree.column!r} and {tree.other!r} are of two kinds, {form} and {other}: convert one")
    if form == "boolean" and tree.op not in ("=", "<>"):
        raise bad_value(f"$where: truth values are equal (=) or not (<>): {tree.column!r} {tree.op} {tree.other!r}")
    return Pair(tree.column, form if form == other else "float", tree.op, tree.other)


def _test(column: str, form: Form, op: Op, value: Any) -> Condition:
    if isinstance(value, bool):
        return _truth(column, form, op, value)
    if isinstance(value, Fraction):
        if form in ("integer", "unsigned"):
            return _whole(column, form, op, value)
        if form in ("float", "text"):
            return Test(column, "float" if form == "float" else "written number", op, (float(value),))
    elif form == "date":
        day = value if isinstance(value, datetime.date) else _day(value)
        if day is not None:
            return Test(column, form, op, (day,))
    elif form == "text":
        if isinstance(value, str):
            return Test(column, form, op, (value,))
        return Test(column, "written date", op, (value.isoformat(),))
    raise bad_value(
        f"$where: {column!r} is a column of kind {form}, and does not compare with {_kind(value)}; write "
        f"{_EXAMPLES[form]}"
    )


def _truth(column: str, form: Form, op: Op, value: bool) -> Condition:
    if op not in ("=", "<>") or form not in ("boolean", "text"):
        raise bad_value(f"$where: TRUE and FALSE are equal (=) or not (<>) to truth values: {column!r} is {form}")
    wanted = value if op == "=" else not value
    return Test(column, form, "=", (wanted if form == "boolean" else str(wanted).lower(),))


def _whole(column: str, form: Form, op: Op, value: Fraction) -> Condition:
    """Whole numbers beside any number, by whole numbers of 64 bits alone."""
    low, high = RANGES[form]  # type: ignore[index]
    there: Condition = Missing(column, False, form)
    if op in ("=", "<>"):
        if value.denominator == 1 and low <= value <= high:
            return Test(column, form, op, (int(value),))
        return NEVER if op == "=" else there
    if op in ("<", "<="):
        most = math.ceil(value) - 1 if op == "<" else math.floor(value)
        return NEVER if most < low else there if most >= high else Test(column, form, "<=", (most,))
    least = math.floor(value) + 1 if op == ">" else math.ceil(value)
    return NEVER if least > high else there if least <= low else Test(column, form, ">=", (least,))


def _day(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


def _kind(value: Any) -> str:
    return "a number" if isinstance(value, Fraction) else "a date" if isinstance(value, datetime.date) else "that text"


_EXAMPLES: dict[Form, str] = {
    "text": "a text in single quotes, 'CH'", "integer": "a number without quotes, 40",
    "unsigned": "a number without quotes, 40", "float": "a number without quotes, 4.5",
    "boolean": "TRUE or FALSE", "date": "a day, DATE '2024-02-29'",
}  # fmt: skip
