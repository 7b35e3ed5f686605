"""Exact success probabilities of ordered lists in one draw."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist._arrays import Floats, Indices, Values
from shortlist.exact.noise import GUMBEL, Noise
from shortlist.exact.sequences import CHUNK, Cells, Cover, Ladder, ladder, times
from shortlist.mechanisms.lists import ListGuard
from shortlist.sampling.sets import LIST_SLOPE, LIST_TAU, ListSwitch
from shortlist.scores import Scores
from shortlist.utility import GuardedDistribution, Quality, quality_by, ranks_within
from shortlist.utility.race import OneshotDistribution

if TYPE_CHECKING:
    from shortlist.mechanisms.lists import BestList, GuardedListTopK

RARE = 1e-13
"""Levels whose chances together are below this are left out of sums, and the rest is raised to 1."""

MOST_PAIRS = 2 * 10**7
"""The most pairs of a place and a rank on likely levels: more would not fit into memory."""

PARTS = 4
"""A cell is cut into so many at once by losses, and into as many by ranks: rows cost less than rounds."""


@dataclass(frozen=True, slots=True)
class Levels:
    """The likely levels: from a rung to the next one, or to where unlikely ones begin."""

    steps: Ladder
    losses: Values
    log_mass: Floats
    """ln of N(t) rate e^(-rate t), integrated over each level and divided by e^(-rate first)."""
    log_width: Floats
    """ln of (1 - e^(-rate width)) of each level."""
    depth: Floats
    """rate (t - first) at the rung of each level."""

    @property
    def chances(self) -> Floats:
        """P[each level], if sequences are drawn in proportion to e^(-rate loss)."""
        weights: Floats = np.exp(self.log_mass - self.log_mass.max())
        return weights / float(weights.sum())


@dataclass(frozen=True, slots=True)
class SequenceDistribution:
    """How good a sequence is whose level has these chances: they add up to 1, or to that of the draw being made."""

    support: Levels
    chances: Floats
    candidates: Indices
    """The candidate at each rank."""
    size: int
    """How many candidates there are, with those that are never chosen."""

    def in_order(self) -> float:
        """P[the scores are the k best, in order], ties counting as equal: N at loss 0 of the N(t) of each level."""
        steps = self.support.steps
        right = float(steps.log_counts(steps.reach(steps.losses_of([0])))[0])
        return float(sum(part @ np.exp(np.minimum(right - steps.log_counts(n), 0.0)) for part, n in self._parts()))

    def success(self) -> float:
        """P[the set is a true top k], ties counting as equal."""
        return self._within(*self._about_k())

    def quality(self) -> Quality:
        """P[top], P[great], P[good] and the expected recall of the set."""
        k = self.support.steps.k
        great, good = ranks_within(self.support.steps.scores, k)
        return quality_by(
            self.success,
            lambda: self._within(*great),
            lambda: self._within(*good),
            lambda: min(float(self.number_correct() @ np.arange(k + 1)) / k, 1.0),
        )

    def number_correct(self) -> Floats:
        """P[c of the items score at least the k-th largest], c = 0..k."""
        correct, k = self._about_k()[1], self.support.steps.k
        result = np.zeros(k + 1)
        for part, reach in self._parts():
            state, counts = np.zeros((len(reach), k + 1)), np.arange(k + 1)
            state[:, 0] = part
            for i, n in enumerate(reach.T):
                choices, hits = (n - i)[:, None], np.maximum(np.minimum(n, correct)[:, None] - counts[: i + 2], 0)
                now = state[:, : i + 2]
                after = now * (np.maximum(choices - hits, 0) / choices)
                after[:, 1:] += (now * (hits / choices))[:, :-1]
                state[:, : i + 2] = after
            result += state.sum(axis=0)
        return result

    def inclusion(self) -> Floats:
        """P[candidate i is in the sequence]: its rank escapes every place i that may take it but for 1 / (n_i - i)."""
        k, ranks = self.support.steps.k, len(self.support.steps.scores)
        change, result = np.zeros(ranks + 1), np.zeros(self.size)
        for part, reach in self._parts():
            escape = np.cumprod((1.0 - 1.0 / (reach - np.arange(k)))[:, ::-1], axis=1)[:, ::-1]  # from place i on
            starts = np.concatenate([np.zeros((len(reach), 1), reach.dtype), reach[:, :-1]], axis=1)
            caught = part[:, None] * (1.0 - escape)  # ranks in [n_(i-1), n_i) are first exposed at place i
            np.add.at(change, starts, caught)
            np.add.at(change, reach, -caught)
        result[self.candidates] = np.cumsum(change[:-1])
        return result

    def _within(self, head: int, last: int) -> float:
        """P[the first `head` ranks are all in the sequence and no rank beyond `last` is], head <= k <= last.

        Place i takes one of its n_i ranks that are left, uniformly. After t heads it takes another one with chance
        (min(n_i, head) - t) / (n_i - i), and a further rank up to `last` with
        (min(n_i, last) - min(n_i, head) - i + t) / (n_i - i).
        """
        total, k = 0.0, self.support.steps.k
        for part, reach in self._parts():
            state, least = part[:, None], 0  # of t heads, from `least` on: with fewer the last of them is out of reach
            for i, n in enumerate(reach.T):
                heads = np.arange(least, least + state.shape[1])
                inside = np.minimum(n, head)[:, None]
                to_head = np.maximum(inside - heads, 0) / (n - i)[:, None]
                to_other = np.maximum(np.minimum(n, last)[:, None] - inside - i + heads, 0) / (n - i)[:, None]
                after = np.zeros((len(part), len(heads) + 1))
                after[:, :-1] = state * to_other
                after[:, 1:] += state * to_head
                fewest = max(0, head - (k - 1 - i))
                state, least = after[:, fewest - least : head + 1 - least], fewest
            total += float(state[:, head - least].sum())
        return min(total, 1.0)

    def _about_k(self) -> tuple[int, int]:
        """(how many candidates score above the k-th largest, how many at least as much)."""
        scores, k = self.support.steps.scores, self.support.steps.k
        kth = scores[k - 1]
        return int(np.count_nonzero(scores > kth)), int(np.count_nonzero(scores >= kth))

    def _parts(self) -> Iterator[tuple[Floats, Indices]]:
        """(chances, n_i on each level, one row each), some levels at a time."""
        size = max(1, CHUNK // self.support.steps.k)
        for start in range(0, len(self.chances), size):
            rows = slice(start, start + size)
            yield self.chances[rows], self.support.steps.reach(self.support.losses[rows])


def levels(steps: Ladder, rate: Fraction) -> Levels:
    """All rungs of the likely cells.

    Raises
    ------
    ValueError
        if there are too many of them.
    """
    cover = _likely_cells(steps, rate)
    upper = np.exp(cover.upper - cover.upper.max())
    order = np.argsort(upper)
    spare = RARE * float(np.exp(cover.lower - cover.upper.max()).sum())
    likely = np.sort(order[int(np.searchsorted(np.cumsum(upper[order]), spare, side="right")) :])
    if int((cover.high - cover.low)[likely].sum()) > MOST_PAIRS:
        raise ValueError(
            f"exact utility of a list needs at most {MOST_PAIRS:,} pairs of a place and a candidate that are likely "
            "to meet; ask for fewer items or about scores with more ties"
        )
    uneven = likely[~cover.flat[likely]]
    starts = np.unique(np.concatenate([cover.start[likely], _rungs(steps, cover.low[uneven], cover.high[uneven])]))
    closed = cover.end[likely]
    ends = np.minimum(np.append(starts[1:], closed[-1:]), closed[np.searchsorted(closed, starts, side="right")])
    return _weigh(steps, rate, starts, ends, endless=bool(likely[-1] == len(cover) - 1))


def _likely_cells(steps: Ladder, rate: Fraction) -> Cells:
    """Cells for `levels`: those that are likely are flat, or at most a nat wide. Cut into several at once.

    The likely rungs are the same however the cells are cut. A draw keeps to `cells`, on whose cuts its words depend.
    """
    cover = _cover_of(steps, np.unique(steps.losses_of([steps.first, 0, steps.last])))
    while True:
        start, (lower, upper) = cover.start, cover.log_bounds(rate)
        small = float(np.logaddexp.reduce(lower)) + math.log(RARE / (2 * len(start)))
        wide = np.append(times(np.diff(start), rate) > 1.0, False)
        open_ = np.flatnonzero(~cover.flat & wide & (upper > small))
        if not len(open_):
            return cover.cells(lower, upper)
        low, high = (np.array([rows[i] for i in open_]) for rows in (cover.low, cover.high))
        cuts = _cuts(steps, start[open_], start[open_ + 1], low, high)
        cover = _cover_of(steps, np.unique(np.concatenate([start, *cuts])))


def _cover_of(steps: Ladder, start: Values) -> Cover:
    low = steps.reach(start)
    return Cover.of(steps, start, low, np.concatenate([steps.reach(start[1:] - 1), low[-1:]]))


def _cuts(steps: Ladder, start: Values, end: Values, low: Indices, high: Indices) -> list[Values]:
    """Losses inside each of these cells: evenly spread, and rungs where the place that gains most gains evenly."""
    row, place = np.arange(len(low)), (high - low).argmax(axis=1)
    width, begin, gained, top = end - start, low[row, place], (high - low)[row, place], steps.whole(place)
    even = [start + width // PARTS * j + width % PARTS * j // PARTS for j in range(1, PARTS)]
    return even + [top - steps.whole(begin + (gained - 1) * j // PARTS) for j in range(PARTS)]


def _rungs(steps: Ladder, low: Indices, high: Indices) -> Values:
    """All rungs after the start of the cells with these reaches: a place reaches a rank there that it did not."""
    gained = (high - low).ravel()
    places = np.repeat(np.tile(np.arange(steps.k), len(low)), gained)
    before = np.repeat(np.cumsum(gained) - gained, gained)
    ranks = np.repeat(low.ravel(), gained) + np.arange(len(places)) - before
    return steps.whole(places) - steps.whole(ranks)


def _weigh(steps: Ladder, rate: Fraction, starts: Values, ends: Values, *, endless: bool) -> Levels:
    width, depth = times(ends - starts, rate), times(starts - steps.first, rate)
    if endless:
        width[-1] = np.inf
    size = max(1, CHUNK // steps.k)
    counts = [steps.log_counts(steps.reach(starts[i : i + size])) for i in range(0, len(starts), size)]
    with np.errstate(divide="ignore"):
        log_width = np.log(-np.expm1(-width))
    return Levels(steps, starts, np.concatenate(counts) - depth + log_width, log_width, depth)


SMALLEST = 1e-290
"""Differences below this are as good as none."""
BEYOND = math.log(60.0)
"""Integrals end where the product is below e^-60."""

CELLS = 1 << 17
"""Nodes times levels that are looked at together, so that they stay in the processor's cache."""


