"""A ledger opened where its address says: in a file, or on a server, for which more is loaded."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from shortlist._imports import late
from shortlist.ledger.book import FileBook
from shortlist.ledger.errors import LedgerError
from shortlist.ledger.schema import make
from shortlist.ledger.store import Store
from shortlist.ledger.terms import Terms
from shortlist.ledger.words import checked_path

SCHEMES = ("postgresql://", "postgres://")


def on_server(path: object) -> bool:
    """Whether an address is that of a server."""
    return isinstance(path, str) and path.startswith(SCHEMES)


def of_server(module: str, name: str) -> Any:
    """What there is for servers, if its library is there."""
    try:
        return late(f"shortlist.ledger.server.{module}", name)
    except ImportError:
        pass
    raise LedgerError("a ledger on a server needs psycopg: pip install 'shortlist[postgres]'")


def shown_path(path: str) -> str:
    """A path or an address for people: without what may be a password."""
    return str(of_server("address", "Address").of(path)) if on_server(path) else path


def opened(path: str | os.PathLike[str], wait: float, terms: Callable[[], Terms] | None) -> Store:
    """The ledger there; if there is none, it is made with these terms."""
    if on_server(path):
        store: Store = of_server("book", "ServerBook").at(path, wait, terms)
        return store
    place = checked_path(path)
    if terms is not None and not os.path.lexists(place):
        make(place, terms())
    return FileBook(place, wait)
