"""The ledger's file: an SQLite database of hash-chained rows, each with the running sums after it.

The state of a ledger is its last row, so opening and admitting do not depend on how many rows there are. A connection
lives for one transaction: nothing is held open between calls, so threads, forked children and pickled copies may
share a ledger. Never open the file by other means in a process that uses it: closing it would drop SQLite's locks.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

from shortlist.privacy.filter import ZERO, Amounts
from shortlist.privacy.terms import Terms

APPLICATION = 0x73686C74
"""Marks the file as ours: "shlt" in the header field that SQLite keeps for this."""
SCHEMA = 1
PATIENCE = 600.0
"""Seconds to wait for another process before giving up with an error; one charge holds the lock for milliseconds."""

_TABLES = """
CREATE TABLE terms (content TEXT NOT NULL);
CREATE TABLE entries (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, time TEXT NOT NULL, mechanism TEXT NOT NULL,
    guarantee TEXT NOT NULL, purpose TEXT NOT NULL, unit TEXT NOT NULL, version TEXT NOT NULL,
    refundable TEXT NOT NULL, refund_of INTEGER UNIQUE,
    epsilon TEXT, curve TEXT, delta TEXT NOT NULL,
    total_epsilon TEXT, total_curve TEXT, total_delta TEXT NOT NULL,
    hash TEXT NOT NULL
);
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END;
CREATE TRIGGER entries_remain BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END;
CREATE TRIGGER terms_stay BEFORE UPDATE ON terms BEGIN SELECT RAISE(ABORT, 'terms are fixed'); END;
CREATE TRIGGER terms_remain BEFORE DELETE ON terms BEGIN SELECT RAISE(ABORT, 'terms are fixed'); END;
"""

_turn = threading.Lock()
"""One transaction at a time in a process, and none while it forks: a child must not inherit SQLite's locks."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_turn.acquire, after_in_parent=_turn.release, after_in_child=_turn.release)


class LedgerError(Exception):
    """The file cannot be used: it is missing, damaged, locked, full, or no ledger. Nothing was booked or looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row, as it stands in the file: exact numbers as text, times in UTC, sums after the entry."""

    number: int
    kind: Literal["charge", "refund"]
    time: str
    mechanism: str
    guarantee: str
    purpose: str
    unit: str
    version: str
    refundable: str
    refund_of: int | None
    epsilon: str | None
    curve: str | None
    delta: str
    total_epsilon: str | None
    total_curve: str | None
    total_delta: str
    hash: str = ""

    @property
    def amounts(self) -> Amounts:
        """What was charged, or given back."""
        return Amounts.from_text(self.epsilon, self.curve, self.delta)

    @property
    def total(self) -> Amounts:
        """The running sums after this entry."""
        return Amounts.from_text(self.total_epsilon, self.total_curve, self.total_delta)

    def chained(self, previous: str) -> str:
        """SHA-256 over the previous hash and this row without its own."""
        return _digest([previous, *self.columns()[:-1]])

    def columns(self) -> tuple[str | int | None, ...]:
        """The row, in the order of the table."""
        return tuple(getattr(self, name) for name in _NAMES)


_NAMES = tuple(field.name for field in fields(Entry))
_ROWS = f"SELECT {', '.join(_NAMES)} FROM entries"


@dataclass(frozen=True, slots=True)
class State:
    """Where a ledger stands: how many entries, the hash of the last one, the running sums."""

    number: int
    head: str
    total: Amounts


@dataclass(frozen=True, slots=True)
class Origin:
    """What a ledger was made with, and the hash its chain starts from: that of the terms as written."""

    terms: Terms
    hash: str

    @classmethod
    def read(cls, db: sqlite3.Connection, path: str) -> Self:
        """The terms in the file."""
        rows = db.execute("SELECT content FROM terms").fetchall()
        try:
            ((content,),) = rows
            return cls(Terms.from_json(json.loads(content)), _digest([content]))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise damaged(path, "its terms cannot be read") from None

    @property
    def start(self) -> State:
        """Before the first entry."""
        return State(0, self.hash, ZERO.where(self.terms.limits))


def _digest(content: list[Any]) -> str:
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode()).hexdigest()


def damaged(path: str, how: str) -> LedgerError:
    return LedgerError(
        f"{path} is damaged or was edited: {how}. Go on from a good copy whose head you know, or start a new ledger "
        "with what is left"
    )


