"""Races of noisy scores: one, the same race many times, and one race in each of many rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial, reduce
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Mask, Values, Words
from shortlist.exact.noise import GUMBEL, RELATIVE_ERROR, Noise
from shortlist.exact.reals import (
    FAR,
    POSITION_ROUNDING,
    SHORT,
    Contest,
    Draw,
    NoisyScore,
    Real,
    floor_of,
    is_positive,
    kth_largest,
    nearest_float,
    ranking,
    to_float,
    word,
)
from shortlist.sampling.entropy import Source
from shortlist.sampling.skipping import CHUNK, SOME, SkipPlan, block_size, make_plan

if TYPE_CHECKING:
    from flint import arb


Work = Literal["adaptive", "fixed"]

SKIP_FROM, SKIP_FROM_IF_ROUGH = 4096, 1 << 14
"""Below so many candidates drawing them all is as fast as skipping; more where few operations tell who wins."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The winners, best first, with what is known of their noise."""

    indices: Indices
    _contest: Contest
    _exact: Callable[[int], NoisyScore]
    _places: Indices
    """Of the winners, for `_exact`."""

    def finishes(self) -> list[NoisyScore]:
        """Return the exact noisy scores."""
        scale, centre = self._contest.scale, Fraction(self._contest.centre)
        winners = map(self._exact, self._places.tolist())
        return [NoisyScore(centre + scale * one.position, one.draw, scale) for one in winners]

    def values(self) -> list[float]:
        """Return the exact noisy scores, each correctly rounded."""
        return [nearest_float(one.number()) for one in self.finishes()]

    def gaps(self) -> list[float]:
        """Return the exact differences of consecutive noisy scores, each correctly rounded."""
        return [nearest_float(one.minus(two)) for one, two in pairwise(self.finishes())]


@dataclass(frozen=True, slots=True)
class _Rivals:
    """Candidates that may still win: their indices, bits and intervals."""

    index: Indices
    words: Words
    level: Indices
    low: Floats
    high: Floats

    def keep(self, places: Indices) -> _Rivals:
        return _Rivals(*(column[places] for column in _COLUMNS(self)))

    def join(self, other: _Rivals) -> _Rivals:
        return _Rivals(*map(np.concatenate, zip(_COLUMNS(self), _COLUMNS(other), strict=True)))

    def finish(self, contest: Contest, source: Source) -> Finish:
        exact = _exact_scores(contest, self.index, self.words, self.level, source)
        order = ranking(self.low, self.high, contest.k, exact)
        return Finish(self.index[order], contest, exact, order)


_COLUMNS = attrgetter(*_Rivals.__slots__)


def _exact_scores(
    contest: Contest, index: Indices, words: Words, level: Indices, source: Source
) -> Callable[[int], NoisyScore]:
    """Return the exact noisy score at each place: the same one each time, since it may have drawn more bits."""
    return cache(lambda i: contest.noisy_score(int(index[i]), int(words[i]), int(level[i]), source))


def race(
    values: Values,
    *,
    k: int,
    scale: Fraction,
    noise: Noise,
    source: Source,
    work: Work = "adaptive",
) -> Finish:
    """The k largest of values + scale * noise, best first. At least k values must be above -inf."""
    return prepare(values, k=k, scale=scale, noise=noise, work=work)(source)


def prepare(
    values: Values, *, k: int, scale: Fraction, noise: Noise, work: Work = "adaptive"
) -> Callable[[Source], Finish]:
    """Whatever depends on the scores alone, done once: a race that can be run again and again."""
    many = SKIP_FROM if noise.rough is None or k > SHORT else SKIP_FROM_IF_ROUGH
    block = block_size(len(values), k) if work == "adaptive" and len(values) >= many else None
    if block is None:
        return partial(full_race, Contest(values, k, scale, noise, kth_largest(values, k)))
    with np.errstate(all="ignore"):
        return partial(skip_race, make_plan(values, k, scale, noise, block))


