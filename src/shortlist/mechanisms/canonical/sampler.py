"""One exact draw among all k-subsets: a class by its exact chance, then one of its members, all alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

from shortlist._arrays import Indices
from shortlist.exact.noise_distributions import EXPONENTIAL, GUMBEL, Noise
from shortlist.exact.partial_reals import Uniform
from shortlist.exact.ranked_subsets import Ranking
from shortlist.sampling.entropy import Source
from shortlist.sampling.subset_draw import Found, Groups, first_arrival, runs_of
from shortlist.sampling.subset_rejection import (
    WIDTH,
    Envelope,
    FewClasses,
    Loss,
    Proposals,
    accepted,
    falls_if_few,
    few_classes,
    prepare,
)
from shortlist.sampling.subset_rows import APART, Classes, Weights, in_proportion, member_rows, race_in_rows, weights_of
from shortlist.sampling.uniforms import WordStream, subset

Class = tuple[int, int] | None
"""Class (i, j) of `exact.subset_classes`; None is the top k."""

RowDraw = Callable[[Weights, int, Source], Classes]
"""Draws so many classes at once."""

BLOCK = 1 << 14
"""So many draws are made at a time."""

FEW_CLASSES, MOST_CLASSES, PER_DRAW = 1 << 12, 1 << 20, 16
"""Classes are weighed one by one for rows if there are few of them, or not too many for each draw, nor at all."""

MOST_MEMBERS, MOST_SHIFT = 128, 900
"""Members are drawn in rows up to so many in a set; masses up to 2^MOST_SHIFT or nearly, so that floats hold them."""


@dataclass(frozen=True, slots=True)
class SubsetRace:
    """Whatever depends on the scores alone, done once: a race of all k-subsets that can be run again and again."""

    ranking: Ranking
    choose: Callable[[WordStream], Class]
    in_rows: RowDraw | None = None
    """The same for many at once, where there is a way."""

    def draw(self, source: Source) -> Indices:
        """The winner, as positions among the caller's candidates."""
        return self._winner(WordStream(source))

    def draw_many(self, source: Source, draws: int) -> Indices:
        """Independent winners, one row each, sorted."""
        weights = self.in_rows and weights_for(self.ranking, draws, top=self.in_rows is in_proportion)
        if not self.in_rows or not weights:
            stream = WordStream(source, ahead=1024)
            return np.array([np.sort(self._winner(stream)) for _ in range(draws)])
        rows = np.empty((draws, self.ranking.k), np.int64)
        for some in blocks(draws):
            rows[some] = member_sets(self.ranking, self.in_rows(weights, some.stop - some.start, source), source)
        return rows

    def _winner(self, stream: WordStream) -> Indices:
        return self.ranking.positions(members(self.ranking, self.choose(stream), stream))


def prepare_subsets(ranking: Ranking, noise: Noise, *, width: float = WIDTH) -> SubsetRace:
    """The race of all k-subsets under any noise; the ranking must have more than k candidates."""
    if noise not in (GUMBEL, EXPONENTIAL):
        return SubsetRace(ranking, groups_of(ranking, noise).draw)
    draw, in_rows = (gumbel_class, in_proportion) if noise == GUMBEL else (exponential_class, race_in_rows)
    return SubsetRace(ranking, partial(draw, proposals_of(ranking, width=width)), in_rows)


def prepare_rounded(ranking: Ranking, noise: Noise, step: Fraction) -> SubsetRace:
    """Return the race of all k-subsets with losses rounded up to multiples of `step` (Lemma 274), class by class."""
    groups = groups_of(ranking, noise)
    exact = groups.exact_loss

    def loss(i: int, j: int) -> Fraction:
        return rounded_up(exact(i, j), step)

    return SubsetRace(ranking, replace(groups, exact_loss=loss, step=float(step)).draw)


def rounded_up(loss: Fraction, step: Fraction) -> Fraction:
    """The next multiple of `step`, or the loss itself if it is one."""
    return math.ceil(loss / step) * step


def proposals_of(ranking: Ranking, *, width: float = WIDTH) -> Envelope | FewClasses:
    """Whoever proposes classes: all of them, where there are few; cells of `width` otherwise."""
    classes = ranking.merged() if ranking.merges else ranking.classes()
    fall, start = falls_if_few(classes), int(ranking.merges)
    if fall is not None:
        return few_classes(classes, fall, _loss(ranking), start=start)
    return prepare(classes, _loss(ranking), start=start, width=width)


def envelope_of(ranking: Ranking, *, width: float = WIDTH, apart: int | None = None) -> Envelope:
    """Integer weights above the masses of all classes but the top k."""
    if ranking.merges:
        return prepare(ranking.merged(), _loss(ranking), start=1, width=width, apart=apart)
    return prepare(ranking.classes(), _loss(ranking), width=width, apart=apart)


def weights_for(ranking: Ranking, draws: int, *, top: bool) -> Weights | None:
    """What rows are drawn with, beside the `top` k or in a race with it; None where sets are drawn one by one."""
    classes = ranking.k * (len(ranking.scores) - ranking.k)
    if ranking.k > MOST_MEMBERS or classes > min(MOST_CLASSES, FEW_CLASSES + PER_DRAW * draws):
        return None
    envelope = envelope_of(ranking, apart=APART)
    return weights_of(envelope, top=top) if envelope.shift > -MOST_SHIFT else None


def blocks(draws: int) -> Iterator[slice]:
    """The rows of all draws, BLOCK at a time."""
    return (slice(start, min(start + BLOCK, draws)) for start in range(0, draws, BLOCK))


def member_sets(ranking: Ranking, classes: Classes, source: Source) -> Indices:
    """A uniform member of each row's class, as sorted positions among the caller's candidates."""
    ranks = member_rows(ranking.k, classes.i, classes.j, merged=ranking.merges, source=source)
    return np.sort(ranking.positions(ranks), axis=1)


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
