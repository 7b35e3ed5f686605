"""Levels of alpha at which sets are counted, chosen where the mass is, and bounds on the mass from them (Lemma 180).

N_h(s) sets of head h have alpha >= s. Between two levels the loss is bracketed by its ends. Weighing every set by the
upper end of its bracket is a sum over *nested* families, with q_0 = 1 > q_1 > .. > q_m > q_{m+1} = 0 the upper weights,

    sum_t (q_t - q_{t+1}) N_h(s_t),

so nothing is subtracted, and a draw from one family needs no member taken out. The last level is one that every set
reaches: no set is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shortlist._arrays import Floats, Mask, Values
from shortlist.exact.binomials import one_log_choose
from shortlist.exact.offset_ranking import OffsetRanking
from shortlist.exact.stair_counts import log_counts, log_sums
from shortlist.exact.subset_classes import SLIGHT

FIRST_LEVELS = 48
"""Levels to begin with, evenly spaced in loss as far as C(d, k) sets could matter."""

REACH = 30.0
"""How many nats further that is."""

LEVEL_ROUNDING = 2.0**-48
"""Relative error of a loss."""


@dataclass(frozen=True, slots=True)
class Levels:
    """Decreasing levels, the first that of the top k, the last one that all sets reach; ln of how many sets do."""

    of: OffsetRanking
    levels: Values
    counts: Floats
    """ln N_h(level), by level and head."""
    error: float
    """A logarithm v of a count is off by at most error (4 + v)."""
    near: Floats
    """The least loss inside of the sets that reach this level and not the one before."""
    far: Floats
    """The largest: that of the level."""

    def weighed(self, loss: Floats) -> Floats:
        """ln of the mass of the nested families, by level and head, if the sets of bracket t lose loss[t] inside."""
        with np.errstate(divide="ignore"):
            steps = np.append(-loss[:-1] + np.log(-np.expm1(loss[:-1] - loss[1:])), -loss[-1])
        masses: Floats = self.counts + steps[:, None] - self.of.head_losses()
        return masses

    def between(self, counts: Floats) -> Floats:
        """ln of how many sets reach each level and not the one before, from ln of how many reach it."""
        before = np.concatenate([np.full((1, counts.shape[1]), -np.inf), counts[:-1]])
        with np.errstate(divide="ignore", invalid="ignore"):
            share = -np.expm1(np.minimum(before - counts, 0.0))
            fresh = counts + np.log(share)
        return np.where(np.isneginf(counts), -np.inf, fresh)


def covered(
    of: OffsetRanking,
    *,
    width: float,
    tolerance: float | None = None,
    most: int = 1 << 12,
) -> Levels:
    """Levels whose brackets vary in loss by at most `width`, where they matter.

    With a tolerance they are cut on until the bounds of the masses are that close, or every bracket is one level, or
    there are `most` levels.
    """
    brackets = _levels(of, _first(of))
    while True:
        rough = _rough(brackets, width) if tolerance is None else _unsettled(brackets, tolerance)
        if not rough.any() or len(brackets.levels) >= most:
            return brackets
        brackets = _levels(of, np.append(brackets.levels, _middles(brackets, rough)), brackets)


def _first(of: OffsetRanking) -> Values:
    """Evenly spaced as far as there can be mass, then doubling."""
    d, k = len(of.ranking.scores), of.k
    reach = one_log_choose(k, d - k) + REACH
    end = of.exact_loss_at(of.lowest)
    steps = [reach * n / FIRST_LEVELS for n in range(1, FIRST_LEVELS + 1)]
    while steps[-1] < 1e300 and steps[-1] < end and len(steps) < 2 * FIRST_LEVELS:
        steps.append(2.0 * steps[-1])
    return np.concatenate([_snapped(of, [step for step in steps if step < end]), [of.top, of.lowest]])


def _snapped(of: OffsetRanking, losses: list[float]) -> Values:
    """Levels at about these losses, each moved down to where the number of sets can change."""
    whole = [of.top - int(Fraction(loss) / (of.ranking.inner * of.unit)) for loss in losses]
    kind = of.depths.dtype
    levels = np.array([max(one, of.lowest) for one in whole], kind)
    return of.below(levels + 1) if len(levels) else np.empty(0, kind)


def _levels(of: OffsetRanking, levels: Values, known: Levels | None = None) -> Levels:
    """Sorted, with their counts; those known are not counted again."""
    levels = np.unique(levels)[::-1]
    counts = np.empty((len(levels), of.k))
    fresh = np.ones(len(levels), np.bool_) if known is None else ~np.isin(levels, known.levels)
    rows = of.boundaries(levels[fresh])
    counts[fresh] = log_counts(rows)
    if known is not None:
        counts[~fresh] = known.counts
    far = of.loss_at(levels)
    near = np.append(0.0, of.loss_at(of.below(levels[:-1]))) if len(levels) > 1 else np.zeros(1)
    return Levels(of, levels, counts, rows.error, np.minimum(near, far), far)


def _masses(brackets: Levels) -> tuple[Floats, float]:
    """(ln of about the largest mass of each bracket, ln of about the total with the top k)."""
    sums = log_sums(brackets.counts - brackets.of.head_losses(), axis=1)
    mass = brackets.between(sums[:, None])[:, 0] - brackets.near
    return mass, float(np.logaddexp(0.0, log_sums(mass - (brackets.far - brackets.near) / 2, axis=0)))


def _rough(brackets: Levels, width: float) -> Mask:
    mass, total = _masses(brackets)
    heavy = mass > total - SLIGHT - math.log(len(mass))
    rough: Mask = heavy & (brackets.far - brackets.near > width)
    return rough


def _unsettled(brackets: Levels, tolerance: float) -> Mask:
    mass, total = _masses(brackets)
    gap = np.exp(np.minimum(mass - total, 0.0)) * -np.expm1(brackets.near - brackets.far)
    unsettled: Mask = gap > tolerance / (4 * len(mass))
    return unsettled


def _middles(brackets: Levels, rough: Mask) -> Values:
    """A level inside each rough bracket, near its middle in loss."""
    of, at = brackets.of, np.flatnonzero(rough)
    levels = _snapped(of, ((brackets.near[at] + brackets.far[at]) / 2).tolist())
    above = of.above(np.maximum(levels, brackets.levels[at]))
    middle = np.where(levels > brackets.levels[at], np.minimum(levels, of.below(brackets.levels[at - 1])), above)
    return middle[middle < brackets.levels[at - 1]]
