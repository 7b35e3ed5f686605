"""Exact success probabilities of canonical and guarded sets."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from shortlist._arrays import Floats, Indices, Mask
from shortlist.exact.noise import EXPONENTIAL, GUMBEL, Noise
from shortlist.exact.reals import to_float
from shortlist.exact.subsets import Cells, Classes, Ranking, log_choose, log_run, log_sum, rank_scores, relevant, settle
from shortlist.mechanisms.sets import negate
from shortlist.sampling.sets import Switch, round_up
from shortlist.scores import Scores
from shortlist.utility import GuardedDistribution, Quality, quality_by, ranks_within
from shortlist.utility.quadrature import legendre
from shortlist.utility.race import OneshotDistribution, winner_probabilities

if TYPE_CHECKING:
    from shortlist.mechanisms.sets import CanonicalTopK, GuardedRace, GuardedTopK


CELL_WIDTH = 1e-9
"""Cells are cut until the bounds of their masses differ by about this share of the total, or all scores are equal."""

LOG_SUM_ROUNDING = 2.0**-45
"""A logarithm l of a sum over cells may be off by LOG_SUM_ROUNDING (32 + |l|): 128 units in the last place of l."""

NODES = 40
LAST = 50.0
"""Integrals end at s = 50 / S: beyond it G is below e^-50, and so is the share of what is left out."""

SMALL = 1e-8
"""Below it -ln(1 - y) is y + y^2 / 2 in floats."""

CHUNK = 1 << 16
"""Cells per block, so that memory stays bounded."""


@dataclass(frozen=True, slots=True)
class Chances:
    """All classes as cells, with the logarithm of each cell's chance, and of that of the top k as one subset.

    `error` says by how much the chance of any event may be off: what the bounds of the cells and the classes left out
    amount to, and how far all chances together are from 1.
    """

    classes: Classes
    cells: Cells
    cell: Floats
    top: float
    error: float

    @property
    def i(self) -> Indices:
        return self.classes.i[self.cells.row]


def chances(classes: Classes, noise: Noise, cuts: tuple[int, ...] = ()) -> Chances:
    """The law of the class that wins. No cell straddles a cut: j below and j at or above it are apart."""
    cells, left_out = cover(classes, cuts)
    mass = 0.5 * (cells.lower + cells.upper)
    loss = classes.rise[cells.row] + 0.5 * (classes.fall[cells.first] + classes.fall[cells.last])
    total = float(np.logaddexp(0.0, log_sum(mass)))
    top, factor = winning(mass, loss, noise)
    cell = mass + factor
    gap = float(np.exp(cells.upper - total).sum() - np.exp(cells.lower - total).sum()) + math.exp(left_out - total)
    whole = math.exp(top) + float(np.exp(cell).sum())
    return Chances(classes, cells, cell, top, abs(1.0 - whole) + gap + LOG_SUM_ROUNDING * (32.0 + total))


def winning(mass: Floats, loss: Floats, noise: Noise) -> tuple[float, Floats]:
    """(ln P[the top k wins, as one subset], ln of the chance of a subset over e^-its loss, by cell) from all cells."""
    if noise == GUMBEL:
        total = float(np.logaddexp(0.0, log_sum(mass)))
        return -total, np.full(len(loss), -total)
    node, weight = legendre(NODES)
    end, survival = survival_of(mass, loss, node)
    return log_integral(end, survival, weight), thin(loss, end, survival, node, weight)


def top_bounds(classes: Classes, noise: Noise) -> tuple[float, float]:
    """(lower, upper) bounds on ln P[the top k wins, as one subset]: certified.

    From upper masses with least losses, and from lower masses with largest losses.
    """
    cells, left_out = cover(classes, ())
    if noise == GUMBEL:
        heavy, light = np.logaddexp(log_sum(cells.upper), left_out), log_sum(cells.lower)
        return _widen(-float(np.logaddexp(0.0, heavy)), -float(np.logaddexp(0.0, light)))
    least = classes.rise[cells.row] + classes.fall[cells.first]
    most = classes.rise[cells.row] + classes.fall[cells.last]
    # the classes left out have so little mass that p s is below 1e-9 for them: twice their mass bounds their hazard
    upper = np.append(cells.upper, left_out + math.log(2.0))
    end, survival = survival_of(upper, np.append(least, math.inf), legendre(NODES)[0])
    low = log_integral(end, survival, legendre(NODES)[1])
    end, survival = survival_of(cells.lower, most, _radau()[0])
    return _widen(low, log_integral(end, survival, _radau()[1]))


def _widen(lower: float, upper: float) -> tuple[float, float]:
    return lower - LOG_SUM_ROUNDING * (32.0 - lower), min(upper + LOG_SUM_ROUNDING * (32.0 - upper), 0.0)


def cover(classes: Classes, cuts: tuple[int, ...]) -> tuple[Cells, float]:
    """(all classes that matter as cells with close bounds, the logarithm of a bound on the mass of the others)."""
    cells, left_out = relevant(classes, outside=0.0, width=0.7, cuts=cuts)
    if not len(cells):
        cells, left_out = relevant(classes, outside=-math.inf, width=0.7, cuts=cuts)
    return settle(classes, cells, outside=0.0, tolerance=CELL_WIDTH), left_out


@cache
def _radau() -> tuple[Floats, Floats]:
    """Nodes and weights on [0, 1], one node at 0: those of (P_{n-1} + P_n) / (1 + x)."""
    from scipy.special import eval_legendre, roots_jacobi

    inner = roots_jacobi(NODES - 1, 0.0, 1.0)[0]
    node = np.append(-1.0, inner)
    weight = np.append(2.0, (1.0 - inner) / eval_legendre(NODES - 1, inner) ** 2) / NODES**2
    return (node + 1.0) / 2.0, weight / 2.0


def survival_of(mass: Floats, loss: Floats, node: Floats) -> tuple[float, Floats]:
    """(ln b, ln G at the nodes of [0, b]), b where the integrals end, from masses in logarithms and losses.

    ``N ln(1 - p s) = -mass s r(p s)`` with r(y) = -ln(1 - y) / y, which is 1 at 0.
    """
    end = min(0.0, math.log(LAST) - log_sum(mass))
    hazard = np.zeros(len(node))
    for start in range(0, len(mass), CHUNK):
        some = slice(start, start + CHUNK)
        share, weight = np.exp(mass[some] + end), np.exp(end - loss[some])
        small = weight < SMALL
        hazard += node * share[small].sum() + 0.5 * node**2 * (share[small] @ weight[small])
        share, weight = share[~small] / weight[~small], weight[~small]
        hazard -= np.array([share @ np.log1p(-weight * x) for x in node])
    return end, -hazard


def log_integral(end: float, survival: Floats, weight: Floats) -> float:
    """ln Int_0^b G ds"""
    return end + log_sum(survival + np.log(weight))


def thin(loss: Floats, end: float, survival: Floats, node: Floats, weight: Floats) -> Floats:
    """ln Int_0^b (1 - s) G(s) / (1 - e^-loss s) ds for each loss."""
    s = node * math.exp(end)
    factor = weight * np.exp(survival) * (1.0 - s)
    result = np.empty(len(loss))
    for start in range(0, len(loss), CHUNK):
        p = np.exp(-loss[start : start + CHUNK])
        result[start : start + CHUNK] = sum(f / (1.0 - p * x) for f, x in zip(factor, s, strict=True))
    return end + np.log(result)


RARE_CELLS = 1e-15
"""Cells whose chances add up to less than this are not looked into."""


MOST_SETS = 100_000


@dataclass(frozen=True, slots=True)
class SubsetDistribution:
    """The set of the noisy maximum: how likely which set is released, by the functions below."""

    mechanism: CanonicalTopK
    scores: Scores
    guard: ClassVar[float] = 0.0

    @property
    def ranking(self) -> Ranking:
        return self.mechanism._ranking(self.scores)

    @property
    def noise(self) -> Noise:
        """The noise, if the distribution of its winner is known in closed form."""
        if self.mechanism.loss == "rounded":
            raise ValueError(
                'exact utility is not known for loss="rounded"; where there are few sets, read .probabilities'
            )
        noise = self.mechanism._kind
        if noise not in (GUMBEL, EXPONENTIAL):
            raise ValueError(
                f"exact utility is known for gumbel and exponential noise, not for {noise.name}; where there are "
                "few sets, .probabilities lists them all"
            )
        return noise

    def sets(self) -> dict[tuple[int, ...], float]:
        """P[each set of k candidates], by their positions: exact, to 1e-12, where there are at most 100,000 sets."""
        d, k = self.scores._choosable, self.mechanism.k
        if math.comb(d, k) > MOST_SETS:
            raise ValueError(
                f"there are more than {MOST_SETS:,} sets; ask for quality or inclusion_probabilities instead"
            )
        ranking, step = self.ranking, self.mechanism._step(self.scores)
        sets = list(combinations(range(d), k))
        losses = [ranking.loss_of(ranks) for ranks in sets]
        losses = losses if step is None else [round_up(loss, step) for loss in losses]
        chances = winner_probabilities(np.array([-to_float(loss) for loss in losses]), self.mechanism._kind)
        positions = [tuple(sorted(ranking.order[list(ranks)].tolist())) for ranks in sets]
        return dict(sorted(zip(positions, chances.tolist(), strict=True)))

    def success_bounds(self) -> tuple[float, float]:
        return success_bounds(self.ranking, self.noise)

    def success(self) -> float:
        return sum(self.success_bounds()) / 2

    def quality(self) -> Quality:
        return self._by_class().quality()

    def number_correct(self) -> Floats:
        return self._by_class().number_correct()

    def inclusion(self) -> Floats:
        return self._by_class().inclusion()

    def _by_class(self) -> SetDistribution:
        ranking = self.ranking
        return SetDistribution(ranking, chances(ranking.classes(), self.noise, cuts_of(ranking)), len(self.scores))


@dataclass(frozen=True, slots=True)
class EveryoneDistribution:
    """The law where all that may be chosen are released: nothing is left to chance."""

    chosen: Mask
    guard: ClassVar[float] = 0.0

    def sets(self) -> dict[tuple[int, ...], float]:
        return {tuple(np.flatnonzero(self.chosen).tolist()): 1.0}

    def success_bounds(self) -> tuple[float, float]:
        return (1.0, 1.0)

    def success(self) -> float:
        return 1.0

    def quality(self) -> Quality:
        return Quality(1.0, 1.0, 1.0, 1.0)

    def number_correct(self) -> Floats:
        return np.append(np.zeros(np.count_nonzero(self.chosen)), 1.0)

    def inclusion(self) -> Floats:
        return self.chosen.astype(np.float64)


def success_bounds(ranking: Ranking, noise: Noise) -> tuple[float, float]:
    """(lower, upper) bounds on P[the set returned is a true top k], ties counting as equal: certified.

    All right sets have the loss of the top k, hence its chance.
    """
    sets = log_right_sets(ranking)
    lower, upper = top_bounds(ranking.classes(), noise)
    return math.exp(min(sets + lower, 0.0)), math.exp(min(sets + upper, 0.0))


def cuts_of(ranking: Ranking) -> tuple[int, ...]:
    """Where the law must be cut for `quality_of`: at the end of a tie, and at the ranks of great and good."""
    k = ranking.k
    great, good = ranks_within(ranking.scores, k)
    return ranks_of_ties(ranking)[1], great[1] - k, good[1] - k


@dataclass(frozen=True, slots=True)
class SetDistribution:
    """How good a set is, by a law of the class that wins, which may leave some chance to no class at all."""

    ranking: Ranking
    law: Chances
    """Cut by `cuts_of`."""
    size: int
    """How many candidates there are, with those that are not ranked."""

    def success(self) -> float:
        """P[the set is a true top k]: all right sets have the loss of the top k, hence its chance."""
        return math.exp(min(log_right_sets(self.ranking) + self.law.top, 0.0))

    def quality(self) -> Quality:
        """P[top], P[great], P[good] and the expected recall."""
        ranking, law = self.ranking, self.law
        k, outside = ranking.k, ranks_of_ties(ranking)[1]
        great, good = ranks_within(ranking.scores, k)
        i, first, chance, top = law.i, law.cells.first, np.exp(law.cell), math.exp(law.top)

        def within(head: int, reach: int) -> float:
            return min(1.0, top + float(chance[(i <= k - 1 - head) & (first < reach - k)].sum()))

        some_wrong = k - 1 - i + (i + outside) * _share(law)
        correct = np.where(first < outside, k, some_wrong)
        recall = min(1.0, top + float(chance @ correct) / k)
        return Quality(self.success(), within(*great), within(*good), recall)

    def number_correct(self) -> Floats:
        """P[c of the items returned are correct], c = 0..k; an item is correct if it scores at least the k-th largest.

        Of class (i, j) with j below the number T of tied ranks beyond k, all are. Otherwise k - 1 - i + r are, in
        C(i + T, r) C(j - T, i - r) of its subsets; the sum of that over a cell is a hockey stick again.
        """
        law = self.law
        k, outside = self.ranking.k, ranks_of_ties(self.ranking)[1]
        chance, wrong = np.exp(law.cell), law.cells.first >= outside
        result = np.zeros(k + 1)
        result[k] = math.exp(law.top) + chance[~wrong].sum()
        some = np.flatnonzero(wrong & (chance > RARE_CELLS / len(chance)))
        i, first, last = law.i[some], law.cells.first[some] - outside, law.cells.last[some] - outside
        each = law.cell[some] - _log_size(i, law.cells.first[some], law.cells.last[some])
        # a hypergeometric count of i draws is more than 4.8 sqrt(i) from its mean with a chance below 2 e^-46
        reach = 4.8 * np.sqrt(i) + 1
        good = i * (i + outside)
        least = np.clip(np.floor(good / np.maximum(i + outside + last, 1) - reach), 0, i).astype(np.int64)
        most = np.clip(np.ceil(good / np.maximum(i + outside + first, 1) + reach), 0, i).astype(np.int64)
        for part in _blocks(most - least + 1):
            cell = np.repeat(part, (most - least + 1)[part])
            right = _ramp(least[part], (most - least + 1)[part])
            left = i[cell] - right
            start, end = np.maximum(first[cell], left) - left, last[cell] - left
            fits = end >= 0
            cell, right, left, start, end = (one[fits] for one in (cell, right, left, start, end))
            logs = log_choose(right, i[cell] + outside - right) + _log_size(left, start, end) + each[cell]
            result += np.bincount(k - 1 - i[cell] + right, np.exp(logs), minlength=k + 1)
        return result

    def inclusion(self) -> Floats:
        """P[candidate is returned], in the caller's order; 0 for those not ranked.

        Tied candidates have the same. Of a run of equal scores the number returned is expected, and shared.
        """
        ranking, law = self.ranking, self.law
        k, classes = ranking.k, law.classes
        chance, top = np.exp(law.cell), math.exp(law.top)
        by_row = np.bincount(law.cells.row, chance, minlength=k)
        between = np.bincount(law.cells.row, chance * _share(law), minlength=k)
        below, above = np.cumsum(by_row) - by_row, np.cumsum(between[::-1])[::-1] - between
        result = np.zeros(self.size)
        result[ranking.order[:k]] = (top + below + above)[::-1]
        run = np.append(0, np.cumsum(np.diff(cast(Floats, classes.fall)) > 0))
        starts = np.flatnonzero(np.append(1, np.diff(run)))
        lengths = np.diff(np.append(starts, len(run)))
        members, later = _by_run(law, run, starts, lengths)
        expected = members / lengths + (np.cumsum(later[::-1])[::-1] - later)
        result[ranking.order[k:]] = expected[run]
        return np.clip(result, 0.0, 1.0)


def _by_run(law: Chances, run: Indices, starts: Indices, lengths: Indices) -> tuple[Floats, Floats]:
    """(expected members in each run from classes that end in it, chance of each earlier rank from these classes)."""
    members, later = np.zeros(len(starts)), np.zeros(len(starts))
    some = np.flatnonzero(np.exp(law.cell) > RARE_CELLS / len(law.cell))
    i, first, last = law.i[some], law.cells.first[some], law.cells.last[some]
    counts = run[last] - run[first] + 1
    fall = cast(Floats, law.classes.fall)
    loss_free = law.cell[some] - _log_size(i, first, last) + 0.5 * (fall[first] + fall[last])
    for part in _blocks(counts):
        cell = np.repeat(part, counts[part])
        at = _ramp(run[first[part]], counts[part])
        a, b, row = np.maximum(starts[at], first[cell]), np.minimum(starts[at] + lengths[at] - 1, last[cell]), i[cell]
        size = _log_size(row, a, b)
        chance = np.exp(loss_free[cell] - fall[a] + size)
        share = _ratio(row - 1, a, b, size, row > 0)
        before = row * _ratio(row, np.maximum(a - 1, 0), np.maximum(b - 1, 0), size, b > 0) - starts[at] * share
        members += np.bincount(at, chance * (1.0 + np.where(lengths[at] == 1, 0.0, before)), minlength=len(starts))
        later += np.bincount(at, chance * share, minlength=len(starts))
    return members, later


def ranks_of_ties(ranking: Ranking) -> tuple[int, int]:
    """How many of the top k, and how many of the others, score as the k-th does."""
    kth = ranking.scores[ranking.k - 1]
    inside = int(np.count_nonzero(ranking.scores[: ranking.k] == kth))
    return inside, int(np.count_nonzero(ranking.scores[ranking.k :] == kth))


def log_right_sets(ranking: Ranking) -> float:
    """ln of how many sets are a true top k: ties count as equal."""
    inside, outside = ranks_of_ties(ranking)
    return float(log_choose(np.array([inside]), np.array([outside]))[0])


def _log_size(i: Indices, first: Indices, last: Indices) -> Floats:
    """ln sum_j C(i + j, i)"""
    lower, upper = log_run(i, first, last)
    return 0.5 * (lower + upper)


def _ratio(i: Indices, first: Indices, last: Indices, size: Floats, where: Mask) -> Floats:
    """sum_j C(i + j, i) / e^size, or 0"""
    return np.where(where, np.exp(_log_size(np.maximum(i, 0), first, last) - size), 0.0)


def _share(law: Chances) -> Floats:
    """The mean of i / (i + j) over the subsets of each cell."""
    i, first, last = law.i, law.cells.first, law.cells.last
    return _ratio(i - 1, first, last, _log_size(i, first, last), i > 0)


def _blocks(counts: Indices) -> list[Indices]:
    """Positions in blocks whose counts add up to about CHUNK."""
    block = (np.cumsum(counts) - counts) // CHUNK
    return np.split(np.arange(len(counts)), np.flatnonzero(np.diff(block)) + 1)


def _ramp(starts: Indices, counts: Indices) -> Indices:
    """starts[0], starts[0] + 1, .. (counts[0] of them), starts[1], .."""
    offsets = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) + np.repeat(starts - offsets, counts)


PANELS = 40
"""Panels of one nat below the end of the integrals: what lies below them is less than e^-40."""


def chances_with_guard(classes: Classes, v: float, a: float, cuts: tuple[int, ...] = ()) -> tuple[Chances, float]:
    """(the law of the class that wins, the chance of the guard) under exponential noise."""
    cells, left_out = cover(classes, cuts)
    mass = 0.5 * (cells.lower + cells.upper)
    loss = classes.rise[cells.row] + 0.5 * (classes.fall[cells.first] + classes.fall[cells.last])
    end, _ = survival_of(mass, loss, np.zeros(1))
    node, weight = np.polynomial.legendre.leggauss(8)
    middles = min(end, -v) - 0.5 - np.arange(PANELS)
    node, weight = (middles[:, None] + node / 2).ravel(), np.tile(weight / 2, PANELS)  # over ln s
    _, survival = survival_of(mass, loss, np.exp(node - end))
    still_out = survival + np.log(-np.expm1(np.minimum(a * (node + v), 0.0)))
    top = log_integral(end, still_out, weight * np.exp(node - end))
    cell = mass + thin(loss, end, still_out, np.exp(node - end), weight * np.exp(node - end))
    guard = max(0.0, 1.0 - math.exp(top) - float(np.exp(cell).sum()))
    # a subset left out wins before the integrals end, with p s far below 1: at most with twice its mass times that end
    return Chances(classes, cells, cell, top, math.exp(min(left_out + end, -1.0) + math.log(2.0))), guard


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What is left of d candidates when one-shot picks k of them, by their negated scores: d - k."""

    gone: OneshotDistribution
    """That of the losers, who are picked."""

    @property
    def k(self) -> int:
        return len(self.gone.s) - self.gone.k

    def success(self) -> float:
        return self.gone.success()

    def quality(self) -> Quality:
        """P[top], P[great], P[good] and the expected recall of the k that are left."""
        d, (great, good) = len(self.gone.s), ranks_within(np.sort(self.gone.s), self.k)

        def within(head: int, reach: int) -> float:
            return self.gone.within(max(d - reach, 0), d - head)

        return quality_by(
            self.success,
            lambda: within(*great),
            lambda: within(*good),
            lambda: min(1.0, float(self.inclusion()[~self._wrong()].sum()) / self.k),
        )

    def number_correct(self) -> Floats:
        """P[c of the k that are left score at least the k-th largest], c = 0..k."""
        wrong, result = int(self._wrong().sum()), np.zeros(self.k + 1)
        if not wrong:
            result[self.k] = 1.0
            return result
        gone = self.gone.number_correct(wrong)  # how many wrong ones were picked
        picked = np.arange(max(wrong - self.k, 0), min(wrong, self.gone.k) + 1)
        result[self.k - wrong + picked] = gone[picked]
        return result

    def inclusion(self) -> Floats:
        """P[candidate is left], for every candidate."""
        return 1.0 - self.gone.inclusion()

    def _wrong(self) -> Mask:
        """Who scores below the k-th largest."""
        return self.gone.s > np.sort(self.gone.s)[self.k - 1]


