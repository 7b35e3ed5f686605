"""Files: written whole or not at all, tables in them, and names in SQL."""

from __future__ import annotations

import atexit
import contextlib
import datetime
import json
import os
import secrets
import shutil
import stat
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from shortlist._text import csv_table, json_line, spreadsheet_safe
from shortlist.errors import bad_type

with contextlib.suppress(OSError):
    tempfile.gettempdir()  # now: it tries a file of its own there, and while we are imported no signal comes between

OTHERS = (".csv", ".tsv", ".parquet", ".xlsx", ".html", ".png", ".svg", ".pdf")
"""Endings of what is no JSON."""
_MADE: dict[str, int] = {}
"""Drafts and temporary folders that may be there, and the process that makes them: a forked child leaves them alone."""


def write_whole(path: str, write: Callable[[str], None], *, private: bool = True) -> None:
    """Write a file as a whole: whoever looks finds what was there before or all of the new one, and nothing beside it.

    A file that is there keeps its mode, and a link is followed: the file it leads to is replaced. In a folder in which
    anybody may make files, such as /tmp, links and files of other users are refused. The name is on the disk when this
    returns.

    Parameters
    ----------
    path
        Where the file belongs.
    write
        Writes it, given the path of a draft in the same folder that ends as `path` does; the draft is there and empty.
    private
        Whether only its owner may read a new file (0600); otherwise its mode is the ordinary one.

    Raises
    ------
    OSError
        If the path is not a regular file, or another user planted it; whatever `write` raises. The old
        file is then as it was.
    """
    target = resolve_target(path)
    mode = stat.S_IMODE(os.stat(target).st_mode) if os.path.exists(target) else None
    folder, name = os.path.split(target)
    draft = os.path.join(folder, f".shortlist-{secrets.token_hex(8)}-{name[-32:]}")
    _note(draft)
    try:
        hidden = private or mode is not None
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if hidden else 0o666))
        write(draft)
        _sync(draft, os.O_RDWR)
        if mode is not None:
            os.chmod(draft, mode)
        os.replace(draft, target)
        with contextlib.suppress(OSError):  # not every system syncs folders
            _sync(folder, os.O_RDONLY)
    finally:
        remove(draft)  # it has its name by now, or must go


def write_text(path: str, text: str, *, private: bool = True) -> None:
    """`write_whole` for a text in UTF-8."""

    def write(draft: str) -> None:
        with open(draft, "w", encoding="utf-8", newline="") as file:
            file.write(text)

    write_whole(path, write, private=private)


def path_text(path: str | os.PathLike[str], example: str) -> str:
    """A path as text; `example` is what to write instead of something else."""
    if not isinstance(name := os.fspath(path), str):
        raise bad_type(f'$path must be text, for example "{example}"')
    return name


def json_path(path: str | os.PathLike[str], example: str) -> str:
    """A path for JSON as text; one whose ending says that it is something else is refused."""
    name = path_text(path, example)
    if name.lower().endswith(OTHERS):
        raise ValueError(
            f"save writes JSON, which load reads: write save({example!r}); a table is to_frame(), a page report(path)"
        )
    return name


def resolve_target(path: str) -> str:
    """The regular file to be replaced or made, links followed.

    Raises
    ------
    OSError
        If such a file cannot be made.
    """
    _check_planted(path)
    target = os.path.realpath(path)
    if os.path.islink(target):
        raise OSError(f"{path} is a link that leads back to itself; name the file that is meant")
    if not os.path.isdir(os.path.dirname(target)):
        raise FileNotFoundError(f"{path} cannot be written: its folder is not there; make that first")
    if os.path.lexists(target) and not os.path.isfile(target):
        raise OSError(f"{path} is no regular file; name one, or a new one")
    return target


MOST_LINKS = 40
"""Links on the way to one file; Linux follows as many."""


def _check_planted(path: str) -> None:
    """Refuse a path that leads over a link, or to a file, that another user made where anybody may make files.

    Such a link could lead to a file of ours, which would be replaced. Linux itself does not follow them in /tmp
    (`fs.protected_symlinks`), but it follows what `realpath` makes of them.
    """
    if not hasattr(os, "geteuid"):
        return
    here, rest, links = os.sep, os.path.join(os.getcwd(), path).split(os.sep)[::-1], 0
    while rest:
        part = rest.pop()
        if part == os.pardir:
            here = os.path.dirname(here)
        if part in ("", os.curdir, os.pardir):
            continue
        place = os.path.join(here, part)
        try:
            facts = os.lstat(place)
        except OSError:
            return  # it is not there, or not for us to see
        link = stat.S_ISLNK(facts.st_mode)
        if (link or not rest) and _is_planted(here, facts):
            what = "a link" if link else "a file"
            raise PermissionError(
                f"{path} leads to {what} that another user made in {here}, where anybody may make files; name a file "
                "in a folder of your own"
            )
        if not link:
            here = place
        elif (links := links + 1) > MOST_LINKS:
            return  # `realpath` finds out where it ends, if it does
        else:
            target = os.readlink(place)
            here = os.sep if os.path.isabs(target) else here
            rest += target.split(os.sep)[::-1]


