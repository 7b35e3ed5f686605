"""A ledger in a file."""

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
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from shortlist._runtime import version
from shortlist.errors import Text, bad_value
from shortlist.ledger import chain
from shortlist.ledger.chain import MISTAKES, NAMES, LedgerEntry, LedgerError, Origin, entry_of, now, user_name
from shortlist.ledger.filter import RELATIONS, STATED, ZERO, Amounts, State, Terms, admit

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
_running: set[SqliteSession] = set()
_forking: set[int] = set()
"""Threads that are about to fork. These are sets because one call of C adds or takes away: never half of it."""


class SqliteSession:
    """The right to use SQLite, and the connection it is used for."""

    __slots__ = ("db", "inside", "process", "thread")

    def __init__(self) -> None:
        self.db: sqlite3.Connection | None = None
        self.inside = False
        self.process, self.thread = os.getpid(), threading.get_ident()

    def begin(self) -> None:
        """Wait for forks that are under way, then let none begin."""
        if any(session.inside and session.process != self.process for session in tuple(_running)):
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


def _wait_for_sessions() -> None:
    """Before a fork: let no session begin, nor another fork, and wait for those that are running.

    A fork in the middle of this thread's own session cannot wait for it: its child will be refused by `begin`. What
    interrupts this is lost, as in all such hooks: the fork goes on, and its child may be refused too.
    """
    here = threading.get_ident()
    if any(session.thread == here for session in tuple(_running)):
        return
    while True:
        _forking.add(here)
        if _forking != {here}:
            _forking.discard(here)  # one fork at a time, for the hook after it clears all marks
        elif not any(session.process == os.getpid() for session in tuple(_running)):
            return
        time.sleep(PAUSES[0])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_sessions, after_in_parent=_forking.clear, after_in_child=_forking.clear)


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
    path: str, work: Callable[[sqlite3.Connection], chain.Found], *, write: bool = False, wait: float = chain.WAIT
) -> chain.Found:
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
            return _try_once(path, work, write)
        except sqlite3.Error as error:
            if not _name(error).startswith("SQLITE_BUSY") or time.monotonic() >= until:
                raise LedgerError(f"{path} {sqlite_meaning(error, wait)}") from None
        except OSError as error:
            raise unusable(path, error) from None
        except UnicodeDecodeError:
            raise chain.damage_error(path, "its text cannot be read") from None
        time.sleep(pause)
        pause = min(2 * pause, PAUSES[1])


def _try_once(path: str, work: Callable[[sqlite3.Connection], chain.Found], write: bool) -> chain.Found:
    """All at once or nothing. A write locks out everybody from its beginning, so nothing waits in the middle of it.

    Rows are always fetched whole, in the expression that asks for them: a cursor that a kept traceback holds would
    keep the file locked.
    """
    session = SqliteSession()
    try:
        try:
            session.begin()
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise LedgerError(f"{path} is not a file; give the path of a ledger's file")
            db = session.connect(path, "rw")
            db.execute("BEGIN EXCLUSIVE" if write else "BEGIN")
            answer = work(db)
            if session.process != os.getpid():
                raise LedgerError(f"{path} was in use when this process was forked; nothing was done here")
            db.execute("COMMIT")
            return answer
        finally:
            session.end()
    finally:
        session.end()  # the first one may have been interrupted


def unusable(path: str, error: OSError) -> LedgerError:
    """What the operating system's error means for the one who reads it."""
    if isinstance(error, FileNotFoundError):
        words = f"{path} is not there; `shortlist ledger init` makes it$<, or Ledger(path, budget=...) in Python>"
        return LedgerError(Text(words))
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
        "SQLITE_CANTOPEN": "cannot be opened: this user may not read and write it, or its folder; a new ledger is for "
        "its owner alone, who may share it with a group by chmod",
        "SQLITE_BUSY": f"has been locked by another process for {wait:g} seconds; see what that process is doing",
        "SQLITE_IOERR": "cannot be read or written: the disk gives an error, or a size limit is reached",
    }
    known = [text for start, text in meanings.items() if _name(error).startswith(start)]
    return known[0] if known else f"is damaged or no ledger ({_name(error) or type(error).__name__})"


APPLICATION = 0x73686C74
"""Marks the file as ours: "shlt" in the header field that SQLite keeps for this."""
SCHEMA = 6
"""What is written: one neighboring relation is kept to, in `neighbors`. Files of schema 1, which have no `facts`, of
schema 2, whose requests state no cost, and of schema 4, which has no `neighbors`, are read as they are and become this
one at their first write. Versions that would add up both relations refuse the file from then on, in words."""