def guarded_set(run: GuardedRace, size: int) -> GuardedDistribution:
    """How good what a guarded race gives is: the race by its classes, and one-shot if the guard wins.

    Where the losers are picked, it is seen from the winners: mirrored, the classes are the same with i and j exchanged.
    """
    guard, fallback, picked = run.guard, run.fallback, run.guard.ranking
    ranking = picked
    if run.mirrored:
        rate = picked.inner + picked.outer
        k = len(run.finite) - picked.k
        ranking = rank_scores(negate(run.finite), k, rate, picked.outer / rate, gap_aware=True)
    classes, cuts, middle = ranking.classes(), cuts_of(ranking), (guard.low + guard.high) / 2
    if isinstance(guard, Switch):
        law, log_chance = chances(classes, GUMBEL, cuts), -float(np.logaddexp(0.0, -middle))
        law = replace(law, cell=law.cell + log_chance, top=law.top + log_chance)
        chance = math.exp(-float(np.logaddexp(0.0, middle)))
    else:
        law, chance = chances_with_guard(classes, middle, float(guard.a), cuts)

    def one_shot() -> OneshotDistribution | Leftovers:
        gone = OneshotDistribution.of(run.finite, picked.k, fallback.scale, fallback.noise)
        return Leftovers(gone) if run.mirrored else gone

    race = SetDistribution(ranking, law, len(run.chosen))
    return GuardedDistribution(race, chance, one_shot, run.chosen, size)


def canonical(mechanism: CanonicalTopK, scores: Scores) -> SubsetDistribution | EveryoneDistribution:
    """Return the distribution of the set; where all that may be chosen are released nothing is left to chance."""
    if mechanism.k == scores._choosable:
        return EveryoneDistribution(scores.values > -np.inf)
    return SubsetDistribution(mechanism, scores)


def set_with_guard(
    mechanism: GuardedTopK, scores: Scores
) -> GuardedDistribution | SubsetDistribution | EveryoneDistribution:
    """Return the distribution of the set; without a guard it is that of canonical top-k."""
    run = mechanism._run(scores)
    return canonical(mechanism._canonical, scores) if run is None else guarded_set(run, len(scores))


DISTRIBUTIONS: dict[str, Any] = {"CanonicalTopK": canonical, "GuardedTopK": set_with_guard}
