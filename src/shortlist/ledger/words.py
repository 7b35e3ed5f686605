"""What a caller of the ledger writes: paths, texts and currencies, checked at the door."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterable

from shortlist.ledger.errors import LedgerError
from shortlist.ledger.filter import CURRENCIES, Currency

LONGEST = {"purpose": 10_000, "unit": 1_000, "mechanism": 1_000_000, "guarantee": 1_000_000, "source": 10_000}
"""Characters of the texts in an entry."""
ADDRESS = re.compile(r"^\s*[A-Za-z][A-Za-z0-9+.-]+:/|://|\bpassword\s*=")
"""What looks like the address of a server, and is no file's name."""


def checked_currencies(refundable: Iterable[Currency]) -> tuple[Currency, ...]:
    """The currencies that may come back, each once and in a fixed order."""
    names = (refundable,) if isinstance(refundable, str) else tuple(refundable)
    if not set(names) <= set(CURRENCIES):
        raise ValueError('refundable must name currencies: write refundable=("pure",) or ("pure", "zcdp")')
    return tuple(currency for currency in CURRENCIES if currency in names)


def checked_path(path: object) -> str:
    """The whole path of a ledger's file, as text."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str):
        raise TypeError('path must be text, for example "budget.db"')
    if not name or "\0" in name:
        raise ValueError('path must be the name of a file, for example "budget.db"')
    if ADDRESS.search(name):  # not repeated: there may be a password in it
        raise ValueError(
            'path must be the name of a file, for example "budget.db", or the address of a server as text that begins '
            'with "postgresql://", as in "postgresql://user@host/database?name=q4"'
        )
    try:
        return os.path.abspath(name)
    except FileNotFoundError:
        raise LedgerError(f"{name} has no place: the current folder was taken away; give the whole path") from None


def checked_token(token: object) -> str:
    """What an entry is found by: a hash, or what a server was given with a charge."""
    if not isinstance(token, str):
        raise TypeError("receipt must be a Receipt or text: write ledger.find(release.receipt), for example")
    if not re.fullmatch("[0-9a-f]{32}|[0-9a-f]{64}", token):  # of a part of one nobody could say that it is not there
        raise ValueError(
            "receipt must be whole: an entry's hash, 64 of 0 to 9 and a to f, or the 32 that an unknown outcome said"
        )
    return token


def checked_words(refundable: Iterable[Currency], **texts: object) -> dict[str, str]:
    """What is said of a release, as it is noted; its guarantee is not among it."""
    currencies = checked_currencies(refundable)
    return {"refundable": " ".join(currencies), **{name: checked_text(name, text) for name, text in texts.items()}}


def checked_text(name: str, text: object) -> str:
    """A text that a ledger can hold."""
    if not isinstance(text, str):
        raise TypeError(f'{name} must be text: write {name}="weekly chart", for example')
    if len(text) > LONGEST[name]:
        raise ValueError(f"{name} must be at most {LONGEST[name]:,} characters: say it shorter")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} must be Unicode text: it holds half a surrogate pair") from None
    return text


def user_name() -> str:
    """Who runs this process, by the operating system where it tells (and not by a variable that anybody may set)."""
    if hasattr(os, "getuid"):
        import pwd

        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:  # a container may run under a number without a name
            return f"user {os.getuid()}"
    return getpass.getuser()


def checked_last(last: object, most: int) -> int:
    """How many entries are asked for, at most `most`; all of them if nothing is said."""
    if last is None:
        return most
    if isinstance(last, bool) or not isinstance(last, int) or last < 0:
        raise ValueError("last must be a whole number, 0 or more: write last=20, for example")
    return min(last, most)