@np.errstate(divide="ignore", over="ignore")
def race_chances(support: Levels, v: float = -math.inf, a: float = 1.0) -> Floats:
    """P[the winner is a sequence of this level], for every level; what they lack of 1 is the chance of the guard.

    ln G(t) = -sum N_r ln [(1 - p_next t) / (1 - p_r t)], where N_r (p_r - p_next) is the mass of level r: one logarithm
    for each level and node, and sums of products.
    """
    mass = float(np.logaddexp.reduce(support.log_mass))
    end, (node, weight) = min(0.0, BEYOND - mass, -v), np.polynomial.legendre.leggauss(12)
    edges = end - np.concatenate([np.arange(0.0, 4.0, 0.25), np.arange(4.0, 45.0)])  # of ln t: short panels at the end
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[:-1] - edges[1:]) / 2
    nodes, weights = (middle[:, None] + half[:, None] * node).ravel(), (half[:, None] * weight).ravel()
    share, width, fall = (np.exp(one) for one in (support.log_mass - mass, support.log_width, -support.depth))
    result = np.zeros(len(share))
    size = max(1, CELLS // len(result))
    for start in range(0, len(nodes), size):
        node, weight = nodes[start : start + size], weights[start : start + size]
        out = np.exp(node)[:, None] * fall  # p_r t
        drop = out * width  # t (p_r - p_next)
        left = np.subtract(1.0, out, out=out)
        per_drop = np.log1p(drop / left)
        np.divide(per_drop, drop, out=per_drop, where=drop > SMALLEST)
        per_drop[drop <= SMALLEST] = 1.0
        still_out = -np.exp(node + mass) * np.einsum("ij,j->i", per_drop, share)  # ln G(t); by one thread, as below
        if v > -math.inf:
            still_out = still_out + np.log(-np.expm1(np.minimum(a * (node + v), 0.0)))
        drop += left  # 1 - p_next t
        drop *= left
        factor = weight * np.exp(np.minimum(still_out + node + mass, 700.0))
        result += share * np.einsum("i,ij->j", factor, np.reciprocal(drop, out=drop))
    return result


def best_list(mechanism: BestList, scores: Scores) -> SequenceDistribution:
    """Return the distribution of the list of the noisy maximum."""
    steps, candidates = ladder(scores._numbers, mechanism.k, gap=mechanism.gap)
    support = levels(steps, mechanism._rate(scores) * steps.unit)
    return SequenceDistribution(support, chances_beside(mechanism._kind, support), candidates, len(scores))


def list_with_guard(mechanism: GuardedListTopK, scores: Scores) -> GuardedDistribution:
    """Return the distribution of the list: of the race beside its guard, and of one-shot top-k."""
    steps, candidates = ladder(scores._numbers, mechanism.k, gap=True)
    support, size = levels(steps, mechanism._rate(scores) * steps.unit), len(scores)
    chances, fallback = chances_beside(mechanism._lists(scores, steps), support), mechanism._fallback(scores)

    def one_shot() -> OneshotDistribution:
        return OneshotDistribution.of(scores.values, mechanism.k, fallback.scale, fallback.noise)

    lists = SequenceDistribution(support, chances, candidates, size)
    return GuardedDistribution(lists, max(0.0, 1.0 - float(chances.sum())), one_shot, np.arange(size), size)


def chances_beside(lists: ListGuard | ListSwitch | Noise | None, support: Levels) -> Floats:
    """Return P[a list of this level is released], for every level, beside what decides about lists."""
    match lists:
        case None:
            return np.zeros(len(support.losses))
        case ListGuard() as guard:
            v = (guard.junk.finer.low + guard.junk.finer.high) / 2 + float(guard.tau)
            return race_chances(support, v, float(guard.a))
        case ListSwitch() as switch:
            lead = -(switch.junk.finer.low + switch.junk.finer.high) / 2
            log_odds = float(LIST_SLOPE) * (lead - float(LIST_TAU))
            return support.chances * math.exp(-float(np.logaddexp(0.0, -log_odds)))
    return support.chances if lists == GUMBEL else race_chances(support)


DISTRIBUTIONS: dict[str, Any] = {"BestList": best_list, "GuardedListTopK": list_with_guard}
