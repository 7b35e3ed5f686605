"""What people have voted for on a line: a public grid of points, and how much weight lies on which of them."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal, Self

import numpy as np

from shortlist._arrays import Floats, Frame, Indices, Values
from shortlist.errors import Text, bad_type, bad_value
from shortlist.scores import Number, Scores

MOST_POINTS = 1 << 40
"""The most points that a grid may have."""
FINE = 1 << 20
"""A grid of real numbers has this many steps, or up to twice as many, unless a step is given."""

Bound = Number | datetime.date
Kind = Literal["whole", "real", "date"]

MISSING = Text("$lower= and $upper= are public numbers you choose, never the smallest and the largest of the data")


@dataclass(frozen=True, slots=True)
class Grid:
    """The points lower + i step, i = 0, .., size - 1: whole numbers, real ones, or days (by their ordinal)."""

    kind: Kind
    lower: Fraction
    step: Fraction
    size: int

    @classmethod
    def of(cls, lower: object, upper: object, step: object = None) -> Grid:
        """The grid from `lower` to `upper`: a function of these alone, never of a column or of its type.

        Without a step: a day between dates; 1 between bounds that are written as whole numbers (0, not 0.0); otherwise
        the power of two next below (upper - lower) / 2^20.

        Raises
        ------
        ValueError, TypeError
            naming the argument.
        """
        dated = _is_date(lower)
        if lower is None or upper is None:
            raise TypeError(MISSING)
        if dated != _is_date(upper):
            raise bad_type("$lower and $upper must be two numbers or two dates")
        first, last = _exact("lower", lower), _exact("upper", upper)
        whole = all(isinstance(bound, int | np.integer) for bound in (lower, upper))
        if first >= last:
            raise bad_value("$lower must be below $upper")
        wide = _checked_step(step, dated) if step is not None else _step(first, last, dated or whole)
        size = (last - first) // wide + 1
        if size > MOST_POINTS:
            raise ValueError("step is too fine: more than 2^40 points lie between lower and upper; write a larger step")
        if size < 2:
            raise bad_value("$step must not be larger than upper - lower")
        integral = first.denominator == wide.denominator == 1
        return cls("date" if dated else "whole" if integral else "real", first, wide, size)

    def point(self, place: int) -> int | float | datetime.date:
        """The point at this place, as a release shows it."""
        exact = self.lower + place * self.step
        if self.kind == "date":
            return datetime.date.fromordinal(int(exact))
        return int(exact) if self.kind == "whole" else float(exact)

    @property
    def in_words(self) -> str:
        """All of it, for the record: who approves a question approves this range and no other."""
        ends = (self.point(place) if self.kind == "date" else self._text(place) for place in (0, self.size - 1))
        step = f"{self.step} days" if self.kind == "date" else _text(self.step)
        return "from {} to {} by {}".format(*ends, step)

    def _text(self, place: int) -> str:
        return _text(self.lower + place * self.step)

    @property
    def ends(self) -> tuple[float, float, float]:
        """(lower, upper, step) for the arithmetic of rows, which looks at one row alone."""
        return float(self.lower), float(self.lower + (self.size - 1) * self.step), float(self.step)

    def places(self, values: Floats) -> Indices:
        """The nearest place of each value; what lies outside moves to the ends. NaN must be gone."""
        low, high, step = self.ends
        nearest = np.floor((np.clip(values, low, high) - low) / step + 0.5)
        return np.clip(nearest, 0, self.size - 1).astype(np.int64)

    @property
    def start(self) -> int:
        """By how many steps a sum of whole steps, counted from 0, is shifted to be a place: floor(1/2 - lower/step)."""
        return math.floor(Fraction(1, 2) - self.lower / self.step)


def _text(number: Fraction) -> str:
    """Exactly: as a decimal, where one stands for it."""
    short = repr(float(number)).removesuffix(".0")
    return short if Fraction(short) == number else str(number)


def read_bound(text: str) -> int | float | datetime.date:
    """A number as it is written, or a day.

    Raises
    ------
    ValueError
        for anything else.
    """
    if re.fullmatch(r"[+-]?[0-9]{1,40}", text):
        return int(text)
    for read in (datetime.date.fromisoformat, float):
        try:
            return read(text)
        except ValueError:
            continue
    raise ValueError("write a number, or a date such as 2024-01-31")


def _is_date(bound: object) -> bool:
    return isinstance(bound, datetime.date) and not isinstance(bound, datetime.datetime)


def _exact(name: str, bound: object) -> Fraction:
    """A bound as it was written: 0.1 is a tenth. Days are their ordinals."""
    if isinstance(bound, datetime.date):
        if isinstance(bound, datetime.datetime):
            raise bad_type(f"${name} must be a date without a time, or a number")
        return Fraction(bound.toordinal())
    value = bound.item() if isinstance(bound, np.generic) else bound
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | Decimal):
        raise bad_type(f"${name} must be a number or a date, for example ${name}=0")
    try:
        exact = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, OverflowError):
        raise bad_value(f"${name} must be finite") from None
    if abs(exact) > 2**500 or (exact and abs(exact) < Fraction(1, 2**500)):
        raise bad_value(f"${name} must be of an ordinary size: change the unit of the values")
    return exact


def _checked_step(step: object, dated: bool) -> Fraction:
    if dated and isinstance(step, datetime.timedelta):
        step = Fraction(step / datetime.timedelta(days=1))
    wide = _exact("step", step)
    if isinstance(step, datetime.date) or wide <= 0:
        raise bad_value("$step must be above 0, for example $step=1")
    if dated and wide.denominator != 1:
        raise bad_value("step of dates must be whole days, for example $step=7")
    return wide


def _step(first: Fraction, last: Fraction, whole: bool) -> Fraction:
    if whole:
        return Fraction(1)
    most = (last - first) / FINE
    wide = Fraction(2) ** (most.numerator.bit_length() - most.denominator.bit_length())
    while wide > most:
        wide /= 2
    return wide


class Votes(Scores):
    """Weights on the points of a grid, those of one person `share` in all: scores of which most are 0 and not held.

    Whoever is added adds whole weights to some points, and `share` together; who that is nobody knows from here.
    """

    __slots__ = ("_grid", "_places", "_weights")

    _grid: Grid
    _places: Indices
    _weights: Indices

    @classmethod
    def on(
        cls,
        grid: Grid,
        places: Indices,
        weights: Indices,
        *,
        share: int,
        unit: str = "user",
        frame: Frame | None = None,
        source: str = "",
    ) -> Self:
        """Counted from people's rows: `places` are distinct and increasing, weights above 0."""
        votes = cls([0], sensitivity=share, monotone=True, public=True, unit=unit)
        votes._values, votes._size, votes._from_table = None, grid.size, True
        votes._frame, votes._source = frame, source
        votes._grid, votes._places, votes._weights = grid, places, weights
        return votes

    def holding(self, places: Indices, weights: Indices) -> Self:
        """The same question with these votes."""
        copy = self._with("_from_table", True)
        copy._places, copy._weights = places, weights
        return copy

    @property
    def grid(self) -> Grid:
        """The public grid."""
        return self._grid

    @property
    def _numbers(self) -> Values:
        raise TypeError("these are votes on a grid of points: ask for a quantile of them")

    def _named(self, positions: Sequence[int], *, by_weight: bool) -> list[Hashable]:
        return [self._grid.point(place) for place in positions]

    def _with(self, slot: str, value: object) -> Self:
        copy = super()._with(slot, value)
        copy._grid, copy._places, copy._weights = self._grid, self._places, self._weights
        return copy


def places_of(scores: Scores) -> tuple[Indices, Indices]:
    """(the places that hold weight, increasing; their weights): of votes, or of counts place by place. Private."""
    if isinstance(scores, Votes):
        return scores._places, scores._weights
    counts = scores._numbers
    there = np.flatnonzero(counts > 0)
    return there, counts[there].astype(np.int64)
