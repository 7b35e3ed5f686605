"""A ledger's file as one object knows it: which one it is, and how it stood when it was last seen."""

from __future__ import annotations

from collections.abc import Callable
from sqlite3 import Connection
from typing import TypeVar

from shortlist.ledger import file as file
from shortlist.ledger.file import Origin, State
from shortlist.ledger.schema import check_schema
from shortlist.ledger.turn import LedgerError, damaged, in_transaction

Found = TypeVar("Found")


class Book:
    """Reads and writes, each in one transaction in which the file is checked first."""

    __slots__ = ("origin", "path", "seen", "wait")

    def __init__(self, path: str, wait: float) -> None:
        self.path, self.wait = path, wait
        self.origin, self.seen = in_transaction(path, self._first_look, wait=wait)

    def state(self) -> State:
        """Where the file stands."""
        return in_transaction(self.path, self._checked, wait=self.wait)

    def read(self, work: Callable[[Connection], Found]) -> Found:
        """What there is in a file that was checked."""

        def checked(db: Connection) -> Found:
            self._checked(db)
            return work(db)

        return in_transaction(self.path, checked, wait=self.wait)

    def write(self, work: Callable[[Connection, State], State]) -> State:
        """What `work` makes of the file as it stands; it is on the disk when this returns."""
        self.seen = in_transaction(self.path, lambda db: work(db, self._checked(db)), write=True, wait=self.wait)
        return self.seen

    def number_since(self, head: str, tried: State) -> int | None:
        """The number of the entry that was to be the last one of `tried`, if it is there and came after `head`."""

        def work(db: Connection) -> int | None:
            if not file.holds(db, tried):
                return None
            rows = db.execute("SELECT number FROM entries WHERE hash = ?", (head,)).fetchall()
            if not rows and head != self.origin.hash:
                raise ValueError("head must be one of this ledger: keep ledger.head before the charge")
            return tried.number if not rows or rows[0][0] < tried.number else None

        return self.read(work)

    def _first_look(self, db: Connection) -> tuple[Origin, State]:
        check_schema(db, self.path)
        origin = Origin.read(db, self.path)
        return origin, file.state(db, origin, self.path)

    def _checked(self, db: Connection) -> State:
        """Where the file stands, if it is still the one that was opened and has not gone back since."""
        seen = self.seen
        check_schema(db, self.path)
        if not self.origin.is_in(db, self.path):
            raise LedgerError(f"{self.path} is another ledger than the one that was opened; open it anew")
        if seen.number and not file.holds(db, seen):
            raise damaged(self.path, "entries have vanished since it was opened")
        self.seen = state = file.state(db, self.origin, self.path)
        return state
