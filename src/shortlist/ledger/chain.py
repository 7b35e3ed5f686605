"""The entries of a ledger, wherever they are kept: each chained to the one before it, each with the sums after it.

What is here needs no file and no server: what a row may be, what follows from it, and where a ledger then stands.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from types import NoneType
from typing import Any, Literal, Self

from shortlist.ledger.errors import damaged
from shortlist.ledger.filter import CURRENCIES, ZERO, Amounts, fits, is_exact
from shortlist.ledger.terms import Terms

MOST_ENTRIES = 2**53
RELATIONS = ("add-remove", "replace")
"""Neighboring relations: which data sets a guarantee compares."""
STATED = {"(add-remove)": "add-remove", "(replace)": "replace", "(replaces one teacher's votes)": "replace"}
"""How the unit of an entry ends if it states its relation. PATE writes the last of them."""
LONGEST_TERMS = 100_000
"""Characters of the terms, which take some hundreds."""
CLOSING = ("close", "moved")
"""Kinds of entries after which nothing is charged: why, or where it goes on; and that it has arrived there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One row, as it is kept: exact numbers as text, times in UTC, sums after the entry.

    `who`, `source` and `request` are None in entries that were written before schema 2.
    """

    number: int
    kind: Literal["charge", "refund", "request", "approval", "close", "moved"]
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
        """What was charged, given back or asked for; of a request that was written before schema 4, nothing."""
        return Amounts.from_text(self.epsilon, self.curve, self.delta)

    @property
    def total(self) -> Amounts:
        """The running sums after this entry."""
        return Amounts.from_text(self.total_epsilon, self.total_curve, self.total_delta)

    @property
    def relation(self) -> str:
        """The neighboring relation that a charge states; "" for a charge that states none, and for other entries."""
        return relation_of(self.unit) if self.kind == "charge" else ""

    def chained(self, previous: str) -> str:
        """SHA-256 over the previous hash and this row without its own; with its facts, where it has them."""
        facts = () if self.who is None else (self.who, self.source, self.request)
        return digest(previous, *self.columns()[:-1], *facts)

    def columns(self) -> tuple[str | int | None, ...]:
        """The row of `entries`, in the order of the table."""
        return _columns(self)


def relation_of(unit: str) -> str:
    """Return the neighboring relation that a unit of privacy ends with, in parentheses; "" if it states none."""
    return next((relation for words, relation in STATED.items() if unit.endswith(words)), "")


FACTS = ("who", "source", "request")
NAMES = tuple(field.name for field in fields(LedgerEntry) if field.name not in FACTS)
_columns = attrgetter(*NAMES)

_TEXT, _MAYBE = (str,), (str, NoneType)
_SHAPES = frozenset(itertools.product((int,), *[_TEXT] * 8, (int, NoneType), *[_MAYBE, _MAYBE, _TEXT] * 2, _TEXT))
_FACT_SHAPES = ((NoneType, NoneType, NoneType), (str, str, NoneType), (str, str, int))
"""The types that a row may have: SQLite keeps whatever was put there, whatever the column says."""


@dataclass(frozen=True, slots=True)
class State:
    """Where a ledger stands: how many entries, the hash of the last one, the running sums, how many charges; where it
    was closed, why or where it goes on, in words; and the neighboring relation of its first charge that states one."""

    number: int
    head: str
    total: Amounts
    charges: int
    closed: str = ""
    neighbors: str = ""

    @classmethod
    def after(cls, entry: LedgerEntry, charges: int, neighbors: str = "") -> Self:
        """Where it stands after an entry, the last of so many charges or none; `neighbors` are those before it."""
        closed = ""
        if entry.kind in CLOSING:
            closed = f"it goes on as {entry.source}" if entry.source else entry.purpose or "nobody said why"
        return cls(entry.number, entry.hash, entry.total, charges, closed, neighbors or entry.relation)


@dataclass(frozen=True, slots=True)
class Origin:
    """What a ledger was made with, and the hash its chain starts from: that of the terms as written."""

    terms: Terms
    hash: str

    @classmethod
    def of(cls, content: object, path: str) -> Self:
        """From the terms as they are kept, if their limits keep their budget."""
        if not isinstance(content, str) or len(content) > LONGEST_TERMS:
            raise damaged(path, "its terms cannot be read")
        try:
            return cls(Terms.from_json(json.loads(content)), digest(content))
        except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
            raise damaged(path, "its terms cannot be read, or admit more than its budget") from None

    @property
    def start(self) -> State:
        """Before the first entry."""
        return State(0, self.hash, ZERO.where(self.terms.limits), 0)

    def stands(self, ends: Ends, charges: int, path: str, neighbors: str = "") -> State:
        """Where a ledger stands, with so many charges of which the first to state `neighbors` stated these: its last
        entry, if that follows from the one before it, and the first from the terms."""
        if ends.last is None:
            return self.start
        if ends.first is not None:
            check_chained(ends.first, self.start, path)
        then, before = charges - (ends.last.kind == "charge"), ends.before
        here = self.start if before is None else State.after(before, then)
        check_chained(ends.last, here, path)
        return replace(after(ends.last, here, self.terms, ends.charge, path), neighbors=neighbors)


@dataclass(frozen=True, slots=True)
class Ends:
    """What of a chain is looked at in every call: its first entry and its last two, and what the last one refunds."""

    first: LedgerEntry | None
    before: LedgerEntry | None
    last: LedgerEntry | None
    charge: LedgerEntry | None = None

    @classmethod
    def of(cls, first: Sequence[LedgerEntry], newest: Sequence[LedgerEntry], charge: Sequence[LedgerEntry]) -> Self:
        """From rows, the newest first."""
        return cls(_first(first), _first(newest[1:]), _first(newest), _first(charge))


def _first(rows: Sequence[LedgerEntry]) -> LedgerEntry | None:
    return rows[0] if rows else None


_compact = json.JSONEncoder(separators=(",", ":")).encode


def digest(*content: str | int | None) -> str:
    """SHA-256 of the JSON list of these."""
    return hashlib.sha256(_compact(content).encode()).hexdigest()


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
        total = before.total - amounts  # servers before schema 4 admitted refunds of nothing, of any charge
        allowed = not _gives_back(amounts) or (charge is not None and _may_come_back(amounts, charge))
    elif entry.kind in CLOSING:
        allowed = amounts == ZERO and bool(before.closed) == (entry.kind == "moved")
    else:
        allowed = terms.approval and (amounts == ZERO or entry.kind == "request")
    if before.closed and entry.kind != "moved":
        allowed = False
    if not allowed or total.as_text() != (entry.total_epsilon, entry.total_curve, entry.total_delta):
        raise damaged(path, f"entry {entry.number} breaks the rule, or its sums are wrong")
    return State.after(entry, charges, before.neighbors)


def _gives_back(amounts: Amounts) -> bool:
    return bool(amounts.epsilon or amounts.curve or amounts.delta)


def _may_come_back(back: Amounts, charge: LedgerEntry) -> bool:
    """Whether a refund gives back no more than its reservation, and only where that was proved; never a delta."""
    paid, proved = charge.amounts, charge.refundable.split()
    epsilon = (paid.epsilon or 0) if "pure" in proved else 0
    curve = (paid.curve or 0) if "zcdp" in proved else 0
    return charge.kind == "charge" and back.delta == 0 and (back.epsilon or 0) <= epsilon and (back.curve or 0) <= curve


def entry_of(row: tuple[Any, ...], path: str) -> LedgerEntry:
    """A row of the entries and their facts.

    Raises
    ------
    LedgerError
        if it is not what a ledger writes.
    """
    number, kind, refundable, refund_of, request = row[0], row[1], row[8], row[9], row[-1]
    if (
        tuple(map(type, row[: len(NAMES)])) in _SHAPES
        and tuple(map(type, row[len(NAMES) :])) in _FACT_SHAPES
        and 1 <= number <= MOST_ENTRIES
        and kind in (("charge", "request", "approval", *CLOSING) if refund_of is None else ("refund",))
        and (request is None or kind in ("charge", "approval"))
        and (not refundable or set(refundable.split()) <= set(CURRENCIES))
        and all(map(is_exact, row[10:16]))
    ):
        return LedgerEntry(**dict(zip((*NAMES, *FACTS), row, strict=True)))
    raise damaged(path, f"entry {number if isinstance(number, int) else '?'} is not what a ledger writes")
