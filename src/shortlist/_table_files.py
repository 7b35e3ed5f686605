"""A table in a file, CSV or parquet: whole or not at all."""

from __future__ import annotations

import datetime
import os
from typing import Any

from shortlist._files import write_text, write_whole
from shortlist._sql import literal, quoted, unnested
from shortlist._text import csv_table, json_line, spreadsheet_safe


def write_table(path: str, columns: dict[str, list[Any]], *, private: bool = True, note: str = "") -> None:
    """A table as CSV or parquet, for its owner alone if the file is new and `private`.

    The `note` goes into the metadata of parquet. CSV has no place for it, and a comment would be a row to most who read
    it: it goes into a file beside (`metadata_path`).
    """
    as_csv = path.lower().endswith(".csv")

    def write(draft: str) -> None:
        _write_csv(draft, columns) if as_csv else _write_parquet(draft, columns, note)

    write_whole(path, write, private=private)
    if as_csv and note:
        write_text(metadata_path(path), _described(path, columns, note), private=private)


def metadata_path(path: str) -> str:
    """Where readers of "CSV on the Web" look for what belongs to a CSV file.

    >>> metadata_path("list.csv")
    'list.csv-metadata.json'
    """
    return f"{path}-metadata.json"


def _described(path: str, columns: dict[str, list[Any]], note: str) -> str:
    words = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": os.path.basename(path),
        "dc:description": note,
        "tableSchema": {"columns": [{"titles": str(spreadsheet_safe(name))} for name in columns]},
    }
    return f"{json_line(words)}\n"


KINDS = {int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", datetime.date: "DATE"}


def _kind(cells: list[Any]) -> str:
    """The type of a column, as the table had it that was counted."""
    types = {type(cell) for cell in cells}
    kind = KINDS.get(types.pop(), "VARCHAR") if len(types) == 1 else "VARCHAR"
    return "UBIGINT" if kind == "BIGINT" and max(cells) >= 2**63 else kind


def _write_csv(path: str, columns: dict[str, list[Any]]) -> None:
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write(csv_table(columns))


def _write_parquet(path: str, columns: dict[str, list[Any]], note: str) -> None:
    import duckdb

    parts = [
        unnested(cells, _kind(cells), column) if cells else f"CAST(NULL AS VARCHAR) AS {quoted(column)}"
        for column, cells in columns.items()
    ]
    some = "" if all(columns.values()) else " LIMIT 0"
    with duckdb.connect(":memory:") as connection:
        connection.execute(
            f"COPY (SELECT {', '.join(parts)}{some}) TO {literal(path)} (FORMAT parquet, USE_TMP_FILE false"
            f"{f', KV_METADATA {{shortlist: {literal(note)}}}' if note else ''})"
        )
