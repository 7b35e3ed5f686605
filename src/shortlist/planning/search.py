"""The least epsilon that is enough, in few evaluations, since each one is an exact law."""

from __future__ import annotations

import math
from collections.abc import Callable

from shortlist.privacy.crossing import crossing

LEAST, MOST = -100.0, 27.0
"""Epsilons are sought between e^-100 and e^27."""

STEEPEST = 700.0


def least_epsilon_reaching(
    quality: Callable[[float], float], target: float, *, start: float = 1.0, width: float = 1e-4
) -> float:
    """The least epsilon at which an increasing chance or share reaches `target`, from above; infinite if none does.

    Rounded up by less than the relative `width`. The search runs over ln epsilon and the log odds, in which the
    qualities of all mechanisms are nearly straight lines.

    Examples
    --------
    >>> round(least_epsilon_reaching(lambda e: e / (1 + e), 0.9), 3)  # the odds are e
    9.0
    """
    goal = _log_odds(target)

    def lack(log_epsilon: float) -> float:
        return goal - _log_odds(quality(math.exp(log_epsilon)))

    here = math.log(start)
    point, step = (here, lack(here)), 0.7
    down = point[1] <= 0
    while LEAST < here < MOST:
        here += -step if down else step
        beyond = (here, lack(here))
        if (beyond[1] <= 0) != down:
            low, high = (beyond, point) if down else (point, beyond)
            return math.exp(crossing(lack, low, high, width)[1])
        point, step = beyond, min(1.6 * step, 4.0)
    return 0.0 if down else math.inf


def _log_odds(chance: float) -> float:
    if chance <= 0.0:
        return -STEEPEST
    return STEEPEST if chance >= 1.0 else max(-STEEPEST, math.log(chance) - math.log1p(-chance))
