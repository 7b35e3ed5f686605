"""A ledger's file as one object knows it: which one it is, and how it stood when it was last seen."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from sqlite3 import Connection
from typing import Any, TypeVar

from shortlist._signals import COMMAND
from shortlist.ledger import file as file
from shortlist.ledger.admission import admitted, check_neighbors, first_that_fits
from shortlist.ledger.approval import ApprovalNeeded, approve, approved, request_for
from shortlist.ledger.chain import LedgerEntry, Origin, State
from shortlist.ledger.errors import LedgerError, damaged
from shortlist.ledger.filter import ZERO, Amounts, refund_of
from shortlist.ledger.schema import check_schema
from shortlist.ledger.store import WORDS, Offer
from shortlist.ledger.turn import in_transaction

Found = TypeVar("Found")


class FileBook:
    """Reads and writes, each in one transaction in which the file is checked first."""

    __slots__ = ("origin", "path", "seen", "tried", "wait")

    def __init__(self, path: str, wait: float) -> None:
        self.path, self.wait = path, wait
        self.tried: State | None = None
        self.origin, self.seen = in_transaction(path, self._first_look, wait=wait)

    @property
    def name(self) -> str:
        """The name of the file, without its folder."""
        return os.path.basename(self.path)

    def state(self) -> State:
        """Where the file stands."""
        return in_transaction(self.path, self._checked, wait=self.wait)

    def read(self, work: Callable[[Connection], Found]) -> Found:
        """What there is in a file that was checked."""

        def checked(db: Connection) -> Found:
            self._checked(db)
            return work(db)

        return in_transaction(self.path, checked, wait=self.wait)

    def write(self, work: Callable[[Connection, State], State], *, closed: bool = False) -> State:
        """What `work` makes of the file as it stands; it is on the disk when this returns."""

        def checked(db: Connection) -> State:
            before = self._checked(db)
            if before.closed and not closed:
                raise LedgerError(f"{self.path} was closed for good and books nothing more: {before.closed}")
            return work(db, before)

        after = in_transaction(self.path, checked, write=True, wait=self.wait)
        self.seen = after  # what is returned is this call's own: another thread may write `seen` before it is read
        return after

    def charge(self, offers: Sequence[Offer]) -> tuple[State, int]:
        """Book a charge that fits; in a ledger with approval its request, if there is none that was approved."""
        COMMAND.check()  # a signal that came while a library worked: nothing is booked then
        self.tried, terms = None, self.origin.terms
        waiting: list[int] = []
        which = 0

        def work(db: Connection, before: State) -> State:
            nonlocal which
            waiting.clear()  # a try that found the file locked did not happen
            which = first_that_fits(terms, before, [cost for cost, _ in offers])
            cost, said = offers[which]
            check_neighbors(terms, before, said["unit"])
            amounts, total = admitted(terms, before, cost)
            price = cost.where(terms.limits)
            request = request_for(db, self.path, said, price) if terms.approval else None
            if terms.approval and (request is None or not approved(db, request)):
                waiting.append(before.number + 1 if request is None else request)
                request_row = {"kind": "request", "refund_of": None, **said}
                return before if request else file.append(db, before, price, before.total, **request_row)
            booked = {"kind": "charge", "refund_of": None, "request": request, **said}
            self.tried = file.append(db, before, amounts, total, **booked)
            return self.tried

        after = self.write(work)
        if waiting:
            raise ApprovalNeeded(self.path, waiting[-1])
        return after, which

    def refund(self, number: int, hash: str, spent: Amounts, said: str) -> State:
        """Give back what a charge has beyond `spent`: by what the file says of it, not by what memory does."""
        limits = self.origin.terms.limits

        def work(db: Connection, before: State) -> State:
            charge = file.open_charge(db, self.path, number, hash)
            back = refund_of(charge.amounts, spent, charge.refundable.split())
            if not (back.epsilon or back.curve):
                return before
            noted: dict[str, Any] = {name: getattr(charge, name) or "" for name in WORDS}
            noted |= {"kind": "refund", "guarantee": said, "refundable": "", "refund_of": charge.number}
            return file.append(db, before, back, (before.total - back).where(limits), **noted)

        return self.write(work)

    def approve(self, request: object) -> None:
        """Note that whoever runs this approves a request of somebody else."""
        self.write(lambda db, before: approve(db, self.path, before, request))

    def close(self, kind: str, reason: str, target: str) -> None:
        """Book nothing from now on. It is on the disk, and an older version refuses the file, when this returns."""
        noted: dict[str, Any] = {**dict.fromkeys(WORDS, ""), "purpose": reason, "source": target, "refund_of": None}

        def work(db: Connection, before: State) -> State:
            return file.append(db, before, ZERO, before.total, kind=kind, **noted)

        self.write(work, closed=kind == "moved")

    def after(self, number: int, most: int) -> list[LedgerEntry]:
        """The entries after the one with this number, at most so many, in order."""
        which = "WHERE number > ? ORDER BY number LIMIT ?", number, most
        return self.read(lambda db: file.read(db, self.path, *which))

    def newest(self, most: int) -> list[LedgerEntry]:
        """The last entries, in order."""
        return self.read(lambda db: file.read(db, self.path, "ORDER BY number DESC LIMIT ?", most))[::-1]

    def find(self, token: str) -> LedgerEntry | None:
        """The entry with this hash."""
        rows = self.read(lambda db: file.read(db, self.path, "WHERE hash = ?", token))
        return rows[0] if rows else None

    def booked_since(self, head: str) -> int | None:
        """The number of the entry that the last charge was to book, if it is there and came after `head`."""
        tried = self.tried
        if tried is None:
            return None

        def work(db: Connection) -> int | None:
            if not file.holds(db, tried):
                return None
            rows = db.execute("SELECT number FROM entries WHERE hash = ?", (head,)).fetchall()
            if not rows and head != self.origin.hash:
                raise ValueError("head must be one of this ledger: keep ledger.head before the charge")
            return tried.number if not rows or rows[0][0] < tried.number else None

        return self.read(work)

    def content(self) -> str:
        """The terms as they are hashed."""
        return self.read(lambda db: file.content(db, self.path))

    def check_whole(self) -> None:
        """Raise if SQLite finds the file's pages out of order."""
        if self.read(lambda db: db.execute("PRAGMA integrity_check(1)").fetchall()) != [("ok",)]:
            raise damaged(self.path, "its pages are not in order")

    def share(self, role: str, *, allowed: bool) -> None:
        """A file has no roles."""
        raise ValueError("a ledger in a file has no roles: whoever may write the file may charge; see chmod")

    def hang_up(self) -> None:
        """Nothing is held open between calls."""

    def _first_look(self, db: Connection) -> tuple[Origin, State]:
        check_schema(db, self.path)
        origin = file.origin(db, self.path)
        return origin, file.state(db, origin, self.path)

    def _checked(self, db: Connection) -> State:
        """Where the file stands, if it is still the one that was opened and has not gone back since."""
        seen = self.seen
        check_schema(db, self.path)
        if not file.is_of(db, self.origin, self.path):
            raise LedgerError(f"{self.path} is another ledger than the one that was opened; open it anew")
        if seen.number and not file.holds(db, seen):
            raise damaged(self.path, "entries have vanished since it was opened")
        self.seen = state = file.state(db, self.origin, self.path)
        return state
