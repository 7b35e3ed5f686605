"""A privacy budget that survives the process and that nobody can overdraw."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from sqlite3 import Connection
from typing import Any, Self

from shortlist.accounting.checked_numbers import count, number
from shortlist.accounting.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from shortlist.ledger import file as file
from shortlist.ledger.admission import admitted, first_with_room, left_of_terms, priced, spent_of
from shortlist.ledger.approval import WORDS, ApprovalNeeded, approve, approved, request_for
from shortlist.ledger.book import Book
from shortlist.ledger.file import LedgerEntry, State
from shortlist.ledger.filter import ZERO, Balance, Currency, kept_of, refund_of
from shortlist.ledger.replay import verified
from shortlist.ledger.reservation import Receipt, Reservation
from shortlist.ledger.schema import make
from shortlist.ledger.shares import share_of
from shortlist.ledger.standing import Standing
from shortlist.ledger.terms import Terms
from shortlist.ledger.turn import WAIT
from shortlist.ledger.words import check_text, checked_currencies, checked_last, checked_path
from shortlist.pages.ledger_page import write_ledger

__all__ = ["Ledger", "Receipt", "Reservation"]


class Ledger:
    """What has been spent of a budget, in one file, for any number of processes and threads.

    Promise: everything that is released against the ledger together keeps the budget, however each question was
    chosen after the answers before it; and no charge that was booked is ever forgotten, whatever crashes.

    Admission: the charges' deltas add up to at most the budget's share for them, and (a) their epsilons add up to at
    most epsilon, or (b) their rhos add up to at most the rho that converts to the budget. All sums are exact; the proof
    is in docs/ledger.md. `print(ledger)` says how it stands. `Ledger.open` is the same for a file that must be there.

    Parameters
    ----------
    path
        The file. If it is not there it is made, for the given budget.
    budget
        `PureDP`, `ZCDP` or `ApproxDP`. Left out, it is read from the file; another one than the file's is refused.
    split
        For `ApproxDP`: the share of delta kept for rule (b); the rest is for the charges' own deltas. Half, unless the
        first charge has more than the rest: then rule (a) goes alone, and all of delta is for the charges.
    order
        For `ApproxDP`: let rule (b) add up Renyi divergences of this one order instead of rhos.
    approval
        Whether each release waits until somebody with another user name has approved it (docs/ledger.md#approval).
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
    >>> print(ledger)
    booked: epsilon 0.5 of 3, 1 release; a charge of up to epsilon 2.5 would still be admitted
    >>> folder.cleanup()
    """

    __slots__ = ("_book", "_tried")

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        budget: Guarantee | None = None,
        split: float | None = None,
        order: float | None = None,
        approval: bool | None = None,
        wait: float = WAIT,
    ) -> None:
        place, patience = checked_path(path), number("wait", wait)
        self._tried: State | None = None
        if approval not in (None, False, True):
            raise TypeError("approval must be True or False")
        if budget is not None and not os.path.lexists(place):
            make(place, Terms.of(budget, split, order, bool(approval)))
        self._book = Book(place, patience)
        self.terms.check_same(budget, split, order, approval)

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
        return f"Ledger({self.path!r}, budget={self.budget})"

    def __str__(self) -> str:
        """How it stands, in one number."""
        return str(self.standing)

    @property
    def path(self) -> str:
        """Where the file is."""
        return self._book.path

    @property
    def terms(self) -> Terms:
        """Budget, split, order and exact limits, as fixed when the ledger was made."""
        return self._book.origin.terms

    @property
    def budget(self) -> Guarantee:
        """What all releases together keep."""
        return self.terms.budget

    @property
    def standing(self) -> Standing:
        """What is booked of the budget, in one number, and the largest pure charge that would be admitted now."""
        return Standing.of_state(self.terms, self._book.state())

    @property
    def spent(self) -> Balance:
        """The filter's sums, rounded up."""
        return spent_of(self.terms, self._book.state().total)

    @property
    def remaining(self) -> Balance:
        """What each rule still admits, rounded down."""
        return left_of_terms(self.terms, self._book.state().total)

    @property
    def head(self) -> str:
        """The hash of the last entry. Whoever has kept it can tell whether entries vanished: `verify(head=...)`."""
        return self._book.state().head

    def plan(self, releases: int, *, delta: float = 0.0) -> PureDP | ApproxDP | ZCDP:
        """What each of so many equal releases may spend, all of them together all that is left: a `budget=` for each.

        It is rounded down, so that they are all admitted, and one more, or a hair more each, is not (Theorem 219). It
        is an epsilon by rule (a), or a rho where rule (b) admits more. Nothing is booked: others may take the room.

        Parameters
        ----------
        releases
            How many there are to be.
        delta
            What each needs of its own beside that, as releases of names from the data do.

        Raises
        ------
        ValueError
            if nothing is left, or less delta than that.
        """
        n, own = count("releases", releases), number("delta", delta, below=1.0)
        return share_of(self.terms, self._book.state(), n, own)

    def charge(
        self, guarantee: Guarantee, *, purpose: str = "", mechanism: str = "", unit: str = "", source: str = ""
    ) -> None:
        """Book what is going to be released, or elsewhere, before its output is seen. It is on the disk then.

        `guarantee` is what it costs; `purpose`, `mechanism`, `unit` and `source` (which table and columns) are words
        that are noted with it.

        Raises
        ------
        BudgetExceeded
            if there is no room: nothing is booked.
        ApprovalNeeded
            if somebody else must approve it first: nothing is booked but the request.
        ValueError
            if a guarantee of this kind cannot be counted against this budget, with the reason.
        LedgerError
            if the file cannot be used.
        """
        self.reserve(guarantee, purpose=purpose, mechanism=mechanism, unit=unit, source=source)

    def reserve(
        self,
        guarantee: Guarantee,
        *,
        refundable: Iterable[Currency] = (),
        purpose: str = "",
        mechanism: str = "",
        unit: str = "",
        source: str = "",
    ) -> Reservation:
        """Book the worst case, part of which may come back when the output shows that it was not used.

        `refundable` names the currencies in which the refund is proved: "pure" if the log ratio of every output is at
        most its own cost, "zcdp" if unused rounds are rounds that were not run (Theorem 38). In the others nothing
        comes back; a delta never does.
        """
        self._tried = None
        texts = {"purpose": purpose, "mechanism": mechanism, "unit": unit, "guarantee": repr(guarantee)}
        currencies, cost = checked_currencies(refundable), priced(self.terms, guarantee)
        for name, text in (texts | {"source": source}).items():
            check_text(name, text)
        said: dict[str, Any] = {**texts, "refundable": " ".join(currencies), "source": source, "refund_of": None}
        waiting: list[int] = []

        def work(db: Connection, before: State) -> State:
            waiting.clear()  # a try that found the file locked did not happen
            amounts, total = admitted(self.terms, before, cost)
            request = request_for(db, self.path, said) if self.terms.approval else None
            if self.terms.approval and (request is None or not approved(db, request)):
                waiting.append(before.number + 1 if request is None else request)
                return before if request else file.append(db, before, ZERO, before.total, kind="request", **said)
            self._tried = file.append(db, before, amounts, total, kind="charge", request=request, **said)
            return self._tried

        after = self._book.write(work)
        if waiting:
            raise ApprovalNeeded(self.path, waiting[-1])
        return Reservation(self, after.number, after.head, purpose, guarantee)

    def approve(self, request: int) -> None:
        """Approve the release that was asked for as entry `request`, as somebody else. It is noted in the chain.

        Whoever asked asks the same again, and it is released and charged.

        Raises
        ------
        ValueError
            if there is no such request, it was approved before, or the same user name asked for it.
        """
        self._book.write(lambda db, before: approve(db, self.path, before, request))

    def booked_since(self, head: str) -> int | None:
        """The number of the entry that the last `charge` or `reserve` of this object booked after `head`, or None.

        For whoever was interrupted in a charge and must say whether it counts: keep `head` before it, and ask after
        it. The file decides, not memory. One thread at a time may charge between the two.
        """
        return None if self._tried is None else self._book.number_since(head, self._tried)

    def if_charged(self, guarantee: Guarantee) -> tuple[Balance, Balance]:
        """(spent, remaining) as they would be after this charge. Nothing is booked, so others may take the room.

        Raises
        ------
        BudgetExceeded, ValueError, LedgerError
            as `charge` would.
        """
        total = admitted(self.terms, self._book.state(), priced(self.terms, guarantee))[1]
        return spent_of(self.terms, total), left_of_terms(self.terms, total)

    def standing_if(self, guarantee: Guarantee) -> Standing:
        """The `standing` as it would be after this charge; raises as `if_charged` does."""
        here, cost = self._book.state(), priced(self.terms, guarantee)
        after = replace(here, total=admitted(self.terms, here, cost)[1], charges=here.charges + 1)
        return Standing.of_state(self.terms, after)

    def with_room(self, *guarantees: Guarantee) -> Guarantee:
        """The first of `guarantees`, true statements of one release, that would be admitted now, or else the first."""
        return first_with_room(self.terms, self._book.state(), guarantees)

    def check(self, guarantee: Guarantee) -> None:
        """Raise as `charge` would, and book nothing. Others may charge in between: this promises no room."""
        self.if_charged(guarantee)

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
        return verified(self._book, head)

    def entries(self, last: int | None = None) -> list[LedgerEntry]:
        """The entries, oldest first; with `last`, the newest so many of them."""
        newest = "ORDER BY number DESC LIMIT ?", checked_last(last, file.MOST_ENTRIES)
        return self._book.read(lambda db: file.read(db, self.path, *newest))[::-1]

    def report(self, path: str | os.PathLike[str], *, title: str = "") -> None:
        """Write a page for whoever answers for the budget, and its table as CSV beside it (`q4.html`, `q4.csv`).

        Every release, who asked, what for, from which table and columns; what the whole budget can give away, and
        what is booked of it; what is left; and that the chain was verified. For its owner's eyes alone (mode 0600).

        Parameters
        ----------
        path
            The page, ending in `.html`.
        title
            Its heading; the name of the ledger if left out.
        """
        write_ledger(self, path, title)

    def _give_back(self, reservation: Reservation, cost: Guarantee) -> None:
        """Book the refund of a reservation, once: by what the file says of it, not by what memory does."""
        spent, said = kept_of(cost, self.terms.order).where(self.terms.limits), repr(cost)
        check_text("guarantee", said)

        def work(db: Connection, before: State) -> State:
            charge = file.open_charge(db, self.path, reservation.number, reservation.hash)
            back = refund_of(charge.amounts, spent, charge.refundable.split())
            if not (back.epsilon or back.curve):
                return before
            noted: dict[str, Any] = {name: getattr(charge, name) or "" for name in WORDS}
            noted |= {"kind": "refund", "guarantee": said, "refundable": "", "refund_of": charge.number}
            return file.append(db, before, back, (before.total - back).where(self.terms.limits), **noted)

        self._book.write(work)

    def _receipt(self, reservation: Reservation) -> Receipt:
        """From memory: the release stands, and must not fail if the file is gone by now."""
        seen, name, terms = self._book.seen, os.path.basename(self.path), self.terms
        spent, left = spent_of(terms, seen.total), left_of_terms(terms, seen.total)
        words = str(Standing.of_state(terms, seen))
        return Receipt(name, reservation.number, str(terms), spent, left, seen.head, reservation.purpose, words)
