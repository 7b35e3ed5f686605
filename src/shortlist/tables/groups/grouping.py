"""By what people's rows are grouped, which groups there are, and in how many of them one person counts.

Of the groups that a person has rows in, the `per_user` with the most rows are kept; of those with equally many the ones
that come first in the order of (H(salt, user, key), key), as in `caps.py`. That is a function of this person's rows and
of the salt alone, so nobody's rows move another's (Theorem 229). Rows that do not count (by `where`, without a user, an
item or a key, off the list of candidates or of groups) use up no place.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from shortlist.errors import bad_type, bad_value
from shortlist.tables import caps
from shortlist.tables.column_types import Kind, Row, check_texts, fitted, kind_of

LARGEST = 4096
"""Groups of one person."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Public facts alone, checked before a row is read."""

    by: tuple[str, ...]
    listed: tuple[Row, ...] | None
    """The public keys as they were given, a tuple each; None where they come from the data."""
    per_user: int
    salt: str = ""
    """Drawn once for a count, by `salted`."""

    @classmethod
    def of(cls, by: object, groups: object, per_user: object) -> Self | None:
        """None for no groups."""
        if by is None:
            if groups is not None or per_user is not None:
                raise bad_type('$groups and $groups_per_user go with by: write $by="country"')
            return None
        several: list[Any] = [by] if isinstance(by, str) or not isinstance(by, Iterable) else list(by)
        if not several or not all(isinstance(one, str) and one for one in several):
            raise bad_type('$by must be the name of a column, or several: $by="country"')
        if len(set(several)) < len(several):
            raise ValueError("by names a column twice; name each once")
        listed = None if groups is None else _listed(groups, len(several))
        most = _checked_number(1 if per_user is None else per_user)
        if listed is not None and most > len(listed):
            raise bad_value(f"$groups_per_user={most} is more than the {len(listed)} groups; write a smaller number")
        return cls(tuple(several), listed, most)

    @property
    def keys(self) -> tuple[str, ...]:
        """Our own names for the columns of the key."""
        return tuple(f"g{n}" for n in range(len(self.by)))

    def salted(self) -> Self:
        """The same for one count."""
        return replace(self, salt=caps.fresh_salt())

    def kinds(self, declared: Mapping[str, str]) -> list[Kind]:
        """The kinds of the columns, by their declared types; refuses others."""
        return [_kind(name, declared[name]) for name in self.by]

    def fitted(self, kinds: list[Kind], written: Collection[str] = ()) -> list[Row] | None:
        """The public keys in the kinds of the columns, in the order given; errors may depend on them.

        `written` are columns of text whatever it looks like.
        """
        if self.listed is None:
            return None
        check_texts("groups", "by", self.by, kinds, written, list(self.listed))
        try:
            keys = fitted(list(self.listed), kinds)
        except ValueError:
            keys = []
        if not keys:
            raise ValueError(
                "groups do not fit the by column: write them as text, whole numbers, truth values or dates, as it has "
                "them, and none that is missing"
            )
        if len(keys) < len(self.listed):
            raise ValueError("groups has a key twice; name each group once")
        return keys


def plain_key(row: Row) -> Hashable:
    """The key of a group: its part, or a tuple of several."""
    return row[0] if len(row) == 1 else row


def candidates_of_groups(candidates: object, groups: list[Row] | None) -> list[Any] | None:
    """The public list of each group, where there is one for each: a mapping from key to list; None otherwise."""
    if not isinstance(candidates, Mapping):
        return None
    if groups is None:
        raise bad_value("candidates for each group need public groups too: write $groups=[...]")
    keys = [plain_key(group) for group in groups]
    if set(candidates) != set(keys):
        raise ValueError("candidates as a mapping must have exactly the groups as its keys, each with a list")
    return [candidates[key] for key in keys]


def _listed(groups: object, width: int) -> tuple[Row, ...]:
    if isinstance(groups, str | bytes | Mapping) or not isinstance(groups, Iterable):
        raise bad_type('$groups must be a list of keys, for example $groups=["CH", "DE"]')
    plain = groups.tolist() if hasattr(groups, "tolist") else groups
    rows = [(one,) if width == 1 else one for one in plain]
    if not rows:
        raise bad_value("$groups must not be empty; leave it out if the groups come from the data")
    if not all(isinstance(row, tuple | list) and len(row) == width for row in rows):
        raise bad_value(f"$groups must be tuples of {width}: one part for each column of by")
    return tuple(tuple(row) for row in rows)


def _kind(column: str, declared: str) -> Kind:
    kind = kind_of(declared)
    if kind is None:
        raise bad_value(
            f"$by={column!r} must be a column of text, whole numbers (64 bits), truth values or dates; convert it "
            "first, for example to text"
        )
    return kind


def _checked_number(per_user: object) -> int:
    try:
        if isinstance(per_user, bool | np.bool_):
            raise TypeError
        number = operator.index(per_user)  # type: ignore[arg-type]
    except TypeError:
        raise bad_type("$groups_per_user must be a whole number of groups, for example $groups_per_user=1") from None
    if not 1 <= number <= LARGEST:
        raise bad_value(f"$groups_per_user must be from 1 to {LARGEST}: in how many groups one person counts")
    return number
