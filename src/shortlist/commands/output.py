"""What the commands show and write: text without tricks, files whole or not at all."""

from __future__ import annotations

import contextlib
import datetime
import os
import signal
import tempfile
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import typer

from shortlist._text import csv_table


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Ctrl-C, a hang-up or a termination end the command with one line and 128 + the signal, as shells expect.

    Nothing is left behind: what the body made temporarily is taken away like after any other error.
    """
    stopped_by = [signal.SIGINT]

    def stop(number: int, _frame: object) -> None:
        stopped_by.append(signal.Signals(number))
        raise KeyboardInterrupt

    before = {kind: signal.signal(kind, stop) for kind in STOPS} if _in_main_thread() else {}
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("shortlist: stopped", err=True)
        raise typer.Exit(128 + stopped_by[-1]) from None
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


STOPS = (signal.SIGTERM, signal.SIGHUP)


def _in_main_thread() -> bool:
    """Signals are handled there alone."""
    return threading.current_thread() is threading.main_thread()


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


def check_writable(option: str, path: str, endings: tuple[str, ...], kept: Iterable[str] = ()) -> None:
    """Refuse, before anything is read or charged, what could not be written afterwards, and the files to be `kept`."""
    if not path.lower().endswith(endings):
        raise typer.BadParameter(f"{option} must end in {' or '.join(endings)}: {path}")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder} is not there: {option} needs a folder to write to")
    if os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written")
    if any(_is_same(path, other) for other in kept):
        raise typer.BadParameter(
            f"{option} must be a file of its own, not one that the command reads or writes: {path}"
        )


def _is_same(path: str, other: str) -> bool:
    there = os.path.exists(path) and os.path.exists(other)
    return os.path.realpath(path) == os.path.realpath(other) or (there and os.path.samefile(path, other))


def write_table(path: str, columns: dict[str, list[Any]]) -> None:
    """The released table as CSV or parquet."""
    with whole_file(path) as draft:
        if path.lower().endswith(".csv"):
            with open(draft, "w", newline="", encoding="utf-8") as file:
                file.write(csv_table(columns))
        else:
            _write_parquet(draft, columns)


KINDS = {int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", datetime.date: "DATE"}


def _kind(cells: list[Any]) -> str:
    """The type of a column, as the table had it that was counted."""
    types = {type(cell) for cell in cells}
    found = KINDS.get(types.pop(), "VARCHAR") if len(types) == 1 else "VARCHAR"
    return "UBIGINT" if found == "BIGINT" and max(cells) >= 2**63 else found


def _write_parquet(path: str, columns: dict[str, list[Any]]) -> None:
    import duckdb

    from shortlist.tables.sql import name, text, unnested

    parts = [
        unnested(cells, _kind(cells), column) if cells else f"CAST(NULL AS VARCHAR) AS {name(column)}"
        for column, cells in columns.items()
    ]
    some = "" if all(columns.values()) else " LIMIT 0"
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"COPY (SELECT {', '.join(parts)}{some}) TO {text(path)} (FORMAT parquet)")
