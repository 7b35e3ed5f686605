"""The entries of a ledger, chained by their hashes."""

from __future__ import annotations

import getpass
import hashlib
import itertools
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from types import NoneType
from typing import Any, Literal, Protocol, Self

from shortlist.ledger.filter import CURRENCIES, ZERO, Amounts, Currency, Terms, fits, is_exact


class LedgerError(Exception):
    """The ledger cannot be used: it is missing, damaged, locked, full, or none. Nothing was booked or looked at.

    `OutcomeUnknown` alone is otherwise.

    Examples
    --------
    >>> import shortlist as sl
    >>> try:
    ...     sl.Ledger.open("no-such-folder/year.db")
    ... except sl.privacy.LedgerError as error:
    ...     print("nothing was booked")
    nothing was booked
    """


class OutcomeUnknown(LedgerError):  # noqa: N818 - the name users read
    """The connection was cut while a server booked. Nothing was looked at; whether it was booked `Ledger.find` settles.

    Parameters
    ----------
    path
        The ledger, without passwords.
    receipt
        What to ask by: `ledger.find(unknown.receipt)` is the entry, or None; then it will never be booked.

    Examples
    --------
    >>> from shortlist.privacy import OutcomeUnknown
    >>> print(OutcomeUnknown("postgresql://bookkeeper/budgets?name=q4", "5c1e"))
    unknown, check: the connection to postgresql://bookkeeper/budgets?name=q4 was cut while it booked. Nothing was \
looked at. `shortlist ledger find LEDGER 5c1e`, or ledger.find("5c1e"), says whether it was booked
    """

    def __init__(self, path: str, receipt: str) -> None:
        super().__init__(path, receipt)
        self.path, self.receipt = path, receipt

    def __str__(self) -> str:
        return (
            f"unknown, check: the connection to {self.path} was cut while it booked. Nothing was looked at. `shortlist "
            f'ledger find LEDGER {self.receipt}`, or ledger.find("{self.receipt}"), says whether it was booked'
        )


def damaged(path: str, how: str) -> LedgerError:
    """The error for a ledger that is not what was written, with what to do."""
    return LedgerError(
        f"{path} is damaged or was edited: {how}. Go on from a good copy whose head you know, or start a new ledger "
        "with what is left"
    )


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


LONGEST = {"purpose": 10_000, "unit": 1_000, "mechanism": 1_000_000, "guarantee": 1_000_000, "source": 10_000}
"""Characters of the texts in an entry."""
ADDRESS = re.compile(r"^\s*[A-Za-z][A-Za-z0-9+.-]+:/|://|\bpassword\s*=")
"""What looks like the address of a server, and is no file's name."""


def checked_currencies(refundable: Iterable[Currency]) -> tuple[Currency, ...]:
    """The currencies that may come back, each once and in a fixed order."""
    names = (refundable,) if isinstance(refundable, str) else tuple(refundable)
    if not set(names) <= set(CURRENCIES):
        raise ValueError('refundable must name currencies: write refundable=("pure",) or ("pure", "zcdp")')
    return tuple(currency for currency in CURRENCIES if currency in names)


