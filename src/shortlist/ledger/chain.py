"""The entries of a ledger, chained by their hashes."""

from __future__ import annotations

import getpass
import hashlib
import itertools
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from operator import attrgetter
from types import NoneType
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

from shortlist._runtime import check_signals, version
from shortlist.errors import Text, bad_type, bad_value
from shortlist.ledger import filter as rules
from shortlist.ledger.filter import CURRENCIES, ZERO, Amounts, Currency, State, Terms


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
        return Text(
            f"unknown, check: the connection to {self.path} was cut while it booked. Nothing was looked at. `shortlist "
            f'ledger find LEDGER {self.receipt}`$<, or ledger.find("{self.receipt}"),> says whether it was booked'
        )


class ApprovalNeeded(Exception):  # noqa: N818 - the name users read
    """A release that waits for somebody else's approval. Nothing was charged, nothing was looked at.

    Parameters
    ----------
    path
        The ledger's file.
    request
        The number of the entry that asks for it.

    Examples
    --------
    >>> import tempfile
    >>> import shortlist as sl
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = sl.Ledger(f"{folder.name}/year.db", budget=sl.PureDP(1.0), approval=True)
    >>> try:
    ...     sl.select([9, 1], epsilon=0.5, ledger=ledger)
    ... except sl.privacy.ApprovalNeeded as waits:
    ...     waits.request
    1
    >>> folder.cleanup()
    """

    def __init__(self, path: str, request: int) -> None:
        super().__init__(path, request)
        self.path, self.request = path, request

    def __str__(self) -> str:
        return (
            f"entry {self.request} of {self.path} waits for somebody else's approval (`shortlist ledger approve "
            f"LEDGER {self.request}`); then ask the same again. Nothing was charged, nothing was looked at"
        )


def damage_error(path: str, how: str) -> LedgerError:
    """The error for a ledger that is not what was written, with what to do."""
    return LedgerError(
        f"{path} is damaged or was edited: {how}. Go on from a good copy whose head you know, or start a new ledger "
        "with what is left"
    )


def check_open(path: str, here: State) -> None:
    """Raise LedgerError if the ledger was closed."""
    if here.closed:
        raise LedgerError(f"{path} was closed for good and books nothing more: {here.closed}")


WAIT = 600.0
"""Seconds to wait for another process before giving up with an error; one charge holds the lock for milliseconds."""
MOST_ENTRIES = 2**53
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
        return rules.relation_of(self.unit) if self.kind == "charge" else ""

    def chain_hash(self, previous: str) -> str:
        """SHA-256 over the previous hash and this row without its own; with its facts, where it has them."""
        facts = () if self.who is None else (self.who, self.source, self.request)
        return digest(previous, *self.columns()[:-1], *facts)

    def columns(self) -> tuple[str | int | None, ...]:
        """The row of `entries`, in the order of the table."""
        return _columns(self)


FACTS = ("who", "source", "request")
NAMES = tuple(field.name for field in fields(LedgerEntry) if field.name not in FACTS)
_columns = attrgetter(*NAMES)

