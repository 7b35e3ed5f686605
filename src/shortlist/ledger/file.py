"""The ledger's rows, each chained to the one before it by a hash, each with the running sums after it.

The state of a ledger is its last row; of the others opening and admitting only count the index. A connection
lives for one transaction: nothing is held open between calls, so threads, forked children and pickled copies may
share a ledger. Never open the file by other means in a process that uses it: closing it would drop SQLite's locks.
"""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

from shortlist._version import version
from shortlist.ledger.chain import (
    CLOSING,
    FACTS,
    LONGEST_TERMS,
    NAMES,
    RELATIONS,
    Ends,
    LedgerEntry,
    Origin,
    State,
    digest,
    entry_of,
)
from shortlist.ledger.errors import damaged
from shortlist.ledger.filter import Amounts
from shortlist.ledger.schema import INDEX, is_closed, mark_closed, neighbors_in, now, schema_of, upgrade
from shortlist.ledger.words import user_name

_ROWS = {
    1: f"SELECT {', '.join(NAMES)}, NULL, NULL, NULL FROM entries",
    2: f"SELECT {', '.join((*NAMES, *FACTS))} FROM entries LEFT JOIN facts USING (number)",
}
"""By schema; what is not there is as in 2."""


def origin(db: sqlite3.Connection, path: str) -> Origin:
    """The terms in the file, if their limits keep their budget."""
    return Origin.of(content(db, path), path)


def is_of(db: sqlite3.Connection, origin: Origin, path: str) -> bool:
    """Whether the file was made with these very terms."""
    return digest(content(db, path)) == origin.hash


def content(db: sqlite3.Connection, path: str) -> str:
    """The terms as they are hashed."""
    rows = db.execute("SELECT content FROM terms LIMIT 2").fetchall()
    if len(rows) != 1 or not isinstance(rows[0][0], str) or len(rows[0][0]) > LONGEST_TERMS:
        raise damaged(path, "its terms cannot be read")
    return rows[0][0]


def state(db: sqlite3.Connection, origin: Origin, path: str) -> State:
    """Where the file stands: its last entry, if that follows from the one before it, and the first from the terms.

    The index must have as many entries as there are, so that damage which hides the last ones is found.
    """
    rows = read(db, path, "ORDER BY number DESC LIMIT 2")
    ((many, refunds),) = db.execute(f"SELECT count(*), count(refund_of) FROM entries INDEXED BY {INDEX}").fetchall()
    if many != (rows[0].number if rows else 0) or _has_more_facts(db, many):
        raise damaged(path, "entries are missing")
    if is_closed(db) != any(row.kind in CLOSING for row in rows[:1]):
        raise damaged(path, "whether it was closed is not what its version number says")
    if not rows:
        return origin.start
    last = rows[0]
    charges = _charges(db) if origin.terms.approval or last.kind in CLOSING else many - refunds
    charge = [] if last.refund_of is None else read(db, path, "WHERE number = ?", last.refund_of)
    ends = Ends.of(read(db, path, "WHERE number = 1"), rows, charge)
    return origin.stands(ends, charges, path, "" if last.kind in CLOSING else _neighbors(db, path))


def _neighbors(db: sqlite3.Connection, path: str) -> str:
    """The neighboring relation of the first charge that states one; "" if none does."""
    rows = db.execute(f"SELECT relation FROM {neighbors_in(db)} LIMIT 2").fetchall()
    if len(rows) > 1 or any(relation not in RELATIONS for (relation,) in rows):
        raise damaged(path, "the neighboring relation that it keeps to cannot be read")
    return rows[0][0] if rows else ""


def _has_more_facts(db: sqlite3.Connection, many: int) -> bool:
    if schema_of(db) == 1:
        return False
    return bool(db.execute("SELECT 1 FROM facts WHERE number > ? OR number < 1 LIMIT 1", (many,)).fetchall())


def _charges(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM entries WHERE kind = 'charge'").fetchall()[0][0])


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


def open_charge(db: sqlite3.Connection, path: str, number: int, hash: str) -> LedgerEntry:
    """The charge that was booked under this number and hash, if nothing of it was given back yet.

    Raises
    ------
    ValueError
        otherwise.
    """
    rows = read(db, path, "WHERE number = ?", number)
    if [row.hash for row in rows] != [hash] or rows[0].kind != "charge":
        raise ValueError("this reservation is not in the ledger: refund what reserve returned")
    later = "WHERE number > ? AND +refund_of = ?"  # the plus reads the rows, not an index that may be damaged
    if read(db, path, later, number, number):
        raise ValueError("this reservation was refunded already: a refund is given once")
    return rows[0]


def append(db: sqlite3.Connection, before: State, amounts: Amounts, total: Amounts, **said: Any) -> State:
    """Write the entry after `before`, by whoever runs this, and return where the ledger then stands."""
    upgrade(db)
    texts: dict[str, Any] = dict(zip(NAMES[10:16], (*amounts.as_text(), *total.as_text()), strict=True))
    facts: dict[str, Any] = {"source": "", **said, "who": user_name()}
    entry = LedgerEntry(number=before.number + 1, time=now(), version=version(), **texts, **facts)
    head = entry.chained(before.head)
    marks = ", ".join("?" * len(NAMES))
    db.execute(f"INSERT INTO entries VALUES ({marks})", (*entry.columns()[:-1], head))
    db.execute("INSERT INTO facts VALUES (?, ?, ?, ?)", (entry.number, *(getattr(entry, name) for name in FACTS)))
    if entry.relation and not before.neighbors:
        db.execute("INSERT INTO neighbors VALUES (?, ?)", (entry.number, entry.relation))
    if entry.kind in CLOSING:
        mark_closed(db)
    return State.after(replace(entry, hash=head), before.charges + (entry.kind == "charge"), before.neighbors)
