"""Exact utility of canonical sets where the candidates come from the data (Proposition 127)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np

from shortlist._arrays import Floats, Indices, Mask, Values
from shortlist.exact.effort import is_wanted
from shortlist.exact.quality import ranks_within
from shortlist.exact.set_chances import MOST_SETS
from shortlist.exact.subset_classes import log_choose
from shortlist.exact.unknown_domain_thresholds import canonical_offset
from shortlist.mechanisms.limited_domain.law import correct_labels, right_sets, working_list

NONE = 60.0
"""A class whose chance is below e^-60 of another's has none."""

KEPT = 1 << 17
"""Classes of so many pairs of ranks are kept for the next question: a search asks often, for a noisy choice of five."""


@dataclass(frozen=True, slots=True)
class Reached:
    """P[exactly the true top k is released], the expected share of it that is, P[great] and P[good]."""

    top: float
    recall: float
    great: float
    good: float


@dataclass(frozen=True, slots=True)
class Classes:
    """Sets of at most k of n listed labels by (h, t): ranks 1..h are in, rank h + 1 is not, and t is the last one in.

    What does not depend on the counts, nor on the bar: the empty set first, then ranks 1..h alone, h = 1, 2, ..
    """

    h: Indices
    t: Indices
    full: Mask
    """Whether all k are there."""
    number: Floats
    """ln of how many sets there are."""
    right: Floats
    """How many of the first `correct` ranks are in, on average."""


@lru_cache(maxsize=5)
def classes_of(n: int, k: int, correct: int) -> Classes:
    """All classes; of the ranks between h + 1 and t any number up to the size allowed may be in."""
    size = min(k, n)
    alone = np.arange(size + 1)
    h, t = np.meshgrid(np.arange(min(k, max(n - 1, 0))), np.arange(2, n + 1), indexing="ij")
    h, t = h[t >= h + 2], t[t >= h + 2]
    binomials, sums = _tables(max(n, 1), k)
    parts = [(alone, alone, alone == k, np.zeros(size + 1), alone.astype(float))]
    for room, full in ((k - 1 - h, True), (k - 2 - h, False)):  # how many may be between, or must
        first, last, many = h[room >= 0], t[room >= 0], room[room >= 0]
        between = last - first - 2
        number = binomials[between, many] if full else sums[between, many]
        share = np.clip(np.minimum(correct, last - 1) - (first + 1), 0, None) / np.maximum(between, 1)
        right = first + (last <= correct) + share * _mean_between(between, many, full, sums)
        parts.append((first, last, np.full(len(first), full), number, right))
    return Classes(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def canonical_limited_domain(counts: Values, k: int, epsilon: float, delta: float, limit: int, gamma: float) -> Reached:
    """Sets of at most k listed labels, with weights e^{eps (g m(y) - (1 - g) M(y))}, summed class by class.

    B = c + 1 + ln(N (1 - delta) / delta) / (g eps), N = sum_{j<=k} C(L, j), rounded up as the mechanism does it.
    """
    listed, c = working_list(counts, limit)
    n = len(listed)
    bar = c + 1 + float(canonical_offset(k, limit, Fraction(gamma) * Fraction(epsilon), Fraction(delta)))
    sets = (classes_of if n * k <= KEPT else classes_of.__wrapped__)(n, k, correct_labels(listed, k))
    above = np.append(np.maximum(listed, bar), bar)  # the largest count left out is that of rank h + 1, or the bar
    last = np.append(bar, listed)[sets.t]
    inside = np.where(sets.full, last, np.minimum(last, bar))
    places = gamma * inside - (1 - gamma) * above[sets.h]
    with np.errstate(over="ignore"):  # far below is below
        logs = epsilon * (places - places.max()) + sets.number
    some = np.flatnonzero(logs > logs.max() - NONE)
    chances = np.exp(logs[some] - logs.max())
    log_total = float(logs.max()) + math.log(float(chances.sum()))
    chances /= chances.sum()
    top = math.exp(min(float(logs[k]) - log_total + right_sets(listed, k), 0.0)) if n >= k else 0.0
    great, good = (
        (
            min(1.0, float(chances[(sets.h[some] >= head) & (sets.t[some] <= reach)].sum()))
            for head, reach in ranks_within(np.sort(counts)[::-1], k)
        )
        if is_wanted("great") or is_wanted("good")
        else (math.nan, math.nan)
    )
    recall = min(1.0, float((chances * sets.right[some]).sum()) / k)  # not @, which starts threads that wait busily
    return Reached(top, recall, great, good)


def set_chances(listed: Floats, bar: float, k: int, epsilon: float, gamma: float) -> dict[tuple[int, ...], float]:
    """P[each set of at most k listed labels], by their ranks from 0: weights e^{eps (g m(y) - (1 - g) M(y))}.

    M is the largest count left out, the bar at least; m the smallest in the set, and the bar at most if it has room.
    """
    n = len(listed)
    if sum(math.comb(n, size) for size in range(min(k, n) + 1)) > MOST_SETS:
        raise ValueError(f"there are more than {MOST_SETS:,} sets; ask for quality instead")
    sets = [ranks for size in range(min(k, n) + 1) for ranks in combinations(range(n), size)]
    logs = []
    for ranks in sets:
        first_out = next((i for i in range(n) if i >= len(ranks) or ranks[i] != i), n)
        smallest = float(listed[ranks[-1]]) if ranks else bar
        inside = smallest if len(ranks) == k else min(smallest, bar)
        outside = max(float(listed[first_out]), bar) if first_out < n else bar
        logs.append(epsilon * (gamma * inside - (1 - gamma) * outside))
    chances = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
    return dict(zip(sets, chances.tolist(), strict=True))


def _tables(n: int, k: int) -> tuple[Floats, Floats]:
    """(ln C(m, r), ln sum_{i<=r} C(m, i)) for m = 0..n, r = 0..k."""
    m, r = np.arange(n + 1)[:, None], np.arange(k + 1)[None, :]
    logs = np.where(r <= m, log_choose(np.minimum(r, m), np.maximum(m - r, 0)), -np.inf)
    return logs, np.logaddexp.accumulate(logs, axis=1)


def _mean_between(between: Indices, size: Indices, full: bool, sums: Floats) -> Floats:
    """How many of the ranks between are in, on average over the class: exactly `size`, or any number up to it."""
    if full:
        return size.astype(float)
    with np.errstate(divide="ignore"):  # sum_i i C(N, i) = N sum_i C(N - 1, i - 1)
        fewer = sums[np.maximum(between - 1, 0), np.maximum(size - 1, 0)]
        logs = np.log(between.astype(float)) + fewer - sums[between, size]
    return np.where(size > 0, np.exp(logs), 0.0)
