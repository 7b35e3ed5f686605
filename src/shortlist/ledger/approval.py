"""Two pairs of eyes: in a ledger made so, a release waits until somebody with another user name has approved it.

What was asked is noted as a request, which books nothing and states what it would cost. Its approval is another entry.
Asked again, word for word, at no higher cost and by the same user, it is charged, with the number of its request, which
is then used up.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from shortlist.ledger.chain import MOST_ENTRIES, LedgerEntry, State
from shortlist.ledger.errors import damaged
from shortlist.ledger.file import append, read
from shortlist.ledger.filter import ZERO, Amounts
from shortlist.ledger.store import WORDS
from shortlist.ledger.words import user_name


class ApprovalNeeded(Exception):  # noqa: N818 - the name users read
    """A release that waits for somebody else's approval. Nothing was charged, nothing was looked at.

    Parameters
    ----------
    path
        The ledger's file.
    request
        The number of the entry that asks for it.

    Examples
    --------
    >>> import tempfile
    >>> import shortlist as sl
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = sl.Ledger(f"{folder.name}/year.db", budget=sl.PureDP(1.0), approval=True)
    >>> try:
    ...     sl.select([9, 1], epsilon=0.5, ledger=ledger)
    ... except sl.privacy.ApprovalNeeded as waits:
    ...     waits.request
    1
    >>> folder.cleanup()
    """

    def __init__(self, path: str, request: int) -> None:
        super().__init__(path, request)
        self.path, self.request = path, request

    def __str__(self) -> str:
        return (
            f"entry {self.request} of {self.path} waits for somebody else's approval (`shortlist ledger approve "
            f"LEDGER {self.request}`); then ask the same again. Nothing was charged, nothing was looked at"
        )


def request_for(db: sqlite3.Connection, path: str, said: Mapping[str, str], cost: Amounts) -> int | None:
    """A request of this user, word for word the same, for no less, that is not used up; None if there is none.

    One that was approved, if there is, and the newest of them. Requests of schema 2 state no cost, so they cover none.
    """
    same = " AND ".join(f"{name} = ?" for name in (*WORDS, "who"))
    words = (*(said[name] for name in WORDS), user_name())
    entries = read(db, path, f"WHERE kind = 'request' AND {same} ORDER BY number DESC", *words)
    kinds = {entry.number: _kinds_of(db, entry.number) for entry in entries if cost.within(entry.amounts)}
    unused = [number for number, entered in kinds.items() if "charge" not in entered]
    return next((number for number in unused if "approval" in kinds[number]), unused[0] if unused else None)


def approved(db: sqlite3.Connection, request: int) -> bool:
    """Whether somebody has approved a request."""
    return "approval" in _kinds_of(db, request)


def approve(db: sqlite3.Connection, path: str, before: State, request: object) -> State:
    """Write that whoever runs this approves a request.

    Raises
    ------
    ValueError
        if it is none, was approved before, or is their own.
    """
    entry = _approvable(db, path, request)
    texts: dict[str, Any] = {name: getattr(entry, name) for name in WORDS if name != "refundable"}
    noted: dict[str, Any] = {"kind": "approval", "refundable": "", "refund_of": None, "request": entry.number}
    return append(db, before, ZERO, before.total, **texts, **noted)


def _approvable(db: sqlite3.Connection, path: str, request: object) -> LedgerEntry:
    known = type(request) is int and 1 <= request <= MOST_ENTRIES
    rows = read(db, path, "WHERE number = ?", request) if known else []
    if not rows or rows[0].kind != "request":
        raise ValueError("request must be the number of an entry that asks for approval: see `shortlist ledger show`")
    if approved(db, rows[0].number):
        raise ValueError(f"entry {rows[0].number} was approved already")
    if rows[0].who == user_name():
        raise ValueError(f"entry {rows[0].number} must be approved by another user than the one who asked")
    return rows[0]


def _kinds_of(db: sqlite3.Connection, request: int) -> set[str]:
    """What kinds of entries belong to a request."""
    query = "SELECT kind FROM entries JOIN facts USING (number) WHERE facts.number > ? AND facts.request = ?"
    return {kind for (kind,) in db.execute(query, (request, request)).fetchall()}


class Approvals:
    """The requests of a ledger that is read again: each approved once, by another user, then charged once.

    What is charged is no more than was asked for, where the request says how much: those of schema 2 do not.
    """

    __slots__ = ("_path", "_ready", "_waiting")

    def __init__(self, path: str) -> None:
        self._path = path
        self._waiting: dict[int, LedgerEntry] = {}
        self._ready: dict[int, LedgerEntry] = {}

    def take(self, entry: LedgerEntry) -> None:
        """The next entry.

        Raises
        ------
        LedgerError
            if it was not approved, or is an approval of nothing.
        """
        number = entry.request or 0
        if entry.kind == "request":
            self._waiting[entry.number] = entry
        elif entry.kind == "approval":
            request = self._waiting.pop(number, None)
            if request is None or request.who == entry.who:
                raise damaged(self._path, f"entry {entry.number} approves no request of another user")
            self._ready[number] = request
        elif entry.kind == "charge":
            request = self._ready.pop(number, None)
            if request is None or any(getattr(request, name) != getattr(entry, name) for name in (*WORDS, "who")):
                raise damaged(self._path, f"entry {entry.number} was not approved")
            limit = request.amounts.where(entry.total)  # a first charge may close rule (b) for all that follow
            if request.amounts != ZERO and not entry.amounts.within(limit):
                raise damaged(self._path, f"entry {entry.number} costs more than was approved")
