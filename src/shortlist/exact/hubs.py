"""How many sets are each right some T persons away from one and the same data set, the hub (Theorem 166).

A k-set of positions is a path: its l-th member stands behind j_l outsiders, j_1 <= .. <= j_k. Give the l-th member the
l-th largest score and the j-th outsider the j-th largest of the rest. If x_[l] - x_[k+j] <= T wherever member l stands
behind outsider j, all these relabellings of the counts x are within T persons of one hub, so

    N(T) = #{0 <= j_1 <= .. <= j_k,  j_l <= J_l(T)},   J_l(T) = #{j : x_[k+j] >= x_[l] - T}.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices

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
    least = int(beyond[-1])
    return _tried(*((part.astype(np.uint64) - np.array(least).astype(np.uint64)).tobytes() for part in (above, beyond)))


@lru_cache(maxsize=8)
def _tried(above: bytes, beyond: bytes) -> tuple[Floats, Floats]:
    """Around each of the best of a coarse grid, a finer one."""
    members, outsiders = (np.frombuffer(part, np.uint64) for part in (above, beyond))
    paths: dict[int, float] = {}

    def look(distance: int) -> None:
        reached = _reached(members, outsiders, distance)
        first = int(np.argmax(reached > 0))
        least = int((members[first:] - outsiders[reached[first:] - 1]).max())  # the least T that reaches as far
        if least not in paths:
            paths[least] = log_paths(reached[first:])

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


def _reached(members: Counts, outsiders: Counts, distance: int) -> Indices:
    """J_l(T), the members downwards."""
    least = np.where(members > distance, members - np.uint64(distance), np.uint64(0))
    reached: Indices = len(outsiders) - np.searchsorted(outsiders[::-1], least, side="left")
    return reached


def log_paths(reached: Indices) -> float:
    """ln #{0 <= j_1 <= .. <= j_k, j_l <= reached[l]}, `reached` nondecreasing; rounded down.

    Sums of positive floats: each is wrong by at most its number of terms in last places. What underflows is left out.
    """
    ways, log_scale, slack = np.ones(int(reached[0]) + 1), 0.0, 1e-15
    for step, (before, here) in enumerate(zip(reached[:-1].tolist(), reached[1:].tolist(), strict=True), 1):
        sums = np.cumsum(ways)
        ways = np.concatenate([sums, np.full(here - before, sums[-1])]) if here > before else sums
        slack += (here + 2) * 2.0**-52
        if step % RESCALED == 0:
            largest = float(ways[-1])
            ways /= largest
            log_scale += math.log(largest) * (1 - 1e-15)
    return log_scale + math.log(float(ways.sum())) * (1 - 1e-15) - slack - len(ways) * 2.0**-52
