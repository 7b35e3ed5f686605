"""A ledger on a server as one object knows it: which one it is, and how it stood when it was last seen."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

from shortlist._signals import COMMAND
from shortlist._version import version
from shortlist.ledger.admission import admitted, check_neighbors, first_that_fits
from shortlist.ledger.approval import ApprovalNeeded
from shortlist.ledger.chain import FACTS, MOST_ENTRIES, NAMES, RELATIONS, Ends, LedgerEntry, Origin, State, entry_of
from shortlist.ledger.errors import LedgerError, OutcomeUnknown, damaged
from shortlist.ledger.filter import Amounts, refund_of
from shortlist.ledger.server.address import Address
from shortlist.ledger.server.line import Failed, Line, Lines, booked, patiently, rows_of, together
from shortlist.ledger.server.schema import NEWEST, Making, share, terms_of
from shortlist.ledger.store import Offer
from shortlist.ledger.terms import Terms

Found = TypeVar("Found")

COLUMNS = ", ".join(f'"{name}"' for name in (*NAMES, *FACTS))
ENTRY = ", ".join(f'(booked.entry)."{name}"' for name in (*NAMES, *FACTS))
TEXTS = ("mechanism", "guarantee", "purpose", "unit", "version", "refundable", "who", "source")
"""Columns that hold JSON strings."""
SAID = ("guarantee", "mechanism", "purpose", "unit", "refundable", "source")
MISTAKES = {
    "SL005": "this reservation is not in the ledger: refund what reserve returned, as the role that reserved",
    "SL006": "this reservation was refunded already: a refund is given once",
    "SL007": "kept must not be more than was reserved: reserve the worst case before the call",
    "SL008": "request must be the number of an entry that asks for approval: see `shortlist ledger show`",
    "SL009": "entry {number} was approved already",
    "SL010": "entry {number} must be approved by another user than the one who asked",
    "SL011": "somebody has just charged this ledger for other neighbors than this charge is for; ask again to see them",
}
"""What a caller did wrong, by the server's code."""


class OldSchemaError(LedgerError):
    """A ledger that its owner has to upgrade first."""


