"""Exact utility of canonical sets where the candidates come from the data (Proposition 127)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from shortlist._arrays import Floats, Values
from shortlist._imports import IMPORTS
from shortlist.exact.quality import ranks_within
from shortlist.exact.set_chances import MOST_SETS
from shortlist.exact.unknown_domain_thresholds import canonical_offset
from shortlist.mechanisms.limited_domain.law import correct_labels, right_sets, working_list


@dataclass(frozen=True, slots=True)
class Reached:
    """P[exactly the true top k is released], the expected share of it that is, P[great] and P[good]."""

    top: float
    recall: float
    great: float
    good: float


def canonical_limited_domain(counts: Values, k: int, epsilon: float, delta: float, limit: int, gamma: float) -> Reached:
    """Sets of at most k listed labels, with weights e^{eps (g m(y) - (1 - g) M(y))}, summed class by class.

    A class is (h, t): ranks 1..h are in, rank h + 1 is not, and rank t is the last one in; of the ranks between them
    any number up to the size allowed. B = c + 1 + ln(N (1 - delta) / delta) / (g eps), N = sum_{j<=k} C(L, j), rounded
    up as the mechanism does it.
    """
    listed, c = working_list(counts, limit)
    n = len(listed)
    bar = c + 1 + float(canonical_offset(k, limit, Fraction(gamma) * Fraction(epsilon), Fraction(delta)))
    binomials, sums = _tables(max(n, 1), k)
    above = np.append(np.maximum(listed, bar), bar)  # the largest count left out is that of rank h + 1, or the bar
    logs, shares, top = [-epsilon * (1 - gamma) * float(above[0]) + epsilon * gamma * bar], [0.0], -math.inf
    classes: list[tuple[int, int]] = [(0, 0)]
    correct = correct_labels(listed, k)
    for h in range(min(k, n) + 1):
        outside = (1 - gamma) * float(above[h])
        if h:  # ranks 1..h alone
            inside = gamma * (listed[h - 1] if h == k else min(listed[h - 1], bar))
            logs.append(epsilon * (inside - outside))
            shares.append(float(h))
            classes.append((h, h))
            top = logs[-1] if h == k else top
        if h >= k or h + 2 > n:
            continue
        t = np.arange(h + 2, n + 1)
        between = t - h - 2
        right_between = np.clip(np.minimum(correct, t - 1) - (h + 1), 0, None) / np.maximum(between, 1)
        certain = h + (t <= correct)
        for size, full in ((k - 1 - h, True), (k - 2 - h, False)):
            if size < 0:
                continue
            here = listed[t - 1] if full else np.minimum(listed[t - 1], bar)
            number = binomials[between, size] if full else sums[between, size]
            logs.extend((epsilon * (gamma * here - outside) + number).tolist())
            shares.extend((certain + right_between * _mean_between(between, size, full, sums)).tolist())
            classes.extend((h, last) for last in t.tolist())
    weights = np.array(logs)
    total = float(np.logaddexp.reduce(weights))
    chance = math.exp(min(top + right_sets(listed, k) - total, 0.0)) if n >= k else 0.0
    chances, ends = np.exp(weights - total), np.array(classes)
    great, good = (
        min(1.0, float(chances[(ends[:, 0] >= head) & (ends[:, 1] <= reach)].sum()))
        for head, reach in ranks_within(np.sort(counts)[::-1], k)
    )
    return Reached(min(1.0, chance), min(1.0, float(chances @ np.array(shares)) / k), great, good)


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
    with IMPORTS:
        from scipy.special import gammaln

    m, r = np.arange(n + 1)[:, None], np.arange(k + 1)[None, :]
    with np.errstate(invalid="ignore"):
        logs = np.where(r <= m, gammaln(m + 1.0) - gammaln(r + 1.0) - gammaln(np.maximum(m - r, 0) + 1.0), -np.inf)
    return logs, np.logaddexp.accumulate(logs, axis=1)


def _mean_between(between: Values, size: int, full: bool, sums: Floats) -> Floats:
    """How many of the ranks between are in, on average over the class: exactly `size`, or any number up to it."""
    if full:
        return np.full(len(between), float(size))
    if size == 0:
        return np.zeros(len(between))
    with np.errstate(divide="ignore"):  # sum_i i C(N, i) = N sum_i C(N - 1, i - 1)
        logs = np.log(between.astype(float)) + sums[np.maximum(between - 1, 0), size - 1] - sums[between, size]
    result: Floats = np.exp(logs)
    return result
