"""What a ledger's file must look like before a row of it is believed, and how one is made."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from shortlist._version import version
from shortlist.ledger.chain import STATED
from shortlist.ledger.errors import LedgerError, damaged
from shortlist.ledger.terms import Terms
from shortlist.ledger.turn import Turn, check_locks, sqlite_meaning, unusable

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
_FIXED = "BEGIN SELECT RAISE(ABORT, 'terms are fixed'); END"
_OBJECTS = {
    ("table", "terms", "terms"): "CREATE TABLE terms (content TEXT NOT NULL)",
    ("table", "entries", "entries"): """CREATE TABLE entries (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, time TEXT NOT NULL, mechanism TEXT NOT NULL,
    guarantee TEXT NOT NULL, purpose TEXT NOT NULL, unit TEXT NOT NULL, version TEXT NOT NULL,
    refundable TEXT NOT NULL, refund_of INTEGER UNIQUE,
    epsilon TEXT, curve TEXT, delta TEXT NOT NULL,
    total_epsilon TEXT, total_curve TEXT, total_delta TEXT NOT NULL,
    hash TEXT NOT NULL
)""",
    ("trigger", "entries_stay", "entries"): f"CREATE TRIGGER entries_stay BEFORE UPDATE ON entries {_GROWS}",
    ("trigger", "entries_remain", "entries"): f"CREATE TRIGGER entries_remain BEFORE DELETE ON entries {_GROWS}",
    ("trigger", "terms_stay", "terms"): f"CREATE TRIGGER terms_stay BEFORE UPDATE ON terms {_FIXED}",
    ("trigger", "terms_remain", "terms"): f"CREATE TRIGGER terms_remain BEFORE DELETE ON terms {_FIXED}",
}
"""Word for word as 0.1.0 wrote it: a file with anything else in it is not believed."""
_ADDED = {
    ("table", "facts", "facts"): """CREATE TABLE facts (
    number INTEGER PRIMARY KEY, who TEXT NOT NULL, source TEXT NOT NULL, request INTEGER
)""",
    ("trigger", "facts_stay", "facts"): f"CREATE TRIGGER facts_stay BEFORE UPDATE ON facts {_GROWS}",
    ("trigger", "facts_remain", "facts"): f"CREATE TRIGGER facts_remain BEFORE DELETE ON facts {_GROWS}",
}
"""What schema 2 has beside that: who asked, which table and columns, and which request an entry belongs to."""
_NEIGHBORS = {
    ("table", "neighbors", "neighbors"): """CREATE TABLE neighbors (
    number INTEGER PRIMARY KEY, relation TEXT NOT NULL
)""",
    ("trigger", "neighbors_stay", "neighbors"): f"CREATE TRIGGER neighbors_stay BEFORE UPDATE ON neighbors {_GROWS}",
    (
        "trigger",
        "neighbors_remain",
        "neighbors",
    ): f"CREATE TRIGGER neighbors_remain BEFORE DELETE ON neighbors {_GROWS}",
}
"""What schema 6 has beside that: the first charge that states a neighboring relation, and which."""
_ENDING = "substr(CAST(unit AS BLOB), -{}) = CAST('{}' AS BLOB)"
_RELATION = " ".join(
    f"WHEN {_ENDING.format(len(words), words.replace(chr(39), 2 * chr(39)))} THEN '{relation}'"
    for words, relation in STATED.items()
)
_FIRST = f"""(SELECT number, relation FROM (SELECT number, kind, CASE {_RELATION} END AS relation FROM entries)
    WHERE kind = 'charge' AND relation IS NOT NULL ORDER BY number LIMIT 1)"""
"""The same, looked for in the entries. A text ends where it ends, and not at a zero byte, where SQLite would end it."""
_INDEX_ROW = ("index", INDEX, "entries", None)
_SCHEMA_ROWS = {
    1: {*((*key, sql) for key, sql in _OBJECTS.items()), _INDEX_ROW},
    2: {*((*key, sql) for key, sql in (_OBJECTS | _ADDED).items()), _INDEX_ROW},
    SCHEMA: {*((*key, sql) for key, sql in (_OBJECTS | _ADDED | _NEIGHBORS).items()), _INDEX_ROW},
}
_SCHEMA_ROWS |= {**dict.fromkeys((4, *CLOSED_BEFORE), _SCHEMA_ROWS[2]), CLOSED: _SCHEMA_ROWS[SCHEMA]}
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
        raise damaged(path, "no version of shortlist wrote its version number")
    for name, expected in _SETTINGS.items():
        if (setting := _setting(db, name)) != expected:
            raise damaged(path, f"its {name} is {setting}, not {expected} as it was made")
    rows = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    if len(rows) != len(_SCHEMA_ROWS[schema]) or set(rows) != _SCHEMA_ROWS[schema]:
        raise damaged(path, "its tables are not as they were made")


def schema_of(db: sqlite3.Connection) -> int:
    """The number of the file's schema, as it says."""
    return int(_setting(db, "user_version"))


