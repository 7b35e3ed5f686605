"""What a ledger is told of a release: which mechanism and question it was, and what of its charge was not used."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import suppress

from shortlist._text import Advice
from shortlist.ledger.ledger import Reservation
from shortlist.privacy import Guarantee, LedgerError
from shortlist.scores import Scores


def noted(source: str, *, largest: bool = True, secure: bool = True, said: str = "") -> str:
    """What a ledger notes of a question: its table and columns, and what else whoever approves it would ask."""
    facts = source, said, "" if largest else "the smallest", "" if secure else "not private: seeded randomness"
    return "; ".join(filter(None, facts))


def record_of(mechanism: object, words: Iterable[str]) -> str:
    """A mechanism with these of its parameters, as it stands in records."""
    return f"{type(mechanism).__qualname__}({', '.join(f'{word}={getattr(mechanism, word)!r}' for word in words)})"


def source_of(scores: Scores) -> str:
    """The table and its columns; of numbers that no table is known of, how far one person moves them, as was said."""
    return (
        scores._source
        or f"numbers in memory, sensitivity {scores.sensitivity!r}{', monotone' if scores.monotone else ''}"
    )


def give_back(reservation: Reservation, charge: Guarantee) -> None:
    """Refund what the outcome did not use; if that fails, the release stands and stays paid in full."""
    try:
        reservation.refund(charge)
    except LedgerError as error:
        with suppress(UserWarning):  # where warnings are errors, what was paid for must come out all the same
            warnings.warn(f"the release stands, its refund is lost: {error}", Advice, stacklevel=3)
