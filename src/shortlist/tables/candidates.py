"""The public list of candidates, in whatever form it comes: as rows of Python values, or left in its engine."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from shortlist._runtime import IMPORTS
from shortlist.errors import Text, bad_value
from shortlist.tables.column_types import Kind, Row, check_texts, fitted
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.file_sources import rows_of_file

ENGINES = {"duckdb", "_duckdb", "ibis", "pyspark"}
UNREAD = "the candidates cannot be read"
WRONG = Text("$candidates must be a list, a series, a frame, a path or a query that gives the item columns")


def known_rows(candidates: Any, items: tuple[str, ...], kinds: list[Kind], written: Collection[str] = ()) -> list[Row]:
    """One tuple per distinct candidate, in the kinds of the item columns and in the order given.

    The list is public, so its errors may depend on it. `written` are columns of text whatever it looks like.
    """
    family = {kind.__module__.partition(".")[0] for kind in type(candidates).__mro__}
    if isinstance(candidates, str | os.PathLike):
        rows = rows_of_file(os.fspath(candidates), items)
    elif family & {"duckdb", "_duckdb"}:
        rows = in_one_sentence(UNREAD, lambda: candidates.select(*(_column(name) for name in items)).fetchall())
    elif family & {"pandas", "polars", "pyarrow"}:
        rows = _rows_of_frame(candidates, items)
    elif isinstance(candidates, Mapping | bytes) or not isinstance(candidates, Iterable):
        raise TypeError(WRONG)
    else:
        plain = candidates.tolist() if hasattr(candidates, "tolist") else candidates
        rows = [_row(one, len(items)) for one in plain]
    rows = _checked(rows)
    check_texts("candidates", "item", items, kinds, written, rows)
    return fitted(rows, kinds)


def listed_in_words(candidates: Any, items: tuple[str, ...]) -> str:
    """A public list for the record: by a hash of what is in it, in any order; a query of an engine by its kind."""
    if candidates is None:
        return ""
    family = {kind.__module__.partition(".")[0] for kind in type(candidates).__mro__}
    if isinstance(candidates, Mapping):
        lists = sorted(f"{key!r}: {listed_in_words(one, items)}" for key, one in candidates.items())
        return f"candidates of {len(lists):,} groups of sha256 {_digest(lists)}"
    if isinstance(candidates, str | os.PathLike):
        rows = rows_of_file(os.fspath(candidates), items)
    elif family & ENGINES:
        return f"candidates by a query of {min(family & ENGINES).removeprefix('_')}"
    elif family & {"pandas", "polars", "pyarrow"}:
        rows = _rows_of_frame(candidates, items)
    else:
        plain = candidates.tolist() if hasattr(candidates, "tolist") else candidates
        rows = [_row(one, len(items)) for one in plain]
    lines = sorted({repr(row) for row in rows})
    return f"{len(lines):,} candidates of sha256 {_digest(lines)}"


def _digest(lines: list[str]) -> str:
    """SHA-256 of the lines, each with its end."""
    whole = hashlib.sha256()
    for line in lines:
        whole.update(f"{line}\n".encode(errors="backslashreplace"))
    return whole.hexdigest()


def _column(name: str) -> Any:
    with IMPORTS:
        import duckdb

    return duckdb.ColumnExpression(name)


def _rows_of_frame(candidates: Any, items: tuple[str, ...]) -> list[Row]:
    with IMPORTS:
        import narwhals as nw

    native = nw.from_native(candidates, allow_series=True, pass_through=True)
    if isinstance(native, nw.LazyFrame):
        native = in_one_sentence(UNREAD, native.collect)
    if not isinstance(native, nw.DataFrame):  # a series, a pandas index, an arrow array
        made = native.to_list if isinstance(native, nw.Series) else getattr(candidates, "to_pylist", None)
        return [_row(one, len(items)) for one in in_one_sentence(UNREAD, made or candidates.tolist)]
    if any(name not in native.columns for name in items):
        raise bad_value("$candidates: the frame must have the item columns, by the same names")
    frame = native.select(*items)
    return in_one_sentence(UNREAD, lambda: list(frame.iter_rows()))


def _row(one: Any, width: int) -> Row:
    if width == 1:
        return (one,)
    if not isinstance(one, tuple | list) or len(one) != width:
        raise bad_value(f"$candidates must be tuples of {width}: one part for each item column")
    return tuple(one)


def _checked(rows: list[Row]) -> list[Row]:
    if not rows:
        raise bad_value("$candidates must not be empty: there is nothing to choose from")
    if any(part is None for row in rows for part in row):
        raise bad_value("$candidates must not be missing; drop the empty ones")
    return rows
