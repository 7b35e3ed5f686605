"""Temporary files and folders, which go away whatever happens; and names and values in SQL."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import secrets
import shutil
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterable
from typing import Any

with contextlib.suppress(OSError):
    tempfile.gettempdir()  # now: it tries a file of its own there, and while we are imported no signal comes between

_MADE: dict[str, int] = {}
"""Drafts and temporary folders that may be there, and the process that makes them: a forked child leaves them alone."""


def temporary_name(prefix: str = "shortlist-") -> str:
    """A path for a temporary file or folder that nobody has yet. Make it inside `try`, and `remove` it."""
    name = os.path.join(tempfile.gettempdir(), f"{prefix}{secrets.token_hex(8)}")
    note_temporary(name)
    return name


def note_temporary(path: str) -> None:
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
