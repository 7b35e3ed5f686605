"""Pickles of releases: laid out under a mark, so that those of other versions are refused in words.

Older ones are, wherever their parts stood then.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from types import ModuleType
from typing import Any, NoReturn

REFUSED = (
    "this release was pickled by another version of shortlist, whose pickles may hold private data: read it with that "
    "version, and keep releases with release.save() instead"
)


PICKLED = "shortlist release 2"
"""How a pickle's content is laid out: 1 had no `extras`, and 0.1.0 had no such mark."""


def mark_pickles(kind: Any) -> None:
    """Give a frozen dataclass a pickle of all its fields under our mark; what has another, or other fields, is refused.

    What is read is checked as what is made: by `__post_init__`.
    """
    names = [one.name for one in fields(kind)]

    def state(self: Any) -> tuple[str, dict[str, Any]]:
        return PICKLED, {name: getattr(self, name) for name in names}

    def set_state(self: Any, read: object) -> None:
        match read:
            case (str(form), dict(content)) if form == PICKLED and set(content) == set(names):
                for name, value in content.items():
                    object.__setattr__(self, name, value)
                self.__post_init__()
            case _:
                raise ValueError(REFUSED)

    kind.__getstate__, kind.__setstate__ = state, set_state


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
