"""Noisy numbers in rows, rounded down to a grid: by floats where they are sure, exactly everywhere else.

For many draws of public scores. Numbers are counted in steps of the grid; a float interval surely holds each of them,
and where it does not decide, the lazily drawn number behind it does. What comes out is a function of the exact numbers
alone, as a single release is (there rounded to the nearest float, which takes exact arithmetic every time).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Mask
from shortlist.exact.partial_reals import Draw, NoisyScore, Real, floor_of, rounded, total
from shortlist.exact.score_intervals import FAR, POSITION_ROUNDING
from shortlist.sampling.entropy import Source
from shortlist.sampling.threshold_runner import Finish, Runner

FINENESS = 20
"""A step is about 2^-FINENESS times the scale of the noise: a public number."""

WHOLE = 2.0**53
"""Below it floats hold every whole number."""

Exact = Callable[[int, int], Real]
"""From a row and a place in it to the exact number, as (offset, terms)."""


def fine_exponent(scale: Fraction) -> int:
    """Of a power of two, about 2^-FINENESS of the scale."""
    return scale.numerator.bit_length() - scale.denominator.bit_length() - FINENESS


def step_for(scale: Fraction) -> Fraction:
    """That power of two, or the nearest one that floats can hold."""
    return Fraction(2) ** min(max(fine_exponent(scale), -1074), 1023)


@np.errstate(all="ignore")
def floors(low: Floats, high: Floats, step: Fraction) -> tuple[Floats, Mask]:
    """(floor(x / step), whether the interval around x tells it), step a power of two; where it does not, anything."""
    unit = float(step)
    whole = np.floor(low / unit)
    return whole, (whole == np.floor(high / unit)) & np.isfinite(whole)


@dataclass(frozen=True, slots=True)
class Grid:
    """The multiples of 2^exponent, counted from the multiple `base` on."""

    exponent: int
    base: int

    @classmethod
    def around(cls, near: int | float, scale: Fraction) -> Grid:
        """For numbers near this one under noise of this scale."""
        exponent = fine_exponent(scale)
        return cls(exponent, Fraction(near) // Fraction(2) ** exponent)

    def width(self, scale: Fraction) -> Fraction:
        """A scale, in steps."""
        return scale / Fraction(2) ** self.exponent

    def place(self, number: Fraction) -> Fraction:
        """A number, in steps from the base."""
        return self.width(number) - self.base


@dataclass(frozen=True, slots=True)
class Noisy:
    """Noisy numbers, in steps of a grid from its base: surely between low and high."""

    grid: Grid
    low: Floats
    high: Floats
    exact: Callable[[int, int], NoisyScore]
    """The number in this row and column, with the same draw each time: bits once drawn are never forgotten."""

    @classmethod
    def unseen(cls, grid: Grid, columns: int, row: Callable[[], Sequence[Finish]]) -> Noisy:
        """One row of exact numbers, of which no float knows anything."""
        ends, finishes = np.full((1, columns), np.inf), cache(row)

        def exact(_: int, column: int) -> NoisyScore:
            centre, (scale, draw) = finishes()[column]
            return NoisyScore(grid.place(centre), draw, grid.width(scale))

        return cls(grid, -ends, ends, exact)

    @np.errstate(all="ignore")
    def values(self, columns: Indices) -> Floats:
        """The numbers in these columns of each row, rounded down to the grid."""

        def exact(row: int, place: int) -> Real:
            one = self.exact(row, int(columns[row, place]))
            return total(one.position, [(one.scale, one.draw)])

        return self._rounded_down(*self._ends(columns), np.ones(columns.shape, np.bool_), self.grid.base, exact)

    @np.errstate(all="ignore")
    def leads(self, columns: Indices, others: Indices, where: Mask) -> Floats:
        """By how much numbers exceed those in the other columns, rounded down to the grid; NaN but `where` asked."""
        (low, high), (least, most) = self._ends(columns), self._ends(others)

        def exact(row: int, place: int) -> Real:
            return self.exact(row, int(columns[row, place])).minus(self.exact(row, int(others[row, place])))

        return self._rounded_down(low - most, high - least, where, 0, exact)

    def _ends(self, columns: Indices) -> tuple[Floats, Floats]:
        return np.take_along_axis(self.low, columns, axis=1), np.take_along_axis(self.high, columns, axis=1)

    def _rounded_down(self, low: Floats, high: Floats, where: Mask, base: int, exact: Exact) -> Floats:
        """base + what is surely between low and high, cut to whole steps; to the nearest float if that is coarser."""
        whole = np.floor(low)
        steps = whole + (float(base) if abs(base) < WHOLE else np.inf)
        sure = (whole == np.floor(high)) & (np.abs(whole) < WHOLE) & (np.abs(steps) < WHOLE)
        floats = np.where(where, np.ldexp(steps, self.grid.exponent) + 0.0, np.nan)  # there is one zero
        for row, place in np.argwhere(where & ~sure).tolist():
            steps_there = base + floor_of(exact(row, place))
            floats[row, place] = rounded(steps_there * Fraction(2) ** self.grid.exponent) + 0.0
        return floats


class Runners:
    """Numbers before their noise is drawn. All noise is of one kind, but for that of the last one."""

    def __init__(self, grid: Grid, runners: Sequence[Runner]) -> None:
        self._grid = grid
        self._noises = [one.noise for one in runners]
        self._exact = [(grid.place(one.centre), grid.width(one.scale)) for one in runners]
        self._places = np.clip([rounded(place) for place, _ in self._exact], -FAR, FAR)
        self._widths = np.maximum([rounded(width) for _, width in self._exact], 5e-324)  # unknown noise stays unknown

    @np.errstate(all="ignore")
    def run(self, which: Indices, rows: int, source: Source) -> Noisy:
        """Rows of these runners, each number with noise of its own. `which` has as many rows, or one for all."""
        words = source.words(rows * which.shape[1]).reshape(rows, -1)
        place, width = self._places[which], self._widths[which]
        q, error = self._quantiles(words)
        noise = width * q
        middle = place + noise
        # four roundings here, one of a later difference
        error = width * error + POSITION_ROUNDING * (np.abs(place) + np.abs(noise)) + 1e-300
        low, high = middle - error, middle + error
        if np.abs(place).max() >= FAR:
            low = np.where(place <= -FAR, -np.inf, low)
            high = np.where(place >= FAR, np.inf, high)
        runners = np.broadcast_to(which, words.shape)

        @cache
        def exact(row: int, column: int) -> NoisyScore:
            runner = runners[row, column]
            place, width = self._exact[runner]
            return NoisyScore(place, Draw(self._noises[runner], int(words[row, column]), 64, source), width)

        return Noisy(self._grid, low, high, exact)

    def _quantiles(self, words: NDArray[np.uint64]) -> tuple[Floats, Floats]:
        first, last = self._noises[0], self._noises[-1]
        if first is last:
            return first.quantile(words, 0)
        (q, error), (p, slack) = first.quantile(words[:, :-1], 0), last.quantile(words[:, -1:], 0)
        return np.append(q, p, axis=1), np.append(error, slack, axis=1)
