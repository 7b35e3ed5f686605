"""Exact utility of the canonical mechanism: how good the set it returns is (Theorem 122).

Inside class (i, j) all subsets are alike: ranks 1 to k - i - 1 are in, rank k - i is out, rank k + 1 + j is in, and i
of the i + j ranks between are in, each with chance i / (i + j). Sums over a cell are closed forms again:

    C(i + j, i) i / (i + j) = C(i - 1 + j, i - 1),      C(i + j, i) i j / (i + j) = i C(i + j - 1, i).

The parameters are the same throughout: the ranked scores with their losses, and Gumbel or exponential noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np

from shortlist._arrays import Floats, Indices, Mask
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.quality import Quality, ranks_within
from shortlist.exact.ranked_subsets import Ranking
from shortlist.exact.subset_chances import CHUNK, Chances, chances, top_bounds
from shortlist.exact.subset_classes import log_choose, log_run

RARE_CELLS = 1e-15
"""Cells whose chances add up to less than this are not looked into."""


@dataclass(frozen=True, slots=True)
class SubsetLaw:
    """The law of the set as one value: what is asked of it are the functions below."""

    ranking: Ranking
    noise: Noise
    size: int
    """How many candidates there are, with those that are never chosen."""

    def success_bounds(self) -> tuple[float, float]:
        return success_bounds(self.ranking, self.noise)

    def success(self) -> float:
        return sum(self.success_bounds()) / 2

    def quality(self) -> Quality:
        return quality(self.ranking, self.noise)

    def number_correct(self) -> Floats:
        return number_correct(self.ranking, self.noise)

    def inclusion(self) -> Floats:
        return inclusion_probabilities(self.ranking, self.noise, self.size)


@dataclass(frozen=True, slots=True)
class EveryoneLaw:
    """The law where all that may be chosen are released: nothing is left to chance."""

    chosen: Mask

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


def quality(ranking: Ranking, noise: Noise) -> Quality:
    """P[top], P[great], P[good] and the expected recall."""
    return quality_of(ranking, chances(ranking.classes(), noise, cuts_of(ranking)))


def cuts_of(ranking: Ranking) -> tuple[int, ...]:
    """Where the law must be cut for `quality_of`: at the end of a tie, and at the ranks of great and good."""
    k = ranking.k
    great, good = ranks_within(ranking.scores, k)
    return tied_ranks(ranking)[1], great[1] - k, good[1] - k


def right_of(ranking: Ranking, law: Chances) -> float:
    """P[the set is a true top k]: all right sets have the loss of the top k, hence its chance."""
    return math.exp(min(log_right_sets(ranking) + law.top, 0.0))


def quality_of(ranking: Ranking, law: Chances) -> Quality:
    """The same for a given law of the class that wins, which may leave some chance to no class at all."""
    k, outside = ranking.k, tied_ranks(ranking)[1]
    great, good = ranks_within(ranking.scores, k)
    i, first, chance, top = law.i, law.cells.first, np.exp(law.cell), math.exp(law.top)

    def within(head: int, reach: int) -> float:
        return min(1.0, top + float(chance[(i <= k - 1 - head) & (first < reach - k)].sum()))

    some_wrong = k - 1 - i + (i + outside) * _share(law)
    correct = np.where(first < outside, k, some_wrong)
    recall = min(1.0, top + float(chance @ correct) / k)
    return Quality(right_of(ranking, law), within(*great), within(*good), recall)


def number_correct(ranking: Ranking, noise: Noise) -> Floats:
    """P[c of the items returned are correct], c = 0..k; an item is correct if it scores at least the k-th largest.

    Of class (i, j) with j below the number T of tied ranks beyond k, all are. Otherwise k - 1 - i + r are, in
    C(i + T, r) C(j - T, i - r) of its subsets; the sum of that over a cell is a hockey stick again.
    """
    return number_correct_of(ranking, chances(ranking.classes(), noise, cuts_of(ranking)))


def number_correct_of(ranking: Ranking, law: Chances) -> Floats:
    """The same for a given law of the class that wins, which may leave some chance to no class at all."""
    k, outside = ranking.k, tied_ranks(ranking)[1]
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


def inclusion_probabilities(ranking: Ranking, noise: Noise, d: int) -> Floats:
    """P[candidate is returned] for each of the d candidates in the caller's order; 0 for those not ranked.

    Tied candidates have the same. Of a run of equal scores the number returned is expected, and shared.
    """
    return inclusion_of(ranking, chances(ranking.classes(), noise), d)


def inclusion_of(ranking: Ranking, law: Chances, d: int) -> Floats:
    """The same for a given law of the class that wins, which may leave some chance to no class at all."""
    k, classes = ranking.k, law.classes
    chance, top = np.exp(law.cell), math.exp(law.top)
    by_row = np.bincount(law.cells.row, chance, minlength=k)
    between = np.bincount(law.cells.row, chance * _share(law), minlength=k)
    below, above = np.cumsum(by_row) - by_row, np.cumsum(between[::-1])[::-1] - between
    result = np.zeros(d)
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
    loss_free = law.cell[some] - _log_size(i, first, last) + _middle(cast(Floats, law.classes.fall), first, last)
    for part in _blocks(counts):
        cell = np.repeat(part, counts[part])
        at = _ramp(run[first[part]], counts[part])
        a, b, row = np.maximum(starts[at], first[cell]), np.minimum(starts[at] + lengths[at] - 1, last[cell]), i[cell]
        size = _log_size(row, a, b)
        chance = np.exp(loss_free[cell] - law.classes.fall[a] + size)
        share = _ratio(row - 1, a, b, size, row > 0)
        before = row * _ratio(row, np.maximum(a - 1, 0), np.maximum(b - 1, 0), size, b > 0) - starts[at] * share
        members += np.bincount(at, chance * (1.0 + np.where(lengths[at] == 1, 0.0, before)), minlength=len(starts))
        later += np.bincount(at, chance * share, minlength=len(starts))
    return members, later


def tied_ranks(ranking: Ranking) -> tuple[int, int]:
    """How many of the top k, and how many of the others, score as the k-th does."""
    kth = ranking.scores[ranking.k - 1]
    inside = int(np.count_nonzero(ranking.scores[: ranking.k] == kth))
    return inside, int(np.count_nonzero(ranking.scores[ranking.k :] == kth))


def log_right_sets(ranking: Ranking) -> float:
    """ln of how many sets are a true top k: ties count as equal."""
    inside, outside = tied_ranks(ranking)
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


def _middle(fall: Floats, first: Indices, last: Indices) -> Floats:
    return 0.5 * (fall[first] + fall[last])


def _blocks(counts: Indices) -> list[Indices]:
    """Positions in blocks whose counts add up to about CHUNK."""
    block = (np.cumsum(counts) - counts) // CHUNK
    return np.split(np.arange(len(counts)), np.flatnonzero(np.diff(block)) + 1)


def _ramp(starts: Indices, counts: Indices) -> Indices:
    """starts[0], starts[0] + 1, .. (counts[0] of them), starts[1], .."""
    offsets = np.cumsum(counts) - counts
    ramp: Indices = np.arange(int(counts.sum())) + np.repeat(starts - offsets, counts)
    return ramp
