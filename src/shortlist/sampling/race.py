"""The race: the k candidates with the largest score + scale * noise, exactly.

The one engine under every selection. Where there are many candidates it draws few of them, by skipping; where
there are few, or where the work must not depend on the scores (`work="fixed"`), it draws all of them in full.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce
from itertools import pairwise
from typing import Literal

import numpy as np

from shortlist._arrays import Floats, Indices, Values, Words
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.partial_reals import NoisyScore, Term, nearest_float, total
from shortlist.exact.score_intervals import SHORT, Contest, clear_order, kth_largest, ranking
from shortlist.sampling.entropy import Source
from shortlist.sampling.skip_schedule import block_size, make_plan
from shortlist.sampling.skipping import CHUNK, SOME, Hits, SkipPlan

Work = Literal["adaptive", "fixed"]

SKIP_FROM, SKIP_FROM_IF_ROUGH = 4096, 1 << 14
"""Below so many candidates drawing them all is as fast as skipping; more where few operations tell who wins."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The winners, best first, with what is known of their noise."""

    indices: Indices
    _contest: Contest
    _exact: Callable[[], list[NoisyScore]]

    def finishes(self) -> list[tuple[Fraction, Term]]:
        """The exact noisy scores, each as (score, (scale, noise))."""
        scale, centre = self._contest.scale, Fraction(self._contest.centre)
        return [(centre + scale * one.position, (scale, one.draw)) for one in self._exact()]

    def values(self) -> list[float]:
        """The exact noisy scores, each correctly rounded."""
        return [nearest_float(total(score, [term])) for score, term in self.finishes()]

    def gaps(self) -> list[float]:
        """The exact differences of consecutive noisy scores, each correctly rounded."""
        scale = self._contest.scale
        return [
            nearest_float(total(scale * (one.position - two.position), [(scale, one.draw), (-scale, two.draw)]))
            for one, two in pairwise(self._exact())
        ]


@dataclass(frozen=True, slots=True)
class _Runners:
    """Candidates that may still win: their indices, bits and intervals."""

    index: Indices
    words: Words
    level: Indices
    low: Floats
    high: Floats

    def keep(self, places: Indices) -> _Runners:
        return _Runners(self.index[places], self.words[places], self.level[places], self.low[places], self.high[places])

    def join(self, other: _Runners) -> _Runners:
        return _Runners(
            np.concatenate([self.index, other.index]),
            np.concatenate([self.words, other.words]),
            np.concatenate([self.level, other.level]),
            np.concatenate([self.low, other.low]),
            np.concatenate([self.high, other.high]),
        )

    def finish(self, contest: Contest, source: Source) -> Finish:
        drawn: dict[int, NoisyScore] = {}

        def exact(i: int) -> NoisyScore:
            if i not in drawn:
                drawn[i] = contest.noisy_score(int(self.index[i]), int(self.words[i]), int(self.level[i]), source)
            return drawn[i]

        order = clear_order(self.low, self.high, contest.k)
        if order is None:
            order = ranking(self.low, self.high, contest.k, exact)
        return Finish(self.index[order], contest, lambda: [exact(int(i)) for i in order])


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
    d = len(contest.values)
    words = source.words(d) if d <= CHUNK else None
    clear = None if words is None else contest.clear_winners(words)
    if words is None or clear is None:
        with np.errstate(all="ignore"):
            runners = _best(contest, _everyone(d, source) if words is None else _with_words(words))
            return runners.finish(contest, source)
    return _clear_finish(contest, clear, words[clear], source)


def _clear_finish(contest: Contest, index: Indices, words: Words, source: Source) -> Finish:
    """These are the winners, best first."""
    drawn: list[NoisyScore] = []

    def exact() -> list[NoisyScore]:
        if not drawn:  # the same ones each time: they may have drawn more bits
            each = zip(index.tolist(), words.tolist(), strict=True)
            drawn.extend(contest.noisy_score(i, word, 0, source) for i, word in each)
        return drawn

    return Finish(index, contest, exact)


@np.errstate(all="ignore")
def skip_race(plan: SkipPlan, source: Source) -> Finish:
    """One race in which most candidates draw no noise of their own (`skipping.py`)."""
    return race_of_hits(plan, plan.draw(source), source)


@np.errstate(all="ignore")
def race_of_hits(plan: SkipPlan, hits: Hits, source: Source) -> Finish:
    """The race in which these are the hits."""
    contest, passed, runners = plan.contest, 0, []
    for start in range(0, len(hits.index), SOME):
        some = slice(start, start + SOME)
        index, words, level = hits.index[some], hits.words[some], hits.level[some]
        low, high = contest.intervals(contest.values[index], words, level)
        passed += int(np.count_nonzero(low > plan.threshold))
        runners.append(_Runners(index, words, level, low, high).keep(np.flatnonzero(high >= plan.threshold)))
    if passed >= contest.k:
        return reduce(_Runners.join, runners).finish(contest, source)
    return _best(contest, plan.reveal(hits, source)).finish(contest, source)


def _with_words(words: Words) -> Iterator[tuple[Indices, Words, Indices]]:
    yield np.arange(len(words)), words, np.zeros(len(words), np.int64)


def _everyone(d: int, source: Source) -> Iterator[tuple[Indices, Words, Indices]]:
    for start in range(0, d, CHUNK):
        index = np.arange(start, min(start + CHUNK, d))
        yield index, source.words(len(index)), np.zeros(len(index), np.int64)


def _best(contest: Contest, chunks: Iterable[tuple[Indices, Words, Indices]]) -> _Runners:
    """Whoever may still be among the k best after all chunks."""
    best: _Runners | None = None
    bar = -np.inf
    for index, words, level in chunks:
        low, high = contest.intervals(contest.values[index], words, level)
        some = _Runners(index, words, level, low, high)
        if best is not None:
            some = best.join(some.keep(np.flatnonzero(high >= bar)))
        if len(some.low) >= contest.k:
            bar = np.partition(some.low, len(some.low) - contest.k)[len(some.low) - contest.k]
            some = some.keep(np.flatnonzero(some.high >= bar))
        best = some
    assert best is not None
    return best
