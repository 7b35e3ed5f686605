"""What is counted: who, what, and perhaps how much. Public facts alone, checked before a row is read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from shortlist.errors import Text, bad_type, bad_value
from shortlist.tables.caps import Cap, checked_most
from shortlist.tables.column_names import check_there
from shortlist.tables.groups.grouping import Grouping
from shortlist.tables.where.parse import Where

BITS = 24
"""A clipped sum has so many bits: the grid is the power of two 2^-24 below the larger end of the clip, or less."""

SATURATED = 2.0**36
"""One row counts at most so many steps of the grid, so that no engine's 64 bits overflow."""

LARGEST = 2**53
"""Sums over users are held within this many steps: exact as floats, and holding moves nobody's share upwards."""


@dataclass(frozen=True, slots=True)
class Clip:
    """Sums of values on a public grid, in whole steps of it: what one person adds to one item is in [low, high].

    A row's value x counts floor(x / grid + 1/2) steps. A person's steps are added up per item, then clipped, then added
    up over people, all in integers: the sensitivity is that of the arithmetic that is really used.
    """

    low: int
    high: int
    exponent: int
    """The grid is 2^exponent."""
    bounds: tuple[float, float]
    """The clip as the caller wrote it."""

    @classmethod
    def of(cls, clip: object) -> Clip:
        """The finest grid on which the larger end of the clip has at most 2^24 steps."""
        low, high = _checked_clip(clip)
        exponent = math.frexp(max(-low, high))[1] - BITS
        step = Fraction(2) ** exponent
        least, most = math.ceil(Fraction(low) / step), math.floor(Fraction(high) / step)
        if least > most:  # no step of the grid lies in the clip: the one beside it that is nearer to 0 moves less
            least = most = least if high < 0 else most
        return cls(least, most, exponent, (low, high))

    @property
    def steps(self) -> float:
        """Steps per unit, a power of two: multiplying by it rounds nothing."""
        return 2.0**-self.exponent

    @property
    def grid(self) -> float:
        return 2.0**self.exponent

    @property
    def monotone(self) -> bool:
        """Whether all that a person can do to a score has one sign."""
        return self.bounds[0] >= 0 or self.bounds[1] <= 0

    @property
    def sensitivity(self) -> float | tuple[float, float]:
        """What adding a person can move one score by: R = max(high, 0) - min(low, 0) follows."""
        down, up = max(-self.bounds[0], 0.0), max(self.bounds[1], 0.0)
        return max(down, up) if self.monotone else (down, up)