class ServerBook:
    """Reads in one round trip, writes in two; both look first whether it is the ledger that was opened."""

    __slots__ = ("_address", "_lines", "_number", "origin", "path", "seen", "tried", "wait")

    def __init__(self, address: Address, wait: float) -> None:
        self._address, self._lines = address, Lines(address)
        self.path, self.wait = str(address), wait
        self.tried: str | None = None
        self.origin, self.seen, self._number = patiently(self.path, wait, lambda: self._lines.use(self._first_look))

    @classmethod
    def at(cls, url: str, wait: float, terms: Callable[[], Terms] | None) -> Self:
        """The ledger there; if there is none, it is made with these terms, by whoever may.

        An owner who opens a ledger of an older schema upgrades it.
        """
        address = Address.of(url)
        making = Making(address, wait)
        if terms is not None:
            making.unless_there(terms)
        try:
            return cls(address, wait)
        except OldSchemaError:
            if not making.upgraded():
                raise
        return cls(address, wait)

    @property
    def name(self) -> str:
        """The name of the ledger on its server."""
        return self._address.name

    def state(self) -> State:
        """Where it stands."""
        return self._patiently(self._checked)

    def charge(self, offers: Sequence[Offer]) -> tuple[State, int]:
        """Book a charge that fits, in the server, which decides (Proposition 261); here are the words of a refusal."""
        COMMAND.check()  # a signal that came while a library worked: nothing is booked then
        self.tried, terms, which = None, self.origin.terms, 0

        def work(line: Line, before: State, token: str) -> tuple[LedgerEntry | None, State | None]:
            nonlocal which
            which = first_that_fits(terms, before, [cost for cost, _ in offers])
            cost, said = offers[which]
            check_neighbors(terms, before, said["unit"])
            admitted(terms, before, cost)
            self.tried = token
            words = [*(json.dumps(said[name]) for name in SAID), json.dumps(version()), *cost.as_text()]
            return self._booked(line, "charge", token, *words)

        entry, after = self._write(work)
        if entry is None:  # others took the room between the look and the booking
            admitted(terms, self.state(), offers[which][0])
            raise LedgerError(f"{self.path} has no room for this now, or the server counts otherwise than shortlist")
        if entry.kind == "request" or after is None:
            raise ApprovalNeeded(self.path, entry.number)
        return after, which

    def refund(self, number: int, hash: str, spent: Amounts, said: str) -> State:
        """Give back what a charge has beyond `spent`, by what the server has of it."""

        def work(line: Line, before: State, token: str) -> State:
            rows = self._rows(line, "rows_between", number, number)
            if [(row.hash, row.kind) for row in rows] != [(hash, "charge")]:
                raise ValueError(MISTAKES["SL005"])
            back = refund_of(rows[0].amounts, spent, rows[0].refundable.split())
            epsilon, curve, _delta = back.as_text()
            words = (number, hash, json.dumps(said), json.dumps(version()), epsilon, curve)
            if not (back.epsilon or back.curve):
                return before
            return self._booked(line, "refund", token, *words)[1] or before

        return self._write(work)

    def approve(self, request: object) -> None:
        """Note that this session's role approves a request of another one."""
        if type(request) is not int or not 1 <= request <= MOST_ENTRIES:
            raise ValueError(MISTAKES["SL008"])
        words = (request, json.dumps(version()))
        self._write(lambda line, _, token: self._booked(line, "approve", token, *words), number=request)

    def close(self, kind: str, reason: str, target: str) -> None:
        """Book nothing from now on; only the owner may."""
        words = [json.dumps(text) for text in (reason, target, version())]
        self._write(lambda line, _, token: self._booked(line, kind, token, *words))

    def after(self, number: int, most: int) -> list[LedgerEntry]:
        """The entries after the one with this number, at most so many, in order."""
        return self._read(
            lambda line, _: self._rows(line, "rows_between", number + 1, min(number + most, MOST_ENTRIES))
        )

    def newest(self, most: int) -> list[LedgerEntry]:
        """The last entries, in order. A server gives long entries in several parts."""

        def work(line: Line, here: State) -> list[LedgerEntry]:
            rows: list[LedgerEntry] = []
            while len(rows) < min(most, here.number):
                first = rows[-1].number + 1 if rows else here.number + 1 - min(most, here.number)
                more = self._rows(line, "rows_between", first, here.number)
                if not more:
                    raise damaged(self.path, "entries are missing")
                rows += more
            return rows

        return self._read(work)

    def find(self, token: str) -> LedgerEntry | None:
        """The entry with this hash, or that this token became; if none did, none ever will."""
        if len(token) == 32:
            rows = self._patiently(lambda line: self._rows(line, "find", token))
        else:
            rows = self._read(lambda line, _: self._rows(line, "with_hash", token))
        return rows[0] if rows else None

    def booked_since(self, head: str) -> int | None:
        """The number of the entry that the last charge was to book, if it is there and came after `head`."""
        entry = None if self.tried is None else self.find(self.tried)
        if entry is None or entry.kind != "charge":
            return None
        then = self.find(head) if len(head) == 64 else None
        if then is None and head != self.origin.hash:
            raise ValueError("head must be one of this ledger: keep ledger.head before the charge")
        return entry.number if then is None or then.number < entry.number else None

    def check_whole(self) -> None:
        """Nothing: the server looks after its pages, where they have checksums."""

    def share(self, role: str, *, allowed: bool) -> None:
        """Let a role charge and read this ledger, or no longer."""
        if not isinstance(role, str) or not role or "\0" in role or role == "public":  # "public" would be everybody
            raise ValueError('role must be the name of a role of the server, for example "analyst"')
        self._patiently(lambda line: share(line, self._number, role, allowed))

    def hang_up(self) -> None:
        """Close the connections that are kept."""
        self._lines.hang_up()

    def _patiently(self, work: Callable[[Line], Found]) -> Found:
        return patiently(self.path, self.wait, lambda: self._lines.use(work))

    def _read(self, work: Callable[[Line, State], Found]) -> Found:
        return self._patiently(lambda line: work(line, self._checked(line)))

    def _write(self, work: Callable[[Line, State, str], Found], *, number: int = 0) -> Found:
        """What `work` books, under a token of its own.

        Raises
        ------
        OutcomeUnknown
            if the connection was cut while the server booked.
        """
        token = secrets.token_hex(16)

        def once(line: Line) -> Found:
            before = self._checked(line)
            if before.closed:
                raise LedgerError(f"{self.path} was closed for good and books nothing more: {before.closed}")
            return work(line, before, token)

        def tried() -> Found | Failed:
            try:
                return self._lines.use(once)
            except Failed as failed:
                if failed.code != "unknown" and failed.code not in MISTAKES:
                    raise
                return failed

        answer = patiently(self.path, self.wait, tried)
        if not isinstance(answer, Failed):
            return answer
        if answer.code == "unknown":
            raise OutcomeUnknown(self.path, token)
        raise ValueError(MISTAKES[answer.code].format(number=number))

    def _booked(self, line: Line, function: str, token: str, *words: object) -> tuple[LedgerEntry | None, State | None]:
        """(the entry, where the ledger stands after it), checked as if it were read; no state: it was there before."""
        marks = ", ".join(["%s"] * (2 + len(words)))
        query = f"SELECT {ENTRY}, (booked.entry).charges, booked.previous FROM shortlist.{function}({marks}) AS booked"
        *row, charges, previous = booked(line, self._number, query, (self.name, token, *words))
        if row[0] is None:
            return None, None
        entry = self._entry(tuple(row))
        if previous is None:
            return entry, None
        if entry.hash != entry.chained(previous):
            raise damaged(self.path, f"entry {entry.number} was booked, but does not follow the entry before it")
        after = State.after(entry, charges, self.seen.neighbors)
        self.seen = after  # what is returned is this call's own: another thread may write `seen` before it is read
        return entry, after

    def _first_look(self, line: Line) -> tuple[Origin, State, int]:
        look, ends = self._looked(line, 0)
        number, content, start, limits, approval = look[1:6]
        origin = Origin.of(content, self.path)
        terms = origin.terms
        if (start, limits, approval, look[8]) != (origin.hash, terms_of(terms), terms.approval, terms.mixed):
            raise damaged(self.path, "the limits that the server checks are not those of its terms")
        return origin, self._stands(origin, ends, look[9]), number

    def _checked(self, line: Line) -> State:
        """Where the ledger stands, if it is still the one that was opened and has not gone back since."""
        seen = self.seen
        look, ends = self._looked(line, seen.number)
        if (look[1], look[3]) != (self._number, self.origin.hash):
            raise LedgerError(f"{self.path} is another ledger than the one that was opened; open it anew")
        if seen.number and look[6] != seen.head:
            raise damaged(self.path, "entries have vanished since it was opened")
        self.seen = state = self._stands(self.origin, ends, look[9])
        return state

    def _looked(self, line: Line, seen: int) -> tuple[tuple[Any, ...], list[tuple[Any, ...]]]:
        look, ends = together(
            line,
            [
                ("SELECT * FROM shortlist.look(%s, %s)", (self.name, seen)),
                (f"SELECT {COLUMNS}, charges FROM shortlist.ends(%s)", (self.name,)),
            ],
        )
        if look[0][0] != NEWEST:
            older = look[0][0] < NEWEST
            todo = "its owner opens it once, which upgrades it" if older else "upgrade to use it"
            refused = OldSchemaError if older else LedgerError
            raise refused(f"{self.path} is of schema {look[0][0]}, not {NEWEST} as this version's: {todo}")
        if not look[0][7]:
            raise LedgerError(f"{self.path} cannot be trusted: its server does not sync what it commits (fsync is off)")
        return look[0], ends

    def _stands(self, origin: Origin, ends: list[tuple[Any, ...]], neighbors: str | None) -> State:
        """By the last entry, and what the server counts up to it. A long first entry is left to `verify`."""
        if neighbors not in (None, *RELATIONS):
            raise damaged(self.path, "the neighboring relation that it keeps to cannot be read")
        if not ends:
            return origin.start
        entries = {entry.number: entry for entry in (self._entry(row[:-1]) for row in ends)}
        last = entries[max(entries)]
        if last.number > 1 and last.number - 1 not in entries:
            raise damaged(self.path, "entries are missing")
        refunded = None if last.refund_of is None else entries.get(last.refund_of)
        both = Ends(entries.get(1), entries.get(last.number - 1), last, refunded)
        return origin.stands(both, ends[-1][-1], self.path, neighbors or "")

    def _rows(self, line: Line, function: str, *words: object) -> list[LedgerEntry]:
        marks = ", ".join(["%s"] * (1 + len(words)))
        query = f"SELECT {COLUMNS} FROM shortlist.{function}({marks})"
        return [self._entry(row) for row in rows_of(line, query, (self.name, *words))]

    def _entry(self, row: tuple[Any, ...]) -> LedgerEntry:
        columns = dict(zip((*NAMES, *FACTS), row, strict=True))
        try:
            texts = {name: json.loads(columns[name]) for name in TEXTS if columns[name] is not None}
        except (ValueError, TypeError):
            raise damaged(self.path, f"entry {columns['number']} is not what a ledger writes") from None
        return entry_of(tuple({**columns, **texts}.values()), self.path)