CLOSED = 7
"""What a closed ledger says it is, with the same tables: versions that know of no closing refuse it in words."""
CLOSED_BEFORE = (3, 5)
"""The same, of schemas 2 and 4."""

INDEX = "sqlite_autoindex_entries_1"
"""What SQLite made of "UNIQUE": it has a place for every entry, so it tells how many there must be."""

_GROWS = "BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END"


def _describe_table(name: str, columns: str, reason: str = _GROWS) -> dict[tuple[str, str, str], str]:
    """Return the statements that make a table whose rows stay, by (type, name, table), word for word as in the file."""
    return {
        ("table", name, name): f"CREATE TABLE {name} ({columns})",
        ("trigger", f"{name}_stay", name): f"CREATE TRIGGER {name}_stay BEFORE UPDATE ON {name} {reason}",
        ("trigger", f"{name}_remain", name): f"CREATE TRIGGER {name}_remain BEFORE DELETE ON {name} {reason}",
    }


_ENTRIES = """
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, time TEXT NOT NULL, mechanism TEXT NOT NULL,
    guarantee TEXT NOT NULL, purpose TEXT NOT NULL, unit TEXT NOT NULL, version TEXT NOT NULL,
    refundable TEXT NOT NULL, refund_of INTEGER UNIQUE,
    epsilon TEXT, curve TEXT, delta TEXT NOT NULL,
    total_epsilon TEXT, total_curve TEXT, total_delta TEXT NOT NULL,
    hash TEXT NOT NULL
"""
_FIXED = "BEGIN SELECT RAISE(ABORT, 'terms are fixed'); END"
_OBJECTS = _describe_table("terms", "content TEXT NOT NULL", _FIXED) | _describe_table("entries", _ENTRIES)
"""Word for word as 0.1.0 wrote it: a file with anything else in it is not believed."""
_ADDED = _describe_table(
    "facts", "\n    number INTEGER PRIMARY KEY, who TEXT NOT NULL, source TEXT NOT NULL, request INTEGER\n"
)
"""What schema 2 has beside that: who asked, which table and columns, and which request an entry belongs to."""
_NEIGHBORS = _describe_table("neighbors", "\n    number INTEGER PRIMARY KEY, relation TEXT NOT NULL\n")
"""What schema 6 has beside that: the first charge that states a neighboring relation, and which."""
_ENDING = "substr(CAST(unit AS BLOB), -{}) = CAST('{}' AS BLOB)"
_RELATION = " ".join(
    f"WHEN {_ENDING.format(len(words), words.replace(chr(39), 2 * chr(39)))} THEN '{relation}'"
    for words, relation in STATED.items()
)
_FIRST = f"""(SELECT number, relation FROM (SELECT number, kind, CASE {_RELATION} END AS relation FROM entries)
    WHERE kind = 'charge' AND relation IS NOT NULL ORDER BY number LIMIT 1)"""
"""The same, looked for in the entries. A text ends where it ends, and not at a zero byte, where SQLite would end it."""


def _schema_rows(*tables: Mapping[tuple[str, str, str], str]) -> set[tuple[str | None, ...]]:
    rows: set[tuple[str | None, ...]] = {(*key, statement) for table in tables for key, statement in table.items()}
    return rows | {("index", INDEX, "entries", None)}


_SCHEMA_ROWS = {
    1: _schema_rows(_OBJECTS),
    **dict.fromkeys((2, 4, *CLOSED_BEFORE), _schema_rows(_OBJECTS, _ADDED)),
    **dict.fromkeys((SCHEMA, CLOSED), _schema_rows(_OBJECTS, _ADDED, _NEIGHBORS)),
}
_SETTINGS = {"journal_mode": "delete", "encoding": "UTF-8", "auto_vacuum": 0, "freelist_count": 0}


def check_schema(db: sqlite3.Connection, path: str) -> None:
    """Refuse a file that is not a ledger of a schema that is known, or whose tables are not those of its schema.

    Raises
    ------
    LedgerError
        saying which.
    """
    if _setting(db, "application_id") != APPLICATION:
        raise LedgerError(f"{path} is not a ledger; give the path of one, or of a new file")
    if (schema := schema_of(db)) not in _SCHEMA_ROWS:
        if schema > CLOSED:
            raise LedgerError(f"{path} was written by a newer version of shortlist; upgrade to use it")
        raise chain.damage_error(path, "no version of shortlist wrote its version number")
    for name, expected in _SETTINGS.items():
        if (setting := _setting(db, name)) != expected:
            raise chain.damage_error(path, f"its {name} is {setting}, not {expected} as it was made")
    rows = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    if len(rows) != len(_SCHEMA_ROWS[schema]) or set(rows) != _SCHEMA_ROWS[schema]:
        raise chain.damage_error(path, "its tables are not as they were made")


