"""A privacy budget that survives the process and that nobody can overdraw."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Self

from shortlist.privacy import ledger_file as file
from shortlist.privacy.filter import (
    CURRENCIES,
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
from shortlist.privacy.guarantees import Guarantee
from shortlist.privacy.ledger_file import Entry, LedgerError, Origin, State
from shortlist.privacy.replay import replay
from shortlist.privacy.terms import Terms

LONGEST_PURPOSE = 10_000


class Ledger:
    """What has been spent of a budget, in one file, for any number of processes and threads.

    Promise: everything that is released against the ledger together keeps the budget, however each question was
    chosen after the answers before it; and no charge that was booked is ever forgotten, whatever crashes.

    Admission: the charges' deltas add up to at most the budget's share for them, and (a) their epsilons add up to at
    most epsilon, or (b) their rhos add up to at most the rho that converts to the budget. All sums are exact.

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

    Raises
    ------
    LedgerError
        if the file cannot be used.

    See docs/ledger.md for the proof.

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

    __slots__ = ("_origin", "_path", "_seen")

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        budget: Guarantee | None = None,
        split: float | None = None,
        order: float | None = None,
    ) -> None:
        if not isinstance(name := os.fspath(path), str):
            raise TypeError('path must be text, for example "budget.db"')
        self._path = os.path.abspath(name)
        if budget is not None and not os.path.lexists(self._path):
            file.make(self._path, Terms.of(budget, split, order))
        with file.transaction(self._path) as db:
            self._origin = Origin.read(db, self._path)
            self._seen = file.state(db, self._origin, self._path)
        self._origin.terms.check_same(budget, split, order)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is held open between calls, so there is nothing to close."""

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
        most its own cost (SPEC 11), "zcdp" if unused rounds are rounds that were not run (SPEC_UNKNOWN N2.6). In the
        others nothing comes back; a delta never does.
        """
        currencies = _checked_currencies(refundable)
        texts = {name: _checked_text(name, text) for name, text in
                 (("purpose", purpose), ("mechanism", mechanism), ("unit", unit))}  # fmt: skip
        cost = self._priced(guarantee)
        with file.transaction(self._path, write=True) as db:
            before = self._checked_state(db)
            total = before.total + cost
            self._check_room(before.total, cost)
            said = {"kind": "charge", "guarantee": repr(guarantee), "refundable": " ".join(currencies)}
            after = file.append(db, before, cost, total, refund_of=None, **texts, **said)
        self._seen = after
        return Reservation(self, after.number, cost, currencies, texts["purpose"])

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
        with file.transaction(self._path) as db:
            self._checked_state(db)
            if db.execute("PRAGMA quick_check").fetchone() != ("ok",):
                raise file.damaged(self._path, "its pages are not in order")
            entries = file.read(db, "ORDER BY number")
        replay(self._origin, entries, self._path)
        if head is not None and head not in (self._origin.hash, *(entry.hash for entry in entries)):
            raise file.damaged(self._path, "entries after the head you kept have vanished")
        return len(entries)

    def entries(self, last: int | None = None) -> list[Entry]:
        """The entries, oldest first; with `last`, the newest so many of them."""
        with file.transaction(self._path) as db:
            self._checked_state(db)
            return file.read(db, "ORDER BY number DESC LIMIT ?", -1 if last is None else last)[::-1]

    def _give_back(self, reservation: Reservation, kept: Guarantee) -> None:
        """Book the refund of a reservation, once."""
        limits = self.terms.limits
        spent = kept_of(kept, self.terms.order).where(limits)
        refund = refund_of(reservation.cost, spent, reservation.refundable)
        if not (refund.epsilon or refund.curve):
            return
        with file.transaction(self._path, write=True) as db:
            before = self._checked_state(db)
            (reserved,) = file.read(db, "WHERE number = ?", reservation.number)
            if file.read(db, "WHERE refund_of = ?", reservation.number):
                raise ValueError("this reservation was refunded already: a refund is given once")
            texts = {"purpose": reserved.purpose, "mechanism": reserved.mechanism, "unit": reserved.unit}
            said = {"kind": "refund", "guarantee": repr(kept), "refundable": ""}
            total = (before.total - refund).where(limits)
            after = file.append(db, before, refund, total, refund_of=reserved.number, **texts, **said)
        self._seen = after

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
        with file.transaction(self._path) as db:
            return self._checked_state(db)

    def _checked_state(self, db: Connection) -> State:
        """Where the file stands, if it is still the one that was opened and has not gone back since."""
        seen = self._seen
        if Origin.read(db, self._path).hash != self._origin.hash:
            raise LedgerError(f"{self._path} is another ledger than the one that was opened; open it anew")
        if seen.number:
            rows = db.execute("SELECT hash FROM entries WHERE number = ?", (seen.number,)).fetchall()
            if rows != [(seen.head,)]:
                raise file.damaged(self._path, "entries have vanished since it was opened")
        found = file.state(db, self._origin, self._path)
        self._seen = found
        return found

    def _receipt(self, reservation: Reservation) -> Receipt:
        """From memory: the release stands, and must not fail if the file is gone by now."""
        seen, name = self._seen, os.path.basename(self._path)
        spent, left = self._balance(seen.total), self._left(seen.total)
        return Receipt(name, reservation.number, str(self.terms), spent, left, seen.head, reservation.purpose)

    def _balance(self, amounts: Amounts) -> Balance:
        return balance(amounts, self.terms.order)

    def _left(self, total: Amounts) -> Balance:
        return balance(left_of(self.terms.limits, total), self.terms.order, left=True)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Where a charge was booked, and how the ledger stood right after it. Public: it says nothing of the data."""

    ledger: str
    """The name of the file, without its folder."""
    entry: int
    budget: str
    spent: Balance
    remaining: Balance
    head: str
    purpose: str


class Reservation:
    """A worst case that was booked. If nothing is refunded, or the process dies, it stays spent."""

    __slots__ = ("_ledger", "cost", "number", "purpose", "refundable")

    def __init__(
        self, ledger: Ledger, number: int, cost: Amounts, refundable: tuple[Currency, ...], purpose: str
    ) -> None:
        self._ledger, self.number, self.cost, self.refundable, self.purpose = ledger, number, cost, refundable, purpose

    def receipt(self) -> Receipt:
        """This charge, and how the ledger stood when it was last seen: after the charge or its refund."""
        return self._ledger._receipt(self)

    def refund(self, kept: Guarantee) -> None:
        """Give back what is booked beyond `kept`, in the currencies where that is proved; once.

        `kept` must follow from the released output alone, by a rule fixed before the call. `ExPost(epsilon, cost)`
        keeps `cost` of an epsilon, in the pure currency alone.

        Raises
        ------
        ValueError
            if more is kept than was reserved, or it was refunded before.
        """
        self._ledger._give_back(self, kept)


def _checked_currencies(refundable: Iterable[Currency]) -> tuple[Currency, ...]:
    asked = (refundable,) if isinstance(refundable, str) else tuple(refundable)
    if not set(asked) <= set(CURRENCIES):
        raise ValueError('refundable must name currencies: write refundable=("pure",) or ("pure", "zcdp")')
    return tuple(currency for currency in CURRENCIES if currency in asked)


def _checked_text(name: str, text: object) -> str:
    """Text that a file can hold."""
    if not isinstance(text, str):
        raise TypeError(f'{name} must be text: write {name}="weekly chart", for example')
    if name == "purpose" and len(text) > LONGEST_PURPOSE:
        raise ValueError(f"{name} must be at most {LONGEST_PURPOSE:,} characters: say it shorter")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} must be Unicode text: it holds half a surrogate pair") from None
    return text
