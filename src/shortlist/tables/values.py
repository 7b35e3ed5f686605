"""From rows to votes on a grid: each person has one vote, made of that person's rows alone (Theorem 249)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, get_args

import numpy as np

from shortlist._arrays import Indices
from shortlist.errors import bad_type, bad_value
from shortlist.scores import Grid, PerUser
from shortlist.tables.column_names import check_there
from shortlist.tables.column_types import Kind, Row, is_number, kind_of
from shortlist.tables.groups.grouping import Grouping

TOKENS = 1 << 16
"""What one vote is shared in: whole tokens, which add up to this for every person."""

FARTHEST = 1 << 32
"""Sums of whole steps count from 0, and both ends of the range lie within so many steps of it."""
SATURATED = float(1 << 33)
"""One row adds at most so many steps to a person's sum, so that no engine's 64 bits overflow."""

FIRST_DAY = 719163
"""The ordinal of 1 January 1970."""

Placed = tuple[Indices, Indices]
"""(places that hold weight, increasing; their weights)."""
PlacedGroups = list[Placed]
"""The same for every group, in the order of the public list."""


class Looked(NamedTuple):
    """A table, looked at by names and types alone."""

    dated: bool
    """Whether values are dates; otherwise they are numbers."""
    keys: tuple[Row, ...] = ()
    """The public keys of groups, in the kinds of their columns."""
    types: tuple[str, ...] = ()
    """What released columns of the key are, where an engine must be told."""


@dataclass(frozen=True, slots=True)
class ValueQuestion:
    """Who, which number, and on which points: public facts alone, checked before a row is read."""

    user: str | None
    """None: each row is a person of its own, by the caller's word."""
    value: str
    lower: object
    upper: object
    step: object
    per_user: PerUser
    grouping: Grouping | None = None
    """By which columns people are grouped, and which groups there are; None for one quantile of all."""

    @classmethod
    def of(
        cls,
        user: object,
        value: object,
        lower: object,
        upper: object,
        step: object,
        per_user: object,
        grouping: Grouping | None = None,
    ) -> ValueQuestion:
        if user is not None and (not isinstance(user, str) or not user):
            raise bad_type('$user must be the name of a column, for example $user="user_id"')
        if not isinstance(value, str) or not value:
            raise bad_type('$value must be the name of a column, for example $value="age"')
        if user == value:
            raise bad_value("$user and $value must be different columns")
        if not isinstance(per_user, str) or per_user not in get_args(PerUser):
            raise bad_value(f"$per_user must be one of {', '.join(map(repr, get_args(PerUser)))}")
        if grouping is not None:
            _check_grouping(grouping, user, value)
            grouping = grouping.salted()
        question = cls(user, value, lower, upper, step, per_user, grouping)  # type: ignore[arg-type]
        _ = question.grid
        return question

    @property
    def grid(self) -> Grid:
        """The points."""
        grid = Grid.of(self.lower, self.upper, self.step)
        if self.per_user == "sum":
            if grid.kind == "date":
                raise bad_value('$per_user="sum" is for numbers: dates cannot be added')
            if max(abs(grid.start), abs(grid.start - grid.size)) > FARTHEST:
                raise bad_value('step is too fine for $per_user="sum": write a larger step')
        return grid

    def fitted(self, dated: bool) -> Grid:
        """The same, of a column whose type was looked at: dates go with dates, numbers with numbers."""
        grid = self.grid
        if (grid.kind == "date") != dated:
            other = "dates" if dated else "numbers"
            raise bad_type(f"$value={self.value!r} is a column of {other}: give lower and upper as {other} too")
        return grid

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read."""
        own = (self.value,) if self.user is None else (self.user, self.value)
        return own if self.grouping is None else (*own, *self.grouping.by)

    @property
    def keys(self) -> dict[str, str]:
        """Our own name for every column that makes the key of a group, and that column."""
        return {} if self.grouping is None else dict(zip(self.grouping.keys, self.grouping.by, strict=True))

    def looked_at(
        self,
        dated: bool,
        declared: Mapping[str, str],
        types: Mapping[Kind, str] | None = None,
        written: Collection[str] = (),
    ) -> Looked:
        """What is known of a table by its declared types; `types` are what a released key is in its engine."""
        if self.grouping is None:
            return Looked(dated)
        keys, kinds = self.listed(declared, written)
        return Looked(dated, tuple(keys), () if types is None else tuple(types[kind] for kind in kinds))

    def listed(self, declared: Mapping[str, str], written: Collection[str] = ()) -> tuple[list[Row], list[Kind]]:
        """(the public keys, the kinds of their columns), by the declared types; refuses what does not fit."""
        assert self.grouping is not None
        kinds = self.grouping.kinds(declared)
        listed = self.grouping.fitted(kinds, written)
        assert listed is not None
        return listed, kinds

    @property
    def share(self) -> int:
        """What one person's weights add up to."""
        return TOKENS if self.per_user == "share" and self.user is not None else 1

    def check_columns(self, columns: Iterable[str], *, declared: bool = True) -> None:
        """Every column must be there, once."""
        roles = [("user", self.user), ("value", self.value), *(("by", key) for key in self.keys.values())]
        named, names = [(role, name) for role, name in roles if name is not None], list(columns)
        for role, name in named:
            check_there(role, name, names, [one for _, one in named], declared=declared)

    def in_words(self, table: str) -> str:
        """Which columns of a table are read, for the record."""
        who = "each row a person" if self.user is None else f"user {self.user}"
        by = "" if self.grouping is None else f", by {' and '.join(self.grouping.by)}"
        return f"{table}: {who}, value {self.value} {self.grid.in_words}, {self.per_user} of a person's rows{by}"


