"""From a file to a server."""

from __future__ import annotations

from shortlist.ledger.chain import MOST_ENTRIES, LedgerEntry, LedgerError, checked_path
from shortlist.ledger.ledger import on_server, verified
from shortlist.ledger.postgres import EXAMPLE, Address, Making
from shortlist.ledger.sqlite import FileBook


def move(source: str, url: str, wait: float) -> str:
    """Close a ledger's file for good and go on with its chain on a server, as the owner there; returns the new address.

    Everything is tried on the server before, and undone. Interrupted after the file was closed, the same call goes on
    where it was; once the ledger has arrived the file says so, and it cannot be moved again.

    Raises
    ------
    LedgerError
        if either cannot be used, there is a ledger of that name already, or the file went elsewhere.
    """
    if on_server(source) or not on_server(url):
        raise ValueError("move takes a ledger's file and the address of a server: move q4.db postgresql://...")
    address = Address.of(url)
    if not address.says_where:  # the same call, made again, must not go to another server than the first one
        raise ValueError(f"move takes an address with its host and database written out: {EXAMPLE}")
    book, making, target = FileBook(checked_path(source), wait), Making(address, wait), str(address)
    verified(book, None)
    content, (entries, closing) = book.content(), _entries(book)
    if not closing:
        making.copy(book.origin.terms, content, entries, rehearse=True)
        book.close("close", "moved to a server", target)
        entries, _ = _entries(book)  # others may have charged the file until it was closed
    else:
        _check_same_way(book.path, closing, target)
    making.copy(book.origin.terms, content, entries)
    book.close("moved", "it has arrived", target)
    return target


def _entries(book: FileBook) -> tuple[list[LedgerEntry], list[LedgerEntry]]:
    """(what goes on, what closes the file)."""
    entries = book.after(0, MOST_ENTRIES)
    closing = [entry for entry in entries if entry.kind in ("close", "moved")]
    return [entry for entry in entries if entry not in closing], closing


def _check_same_way(path: str, closing: list[LedgerEntry], target: str) -> None:
    if len(closing) > 1 or closing[0].source != target:
        went = f"it goes on as {closing[0].source}" if closing[0].source else closing[0].purpose
        raise LedgerError(f"{path} was closed for good: {went}")