def full_race(contest: Contest, source: Source) -> Finish:
    """One race in which every candidate draws."""
    chunks = _everyone(len(contest.values), source)
    if len(contest.values) <= CHUNK:
        _, words, level = only = next(chunks)
        clear = contest.clear_winners(words)
        if clear is not None:
            return Finish(
                clear, contest, _exact_scores(contest, clear, words[clear], level, source), np.arange(contest.k)
            )
        chunks = iter([only])
    with np.errstate(all="ignore"):
        return _best(contest, chunks).finish(contest, source)


@np.errstate(all="ignore")
def skip_race(plan: SkipPlan, source: Source) -> Finish:
    """One race in which most candidates draw no noise of their own (`skipping.py`)."""
    contest, hits, passed, rivals = plan.contest, plan.draw(source), 0, []
    for start in range(0, len(hits.index), SOME):
        some = slice(start, start + SOME)
        index, words, level = hits.index[some], hits.words[some], hits.level[some]
        low, high = contest.intervals(contest.values[index], words, level)
        passed += int(np.count_nonzero(low > plan.threshold))
        rivals.append(_Rivals(index, words, level, low, high).keep(np.flatnonzero(high >= plan.threshold)))
    if passed >= contest.k:
        return reduce(_Rivals.join, rivals).finish(contest, source)
    return _best(contest, plan.reveal(hits, source)).finish(contest, source)


def _everyone(d: int, source: Source) -> Iterator[tuple[Indices, Words, Indices]]:
    for start in range(0, d, CHUNK):
        index = np.arange(start, min(start + CHUNK, d))
        yield index, source.words(len(index)), np.zeros(len(index), np.int64)


def _best(contest: Contest, chunks: Iterable[tuple[Indices, Words, Indices]]) -> _Rivals:
    """Return the candidates that may still be among the k best after all chunks."""
    best: _Rivals | None = None
    threshold = -np.inf
    for index, words, level in chunks:
        low, high = contest.intervals(contest.values[index], words, level)
        some = _Rivals(index, words, level, low, high)
        if best is not None:
            some = best.join(some.keep(np.flatnonzero(high >= threshold)))
        if len(some.low) >= contest.k:
            threshold = np.partition(some.low, len(some.low) - contest.k)[len(some.low) - contest.k]
            some = some.keep(np.flatnonzero(some.high >= threshold))
        best = some
    assert best is not None
    return best


@dataclass(frozen=True, slots=True)
class Runner:
    """centre + scale * noise, before it is drawn: a line, or a candidate."""

    centre: Fraction
    scale: Fraction
    noise: Noise

    def draw(self, source: Source) -> NoisyScore:
        """Draw one such number, lazily."""
        return NoisyScore(self.centre, Draw(self.noise, word(source), 64, source), self.scale)


def best_of(many: int) -> Noise:
    """The largest of so many Gumbel noises: Gumbel noise + ln(many). For lines only: it knows its quantiles alone."""
    shift = math.log(many)

    def quantile(words: Words, level: Indices | int) -> tuple[Floats, Floats]:
        q, error = GUMBEL.quantile(words, level)
        return q + shift, error + RELATIVE_ERROR * shift

    def exact_quantile(v: int, bits: int) -> arb:
        from flint import arb

        return GUMBEL.exact_quantile(v, bits) + arb(many).log()

    return replace(GUMBEL, name=f"best of {many} gumbel", quantile=quantile, exact_quantile=exact_quantile)


def how_many_above(finishes: list[NoisyScore], line: NoisyScore) -> int:
    """Return how many of the finishes, best first, are above the line: exactly."""
    return next((n for n, one in enumerate(finishes) if not is_positive(one.minus(line))), len(finishes))


FINENESS = 20
"""A step is about 2^-FINENESS times the scale of the noise: a public number."""

WHOLE = 2.0**53
"""Below it floats hold every whole number."""

Exact = Callable[[int, int], Real]
"""From a row and a place in it to the exact number, as (offset, terms)."""


