"""What a column may hold: decided here, for every engine, from its declared type alone.

Items are text, whole numbers of 64 bits, truth values or dates. In these kinds equal values look the same, so that a
released label is the spelling of nobody's row; and every engine has them. A user's values are never shown: whatever an
engine can tell apart will do.
"""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

import numpy as np

from shortlist._files import as_text
from shortlist.errors import bad_value

Row = tuple[Any, ...]

Kind = Literal["text", "integer", "unsigned", "boolean", "date"]
"""The forms a label has: text, 64 bits with a sign or (where the column has such) without, true or false, a day."""

NAMES: dict[Kind, frozenset[str]] = {
    "text": frozenset({"varchar", "string", "large_string", "string_view", "str"}),
    "integer": frozenset({
        "tinyint", "smallint", "integer", "int", "bigint", "utinyint", "usmallint", "uinteger",
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    }),
    "unsigned": frozenset({"ubigint", "uint64"}),
    "boolean": frozenset({"boolean", "bool"}),
    "date": frozenset({"date", "date32[day]", "date64[ms]"}),
}  # fmt: skip
FLOATS = frozenset({"float", "double", "halffloat", "float16", "float32", "float64"})
USERS = re.compile(
    "u?hugeint|u?int128|uuid|blob|binary|large_binary|binary_view"
    "|(?:decimal|timestamp|datetime|time(?!delta)|fixed_size_binary).*"
)
"""What else a column of users may be. Of nested values, spans of time and Python's objects no engine is sure."""
NUMBERS = re.compile(r"u?hugeint|u?int128|decimal\d*(?:\([^\[\]]*\))?")

RANGES: dict[Kind, tuple[int, int]] = {"integer": (-(2**63), 2**63 - 1), "unsigned": (0, 2**64 - 1)}
NO_TEXT = (bool, np.bool_, int, np.integer, datetime.date)
"""Values of the other kinds, in Python."""
FIRST, LAST = datetime.date.min, datetime.date.max
"""Dates outside the years 1 to 9999 are missing ones: not every engine can show them."""

UNFIT = (
    "candidates do not fit the item column: write them as text, whole numbers, truth values or dates, "
    "as it has them, and none that is missing"
)


def kind_of(declared: str) -> Kind | None:
    """The kind of a type's name, in whatever engine; None for a type no item may have."""
    name = declared.lower().removeprefix("!")  # Ibis marks columns without nulls so
    return next((kind for kind, names in NAMES.items() if name in names), None)


def is_float(declared: str) -> bool:
    """Users only: missing floats are missing, and there is one zero."""
    return declared.lower().removeprefix("!") in FLOATS


def is_number(declared: str) -> bool:
    """Whether a column can be summed."""
    known = kind_of(declared) in ("integer", "unsigned", "boolean") or is_float(declared)
    return known or NUMBERS.fullmatch(declared.lower().removeprefix("!")) is not None


def check_user(column: str, declared: str) -> None:
    """Refuse a column of people that does not hold plain values, by its declared type."""
    name = declared.lower().removeprefix("!")
    if kind_of(name) is None and name not in FLOATS and not USERS.fullmatch(name):
        raise bad_value(
            f"$user={column!r} must be a column of plain values (text, numbers, times, bytes), not of nested ones, "
            "spans of time or objects; convert it first, for example to text"
        )


def check_texts(
    lists: str,
    role: str,
    columns: Sequence[str],
    kinds: Collection[Kind],
    written: Collection[str],
    rows: Sequence[Row],
) -> None:
    """Refuse a public list of numbers, truth values or dates for a column that was declared as text.

    By types alone: such a list is seldom meant, and would hardly ever name what the column has. Columns that are
    `written`, whose fields are text whatever they look like, take it: there 7 is "7".
    """
    for column, kind, cells in zip(columns, kinds, zip(*rows, strict=True), strict=True):
        if kind == "text" and column not in written and any(issubclass(one, NO_TEXT) for one in set(map(type, cells))):
            raise bad_value(
                f"{lists} must be text, for ${role}={column!r} is a column of text: the text '7', not the number 7"
            )


def fit_rows(rows: Sequence[Row], kinds: Collection[Kind]) -> list[Row]:
    """Return a public list in the form of its columns, distinct. Its errors may depend on it."""
    columns = [_fit_column(cells, kind) for cells, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
    return list(dict.fromkeys(zip(*columns, strict=True)))


def _fit_column(cells: tuple[Any, ...], kind: Kind) -> Iterable[Any]:
    """Fit a column at once where all of its cells are plain ones of its kind, as in almost every list."""
    types = set(map(type, cells))
    if kind == "text" and types == {str}:
        try:
            "".join(cells).encode()
        except UnicodeEncodeError:
            raise ValueError(UNFIT) from None
        return cells
    if types == {int} and kind in RANGES and RANGES[kind][0] <= min(cells) and max(cells) <= RANGES[kind][1]:
        return cells
    return [_fit(cell, kind) for cell in cells]


def _fit(cell: Any, kind: Kind) -> Any:
    value = _plain(cell)
    if value is None or kind == "text":
        value = None if value is None else as_text(value)
    elif kind == "date":
        value = _date(value) if isinstance(value, str) else value
        value = value if isinstance(value, datetime.date) else None
    elif kind == "boolean":
        value = {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else value
        value = value if isinstance(value, bool) else None
    else:
        low, high = RANGES[kind]
        value = int(value) if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,40}", value) else value
        value = value if type(value) is int and low <= value <= high else None
    if value is None:
        raise ValueError(UNFIT)
    return value


def _plain(cell: Any) -> str | int | bool | datetime.date | None:
    """Return a cell as one of the kinds; None for others, text that is not Unicode and numbers beyond 64 bits."""
    if isinstance(cell, str):
        try:
            return cell.encode().decode()
        except UnicodeEncodeError:
            return None
    if isinstance(cell, bool | np.bool_):
        return bool(cell)
    if isinstance(cell, int | np.integer):
        return int(cell) if -(2**63) <= cell < 2**64 else None
    if isinstance(cell, uuid.UUID):
        return str(cell)
    return cell if type(cell) is datetime.date else None


def _date(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def text_of(cell: Any) -> str | None:
    """A cell of a column of Python objects as text, the way a CSV file has it; None (missing) for other objects.

    A function of that cell alone: what one person has in it changes nobody else's.
    """
    if type(cell) is str and cell.isascii():  # almost all are
        return cell
    try:
        value = _plain(cell)
    except Exception:  # of a class of the caller's own: its error would be told, and one person's cell stop the count
        return None
    return None if value is None else as_text(value)
