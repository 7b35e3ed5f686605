"""What the commands show and write: text without tricks, files whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import typer


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Ctrl-C ends the command with one line and 130, as shells expect."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("shortlist: stopped", err=True)
        raise typer.Exit(130) from None


def printable(text: str) -> str:
    """Without the characters that would move a terminal's cursor or colour it."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[str]:
    """A path to write to, which takes its place only when all is written, whatever happens meanwhile."""
    folder, name = os.path.split(os.path.abspath(path))
    handle, draft = tempfile.mkstemp(prefix=".shortlist-", suffix=name[-32:], dir=folder)
    os.close(handle)
    try:
        yield draft
        with open(draft, "rb") as written:
            os.fsync(written.fileno())
        os.chmod(draft, 0o666 & ~_umask())
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def check_writable(option: str, path: str, endings: tuple[str, ...]) -> None:
    """Refuse, before anything is read or charged, what could not be written afterwards."""
    if not path.lower().endswith(endings):
        raise typer.BadParameter(f"{option} must end in {' or '.join(endings)}: {path}")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder} is not there: {option} needs a folder to write to")
    if os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written")


def write_table(path: str, columns: dict[str, list[Any]]) -> None:
    """The released table as CSV or parquet."""
    with whole_file(path) as draft:
        if path.lower().endswith(".csv"):
            with open(draft, "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(columns)
                writer.writerows(zip(*columns.values(), strict=True))
        else:
            _write_parquet(draft, columns)


def _write_parquet(path: str, columns: dict[str, list[Any]]) -> None:
    import duckdb

    from shortlist.tables.sql import name, text, unnested

    kinds = {int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN"}
    parts = []
    for column, cells in columns.items():
        types = {type(cell) for cell in cells}
        kind = kinds.get(types.pop(), "VARCHAR") if len(types) == 1 else "VARCHAR"
        parts.append(unnested(cells, kind, column) if cells else f"CAST(NULL AS VARCHAR) AS {name(column)}")
    some = "" if all(columns.values()) else " LIMIT 0"
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"COPY (SELECT {', '.join(parts)}{some}) TO {text(path)} (FORMAT parquet)")
