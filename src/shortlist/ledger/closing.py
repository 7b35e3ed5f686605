"""What is said of a ledger that was closed for good: when and why, and that nothing is left."""

from __future__ import annotations

from dataclasses import asdict

from shortlist.ledger.admission import left_of_terms
from shortlist.ledger.chain import State
from shortlist.ledger.errors import LedgerError
from shortlist.ledger.filter import Balance
from shortlist.ledger.store import Store
from shortlist.ledger.terms import Terms
from shortlist.ledger.words import checked_text


def closed_words(book: Store) -> str:
    """That it was closed, on which day and why, or where it goes on; empty for one that still books."""
    if not (why := book.state().closed):
        return ""
    days = [entry.time[:10] for entry in book.newest(2) if entry.kind in ("close", "moved")]
    return f"closed for good on {min(days)}: {why}"


def checked_reason(reason: str | None) -> str:
    """Why a ledger is closed: whoever writes `close()` as of a file means something else."""
    if reason is None:
        raise TypeError(
            "close ends this budget for good; to stop using it nothing needs closing. If nobody shall charge it "
            'any more, say why: close("the quarter is over")'
        )
    return checked_text("purpose", reason)


def left_here(terms: Terms, here: State) -> Balance:
    """What each rule still admits, rounded down; of a closed one the same rules, with nothing left."""
    left = left_of_terms(terms, here.total)
    return Balance(**{name: value and 0.0 for name, value in asdict(left).items()}) if here.closed else left


def open_state(book: Store, *, fresh: bool = True) -> State:
    """Where it stands, or stood when it was last seen, unless it was closed.

    Raises
    ------
    LedgerError
        as a charge would.
    """
    here = book.state() if fresh else book.seen
    if here.closed:
        raise LedgerError(f"{book.path} was closed for good and books nothing more: {here.closed}")
    return here
