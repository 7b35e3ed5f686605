"""The mass of the poor sets under public offsets, for a guard that takes part in their race (Lemma 185).

A set is poor if fewer than `fewest` of its members are among the first k ranks: a public family of sets of ranks. ln of
its mass moves with the scores as the score of every set does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shortlist.exact.offset_levels import LEVEL_ROUNDING, covered
from shortlist.exact.offset_ranking import OffsetRanking
from shortlist.exact.partial_reals import ball
from shortlist.exact.stair_counts import ExactCounts, log_sums

if TYPE_CHECKING:
    from flint import arb

WIDTH = 0.7


def log_junk(of: OffsetRanking, fewest: int, *, tolerance: float, most: int = 1 << 12) -> tuple[float, float]:
    """(lower, upper) bounds on ln of the mass of the poor sets against the top k; -inf if there are none."""
    levels = covered(of, width=WIDTH, tolerance=tolerance, most=most, fewest=fewest)
    slack = levels.error * (4.0 + np.maximum(levels.counts, 0.0))
    slack += LEVEL_ROUNDING * (8.0 + 2.0 * (levels.far[:, None] + of.head_losses()))
    lower, upper = levels.weighed(levels.far) - slack, levels.weighed(levels.near) + slack
    return float(log_sums(lower.ravel(), axis=0)), float(log_sums(upper.ravel(), axis=0))


def exact_junk(of: OffsetRanking, fewest: int, at_most: float) -> arb:
    """The mass of the poor sets, level by level, in balls; levels that hold at most e^at_most together are bounded."""
    from flint import arb, fmpz

    d, k = len(of.ranking.scores), of.k
    heads = [(-ball(of.exact_head_loss(head))).exp() for head in range(min(k, fewest))]
    crowd = math.lgamma(d + 1) - math.lgamma(k + 1) - math.lgamma(d - k + 1)
    total, level = arb(0), of.top
    while True:
        rows = of.boundaries(np.array([level], of.depths.dtype)).poor(k, fewest)
        met = rows.first_beyond()[1][0]
        mass = arb(0)
        for head, weight in enumerate(heads):
            if met[head]:
                exact = ExactCounts.of(rows, head)
                room = int(rows.ranks[0, exact.first]) - head - 1
                ways = (fmpz.bin_uiui(room, c - head) * exact.after(exact.first, c) for c in range(head, k + 1))
                mass += weight * arb(sum(ways, fmpz(0)))
        here = (-ball(of.exact_loss_at(level))).exp()
        if level == of.lowest:
            return total + mass * here
        following = int(of.below(np.array([level], of.depths.dtype))[0])
        after = (-ball(of.exact_loss_at(following))).exp()
        total += mass * (here - after)
        if crowd + 1.0 - float(of.loss_at(np.array([following], of.depths.dtype))[0]) < at_most:
            # what is counted so far and weighs `after` more, and all that comes later
            return total + mass * after + arb(0).union(arb(at_most).exp())
        level = following
