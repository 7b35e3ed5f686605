"""One exact draw among all k-subsets: a class by its exact chance, then one of its members, all alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from shortlist._arrays import Indices
from shortlist.exact.noise_distributions import EXPONENTIAL, GUMBEL, Noise
from shortlist.exact.partial_reals import Uniform
from shortlist.exact.ranked_subsets import Ranking
from shortlist.sampling.entropy import Source
from shortlist.sampling.subset_draw_any_noise import Groups, runs_of
from shortlist.sampling.subset_draw_exponential import Found, first_arrival
from shortlist.sampling.subset_few import FewClasses, falls_if_few, few_classes
from shortlist.sampling.subset_rejection import WIDTH, Envelope, Loss, Proposals, accepted, prepare
from shortlist.sampling.uniforms import WordStream, subset

Class = tuple[int, int] | None
"""Class (i, j) of `exact.subset_classes`, or the top k."""


@dataclass(frozen=True, slots=True)
class SubsetRace:
    """Whatever depends on the scores alone, done once: a race of all k-subsets that can be run again and again."""

    ranking: Ranking
    choose: Callable[[WordStream], Class]

    def draw(self, source: Source) -> Indices:
        """The winner, as positions among the caller's candidates."""
        return self._winner(WordStream(source))

    def draw_many(self, source: Source, draws: int) -> Indices:
        """Independent winners, one row each, sorted."""
        stream = WordStream(source, ahead=1024)
        return np.array([np.sort(self._winner(stream)) for _ in range(draws)])

    def _winner(self, stream: WordStream) -> Indices:
        return self.ranking.positions(members(self.ranking, self.choose(stream), stream))


def prepare_subsets(ranking: Ranking, noise: Noise, *, width: float = WIDTH) -> SubsetRace:
    """The race of all k-subsets under any noise; the ranking must have more than k candidates."""
    if noise == GUMBEL:
        return SubsetRace(ranking, partial(gumbel_class, proposals_of(ranking, width=width)))
    if noise == EXPONENTIAL:
        return SubsetRace(ranking, partial(exponential_class, proposals_of(ranking, width=width)))
    return SubsetRace(ranking, groups_of(ranking, noise).draw)


def proposals_of(ranking: Ranking, *, width: float = WIDTH) -> Envelope | FewClasses:
    """Whoever proposes classes: all of them, where there are few; cells of `width` otherwise."""
    classes = ranking.merged() if ranking.merges else ranking.classes()
    fall, start = falls_if_few(classes), int(ranking.merges)
    if fall is not None:
        return few_classes(classes, fall, _loss(ranking), start=start)
    return prepare(classes, _loss(ranking), start=start, width=width)


def envelope_of(ranking: Ranking, *, width: float = WIDTH) -> Envelope:
    """Integer weights above the masses of all classes but the top k."""
    classes = ranking.merged() if ranking.merges else ranking.classes()
    return prepare(classes, _loss(ranking), start=int(ranking.merges), width=width)


def groups_of(ranking: Ranking, noise: Noise) -> Groups:
    """All classes but the top k, tied scores joined."""
    first, last = runs_of(ranking.scores[ranking.k :])
    classes = ranking.merged() if ranking.merges else ranking.classes()
    return Groups(classes, first + ranking.merges, last + ranking.merges, _loss(ranking), noise)


def _loss(ranking: Ranking) -> Loss:
    return lambda i, j: ranking.loss(i, ranking.k - ranking.merges + j)


def members(ranking: Ranking, winner: Class, stream: WordStream) -> Indices:
    """The ranks (from 0) of a uniform member of the class."""
    if winner is None:
        return np.arange(ranking.k)
    i, j = winner
    between = ranking.k - i - ranking.merges
    return np.concatenate([np.arange(ranking.k - 1 - i), between + subset(i + j, i, stream), [between + i + j]])


def exponential_class(envelope: Envelope | FewClasses, stream: WordStream) -> Class:
    """The class of the winner under exponential noise."""
    return first_arrival(envelope, Uniform(stream.word), stream)


def gumbel_class(envelope: Envelope | FewClasses, stream: WordStream) -> Class:
    """Class (i, j) with probability in proportion to its mass, or None for the top k, of mass 1."""
    proposal = gumbel_proposal(envelope, stream)
    return None if proposal is None else (proposal.i, proposal.j)


def gumbel_proposal(envelope: Proposals[Found], stream: WordStream) -> Found | None:
    """A proposal with probability in proportion to its mass, or None for the top k, of mass 1."""
    top = 1 << max(envelope.shift, 0)
    while True:
        if stream.below(top + envelope.total) < top:
            if stream.all_zero(max(-envelope.shift, 0)):
                return None
            continue
        proposal = envelope.propose(stream)
        if accepted(proposal, stream):
            return proposal