def schema_of(db: sqlite3.Connection) -> int:
    """The number of the file's schema, as it says."""
    return int(_setting(db, "user_version"))


def upgrade(db: sqlite3.Connection) -> None:
    """Give an older file what it lacks, in the transaction of its first write. No row is touched."""
    if (schema := schema_of(db)) < SCHEMA:
        for statement in ((_ADDED if schema == 1 else {}) | _NEIGHBORS).values():
            db.execute(statement)
        db.execute(f"INSERT INTO neighbors SELECT number, relation FROM {_FIRST}")
        db.execute(f"PRAGMA user_version = {SCHEMA}")


def _setting(db: sqlite3.Connection, name: str) -> Any:
    return db.execute(f"PRAGMA {name}").fetchall()[0][0]


def make(path: str, terms: Terms) -> None:
    """Make the file, whole or not at all: built beside its place and then given its name, unless that is taken.

    A journal that an older file of that name left behind would be played into the new one, so it must go first.
    """
    for left in (f"{path}-journal", f"{path}-wal"):
        if os.path.lexists(left) and not os.path.lexists(path):
            raise LedgerError(f"{left} was left by a ledger that is gone; put that ledger back or remove this file too")
    check_locks(path)
    beside, session = f"{path}.{secrets.token_hex(8)}.new", SqliteSession()
    try:
        try:
            session.begin()
            _build(session, beside, terms)
            with suppress(FileExistsError):
                os.link(beside, path)
            _sync_folder(path)
        finally:
            _clear_away(session, beside)
    except sqlite3.Error as error:
        raise LedgerError(f"{path} {sqlite_meaning(error)}") from None
    except FileNotFoundError:
        raise LedgerError(f"{path} cannot be opened: its folder is not there, or was taken away") from None
    except OSError as error:
        raise unusable(path, error) from None
    finally:
        _clear_away(session, beside)  # the first one may have been interrupted


def _build(session: SqliteSession, path: str, terms: Terms) -> None:
    """A new ledger in a new file, for its owner's eyes alone."""
    open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)).close()
    db = session.connect(path, "rw")
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {SCHEMA}")
    db.execute("BEGIN EXCLUSIVE")
    for statement in (_OBJECTS | _ADDED | _NEIGHBORS).values():
        db.execute(statement)
    db.execute("INSERT INTO terms VALUES (?)", (chain.new_terms(terms),))
    db.execute("COMMIT")
    db.close()


def _clear_away(session: SqliteSession, beside: str) -> None:
    session.end()
    with suppress(OSError):  # it is not there, or no such name can be: what went wrong first is told
        os.unlink(beside)


def _sync_folder(path: str) -> None:
    """Make a new name last."""
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


_ROWS = {
    1: f"SELECT {', '.join(NAMES)}, NULL, NULL, NULL FROM entries",
    2: f"SELECT {', '.join((*NAMES, *chain.FACTS))} FROM entries LEFT JOIN facts USING (number)",
}
"""By schema; what is not there is as in 2."""


def read_content(db: sqlite3.Connection, path: str) -> str:
    """The terms as they are hashed."""
    rows = db.execute("SELECT content FROM terms LIMIT 2").fetchall()
    if len(rows) != 1 or not isinstance(rows[0][0], str) or len(rows[0][0]) > chain.LONGEST_TERMS:
        raise chain.damage_error(path, "its terms cannot be read")
    return rows[0][0]


def read_state(db: sqlite3.Connection, origin: Origin, path: str) -> State:
    """Where the file stands: its last entry, if that follows from the one before it, and the first from the terms.

    The index must have as many entries as there are, so that damage which hides the last ones is found.
    """
    rows, schema = read(db, path, "ORDER BY number DESC LIMIT 2"), schema_of(db)
    ((many, refunds),) = db.execute(f"SELECT count(*), count(refund_of) FROM entries INDEXED BY {INDEX}").fetchall()
    more_facts = "SELECT 1 FROM facts WHERE number > ? OR number < 1 LIMIT 1"
    if many != (rows[0].number if rows else 0) or (schema > 1 and db.execute(more_facts, (many,)).fetchall()):
        raise chain.damage_error(path, "entries are missing")
    if (schema in (*CLOSED_BEFORE, CLOSED)) != any(row.kind in chain.CLOSING for row in rows[:1]):
        raise chain.damage_error(path, "whether it was closed is not what its version number says")
    if not rows:
        return origin.start
    last, charges = rows[0], many - refunds
    if origin.terms.approval or last.kind in chain.CLOSING:
        ((charges,),) = db.execute("SELECT count(*) FROM entries WHERE kind = 'charge'").fetchall()
    if last.refund_of is not None:
        rows += read(db, path, "WHERE number = ?", last.refund_of)
    ends = {row.number: row for row in (*rows, *read(db, path, "WHERE number = 1"))}
    neighbors = "" if last.kind in chain.CLOSING else _neighbors(db, path)
    return origin.state_at_end(ends, charges, path, neighbors)