_TEXT, _MAYBE = (str,), (str, NoneType)
_SHAPES = frozenset(itertools.product((int,), *[_TEXT] * 8, (int, NoneType), *[_MAYBE, _MAYBE, _TEXT] * 2, _TEXT))
_FACT_SHAPES = ((NoneType, NoneType, NoneType), (str, str, NoneType), (str, str, int))
"""The types that a row may have: SQLite keeps whatever was put there, whatever the column says."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a ledger was made with, and the hash its chain starts from: that of the terms as written."""

    terms: Terms
    hash: str

    @classmethod
    def of(cls, content: object, path: str) -> Self:
        """From the terms as they are kept, if their limits keep their budget."""
        if not isinstance(content, str) or len(content) > LONGEST_TERMS:
            raise damage_error(path, "its terms cannot be read")
        try:
            return cls(Terms.from_json(json.loads(content)), digest(content))
        except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError):
            raise damage_error(path, "its terms cannot be read, or admit more than its budget") from None

    @property
    def start(self) -> State:
        """Before the first entry."""
        return State(0, self.hash, ZERO.where(self.terms.limits), 0)

    def state_at_end(self, ends: Mapping[int, LedgerEntry], charges: int, path: str, neighbors: str = "") -> State:
        """Return where a ledger stands, from its ends: its first entry, its last two, and what the last one refunds.

        The last entry must follow from the one before it, and the first from the terms. A long first entry may be
        missing: `verify` reads it. `charges` are all charges, of which the first to state `neighbors` stated these.
        """
        if not ends:
            return self.start
        last, before = ends[max(ends)], self.start
        if 1 in ends:
            check_link(ends[1], before, path)
        if last.number > 1:
            if last.number - 1 not in ends:
                raise damage_error(path, "entries are missing")
            before = state_after(ends[last.number - 1], charges - (last.kind == "charge"))
        check_link(last, before, path)
        refunded = None if last.refund_of is None else ends.get(last.refund_of)
        return replace(replay_entry(last, before, self.terms, refunded, path), neighbors=neighbors)


def state_after(entry: LedgerEntry, charges: int, neighbors: str = "") -> State:
    """Return where a ledger stands after an entry, the last of so many charges; `neighbors` are those before it."""
    closed = ""
    if entry.kind in CLOSING:
        closed = f"it goes on as {entry.source}" if entry.source else entry.purpose or "nobody said why"
    return State(entry.number, entry.hash, entry.total, charges, closed, neighbors or entry.relation)


_compact = json.JSONEncoder(separators=(",", ":")).encode


def digest(*content: str | int | None) -> str:
    """SHA-256 of the JSON list of these."""
    return hashlib.sha256(_compact(content).encode()).hexdigest()


def check_link(entry: LedgerEntry, before: State, path: str) -> None:
    """Refuse an entry that does not follow the one before it."""
    if entry.number != before.number + 1 or entry.hash != entry.chain_hash(before.head):
        raise damage_error(path, f"entry {entry.number} does not follow the entry before it")


def replay_entry(entry: LedgerEntry, before: State, terms: Terms, charge: LedgerEntry | None, path: str) -> State:
    """Where the ledger stands after an entry; for a refund, `charge` is what is refunded.

    Raises
    ------
    LedgerError
        if the entry breaks the rule, or its sums are not those of the entry before and its own amounts.
    """
    amounts, total, charges = entry.amounts, before.total, before.charges
    if entry.kind == "charge":
        total, charges = before.total + amounts, charges + 1
        allowed = rules.fits(terms.limits_for(before.total, amounts, first=not before.charges), total)
    elif entry.kind == "refund":
        total = before.total - amounts  # servers before schema 4 admitted refunds of nothing, of any charge
        nothing = not (amounts.epsilon or amounts.curve or amounts.delta)
        allowed = nothing or (charge is not None and _may_refund(amounts, charge))
    elif entry.kind in CLOSING:
        allowed = amounts == ZERO and bool(before.closed) == (entry.kind == "moved")
    else:
        allowed = terms.approval and (amounts == ZERO or entry.kind == "request")
    if before.closed and entry.kind != "moved":
        allowed = False
    if not allowed or total.as_text() != (entry.total_epsilon, entry.total_curve, entry.total_delta):
        raise damage_error(path, f"entry {entry.number} breaks the rule, or its sums are wrong")
    return state_after(entry, charges, before.neighbors)


def _may_refund(back: Amounts, charge: LedgerEntry) -> bool:
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
        and all(map(rules.is_exact, row[10:16]))
    ):
        return LedgerEntry(**dict(zip((*NAMES, *FACTS), row, strict=True)))
    raise damage_error(path, f"entry {number if isinstance(number, int) else '?'} is not what a ledger writes")


