"""What the commands show and write: text without tricks, files whole or not at all."""

from __future__ import annotations

import datetime
import os
import stat
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import typer

from shortlist._files import write_whole
from shortlist._sql import literal, quoted, unnested
from shortlist._text import csv_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_writable(option: str, path: str, endings: tuple[str, ...], inputs: Iterable[str] = ()) -> None:
    """Refuse, before anything is read or charged, what could not be written afterwards, and the files to be `kept`."""
    if not path.lower().endswith(endings):
        raise typer.BadParameter(f"{option} must end in {' or '.join(endings)}: {path}")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder} is not there: {option} needs a folder to write to")
    if not (_new_or_regular(path) and os.access(folder, os.W_OK)):
        raise PermissionError(f"{path} cannot be written")
    if any(_is_same(path, other) for other in inputs):
        raise typer.BadParameter(
            f"{option} must be a file of its own, not one that the command reads or writes: {path}"
        )


def _new_or_regular(path: str) -> bool:
    """Whether a file may be made or replaced there: no folder, device, pipe, circle of links or endless name."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _is_same(path: str, other: str) -> bool:
    there = os.path.exists(path) and os.path.exists(other)
    return os.path.realpath(path) == os.path.realpath(other) or (there and os.path.samefile(path, other))


def write_table(path: str, columns: dict[str, list[Any]], *, private: bool = True, note: str = "") -> None:
    """A table as CSV or parquet, for its owner alone if the file is new and `private`.

    The `note` goes into the metadata of parquet; CSV has no place for it.
    """

    def write(draft: str) -> None:
        _write_csv(draft, columns) if path.lower().endswith(".csv") else _write_parquet(draft, columns, note)

    write_whole(path, write, private=private)


def write_picture(path: str, figure: Figure, *, dpi: int, private: bool = True) -> None:
    """A picture, in the format that the path ends in."""
    write_whole(path, lambda draft: figure.savefig(draft, dpi=dpi), private=private)


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
