"""The guard: one more candidate in the race of all k-subsets, which wins where the crowd of junk would (Lemma 74).

The guard arrives at e^-v U^(1/a), with v = tau + ln sum over the junk classes of their mass, and a < 1: its noise is
heavier than that of the subsets, so it pays for its look at the scores only when it wins. v is enclosed by cells in
floats; where that is not enough to tell who arrives first, it is summed class by class in balls.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Indices
from shortlist.exact.class_bounds import sifted
from shortlist.exact.noise_distributions import LN2
from shortlist.exact.partial_reals import Uniform, ball
from shortlist.exact.ranked_subsets import Ranking
from shortlist.exact.subset_classes import Classes, cover, join, log_sum, rows, settle
from shortlist.mechanisms.canonical.sampler import envelope_of, members
from shortlist.sampling.entropy import Source
from shortlist.sampling.subset_draw_any_noise import runs_of
from shortlist.sampling.subset_draw_exponential import after, first_arrival
from shortlist.sampling.subset_rejection import ERROR, Envelope, binomial_prefix_sum
from shortlist.sampling.uniforms import WordStream

if TYPE_CHECKING:
    from flint import arb

GUARD_WIDTH = 1e-7
"""How far apart the float bounds on v are, or nearly."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard of rate a, tau nats above the mass of the junk classes: row i from j = first[i] on."""

    ranking: Ranking
    envelope: Envelope
    a: Fraction
    tau: Fraction
    first: Indices
    low: float
    """At most v."""
    high: float
    """At least v."""

    def draw(self, source: Source) -> Indices | None:
        """The winning subset, as positions among the caller's candidates, or None if the guard wins."""
        return self._winner(WordStream(source))

    def draw_many(self, source: Source, draws: int) -> list[Indices | None]:
        """Independent winners."""
        stream = WordStream(source, ahead=1024)
        return [self._winner(stream) for _ in range(draws)]

    def _winner(self, stream: WordStream) -> Indices | None:
        top, guard = Uniform(stream.word), GuardArrival(self, Uniform(stream.word))
        guarded = after(top, guard)
        found = first_arrival(self.envelope, guard if guarded else top, stream)
        if found is None and guarded:
            return None
        return self.ranking.positions(members(self.ranking, found, stream))

    def exact(self) -> arb:
        """v at the working precision: every junk class summed, but those that together do not reach that far."""
        from flint import arb, ctx

        loss, k = self.ranking.loss, self.ranking.k
        at_most = self.low - float(self.tau) - ctx.prec * LN2
        rise = cache(lambda i: (-ball(loss(i, k - 1))).exp())
        fall = cache(lambda j: (-ball(loss(0, k + j) - loss(0, k - 1))).exp())
        mass = sum((size * rise(i) * fall(j) for i, j, size in self._runs(at_most)), arb(0))
        return ball(self.tau) + (mass + arb(0).union(arb(at_most).exp())).log()

    def _runs(self, at_most: float) -> Iterator[tuple[int, int, arb]]:
        """(i, j, size) of the junk, classes of equal loss together, j the first of them; e^at_most may be left out."""
        from flint import arb

        starts, ends = runs_of(self.ranking.scores[self.ranking.k :])  # by exact scores: floats may join losses
        cells, _ = sifted(self.envelope.classes, outside=-math.inf, width=1.0, at_most=at_most)
        cells = cells.where(cells.last >= self.first[cells.row])
        begin = np.maximum(cells.first, self.first[cells.row])
        runs = np.searchsorted(ends, begin), np.searchsorted(starts, cells.last, side="right")
        columns = (side.tolist() for side in (cells.row, begin, cells.last, *runs))
        for i, first, last, low, high in zip(*columns, strict=True):
            before = binomial_prefix_sum(i, first - 1)
            for run in range(low, high):
                after_it = binomial_prefix_sum(i, min(int(ends[run]), last))
                yield i, max(int(starts[run]), first), arb(after_it - before)
                before = after_it


def guarded(ranking: Ranking, a: Fraction, tau: Fraction, first: Indices) -> Guard:
    """The race of all k-subsets with its guard; `first` says from which j on row i is junk, and some class must be."""
    envelope = envelope_of(ranking)
    low, high = log_junk(envelope.classes, first)
    shift = float(tau)
    return Guard(
        ranking, envelope, a, tau, first, low + shift - ERROR * (1 + abs(low)), high + shift + ERROR * (1 + abs(high))
    )


@np.errstate(all="ignore")
def log_junk(classes: Classes, first: Indices, tolerance: float = GUARD_WIDTH) -> tuple[float, float]:
    """(lower, upper) bounds on the logarithm of the mass of the classes with j >= first[i]."""
    kept, dropped = cover(classes, rows(classes, first), outside=-math.inf, width=1.0)
    cells = settle(classes, kept, outside=-math.inf, tolerance=tolerance)
    return log_sum(cells.lower), log_sum(join([cells, dropped]).upper)


class GuardArrival:
    """The time e^-v U^(1/a), drawn lazily. At first v is known in floats; if that does not tell, exactly."""

    __slots__ = ("_a", "_clock", "_guard", "_tries")

    def __init__(self, guard: Guard, clock: Uniform) -> None:
        self._guard = guard
        self._a = float(guard.a)
        self._clock = clock
        self._tries = 0

    @property
    def low(self) -> float:
        return self._time(self._guard.high, self._clock.low, -1.0)

    @property
    def high(self) -> float:
        return self._time(self._guard.low, self._clock.high, +1.0)

    def _time(self, v: float, uniform: float, sign: float) -> float:
        if not uniform:
            return 0.0
        log = -v + math.log(uniform) / self._a
        return math.exp(min(log + sign * ERROR * (1.0 + abs(v) + abs(log)), 700.0))

    @property
    def bits(self) -> int:
        return self._clock.bits

    def ball(self) -> arb:
        from flint import arb

        guard = self._guard
        middle, radius = (guard.high + guard.low) / 2, (guard.high - guard.low) / 2
        v = guard.exact() if self._tries > 1 else arb(middle, radius * (1 + ERROR) + ERROR)
        return (self._clock.ball().log() / ball(guard.a) - v).exp()

    def refine(self) -> None:
        self._clock.refine()
        self._tries += 1
