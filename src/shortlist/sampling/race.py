"""Races of noisy scores: one, the same race many times, and one race in each of many rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial, reduce
from itertools import chain, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Literal

import numpy as np

from shortlist._arrays import Floats, Indices, Values, Words
from shortlist.exact import reals
from shortlist.exact.noise import GUMBEL, RELATIVE_ERROR, Noise
from shortlist.exact.reals import Contest, Draw, NoisyScore, nearest_float
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
        order = reals.ranking(self.low, self.high, contest.k, exact)
        return Finish(self.index[order], contest, exact, order)


_COLUMNS = attrgetter(*_Rivals.__slots__)


def _exact_scores(
    contest: Contest, index: Indices, words: Words, level: Indices, source: Source
) -> Callable[[int], NoisyScore]:
    """Return the exact noisy score at each place: the same one each time, since it may have drawn more bits."""
    return cache(lambda i: contest.noisy_score(int(index[i]), int(words[i]), int(level[i]), source))


def race(values: Values, *, k: int, scale: Fraction, noise: Noise, source: Source, work: Work = "adaptive") -> Finish:
    """The k largest of values + scale * noise, best first. At least k values must be above -inf."""
    return prepare(values, k=k, scale=scale, noise=noise, work=work)(source)


def prepare(
    values: Values, *, k: int, scale: Fraction, noise: Noise, work: Work = "adaptive"
) -> Callable[[Source], Finish]:
    """Whatever depends on the scores alone, done once: a race that can be run again and again."""
    many = SKIP_FROM if noise.rough is None or k > reals.SHORT else SKIP_FROM_IF_ROUGH
    block = block_size(len(values), k) if work == "adaptive" and len(values) >= many else None
    if block is None:
        return partial(full_race, Contest(values, k, scale, noise, reals.kth_largest(values, k)))
    with np.errstate(all="ignore"):
        return partial(skip_race, make_plan(values, k, scale, noise, block))


def full_race(contest: Contest, source: Source) -> Finish:
    """One race in which every candidate draws."""
    chunks = _everyone(len(contest.values), source)
    _, words, level = first = next(chunks)
    if len(words) == len(contest.values) and (clear := contest.clear_winners(words)) is not None:
        exact = _exact_scores(contest, clear, words[clear], level, source)
        return Finish(clear, contest, exact, np.arange(contest.k))
    with np.errstate(all="ignore"):
        return _best(contest, chain([first], chunks)).finish(contest, source)


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
        return NoisyScore(self.centre, Draw(self.noise, reals.word(source), 64, source), self.scale)


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
    return next((n for n, one in enumerate(finishes) if not reals.is_positive(one.minus(line))), len(finishes))


def race_many(values: Values, *, k: int, scale: Fraction, noise: Noise, source: Source, draws: int) -> Indices:
    """The winners of that many independent races (none, perhaps), one row each, best first."""
    if len(values) >= SKIP_FROM:
        run = prepare(values, k=k, scale=scale, noise=noise)
        return np.array([run(source).indices for _ in range(draws)], np.int64).reshape(-1, k)
    contest = Contest(values, k, scale, noise, reals.kth_largest(values, k))
    winners, rows = np.empty((draws, k), np.int64), max(1, CHUNK // len(values))
    for start in range(0, draws, rows):
        winners[start : start + rows] = _some_races(contest, min(rows, draws - start), source)
    return winners


@np.errstate(all="ignore")
def _some_races(contest: Contest, rows: int, source: Source) -> Indices:
    """Races in which every candidate draws, all at once: by floats where they tell who wins."""
    values, k, everyone = contest.values, contest.k, np.arange(len(contest.values))
    words = source.words(rows * len(values)).reshape(rows, -1)
    low, high = contest.intervals(values, words, 0)
    order = np.argsort(-high, axis=1)[:, : k + 1]
    lowest = np.minimum.accumulate(np.take_along_axis(low, order[:, :k], axis=1), axis=1)
    next_high = np.take_along_axis(high, order[:, 1:], axis=1)
    undecided = (lowest[:, : next_high.shape[1]] <= next_high).any(axis=1)
    for row in np.flatnonzero(undecided).tolist():
        exact = _exact_scores(contest, everyone, words[row], np.zeros_like(everyone), source)
        order[row, :k] = reals.ranking(low[row], high[row], k, exact)
    return order[:, :k]
