"""Exact utility of canonical top-k with public offsets: how good the set it returns is (Theorem 182).

All sets of one head in one bracket of levels have nearly the same loss, and so the same chance. An event's probability
is a sum over nested families: each counts how many of its members are in the event, weighed by how much larger the
chance of a member is than that of a set which only reaches the next level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.exact.noise_distributions import GUMBEL, Noise
from shortlist.exact.offset_levels import LEVEL_ROUNDING, Levels, covered
from shortlist.exact.offset_ranking import OffsetRanking
from shortlist.exact.quality import Quality, ranks_within
from shortlist.exact.stair_counts import Boundaries, beginnings, completions, head_terms, log_counts, steps
from shortlist.exact.subset_chances import winning, winning_bounds
from shortlist.mechanisms.canonical.law import log_right_sets, tied_ranks

TOLERANCE = 1e-8
"""How far apart the bounds on the masses are at most, unless so many levels are too much work."""

MOST_LEVELS, LEAST_LEVELS, WORK = 1 << 12, 1 << 8, 1 << 22
"""At most so many levels, and so many times k^2; then chances are good to some 1e-5 of their size."""

WIDTH = 0.7


@dataclass(frozen=True, slots=True)
class OffsetSubsetLaw:
    """The law of the set as one value: what is asked of it are the functions below."""

    of: OffsetRanking
    noise: Noise
    size: int
    """How many candidates there are, with those that are never chosen."""

    def success_bounds(self) -> tuple[float, float]:
        return success_bounds(self.of, self.noise)

    def success(self) -> float:
        return sum(self.success_bounds()) / 2

    def quality(self) -> Quality:
        return quality(self.of, self.noise)

    def number_correct(self) -> Floats:
        return offset_law(self.of, self.noise).number_correct()

    def inclusion(self) -> Floats:
        return offset_law(self.of, self.noise).inclusion(self.size)


@dataclass(frozen=True, slots=True)
class OffsetLaw:
    """The chance of the top k as one set, and of the sets of each bracket and head, in logarithms."""

    levels: Levels
    top: float
    each: Floats
    """Of one set, by bracket and head."""

    @property
    def k(self) -> int:
        return self.levels.of.k

    @property
    def rows(self) -> Boundaries:
        return self.levels.of.boundaries(self.levels.levels)

    def nested(self) -> Floats:
        """How much larger the chance of a set is than that of one which only reaches the next level, in logarithms."""
        with np.errstate(divide="ignore", invalid="ignore"):
            more = self.each[:-1] + np.log(-np.expm1(np.minimum(self.each[1:] - self.each[:-1], 0.0)))
        return np.concatenate([np.where(np.isnan(more), -np.inf, more), self.each[-1:]])

    def within(self, head: int, reach: int) -> float:
        """P[ranks 1 to head are in, and no rank beyond reach]."""
        counts = log_counts(self.rows.within(reach))
        return min(1.0, math.exp(self.top) + float(np.exp((counts + self.nested())[:, head:]).sum()))

    def number_correct(self) -> Floats:
        """P[c of the items score at least the k-th largest], c = 0..k."""
        inside_the_mark = self.k + tied_ranks(self.levels.of.ranking)[1]
        rows, at = self.rows.marked(inside_the_mark)
        before, after = beginnings(rows, self.nested()), completions(rows)
        result = np.zeros(self.k + 1)
        for b, (first, rest) in enumerate(zip(before, after, strict=True)):
            result += np.exp((first + rest)[at == b]).sum(axis=0)
        result[self.k] += math.exp(self.top)
        return result

    def inclusion(self, d: int) -> Floats:
        """P[candidate is returned] for each of the d candidates in the caller's order; 0 for those not ranked."""
        ranking, ends = self.levels.of.ranking, self.levels.of.ends
        by_rank = self._by_rank(int(ends[-1]))
        by_rank[: self.k] += math.exp(self.top)
        shared = np.add.reduceat(by_rank, ends[:-1]) / np.diff(ends)
        result = np.zeros(d)
        result[ranking.order] = np.clip(np.repeat(shared, np.diff(ends)), 0.0, 1.0)
        return result

    def _by_rank(self, d: int) -> Floats:
        """P[rank r is returned and the set is not the top k]: of the members in a block every rank has its share."""
        rows, weights = self.rows, self.nested()
        before, after, (first, met) = beginnings(rows, weights), completions(rows), rows.first_beyond()
        rises, members = np.zeros(d + 2), np.arange(self.k + 1)
        for b, rest in enumerate(after):
            if b:
                size = rows.ranks[:, b] - rows.ranks[:, b - 1]
                mean = np.zeros(len(rows))
                for some, block in steps(rows, b):
                    joint = np.exp(block + before[b - 1][some, :, None] + rest[some, None, :])
                    mean[some] = (joint * (members - members[:, None])).sum(axis=(1, 2))
                _spread(rises, rows.ranks[:, b - 1], rows.ranks[:, b], mean / np.maximum(size, 1))
            for row, head, logs in head_terms(rows, b, met & (first == b)):
                joint = np.exp(logs + rest[row] + weights[row, head][:, None])
                _spread(rises, np.zeros_like(head), head, joint.sum(axis=1))
                room = rows.ranks[row, b] - head - 1
                mean = (joint * (members - head[:, None])).sum(axis=1)
                _spread(rises, head + 1, rows.ranks[row, b], mean / np.maximum(room, 1))
        return np.cumsum(rises)[:d]


