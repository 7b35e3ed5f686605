"""The exact law of one-shot top-k: which set the k largest s_i + N_i are (Theorem 125).

With Gumbel noise it is the law of peeling too. Every integral is over the level z of the best loser, the (k+1)-th
largest noisy score; p, o and f are survival function, distribution function and density of the noise at z - s_i,
and q(w) = o + p w. Nothing is drawn. Each function returns what it promises to within ERROR, or raises
ArithmeticError.

The parameters are the same throughout: ``s``, the scores in noise units, one per item, -inf for an item that is never
chosen; ``k``, how many items are returned, at most the number of finite scores; and ``noise``, any noise kind that is
smooth between its kinks. Wrong ones raise ValueError.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shortlist._arrays import Floats, Values
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.quadrature import (
    blocks,
    crowd_of,
    gather,
    highest_density,
    log_all_above,
    log_all_below,
    refined,
    seen_above,
    seen_below,
    separation_range,
)
from shortlist.exact.quality import Quality, quality_by, ranks_within
from shortlist.exact.score_intervals import Contest, kth_largest
from shortlist.exact.set_chances import (
    Items,
    checked_k,
    checked_scores,
    coefficients,
    correct_in,
    included_in,
    items_of,
    set_probabilities,
    threshold_range,
)

ERROR = 1e-9
"""Doubling the nodes a last time changed the value by at most this, so that its own error is far smaller."""

SMALLEST = 1e-290
"""Chances below this are sums of numbers that floats hold with few digits: nothing is relative to them."""


def right_probability(s: Floats, k: int, noise: Noise) -> float:
    """P[the set returned is right: its scores are the k largest scores], ties counting as equal.

    With A the items above the k-th largest score, T those at it, B those below, and v = k - |A|, it is
    ``C(|T|, v) Int S_A S_T^v d[F_T^(|T|-v) F_B]``. ERROR is relative here: tiny values are exact too.
    """
    items, k = _checked(s, k)
    if k == items.size:
        return 1.0
    inside = items.best(k)
    lowest = np.flatnonzero(inside)[0]
    log_sets = math.log(math.comb(int(items.counts[lowest]), int(inside[lowest])))
    winners, losers = crowd_of(items.values, inside), crowd_of(items.values, items.counts - inside)
    levels = separation_range(winners, losers, noise)

    def evaluate(refinement: int) -> Floats:
        near_winners = seen_above(winners, levels, noise, refinement)
        near_losers = seen_below(losers, levels, noise, refinement)
        total = 0.0
        for block in blocks([near_winners.values, near_losers.values], levels, noise, refinement):
            above = seen_above(near_winners, block.levels, noise, refinement)
            below = seen_below(near_losers, block.levels, noise, refinement)
            log_factor = log_sets + log_all_above(above, noise, block.nodes) + np.log(block.weights)
            total += float((highest_density(below, noise, block.nodes, log_factor) @ below.weights).sum())
        return np.array([total])

    def settled(old: Floats, new: Floats) -> bool:
        return abs(float(new[0] - old[0])) <= ERROR * max(float(new[0]), SMALLEST)

    return min(1.0, float(refined(evaluate, settled)[0]))


def number_correct(s: Floats, k: int, noise: Noise, rank: int | None = None) -> Floats:
    """P[c of the items returned are correct], c = 0..k; an item is correct if it scores at least the k-th largest.

    Or the largest of another rank, if it is given.

    With alpha_c = [w^c] prod_A q and alpha'_c = [w^c] prod_A q sum_A f/q over the correct items A, and beta likewise
    over the others, it is ``Int (alpha'_c beta_{k-c} + alpha_c beta'_{k-c}) dz``. Its sum is an error meter that costs
    nothing: nodes are added until it is 1 to within ERROR.
    """
    items, k = _checked(s, k)
    if k == items.size:
        return np.concatenate([np.zeros(k), [1.0]])
    at_least = items.at_least(k if rank is None else rank)
    correct, others = crowd_of(items.values, at_least), crowd_of(items.values, items.counts - at_least)
    levels = threshold_range(crowd_of(items.values, items.counts), k, noise)

    def evaluate(refinement: int) -> Floats:
        near_correct = gather(correct, levels, noise, refinement).crowd
        near_others = gather(others, levels, noise, refinement).crowd
        result = np.zeros(k + 1)
        for block in blocks([near_correct.values, near_others.values], levels, noise, refinement):
            seen_correct = gather(near_correct, block.levels, noise, refinement).crowd
            seen_others = gather(near_others, block.levels, noise, refinement).crowd
            result += correct_in(seen_correct, seen_others, block, k, noise, refinement)
        return result

    def settled(old: Floats, new: Floats) -> bool:
        return float(np.abs(new - old).max()) <= ERROR and abs(float(new.sum()) - 1.0) <= ERROR

    return np.maximum(refined(evaluate, settled), 0.0)


def inclusion_probabilities(s: Floats, k: int, noise: Noise) -> Floats:
    """P[i is among the k items returned] for every i; they sum to k.

    ``Int [w^(k-1)] prod_j q_j (p_i / q_i) (sum_j f_j / q_j - f_i / q_i) dz``. Nodes are added until the sum is k to
    within k ERROR.
    """
    items, k = _checked(s, k)
    if k == items.size:
        return items.per_item(np.ones_like(items.values))
    crowd = crowd_of(items.values, items.counts)
    levels = threshold_range(crowd, k, noise)

    def evaluate(refinement: int) -> Floats:
        near = gather(crowd, levels, noise, refinement)
        result, mass = np.zeros(near.crowd.values.size), 0.0
        for block in blocks([near.crowd.values], levels, noise, refinement):
            gathering = gather(near.crowd, block.levels, noise, refinement)
            at_sites, block_mass = included_in(gathering.crowd, block, k, noise, refinement)
            result += gathering.spread(at_sites, block_mass)
            mass += block_mass
        return near.spread(result, mass)

    def settled(old: Floats, new: Floats) -> bool:
        return float(np.abs(new - old).max()) <= ERROR and abs(float(new @ items.counts) - k) <= k * ERROR

    return items.per_item(np.clip(refined(evaluate, settled), 0.0, 1.0))


def within_ranks(s: Floats, k: int, head: int, reach: int, noise: Noise) -> float:
    """P[ranks 1 to ``head`` are all returned and no rank beyond ``reach`` is], for 0 <= head <= k <= reach.

    With A the ranks up to head, B those beyond reach, T those between, and m = k - head, it is
    ``Int S_A F_B {(sum_B f/F) [w^m] prod_T q + [w^m] prod_T q sum_T f/q} dz``.
    """
    items, k = _checked(s, k)
    if not 0 <= head <= k <= reach:
        raise ValueError("head and reach must be ranks with 0 <= head <= k <= reach")
    if k == items.size:
        return 1.0
    first, last = items.best(head), items.best(reach)
    heads, middle = crowd_of(items.values, first), crowd_of(items.values, last - first)
    tail = crowd_of(items.values, items.counts - last)
    levels = threshold_range(crowd_of(items.values, items.counts), k, noise)

    def evaluate(refinement: int) -> Floats:
        near_heads = seen_above(heads, levels, noise, refinement)
        near_middle = gather(middle, levels, noise, refinement).crowd
        near_tail = seen_below(tail, levels, noise, refinement)
        total = 0.0
        for block in blocks([near_heads.values, near_middle.values, near_tail.values], levels, noise, refinement):
            above = seen_above(near_heads, block.levels, noise, refinement)
            between = gather(near_middle, block.levels, noise, refinement).crowd
            below = seen_below(near_tail, block.levels, noise, refinement)
            log_factor = log_all_above(above, noise, block.nodes) + np.log(block.weights)
            loser_below = highest_density(below, noise, block.nodes, log_factor) @ below.weights
            loser_between = np.exp(log_factor + log_all_below(below, noise, block.nodes))
            count, density = coefficients(between, block, k - head, noise, refinement)
            total += float(loser_below @ count + loser_between @ density)
        return np.array([total])

    def settled(old: Floats, new: Floats) -> bool:
        return abs(float(new[0] - old[0])) <= ERROR

    return float(np.clip(refined(evaluate, settled)[0], 0.0, 1.0))


def quality(s: Floats, k: int, noise: Noise) -> Quality:
    """P[right], P[great], P[good] and the expected recall, E[number correct] / k, of the set returned."""
    great, good = ranks_within(np.sort(s)[::-1], k)
    return quality_by(
        lambda: right_probability(s, k, noise),
        lambda: within_ranks(s, k, *great, noise),
        lambda: within_ranks(s, k, *good, noise),
        lambda: min(1.0, float(number_correct(s, k, noise) @ np.arange(k + 1)) / k),
    )


def _checked(s: Floats, k: int) -> tuple[Items, int]:
    scores = checked_scores(s)
    number = checked_k(k, scores)
    return items_of(scores, number + 1), number


@dataclass(frozen=True, slots=True)
class OneshotLaw:
    """The law of the k largest s_i + N_i as one value: what is asked of it are the functions above."""

    s: Floats
    k: int
    noise: Noise

    @classmethod
    def of(cls, values: Values, k: int, scale: Fraction, noise: Noise) -> OneshotLaw:
        """That of exact scores under noise of that scale: s is how far each is above the k-th largest."""
        contest = Contest(values, k, scale, noise, kth_largest(values, k))
        return cls(np.where(values == -np.inf, -np.inf, contest.positions(values)), k, noise)

    def sets(self) -> dict[tuple[int, ...], float]:
        """P[each set is returned], where there are few."""
        return set_probabilities(self.s, self.k, self.noise)

    def success(self) -> float:
        return right_probability(self.s, self.k, self.noise)

    def quality(self) -> Quality:
        return quality(self.s, self.k, self.noise)

    def number_correct(self) -> Floats:
        return number_correct(self.s, self.k, self.noise)

    def inclusion(self) -> Floats:
        return inclusion_probabilities(self.s, self.k, self.noise)
