"""What a ledger asks of the place where its entries are kept: a file (`book.py`) or a server (`server/book.py`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from shortlist.ledger.chain import LedgerEntry, Origin, State
from shortlist.ledger.filter import Amounts

WORDS = ("guarantee", "mechanism", "purpose", "unit", "refundable", "source")
"""What is said of a release. In a ledger with approval it must be the same for it to be the same release."""

Offer = tuple[Amounts, Mapping[str, Any]]
"""What a release costs and what is said of it, by one of several true statements of it (Theorem 223)."""


class Store(Protocol):
    """Each call is one transaction, whole or not at all; what was booked when it returns is on the disk.

    A call raises `LedgerError` if the ledger cannot be used, or is another one than the one that was opened, or has
    gone back since; `OutcomeUnknown` if a server was asked to book and did not answer.
    """

    @property
    def path(self) -> str:
        """Where it is, for people and to open it again; without passwords."""

    @property
    def name(self) -> str:
        """In short, for receipts."""

    @property
    def origin(self) -> Origin:
        """What it was made with."""

    @property
    def seen(self) -> State:
        """How it stood when it was last seen."""

    def state(self) -> State:
        """Where it stands."""

    def charge(self, offers: Sequence[Offer]) -> tuple[State, int]:
        """(where it stands after a charge, which of the offers that was): the first that fits.

        `BudgetExceeded` or `ApprovalNeeded` if it was not booked.
        """

    def refund(self, number: int, hash: str, spent: Amounts, said: str) -> State:
        """Give back what a charge has beyond `spent`, once; where it then stands."""

    def approve(self, request: object) -> None:
        """Note that whoever runs this approves a request of somebody else."""

    def close(self, kind: str, reason: str, target: str) -> None:
        """Book nothing from now on; `target` is where it goes on, if it does."""

    def after(self, number: int, most: int) -> list[LedgerEntry]:
        """The entries after the one with this number, at most so many, in order."""

    def newest(self, most: int) -> list[LedgerEntry]:
        """The last entries, in order."""

    def find(self, token: str) -> LedgerEntry | None:
        """The entry with this hash, or that a server was asked to book under this token: None if it never will be."""

    def booked_since(self, head: str) -> int | None:
        """The number of the entry that the last charge through this object booked after `head`, or None."""

    def check_whole(self) -> None:
        """Raise if what keeps the entries knows itself to be broken."""

    def share(self, role: str, *, allowed: bool) -> None:
        """Let a role of the server charge and read, or no longer."""

    def hang_up(self) -> None:
        """Let go of what is held open between calls; the next call opens it again."""