def _neighbors(db: sqlite3.Connection, path: str) -> str:
    """The neighboring relation of the first charge that states one; "" if none does."""
    table = "neighbors" if schema_of(db) >= SCHEMA else _FIRST
    rows = db.execute(f"SELECT relation FROM {table} LIMIT 2").fetchall()
    if len(rows) > 1 or any(relation not in RELATIONS for (relation,) in rows):
        raise chain.damage_error(path, "the neighboring relation that it keeps to cannot be read")
    return rows[0][0] if rows else ""


def holds(db: sqlite3.Connection, state: State) -> bool:
    """Whether the file has the very entry after which it stood so."""
    return db.execute("SELECT hash FROM entries WHERE number = ?", (state.number,)).fetchall() == [(state.head,)]


def read(db: sqlite3.Connection, path: str, which: str, *parameters: object) -> list[LedgerEntry]:
    """The entries that an SQL clause picks.

    Raises
    ------
    LedgerError
        if one of them is not what a ledger writes.
    """
    return [entry_of(row, path) for row in db.execute(f"{_ROWS[min(schema_of(db), 2)]} {which}", parameters).fetchall()]


def append(db: sqlite3.Connection, before: State, amounts: Amounts, total: Amounts, **said: Any) -> State:
    """Write the entry after `before`, by whoever runs this, and return where the ledger then stands."""
    upgrade(db)
    texts: dict[str, Any] = dict(zip(NAMES[10:16], (*amounts.as_text(), *total.as_text()), strict=True))
    facts: dict[str, Any] = {"source": "", **said, "who": user_name()}
    entry = LedgerEntry(number=before.number + 1, time=now(), version=version(), **texts, **facts)
    head = entry.chain_hash(before.head)
    marks = ", ".join("?" * len(NAMES))
    db.execute(f"INSERT INTO entries VALUES ({marks})", (*entry.columns()[:-1], head))
    db.execute("INSERT INTO facts VALUES (?, ?, ?, ?)", (entry.number, *(getattr(entry, name) for name in chain.FACTS)))
    if entry.relation and not before.neighbors:
        db.execute("INSERT INTO neighbors VALUES (?, ?)", (entry.number, entry.relation))
    if entry.kind in chain.CLOSING:
        db.execute(f"PRAGMA user_version = {CLOSED}")
    return chain.state_after(replace(entry, hash=head), before.charges + (entry.kind == "charge"), before.neighbors)


def request_for(db: sqlite3.Connection, path: str, said: Mapping[str, str], cost: Amounts) -> int | None:
    """A request of this user, word for word the same, for no less, that is not used up; None if there is none.

    One that was approved, if there is, and the newest of them. Requests of schema 2 state no cost, so they cover none.
    """
    same = " AND ".join(f"{name} = ?" for name in (*chain.WORDS, "who"))
    words = (*(said[name] for name in chain.WORDS), user_name())
    entries = read(db, path, f"WHERE kind = 'request' AND {same} ORDER BY number DESC", *words)
    kinds = {entry.number: _kinds_of(db, entry.number) for entry in entries if cost.within(entry.amounts)}
    unused = [number for number, entered in kinds.items() if "charge" not in entered]
    ready = [number for number in unused if "approval" in kinds[number]]  # an unfinished generator loses interrupts
    return next(iter((*ready, *unused)), None)


def _kinds_of(db: sqlite3.Connection, request: int) -> set[str]:
    """What kinds of entries belong to a request."""
    query = "SELECT kind FROM entries JOIN facts USING (number) WHERE facts.number > ? AND facts.request = ?"
    return {kind for (kind,) in db.execute(query, (request, request)).fetchall()}


