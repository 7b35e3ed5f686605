"""Names and values in a statement for DuckDB, quoted and written here alone: nothing in a table is ever code."""

from __future__ import annotations

import json
from collections.abc import Iterable


def quoted(column: str) -> str:
    """A column's name in a statement."""
    return '"' + column.replace('"', '""') + '"'


def check_path(path: str) -> None:
    """Refuse, in words, a path that cannot stand in a statement: DuckDB takes UTF-8 alone.

    Raises
    ------
    ValueError
        for a path with bytes that are not UTF-8.
    """
    if any("\ud800" <= letter <= "\udfff" for letter in path):
        raise ValueError(f"{path}: the name of the file or of its folder is not UTF-8 text, so rename it")


def literal(value: str) -> str:
    """A text in a statement."""
    return "'" + value.replace("'", "''") + "'"


def as_text(part: object) -> str:
    """A value as text that every engine reads back."""
    return str(part).lower() if isinstance(part, bool) else str(part)


def bytewise(words: str) -> str:
    """Text that is equal only if its bytes are, whatever collation its column or connection has."""
    return f'{words} COLLATE "binary"'


def unnested(cells: Iterable[object], kind: str, column: str) -> str:
    """A column of values: one text that holds them all as JSON, so that any character may be in them."""
    listed = literal(json.dumps([as_text(cell) for cell in cells]))
    expression = f"CAST(unnest(from_json({listed}, '[\"VARCHAR\"]')) AS {kind})"
    return f"{bytewise(expression) if kind == 'VARCHAR' else expression} AS {quoted(column)}"
