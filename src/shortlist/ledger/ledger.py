"""A privacy budget that survives the process and that nobody can overdraw."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Self

from shortlist._kind_words import kind_of_words
from shortlist.accounting.checked_numbers import count, number
from shortlist.accounting.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from shortlist.ledger.admission import after_charge, countable, first_with_room, left_of_terms, spent_of, within
from shortlist.ledger.chain import MOST_ENTRIES, LedgerEntry
from shortlist.ledger.closing import checked_reason, closed_words, left_here, open_state
from shortlist.ledger.filter import Balance, Currency
from shortlist.ledger.opening import opened
from shortlist.ledger.replay import verified
from shortlist.ledger.reservation import Receipt, Reservation, receipted_entry
from shortlist.ledger.shares import share_of
from shortlist.ledger.standing import Standing, in_words
from shortlist.ledger.terms import Terms
from shortlist.ledger.turn import WAIT
from shortlist.ledger.words import checked_last, checked_text, checked_words
from shortlist.pages.ledger_page import write_ledger

__all__ = ["Ledger", "Receipt", "Reservation"]


class Ledger:
    """What has been spent of a budget, in one file or on one server, for any number of processes and threads.

    Promise: everything that is released against the ledger together keeps the budget, however each question was
    chosen after the answers before it; and no charge that was booked is ever forgotten, whatever crashes.

    Admission: the charges' deltas add up to at most the budget's share for them, and (a) their epsilons add up to at
    most epsilon, or (b) their rhos add up to at most the rho that converts to the budget. All sums are exact; the proof
    is in docs/ledger.md. `print(ledger)` says how it stands. `Ledger.open` is the same for one that must be there.

    Parameters
    ----------
    path
        The file, or "postgresql://user@host/database?name=q4" for one that many machines share (docs/deploy.md). If it
        is not there it is made, for the given budget.
    budget
        `PureDP`, `ZCDP` or `ApproxDP`. Left out, it is read from the ledger; another one than that is refused.
    split
        For `ApproxDP`: the share of delta kept for rule (b); the rest is for the charges' own deltas. Half, unless the
        first charge has more than the rest: then rule (a) goes alone, and all of delta is for the charges.
    order
        For `ApproxDP`: let rule (b) add up Renyi divergences of this one order instead of rhos.
    approval
        Whether each release waits until somebody with another user name has approved it (docs/ledger.md#approval).
    allow_mixed_neighbors
        Add up charges for `neighbours="add-remove"` and for "replace", which is refused otherwise: their sum bounds
        neither (docs/ledger.md#neighbors).
    wait
        How many seconds each call waits, at most, for others that hold it; an interrupt ends the wait at once.

    Raises
    ------
    LedgerError
        if it cannot be used.

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

    __slots__ = ("_book",)

    @kind_of_words(
        "Ledger",
        epsilon="; write budget=PureDP(3.0), or budget=ApproxDP(3.0, 1e-6)",
        delta="; write budget=ApproxDP(3.0, 1e-6)",
        rho="; write budget=ZCDP(0.5)",
    )
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        budget: Guarantee | None = None,
        split: float | None = None,
        order: float | None = None,
        approval: bool | None = None,
        allow_mixed_neighbors: bool | None = None,
        wait: float = WAIT,
    ) -> None:
        patience, mixed = number("wait", wait), allow_mixed_neighbors
        terms = None if budget is None else lambda: Terms.of(budget, split, order, approval, mixed)
        self._book = opened(path, patience, terms)
        self.terms.check_same(budget, split, order, approval, mixed)

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
        """Hang up. The ledger may be used again: the next call opens what it needs."""
        self._book.hang_up()

    def __repr__(self) -> str:
        return f"Ledger({self.path!r}, budget={self.budget})"

    def __str__(self) -> str:
        """How it stands, in one number; of a closed one first that it is; below, its delta."""
        return in_words(self.terms, self.closed, self._book.state())

    @property
    def path(self) -> str:
        """Where it is: the file, or the server's address without any password."""
        return self._book.path

    @property
    def name(self) -> str:
        """In short: the name of the file without its folder, or that of the ledger on its server."""
        return self._book.name

    @property
    def terms(self) -> Terms:
        """Budget, split, order and exact limits, as fixed when the ledger was made."""
        return self._book.origin.terms

    @property
    def budget(self) -> Guarantee:
        """What all releases together keep."""
        return self.terms.budget

    @property
    def closed(self) -> str:
        """That it was closed for good, on which day and why, or where it goes on; empty for one that still books."""
        return closed_words(self._book)

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
        """What each rule still admits, rounded down; nothing once it is closed."""
        return left_here(self.terms, self._book.state())

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
        return share_of(self.terms, open_state(self._book), n, own)

    def charge(
        self, guarantee: Guarantee, *, purpose: str = "", mechanism: str = "", unit: str = "", source: str = ""
    ) -> None:
        """Book what is going to be released, here or elsewhere, before its output is seen. It is on the disk then.

        `guarantee` is what it costs; `purpose`, `mechanism`, `unit` and `source` (which table and columns) are words
        that are noted with it. End `unit` with "(add-remove)" or "(replace)" to state the neighboring relation: a
        charge that states none is added up without a check.

        Raises
        ------
        BudgetExceeded
            if there is no room: nothing is booked.
        ApprovalNeeded
            if somebody else must approve it first: nothing is booked but the request.
        ValueError
            if a guarantee of this kind cannot be counted against this budget, or it is for another neighboring relation
            than the charges before it, with the reason.
        OutcomeUnknown
            if a server was asked to book and the connection was cut: `find` settles it.
        LedgerError
            if the ledger cannot be used.
        """
        self.reserve(guarantee, purpose=purpose, mechanism=mechanism, unit=unit, source=source)

    def reserve(
        self,
        guarantee: Guarantee,
        *others: Guarantee,
        refundable: Iterable[Currency] = (),
        purpose: str = "",
        mechanism: str = "",
        unit: str = "",
        source: str = "",
    ) -> Reservation:
        """Book the worst case, part of which may come back when the output shows that it was not used.

        `others` are other true statements of the same release: the first of all that has room is booked (Theorem 223).
        `refundable` names the currencies in which the refund is proved: "pure" if the log ratio of every output is at
        most its own cost, "zcdp" if unused rounds are rounds that were not run (Theorem 38). In the others nothing
        comes back; a delta never does.
        """
        said = checked_words(refundable, purpose=purpose, mechanism=mechanism, unit=unit, source=source)
        counted = countable(self.terms, (guarantee, *others))
        offers = [(cost, {**said, "guarantee": checked_text("guarantee", repr(one))}) for one, cost in counted]
        after, which = self._book.charge(offers)
        return Reservation(self, after.number, after.head, purpose, counted[which][0], after)

    def approve(self, request: int) -> None:
        """Approve the release that was asked for as entry `request`, as somebody else. It is noted in the chain.

        Whoever asked asks the same again, and it is released and charged.

        Raises
        ------
        ValueError
            if there is no such request, it was approved before, or the same user name asked for it.
        """
        self._book.approve(request)

    def booked_since(self, head: str) -> int | None:
        """The number of the entry that the last `charge` or `reserve` of this object booked after `head`, or None.

        For whoever was interrupted in a charge: keep `head` before it, and ask after it. The ledger decides, not
        memory. One thread at a time may charge between the two.
        """
        return self._book.booked_since(head)

    def find(self, receipt: Receipt | str) -> LedgerEntry | None:
        """The entry of a `receipt`: a release's, an entry's hash or that of an `OutcomeUnknown`; None if there is none.

        None settles it: it was not booked and never will be, whatever of it is still under way to a server.
        """
        return receipted_entry(self._book, receipt)

    def close(self, reason: str | None = None) -> None:
        """End the budget for good: nothing is booked from now on, and the `reason` is noted. Only an owner may.

        Nothing needs closing: between two calls a ledger holds nothing open, and the charges are on the disk.
        """
        self._book.close("close", checked_reason(reason), "")

    def grant(self, role: str) -> None:
        """Let a `role` of the server charge and read, and nothing else. Only the owner may, and only on a server."""
        self._book.share(role, allowed=True)

    def revoke(self, role: str) -> None:
        """Take back what `grant` gave a `role`."""
        self._book.share(role, allowed=False)

    def if_charged(self, guarantee: Guarantee, *, unit: str = "") -> tuple[Balance, Balance]:
        """(spent, remaining) as they would be after this charge; raises as `charge` would. Nothing is booked."""
        total = after_charge(self.terms, open_state(self._book), guarantee, unit=unit).total
        return spent_of(self.terms, total), left_of_terms(self.terms, total)

    def standing_if(self, guarantee: Guarantee, *, unit: str = "") -> Standing:
        """The `standing` as it would be after this charge; raises as `if_charged` does."""
        return Standing.of_state(self.terms, after_charge(self.terms, open_state(self._book), guarantee, unit=unit))

    def with_room(self, *guarantees: Guarantee) -> Guarantee:
        """The first of `guarantees`, true statements of one release, that would be admitted now, or else the first."""
        return first_with_room(self.terms, self._book.state(), guarantees)

    def within(self, budget: PureDP | ApproxDP | ZCDP) -> PureDP | ApproxDP | ZCDP:
        """The budget, or what is left where only rounding parts them: a tenth 0.1 of 1 is 0.09999999999999995."""
        return within(self.terms, self._book.state(), budget)

    def check(self, guarantee: Guarantee, *others: Guarantee, unit: str = "", fresh: bool = True) -> None:
        """Raise as `reserve` of these would; it books nothing and promises no room.

        Parameters
        ----------
        guarantee, others
            True statements of one release, of which one must have room.
        unit
            Whose privacy, and by which neighboring relation, as in `charge`.
        fresh
            False goes by what this object saw last, without another look.
        """
        after_charge(self.terms, open_state(self._book, fresh=fresh), guarantee, *others, unit=unit)

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
        return self._book.newest(checked_last(last, MOST_ENTRIES))

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