def _check_grouping(grouping: Grouping, user: object, value: object) -> None:
    if grouping.listed is None:
        raise bad_value(
            "$groups must be listed for quantiles: a point comes out of every group there is, so that keys from the "
            'data would tell that somebody is in them. Write $groups=["CH", "DE"]'
        )
    if {user, value} & set(grouping.by):
        raise bad_value("$by must be other columns than user and value")
    if user is None and grouping.per_user > 1:
        raise bad_value("$groups_per_user must be 1 where each row is a person: a row is in one group")


def is_dated(column: str, declared: str) -> bool:
    """Whether the column of values, by its declared type, has dates; otherwise it has numbers.

    Raises
    ------
    ValueError
        for anything else.
    """
    dated = kind_of(declared) == "date"
    if not dated and not is_number(declared):
        raise bad_value(f"$value={column!r} must be a column of numbers or dates (without a time); convert it first")
    return dated


def shared(people: Indices | None, places: Indices, question: ValueQuestion, grid: Grid) -> Placed:
    """The votes of rows in memory: `people` has a number for the person of each row.

    With per_user="sum" the places are whole steps from 0.
    """
    if people is None:
        return counted(places, np.ones_like(places))
    order = np.lexsort((places, people))
    places, people = places[order], people[order]
    starts = np.flatnonzero(np.append(True, people[1:] != people[:-1])) if len(people) else people
    rows = np.diff(np.append(starts, len(people)))
    match question.per_user:
        case "share":
            each = np.repeat(rows, rows)
            rank = np.arange(len(people)) - np.repeat(starts, rows)
            return counted(places, TOKENS * (rank + 1) // each - TOKENS * rank // each)
        case "median":
            own = places[starts + (rows - 1) // 2]
        case "min":
            own = places[starts]
        case "max":
            own = places[starts + rows - 1]
        case "mean":
            own = _means(places, starts, rows) if len(rows) else places
        case "sum":
            sums = np.add.reduceat(places, starts) if len(rows) else places
            own = np.clip(sums + grid.start, 0, grid.size - 1)
    return counted(own, np.ones_like(own))


def shared_in_groups(
    people: Indices | None, groups: Indices, places: Indices, question: ValueQuestion, grid: Grid, number: int
) -> PlacedGroups:
    """The votes of every group: one for each person in it, made of that person's rows there."""
    order = np.argsort(groups, kind="stable")
    ends = np.searchsorted(groups[order], np.arange(number + 1))
    parts = [order[ends[group] : ends[group + 1]] for group in range(number)]
    return [shared(None if people is None else people[part], places[part], question, grid) for part in parts]


def parted(groups: Indices, places: Indices, weights: Indices, number: int) -> PlacedGroups:
    """Votes that an engine added up by group and place, in any order."""
    order = np.lexsort((places, groups))
    ends = np.searchsorted(groups[order], np.arange(number + 1))
    parts = [order[ends[group] : ends[group + 1]] for group in range(number)]
    return [(places[part], weights[part]) for part in parts]


def _means(places: Indices, starts: Indices, rows: Indices) -> Indices:
    """floor(sum / rows) of each person, from quotients and remainders: the sum itself may not fit into 64 bits."""
    each = np.repeat(rows, rows)
    means: Indices = np.add.reduceat(places // each, starts) + np.add.reduceat(places % each, starts) // rows
    return means


def counted(places: Indices, weights: Indices) -> Placed:
    """Added up by place; those without weight left out."""
    if not len(places):
        return places, weights
    if np.any(places[1:] < places[:-1]):
        order = np.argsort(places, kind="stable")
        places, weights = places[order], weights[order]
    return added(places, weights)


def added(places: Indices, weights: Indices) -> Placed:
    """The same of places in order."""
    if not len(places):
        return places, weights
    first = np.empty(len(places), np.bool_)
    first[0] = True
    np.not_equal(places[1:], places[:-1], out=first[1:])
    if not first.all():
        starts = np.flatnonzero(first)
        places, weights = places[starts], np.add.reduceat(weights, starts)
    if weights.min() > 0:
        return places, weights
    some = weights > 0
    return places[some], weights[some]


def steps(values: np.ndarray[tuple[int], np.dtype[np.float64]], grid: Grid) -> Indices:
    """Each value in whole steps from 0, for sums."""
    with np.errstate(all="ignore"):  # a warning would tell of a value
        held = np.clip(values / grid.ends[2], -SATURATED, SATURATED)
    return np.floor(held + 0.5).astype(np.int64)