LONGEST = {"purpose": 10_000, "unit": 1_000, "mechanism": 1_000_000, "guarantee": 1_000_000, "source": 10_000}
"""Characters of the texts in an entry."""
ADDRESS = re.compile(r"^\s*[A-Za-z][A-Za-z0-9+.-]+:/|://|\bpassword\s*=")
"""What looks like the address of a server, and is no file's name."""


def check_path(path: object) -> str:
    """The whole path of a ledger's file, as text."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str):
        raise bad_type('$path must be text, for example "budget.db"')
    if not name or "\0" in name:
        raise bad_value('$path must be the name of a file, for example "budget.db"')
    if ADDRESS.search(name):  # not repeated: there may be a password in it
        raise bad_value('$path must be a file, or the address of a server, "postgresql://user@host/database?name=q4"')
    try:
        return os.path.abspath(name)
    except FileNotFoundError:
        raise LedgerError(f"{name} has no place: the current folder was taken away; give the whole path") from None


def check_token(token: object) -> str:
    """What an entry is found by: a hash, or what a server was given with a charge."""
    if not isinstance(token, str):
        raise bad_type("$receipt must be a Receipt or text: write ledger.find(release.receipt), for example")
    if not re.fullmatch("[0-9a-f]{32}|[0-9a-f]{64}", token):  # of a part of one nobody could say that it is not there
        raise bad_value("$receipt must be whole: an entry's hash, 64 of 0-9 and a-f, or the 32 of an unknown outcome")
    return token


def describe_charge(refundable: Iterable[Currency], **texts: object) -> dict[str, str]:
    """Return what a ledger notes of a release, beside its guarantee; each currency once and in a fixed order."""
    named = (refundable,) if isinstance(refundable, str) else tuple(refundable)
    if not set(named) <= set(CURRENCIES):
        raise ValueError('refundable must name currencies: write refundable=("pure",) or ("pure", "zcdp")')
    currencies = " ".join(currency for currency in CURRENCIES if currency in named)
    return {"refundable": currencies, **{name: check_text(name, text) for name, text in texts.items()}}


def check_text(name: str, text: object) -> str:
    """A text that a ledger can hold."""
    if not isinstance(text, str):
        raise bad_type(f'${name} must be text: write ${name}="weekly chart", for example')
    if len(text) > LONGEST[name]:
        raise bad_value(f"${name} must be at most {LONGEST[name]:,} characters: say it shorter")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise bad_value(f"${name} must be Unicode text: it holds half a surrogate pair") from None
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


WORDS = ("guarantee", "mechanism", "purpose", "unit", "refundable", "source")
"""What is said of a release. In a ledger with approval it must be the same for it to be the same release."""

Offer = tuple[Amounts, Mapping[str, Any]]
"""What a release costs and what is said of it, by one of several true statements of it (Theorem 223)."""


def now() -> str:
    """The time in UTC, as a ledger's entry has it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def new_terms(terms: Terms) -> str:
    """Return the terms of a new ledger as text, with what tells it from every other ledger."""
    return json.dumps({**terms.as_json(), "made": now(), "version": version(), "id": secrets.token_hex(16)})