def is_closed(db: sqlite3.Connection) -> bool:
    """Whether the file says that it was closed."""
    return schema_of(db) in (*CLOSED_BEFORE, CLOSED)


def neighbors_in(db: sqlite3.Connection) -> str:
    """The table, or a query in its place, of the first charge that states a neighboring relation."""
    return "neighbors" if schema_of(db) >= SCHEMA else _FIRST


def upgrade(db: sqlite3.Connection) -> None:
    """Give an older file what it lacks, in the transaction of its first write. No row is touched."""
    schema = schema_of(db)
    if schema == 1:
        for statement in _ADDED.values():
            db.execute(statement)
    if schema < SCHEMA:
        for statement in _NEIGHBORS.values():
            db.execute(statement)
        db.execute(f"INSERT INTO neighbors SELECT number, relation FROM {_FIRST}")
        db.execute(f"PRAGMA user_version = {SCHEMA}")


def mark_closed(db: sqlite3.Connection) -> None:
    """In the transaction that closes it."""
    db.execute(f"PRAGMA user_version = {CLOSED}")


def _setting(db: sqlite3.Connection, name: str) -> Any:
    return db.execute(f"PRAGMA {name}").fetchall()[0][0]


def make(path: str, terms: Terms) -> None:
    """Make the file, whole or not at all: built beside its place and then given its name, unless that is taken.

    A journal that an older file of that name left behind would be played into the new one, so it must go first.
    """
    for left in (f"{path}-journal", f"{path}-wal"):
        if os.path.lexists(left) and not os.path.lexists(path):
            raise LedgerError(
                f"{left} was left by a ledger that is gone; put that ledger back, or remove this file too"
            )
    check_locks(path)
    beside, turn = f"{path}.{secrets.token_hex(8)}.new", Turn()
    try:
        try:
            turn.begin()
            _build(turn, beside, terms)
            with suppress(FileExistsError):
                os.link(beside, path)
            _sync_folder(path)
        finally:
            _clear_away(turn, beside)
    except sqlite3.Error as error:
        raise LedgerError(f"{path} {sqlite_meaning(error)}") from None
    except FileNotFoundError:
        raise LedgerError(f"{path} cannot be opened: its folder is not there, or was taken away") from None
    except OSError as error:
        raise unusable(path, error) from None
    finally:
        _clear_away(turn, beside)  # the first one may have been interrupted


def _build(turn: Turn, path: str, terms: Terms) -> None:
    """A new ledger in a new file, for its owner's eyes alone."""
    content = {**terms.as_json(), "made": now(), "version": version(), "id": secrets.token_hex(16)}
    open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)).close()
    db = turn.connect(path, "rw")
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {SCHEMA}")
    db.execute("BEGIN EXCLUSIVE")
    for statement in (_OBJECTS | _ADDED | _NEIGHBORS).values():
        db.execute(statement)
    db.execute("INSERT INTO terms VALUES (?)", (json.dumps(content),))
    db.execute("COMMIT")
    db.close()


def _clear_away(turn: Turn, beside: str) -> None:
    turn.end()
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


def now() -> str:
    """The time in UTC, as a ledger's entry has it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