def checked_path(path: object) -> str:
    """The whole path of a ledger's file, as text."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str):
        raise TypeError('path must be text, for example "budget.db"')
    if not name or "\0" in name:
        raise ValueError('path must be the name of a file, for example "budget.db"')
    if ADDRESS.search(name):  # not repeated: there may be a password in it
        raise ValueError(
            'path must be the name of a file, for example "budget.db", or the address of a server as text that begins '
            'with "postgresql://", as in "postgresql://user@host/database?name=q4"'
        )
    try:
        return os.path.abspath(name)
    except FileNotFoundError:
        raise LedgerError(f"{name} has no place: the current folder was taken away; give the whole path") from None


def checked_token(token: object) -> str:
    """What an entry is found by: a hash, or what a server was given with a charge."""
    if not isinstance(token, str):
        raise TypeError("receipt must be a Receipt or text: write ledger.find(release.receipt), for example")
    if not re.fullmatch("[0-9a-f]{32}|[0-9a-f]{64}", token):  # of a part of one nobody could say that it is not there
        raise ValueError(
            "receipt must be whole: an entry's hash, 64 of 0 to 9 and a to f, or the 32 that an unknown outcome said"
        )
    return token


def checked_words(refundable: Iterable[Currency], **texts: object) -> dict[str, str]:
    """What is said of a release, as it is noted; its guarantee is not among it."""
    currencies = checked_currencies(refundable)
    return {"refundable": " ".join(currencies), **{name: checked_text(name, text) for name, text in texts.items()}}


def checked_text(name: str, text: object) -> str:
    """A text that a ledger can hold."""
    if not isinstance(text, str):
        raise TypeError(f'{name} must be text: write {name}="weekly chart", for example')
    if len(text) > LONGEST[name]:
        raise ValueError(f"{name} must be at most {LONGEST[name]:,} characters: say it shorter")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} must be Unicode text: it holds half a surrogate pair") from None
    return text


def user_name() -> str:
    """Who runs this process, by the operating system where it tells (and not by a variable that anybody may set)."""
    if hasattr(os, "getuid"):
        import pwd

        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:  # a container may run under a number without a name
            return f"user {os.getuid()}"
    return getpass.getuser()


def checked_last(last: object, most: int) -> int:
    """How many entries are asked for, at most `most`; all of them if nothing is said."""
    if last is None:
        return most
    if isinstance(last, bool) or not isinstance(last, int) or last < 0:
        raise ValueError("last must be a whole number, 0 or more: write last=20, for example")
    return min(last, most)


WORDS = ("guarantee", "mechanism", "purpose", "unit", "refundable", "source")
"""What is said of a release. In a ledger with approval it must be the same for it to be the same release."""

Offer = tuple[Amounts, Mapping[str, Any]]
"""What a release costs and what is said of it, by one of several true statements of it (Theorem 223)."""


class Store(Protocol):
    """Each call is one transaction, whole or not at all; what was booked when it returns is on the disk.

    A call raises `LedgerError` if the ledger cannot be used, or is another one than the one that was opened, or has
    gone back since; `OutcomeUnknown` if a server was asked to book and did not answer.
    """

    @property
    def path(self) -> str:
        """Where it is, for people and to open it again; without passwords."""

    @property
    def name(self) -> str:
        """In short, for receipts."""

    @property
    def origin(self) -> Origin:
        """What it was made with."""

    @property
    def seen(self) -> State:
        """How it stood when it was last seen."""

    def state(self) -> State:
        """Where it stands."""

    def charge(self, offers: Sequence[Offer]) -> tuple[State, int]:
        """(where it stands after a charge, which of the offers that was): the first that fits.

        `BudgetExceeded` or `ApprovalNeeded` if it was not booked.
        """

    def refund(self, number: int, hash: str, spent: Amounts, said: str) -> State:
        """Give back what a charge has beyond `spent`, once; where it then stands."""

    def approve(self, request: object) -> None:
        """Note that whoever runs this approves a request of somebody else."""

    def close(self, kind: str, reason: str, target: str) -> None:
        """Book nothing from now on; `target` is where it goes on, if it does."""

    def after(self, number: int, most: int) -> list[LedgerEntry]:
        """The entries after the one with this number, at most so many, in order."""

    def newest(self, most: int) -> list[LedgerEntry]:
        """The last entries, in order."""

    def find(self, token: str) -> LedgerEntry | None:
        """The entry with this hash, or that a server was asked to book under this token: None if it never will be."""

    def booked_since(self, head: str) -> int | None:
        """The number of the entry that the last charge through this object booked after `head`, or None."""

    def check_whole(self) -> None:
        """Raise if what keeps the entries knows itself to be broken."""

    def share(self, role: str, *, allowed: bool) -> None:
        """Let a role of the server charge and read, or no longer."""

    def hang_up(self) -> None:
        """Let go of what is held open between calls; the next call opens it again."""
