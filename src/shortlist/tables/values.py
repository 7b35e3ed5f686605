"""From rows to votes on a grid: each person has one vote, made of that person's rows alone (Theorem 249)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from shortlist._arrays import Indices
from shortlist.errors import bad_type, bad_value
from shortlist.scores import Grid, PerUser
from shortlist.tables.columns import Kind, Row, check_user, is_number, kind_of
from shortlist.tables.question import Columns, Grouping

TOKENS = 1 << 16
"""What one vote is shared in: whole tokens, which add up to this for every person."""

FARTHEST = 1 << 32
"""Sums of whole steps count from 0, and both ends of the range lie within so many steps of it."""
SATURATED_VALUES = float(1 << 33)
"""One row adds at most so many steps to a person's sum, so that no engine's 64 bits overflow."""

FIRST_DAY = 719163
"""The ordinal of 1 January 1970."""

Placed = tuple[Indices, Indices]
"""(places that hold weight, increasing; their weights)."""


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
            grouping = grouping.with_salt()
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

    @property
    def keys(self) -> dict[str, str]:
        """Our own name for every column that makes the key of a group, and that column."""
        return {} if self.grouping is None else dict(zip(self.grouping.keys, self.grouping.by, strict=True))

    @property
    def roles(self) -> list[tuple[str, str]]:
        """(what it is for, column) for every column that is read."""
        user = [] if self.user is None else [("user", self.user)]
        return [*user, ("value", self.value), *(("by", key) for key in self.keys.values())]

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read."""
        return tuple(name for _, name in self.roles)

    @property
    def adds(self) -> bool:
        """Whether a user's values are added up: then a place is a number of whole steps from 0."""
        return self.per_user == "sum" and self.user is not None

    @property
    def share(self) -> int:
        """What one person's weights add up to."""
        return TOKENS if self.per_user == "share" and self.user is not None else 1

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


@dataclass(frozen=True, slots=True)
class ValuePlan:
    """A question and what the declared types of a table make of it."""

    question: ValueQuestion
    columns: Columns
    dated: bool
    """Whether values are dates; otherwise they are numbers."""
    kinds: tuple[Kind, ...] = ()
    """Of the columns of the key of a group."""
    groups: list[Row] | None = None
    """The public keys, in the kinds of their columns."""

    @classmethod
    def of(cls, question: ValueQuestion, columns: Columns) -> ValuePlan:
        """Refuse what may not be asked, by names and types alone. A file of text has what the bounds are."""
        columns.check(question.roles)
        if question.user is not None:
            check_user(question.user, columns.types[question.user])
        dated = question.grid.kind == "date"
        if not columns.as_text:
            dated = is_dated(question.value, columns.types[question.value])
        if question.grouping is None:
            return cls(question, columns, dated)
        kinds = question.grouping.kinds(columns.types)
        return cls(question, columns, dated, kinds, question.grouping.rows(kinds, columns.written))

    @property
    def grid(self) -> Grid:
        """The points; dates go with dates, numbers with numbers."""
        grid = self.question.grid
        if (grid.kind == "date") != self.dated:
            other = "dates" if self.dated else "numbers"
            raise bad_type(
                f"$value={self.question.value!r} is a column of {other}: give lower and upper as {other} too"
            )
        return grid

    @property
    def number(self) -> int:
        """How many groups there are: all users together are one."""
        return 1 if self.groups is None else len(self.groups)

    @property
    def drops_unnamed(self) -> bool:
        """Whether users without a name are nobody."""
        return self.forms.get("u") == "text"

    @property
    def forms(self) -> dict[str, Kind | None]:
        """The kind of the user and of every column of a key, by our own name."""
        user = self.question.user
        own: dict[str, Kind | None] = dict(zip(self.question.keys, self.kinds, strict=True))
        return own if user is None else {"u": kind_of(self.columns.types[user])} | own


def split_by_group(groups: Indices, places: Indices, weights: Indices, number: int) -> list[Placed]:
    """Return votes of each group that were added up by group and place, in any order."""
    order = np.lexsort((places, groups))
    groups, places, weights = groups[order], places[order], weights[order]
    ends = np.searchsorted(groups, np.arange(number + 1))
    return [(places[ends[n] : ends[n + 1]], weights[ends[n] : ends[n + 1]]) for n in range(number)]


def add_places(places: Indices, weights: Indices) -> Placed:
    """Added up by place; those without weight left out."""
    if not len(places):
        return places, weights
    if np.any(places[1:] < places[:-1]):
        order = np.argsort(places, kind="stable")
        places, weights = places[order], weights[order]
    return add_sorted(places, weights)


def add_sorted(places: Indices, weights: Indices) -> Placed:
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
