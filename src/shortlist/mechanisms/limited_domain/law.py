"""Exact utility where the candidates come from the data: what a bar costs (Proposition 127).

The law is a function of the counts, the epsilon e of a round of bounded range, the public limit L and the bar's own
delta. T are the labels above c, the count at rank L + 1; an item is correct if it is one of the k largest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shortlist._arrays import Floats, Values

STEP = 0.25
"""Of the trapezoidal rule over ln t: its error for such integrands is below e^(-pi^2 / STEP), 1e-17."""

CERTAIN = 42.0
"""A chance of e^-42 is none."""


def working_list(counts: Values, limit: int) -> tuple[Floats, float]:
    """(the counts above c, largest first; c), c being the count at rank limit + 1, or 0."""
    x = np.sort(np.asarray(counts, np.float64))[::-1]
    bar = float(x[limit]) if len(x) > limit else 0.0
    return x[:limit][x[:limit] > bar], bar


@dataclass(frozen=True, slots=True)
class BarredRace:
    """LimitedDomainTopK with Gumbel noise: labels ring at rates e^{e h}, the bar at M e^{e (c + 1)}.

    M = ceil(L (1 - delta) / delta). A label is named if it rings before the bar and among the first k.
    """

    log_rate: Floats
    """ln of the listed labels' rates relative to the k-th, largest first."""
    log_bar: float
    k: int

    @classmethod
    def of(cls, counts: Values, k: int, e: float, delta: float, limit: int) -> BarredRace:
        listed, c = working_list(counts, limit)
        kth = float(listed[min(k, len(listed)) - 1]) if len(listed) else c
        log_bar = e * (c + 1 - kth) + math.log(math.ceil(limit * (1 - delta) / delta))
        # whoever is so far above the k-th and the bar rings before them, whatever its rate
        return cls(np.minimum(e * (listed - kth), max(log_bar, 0.0) + CERTAIN), log_bar, k)

    def top(self) -> float:
        """P[all of a true top k ring first] = n0 Int W e^{-W t} prod_{i<=k} (1 - e^{-w_i t}) dt, W the others' rate."""
        if len(self.log_rate) < self.k:
            return 0.0
        first = _all_first(self.log_rate[: self.k], np.append(self.log_rate[self.k :], self.log_bar))
        return min(1.0, first * math.exp(right_sets(self.log_rate, self.k)))

    def recall(self) -> float:
        """E[correct labels named] / k."""
        if not len(self.log_rate):
            return 0.0
        return min(1.0, _expected(self.log_rate, correct_labels(self.log_rate, self.k), self.k, self.log_bar) / self.k)


def _all_first(log_winners: Floats, log_others: Floats) -> float:
    """P[every winner rings before any other]: the others ring at an exponential time of their total rate."""
    v = np.arange(-CERTAIN, 4.5, STEP)
    ring = _log_rung(log_winners[:, None] + (v - float(np.logaddexp.reduce(log_others)))).sum(axis=0)
    return min(1.0, float(np.exp(ring + v - np.exp(v)).sum()) * STEP)


def _log_rung(log_time: Floats) -> Floats:
    """ln(1 - e^{-e^x})"""
    x = np.minimum(log_time, 40.0)
    result: Floats = np.where(x < -30.0, x, np.log(-np.expm1(-np.exp(np.maximum(x, -30.0)))))
    return result


def _expected(log_rate: Floats, correct: int, k: int, log_bar: float) -> float:
    """Int e^{-w_bar t} sum_{i correct} w_i e^{-w_i t} P[fewer than k others have rung] dt, over v = ln t.

    Two polynomials in the number that have rung, item by item: all of them, and all but one correct one, weighted by
    the density that it rings now.
    """
    v = _times(log_rate, correct, k, log_bar)
    everyone, without_one = np.zeros((2, k, len(v)))
    everyone[0] = 1.0
    for i, log_one in enumerate(log_rate.tolist()):
        later = slice(int(np.searchsorted(v, -CERTAIN - log_one)), None)  # before, it has surely not rung
        x = np.exp(np.minimum(log_one + v[later], 40.0))
        still, rung = np.exp(-x), -np.expm1(-x)
        if i >= correct and (not len(x) or rung[-1] < 1e-15):
            break  # this one and all after it ring too late to matter
        most = min(i + 1, k)
        _count_one_more(without_one[:most, later], still, rung)
        if i < correct:
            without_one[:most, later] += (x * still) * everyone[:most, later]
            _count_one_more(everyone[: most + 1, later], still, rung)
    weight = np.exp(-np.exp(np.minimum(log_bar + v, 40.0)))
    return float((without_one.sum(axis=0) * weight).sum()) * STEP


def _count_one_more(rung_so_far: Floats, still: Floats, rung: Floats) -> None:
    """From the chances of 0, 1, .. having rung to those with one more item, in place."""
    gain = rung_so_far[:-1] * rung
    rung_so_far *= still
    rung_so_far[1:] += gain


def _times(log_rate: Floats, correct: int, k: int, log_bar: float) -> Floats:
    """The v = ln t that matter: somebody correct may ring, the bar has not, and not many more than k items have.

    The number that have rung is a sum of independent chances with mean m: it is below k with a chance of at most
    e^{-(m - k)^2 / 2 m}, which is less than e^-CERTAIN where m exceeds k + sqrt(2 CERTAIN k) + 2 CERTAIN.
    """
    first = -float(np.logaddexp.reduce(log_rate[:correct])) - CERTAIN
    v = np.arange(first, 4.5 - min(max(log_bar, 0.0), float(log_rate[0]) + CERTAIN), STEP)
    with np.errstate(over="ignore"):
        mean = -np.expm1(-np.exp(np.add.outer(v, log_rate))).sum(axis=1)
    result: Floats = v[mean <= k + math.sqrt(2 * CERTAIN * k) + 2 * CERTAIN]
    return result


def correct_labels(listed: Floats, k: int) -> int:
    """How many are at least as large as the k-th, or all if there are fewer."""
    return int(np.count_nonzero(listed >= listed[k - 1])) if len(listed) >= k else len(listed)


def right_sets(listed: Floats, k: int) -> float:
    """ln of how many sets of k have the k largest counts: more than one if a tie crosses rank k."""
    if len(listed) < k or (correct := correct_labels(listed, k)) == k:
        return 0.0
    higher = int(np.count_nonzero(listed > listed[k - 1]))
    return math.log(math.comb(correct - higher, k - higher))
