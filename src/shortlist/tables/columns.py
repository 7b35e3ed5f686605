"""What a column may hold, by its declared type alone, and the public lists that fit it: decided for every engine.

Items are text, whole numbers of 64 bits, truth values or dates. In these kinds equal values look the same, so that a
released label is the spelling of nobody's row; and every engine has them. A user's values are never shown: whatever an
engine can tell apart will do.

Public lists of candidates and of groups are read in whatever form they come, and are refused if they are visibly the
private table: the same object, file or memory. Only identities, paths and addresses are compared, never cells, so a
refusal does not depend on the data. A copy, such as `column.unique()`, cannot be told from a public list. Categories of
a column are a part of its type, and may have been declared: they are not refused.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shortlist._arrays import check_flag
from shortlist._files import as_text
from shortlist._runtime import IMPORTS, lazy_import
from shortlist.errors import Text, bad_type, bad_value
from shortlist.tables.dialect import SEPARATORS
from shortlist.tables.errors import in_one_sentence

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
FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
"""What dates are counted from in numpy, arrow and Spark."""


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


def bad_column(role: str, column: str, kinds: str) -> ValueError:
    """Return the error of a column that is not of one of these kinds, by the name the caller wrote."""
    return bad_value(f"${role}={column!r} must be a column of {kinds}; convert it first, for example to text")


def check_user(column: str, declared: str) -> None:
    """Refuse a column of people that does not hold plain values, by its declared type."""
    name = declared.lower().removeprefix("!")
    if kind_of(name) is None and name not in FLOATS and not USERS.fullmatch(name):
        plain = "plain values (text, numbers, times, bytes), not of nested ones, spans of time or objects"
        raise bad_column("user", column, plain)


def fit_rows(
    lists: str, columns: Sequence[str], kinds: Collection[Kind], written: Collection[str], rows: Sequence[Row]
) -> list[Row]:
    """Return a public list, of candidates or groups, in the form of its columns, distinct. Errors may depend on it.

    Numbers, truth values or dates for a column that was declared as text are refused, by types alone: such a list is
    seldom meant, and would hardly ever name what the column has. Columns that are `written`, whose fields are text
    whatever they look like, take it: there 7 is "7".
    """
    role, fitted = "item" if lists == "candidates" else "by", list[Collection[Any]]()
    for column, kind, cells in zip(columns, kinds, zip(*rows, strict=True), strict=True):
        if kind == "text" and column not in written and any(issubclass(one, NO_TEXT) for one in set(map(type, cells))):
            raise bad_value(f"{lists} must be text, as ${role}={column!r} is: the text '7', not the number 7")
        fitted.append(_fit_column(cells, kind))
    if any(cell is None for cells in fitted for cell in cells):
        raise ValueError(
            f"{lists} do not fit the {role} column: write them as text, whole numbers, truth values or dates, as it "
            "has them, and none that is missing"
        )
    return list(dict.fromkeys(zip(*fitted, strict=True)))


def _fit_column(cells: tuple[Any, ...], kind: Kind) -> Collection[Any]:
    """Fit a column at once where all of its cells are plain ones of its kind, as in almost every list."""
    types = set(map(type, cells))
    if kind == "text" and types == {str} and _plain("".join(cells)) is not None:
        return cells
    if types == {int} and kind in RANGES and RANGES[kind][0] <= min(cells) and max(cells) <= RANGES[kind][1]:
        return cells
    return [_fit(cell, kind) for cell in cells]


def _fit(cell: Any, kind: Kind) -> Any:
    """Return a cell in the form of its column; None if it does not fit."""
    value = _plain(cell)
    if kind == "text":
        return None if value is None else as_text(value)
    if isinstance(value, str):
        value = _parse(value, kind)
    low, high = RANGES.get(kind, (0, 0))
    wanted = {"date": datetime.date, "boolean": bool}.get(kind, int)
    return value if type(value) is wanted and (wanted is not int or low <= value <= high) else None  # type: ignore[operator]


def _parse(text: str, kind: Kind) -> int | bool | datetime.date | None:
    """Return what a text says in another kind; None where it says nothing."""
    if kind == "boolean":
        return {"true": True, "false": False}.get(text.lower())
    if kind != "date":
        return int(text) if re.fullmatch(r"-?[0-9]{1,40}", text) else None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


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


ENGINES = {"duckdb", "_duckdb", "ibis", "pyspark"}
UNREAD = "the candidates cannot be read"
WRONG = Text("$candidates must be a list, a series, a frame, a path or a query that gives the item columns")
Span = tuple[int, int]
"""Addresses, from the first byte to after the last."""
FEW = 100
"""A list with more parts is not one of columns."""


def family_of(value: object) -> set[str]:
    """Return the libraries that the type of a value comes from."""
    return {kind.__module__.partition(".")[0] for kind in type(value).__mro__}


def fit_list(candidates: Any, items: tuple[str, ...], kinds: Collection[Kind], written: Collection[str]) -> list[Row]:
    """Return one tuple per distinct candidate, in the kinds of the item columns and in the order given.

    The list is public, so its errors may depend on it. `written` are columns of text whatever it looks like.
    """
    rows = read_rows(candidates, items)
    if not rows:
        raise bad_value("$candidates must not be empty: there is nothing to choose from")
    if any(type(None) in set(map(type, cells)) for cells in zip(*rows, strict=True)):
        raise bad_value("$candidates must not be missing; drop the empty ones")
    return fit_rows("candidates", items, kinds, written, rows)


def list_in_words(candidates: Any, items: tuple[str, ...]) -> str:
    """Describe a public list for the record: by a hash of its cells, in any order; a query of an engine by its kind."""
    if candidates is None:
        return ""
    if isinstance(candidates, Mapping):
        lists = sorted(f"{key!r}: {list_in_words(one, items)}" for key, one in candidates.items())
        return f"candidates of {len(lists):,} groups of sha256 {_digest(lists)}"
    engines = family_of(candidates) & ENGINES
    if engines and not isinstance(candidates, str | os.PathLike):
        return f"candidates by a query of {min(engines).removeprefix('_')}"
    lines = sorted(set(map(repr, read_rows(candidates, items))))
    return f"{len(lines):,} candidates of sha256 {_digest(lines)}"


def are_a_candidate(names: tuple[str, ...], candidates: object) -> bool:
    """Whether columns are called like one of the public candidates: the line with their names is then a row of data."""
    return names in fit_list(candidates, names, ["text"] * len(names), names)


def check_query(items: tuple[str, ...], kinds: tuple[Kind, ...], own: Mapping[str, str]) -> None:
    """Refuse a query of an engine, with columns of its `own` types, that does not give the items."""
    if any(item not in own for item in items):
        raise bad_value("$candidates: the query must have the item columns, by the same names")
    if tuple(kind_of(own[item]) for item in items) != kinds:
        raise bad_value("$candidates: the query's columns must be of the same kinds as the item columns; cast them")


def _digest(lines: list[str]) -> str:
    """Return the SHA-256 of the lines, each with its end."""
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")).hexdigest()


def read_rows(candidates: Any, items: tuple[str, ...]) -> list[Row]:
    """Return the candidates as tuples, as they come."""
    family = family_of(candidates)
    if isinstance(candidates, str | os.PathLike):
        return lazy_import("shortlist.tables.files", "rows_of_file")(os.fspath(candidates), items)
    if family & {"duckdb", "_duckdb"}:
        with IMPORTS:
            import duckdb

        return in_one_sentence(UNREAD, lambda: candidates.select(*map(duckdb.ColumnExpression, items)).fetchall())
    if family & {"pandas", "polars", "pyarrow"}:
        return _rows_of_frame(candidates, items)
    if isinstance(candidates, Mapping | bytes) or not isinstance(candidates, Iterable):
        raise TypeError(WRONG)
    return as_tuples("candidates", candidates.tolist() if hasattr(candidates, "tolist") else candidates, len(items))


def _rows_of_frame(candidates: Any, items: tuple[str, ...]) -> list[Row]:
    with IMPORTS:
        import narwhals as nw

    native = nw.from_native(candidates, allow_series=True, pass_through=True)
    if isinstance(native, nw.LazyFrame):
        native = in_one_sentence(UNREAD, native.collect)
    if not isinstance(native, nw.DataFrame):  # a series, a pandas index, an arrow array
        read = native.to_list if isinstance(native, nw.Series) else getattr(candidates, "to_pylist", None)
        return as_tuples("candidates", in_one_sentence(UNREAD, read or candidates.tolist), len(items))
    if any(name not in native.columns for name in items):
        raise bad_value("$candidates: the frame must have the item columns, by the same names")
    frame = native.select(*items)
    return in_one_sentence(UNREAD, lambda: list(frame.iter_rows()))


def as_tuples(lists: str, cells: Iterable[Any], width: int) -> list[Row]:
    """Return the rows of a public list of one column or of several."""
    if width == 1:
        return [(one,) for one in cells]
    rows = list(cells)
    if any(not isinstance(one, tuple | list) or len(one) != width for one in rows):
        raise bad_value(f"${lists} must be tuples of {width}: one part for each column")
    return list(map(tuple, rows))


def check_public_list(name: str, listed: Any, table: Any) -> None:
    """Refuse the table itself, its file, and whatever shares memory with one of its columns.

    Raises
    ------
    ValueError
        naming the argument, and nothing that is in it.
    """
    if listed is None:
        return
    parts = [listed]
    if isinstance(listed, Mapping):
        parts += listed.values()
    elif isinstance(listed, list | tuple) and len(listed) <= FEW:
        parts += [one for one in listed if not isinstance(one, str | os.PathLike)]  # a label is no path
    if any(one is table or _is_same_file(one, table) or _is_of_ibis(one, table) for one in parts):
        raise ValueError(REFUSED.format(name=name, what="the table itself"))
    known = [span for one in parts for span in _spans(one)]
    if known and _overlap(known, _spans(table)):
        raise ValueError(REFUSED.format(name=name, what="a column of the table"))


REFUSED = (
    "{name}: {what} is not a public list. Give a list that does not come from the table; if its names are private, "
    "leave it out and give a delta"
)


def _is_same_file(listed: Any, table: Any) -> bool:
    if not (isinstance(listed, str | os.PathLike) and isinstance(table, str | os.PathLike)):
        return False
    try:
        files_at = lazy_import("shortlist.tables.files", "files_at")
        files = files_at(os.fspath(table))
        return any(os.path.samefile(one, other) for one in files_at(os.fspath(listed)) for other in files)
    except (OSError, ValueError):
        return False


def _is_of_ibis(listed: Any, table: Any) -> bool:
    """Whether an Ibis expression is that table, or columns of it as they are. Nothing is run."""
    if not all(type(one).__module__.startswith("ibis.") and hasattr(one, "op") for one in (listed, table)):
        return False
    part, whole = listed.op(), table.op()
    columns = list(part.values.values()) if type(part).__name__ == "Project" else [part]
    return _is_same_table(part, whole) or all(_is_same_table(getattr(one, "rel", None), whole) for one in columns)


def _is_same_table(one: Any, other: Any) -> bool:
    """Whether two nodes are one table: one object, or one name in one connection, asked for twice alike."""
    if one is other:
        return True
    return all(type(node).__name__ == "DatabaseTable" for node in (one, other)) and bool(one == other)


def _overlap(some: list[Span], others: list[Span]) -> bool:
    """Whether one of some and one of the others have a byte in common."""
    marks = sorted([(*span, 0) for span in some] + [(*span, 1) for span in others])
    ends = [-1, -1]
    for start, end, side in marks:
        if start < ends[1 - side]:
            return True
        ends[side] = max(ends[side], end)
    return False


def _spans(value: Any) -> list[Span]:
    """Where the cells of a frame, a series or an array are; nothing where that cannot be told without copying them."""
    try:
        return [(start, end) for start, end in _buffers(value) if start < end]
    except Exception:  # another version of the library: the list is then taken for public, as a copy is
        return []


def _buffers(value: Any) -> Iterator[Span]:
    """Of arrow these are numbers, offsets and letters. Of a view array not the letters: a join shares these with a list
    that is public."""
    family, parts = family_of(value), list[Any]()
    if isinstance(value, np.ndarray):
        yield np.lib.array_utils.byte_bounds(value)
    elif "pandas" in family:
        columns = [value.iloc[:, n] for n in range(value.shape[1])] if value.ndim == 2 else [value]
        arrays = [getattr(column, "array", column) for column in columns]
        parts = [
            getattr(array, name, None) for array in arrays for name in ("_ndarray", "_data", "_codes", "_pa_array")
        ]
    elif "polars" in family:
        parts = value.get_columns() if hasattr(value, "get_columns") else _polars_chunks(value)
    elif "pyarrow" in family:
        if hasattr(value, "buffers"):
            yield from _arrow_buffers(value.indices if hasattr(value, "indices") else value)
        else:
            parts = value.chunks if hasattr(value, "chunks") else value.columns
    for part in parts:
        yield from _buffers(part)


def _polars_chunks(column: Any) -> list[Any]:
    import polars as pl

    if column.dtype.is_nested():
        return []
    chunks = column.to_physical().get_chunks()  # several at once would be copied
    return [chunk.to_arrow(compat_level=pl.CompatLevel.newest()) for chunk in chunks]


def _arrow_buffers(array: Any) -> Iterator[Span]:
    import pyarrow as pa

    views = str(array.type) in ("string_view", "binary_view")
    for buffer in [] if pa.types.is_nested(array.type) else array.buffers()[1 : 2 if views else None]:
        if buffer is not None:
            yield buffer.address, buffer.address + buffer.size


@dataclass(frozen=True, slots=True)
class TextForm:
    """What a caller says of how a text table is written; nothing of it is guessed from the rows."""

    multiline: bool = False
    separator: str | None = None

    @classmethod
    def of(cls, multiline: object = False, separator: object = None) -> TextForm:
        """Checked.

        Raises
        ------
        ValueError, TypeError
            naming the word.
        """
        if separator is not None and (not isinstance(separator, str) or len(separator) != 1):
            raise bad_type('$separator must be one letter, for example $separator=";"')
        if separator is not None and separator not in SEPARATORS:
            raise bad_value(f"$separator must be one of {', '.join(map(repr, SEPARATORS))}")
        return cls(check_flag("multiline", multiline), separator)

    def in_words(self, source: object) -> str:
        """A table for the record: a file by its name, its folder and how it is written, another table by its kind."""
        if not isinstance(source, str | os.PathLike):
            return f"a {type(source).__module__.partition('.')[0]} table"
        folder, name = os.path.split(os.path.abspath(os.fspath(source)))
        said = [] if self.separator is None else [f"separator {self.separator!r}"]
        said += ["quoted fields over several lines"] if self.multiline else []
        return ", ".join([f"{name} in {folder}", *said])


PLAIN = TextForm()
