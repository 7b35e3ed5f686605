"""A privacy budget that survives the process and that nobody can overdraw."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from sqlite3 import Connection
from typing import Self, TypeVar

from shortlist.accounting.checked_numbers import number
from shortlist.accounting.guarantees import Guarantee
from shortlist.ledger import file as file
from shortlist.ledger.file import LedgerEntry, Origin, State
from shortlist.ledger.filter import (
    Amounts,
    Balance,
    BudgetExceeded,
    Currency,
    balance,
    cost_of,
    fits,
    has_form,
    kept_of,
    left_of,
    refund_of,
)
from shortlist.ledger.replay import Replay
from shortlist.ledger.reservation import Receipt, Reservation
from shortlist.ledger.schema import check_schema, make
from shortlist.ledger.terms import Terms
from shortlist.ledger.turn import WAIT, LedgerError, damaged, in_transaction
from shortlist.ledger.words import check_text, checked_currencies, checked_last, checked_path

__all__ = ["Ledger", "Receipt", "Reservation"]

Found = TypeVar("Found")

_NEXT = "WHERE number > ? ORDER BY number LIMIT ?"
BATCH = 5_000
"""Entries that `verify` reads in one transaction: charges in between need not wait for it."""


class Ledger:
    """What has been spent of a budget, in one file, for any number of processes and threads.

    Promise: everything that is released against the ledger together keeps the budget, however each question was
    chosen after the answers before it; and no charge that was booked is ever forgotten, whatever crashes.

    Admission: the charges' deltas add up to at most the budget's share for them, and (a) their epsilons add up to at
    most epsilon, or (b) their rhos add up to at most the rho that converts to the budget. All sums are exact; the proof
    is in docs/ledger.md. `Ledger.open` is the same for a file that must be there: one that was lost is then missed.

    Parameters
    ----------
    path
        The file. If it is not there it is made, for the given budget.
    budget
        `PureDP`, `ZCDP` or `ApproxDP`. Left out, it is read from the file; another one than the file's is refused.
    split
        For `ApproxDP`: the share of delta kept for conversion; the rest is for the charges' own deltas. Half.
    order
        For `ApproxDP`: let rule (b) add up Renyi divergences of this one order instead of rhos.
    wait
        How many seconds each call waits, at most, for others that hold the file; an interrupt ends the wait at once.

    Raises
    ------
    LedgerError
        if the file cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> from shortlist import PureDP
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/year.db", budget=PureDP(3.0))
    >>> ledger.charge(PureDP(0.5), purpose="weekly chart")
    >>> ledger.spent, ledger.remaining
    (Balance(epsilon=0.5, delta=0.0), Balance(epsilon=2.5, delta=0.0))
    >>> folder.cleanup()
    """

    __slots__ = ("_origin", "_path", "_seen", "_tried", "_wait")

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        budget: Guarantee | None = None,
        split: float | None = None,
        order: float | None = None,
        wait: float = WAIT,
    ) -> None:
        self._path, self._wait = checked_path(path), number("wait", wait)
        self._tried: State | None = None
        if budget is not None and not os.path.lexists(self._path):
            make(self._path, Terms.of(budget, split, order))
        self._origin, self._seen = in_transaction(self._path, self._first_look, wait=self._wait)
        self._origin.terms.check_same(budget, split, order)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        budget: Guarantee | None = None,
        split: float | None = None,
        order: float | None = None,
        wait: float = WAIT,
    ) -> Self:
        """A ledger that is there already. It is never made; terms that are given are compared with the file's.

        Raises
        ------
        LedgerError
            if there is no such file, or it cannot be used.
        ValueError
            if its terms are others.
        """
        ledger = cls(path, wait=wait)
        ledger.terms.check_same(budget, split, order)
        return ledger

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is held open between calls."""

    def __repr__(self) -> str:
        return f"Ledger({self._path!r}, budget={self.budget})"

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._path

    @property
    def terms(self) -> Terms:
        """Budget, split, order and exact limits, as fixed when the ledger was made."""
        return self._origin.terms

    @property
    def budget(self) -> Guarantee:
        """What all releases together keep."""
        return self.terms.budget

    @property
    def spent(self) -> Balance:
        """The filter's sums, rounded up."""
        return self._balance(self._state().total)

    @property
    def remaining(self) -> Balance:
        """What each rule still admits, rounded down."""
        return self._left(self._state().total)

    @property
    def head(self) -> str:
        """The hash of the last entry. Whoever has kept it can tell whether entries vanished: `verify(head=...)`."""
        return self._state().head

    def charge(self, guarantee: Guarantee, *, purpose: str = "", mechanism: str = "", unit: str = "") -> None:
        """Book what is going to be released, or was released elsewhere. It is on the disk when this returns.

        `guarantee` is what it costs; `purpose`, `mechanism` and `unit` are words that are noted with it.

        Raises
        ------
        BudgetExceeded
            if there is no room: nothing is booked.
        ValueError
            if a guarantee of this kind cannot be counted against this budget, with the reason.
        LedgerError
            if the file cannot be used.
        """
        self.reserve(guarantee, purpose=purpose, mechanism=mechanism, unit=unit)

    def reserve(
        self,
        guarantee: Guarantee,
        *,
        refundable: Iterable[Currency] = (),
        purpose: str = "",
        mechanism: str = "",
        unit: str = "",
    ) -> Reservation:
        """Book the worst case, part of which may come back when the output shows that it was not used.

        `refundable` names the currencies in which the refund is proved: "pure" if the log ratio of every output is at
        most its own cost, "zcdp" if unused rounds are rounds that were not run (Theorem 38). In the others nothing
        comes back; a delta never does.
        """
        self._tried = None
        texts = {"purpose": purpose, "mechanism": mechanism, "unit": unit, "guarantee": repr(guarantee)}
        currencies, cost = checked_currencies(refundable), self._priced(guarantee)
        for name, text in texts.items():
            check_text(name, text)
        said = {**texts, "kind": "charge", "refundable": " ".join(currencies), "refund_of": None}

        def work(db: Connection) -> State:
            before = self._checked_state(db)
            self._check_room(before.total, cost)
            self._tried = file.append(db, before, cost, before.total + cost, **said)
            return self._tried

        self._seen = after = in_transaction(self._path, work, write=True, wait=self._wait)
        return Reservation(self, after.number, after.head, purpose)

    def booked_since(self, head: str) -> int | None:
        """The number of the entry that the last `charge` or `reserve` of this object booked after `head`, or None.

        For whoever was interrupted in a charge and must say whether it counts: keep `head` before it, and ask after
        it. The file decides, not memory. One thread at a time may charge between the two.
        """
        tried = self._tried

        def work(db: Connection) -> int | None:
            self._checked_state(db)
            if tried is None or not file.holds(db, tried):
                return None
            rows = db.execute("SELECT number FROM entries WHERE hash = ?", (head,)).fetchall()
            if not rows and head != self._origin.hash:
                raise ValueError("head must be one of this ledger: keep ledger.head before the charge")
            return tried.number if not rows or rows[0][0] < tried.number else None

        return in_transaction(self._path, work, wait=self._wait)

    def if_charged(self, guarantee: Guarantee) -> tuple[Balance, Balance]:
        """(spent, remaining) as they would be after this charge. Nothing is booked, so others may take the room.

        Raises
        ------
        BudgetExceeded, ValueError, LedgerError
            as `charge` would.
        """
        cost, before = self._priced(guarantee), self._state().total
        self._check_room(before, cost)
        return self._balance(before + cost), self._left(before + cost)

    def check(self, guarantee: Guarantee) -> None:
        """Raise as `charge` would, and book nothing. Others may charge in between: this promises no room."""
        self._check_room(self._state().total, self._priced(guarantee))

    def verify(self, head: str | None = None) -> int:
        """Read every entry again: the chain, the sums, the rule at every step. Returns how many entries there are.

        Parameters
        ----------
        head
            A `head` kept from earlier: it must still be in the chain. Only so are a cut tail and a restored backup
            found, whose chain is whole.

        Raises
        ------
        LedgerError
            naming the first entry that is wrong.
        """
        before = self._state()
        if self._read(lambda db: db.execute("PRAGMA integrity_check(1)").fetchall()) != [("ok",)]:
            raise damaged(self._path, "its pages are not in order")
        walk = Replay(self._origin, self._path)
        present = head in (None, walk.here.head)
        while batch := self._read(lambda db: file.read(db, self._path, _NEXT, walk.here.number, BATCH)):
            walk.take(batch)
            present = present or any(entry.hash == head for entry in batch)
        if walk.here.number < before.number:
            raise damaged(self._path, "entries vanished while it was read")
        if not present:
            raise damaged(self._path, "entries after the head you kept have vanished")
        return walk.here.number

    def entries(self, last: int | None = None) -> list[LedgerEntry]:
        """The entries, oldest first; with `last`, the newest so many of them."""
        most = checked_last(last, file.MOST_ENTRIES)
        return self._read(lambda db: file.read(db, self._path, "ORDER BY number DESC LIMIT ?", most))[::-1]

    def _give_back(self, reservation: Reservation, kept: Guarantee) -> None:
        """Book the refund of a reservation, once: by what the file says of it, not by what memory does."""
        spent, said = kept_of(kept, self.terms.order).where(self.terms.limits), repr(kept)
        check_text("guarantee", said)

        def work(db: Connection) -> State:
            before = self._checked_state(db)
            charge = file.open_charge(db, self._path, reservation.number, reservation.hash)
            back = refund_of(charge.amounts, spent, charge.refundable.split())
            if not (back.epsilon or back.curve):
                return before
            texts = {"purpose": charge.purpose, "mechanism": charge.mechanism, "unit": charge.unit}
            total = (before.total - back).where(self.terms.limits)
            refund = {"kind": "refund", "guarantee": said, "refundable": "", "refund_of": charge.number}
            return file.append(db, before, back, total, **texts, **refund)

        self._seen = in_transaction(self._path, work, write=True, wait=self._wait)

    def _priced(self, guarantee: Guarantee) -> Amounts:
        """The cost in this ledger's currencies, or the reason why there is none."""
        terms, cost = self.terms, cost_of(guarantee, self.terms.order)
        if has_form(terms.limits, cost):
            return cost.where(terms.limits)
        if cost.delta and not terms.limits.delta:
            reason = "it has a delta, and this ledger keeps none for the charges' own"
        else:
            reason = guarantee.why_not() or "there is no such form"
            reason += "; for a budget with a delta, charge its pair at one fixed beforehand: guarantee.as_approx(1e-8)"
        raise ValueError(f"{guarantee} cannot be counted against {terms}: {reason}")

    def _check_room(self, spent: Amounts, cost: Amounts) -> None:
        if not fits(self.terms.limits, spent + cost):
            raise BudgetExceeded(self._balance(cost), self._balance(spent), self._left(spent))

    def _state(self) -> State:
        return in_transaction(self._path, self._checked_state, wait=self._wait)

    def _read(self, work: Callable[[Connection], Found]) -> Found:
        """What there is in a file that was checked, in one transaction."""

        def checked(db: Connection) -> Found:
            self._checked_state(db)
            return work(db)

        return in_transaction(self._path, checked, wait=self._wait)

    def _first_look(self, db: Connection) -> tuple[Origin, State]:
        check_schema(db, self._path)
        origin = Origin.read(db, self._path)
        return origin, file.state(db, origin, self._path)

    def _checked_state(self, db: Connection) -> State:
        """Where the file stands, if it is still the one that was opened and has not gone back since."""
        seen = self._seen
        check_schema(db, self._path)
        if not self._origin.is_in(db, self._path):
            raise LedgerError(f"{self._path} is another ledger than the one that was opened; open it anew")
        if seen.number and not file.holds(db, seen):
            raise damaged(self._path, "entries have vanished since it was opened")
        self._seen = state = file.state(db, self._origin, self._path)
        return state

    def _receipt(self, reservation: Reservation) -> Receipt:
        """From memory: the release stands, and must not fail if the file is gone by now."""
        seen, name = self._seen, os.path.basename(self._path)
        spent, left = self._balance(seen.total), self._left(seen.total)
        return Receipt(name, reservation.number, str(self.terms), spent, left, seen.head, reservation.purpose)

    def _balance(self, amounts: Amounts) -> Balance:
        return balance(amounts, self.terms.order)

    def _left(self, total: Amounts) -> Balance:
        return balance(left_of(self.terms.limits, total), self.terms.order, left=True)
