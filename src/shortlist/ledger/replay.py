"""A ledger read again from its beginning: the chain, the sums, and the rule at every step."""

from __future__ import annotations

from collections.abc import Iterable

from shortlist.ledger.file import LedgerEntry, Origin, after, check_chained


class Replay:
    """Goes through all entries as if they were written now, some at a time."""

    __slots__ = ("_limits", "_open", "_path", "here")

    def __init__(self, origin: Origin, path: str) -> None:
        self.here = origin.start
        self._limits, self._path = origin.terms.limits, path
        self._open: dict[int, LedgerEntry] = {}

    def take(self, entries: Iterable[LedgerEntry]) -> None:
        """The next entries.

        Raises
        ------
        LedgerError
            naming the first entry that does not follow from those before it.
        """
        for entry in entries:
            check_chained(entry, self.here, self._path)
            charge = None if entry.refund_of is None else self._open.pop(entry.refund_of, None)
            self.here = after(entry, self.here, self._limits, charge, self._path)
            if entry.refundable:
                self._open[entry.number] = entry
