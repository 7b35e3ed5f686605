"""Releases that other versions pickled: refused in words, wherever their parts stood then."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import NoReturn

REFUSED = (
    "this release was pickled by another version of shortlist, whose pickles may hold private data: read it with that "
    "version, and keep releases with release.save() instead"
)


class OfAnotherVersion:
    """In place of a class that has moved: a pickle that asks for it is an old one."""

    def __new__(cls) -> NoReturn:
        raise ValueError(REFUSED)

    def __setstate__(self, state: object) -> NoReturn:
        raise ValueError(REFUSED)


def refuse_old_pickles() -> None:
    """Let a pickle find the guarantees of 0.1.0 where they were, or it would end before anybody could say why."""
    place = ModuleType("shortlist.privacy.guarantees", "Where guarantees stood in 0.1.0.")
    for name in ("ApproxDP", "Composition", "PureDP", "ZCDP"):
        setattr(place, name, OfAnotherVersion)
    sys.modules.setdefault(place.__name__, place)
