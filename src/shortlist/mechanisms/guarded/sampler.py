"""The guard: one more candidate in the race of all k-subsets, which wins where the crowd of junk would (Lemma 74).

The guard arrives at e^-v U^(1/a), with v = tau + ln sum over the junk classes of their mass, and a < 1: its noise is
heavier than that of the subsets, so it pays for its look at the scores only when it wins. v is enclosed by cells in
floats; where that is not enough to tell who arrives first, it is summed class by class in balls.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Indices, Mask
from shortlist.exact.partial_reals import ball
from shortlist.exact.ranked_subsets import Ranking
from shortlist.mechanisms.canonical.sampler import members, proposals_of
from shortlist.mechanisms.guarded.rows import drawn
from shortlist.mechanisms.guarded.weights import Family
from shortlist.sampling.entropy import Source
from shortlist.sampling.subset_draw import LateArrival, after, first_proposal
from shortlist.sampling.subset_rejection import Envelope, FewClasses, Proposal, Proposals
from shortlist.sampling.subset_rows import Classes, Deadlines, Record, Weights, first_in_rows
from shortlist.sampling.uniforms import WordStream

if TYPE_CHECKING:
    from flint import arb


FAINT = -100.0
"""Junk that weighs e^-100 of the top k or less hardly ever wins: then rough bounds on its weight will do."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard of rate a, tau nats above the mass of the junk classes."""

    ranking: Ranking
    envelope: Envelope | FewClasses
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

    def draw_many(self, source: Source, draws: int) -> tuple[Indices, Mask]:
        """(independent winners, one row each; where the guard wins, and there is none)."""
        return drawn(self.ranking, draws, source, top=False, one=self._winner, rows=self.in_rows)

    def in_rows(self, weights: Weights, draws: int, source: Source) -> tuple[Classes, Mask]:
        """(the classes that win, where the guard does): many draws at once (Lemma 74, Theorem 266)."""
        words, record = source.words(2 * draws).reshape(2, -1), Record()
        record.add(np.arange(draws), *words)
        late = Deadlines.late(words[1], self.low, self.high, float(self.a))
        deadlines, guarded = Deadlines.uniform(words[0]).or_earlier(late)

        def plain(row: int) -> Proposal | None:
            guarded[row], proposal = self._first(weights, WordStream(source, given=record.of(row)), weights.halvings)
            return proposal

        classes = first_in_rows(weights, deadlines, record, source, plain)
        return classes, guarded & (classes.i < 0)

    def _winner(self, stream: WordStream) -> Indices | None:
        guarded, proposal = self._first(self.envelope, stream)
        if proposal is None and guarded:
            return None
        winner = None if proposal is None else (proposal.i, proposal.j)
        return self.ranking.positions(members(self.ranking, winner, stream))

    def _first(
        self, envelope: Proposals[Proposal], stream: WordStream, halvings: int = 1
    ) -> tuple[bool, Proposal | None]:
        """(whether the guard is before the top k, who is before both)."""
        top, guard = stream.uniform(), LateArrival(self, self.a, stream.uniform())
        guarded = after(top, guard)
        return guarded, first_proposal(envelope, guard if guarded else top, stream, halvings)

    def bounds(self, *, fine: bool) -> tuple[float, float]:
        """(lower, upper) bounds on v: closer ones where the first are rough, then none but the exact number."""
        if not (fine and self.high < FAINT):
            return self.low, self.high
        low, high = self.junk.quick_bounds()
        return low + float(self.tau), high + float(self.tau)

    def exact(self) -> arb:
        """v at the working precision."""
        return ball(self.tau) + self.junk.exact(self.low - float(self.tau))


def guarded(ranking: Ranking, a: Fraction, tau: Fraction, first: Indices) -> Guard:
    """The race of all k-subsets with its guard; `first` says from which j on row i is junk, and some class must be."""
    envelope = proposals_of(ranking)
    junk, above = Family.junk(ranking, envelope.classes, first), float(tau)
    if isinstance(envelope, FewClasses):
        low, high = junk.rough_bounds()
        if high + above < FAINT:
            return Guard(ranking, envelope, a, tau, junk, low + above, high + above)
    low, high = junk.quick_bounds()
    return Guard(ranking, envelope, a, tau, junk, low + above, high + above)