class Replay:
    """Goes through all entries as if they were written now, some at a time.

    In a ledger with approval each request is approved once, by another user, then charged once. What is charged is no
    more than was asked for, where the request says how much: those of schema 2 do not.
    """

    __slots__ = ("_approved", "_path", "_refundable", "_terms", "_waiting", "here")

    def __init__(self, origin: Origin, path: str) -> None:
        self.here = origin.start
        self._terms, self._path = origin.terms, path
        self._refundable: dict[int, LedgerEntry] = {}
        self._waiting: dict[int, LedgerEntry] = {}
        self._approved: dict[int, LedgerEntry] = {}

    def take(self, entries: Iterable[LedgerEntry]) -> None:
        """Read the next entries.

        Raises
        ------
        LedgerError
            naming the first entry that does not follow from those before it, or was not approved.
        """
        for entry in entries:
            check_link(entry, self.here, self._path)
            charge = None if entry.refund_of is None else self._refundable.pop(entry.refund_of, None)
            self.here = replay_entry(entry, self.here, self._terms, charge, self._path)
            if self._terms.approval:
                self._check_approval(entry)
            if entry.kind == "charge" and entry.refundable:
                self._refundable[entry.number] = entry

    def _check_approval(self, entry: LedgerEntry) -> None:
        number = entry.request or 0
        if entry.kind == "request":
            self._waiting[entry.number] = entry
        elif entry.kind == "approval":
            request = self._waiting.pop(number, None)
            if request is None or request.who == entry.who:
                raise damage_error(self._path, f"entry {entry.number} approves no request of another user")
            self._approved[number] = request
        elif entry.kind == "charge":
            request = self._approved.pop(number, None)
            if request is None or any(getattr(request, name) != getattr(entry, name) for name in (*WORDS, "who")):
                raise damage_error(self._path, f"entry {entry.number} was not approved")
            limit = request.amounts.where(entry.total)  # a first charge may close rule (b) for all that follow
            if request.amounts != ZERO and not entry.amounts.within(limit):
                raise damage_error(self._path, f"entry {entry.number} costs more than was approved")


BATCH = 5_000
"""Entries that are verified in one transaction: charges in between need not wait for it."""
MISTAKES = {
    "SL005": "this reservation is not in the ledger: refund what reserve returned, as the role that reserved",
    "SL006": "this reservation was refunded already: a refund is given once",
    "SL007": "kept must not be more than was reserved: reserve the worst case before the call",
    "SL008": "$request must be the number of an entry that asks for approval: see `shortlist ledger show`",
    "SL009": "entry {number} was approved already",
    "SL010": "entry {number} must be approved by another user than the one who asked",
    "SL011": "somebody has just charged this ledger for other neighbors than this charge is for; ask again to see them",
}
"""What a caller did wrong, by the code that a server has for it."""

Session = TypeVar("Session")
Found = TypeVar("Found")
Write = Callable[[Session, State], State]
Words = Mapping[str, Any]
Charged = tuple[State, int | None]
"""Where a ledger stands after a charge, or the number of the entry that waits for an approval in its place."""


