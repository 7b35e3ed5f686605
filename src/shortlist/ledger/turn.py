"""One use of SQLite at a time, each from connecting to closing, which an interrupt may cut anywhere.

There is no lock of ours to be left held. Between processes and threads SQLite's own locks decide; whoever finds the
file locked closes it, sleeps for a moment and tries again, so a wait can be interrupted, holds nothing, and keeps
nobody else waiting. A fork waits for the turns that are running, some milliseconds: a child that inherits an open
transaction would take its parent's locks for its own.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from shortlist.ledger.errors import LedgerError, damaged

Found = TypeVar("Found")

WAIT = 600.0
"""Seconds to wait for another process before giving up with an error; one charge holds the lock for milliseconds."""
BRIEFLY = 0.02
"""Seconds that one try waits inside SQLite, deaf to interrupts: long enough for a writer to outlast readers."""
PAUSES = 0.001, 0.05
"""Seconds between two tries: at first, and at most."""
SETTINGS = "synchronous = EXTRA", "fullfsync = ON", "trusted_schema = OFF", "cell_size_check = ON"
"""Of every connection: a commit is on the disk, and so is the removal of its journal."""
LONGEST_ROW = 100_000_000
"""Bytes of one row or text: far beyond what is ever written; more is damage."""

_running: set[Turn] = set()
_forking: set[int] = set()
"""Threads that are about to fork. These are sets because one call of C adds or takes away: never half of it."""


class Turn:
    """The right to use SQLite, and the connection it is used for."""

    __slots__ = ("db", "inside", "process", "thread")

    def __init__(self) -> None:
        self.db: sqlite3.Connection | None = None
        self.inside = False
        self.process, self.thread = os.getpid(), threading.get_ident()

    def begin(self) -> None:
        """Wait for forks that are under way, then let none begin."""
        if any(turn.inside and turn.process != self.process for turn in tuple(_running)):
            raise LedgerError(
                "this process was forked in the middle of a ledger's transaction and cannot use ledgers: fork at "
                'another moment, or start processes by "spawn"'
            )
        while True:
            _running.add(self)  # before looking, as a fork marks itself before it looks: one of them sees the other
            if not _forking - {self.thread}:
                self.inside = True
                return
            _running.discard(self)
            time.sleep(PAUSES[0])

    def connect(self, path: str, mode: str) -> sqlite3.Connection:
        """Open a ledger's file, set to sync everything that is written."""
        uri = f"{Path(path).as_uri()}?mode={mode}"
        self.db = sqlite3.connect(uri, uri=True, timeout=BRIEFLY, isolation_level=None)
        self.db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_ROW)
        for setting in SETTINGS:
            self.db.execute(f"PRAGMA {setting}")
        return self.db

    def end(self) -> None:
        """Undo what is open, close, and let forks begin. Called once more, it does what was left undone."""
        if self.db is not None:
            if self.process != os.getpid():
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.db))  # closing would undo the parent's transaction
                return
            with suppress(sqlite3.Error):  # closing will do; or it is closed
                self.db.rollback()
            self.db.close()
        _running.discard(self)


def _wait_for_turns() -> None:
    """Before a fork: let no turn begin, nor another fork, and wait for those that are running.

    A fork in the middle of this thread's own turn cannot wait for it: its child will be refused by `begin`. What
    interrupts this is lost, as in all such hooks: the fork goes on, and its child may be refused too.
    """
    here = threading.get_ident()
    if any(turn.thread == here for turn in tuple(_running)):
        return
    while True:
        _forking.add(here)
        if _forking != {here}:
            _forking.discard(here)  # one fork at a time, for the hook after it clears all marks
        elif not any(turn.process == os.getpid() for turn in tuple(_running)):
            return
        time.sleep(PAUSES[0])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_turns, after_in_parent=_forking.clear, after_in_child=_forking.clear)


def in_transaction(
    path: str, work: Callable[[sqlite3.Connection], Found], *, write: bool = False, wait: float = WAIT
) -> Found:
    """What `work` finds or writes in one transaction; a write is synced to the disk when this returns.

    Raises
    ------
    LedgerError
        in one sentence, whatever is wrong with the file; the transaction then did not happen.
    """
    until, pause = time.monotonic() + wait, PAUSES[0]
    while True:
        try:
            return _tried(path, work, write)
        except sqlite3.Error as error:
            if not _name(error).startswith("SQLITE_BUSY") or time.monotonic() >= until:
                raise LedgerError(f"{path} {sqlite_meaning(error, wait)}") from None
        except OSError as error:
            raise unusable(path, error) from None
        except UnicodeDecodeError:
            raise damaged(path, "its text cannot be read") from None
        time.sleep(pause)
        pause = min(2 * pause, PAUSES[1])


def _tried(path: str, work: Callable[[sqlite3.Connection], Found], write: bool) -> Found:
    """All at once or nothing. A write locks out everybody from its beginning, so nothing waits in the middle of it.

    Rows are always fetched whole, in the expression that asks for them: a cursor that a kept traceback holds would
    keep the file locked.
    """
    turn = Turn()
    try:
        try:
            turn.begin()
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise LedgerError(f"{path} is not a file; give the path of a ledger's file")
            db = turn.connect(path, "rw")
            db.execute("BEGIN EXCLUSIVE" if write else "BEGIN")
            answer = work(db)
            if turn.process != os.getpid():
                raise LedgerError(f"{path} was in use when this process was forked; nothing was done here")
            db.execute("COMMIT")
            return answer
        finally:
            turn.end()
    finally:
        turn.end()  # the first one may have been interrupted


def unusable(path: str, error: OSError) -> LedgerError:
    """What the operating system's error means for the one who reads it."""
    if isinstance(error, FileNotFoundError):
        return LedgerError(
            f"{path} is not there; `shortlist ledger init` makes it, or Ledger(path, budget=...) in Python"
        )
    return LedgerError(f"{path} cannot be used: {error.strerror}")


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "")


def sqlite_meaning(error: sqlite3.Error, wait: float = BRIEFLY) -> str:
    """What SQLite's error means for the one who reads it."""
    meanings = {
        "SQLITE_NOTADB": "is not a ledger; give the path of one, or of a new file",
        "SQLITE_CORRUPT": "is damaged: it is not what was written; go on from a good copy whose head you know",
        "SQLITE_FULL": "cannot grow: the disk is full; make room and try again",
        "SQLITE_READONLY": "cannot be written; make the file and its folder writable",
        "SQLITE_CANTOPEN": (
            "cannot be opened: this user may not read and write it, or its folder; a new ledger is for its owner "
            "alone, who may share it with a group by chmod"
        ),
        "SQLITE_BUSY": f"has been locked by another process for {wait:g} seconds; see what that process is doing",
        "SQLITE_IOERR": "cannot be read or written: the disk gives an error, or a size limit is reached",
    }
    known = [text for start, text in meanings.items() if _name(error).startswith(start)]
    return known[0] if known else f"is damaged or no ledger ({_name(error) or type(error).__name__})"
