"""What is said of a ledger that was closed for good: when and why, and that nothing is left."""

from __future__ import annotations

from dataclasses import asdict

from shortlist.ledger.chain import State
from shortlist.ledger.errors import LedgerError
from shortlist.ledger.filter import Balance
from shortlist.ledger.store import Store


def closed_words(book: Store) -> str:
    """That it was closed, on which day and why, or where it goes on; empty for one that still books."""
    if not (why := book.state().closed):
        return ""
    days = [entry.time[:10] for entry in book.newest(2) if entry.kind in ("close", "moved")]
    return f"closed for good on {min(days)}: {why}"


def nothing_of(left: Balance) -> Balance:
    """The same rules, with nothing left."""
    return Balance(**{name: value and 0.0 for name, value in asdict(left).items()})


def open_state(book: Store) -> State:
    """Where it stands, unless it was closed.

    Raises
    ------
    LedgerError
        as a charge would.
    """
    if (here := book.state()).closed:
        raise LedgerError(f"{book.path} was closed for good and books nothing more: {here.closed}")
    return here
