"""The ledger's rows, each chained to the one before it by a hash, each with the running sums after it.

The state of a ledger is its last row; of the others opening and admitting only count the index. A connection
lives for one transaction: nothing is held open between calls, so threads, forked children and pickled copies may
share a ledger. Never open the file by other means in a process that uses it: closing it would drop SQLite's locks.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sqlite3
from dataclasses import dataclass, fields
from operator import attrgetter
from types import NoneType
from typing import Any, Literal, Self

from shortlist._version import version
from shortlist.ledger.filter import CURRENCIES, ZERO, Amounts, fits, is_exact
from shortlist.ledger.schema import INDEX, now, schema_of, upgrade
from shortlist.ledger.terms import Terms
from shortlist.ledger.turn import damaged
from shortlist.ledger.words import user_name

MOST_ENTRIES = 2**53
LONGEST_TERMS = 100_000
"""Characters of the terms, which take some hundreds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One row, as it stands in the file: exact numbers as text, times in UTC, sums after the entry.

    `who`, `source` and `request` are None in entries that were written before schema 2.
    """

    number: int
    kind: Literal["charge", "refund", "request", "approval"]
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
    who: str | None = None
    source: str | None = None
    request: int | None = None

    @property
    def amounts(self) -> Amounts:
        """What was charged, or given back."""
        return Amounts.from_text(self.epsilon, self.curve, self.delta)

    @property
    def total(self) -> Amounts:
        """The running sums after this entry."""
        return Amounts.from_text(self.total_epsilon, self.total_curve, self.total_delta)

    def chained(self, previous: str) -> str:
        """SHA-256 over the previous hash and this row without its own; with its facts, where it has them."""
        facts = () if self.who is None else (self.who, self.source, self.request)
        return digest(previous, *self.columns()[:-1], *facts)

    def columns(self) -> tuple[str | int | None, ...]:
        """The row of `entries`, in the order of the table."""
        return _columns(self)


_FACTS = ("who", "source", "request")
_NAMES = tuple(field.name for field in fields(LedgerEntry) if field.name not in _FACTS)
_columns = attrgetter(*_NAMES)
_ROWS = {
    1: f"SELECT {', '.join(_NAMES)}, NULL, NULL, NULL FROM entries",
    2: f"SELECT {', '.join((*_NAMES, *_FACTS))} FROM entries LEFT JOIN facts USING (number)",
}
"""By schema."""


_TEXT, _MAYBE = (str,), (str, NoneType)
_SHAPES = frozenset(itertools.product((int,), *[_TEXT] * 8, (int, NoneType), *[_MAYBE, _MAYBE, _TEXT] * 2, _TEXT))
_FACT_SHAPES = ((NoneType, NoneType, NoneType), (str, str, NoneType), (str, str, int))
"""The types that a row may have: SQLite keeps whatever was put there, whatever the column says."""


@dataclass(frozen=True, slots=True)
class State:
    """Where a ledger stands: how many entries, the hash of the last one, the running sums, how many charges."""

    number: int
    head: str
    total: Amounts
    charges: int


@dataclass(frozen=True, slots=True)
class Origin:
    """What a ledger was made with, and the hash its chain starts from: that of the terms as written."""

    terms: Terms
    hash: str

    @classmethod
    def read(cls, db: sqlite3.Connection, path: str) -> Self:
        """The terms in the file, if their limits keep their budget."""
        content = _content(db, path)
        try:
            return cls(Terms.from_json(json.loads(content)), digest(content))
        except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
            raise damaged(path, "its terms cannot be read, or admit more than its budget") from None

    def is_in(self, db: sqlite3.Connection, path: str) -> bool:
        """Whether the file was made with these very terms."""
        return digest(_content(db, path)) == self.hash

    @property
    def start(self) -> State:
        """Before the first entry."""
        return State(0, self.hash, ZERO.where(self.terms.limits), 0)


def _content(db: sqlite3.Connection, path: str) -> str:
    rows = db.execute("SELECT content FROM terms LIMIT 2").fetchall()
    if len(rows) != 1 or not isinstance(rows[0][0], str) or len(rows[0][0]) > LONGEST_TERMS:
        raise damaged(path, "its terms cannot be read")
    return rows[0][0]


_compact = json.JSONEncoder(separators=(",", ":")).encode


def digest(*content: str | int | None) -> str:
    """SHA-256 of the JSON list of these."""
    return hashlib.sha256(_compact(content).encode()).hexdigest()


def state(db: sqlite3.Connection, origin: Origin, path: str) -> State:
    """Where the file stands: its last entry, if that follows from the one before it, and the first from the terms.

    The index must have as many entries as there are, so that damage which hides the last ones is found.
    """
    rows = read(db, path, "ORDER BY number DESC LIMIT 2")
    ((many, refunds),) = db.execute(f"SELECT count(*), count(refund_of) FROM entries INDEXED BY {INDEX}").fetchall()
    if many != (rows[0].number if rows else 0) or _has_more_facts(db, many):
        raise damaged(path, "entries are missing")
    if not rows:
        return origin.start
    last, *before = rows
    charges = _charges(db) if origin.terms.approval else many - refunds
    for first in read(db, path, "WHERE number = 1"):
        check_chained(first, origin.start, path)
    then = charges - (last.kind == "charge")
    here = State(before[0].number, before[0].hash, before[0].total, then) if before else origin.start
    check_chained(last, here, path)
    charge = None if last.refund_of is None else next(iter(read(db, path, "WHERE number = ?", last.refund_of)), None)
    return after(last, here, origin.terms, charge, path)


def _has_more_facts(db: sqlite3.Connection, many: int) -> bool:
    if schema_of(db) == 1:
        return False
    return bool(db.execute("SELECT 1 FROM facts WHERE number > ? OR number < 1 LIMIT 1", (many,)).fetchall())


def _charges(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM entries WHERE kind = 'charge'").fetchall()[0][0])


def holds(db: sqlite3.Connection, state: State) -> bool:
    """Whether the file has the very entry after which it stood so."""
    return db.execute("SELECT hash FROM entries WHERE number = ?", (state.number,)).fetchall() == [(state.head,)]


def check_chained(entry: LedgerEntry, before: State, path: str) -> None:
    """Refuse an entry that does not follow the one before it."""
    if entry.number != before.number + 1 or entry.hash != entry.chained(before.head):
        raise damaged(path, f"entry {entry.number} does not follow the entry before it")


def after(entry: LedgerEntry, before: State, terms: Terms, charge: LedgerEntry | None, path: str) -> State:
    """Where the ledger stands after an entry; for a refund, `charge` is what is refunded.

    Raises
    ------
    LedgerError
        if the entry breaks the rule, or its sums are not those of the entry before and its own amounts.
    """
    amounts, total, charges = entry.amounts, before.total, before.charges
    if entry.kind == "charge":
        total, charges = before.total + amounts, charges + 1
        allowed = fits(terms.limits_for(before.total, amounts, first=not before.charges), total)
    elif entry.kind == "refund":
        total = before.total - amounts
        allowed = charge is not None and _may_come_back(amounts, charge)
    else:
        allowed = terms.approval and amounts == ZERO
    if not allowed or total.as_text() != (entry.total_epsilon, entry.total_curve, entry.total_delta):
        raise damaged(path, f"entry {entry.number} breaks the rule, or its sums are wrong")
    return State(entry.number, entry.hash, total, charges)


def _may_come_back(back: Amounts, charge: LedgerEntry) -> bool:
    """Whether a refund gives back no more than its reservation, and only where that was proved; never a delta."""
    paid, proved = charge.amounts, charge.refundable.split()
    epsilon = (paid.epsilon or 0) if "pure" in proved else 0
    curve = (paid.curve or 0) if "zcdp" in proved else 0
    return charge.kind == "charge" and back.delta == 0 and (back.epsilon or 0) <= epsilon and (back.curve or 0) <= curve


def read(db: sqlite3.Connection, path: str, which: str, *parameters: object) -> list[LedgerEntry]:
    """The entries that an SQL clause picks.

    Raises
    ------
    LedgerError
        if one of them is not what a ledger writes.
    """
    return [_entry(row, path) for row in db.execute(f"{_ROWS[schema_of(db)]} {which}", parameters).fetchall()]


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


def _entry(row: tuple[Any, ...], path: str) -> LedgerEntry:
    number, kind, refundable, refund_of, request = row[0], row[1], row[8], row[9], row[-1]
    if (
        tuple(map(type, row[: len(_NAMES)])) in _SHAPES
        and tuple(map(type, row[len(_NAMES) :])) in _FACT_SHAPES
        and 1 <= number <= MOST_ENTRIES
        and kind in (("charge", "request", "approval") if refund_of is None else ("refund",))
        and (request is None or kind in ("charge", "approval"))
        and (not refundable or set(refundable.split()) <= set(CURRENCIES))
        and all(map(is_exact, row[10:16]))
    ):
        return LedgerEntry(**dict(zip((*_NAMES, *_FACTS), row, strict=True)))
    raise damaged(path, f"entry {number if isinstance(number, int) else '?'} is not what a ledger writes")


def append(db: sqlite3.Connection, before: State, amounts: Amounts, total: Amounts, **said: Any) -> State:
    """Write the entry after `before`, by whoever runs this, and return where the ledger then stands."""
    upgrade(db)
    texts: dict[str, Any] = dict(zip(_NAMES[10:16], (*amounts.as_text(), *total.as_text()), strict=True))
    facts: dict[str, Any] = {"source": "", **said, "who": user_name()}
    entry = LedgerEntry(number=before.number + 1, time=now(), version=version(), **texts, **facts)
    head = entry.chained(before.head)
    marks = ", ".join("?" * len(_NAMES))
    db.execute(f"INSERT INTO entries VALUES ({marks})", (*entry.columns()[:-1], head))
    db.execute("INSERT INTO facts VALUES (?, ?, ?, ?)", (entry.number, *(getattr(entry, name) for name in _FACTS)))
    return State(entry.number, head, total, before.charges + (entry.kind == "charge"))
