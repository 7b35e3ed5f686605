"""One use of SQLite at a time, each from connecting to closing, which an interrupt may cut anywhere.

There is no lock of ours to be left held. Between processes and threads SQLite's own locks decide; whoever finds the
file locked closes it, sleeps for a moment and tries again, so a wait can be interrupted, holds nothing, and keeps
nobody else waiting. A fork waits for the turns that are running, some milliseconds: a child that inherits an open
transaction would take its parent's locks for its own.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import sqlite3
import stat
import struct
import sys
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

HELD = errno.EAGAIN, errno.EACCES
"""How an operating system says that somebody else holds a lock."""

_working_locks: set[tuple[int, int]] = set()
"""Folders, by device and number, in which this process has seen a lock keep out another one."""
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


def check_locks(path: str) -> None:
    """Refuse a folder in which two can hold one lock, as on some network file systems: charges would be lost.

    Looked at once per process and folder, on Linux, on a file of its own beside the ledger. Elsewhere it would take a
    process of its own, since all locks of one process are one. Locks that hold on this machine alone are not found.

    Raises
    ------
    LedgerError
        saying so.
    """
    folder = os.path.dirname(os.path.realpath(path))
    try:
        facts = os.stat(folder)
        place = facts.st_dev, facts.st_ino
        works = place in _working_locks or _locks_work(folder)
    except OSError:
        return  # SQLite cannot write a journal there either, and what it says is told
    if not works:
        raise LedgerError(
            f"{path} cannot be written: locks do not work in its folder (two can hold one at once), so charges would "
            "be lost. Put the ledger on a local disk, or on a server (postgresql://...)"
        )
    _working_locks.add(place)


def _locks_work(folder: str) -> bool:
    """Whether a lock of SQLite's kind keeps out a lock of another open file. True where that cannot be told."""
    try:
        import fcntl
    except ImportError:
        return True
    if sys.platform != "linux" or not hasattr(fcntl, "F_OFD_SETLK"):
        return True
    name = os.path.join(folder, f".{secrets.token_hex(8)}.shortlist-lock")
    files: list[int] = []
    try:
        try:
            files.append(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            files.append(os.open(name, os.O_RDWR))
            os.unlink(name)
            return _keeps_out(*files)
        finally:
            _forget(name, files)
    finally:
        _forget(name, files)  # the first one may have been interrupted


def _keeps_out(first: int, second: int) -> bool:
    """Whether a lock on one open file refuses a lock on another one of the same name.

    The first lock is one of the process, which SQLite takes. The second is one of the open file, which the process's
    own locks refuse too.
    """
    import fcntl

    try:
        fcntl.lockf(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    try:
        fcntl.fcntl(second, fcntl.F_OFD_SETLK, struct.pack("@hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    except OSError as error:
        return error.errno in (*HELD, errno.EINVAL)  # EINVAL: this system has no locks of open files
    return False


def _forget(name: str, files: list[int]) -> None:
    while files:
        os.close(files.pop())
    with suppress(OSError):  # it went, or never came
        os.unlink(name)


def in_transaction(
    path: str, work: Callable[[sqlite3.Connection], Found], *, write: bool = False, wait: float = WAIT
) -> Found:
    """What `work` finds or writes in one transaction; a write is synced to the disk when this returns.

    Raises
    ------
    LedgerError
        in one sentence, whatever is wrong with the file; the transaction then did not happen.
    """
    if write:
        check_locks(path)
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
