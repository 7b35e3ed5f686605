"""How much work a law is worth to whoever asks: which of its numbers, how exactly, and what several questions share.

A search for an epsilon asks the same law again and again, of the same scores, for one number, and only its last answer
must be exact. Outside of these blocks every law is computed whole and to its stated accuracy, and nothing is kept.

>>> with searching("recall"):
...     is_wanted("recall"), is_wanted("top"), is_rough()
(True, False, False)
>>> is_wanted("top")
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Effort:
    """What is asked for, how exactly, and what was made so far."""

    only: str | None = None
    rough: bool = False
    made: dict[tuple[Any, ...], tuple[object, Any]] | None = None


NONE = Effort()
LARGE = (1 << 22) - (1 << 10)
"""Numbers of an array that the C library of Linux does not yet ask the system for on its own: nearly 32 MB."""
_EFFORT: ContextVar[Effort] = ContextVar("effort", default=NONE)


@contextmanager
def searching(only: str) -> Iterator[None]:
    """Of `quality` only this number is computed, to its stated accuracy, and laws of the same scores share much."""
    token = _EFFORT.set(Effort(only, made={}))
    np.empty(LARGE)  # freed at once, unused: the C library then keeps what is freed, and a tenth of the time is saved
    try:
        yield
    finally:
        _EFFORT.reset(token)


@contextmanager
def rough() -> Iterator[None]:
    """Laws are computed to about one part in a million: to find a place, never to tell what is there."""
    token = _EFFORT.set(replace(_EFFORT.get(), rough=True))
    try:
        yield
    finally:
        _EFFORT.reset(token)


def is_wanted(name: str) -> bool:
    """Whether this number of a `Quality` is to be computed."""
    only = _EFFORT.get().only
    return only is None or only == name


def is_rough() -> bool:
    """Whether about one part in a million is exact enough."""
    return _EFFORT.get().rough


def among(exact: Made, searched: Made, roughly: Made) -> Made:
    """How much is enough: beyond a law's stated accuracy, for that of a search, or for a rough law."""
    effort = _EFFORT.get()
    return roughly if effort.rough else exact if effort.only is None else searched


def shared(source: object, name: str, facts: tuple[Any, ...], make: Callable[[], Made]) -> Made:
    """What `make` makes of this very object and these facts; while a search is on, only once."""
    store = _EFFORT.get().made
    if store is None:
        return make()
    place = (id(source), name, *facts)
    if place not in store:
        store[place] = source, make()  # the source stays, so that nothing else can have its id
    value: Made = store[place][1]
    return value
