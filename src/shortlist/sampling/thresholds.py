"""Noisy values, and noisy scores compared with noisy thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from shortlist._arrays import Indices, Values, Words
from shortlist.exact import reals
from shortlist.exact.geometric import LARGEST, Geometric
from shortlist.exact.noise import LAPLACE, Noise
from shortlist.sampling.entropy import Source
from shortlist.sampling.skipping import Layout, Maxima

if TYPE_CHECKING:
    from shortlist.utility.estimates import GapLaw

FLOAT_ERROR = 2.0**-40
"""Relative, of float operations here; the truth is about 2^-52."""
FARTHEST_GRID_STEP = 2.0**52


def add_noise(value: int | float | Fraction, *, scale: Fraction, noise: Noise, source: Source) -> float:
    """value + scale * noise as an exact real, correctly rounded to the nearest float.

    The result is a function of that real alone, so that it says no more than the real mechanism does. `value`
    must be finite; a result beyond the largest float is rounded to an infinity, as the format defines.
    """
    draw = reals.Draw(noise, reals.word(source), 64, source)
    return reals.nearest_float(reals.total(Fraction(value), [(scale, draw)]))


def add_pure_noise(values: Values, *, scale: Fraction, source: Source) -> list[float]:
    """Each number with fresh noise: whole ones with two-sided geometric noise, so that they stay whole, or Laplace."""
    if values.dtype.kind == "f":
        return [add_noise(one, scale=scale, noise=LAPLACE, source=source) for one in values.tolist()]
    counts = values.astype(np.int64)
    words, level = source.words(len(counts)), np.zeros(len(counts), np.int64)
    return [float(n) for n in Geometric(1 / scale).sums(counts, words, level, source)]


def add_whole_noise(values: Indices, *, scale: Fraction, noise: Noise, source: Source) -> Indices:
    """value + scale * noise as exact reals, each rounded to the nearest whole number."""
    words, level = source.words(len(values)), np.zeros(len(values), np.int64)
    return whole_sums(values, Fraction(1), scale, noise, words, level, source)


@np.errstate(all="ignore")
def whole_sums(
    values: Indices, per: Fraction, scale: Fraction, noise: Noise, words: Words, level: Indices, source: Source
) -> Indices:
    """per * value + scale * noise, rounded to the nearest whole number, of survival uniforms that begin so.

    Floats where they are sure, exact arithmetic on the same bits where they are not.
    """
    q, error = noise.quantile(words, level)
    place, shift = values * float(per) + 0.5, float(scale) * q
    slack = float(scale) * error + FLOAT_ERROR * (np.abs(place) + np.abs(shift))
    nearest = np.floor(place + shift)
    sure = (np.abs(nearest) < FARTHEST_GRID_STEP) & (np.floor(place + shift - slack) == np.floor(place + shift + slack))
    sums: Indices = np.where(sure, nearest, 0.0).astype(np.int64)
    for i in np.flatnonzero(~sure).tolist():
        draw = reals.Draw(noise, int(words[i]), 64 + int(level[i]), source)
        exact = reals.floor_of(reals.total(int(values[i]) * per + Fraction(1, 2), [(scale, draw)]))
        sums[i] = min(max(exact, -LARGEST), LARGEST)
    return sums


COMPARISON_SLACK = 2.0**-50
"""Relative error allowed to each number in a comparison of floats; true: a few 2^-53."""


@dataclass(frozen=True, slots=True)
class Test:
    """How a question is tested: its noise and scale, what is subtracted from its gap, and the least gap that passes."""

    noise: Noise
    scale: Fraction
    centre: Fraction
    cut: Fraction


class Barrier:
    """threshold + scale * noise, the noise drawn once and never written out."""

    __slots__ = ("_noise", "line", "source", "threshold", "whole")

    def __init__(
        self, threshold: int | float, scale: Fraction, noise: Noise, source: Source, *, whole: bool = False
    ) -> None:
        draw = reals.Draw(noise, reals.word(source), 64, source)
        self.threshold = threshold
        self.source = source
        self.whole = whole
        self.line = Fraction(threshold) + (reals.floor_of(reals.total(Fraction(0), [(scale, draw)])) if whole else 0)
        self._noise: list[reals.Term] = [] if whole else [(scale, draw)]

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("the noise of a threshold is drawn once: it cannot be copied or pickled")

    def passes(self, value: int | float, test: Test, draw: reals.Draw) -> bool:
        """Whether the gap of this question is at least the cut, exactly."""
        offset, terms = self._gap(value, test, draw)
        return reals.is_positive(reals.total(offset - test.cut, terms))

    def gap(self, value: int | float, test: Test, draw: reals.Draw) -> float:
        """The exact gap, correctly rounded; with whole numbers its floor."""
        offset, terms = self._gap(value, test, draw)
        gap = reals.total(offset, terms)
        return reals.to_float(Fraction(reals.floor_of(gap))) if self.whole else reals.nearest_float(gap)

    def _gap(self, value: int | float, test: Test, draw: reals.Draw) -> tuple[Fraction, list[reals.Term]]:
        below = [(-scale, noise) for scale, noise in self._noise]
        return Fraction(value) - self.line - test.centre, [(test.scale, draw), *below]

    def bounds(self, origin: int | float, test: Test, unit: Fraction) -> tuple[float, float]:
        """Floats around what (value - origin + scale * noise) / unit must reach to pass, by the bits drawn so far."""
        offset = self.line + test.centre + test.cut - Fraction(origin)
        return reals.float_bounds(reals.total(offset / unit, [(scale / unit, noise) for scale, noise in self._noise]))


@dataclass(frozen=True, slots=True)
class Branch:
    """A test that a question may pass: its name, what "above" costs there, and what the gap says."""

    name: str
    test: Test
    cost: Fraction
    law: GapLaw


@dataclass(frozen=True, slots=True)
class Rules:
    """The exact numbers of a run. `first` (e0) pays for the threshold, `each` (e1) for the dearest answer "above"."""

    threshold: int | float
    threshold_scale: Fraction
    noise: Noise
    whole: bool
    epsilon: Fraction
    first: Fraction
    each: Fraction
    branches: tuple[Branch, ...]

    def stops(self, spent: Fraction) -> bool:
        """Whether another answer "above" might not be paid for, after `spent` on those given."""
        return self.first + spent + self.each > self.epsilon

    @property
    def unit(self) -> Fraction:
        """The largest unit in which what "above" costs is a whole number in each branch."""
        return self.each / math.lcm(*((branch.cost / self.each).denominator for branch in self.branches))

    @property
    def weights(self) -> tuple[int, ...]:
        """What "above" costs in each branch, in units."""
        return tuple(int(branch.cost / self.unit) for branch in self.branches)

    @property
    def enough(self) -> int:
        """The run stops when it has spent so many units."""
        return math.floor((self.epsilon - self.first - self.each) / self.unit) + 1

    def barrier(self, source: Source) -> Barrier:
        """Draw the noise of the threshold."""
        return Barrier(self.threshold, self.threshold_scale, self.noise, source, whole=self.whole)


class Questions:
    """Questions that come one at a time, each with fresh noise, against one barrier and one test.

    Noise is drawn a few questions ahead, as certified intervals; it is used once and in order.
    """

    __slots__ = ("_barrier", "_high", "_highest", "_low", "_lowest", "_next", "_test", "_words")

    def __init__(self, barrier: Barrier, test: Test) -> None:
        self._barrier = barrier
        self._test = test
        self._lowest, self._highest = barrier.bounds(barrier.threshold, test, Fraction(1))
        self._low: list[float] = []
        self._high: list[float] = []
        self._words: list[int] = []
        self._next = 0

    def ask(self, value: int | float) -> reals.Draw | None:
        """The noise of this question if it passes (its first 64 bits, or more), None if it does not."""
        i = self._next
        if i == len(self._words):
            self._draw_ahead()
            i = 0
        self._next = i + 1
        distance = value - self._barrier.threshold
        error = COMPARISON_SLACK * (abs(value) + abs(distance))
        if distance + self._high[i] + error < self._lowest:
            return None
        draw = reals.Draw(self._test.noise, self._words[i], 64, self._barrier.source)
        if distance + self._low[i] - error > self._highest or self._barrier.passes(value, self._test, draw):
            return draw
        return None

    def _draw_ahead(self) -> None:
        words = self._barrier.source.words(min(max(4 * len(self._words), 16), 1024))
        noise, error = self._test.noise.quantile(words, 0)
        with np.errstate(over="ignore", invalid="ignore"):  # NaN, where floats overflow, decides nothing
            middle = reals.to_float(self._test.scale) * noise
            room = reals.to_float(self._test.scale) * error + 4 * COMPARISON_SLACK * np.abs(middle) + 1e-300
            self._low, self._high = (middle - room).tolist(), (middle + room).tolist()
        self._words = words.tolist()


BLOCK = 4096
FIRST_CHUNK = 1 << 15
LARGEST_CHUNK = 1 << 24
GROWTH = 512


def passing(values: Values, barrier: Barrier, tests: Sequence[Test]) -> Iterator[tuple[int, int, reals.Draw]]:
    """(index, number of the test, noise) of all questions that pass a test, in order; of several tests the first.

    The same law as asking one after the other, by skipping: whoever is far below the line draws nothing. Chunks grow,
    so that an early stop is cheap. A question at -inf never passes.
    """
    line = barrier.threshold  # positions are counted from a number near it, of the values' own kind
    origin = float(line) if values.dtype.kind == "f" else max(min(math.floor(line), 2**63 - 1), -(2**63))
    lines = [barrier.bounds(origin, test, test.scale) for test in tests]
    start, size = 0, FIRST_CHUNK
    while start < len(values):
        chunk = values[start : start + size]
        maxima = Maxima.of(chunk, BLOCK)
        contests = [reals.Contest(chunk, 1, test.scale, test.noise, origin) for test in tests]
        candidates = [_candidates(*one, maxima, barrier.source) for one in zip(contests, lines, strict=True)]
        last = -1
        ways = ((index, n, *rest) for n, some in enumerate(candidates) for index, *rest in some)
        for index, number, bits, level, sure in sorted(ways):
            if index == last:
                continue  # it passed an earlier test
            draw = reals.Draw(tests[number].noise, bits, 64 + level, barrier.source)
            if sure or barrier.passes(chunk[index].item(), tests[number], draw):
                last = index
                yield start + index, number, draw
        start, size = start + size, min(size * GROWTH, LARGEST_CHUNK)


@np.errstate(all="ignore")
def _candidates(
    contest: reals.Contest, line: tuple[float, float], maxima: Maxima, source: Source
) -> Iterator[tuple[int, int, int, bool]]:
    """(index, word, level, whether it surely passes) of all that may reach the line, which lies between two floats."""
    lowest, highest = line
    layout = Layout.of(contest, maxima, min(max(lowest, -reals.FAR), reals.FAR))
    hits = layout.plan().draw(source)
    values = contest.values[hits.index]
    low, high = contest.intervals(values, hits.words, hits.level)
    may = np.flatnonzero((high >= lowest) & (values > -np.inf))
    columns = (hits.index[may], hits.words[may], hits.level[may], low[may] > highest)
    return zip(*(column.tolist() for column in columns), strict=True)