class SqliteStore(chain.Store[Connection]):
    """Reads and writes a file, each in one transaction in which the file is checked first."""

    __slots__ = ()

    def __init__(self, path: str, wait: float) -> None:
        self.path, self.name, self.wait, self.tried = path, os.path.basename(path), wait, None
        self.origin, self.seen = in_transaction(path, self._first_look, wait=wait)

    def find(self, token: str) -> LedgerEntry | None:
        """The entry with this hash."""
        rows = self._read(lambda db, _: read(db, self.path, "WHERE hash = ?", token))
        return rows[0] if rows else None

    def content(self) -> str:
        """The terms as they are hashed."""
        return self._read(lambda db, _: read_content(db, self.path))

    def check_whole(self) -> None:
        """Raise if SQLite finds the file's pages out of order."""
        if self._read(lambda db, _: db.execute("PRAGMA integrity_check(1)").fetchall()) != [("ok",)]:
            raise chain.damage_error(self.path, "its pages are not in order")

    def _read(self, work: Callable[[Connection, State], chain.Found]) -> chain.Found:
        return in_transaction(self.path, lambda db: work(db, self._check(db)), wait=self.wait)

    def _write(self, work: chain.Write[Connection], *, number: int = 0, closed: bool = False) -> State:
        def write(db: Connection) -> State:
            before = self._check(db)
            if not closed:
                chain.check_open(self.path, before)
            return work(db, before)

        after = in_transaction(self.path, write, write=True, wait=self.wait)
        self.seen = after  # what is returned is this call's own: another thread may write `seen` before it is read
        return after

    def _rows(self, db: Connection, first: int, last: int) -> list[LedgerEntry]:
        return read(db, self.path, "WHERE number BETWEEN ? AND ? ORDER BY number", first, last)

    def _charge(self, db: Connection, before: State, cost: Amounts, said: chain.Words) -> chain.Charged:
        """Write a charge; in a ledger with approval its request, if there is none that was approved."""
        terms, request = self.origin.terms, None
        if terms.approval:
            price = cost.where(terms.limits)
            request = request_for(db, self.path, said, price)
            if request is None:
                after = append(db, before, price, before.total, kind="request", refund_of=None, **said)
                return after, after.number
            if "approval" not in _kinds_of(db, request):
                return before, request
        after = append(db, before, *admit(terms, before, cost), kind="charge", refund_of=None, request=request, **said)
        self.tried = after.head
        return after, None

    def _refund(self, db: Connection, before: State, charge: LedgerEntry, back: Amounts, said: str) -> State:
        later = "WHERE number > ? AND +refund_of = ?"  # the plus reads the rows, not an index that may be damaged
        if read(db, self.path, later, charge.number, charge.number):
            raise ValueError(MISTAKES["SL006"])
        if not (back.epsilon or back.curve):
            return before
        noted: dict[str, Any] = {name: getattr(charge, name) or "" for name in chain.WORDS}
        noted |= {"kind": "refund", "guarantee": said, "refundable": "", "refund_of": charge.number}
        return append(db, before, back, (before.total - back).where(self.origin.terms.limits), **noted)

    def _approve(self, db: Connection, before: State, request: int) -> State:
        rows = self._rows(db, request, request)
        if not rows or rows[0].kind != "request":
            raise bad_value(MISTAKES["SL008"])
        if "approval" in _kinds_of(db, request):
            raise ValueError(MISTAKES["SL009"].format(number=request))
        if rows[0].who == user_name():
            raise ValueError(MISTAKES["SL010"].format(number=request))
        texts: dict[str, Any] = {name: getattr(rows[0], name) for name in chain.WORDS if name != "refundable"}
        noted: dict[str, Any] = {"kind": "approval", "refundable": "", "refund_of": None, "request": request}
        return append(db, before, ZERO, before.total, **texts, **noted)

    def _close(self, db: Connection, before: State, kind: str, reason: str, target: str) -> State:
        """An older version refuses the file from then on."""
        noted: dict[str, Any] = {**dict.fromkeys(chain.WORDS, ""), "purpose": reason, "source": target}
        return append(db, before, ZERO, before.total, kind=kind, refund_of=None, **noted)

    def _first_look(self, db: Connection) -> tuple[Origin, State]:
        check_schema(db, self.path)
        origin = Origin.of(read_content(db, self.path), self.path)
        return origin, read_state(db, origin, self.path)

    def _check(self, db: Connection) -> State:
        """Where the file stands, if it is still the one that was opened and has not gone back since."""
        seen = self.seen
        check_schema(db, self.path)
        same = chain.digest(read_content(db, self.path)) == self.origin.hash
        self._check_same(same, not seen.number or holds(db, seen))
        self.seen = state = read_state(db, self.origin, self.path)
        return state