def _is_planted(folder: str, facts: os.stat_result) -> bool:
    """Whether neither this user, nor root, nor the folder's owner made it, in a folder like /tmp."""
    over = os.stat(folder)
    shared = over.st_mode & stat.S_ISVTX and over.st_mode & stat.S_IWOTH
    return bool(shared) and facts.st_uid not in (os.geteuid(), 0, over.st_uid)


def _sync(path: str, how: int) -> None:
    handle = os.open(path, how)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def temporary_name(prefix: str = "shortlist-") -> str:
    """A path for a temporary file or folder that nobody has yet. Make it inside `try`, and `remove` it."""
    name = os.path.join(tempfile.gettempdir(), f"{prefix}{secrets.token_hex(8)}")
    _note(name)
    return name


def _note(path: str) -> None:
    """Note a path before it is made, so that `sweep` takes it away in the end."""
    if os.getpid() not in _MADE.values():
        _sweep_with_worker()
    _MADE[path] = os.getpid()


def _sweep_with_worker() -> None:
    """A worker of `multiprocessing` ends without `atexit`: it has a list of its own, which is run in its place."""
    process, util = sys.modules.get("multiprocessing.process"), sys.modules.get("multiprocessing.util")
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, sweep, exitpriority=0)


def spill_folder() -> str:
    """A path inside a folder that only this user may open, for an engine that makes the folder itself and removes it.

    There is one such folder in a process. An engine removes its own part without Python code, in which an interrupt
    could get lost; then `leave_spill_folder` takes the folder away.
    """
    key = tempfile.gettempdir(), os.getpid()
    with _spilling:
        if key not in SPILL_FOLDERS or not os.path.isdir(SPILL_FOLDERS[key]):
            SPILL_FOLDERS[key] = temporary_name()
            os.mkdir(SPILL_FOLDERS[key], 0o700)
        path = os.path.join(SPILL_FOLDERS[key], secrets.token_hex(8))
        _ENGINES[path] = None
    return path


def note_engine(path: str, engine: object) -> None:
    """Say which engine works at a path that `spill_folder` gave; None if it was not opened."""
    with _spilling:
        if engine is None:
            _ENGINES.pop(path, None)
        else:
            _ENGINES[path] = weakref.ref(engine)


def leave_spill_folder() -> None:
    """Take the folder of this process away if all its engines are gone: a worker may be ended by a signal later."""
    with _spilling:
        for path, engine in list(_ENGINES.items()):
            if engine is not None and engine() is None:
                del _ENGINES[path]
        in_use = set(map(os.path.dirname, _ENGINES))
        for key, folder in list(SPILL_FOLDERS.items()):
            if key[1] == os.getpid() and folder not in in_use:
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
                    del SPILL_FOLDERS[key]
                    _MADE.pop(folder, None)


def _renew_lock() -> None:
    """In a forked child, where the thread that held it does not go on."""
    global _spilling
    _spilling = threading.RLock()


SPILL_FOLDERS: dict[tuple[str, int], str] = {}
_ENGINES: dict[str, weakref.ref[Any] | None] = {}
"""The engines by their paths inside such folders; None for one that is being opened."""
_spilling = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def remove(path: str) -> None:
    """Take away a draft or a temporary folder, if it is there."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            os.unlink(path)
    if not os.path.lexists(path):
        _MADE.pop(path, None)


def sweep() -> None:
    """Take away all that this process made for a while and that is still there."""
    for path, process in list(_MADE.items()):
        if process == os.getpid():
            remove(path)


atexit.register(sweep)


def quote_name(column: str) -> str:
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


def unnest(cells: Iterable[object], kind: str, column: str) -> str:
    """A column of values: one text that holds them all as JSON, so that any character may be in them."""
    listed = literal(json.dumps([as_text(cell) for cell in cells]))
    expression = f"CAST(unnest(from_json({listed}, '[\"VARCHAR\"]')) AS {kind})"
    return f"{bytewise(expression) if kind == 'VARCHAR' else expression} AS {quote_name(column)}"


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
        write_text(metadata_path(path), _csvw_metadata(path, columns, note), private=private)


def metadata_path(path: str) -> str:
    """Where readers of "CSV on the Web" look for what belongs to a CSV file.

    >>> metadata_path("list.csv")
    'list.csv-metadata.json'
    """
    return f"{path}-metadata.json"


def _csvw_metadata(path: str, columns: dict[str, list[Any]], note: str) -> str:
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
        unnest(cells, _kind(cells), column) if cells else f"CAST(NULL AS VARCHAR) AS {quote_name(column)}"
        for column, cells in columns.items()
    ]
    some = "" if all(columns.values()) else " LIMIT 0"
    with duckdb.connect(":memory:") as connection:
        connection.execute(
            f"COPY (SELECT {', '.join(parts)}{some}) TO {literal(path)} (FORMAT parquet, USE_TMP_FILE false"
            f"{f', KV_METADATA {{shortlist: {literal(note)}}}' if note else ''})"
        )
