"""The least epsilon that is enough, in few evaluations, since each one is an exact law."""

from __future__ import annotations

import math
from collections.abc import Callable

from shortlist._imports import IMPORTS
from shortlist.exact.crossing import crossing

LEAST, MOST = -100.0, 27.0
"""Epsilons are sought between e^-100 and e^27."""

STEEPEST = 700.0


def least_epsilon_reaching(
    quality: Callable[[float], float], target: float, *, start: float = 1.0, width: float = 1e-4, step: float = 0.7
) -> float:
    """The least epsilon at which an increasing chance or share reaches `target`, from above; infinite if none does.

    Rounded up by less than the relative `width`. The first try is `start`, the next `step` from it in ln epsilon, and
    so on by longer steps until the target lies between; then the search is Brent's. It runs over ln epsilon and the
    log odds, in which the qualities of all mechanisms are nearly straight lines.

    Examples
    --------
    >>> round(least_epsilon_reaching(lambda e: e / (1 + e), 0.9), 3)  # the odds are e
    9.0
    """
    goal, tried = _log_odds(target), dict[float, float]()

    def lack(log_epsilon: float) -> float:
        if log_epsilon not in tried:
            tried[log_epsilon] = goal - _log_odds(quality(math.exp(log_epsilon)))
        return tried[log_epsilon]

    here = math.log(start)
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
    with IMPORTS:
        from scipy.optimize import brentq

    near = brentq(lack, low, high, xtol=width / 4)
    lack(near - 0.9 * width if lack(near) <= 0 else near + 0.9 * width)
    low, high = max(x for x in tried if tried[x] > 0), min(x for x in tried if tried[x] <= 0)
    return crossing(lack, (low, tried[low]), (high, tried[high]), width)[1]


def _log_odds(chance: float) -> float:
    if chance <= 0.0:
        return -STEEPEST
    return STEEPEST if chance >= 1.0 else max(-STEEPEST, math.log(chance) - math.log1p(-chance))
