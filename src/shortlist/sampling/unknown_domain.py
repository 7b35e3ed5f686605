"""Draws of items that come from the data: over thresholds, by noisy counts, and between two such mechanisms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Values, Words
from shortlist._runtime import IMPORTS
from shortlist.exact.geometric import Geometric
from shortlist.exact.noise import GAUSSIAN
from shortlist.exact.reals import ball, to_float
from shortlist.exact.subsets import log_choose
from shortlist.exact.thresholds import KeyBar
from shortlist.sampling.entropy import Shares, Source, WordStream, shares, subset
from shortlist.sampling.skipping import levels, round_down, successes
from shortlist.sampling.thresholds import whole_sums

if TYPE_CHECKING:
    from flint import arb, fmpz


LEVELS = np.array([0, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 26, 40])
ROUNDED = round_down(LEVELS)
"""Names are tested at these levels."""


DEVIATIONS = 9.0
"""Normal noise is larger with probability e^-43."""


@dataclass(frozen=True, slots=True)
class GaussianKeys:
    """Gaussian noise; a score of `unit` is one person. An item is named if its noisy sum is at least `step` steps."""

    bar: KeyBar
    unit: int

    @property
    def step(self) -> int:
        return self.bar.step

    @property
    def smooth(self) -> float:
        """The deviation in steps: `reaches` is smooth in the step."""
        return float(self.bar.sigma / self.bar.grid)

    @property
    def far(self) -> float:
        """Noise is larger than so many steps with probability e^-42 at most."""
        return DEVIATIONS * self.smooth + 1

    def places(self, scores: Values) -> Floats:
        """Scores in steps."""
        return np.asarray(scores, np.float64) / float(self.unit * self.bar.grid)

    def reaches(self, scores: Values, steps: Floats) -> Floats:
        """P[the noisy sum is at least so many steps], for each score (rows) and step (columns), in floats."""
        with IMPORTS:
            from scipy.special import ndtr

        return ndtr((np.subtract.outer(self.places(scores), steps) + 0.5) / self.smooth)

    def levels(self, scores: Values) -> NDArray[np.int8]:
        """j with P[named] <= 2^-j, for each score."""
        sigma = float(self.bar.sigma)
        return levels(GAUSSIAN, scores / (self.unit * sigma), float(self.bar.reach) / sigma, ROUNDED)

    def sums(self, scores: Indices, words: Words, level: Indices, source: Source) -> Indices:
        """Noisy sums, in steps, of survival uniforms that begin with `level` zeros and these words."""
        per, scale = 1 / (self.unit * self.bar.grid), self.bar.sigma / self.bar.grid
        return whole_sums(scores, per, scale, GAUSSIAN, words, level, source)


@dataclass(frozen=True, slots=True)
class GeometricKeys:
    """Geometric noise cut at K; a label is named if its noisy count is above K. Members are those of Gaussian noise."""

    noise: Geometric
    smooth: float = 0.0
    """0: `reaches` is known at whole steps alone."""

    @property
    def step(self) -> int:
        assert self.noise.reach is not None
        return self.noise.reach + 1

    @property
    def far(self) -> float:
        return float(self.step)

    def places(self, scores: Values) -> Floats:
        return np.asarray(scores, np.float64)

    def reaches(self, scores: Values, steps: Floats) -> Floats:
        return self.noise.survival(np.subtract.outer(-self.places(scores), -steps))

    def levels(self, scores: Values) -> NDArray[np.int8]:
        with np.errstate(divide="ignore"):
            bits = -np.log2(self.reaches(scores, np.array([self.step]))[:, 0] * (1 + 1e-9))
        return np.clip(np.floor(bits), 0, LEVELS[-1]).astype(np.int8)

    def sums(self, scores: Indices, words: Words, level: Indices, source: Source) -> Indices:
        return self.noise.sums(scores, words, level, source)


KeyNoise = GaussianKeys | GeometricKeys


def draw_keys(scores: Values, sizes: Indices, noise: KeyNoise, source: Source) -> tuple[Indices, Indices]:
    """(positions of the labels that are named, their noisy sums in steps).

    From labels of these distinct scores, decreasing, so many of each; none at 0 or below.
    """
    there = int(np.count_nonzero(scores > 0))
    scores, ends = np.asarray(scores[:there]), np.cumsum(sizes[:there])
    level = noise.levels(scores).astype(np.int64)
    cuts = [*np.flatnonzero(np.diff(level)) + 1, there] if there else []
    may = [np.empty((2, 0), np.int64)]
    start = 0
    for cut in cuts:
        end, zeros = int(ends[cut - 1]), int(level[cut - 1])
        hits = successes(end - start, zeros, int(source.words(1)[0]), source)
        may.append(np.array([start + hits, np.full(len(hits), zeros)]))
        start = end
    position, bits = np.concatenate(may, axis=1)
    score = scores[np.searchsorted(ends, position, side="right")].astype(np.int64)
    sums = noise.sums(score, source.words(len(position)), bits, source)
    above = np.flatnonzero(sums >= noise.step)
    return position[above], sums[above]


class Choice:
    """A low bar is likely: exact rational exponents, decided in balls where floats do not tell."""

    __slots__ = ("_losses", "_shares")

    def __init__(self, bars: Sequence[Fraction], rate: Fraction) -> None:
        least = min(bars)
        self._losses = [rate * (bar - least) for bar in bars]
        self._shares = shares(np.array([-to_float(loss) for loss in self._losses]))

    def draw(self, stream: WordStream) -> int:
        """Draw the number of a branch."""
        while True:
            place = self._shares.propose(stream)
            if self._shares.accept(place, partial(_mass, self._losses[place]), stream):
                return place

    def chances(self) -> Floats:
        """P[each branch is chosen]."""
        weights = np.exp([-to_float(loss) for loss in self._losses])
        return weights / weights.sum()


def _mass(loss: Fraction) -> arb:
    return (-ball(loss)).exp()


@dataclass(frozen=True, slots=True)
class Family:
    """The sets that hold the first `lead` ranks, `last` (from 1; 0: none) and some of `pool` ranks from `start` on.

    At most `most` of the pool, or exactly so many if `full`; what they lose against the best set is `loss`.
    """

    lead: int
    start: int
    pool: int
    most: int
    last: int
    full: bool
    loss: Fraction

    def size(self) -> fmpz:
        from flint import fmpz

        if self.full:
            return fmpz.bin_uiui(self.pool, self.most)
        return sum((fmpz.bin_uiui(self.pool, i) for i in range(min(self.most, self.pool) + 1)), fmpz(0))

    def mass(self) -> arb:
        from flint import arb

        return arb(self.size()) * (-ball(self.loss)).exp()

    def member(self, stream: WordStream) -> list[int]:
        """The ranks (from 0) of one of the sets, all alike."""
        ranks = subset(self.pool, self._how_many(stream), stream)
        last = [self.last - 1] if self.last else []
        return [*range(self.lead), *(self.start + ranks).tolist(), *last]

    def _how_many(self, stream: WordStream) -> int:
        """i with probability in proportion to C(pool, i), i = 0 .. most."""
        from flint import fmpz

        if self.full:
            return self.most
        ticket, i = fmpz(stream.below(int(self.size()))), 0
        while ticket >= (here := fmpz.bin_uiui(self.pool, i)):
            ticket, i = ticket - here, i + 1
        return i


@dataclass(frozen=True)
class LimitedSets:
    """P(y) proportional to e^(inner m(y) - outer M(y)) over the sets y of at most k ranks."""

    counts: Values
    """The counts of the working list, in decreasing order."""
    bar: Fraction
    k: int
    limit: int
    """The most labels a list may have: a public number, for which tables are kept."""
    inner: Fraction
    outer: Fraction

    @cached_property
    def number_above(self) -> int:
        """a: how many counts reach the bar."""
        return int(np.count_nonzero(self.counts >= math.ceil(self.bar)))

    @cached_property
    def _best(self) -> tuple[Fraction, Fraction]:
        """(m, M) of the set that loses nothing: the top k if they reach the bar, otherwise all that do."""
        if self.number_above < self.k:
            return self.bar, self.bar
        return Fraction(int(self.counts[self.k - 1])), self._outside(self.k)

    def _outside(self, lead: int) -> Fraction:
        """M of a set that holds the first `lead` ranks and not the next."""
        return max(self.bar, Fraction(int(self.counts[lead]))) if lead < len(self.counts) else self.bar

    def _fall(self, last: int) -> Fraction:
        """What is lost inside by a set whose last rank is `last`, or (0) all of which reach the bar."""
        return self.inner * (self._best[0] - (int(self.counts[last - 1]) if last else self.bar))

    def _rise(self, lead: int) -> Fraction:
        """What is lost outside by a set that misses rank lead + 1 first."""
        return self.outer * (self._outside(lead) - self._best[1])

    @cached_property
    def _lasts(self) -> Indices:
        """The last ranks that make a difference: none (all reach the bar), those below the bar, those of k above it."""
        a, n = self.number_above, len(self.counts)
        return np.concatenate([[0], np.arange(a + 1, n + 1), np.arange(self.k + 1, a + 1)])

    @property
    def _leads(self) -> int:
        return min(self.number_above, self.k)

    @cached_property
    def _shares(self) -> Shares:
        """Of all families: by lead and last rank, then those that hold all that reach the bar (or the top k)."""
        a, n, k, leads = self.number_above, len(self.counts), self.k, self._leads
        sums, below = log_partial_sums(k, self.limit), n - a
        fall = np.array([to_float(self._fall(last)) for last in self._lasts.tolist()])
        logs = np.empty((leads, len(fall)))
        for h in range(leads):
            logs[h, 0] = sums[a - h - 1, k - 1 - h]
            logs[h, 1 : 1 + below] = sums[a - h - 1 : n - h - 1, k - 1 - h]
            free = self._lasts[1 + below :] - h - 2 - (k - 1 - h)
            logs[h, 1 + below :] = log_choose(np.full(len(free), k - 1 - h), free)
            logs[h] -= to_float(self._rise(h))
        best = np.zeros(1) if a >= k else np.concatenate([[0.0], sums[:below, k - 1 - a] - fall[1 : 1 + below]])
        return shares(np.concatenate([(logs - fall).ravel(), best]))

    def _family(self, place: int) -> Family:
        a, k, width = self.number_above, self.k, len(self._lasts)
        if place < self._leads * width:
            h, last = place // width, int(self._lasts[place % width])
            loss = self._rise(h) + self._fall(last)
            pool = (last - h - 2) if last else (a - h - 1)
            return Family(h, h + 1, pool, k - 1 - h, last, 0 < last <= a, loss)
        last = a + place - self._leads * width
        if last == a:
            return Family(min(a, k), 0, 0, 0, 0, True, Fraction(0))
        return Family(a, a, last - 1 - a, k - 1 - a, last, False, self._fall(last))

    def draw(self, stream: WordStream) -> list[int]:
        """The ranks (from 0) of one set."""
        while True:
            place = self._shares.propose(stream)
            family = self._family(place)
            if self._shares.accept(place, family.mass, stream):
                return family.member(stream)


@lru_cache(maxsize=4)
def log_partial_sums(k: int, limit: int) -> Floats:
    """ln sum_{i <= r} C(n, i) at [n, r], n < limit + 1, r < k: S(n + 1, r) = S(n, r) + S(n, r - 1); to 1e-8."""
    table = np.zeros((limit + 1, k))
    for n in range(limit):
        table[n + 1, 1:] = np.logaddexp(table[n, 1:], table[n, :-1])
    return table
