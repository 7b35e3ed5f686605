"""A charge that was booked: which entry it is, and how the ledger stood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shortlist.accounting.guarantees import Guarantee
from shortlist.ledger.admission import left_of_terms, spent_of
from shortlist.ledger.chain import LedgerEntry, State
from shortlist.ledger.filter import Balance, kept_of
from shortlist.ledger.standing import Standing
from shortlist.ledger.store import Store
from shortlist.ledger.words import checked_text, checked_token

if TYPE_CHECKING:
    from shortlist.ledger.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Receipt:
    """Where a charge was booked, and how the ledger stood right after it. Public: it says nothing of the data.

    Parameters
    ----------
    ledger
        The name of the file, without its folder.
    entry
        The number of the charge in it.
    budget
        The ledger's budget, in words.
    spent, remaining
        The balances right after the charge, or after its refund.
    head
        The hash of the last entry then.
    purpose
        What it was for.
    balance
        How the ledger stood right after it, in one number, in words.

    Examples
    --------
    >>> import tempfile
    >>> import shortlist as sl
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = sl.Ledger(f"{folder.name}/year.db", budget=sl.PureDP(3.0))
    >>> receipt = sl.select([9, 1], epsilon=0.5, ledger=ledger, purpose="weekly chart").receipt
    >>> receipt.ledger, receipt.entry, receipt.remaining
    ('year.db', 1, Balance(epsilon=2.5, delta=0.0))
    >>> folder.cleanup()
    """

    ledger: str
    entry: int
    budget: str
    spent: Balance
    remaining: Balance
    head: str
    purpose: str
    balance: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """A worst case that was booked. If nothing is refunded, or the process dies, it stays spent.

    It only says which entry that is: what may come back is decided by the file. `Ledger.reserve` makes it.

    Parameters
    ----------
    number, hash
        Which entry it is.
    purpose
        What it was booked for.
    guarantee
        What was booked.

    Examples
    --------
    >>> import tempfile
    >>> from shortlist import Ledger, PureDP
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/year.db", budget=PureDP(3.0))
    >>> ledger.reserve(PureDP(1.0), refundable=("pure",)).refund(PureDP(0.25))
    >>> ledger.spent
    Balance(epsilon=0.25, delta=0.0)
    >>> folder.cleanup()
    """

    _ledger: Ledger
    number: int
    hash: str
    purpose: str
    guarantee: Guarantee
    _stood: State

    def receipt(self) -> Receipt:
        """This charge, and how the ledger stood right after it or after its refund.

        From memory: the release stands, and must not fail if the ledger is gone by now.
        """
        ledger, terms, here = self._ledger, self._ledger.terms, self._stood
        spent, left = spent_of(terms, here.total), left_of_terms(terms, here.total)
        words = str(Standing.of_state(terms, here))
        return Receipt(ledger.name, self.number, str(terms), spent, left, here.head, self.purpose, words)

    def refund(self, kept: Guarantee) -> None:
        """Give back what is booked beyond `kept`, in the currencies where that is proved; once.

        `kept` must follow from the released output alone, by a rule fixed before the call. `ExPost(epsilon, cost)`
        keeps `cost` of an epsilon, in the pure currency alone.

        Raises
        ------
        ValueError
            if more is kept than was reserved, or it was refunded before.
        """
        terms, book = self._ledger.terms, self._ledger._book
        spent = kept_of(kept, terms.order).where(terms.limits)
        after = book.refund(self.number, self.hash, spent, checked_text("guarantee", repr(kept)))
        object.__setattr__(self, "_stood", after)


def receipted_entry(book: Store, receipt: Receipt | str) -> LedgerEntry | None:
    """The entry that a receipt, a hash or a token belongs to; None if there is none."""
    if not isinstance(receipt, Receipt):
        return book.find(checked_token(receipt))
    entry = next(iter(book.after(receipt.entry - 1, 1)), None)
    same = entry is not None and (entry.number, entry.purpose) == (receipt.entry, receipt.purpose)
    return entry if same and book.find(checked_token(receipt.head)) is not None else None
