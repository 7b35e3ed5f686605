"""Ranked scores under public offsets: the exact loss of a set, and how many sets lie above a level (Definition 177).

With offsets o_1 >= .. >= o_k = 0, public, a set y with scores y_(1) >= .. >= y_(k) is worth

    u(y) = g alpha(y) - (1-g) M,   alpha(y) = min_l (y_(l) - o_l),   M the best score left out.

alpha(y) >= s asks that for every l at least l members score s + o_l or more: for each stair (a run of equal offsets
that ends at l = p) that p members are among the first #{x >= s + o} ranks. Scores and offsets are held as integers,
multiples of one unit, so that levels s are compared exactly. Of all sets the top k has the largest alpha and u.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

import numpy as np

from shortlist._arrays import Floats, Indices, Values
from shortlist._runs import Runs
from shortlist.exact.partial_reals import rounded
from shortlist.exact.ranked_subsets import Ranking
from shortlist.exact.stair_counts import Boundaries

FITS = 1 << 61
"""Integers below it are held in 64 bits; larger ones as Python's own, which is slower."""


@dataclass(frozen=True, slots=True)
class Stairs:
    """Offsets by runs: heights[0] for l up to ends[0], and so on; strictly decreasing, the last is 0 and ends at k."""

    heights: tuple[Fraction, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, offsets: list[Fraction]) -> Stairs:
        """From k nonincreasing offsets, the last of them 0."""
        last = [n for n, one in enumerate(offsets) if n + 1 == len(offsets) or offsets[n + 1] != one]
        return cls(tuple(offsets[n] for n in last), tuple(n + 1 for n in last))

    @property
    def flat(self) -> bool:
        """Whether all offsets are 0."""
        return len(self.ends) == 1


@dataclass(frozen=True, slots=True)
class OffsetRanking:
    """Candidates by decreasing score, and what their sets lose against the top k; levels are integers, in units."""

    ranking: Ranking
    stairs: Stairs
    unit: Fraction
    heights: Values
    """The offsets, in units."""
    depths: Values
    """The distinct scores with their sign turned, so increasing, in units."""
    ends: Indices
    """How many candidates have the first so many distinct scores: 0 first."""
    less: Values
    """The offset of each member, best first, in units."""
    top: int
    """alpha of the top k."""

    @property
    def k(self) -> int:
        return self.ranking.k

    def boundaries(self, levels: Values) -> Boundaries:
        """What alpha >= level asks of the ranks, a row for each level."""
        ranks = self.ends[np.searchsorted(self.depths, -(levels[:, None] + self.heights), side="right")]
        return Boundaries(self.k, ranks, np.broadcast_to(np.array(self.stairs.ends), ranks.shape))

    def below(self, levels: Values) -> Values:
        """The largest level below each at which the number of sets can change; it must have one below."""
        place = np.searchsorted(self.depths, -(levels[:, None] + self.heights), side="right")
        there = place < len(self.depths)
        neighbours = -self.depths[np.minimum(place, len(self.depths) - 1)] - self.heights
        below: Values = np.where(there, neighbours, self.lowest).max(axis=1)
        return below

    def above(self, levels: Values) -> Values:
        """The smallest level above each at which the number of sets can change; it must have one above."""
        place = np.searchsorted(self.depths, -(levels[:, None] + self.heights), side="left")
        neighbours = -self.depths[np.maximum(place - 1, 0)] - self.heights
        above: Values = np.where(place > 0, neighbours, self.top).min(axis=1)
        return above

    @property
    def lowest(self) -> int:
        """A level that every set reaches."""
        return int(-self.depths[-1] - self.heights[0])

    def loss_at(self, levels: Values) -> Floats:
        """What a set with that alpha loses inside, in nats, to a relative error of 2^-50."""
        return (self.top - levels).astype(np.float64) * rounded(self.ranking.inner * self.unit)

    def exact_loss_at(self, level: int) -> Fraction:
        """`loss_at` of one level, exactly."""
        return self.ranking.inner * self.unit * (self.top - level)

    def head_losses(self) -> Floats:
        """What a set of head h = 0..k-1 loses outside, in nats, to a relative error of 2^-50."""
        rise: Floats = self.ranking.classes().rise[::-1]
        return rise

    def exact_head_loss(self, head: int) -> Fraction:
        """`head_losses` of one head, exactly."""
        return self.ranking.loss(self.k - 1 - head, self.k - 1)

    def level_of(self, ranks: Indices) -> int:
        """alpha of the set of these ranks (from 0, increasing)."""
        scores = -self.depths[np.searchsorted(self.ends, ranks, side="right") - 1]
        return int((scores - self.less).min())

    def loss_of(self, ranks: tuple[int, ...]) -> Fraction:
        """The loss of the set of these ranks (from 0, increasing), exactly."""
        head = next((n for n, rank in enumerate(ranks) if n != rank), self.k)
        outside = self.exact_head_loss(head) if head < self.k else Fraction(0)
        return outside + self.exact_loss_at(self.level_of(np.array(ranks)))


def offset_ranking(ranking: Ranking, stairs: Stairs) -> OffsetRanking:
    """Everything in units of the finest grid that scores and offsets share."""
    scores = ranking.scores
    if isinstance(scores, Runs):
        distinct, ends = scores.values, scores.starts_and_length
    else:
        starts = np.append(0, np.flatnonzero(scores[1:] != scores[:-1]) + 1)
        distinct, ends = scores[starts], np.append(starts, len(scores))
    shared = lcm(*(one.denominator for one in stairs.heights))
    depths, grid = _in_units(distinct, shared, FITS - math.ceil(stairs.heights[0] * shared))
    heights = np.array([int(one * grid) for one in stairs.heights], depths.dtype)
    less = np.repeat(heights, np.diff(stairs.ends, prepend=0))
    draft = OffsetRanking(ranking, stairs, Fraction(1, grid), heights, depths, ends, less, 0)
    return replace(draft, top=draft.level_of(np.arange(ranking.k)))


def _in_units(distinct: Values, shared: int, most: int) -> tuple[Values, int]:
    """(-scores / unit as integers, 1 / unit): in 64 bits where they are below `most`, as Python's own otherwise."""
    ends = int(abs(Fraction(distinct[0].item()))), int(abs(Fraction(distinct[-1].item())))
    for bits in range(0, 25, 8) if (max(ends) + 1) * shared < most else ():
        grid = shared << bits if distinct.dtype.kind == "f" else shared
        if (max(ends) + 1) * grid < most:
            scaled = distinct * float(1 << bits) if distinct.dtype.kind == "f" else distinct.astype(np.int64)
            whole = scaled.astype(np.int64)
            if (whole == scaled).all():
                return -whole * shared, grid
    exact = [Fraction(value) for value in distinct.tolist()]
    grid = lcm(shared, *{one.denominator for one in exact})
    return np.array([-int(one * grid) for one in exact], object), grid