def _spread(rises: Floats, start: Indices, end: Indices, each: Floats) -> None:
    """Add `each` to all places from start to end (exclusive), as differences."""
    np.add.at(rises, start, each)
    np.add.at(rises, end, -each)


def offset_law(of: OffsetRanking, noise: Noise) -> OffsetLaw:
    """The law of the set that wins, under Gumbel or exponential noise."""
    levels = _settled(of)
    loss = ((levels.near + levels.far) / 2)[:, None] + of.head_losses()
    mass = levels.between(levels.counts) - loss
    top, factor = winning(mass.ravel(), loss.ravel(), noise)
    return OffsetLaw(levels, top, factor.reshape(loss.shape) - loss)


def success_bounds(of: OffsetRanking, noise: Noise) -> tuple[float, float]:
    """(lower, upper) bounds on P[the set returned is a true top k], ties counting as equal: certified."""
    levels = _settled(of)
    sets = log_right_sets(of.ranking)
    slack = levels.error * (4.0 + np.maximum(levels.counts, 0.0))
    heads = of.head_losses()
    least, most = (loss[:, None] * np.ones_like(heads) + heads for loss in (levels.near, levels.far))
    if noise == GUMBEL:
        rounding = slack + LEVEL_ROUNDING * (8.0 + 2.0 * most)
        upper, lower = levels.weighed(levels.near) + rounding, levels.weighed(levels.far) - rounding
    else:
        upper, lower = _between(levels, slack, -1), _between(levels, -slack, +1)
        upper, lower = upper - least * (1.0 - LEVEL_ROUNDING), lower - most * (1.0 + LEVEL_ROUNDING)
    low, high = winning_bounds(upper.ravel(), least.ravel(), lower.ravel(), most.ravel(), noise)
    return math.exp(min(sets + low, 0.0)), math.exp(min(sets + high, 0.0))


def _between(levels: Levels, slack: Floats, sign: int) -> Floats:
    """A bound on the logarithm of how many sets each bracket holds, from counts moved by their slack."""
    counts = levels.counts + slack
    before = np.concatenate([np.full((1, counts.shape[1]), -np.inf), levels.counts[:-1] + sign * np.abs(slack[:-1])])
    with np.errstate(divide="ignore", invalid="ignore"):
        fresh = counts + np.log(-np.expm1(np.minimum(before - counts, 0.0)))
    return np.where(np.isfinite(fresh), fresh, -np.inf)


def quality(of: OffsetRanking, noise: Noise) -> Quality:
    """P[top], P[great], P[good] and the expected recall."""
    law = offset_law(of, noise)
    sets = log_right_sets(of.ranking)
    recall = float(law.number_correct() @ np.arange(law.k + 1)) / law.k
    great, good = (law.within(*ranks) for ranks in ranks_within(of.ranking.scores, law.k))
    return Quality(math.exp(min(sets + law.top, 0.0)), great, good, min(1.0, recall))


def _settled(of: OffsetRanking) -> Levels:
    most = min(MOST_LEVELS, max(LEAST_LEVELS, WORK // of.k**2))
    return covered(of, width=WIDTH, tolerance=TOLERANCE, most=most)
