"""One exact draw among all sets of k under a score with public offsets (Theorem 181)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist._arrays import Indices
from shortlist.exact.noise_distributions import GUMBEL, Noise
from shortlist.exact.offset_ranking import OffsetRanking
from shortlist.exact.partial_reals import Uniform
from shortlist.mechanisms.canonical.sampler import gumbel_proposal
from shortlist.sampling.entropy import Source
from shortlist.sampling.subset_draw_exponential import first_proposal
from shortlist.sampling.subset_draw_offsets import OffsetEnvelope, offset_envelope
from shortlist.sampling.subset_rejection import WIDTH
from shortlist.sampling.uniforms import WordStream


@dataclass(frozen=True, slots=True)
class OffsetRace:
    """Whatever depends on the scores alone, done once: a race of all sets of k that can be run again and again."""

    envelope: OffsetEnvelope
    noise: Noise

    def draw(self, source: Source) -> Indices:
        """The winner, as positions among the caller's candidates."""
        return self._winner(WordStream(source))

    def draw_many(self, source: Source, draws: int) -> Indices:
        """Independent winners, one row each, sorted."""
        stream = WordStream(source, ahead=1024)
        return np.array([np.sort(self._winner(stream)) for _ in range(draws)])

    def _winner(self, stream: WordStream) -> Indices:
        proposal = (
            gumbel_proposal(self.envelope, stream)
            if self.noise == GUMBEL
            else first_proposal(self.envelope, Uniform(stream.word), stream)
        )
        ranking = self.envelope.ranking.ranking
        return ranking.positions(np.arange(ranking.k) if proposal is None else proposal.ranks)


def prepare_offsets(ranking: OffsetRanking, noise: Noise, *, width: float = WIDTH) -> OffsetRace:
    """The race of all sets of k under Gumbel or exponential noise."""
    return OffsetRace(offset_envelope(ranking, width=width), noise)
