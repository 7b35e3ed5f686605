"""How much work a distribution is worth to who asks: which of its numbers, and how exactly.

A search for an epsilon asks the same distribution again and again for one number, and only its last answer must be
exact. Outside of these blocks every distribution is computed whole and to its stated accuracy.

>>> with searching("recall"):
...     is_wanted("recall"), is_wanted("top"), is_rough()
(True, False, False)
>>> is_wanted("top")
True
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

_ONLY: ContextVar[str | None] = ContextVar("only", default=None)
"""The one number that is asked for."""
_ROUGH: ContextVar[bool] = ContextVar("rough", default=False)


@contextmanager
def searching(only: str) -> Iterator[None]:
    """Compute only this number of `quality`, to its stated accuracy."""
    token = _ONLY.set(only)
    try:
        yield
    finally:
        _ONLY.reset(token)


@contextmanager
def rough() -> Iterator[None]:
    """Compute distributions to about one part in a million: to find a place, never to tell what is there."""
    token = _ROUGH.set(True)
    try:
        yield
    finally:
        _ROUGH.reset(token)


def is_wanted(name: str) -> bool:
    """Return whether this number of a `Quality` is to be computed."""
    return _ONLY.get() in (None, name)


def is_rough() -> bool:
    """Return whether about one part in a million is exact enough."""
    return _ROUGH.get()


def among(exact: T, searched: T, roughly: T) -> T:
    """Return how much is enough: beyond a distribution's stated accuracy, for that of a search, or for a rough one."""
    return roughly if _ROUGH.get() else exact if _ONLY.get() is None else searched
