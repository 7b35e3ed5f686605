"""A ledger read again from its beginning: the chain, the sums, and the rule at every step."""

from __future__ import annotations

from collections.abc import Iterable

from shortlist.ledger.approval import Approvals
from shortlist.ledger.chain import LedgerEntry, Origin, after, check_chained
from shortlist.ledger.errors import damaged
from shortlist.ledger.store import Store

BATCH = 5_000
"""Entries that are read in one transaction: charges in between need not wait for it."""


def verified(book: Store, head: str | None) -> int:
    """How many entries there are, if all follow from one another, and from the `head` that was kept, if there is one.

    Raises
    ------
    LedgerError
        naming the first entry that is wrong.
    """
    path, before = book.path, book.state()
    book.check_whole()
    walk = Replay(book.origin, path)
    present = head in (None, walk.here.head)
    while batch := book.after(walk.here.number, BATCH):
        walk.take(batch)
        present = present or any(entry.hash == head for entry in batch)
    if walk.here.number < before.number:
        raise damaged(path, "entries vanished while it was read")
    now = book.state()
    if now.number == walk.here.number and not now.closed and now.neighbors != walk.here.neighbors:
        raise damaged(path, "the neighboring relation that it keeps to is not that of its first charge that states one")
    if not present:
        raise damaged(path, "entries after the head you kept have vanished")
    return walk.here.number


class Replay:
    """Goes through all entries as if they were written now, some at a time."""

    __slots__ = ("_approvals", "_open", "_path", "_terms", "here")

    def __init__(self, origin: Origin, path: str) -> None:
        self.here = origin.start
        self._terms, self._path = origin.terms, path
        self._open: dict[int, LedgerEntry] = {}
        self._approvals = Approvals(path) if origin.terms.approval else None

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
            self.here = after(entry, self.here, self._terms, charge, self._path)
            if self._approvals is not None:
                self._approvals.take(entry)
            if entry.kind == "charge" and entry.refundable:
                self._open[entry.number] = entry
