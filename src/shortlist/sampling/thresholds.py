"""Noisy values, and noisy scores compared with noisy thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Mask, Values, Words
from shortlist.exact import reals
from shortlist.exact.geometric import LARGEST, Geometric
from shortlist.exact.noise import LAPLACE, Noise
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import Grid, Runner, Runners, floors, step_for
from shortlist.sampling.skipping import CHUNK, Layout, Maxima

if TYPE_CHECKING:
    from shortlist.estimates import GapLaw

FLOAT_ERROR = 2.0**-40
"""Relative, of float operations here; the truth is about 2^-52."""
FARTHEST_GRID_STEP = 2.0**52


def add_noise(value: int | float | Fraction, *, scale: Fraction, noise: Noise, source: Source) -> float:
    """value + scale * noise as an exact real, correctly rounded to the nearest float.

    The result is a function of that real alone, so that it says no more than the real mechanism does. `value`
    must be finite; a result beyond the largest float is rounded to an infinity, as the format defines.
    """
    return reals.nearest_float(
        reals.total(Fraction(value), [(scale, reals.Draw(noise, reals.word(source), 64, source))])
    )


def add_pure_noise(values: Values, *, scale: Fraction, source: Source) -> list[float]:
    """Each number with fresh noise: whole ones with two-sided geometric noise, so that they stay whole, or Laplace."""
    if values.dtype.kind == "f":
        return [add_noise(one, scale=scale, noise=LAPLACE, source=source) for one in values.tolist()]
    counts = values.astype(np.int64)
    words, level = source.words(len(counts)), np.zeros(len(counts), np.int64)
    return [float(n) for n in Geometric(1 / scale).sums(counts, words, level, source)]


def add_noise_to_rows(values: Values, *, scale: Fraction, noise: Noise, source: Source) -> Floats:
    """The same for every number of a table of public ones, rounded down to the grid of that scale."""
    centres, which = np.unique(values, return_inverse=True)
    grid = Grid.around(centres[-1].item(), scale)
    runners = Runners(grid, [Runner(Fraction(centre), scale, noise) for centre in centres.tolist()])
    columns = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return runners.run(which.reshape(values.shape), len(values), source).values(columns)


def add_whole_noise(values: Indices, *, scale: Fraction, noise: Noise, source: Source) -> Indices:
    """value + scale * noise as exact reals, each rounded to the nearest whole number."""
    return whole_sums(
        values, Fraction(1), scale, noise, source.words(len(values)), np.zeros(len(values), np.int64), source
    )


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
    """threshold + scale * noise, the noise drawn once and never written out; `first` is its first word, if drawn."""

    __slots__ = ("_noise", "line", "source", "threshold", "whole")

    def __init__(
        self,
        threshold: int | float,
        scale: Fraction,
        noise: Noise,
        source: Source,
        *,
        whole: bool = False,
        first: int | None = None,
    ) -> None:
        draw = reals.Draw(noise, reals.word(source) if first is None else first, 64, source)
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

    def steps(self, value: int | float, test: Test, draw: reals.Draw, step: Fraction) -> int:
        """floor(gap / step), exactly."""
        offset, terms = self._gap(value, test, draw)
        return reals.floor_of(reals.total(offset / step, [(scale / step, noise) for scale, noise in terms]))

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

    def barrier(self, source: Source, first: int | None = None) -> Barrier:
        """Draw the noise of the threshold, or take a noise whose first word is known."""
        return Barrier(self.threshold, self.threshold_scale, self.noise, source, whole=self.whole, first=first)


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
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = scale_noise(noise, error, self._test.scale)
        self._low, self._high, self._words = low.tolist(), high.tolist(), words.tolist()


def scale_noise(noise: Floats, error: Floats, scale: Fraction) -> tuple[Floats, Floats]:
    """Bounds on scale * noise, with room for the sums they go into. NaN, where floats overflow, decides nothing."""
    factor = reals.to_float(scale)
    middle = factor * noise
    room = factor * error + 4 * COMPARISON_SLACK * np.abs(middle) + 1e-300
    return middle - room, middle + room


BLOCK = 4096
FIRST_CHUNK = 1 << 15
LARGEST_CHUNK = 1 << 24
GROWTH = 512


def passing(values: Values, barrier: Barrier, tests: Sequence[Test]) -> Iterator[tuple[int, int, reals.Draw]]:
    """(index, number of the test, noise) of all questions that pass a test, in order; of several tests the first.

    The same law as asking one after the other, by skipping: whoever is far below the line draws nothing. Chunks grow,
    so that an early stop is cheap. A question at -inf never passes.
    """
    origin = _origin(values, barrier.threshold)
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


Candidate = tuple[int, int, int, bool]
"""Index, word, level, and whether it surely passes."""


@np.errstate(all="ignore")
def _candidates(contest: reals.Contest, line: tuple[float, float], maxima: Maxima, source: Source) -> list[Candidate]:
    """All that may reach the line, whose noisy position is known to lie between two floats."""
    lowest, highest = line
    layout = Layout.of(contest, maxima, min(max(lowest, -reals.FAR), reals.FAR))
    hits = layout.plan().draw(source)
    values = contest.values[hits.index]
    low, high = contest.intervals(values, hits.words, hits.level)
    may = np.flatnonzero((high >= lowest) & (values > -np.inf))
    columns = (hits.index[may], hits.words[may], hits.level[may], low[may] > highest)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _origin(values: Values, threshold: int | float) -> int | float:
    """A number of the values' own kind near the threshold: positions are counted from there."""
    if values.dtype.kind == "f":
        return float(threshold)
    return max(min(math.floor(threshold), 2**63 - 1), -(2**63))