def make(path: str, terms: Terms) -> None:
    """Make the file, whole or not at all: built beside its place and then given its name, unless that is taken.

    A journal that an older file of that name left behind would be played into the new one, so it must go first.
    """
    for left in (f"{path}-journal", f"{path}-wal"):
        if os.path.lexists(left) and not os.path.lexists(path):
            raise LedgerError(
                f"{left} was left by a ledger that is gone; put that ledger back, or remove this file too"
            )
    beside = f"{path}.{secrets.token_hex(8)}.new"
    content = {**terms.as_json(), "made": now(), "version": version(), "id": secrets.token_hex(16)}
    with _turn, _clear_errors(path):
        try:
            with closing(sqlite3.connect(_uri(beside, "rwc"), uri=True, isolation_level=None)) as db:
                db.execute("PRAGMA synchronous = EXTRA")
                db.executescript(
                    f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA}; BEGIN; {_TABLES}"
                )
                db.execute("INSERT INTO terms VALUES (?)", (json.dumps(content),))
                db.execute("COMMIT")
            with suppress(FileExistsError):
                os.link(beside, path)
            _sync_folder(path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(beside)


def _sync_folder(path: str) -> None:
    """Make a new name last."""
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def transaction(path: str, *, write: bool = False) -> Iterator[sqlite3.Connection]:
    """One transaction on a ledger's file; a write is synced to the disk when the block ends without an error.

    Raises
    ------
    LedgerError
        in one sentence, whatever is wrong with the file; the transaction then did not happen.
    """
    with _turn, _clear_errors(path):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise LedgerError(f"{path} is not a file; give the path of a ledger's file")
        with closing(sqlite3.connect(_uri(path, "rw"), uri=True, timeout=PATIENCE, isolation_level=None)) as db:
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute("PRAGMA fullfsync = ON")
            db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            _check_ours(db, path)
            yield db
            db.execute("COMMIT")


def _uri(path: str, mode: str) -> str:
    return f"{Path(path).as_uri()}?mode={mode}"


def _check_ours(db: sqlite3.Connection, path: str) -> None:
    (application,), (schema,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version"))
    if application != APPLICATION:
        raise LedgerError(f"{path} is not a ledger; give the path of one, or of a new file")
    if schema > SCHEMA:
        raise LedgerError(f"{path} was written by a newer version of shortlist; upgrade to use it")


@contextmanager
def _clear_errors(path: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise LedgerError(f"{path} {_said(error)}") from None
    except FileNotFoundError:
        raise LedgerError(f"{path} is not there; make it with budget=, or with `shortlist ledger init`") from None
    except OSError as error:
        raise LedgerError(f"{path} cannot be used: {error.strerror}") from None


def _said(error: sqlite3.Error) -> str:
    """What SQLite's error means for the one who reads it."""
    name = getattr(error, "sqlite_errorname", "")
    meanings = {
        "SQLITE_NOTADB": "is not a ledger; give the path of one, or of a new file",
        "SQLITE_CORRUPT": "is damaged: it is not what was written; go on from a good copy whose head you know",
        "SQLITE_FULL": "cannot grow: the disk is full; make room and try again",
        "SQLITE_READONLY": "cannot be written; make the file and its folder writable",
        "SQLITE_CANTOPEN": "cannot be opened, or no journal can be written beside it; check its folder's permissions",
        "SQLITE_BUSY": f"has been locked by another process for {PATIENCE:g} seconds; see what that process is doing",
        "SQLITE_IOERR": "cannot be read or written: the disk gives an error, or a size limit is reached",
    }
    known = [text for start, text in meanings.items() if name.startswith(start)]
    return known[0] if known else f"is damaged or no ledger: {error}"


def state(db: sqlite3.Connection, origin: Origin, path: str) -> State:
    """The last entry, checked against its own hash and that of the entry before it."""
    rows = read(db, "ORDER BY number DESC LIMIT 2")
    if not rows:
        return origin.start
    last = rows[0]
    check_chained(last, rows[1].number if rows[1:] else 0, rows[1].hash if rows[1:] else origin.hash, path)
    return State(last.number, last.hash, last.total)


def check_chained(entry: Entry, number: int, head: str, path: str) -> None:
    """Refuse an entry that does not follow the one with that number and hash."""
    try:
        good = entry.number == number + 1 and entry.hash == entry.chained(head)
    except TypeError:
        good = False
    if not good:
        raise damaged(path, f"entry {entry.number} does not follow the entry before it")


def read(db: sqlite3.Connection, which: str, *parameters: object) -> list[Entry]:
    """The entries that an SQL clause picks."""
    return [Entry(**dict(zip(_NAMES, row, strict=True))) for row in db.execute(f"{_ROWS} {which}", parameters)]


def append(db: sqlite3.Connection, before: State, amounts: Amounts, total: Amounts, **said: Any) -> State:
    """Write the entry after `before` and return where the ledger then stands."""
    texts: dict[str, Any] = dict(zip(_NAMES[10:16], (*amounts.as_text(), *total.as_text()), strict=True))
    entry = Entry(number=before.number + 1, time=now(), version=version(), **said, **texts)
    head = entry.chained(before.head)
    marks = ", ".join("?" * len(_NAMES))
    db.execute(f"INSERT INTO entries VALUES ({marks})", (*entry.columns()[:-1], head))
    return State(entry.number, head, total)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@cache
def version() -> str:
    """Which shortlist writes."""
    from importlib import metadata

    try:
        return metadata.version("shortlist")
    except metadata.PackageNotFoundError:
        return "unknown"
