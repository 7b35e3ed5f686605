"""A ledger read again from its beginning: the chain, the sums, and the rule at every step."""

from __future__ import annotations

from fractions import Fraction

from shortlist.privacy.filter import fits
from shortlist.privacy.ledger_file import Entry, Origin, State, check_chained, damaged


def replay(origin: Origin, entries: list[Entry], path: str) -> None:
    """Go through all entries as if they were written now.

    Raises
    ------
    LedgerError
        naming the first entry that does not follow from those before it.
    """
    here, limits = origin.start, origin.terms.limits
    open_charges: dict[int, Entry] = {}
    for entry in entries:
        check_chained(entry, here.number, here.head, path)
        if entry.kind == "charge":
            total = here.total + entry.amounts
            allowed = fits(limits, total)
            open_charges[entry.number] = entry
        else:
            total = here.total - entry.amounts
            allowed = _refundable(entry, open_charges.pop(entry.refund_of or 0, None))
        if not allowed or total != entry.total:
            raise damaged(path, f"entry {entry.number} breaks the rule, or its sums are wrong")
        here = State(entry.number, entry.hash, total)


def _refundable(refund: Entry, charge: Entry | None) -> bool:
    """Whether a refund gives back no more than its reservation, and only where that was proved."""
    if charge is None or refund.amounts.delta:
        return False
    back, paid, proved = refund.amounts, charge.amounts, charge.refundable.split()
    return _at_most(back.epsilon, paid.epsilon, "pure" in proved) and _at_most(back.curve, paid.curve, "zcdp" in proved)


def _at_most(back: Fraction | None, paid: Fraction | None, proved: bool) -> bool:
    return 0 <= (back or 0) <= ((paid or 0) if proved else 0)