@dataclass(frozen=True, slots=True)
class ManyRuns:
    """Independent runs over the same questions, some at a time, each against a threshold of its own."""

    values: Values
    rules: Rules

    def draw(self, source: Source, draws: int) -> tuple[Indices, Floats, Indices]:
        """(which questions pass, their gaps rounded down, the tests they passed): in order; -1 and NaN for no more."""
        questions = np.flatnonzero(self.values > -np.inf)  # the others never pass
        values, tests = self.values[questions].tolist(), [branch.test for branch in self.rules.branches]
        line, shape = Fraction(self.rules.threshold), (draws, min(len(values), self.rules.enough))
        offsets = np.array(
            [[reals.to_float(Fraction(value) - line - test.centre) for value in values] for test in tests]
        )
        indices, gaps, numbers = np.full(shape, -1, np.int64), np.full(shape, np.nan), np.full(shape, -1, np.int64)
        per_run = 1 + len(values) * len(tests)
        for start in range(0, draws, max(1, CHUNK // per_run)):
            some = slice(start, min(draws, start + max(1, CHUNK // per_run)))
            words = source.words((some.stop - start) * per_run).reshape(per_run, -1)
            runs = _Runs(self.rules, tests, words[0], words[1:].reshape(len(tests), len(values), -1))
            runs.answer(values, offsets, source, indices[some], gaps[some], numbers[some])
        return np.where(indices < 0, -1, questions[indices]), gaps, numbers


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs and their words: `line` has one for each run, `words` is tests x questions x runs."""

    rules: Rules
    tests: list[Test]
    line: Words
    words: NDArray[np.uint64]

    @property
    def step(self) -> Fraction:
        """Gaps are rounded down to its multiples."""
        rules = self.rules
        return Fraction(1) if rules.whole else step_for(max(rules.threshold_scale, *(one.scale for one in self.tests)))

    @np.errstate(all="ignore")
    def answer(
        self, values: list[int | float], offsets: Floats, source: Source, indices: Indices, gaps: Floats, tests: Indices
    ) -> None:
        """Write the answers of each run into its row; `offsets` are the gaps without noise, one row for each test."""
        weights, enough, step = self.rules.weights, self.rules.enough, self.step
        low, high = self._intervals(offsets)
        test, unsure, sure = self._first_passes(low, high)
        # sums go on behind the end of a run: where they may not fit into 64 bits they are Python's own
        fits = len(values) * max(weights) < 2**63
        cost = np.cumsum(np.array([*weights, 0], np.int64 if fits else object)[test], axis=0)
        live = np.vstack([np.ones((1, len(self.line)), np.bool_), (cost[:-1] < enough).astype(np.bool_)])
        answered = live & (test >= 0)
        question, run = np.nonzero(answered)
        place, number = (np.cumsum(answered, axis=0) - 1)[question, run], test[question, run]
        whole, clear = floors(low[number, question, run], high[number, question, run], step)
        undecided = np.logical_or.reduce(live & unsure, axis=0)
        undecided[run[~clear]] = True
        indices[run, place], gaps[run, place], tests[run, place] = question, whole * float(step) + 0.0, number
        for one in np.flatnonzero(undecided):
            indices[one], gaps[one], tests[one] = -1, np.nan, -1
            for n, answer in enumerate(self._exactly(values, int(one), sure[:, :, one], source)):
                indices[one, n], gaps[one, n], tests[one, n] = answer

    def _intervals(self, offsets: Floats) -> tuple[Floats, Floats]:
        """Bounds on the gaps, each number widened by more than the sums may be off."""
        line_low, line_high = scale_noise(*self.rules.noise.quantile(self.line, 0), self.rules.threshold_scale)
        if self.rules.whole:
            line_low, line_high = np.floor(line_low), np.floor(line_high)
        ends = [
            scale_noise(*test.noise.quantile(words, 0), test.scale)
            for test, words in zip(self.tests, self.words, strict=True)
        ]
        room = COMPARISON_SLACK * np.abs(offsets)
        low = np.array([one for one, _ in ends]) + (offsets - room)[:, :, None]
        high = np.array([one for _, one in ends]) + (offsets + room)[:, :, None]
        low -= line_high + COMPARISON_SLACK * np.abs(line_high)
        high -= line_low - COMPARISON_SLACK * np.abs(line_low)
        return low, high

    def _first_passes(self, low: Floats, high: Floats) -> tuple[Indices, Mask, NDArray[np.int8]]:
        """(the first test that each question passes or -1, whether that is unsure, what is sure of each test)."""
        cuts = np.array([reals.to_float(test.cut) for test in self.tests])[:, None, None]
        room = COMPARISON_SLACK * np.abs(cuts)
        # what floats cannot hold tells nothing
        passes, fails = (low > cuts + room) & (low < np.inf), (high < cuts - room) & (high > -np.inf)
        first, unsure = np.full(passes.shape[1:], -1, np.int64), np.zeros(passes.shape[1:], np.bool_)
        for n in reversed(range(len(passes))):
            first = np.where(passes[n], n, np.where(fails[n], first, -1))
            unsure = ~passes[n] & (~fails[n] | unsure)
        return first, unsure, passes.astype(np.int8) - fails.astype(np.int8)

    def _exactly(
        self, values: list[int | float], run: int, sure: NDArray[np.int8], source: Source
    ) -> Iterator[tuple[int, float, int]]:
        """(question, gap rounded down, test) of the answers of one run; `sure` is +1 or -1 where floats can tell."""
        barrier, spent, step = self.rules.barrier(source, int(self.line[run])), 0, self.step
        for question, value in enumerate(values):
            for n, test in enumerate(self.tests):
                draw = reals.Draw(test.noise, int(self.words[n, question, run]), 64, source)
                if sure[n, question] > 0 or (not sure[n, question] and barrier.passes(value, test, draw)):
                    yield question, reals.to_float(barrier.steps(value, test, draw, step) * step), n
                    spent += self.rules.weights[n]
                    break
            if spent >= self.rules.enough:
                return
