"""One exact draw among all k-subsets: a class by its exact chance, then one of its members, all alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist._arrays import Indices
from shortlist.noise.entropy import Source
from shortlist.noise.envelope import WIDTH, Envelope, accepted, prepare
from shortlist.noise.kinds import GUMBEL, Noise
from shortlist.noise.ranking import Ranking
from shortlist.noise.thinning import first_arrival
from shortlist.noise.uniforms import Stream, Uniform, subset


@dataclass(frozen=True, slots=True)
class SubsetRace:
    """Whatever depends on the scores alone, done once: a race of all k-subsets that can be run again and again."""

    ranking: Ranking
    noise: Noise
    envelope: Envelope
    merged: bool
    """Whether the classes are those of `Ranking.merged`."""

    def draw(self, source: Source) -> Indices:
        """The winner, as positions among the caller's candidates."""
        return self._winner(Stream(source))

    def draw_many(self, source: Source, draws: int) -> Indices:
        """Independent winners, one row each, sorted."""
        stream = Stream(source, ahead=1024)
        return np.array([np.sort(self._winner(stream)) for _ in range(draws)])

    def _winner(self, stream: Stream) -> Indices:
        if self.noise is GUMBEL:
            found = gumbel_class(self.envelope, stream)
        else:
            found = first_arrival(self.envelope, Uniform(stream), stream)
        return self.ranking.order[self.members(found, stream)]

    def members(self, found: tuple[int, int] | None, stream: Stream) -> Indices:
        """The ranks (from 0) of a uniform member of class (i, j), or of the top k."""
        k = self.ranking.k
        if found is None:
            return np.arange(k)
        i, j = found
        between = k - i - self.merged
        return np.concatenate([np.arange(k - 1 - i), between + subset(i + j, i, stream), [between + i + j]])


def prepare_subsets(ranking: Ranking, noise: Noise, *, width: float = WIDTH) -> SubsetRace:
    """The race of all k-subsets under Gumbel or exponential noise; the ranking must have more than k candidates."""
    merged = not ranking.outer
    if merged:
        envelope = prepare(ranking.merged(), lambda i, j: ranking.loss(i, ranking.k - 1 + j), start=1, width=width)
    else:
        envelope = prepare(ranking.classes(), lambda i, j: ranking.loss(i, ranking.k + j), width=width)
    return SubsetRace(ranking, noise, envelope, merged)


def gumbel_class(envelope: Envelope, stream: Stream) -> tuple[int, int] | None:
    """Class (i, j) with probability in proportion to its mass, or None for the top k, of mass 1."""
    top = 1 << max(envelope.shift, 0)
    while True:
        if stream.below(top + envelope.total) < top:
            if stream.all_zero(max(-envelope.shift, 0)):
                return None
            continue
        proposal = envelope.propose(stream)
        if accepted(proposal, stream):
            return proposal.i, proposal.j
