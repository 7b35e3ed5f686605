"""A charge that was booked: which entry it is, and how the ledger stood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from shortlist.privacy.filter import Balance
from shortlist.privacy.guarantees import Guarantee

if TYPE_CHECKING:
    from shortlist.privacy.ledger import Ledger


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


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """A worst case that was booked. If nothing is refunded, or the process dies, it stays spent.

    It only says which entry that is: what may come back is decided by the file.
    """

    _ledger: Ledger
    number: int
    hash: str
    purpose: str

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
