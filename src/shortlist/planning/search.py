"""Search for the least epsilon that reaches a goal, in few evaluations: each one is an exact distribution."""

from __future__ import annotations

import math
from collections.abc import Callable

from shortlist.exact.search import find_crossing

LEAST, MOST = -100.0, 27.0
"""Epsilons are sought between e^-100 and e^27."""

STEEPEST = 700.0

SMOOTH = 6
"""So many tries follow the curve through the nearest three; what is not smooth is then sought between two points."""


def least_epsilon_reaching(
    quality: Callable[[float], float], target: float, *, start: float = 1.0, width: float = 1e-4, step: float = 0.7
) -> float:
    """The least epsilon at which an increasing chance or share reaches `target`, from above; infinite if none does.

    Rounded up by less than the relative `width`; what is returned was tried. The first try is `start`, the next `step`
    from it in ln epsilon, and so on by longer steps until the target lies between; then by the curve through the
    nearest three. It runs over ln epsilon and the log odds, in which the qualities of all mechanisms are nearly
    straight lines.

    Examples
    --------
    >>> round(least_epsilon_reaching(lambda e: e / (1 + e), 0.9), 3)  # the odds are e
    9.0
    """
    goal, tried, here = _log_odds(target), dict[float, float](), math.log(start)

    def lack(log_epsilon: float) -> float:
        if log_epsilon not in tried:
            tried[log_epsilon] = goal - _log_odds(quality(math.exp(log_epsilon)))
        return tried[log_epsilon]

    down = lack(here) <= 0
    while LEAST < here < MOST:
        before, here = here, here - step if down else here + step
        if (lack(here) <= 0) != down:
            return math.exp(_least_enough(lack, min(before, here), max(before, here), tried, width))
        step = min(1.6 * step, 4.0)
    return 0.0 if down else math.inf


def _least_enough(
    lack: Callable[[float], float], low: float, high: float, tried: dict[float, float], width: float
) -> float:
    """A point that was tried and is enough, less than `width` above one that is not; low is not, high is."""
    for _ in range(SMOOTH):
        here = _on_the_curve(tried, width)
        if high - low <= width or not low < here < high:
            break
        low, high = (here, high) if lack(here) > 0 else (low, here)
    return find_crossing(lack, (low, tried[low]), (high, tried[high]), width)[1]


def _on_the_curve(tried: dict[float, float], width: float) -> float:
    """Where the curve through the three nearest tries crosses, or no number; if the nearest is that near, beyond it."""
    near = sorted(tried, key=lambda x: abs(tried[x]))[:3]
    here = _zero(tried, near)
    beyond = 0.9 * width if tried[near[0]] > 0 else -0.9 * width
    return near[0] + beyond if abs(here - near[0]) <= 0.8 * width else here


def _zero(tried: dict[float, float], near: list[float]) -> float:
    """Where the polynomial in what is lacking, through these points, is at 0; no number where it is none."""
    if len({tried[x] for x in near}) < len(near):
        return math.nan
    return sum(x * math.prod(tried[y] / (tried[y] - tried[x]) for y in near if y != x) for x in near)


def _log_odds(chance: float) -> float:
    if chance <= 0.0:
        return -STEEPEST
    return STEEPEST if chance >= 1.0 else max(-STEEPEST, math.log(chance) - math.log1p(-chance))
