"""The least epsilon that any mechanism needs for the true top k, or for a recall.

How many sets are each right some T persons away from one and the same data set, the hub (Theorem 166).

A k-set of positions is a path: its l-th member stands behind j_l outsiders, j_1 <= .. <= j_k. Give the l-th member the
l-th largest score and the j-th outsider the j-th largest of the rest. If x_[l] - x_[k+j] <= T wherever member l stands
behind outsider j, all these relabellings of the counts x are within T persons of one hub, so

    N(T) = #{0 <= j_1 <= .. <= j_k,  j_l <= J_l(T)},   J_l(T) = #{j : x_[k+j] >= x_[l] - T}.

What no mechanism can do: a bound on the epsilon of every private top-k (Theorem 128, 166).

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
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Values
from shortlist.errors import bad_value
from shortlist.exact.search import bisect, within_ratio
from shortlist.exact.subsets import ULPS, log_choose

Counts: TypeAlias = NDArray[np.uint64]

NEAREST = 2000
"""So many ranks up to k are looked at, and beyond it as many as `WORK` admits: fewer only lower N."""
WORK = 20_000_000
"""Members times outsiders, hence the time for one T: some hundredths of a second."""
DISTANCES = 32
"""So many T are tried between the gap and the widest distance; then finer ones around the best."""
FINER = 6
TARGETS = (0.01, 0.7)
"""ln(1/success) for which the best T is sought."""
RESCALED = 24
"""After so many sums what is summed is divided by its largest: it grows by less than 1e11 in each."""


def hubs(x: Indices, k: int) -> tuple[Floats, Floats]:
    """(ln N(T), T) for some T, the counts x sorted downwards; ln N rounded down, T rounded up.

    If a tie crosses rank k, members are the scores above the tie and outsiders those below it: the tied labels stay
    where they are, and right sets for different members differ.
    """
    kth = x[k - 1]
    above, beyond = (x[:k], x[k:]) if x[k] < kth else (x[x > kth], x[x < kth])
    above = above[-NEAREST:]
    if not (len(above) and len(beyond)):
        return np.empty(0), np.empty(0)
    beyond = beyond[: WORK // len(above)]
    members, outsiders = (part.astype(np.uint64) - beyond[-1].astype(np.uint64) for part in (above, beyond))
    paths: dict[int, float] = {}  # on a coarse grid, and around each of the best of it on a finer one

    def look(distance: int) -> None:
        reach = _reach(members, outsiders, distance)
        first = int(np.argmax(reach > 0))
        least = int((members[first:] - outsiders[reach[first:] - 1]).max())  # the least T that reaches as far
        if least not in paths:
            paths[least] = log_paths(reach[first:])

    gap, widest = int(members[-1] - outsiders[0]), int(members[0] - outsiders[-1])
    for distance in _between(gap, widest, DISTANCES):
        look(distance)
    for target in TARGETS * 2:
        grid = sorted(paths)
        at = max(range(len(grid)), key=lambda place: (paths[grid[place]] - target) / grid[place])
        for distance in _between(grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)], FINER):
            look(distance)
    distances = sorted(paths)
    steps = np.array([math.nextafter(float(one), math.inf) if one > 2**53 else float(one) for one in distances])
    return np.array([paths[one] for one in distances]), steps


def _between(low: int, high: int, count: int) -> list[int]:
    """Whole numbers from low to high, all of them if they are few."""
    if high - low <= count:
        return list(range(low, high + 1))
    ratio = math.log(high / low) / (count - 1)
    return sorted({low, high, *(min(int(low * math.exp(ratio * step)), high) for step in range(count))})


def _reach(members: Counts, outsiders: Counts, distance: int) -> Indices:
    """J_l(T), the members downwards."""
    least = np.where(members > distance, members - np.uint64(distance), np.uint64(0))
    return len(outsiders) - np.searchsorted(outsiders[::-1], least, side="left")


def log_paths(reach: Indices) -> float:
    """ln #{0 <= j_1 <= .. <= j_k, j_l <= reach[l]}, `reach` nondecreasing; rounded down.

    Sums of positive floats: each is wrong by at most its number of terms in last places. What underflows is left out.
    """
    ways, log_scale, slack = np.ones(int(reach[0]) + 1), 0.0, 1e-15
    for step, (before, here) in enumerate(zip(reach[:-1].tolist(), reach[1:].tolist(), strict=True), 1):
        sums = np.cumsum(ways)
        ways = np.concatenate([sums, np.full(here - before, sums[-1])]) if here > before else sums
        slack += (here + 2) * 2.0**-52
        if step % RESCALED == 0:
            largest = float(ways[-1])
            ways /= largest
            log_scale += math.log(largest) * (1 - 1e-15)
    return log_scale + math.log(float(ways.sum())) * (1 - 1e-15) - slack - len(ways) * 2.0**-52


ENDS = 700
"""Windows may end at so many ranks on either side; of more, some 700 are tried. Fewer windows only lower the bound."""

RECALL_ENDS = 40
"""The same for the expected recall, where a window takes longer."""

SMALLEST = 1e-12
"""A bound below this epsilon is none."""


def least_failure(epsilon: Floats | float, log_sets: Floats, steps: Floats) -> Floats:
    """1 - f_r, the least chance to be wrong, for N = e^log_sets look-alikes and r = steps persons; rounded down.

    With n = ceil((ln N - ln(1 + e^eps)) / eps), at least 0: ``1 - e^{eps r} / N`` if n >= r, otherwise
    ``(1 - e^{eps n} / N) e^{-eps (r - n)}``.
    """
    rise = np.maximum(np.ceil((log_sets - np.logaddexp(0.0, epsilon)) / epsilon), 0.0)
    turn = np.minimum(rise, steps)
    wrong = -np.expm1(np.minimum(epsilon * turn - log_sets, 0.0))
    return np.maximum(wrong * np.exp(-epsilon * (steps - turn)) - 1e-12, 0.0)


def most_success(counts: Values, k: int, epsilons: Iterable[float]) -> list[float]:
    """The most that P[a true top k] can be for any mechanism with these epsilons on such counts; rounded up."""
    log_sets, steps = _look_alikes(np.sort(counts.astype(np.int64))[::-1], k)
    return [1.0 - float(least_failure(epsilon, log_sets, steps).max(initial=0.0)) for epsilon in epsilons]


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
        raise bad_value("$k must be at least 1 and less than the number of candidates")
    if not 0.0 < success < 1.0:
        raise ValueError("success must be between 0 and 1, for example 0.99")
    log_sets, steps = _look_alikes(x.astype(np.int64), k)
    return _least_possible(lambda e: float(least_failure(e, log_sets, steps).max()) <= 1.0 - success, 1e-9)


def _least_possible(possible: Callable[[float], bool], precision: float) -> float:
    """An epsilon up to which it is not possible, of a condition that holds from some epsilon on; 0 below SMALLEST."""
    low, high = SMALLEST, 2.0 * SMALLEST
    if possible(low):
        return 0.0
    while not possible(high):
        low, high = high, 16.0 * high
    return bisect(possible, low, high, within_ratio(precision))[0]


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
    return _least_possible(lambda epsilon: windows.wrong(epsilon) <= k * (1.0 - recall), 1e-4)


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