@dataclass(frozen=True, slots=True)
class Question:
    """Columns by name: people, the item (one column or several), and the value to be summed, if any."""

    user: str
    items: tuple[str, ...]
    value: str | None
    clip: Clip | None
    most: int | None = None
    """How many distinct items each person keeps; None for all of them."""
    cap: Cap | None = None
    """How that is done in one count, and where items are weighed; set by `capped`."""
    where: Where | None = None
    """Which rows count; None for all of them."""
    grouping: Grouping | None = None
    """By what the rows are grouped; None for one list of all."""

    @classmethod
    def of(
        cls,
        user: object,
        item: object,
        value: object,
        clip: object,
        most: object = None,
        where: object = None,
        by: object = None,
        groups: object = None,
        groups_per_user: object = None,
    ) -> Question:
        several = [item] if isinstance(item, str) or not isinstance(item, Iterable) else list(item)
        items = tuple(_checked_column("item", one) for one in several)
        if not items:
            raise bad_value('$item must name at least one column, for example $item="movie"')
        if len(set(items)) < len(items):
            raise ValueError("item names a column twice; name each once")
        who = _checked_column("user", user)
        if who in items:
            raise bad_value("$user and $item must be different columns")
        cap, rows = checked_most(most), Where.of(where)
        grouping = Grouping.of(by, groups, groups_per_user)
        if grouping is not None and {who, *items} & {*grouping.by}:
            raise bad_value("$by must name other columns than user and item")
        if value is None and clip is None:
            return cls(who, items, None, None, cap, where=rows, grouping=grouping)
        if cap is not None:
            raise bad_value("$most is for counts of people, not for sums: leave value and clip out, or most")
        if value is None or clip is None:
            raise bad_type('$value and $clip go together: write $value="stars", $clip=(0, 5)')
        return cls(who, items, _checked_column("value", value), Clip.of(clip), where=rows, grouping=grouping)

    def capped(self, listed: bool) -> Self:
        """The same question for one count, with a fresh salt where people's items are capped."""
        grouping = None if self.grouping is None else self.grouping.salted()
        cap = None if self.clip is not None else Cap.of(self.most, listed)
        return self if cap is None and grouping is None else replace(self, cap=cap, grouping=grouping)

    @property
    def weighted(self) -> bool:
        """Whether items are weighed, beside their scores."""
        return self.cap is not None and self.cap.weighted

    @property
    def roles(self) -> list[tuple[str, str]]:
        """(what it is for, column) for every column that is read."""
        value = [] if self.value is None else [("value", self.value)]
        rows = [] if self.where is None else [("where", name) for name in self.where.columns]
        by = [] if self.grouping is None else [("by", name) for name in self.grouping.by]
        return [("user", self.user), *(("item", item) for item in self.items), *value, *rows, *by]

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read, once."""
        return tuple(dict.fromkeys(name for _, name in self.roles))

    def in_words(self, table: str) -> str:
        """Which columns of a table are read, for the record."""
        ends = [] if self.clip is None else [repr(float(end)).removesuffix(".0") for end in self.clip.bounds]
        value = [f"value {self.value} from {' to '.join(ends)}"] if ends else []
        most = [] if self.most is None else [f"at most {self.most} items each"]
        rows = [] if self.where is None else [f"where {self.where.text}"]
        by = [] if self.grouping is None else [f"by {' and '.join(self.grouping.by)}"]
        columns = [f"user {self.user}", *(f"item {item}" for item in self.items), *value, *most, *by, *rows]
        return f"{table}: {', '.join(columns)}"

    @property
    def keys(self) -> tuple[str, ...]:
        """Our own names for the item's columns."""
        return tuple(f"i{n}" for n in range(len(self.items)))

    @property
    def labels(self) -> dict[str, str]:
        """Our own name for every column that makes an item or the key of a group, and that column."""
        own = dict(zip(self.keys, self.items, strict=True))
        return own if self.grouping is None else own | dict(zip(self.grouping.keys, self.grouping.by, strict=True))

    def check_columns(self, columns: Iterable[str], *, declared: bool = True) -> None:
        """Every column must be there, once."""
        names, texts = list(columns), set() if self.where is None else self.where.side_by_side
        for role, name in self.roles:
            as_text = role == "where" and name in texts
            check_there(role, name, names, self.columns, declared=declared, as_text=as_text)


def _checked_column(role: str, name: object) -> str:
    if not isinstance(name, str) or not name:
        raise bad_type(f'${role} must be the name of a column, for example ${role}="{_EXAMPLES[role]}"')
    return name


_EXAMPLES = {"user": "user_id", "item": "movie", "value": "stars"}


def _checked_clip(clip: object) -> tuple[float, float]:
    wrong = Text("$clip must be a pair of finite numbers (low, high), for example $clip=(0, 5)")
    if not isinstance(clip, tuple | list) or len(clip) != 2:
        raise TypeError(wrong)
    if any(isinstance(end, bool) for end in clip):
        raise TypeError(wrong)
    try:
        low, high = (float(end) for end in clip)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(wrong) from None
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(wrong)
    if low > high or low == high == 0:
        raise bad_value("$clip=(low, high) must have low <= high, and not both 0")
    if not 2.0**-500 < max(-low, high) < 2.0**500:
        raise bad_value("$clip must be of an ordinary size: change the unit of the values")
    return low, high
