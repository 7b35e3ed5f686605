"""What no mechanism can do: a bound on the epsilon of every private top-k (Theorem 128, 166).

Take integer counts, one person adding at most 1 to each. Choose a window of ranks around k, or pairs of ranks, and
lower its scores to its lowest: then N sets look alike, and the right one has a chance of at most 1/N. The true counts
are r persons away, and every person multiplies the chance of the right set by at most e^epsilon and the chance of a
wrong one by at least e^-epsilon. So a mechanism that is right with probability 1 - b on every relabelling has

    b >= 1 - f_r,   f_0 = 1/N,   f_{t+1} = min(e^eps f_t, 1 - e^-eps (1 - f_t)).

`shortlist.exact.hubs` has more sets N for the same r: all that can be made right from one hub by r persons. The largest
of all these bounds is taken. It speaks of pure epsilon-DP, add-remove neighbours and counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shortlist._arrays import Floats, Indices, Values
from shortlist.exact.binomials import ULPS, log_choose
from shortlist.exact.crossing import narrowed, within_ratio
from shortlist.exact.hubs import hubs

ENDS = 700
"""Windows may end at so many ranks on either side; of more, some 700 are tried. Fewer windows only lower the bound."""

RECALL_ENDS = 40
"""The same for the expected recall, where a window takes longer."""

SMALLEST = 1e-12
"""A bound below this epsilon is none."""

PRECISION = 1e-9


def least_failure(epsilon: Floats | float, log_sets: Floats, steps: Floats) -> Floats:
    """1 - f_r, the least chance to be wrong, for N = e^log_sets look-alikes and r = steps persons; rounded down.

    With n = ceil((ln N - ln(1 + e^eps)) / eps), at least 0: ``1 - e^{eps r} / N`` if n >= r, otherwise
    ``(1 - e^{eps n} / N) e^{-eps (r - n)}``.
    """
    rise = np.maximum(np.ceil((log_sets - np.logaddexp(0.0, epsilon)) / epsilon), 0.0)
    turn = np.minimum(rise, steps)
    wrong = -np.expm1(np.minimum(epsilon * turn - log_sets, 0.0))
    result: Floats = np.maximum(wrong * np.exp(-epsilon * (steps - turn)) - 1e-12, 0.0)
    return result


def most_success(counts: Values, k: int, epsilon: float) -> float:
    """The most that P[a true top k] can be for any epsilon-DP mechanism on such counts; rounded up."""
    log_sets, steps = _look_alikes(np.sort(counts.astype(np.int64))[::-1], k)
    return 1.0 - float(least_failure(epsilon, log_sets, steps).max(initial=0.0))


def least_epsilon(counts: Values, k: int, success: float) -> float:
    """An epsilon up to which no epsilon-DP mechanism returns a true top k with that probability; rounded down.

    Parameters
    ----------
    counts
        Whole numbers of which adding or removing one person moves each by at most 1.
    k
        How many of them, fewer than there are.
    success
        P[the set returned is right], ties counting as equal, on these counts under every labelling.

    Examples
    --------
    >>> round(least_epsilon(np.array([30, 20, 10]), 1, 0.99), 3)  # ln(1 / (2 x 0.01)) / 10
    0.391
    """
    x = np.sort(np.asarray(counts))[::-1]
    if x.dtype.kind not in "iu":
        raise ValueError("counts must be whole numbers: the bound moves them by one person at a time")
    if not 1 <= k < len(x):
        raise ValueError("k must be at least 1 and less than the number of candidates")
    if not 0.0 < success < 1.0:
        raise ValueError("success must be between 0 and 1, for example 0.99")
    log_sets, steps = _look_alikes(x.astype(np.int64), k)

    def possible(epsilon: float) -> bool:
        return float(least_failure(epsilon, log_sets, steps).max()) <= 1.0 - success

    low, high = SMALLEST, 2.0 * SMALLEST
    if possible(low):
        return 0.0
    while not possible(high):
        low, high = high, 16.0 * high
    return narrowed(possible, low, high, within_ratio(PRECISION))[0]


def most_recall(counts: Values, k: int, epsilon: float) -> float:
    """The most that the expected recall of an epsilon-DP mechanism can be on such counts (Proposition 168); rounded up.

    For a window of ranks k - a + 1 .. k + c that is lowered to its last, at least as many of the k are expected to be
    wrong as the sum of 1 - f_r over w = 1, 2, .. with f_0 = P[fewer than w of a random part of the window are wrong]. 1
    if a tie crosses rank k.
    """
    return 1.0 - RecallWindows.of(counts, k).wrong(epsilon) / k


def least_epsilon_for_recall(counts: Values, k: int, recall: float) -> float:
    """An epsilon up to which no epsilon-DP mechanism has that expected recall; rounded down by a part in 10,000.

    Counts and k as for `least_epsilon`. 0 if a tie crosses rank k, where nothing is proved.
    """
    windows = RecallWindows.of(counts, k)

    def possible(epsilon: float) -> bool:
        return windows.wrong(epsilon) <= k * (1.0 - recall)

    low, high = SMALLEST, 2.0 * SMALLEST
    if possible(low):
        return 0.0
    while not possible(high):
        low, high = high, 16.0 * high
    return narrowed(possible, low, high, within_ratio(1e-4))[0]


@dataclass(frozen=True, slots=True)
class RecallWindows:
    """What does not depend on epsilon: for each window, -ln P[fewer than w wrong], w = 1, 2, .., and its persons."""

    log_sets: Floats
    steps: Floats
    starts: Indices
    """Where each window begins."""

    @classmethod
    def of(cls, counts: Values, k: int) -> RecallWindows:
        """All windows, thinned out; none if a tie crosses rank k."""
        x = np.sort(counts.astype(np.int64))[::-1]
        logs, steps, sizes = [np.zeros(0)], [np.zeros(0)], [np.zeros(0, np.int64)]
        below = _ends(len(x) - k, RECALL_ENDS)
        for a in _ends(k, RECALL_ENDS).tolist() if x[k - 1] > x[k] else ():
            logs.append(_log_sets_by_wrong(a, below))
            sizes.append(np.minimum(a, below))
            steps.append(np.repeat(_apart(x[k - a], x[k + below - 1]), sizes[-1]))
        size = np.concatenate(sizes)
        return cls(np.concatenate(logs), np.concatenate(steps), np.cumsum(size) - size)

    def wrong(self, epsilon: float) -> float:
        """At least so many of the k are expected to be wrong."""
        if not len(self.starts):
            return 0.0
        return float(np.add.reduceat(least_failure(epsilon, self.log_sets, self.steps), self.starts).max())


def _log_sets_by_wrong(a: int, ends: Indices) -> Floats:
    """-ln P[fewer than w of a random a of a + c are wrong], w = 1, 2, .., min(a, c), for each c; rounded down.

    In logarithms throughout: a chance below the least float would pass for none, and its bound for certain.
    """
    most, c = np.minimum(a, ends)[:, None], ends[:, None]
    v, sets = np.arange(most.max()), log_choose(np.full(c.shape, a), c)
    fewer = np.logaddexp.accumulate(log_choose(v, a - v) + log_choose(v, np.maximum(c - v, 0)) - sets, axis=1)
    return np.maximum(-fewer - ULPS * (8.0 + most) * (2.0 + 2.0 * sets), 0.0)[v < most]


def _look_alikes(x: Indices, k: int) -> tuple[Floats, Floats]:
    """(ln N, r) of the windows, the pairs and the hubs."""
    plain, wide = _windows(x, k), hubs(x, k)
    return np.append(plain[0], wide[0]), np.append(plain[1], wide[1])


def _windows(x: Indices, k: int) -> tuple[Floats, Floats]:
    """(ln N, r) of all windows of ranks k - a + 1 .. k + c, and of the pairs (k - n + i, k + i), i = 1..n."""
    a, c = (one.ravel() for one in np.meshgrid(_ends(k), _ends(len(x) - k), indexing="ij"))
    kth = x[k - 1]
    inside, outside = int(np.count_nonzero(x[:k] == kth)), int(np.count_nonzero(x[k:] == kth))
    tied_in, tied_out = np.minimum(inside, a), np.minimum(outside, c)
    right = np.where(tied_out > 0, log_choose(tied_in, tied_out), 0.0)
    sets = log_choose(a, c)
    steps: Floats = _apart(x[k - a], x[k + c - 1])
    windows = (sets - right - ULPS * (4.0 + 2.0 * sets), steps)
    if outside:
        return windows
    n = np.arange(1, min(k, len(x) - k, 4 * ENDS) + 1)
    pairs = np.array([float(_apart(x[k - m : k], x[k : k + m]).max()) for m in n])
    return np.append(windows[0], n * math.log(2.0) * (1.0 - 1e-15)), np.append(windows[1], pairs)


def _apart(high: Indices | np.int64, low: Indices) -> Floats:
    """high - low in floats, rounded up: exact below 2^53, and differences may leave 64 bits."""
    apart = high.astype(np.float64) - low.astype(np.float64)
    return np.where(np.abs(apart) < 2.0**52, (high - low).astype(np.float64), apart * (1.0 + 2.0**-50))


def _ends(most: int, ends: int = ENDS) -> Indices:
    """1 to `most`, thinned out beyond some."""
    if most <= ends:
        return np.arange(1, most + 1)
    return np.unique(
        np.concatenate([np.arange(1, ends // 2), np.geomspace(ends // 2, most, ends // 2).astype(np.int64)])
    )
