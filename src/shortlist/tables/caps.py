"""At most so many items of each person: which ones, and what each of them weighs (Theorem 195).

A person's distinct items are put into the order of (H(salt, user, item), item), and the first `most` of them are kept.
That is a function of this person's rows and of the salt alone, whatever H is, so nobody's rows change what another's
count for. H is the MD5 of the texts, joined by a character that texts hardly have: it favours no item, and is the same
in every engine. The salt is public, and drawn once for a count, before a row is read.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np

from shortlist.errors import bad_type, bad_value
from shortlist.exact.thresholds import LARGEST_MOST, MOST
from shortlist.sampling.entropy import SECURE

BETWEEN = "\x1f"
"""Stands between the texts that are hashed. A text that holds it makes two hashes equal at worst: no harm."""


@dataclass(frozen=True, slots=True)
class Cap:
    """Each person keeps `most` items at most. Public facts alone."""

    most: int
    caps_scores: bool
    """Whether an item's score is how many people kept it; otherwise how many have it, and the cap is for weights."""
    weighted: bool
    """Whether there is a column of weights: each person adds 1 / sqrt(t) to the t items they keep.

    It is `exact.key_bars.weight`, floor(sqrt(floor(2^40 / t))), which engines compute in floats without an error for t
    up to LARGEST_MOST: 2^40 / t and the root of a whole number below 2^40 are rounded by less than what separates them
    from the next whole number, if they are none (Theorem 195).
    """
    salt: str

    @classmethod
    def of(cls, most: int | None, listed: bool) -> Cap | None:
        """What a count needs, with a salt of its own; None for counts that nobody caps."""
        if most is None and listed:
            return None
        return cls(MOST if most is None else most, most is not None, not listed, fresh_salt())


def fresh_salt() -> str:
    """128 secure bits."""
    return "".join(f"{int(word):016x}" for word in SECURE.words(2))


def checked_most(most: object) -> int | None:
    """A whole number of items, 1 to LARGEST_MOST; None for no cap."""
    if most is None:
        return None
    try:
        if isinstance(most, bool | np.bool_):
            raise TypeError
        number = operator.index(most)  # type: ignore[arg-type]
    except TypeError:
        raise bad_type("$most must be a whole number of items that each person keeps, for example $most=3") from None
    if not 1 <= number <= LARGEST_MOST:
        raise bad_value(f"$most must be from 1 to {LARGEST_MOST} items; to count all that people have, leave it out")
    return number
