"""The guard: one more candidate in the race of all k-subsets, which wins where the crowd of junk would (Lemma 74).

The guard arrives at e^-v U^(1/a), with v = tau + ln sum over the junk classes of their mass, and a < 1: its noise is
heavier than that of the subsets, so it pays for its look at the scores only when it wins. v is enclosed by cells in
floats; where that is not enough to tell who arrives first, it is summed class by class in balls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shortlist._arrays import Indices
from shortlist.exact.partial_reals import Uniform, ball
from shortlist.exact.ranked_subsets import Ranking
from shortlist.mechanisms.canonical.sampler import envelope_of, members
from shortlist.mechanisms.guarded.weights import Family, around
from shortlist.sampling.entropy import Source
from shortlist.sampling.subset_draw_exponential import after, first_arrival
from shortlist.sampling.subset_rejection import ERROR, Envelope
from shortlist.sampling.uniforms import WordStream

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard of rate a, tau nats above the mass of the junk classes."""

    ranking: Ranking
    envelope: Envelope
    a: Fraction
    tau: Fraction
    junk: Family
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
        """v at the working precision."""
        return ball(self.tau) + self.junk.exact(self.low - float(self.tau))


def guarded(ranking: Ranking, a: Fraction, tau: Fraction, first: Indices) -> Guard:
    """The race of all k-subsets with its guard; `first` says from which j on row i is junk, and some class must be."""
    envelope = envelope_of(ranking)
    junk = Family.junk(ranking, envelope.classes, first)
    low, high = junk.bounds()
    return Guard(ranking, envelope, a, tau, junk, low + float(tau), high + float(tau))


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
        guard = self._guard
        v = guard.exact() if self._tries > 1 else around(guard.low, guard.high)
        return (self._clock.ball().log() / ball(guard.a) - v).exp()

    def refine(self) -> None:
        self._clock.refine()
        self._tries += 1