class Store(Generic[Session]):
    """The entries of one ledger, in a file or on a server, and what is done to them, each in one transaction.

    A kind of store says how a transaction is run, and how it reads and writes rows.
    """

    __slots__ = ("name", "origin", "path", "seen", "tried", "wait")
    name: str
    """In short: the name of the file, or of the ledger on its server."""
    origin: Origin
    path: str
    seen: State
    """Where the ledger stood when this object looked last."""
    tried: str | None
    """What the last charge is found by, if it came so far."""
    wait: float

    if TYPE_CHECKING:

        def find(self, token: str) -> LedgerEntry | None: ...
        def _read(self, work: Callable[[Session, State], Found]) -> Found: ...
        def _write(self, work: Write[Session], *, number: int = 0, closed: bool = False) -> State: ...
        def _rows(self, session: Session, first: int, last: int) -> list[LedgerEntry]: ...
        def _charge(self, session: Session, before: State, cost: Amounts, said: Words) -> Charged: ...
        def _refund(self, session: Session, before: State, charge: LedgerEntry, back: Amounts, said: str) -> State: ...
        def _approve(self, session: Session, before: State, request: int) -> State: ...
        def _close(self, session: Session, before: State, kind: str, reason: str, target: str) -> State: ...

    def check_whole(self) -> None:
        """Raise LedgerError if what holds the entries finds itself out of order."""

    def share(self, role: str, *, allowed: bool) -> None:
        """Let a role of the server charge and read this ledger, or no longer."""
        raise ValueError("a ledger in a file has no roles: whoever may write the file may charge; see chmod")

    def close_connections(self) -> None:
        """Close what is held open between calls."""

    def _check_same(self, same: bool, there: bool) -> None:
        """Refuse a ledger that is not the one that was opened, or that has gone back since."""
        if not same:
            raise LedgerError(f"{self.path} is another ledger than the one that was opened; open it anew")
        if not there:
            raise damage_error(self.path, "entries have vanished since it was opened")

    def state(self) -> State:
        """Where it stands."""
        return self._read(lambda _, here: here)

    def charge(self, offers: Sequence[Offer]) -> tuple[State, int]:
        """Charge the first offer that fits; (where the ledger stands, which offer that was).

        Raises
        ------
        ApprovalNeeded
            in a ledger with approval, if no request for it was approved: the request is noted, if it is new.
        """
        check_signals()  # a signal that came while a library worked: nothing is charged then
        self.tried, terms = None, self.origin.terms
        which, waits = 0, None

        def work(session: Session, before: State) -> State:
            nonlocal which, waits
            which = rules.first_fitting(terms, before, [cost for cost, _ in offers])
            cost, said = offers[which]
            rules.check_neighbors(terms, before, said["unit"])
            rules.admit(terms, before, cost)
            after, waits = self._charge(session, before, cost, said)
            return after

        after = self._write(work)
        if waits is not None:
            raise ApprovalNeeded(self.path, waits)
        return after, which

    def refund(self, number: int, hash: str, spent: Amounts, said: str) -> State:
        """Give back what a charge has beyond `spent`: by what the ledger says of it, not by what memory does."""

        def work(session: Session, before: State) -> State:
            rows = self._rows(session, number, number)
            if [(row.hash, row.kind) for row in rows] != [(hash, "charge")]:
                raise ValueError(MISTAKES["SL005"])
            back = rules.refund_of(rows[0].amounts, spent, rows[0].refundable.split())
            return self._refund(session, before, rows[0], back, said)

        return self._write(work)

    def approve(self, request: object) -> None:
        """Note that the user who runs this approves a request of another one."""
        if type(request) is not int or not 1 <= request <= MOST_ENTRIES:
            raise bad_value(MISTAKES["SL008"])
        self._write(lambda session, before: self._approve(session, before, request), number=request)

    def close(self, kind: str, reason: str, target: str) -> None:
        """Charge nothing from now on. It is on the disk when this returns."""
        self._write(lambda session, before: self._close(session, before, kind, reason, target), closed=kind == "moved")

    def after(self, number: int, most: int) -> list[LedgerEntry]:
        """The entries after the one with this number, at most so many, in order."""
        return self._read(lambda session, _: self._rows(session, number + 1, min(number + most, MOST_ENTRIES)))

    def newest(self, most: int) -> list[LedgerEntry]:
        """The last entries, in order."""

        def work(session: Session, here: State) -> list[LedgerEntry]:
            rows: list[LedgerEntry] = []
            while len(rows) < min(most, here.number):
                first = rows[-1].number + 1 if rows else here.number + 1 - min(most, here.number)
                more = self._rows(session, first, here.number)
                if not more:
                    raise damage_error(self.path, "entries are missing")
                rows += more
            return rows

        return self._read(work)

    def verify(self, head: str | None) -> int:
        """Return how many entries there are, if all follow from one another, and from a `head` that was kept, if any.

        Raises
        ------
        LedgerError
            naming the first entry that is wrong.
        """
        before = self.state()
        self.check_whole()
        walk = Replay(self.origin, self.path)
        present = head in (None, walk.here.head)
        while batch := self.after(walk.here.number, BATCH):
            walk.take(batch)
            present = present or any(entry.hash == head for entry in batch)
        if walk.here.number < before.number:
            raise damage_error(self.path, "entries vanished while it was read")
        now = self.state()
        if now.number == walk.here.number and not now.closed and now.neighbors != walk.here.neighbors:
            raise damage_error(self.path, "its neighboring relation is not that of its first charge that states one")
        if not present:
            raise damage_error(self.path, "entries after the head you kept have vanished")
        return walk.here.number