def fine_exponent(scale: Fraction) -> int:
    """Of a power of two, about 2^-FINENESS of the scale."""
    return scale.numerator.bit_length() - scale.denominator.bit_length() - FINENESS


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
    def unseen(cls, grid: Grid, columns: int, row: Callable[[], Sequence[NoisyScore]]) -> Noisy:
        """Make one row of exact numbers, of which no float knows anything."""
        ends, finishes = np.full((1, columns), np.inf), cache(row)

        def exact(_: int, column: int) -> NoisyScore:
            one = finishes()[column]
            return NoisyScore(grid.place(one.position), one.draw, grid.width(one.scale))

        return cls(grid, -ends, ends, exact)

    @np.errstate(all="ignore")
    def values(self, columns: Indices) -> Floats:
        """The numbers in these columns of each row, rounded down to the grid."""

        def exact(row: int, place: int) -> Real:
            return self.exact(row, int(columns[row, place])).number()

        return self._round_down(*self._ends(columns), np.ones(columns.shape, np.bool_), self.grid.base, exact)

    @np.errstate(all="ignore")
    def leads(self, columns: Indices, others: Indices, where: Mask) -> Floats:
        """By how much numbers exceed those in the other columns, rounded down to the grid; NaN but `where` asked."""
        (low, high), (least, most) = self._ends(columns), self._ends(others)

        def exact(row: int, place: int) -> Real:
            return self.exact(row, int(columns[row, place])).minus(self.exact(row, int(others[row, place])))

        return self._round_down(low - most, high - least, where, 0, exact)

    def _ends(self, columns: Indices) -> tuple[Floats, Floats]:
        return np.take_along_axis(self.low, columns, axis=1), np.take_along_axis(self.high, columns, axis=1)

    def _round_down(self, low: Floats, high: Floats, where: Mask, base: int, exact: Exact) -> Floats:
        """base + what is surely between low and high, cut to whole steps; to the nearest float if that is coarser."""
        whole = np.floor(low)
        steps = whole + (float(base) if abs(base) < WHOLE else np.inf)
        sure = (whole == np.floor(high)) & (np.abs(whole) < WHOLE) & (np.abs(steps) < WHOLE)
        floats = np.where(where, np.ldexp(steps, self.grid.exponent) + 0.0, np.nan)  # there is one zero
        for row, place in np.argwhere(where & ~sure).tolist():
            steps_there = base + floor_of(exact(row, place))
            floats[row, place] = to_float(steps_there * Fraction(2) ** self.grid.exponent) + 0.0
        return floats


class Runners:
    """Numbers before their noise is drawn. All noise is of one kind, but for that of the last one."""

    def __init__(self, grid: Grid, runners: Sequence[Runner]) -> None:
        self._grid = grid
        self._noises = [one.noise for one in runners]
        self._exact = [(grid.place(one.centre), grid.width(one.scale)) for one in runners]
        self._places = np.clip([to_float(place) for place, _ in self._exact], -FAR, FAR)
        self._widths = np.maximum([to_float(width) for _, width in self._exact], 5e-324)  # unknown noise stays unknown

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


T = TypeVar("T", np.int64, np.float64)

LINE = -1
"""The line among the candidates' indices."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Some races, one row each: the k that came first."""

    finishes: Noisy
    names: Indices
    """Whose finish stands in which column; that of the line stands in the last one."""
    first: Indices
    """The columns of the k, best first."""

    @property
    def indices(self) -> Indices:
        """The candidates that came first, best first, and LINE where the line did."""
        return self.names[self.first]

    def values(self) -> Floats:
        """Their noisy scores, rounded down to the grid."""
        return self.finishes.values(self.first)

    def gaps(self) -> Floats:
        """The k - 1 leads over the next, rounded down to the grid."""
        ones, others = self.first[:, :-1], self.first[:, 1:]
        return self.finishes.leads(ones, others, np.ones(ones.shape, np.bool_))

    def leads(self) -> Floats:
        """The leads over the line, rounded down to the grid; NaN for those behind it."""
        return self.finishes.leads(self.first, np.full_like(self.first, len(self.names) - 1), self.ahead())

    def ahead(self) -> Mask:
        """Who is ahead of the line."""
        return ~np.logical_or.accumulate(self.indices == LINE, axis=1)


@dataclass(frozen=True, slots=True)
class Field:
    """Who runs: candidates under one noise, and perhaps a line; and how many finishes count, the line's among them.

    Candidates at -inf never finish; one at least must be above. Where fewer than k can finish, all of them count.
    """

    values: Values
    k: int
    scale: Fraction
    noise: Noise
    line: Runner | None = None
    grid: Grid = field(init=False)
    _there: Indices = field(init=False)

    def __post_init__(self) -> None:
        there = np.flatnonzero(self.values > -np.inf)
        scales = [self.scale] if self.line is None else [self.scale, self.line.scale]
        centre = kth_largest(self.values, min(self.k, len(there)))
        object.__setattr__(self, "_there", there)
        object.__setattr__(self, "k", min(self.k, len(there) + len(scales) - 1))
        object.__setattr__(self, "grid", Grid.around(centre, max(scales)))

    def races(self, draws: int, source: Source) -> Iterator[Rows]:
        """So many independent races, some at a time."""
        return (self._one_by_one if len(self.values) >= SKIP_FROM else self._together)(draws, source)

    def _together(self, draws: int, source: Source) -> Iterator[Rows]:
        """Every runner draws in every row."""
        names = self._there
        lineup = [Runner(Fraction(score), self.scale, self.noise) for score in self.values[names].tolist()]
        if self.line is not None:
            names, lineup = np.append(names, LINE), [*lineup, self.line]
        runners = Runners(self.grid, lineup)
        rows, everyone = max(1, CHUNK // len(names)), np.arange(len(names))[None]
        for start in range(0, draws, rows):
            finishes = runners.run(everyone, min(rows, draws - start), source)
            yield Rows(finishes, names, _first(finishes, self.k))

    def _one_by_one(self, draws: int, source: Source) -> Iterator[Rows]:
        """Races by skipping, which know their winners only: as exact numbers."""
        run = prepare(self.values, k=min(self.k, len(self._there)), scale=self.scale, noise=self.noise)
        for _ in range(draws):
            finish = run(source)
            names, row, first = finish.indices, finish.finishes, np.arange(len(finish.indices))
            if self.line is not None:
                winners, line = finish.finishes(), self.line.draw(source)
                first = np.insert(first, how_many_above(winners, line), len(winners))
                names, row = np.append(names, LINE), partial(list[NoisyScore], [*winners, line])
            yield Rows(Noisy.unseen(self.grid, len(names), row), names, first[None, : self.k])


def pad_rows(table: NDArray[T], where: Mask, width: int, nothing: int | float) -> NDArray[T]:
    """The entries at the start of each row `where` they count, in so many columns; nothing elsewhere."""
    rows = np.full((len(table), width), nothing, table.dtype)
    columns = min(width, table.shape[1])
    np.copyto(rows[:, :columns], table[:, :columns], where=where[:, :columns])
    return rows


@np.errstate(all="ignore")
def _first(finishes: Noisy, k: int) -> Indices:
    """The columns of the k largest numbers of each row, best first."""
    low, high = finishes.low, finishes.high
    order = np.argsort(-high, axis=1)[:, : k + 1]
    lowest = np.minimum.accumulate(np.take_along_axis(low, order[:, :k], axis=1), axis=1)
    next_high = np.take_along_axis(high, order[:, 1:], axis=1)
    undecided = (lowest[:, : next_high.shape[1]] <= next_high).any(axis=1)
    for row in np.flatnonzero(undecided).tolist():
        order[row, :k] = ranking(low[row], high[row], k, partial(finishes.exact, row))
    return order[:, :k]


def race_many(values: Values, *, k: int, scale: Fraction, noise: Noise, source: Source, draws: int) -> Indices:
    """The winners of that many independent races (none, perhaps), one row each, best first."""
    winners = (rows.indices for rows in Field(values, k, scale, noise).races(draws, source))
    return np.concatenate([np.empty((0, k), np.int64), *winners])
