"""The least epsilon that is enough, in few evaluations, since each one is an exact law."""

from __future__ import annotations

import math
from collections.abc import Callable

from shortlist.exact.crossing import crossing
from shortlist.exact.effort import rough

LEAST, MOST = -100.0, 27.0
"""Epsilons are sought between e^-100 and e^27."""

STEEPEST = 700.0

SMOOTH = 6
"""So many tries follow the curve through the nearest three; what is not smooth is then sought between two points."""


def least_epsilon_reaching(
    quality: Callable[[float], float], target: float, *, start: float = 1.0, width: float = 1e-4, step: float = 0.7
) -> float:
    """The least epsilon at which an increasing chance or share reaches `target`, from above; infinite if none does.

    Rounded up by less than the relative `width`. The first try is `start`, the next `step` from it in ln epsilon, and
    so on by longer steps until the target lies between; then by the curve through the nearest three. It runs over ln
    epsilon and the log odds, in which the qualities of all mechanisms are nearly straight lines.

    Rough laws say where to look, and an exact one whether that is enough: what is returned was tried exactly. If the
    two differ by a fifth of what is lacking a width below, or more, the search runs once more by exact laws alone.

    Examples
    --------
    >>> round(least_epsilon_reaching(lambda e: e / (1 + e), 0.9), 3)  # the odds are e
    9.0
    """
    goal = _log_odds(target)

    def lack(log_epsilon: float) -> float:
        return goal - _log_odds(quality(math.exp(log_epsilon)))

    near = _roughly(lack, math.log(start), width, step)
    if near is None:
        return _searched(lack, math.log(start), width, step)
    rough_at_end, rough_below, end = near
    exact = lack(end)
    if exact <= 0 and abs(exact - rough_at_end) < 0.2 * rough_below:  # then a width below it is not enough either
        return math.exp(end)
    return _searched(lack, end, width, 0.5 * width)


def _roughly(
    lack: Callable[[float], float], here: float, width: float, step: float
) -> tuple[float, float, float] | None:
    """(what is lacking at the end, what is lacking a width below it, the end) by rough laws: enough and not enough.

    None where they do not say.
    """
    with rough():
        place = math.log(_searched(lack, here, 0.5 * width, step) or math.inf)
        if not LEAST < place < MOST:
            return None
        end = place + 0.1 * width
        at_end, below = lack(end), lack(end - 0.95 * width)
    return (at_end, below, end) if at_end <= 0 < below else None


def _searched(law: Callable[[float], float], here: float, width: float, step: float) -> float:
    """The least epsilon at which nothing is lacking, rounded up by less than the relative width."""
    tried = dict[float, float]()

    def lack(log_epsilon: float) -> float:
        if log_epsilon not in tried:
            tried[log_epsilon] = law(log_epsilon)
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
    return crossing(lack, (low, tried[low]), (high, tried[high]), width)[1]


def _on_the_curve(tried: dict[float, float], width: float) -> float:
    """Where the curve through the three nearest tries crosses, or no number; if the nearest is that near, beyond it."""
    near = sorted(tried, key=lambda x: abs(tried[x]))[:3]
    if len({tried[x] for x in near}) < len(near):
        return math.nan
    here = sum(x * math.prod(tried[y] / (tried[y] - tried[x]) for y in near if y != x) for x in near)
    beyond = 0.9 * width if tried[near[0]] > 0 else -0.9 * width
    return here if abs(here - near[0]) > 0.8 * width else near[0] + beyond


def _log_odds(chance: float) -> float:
    if chance <= 0.0:
        return -STEEPEST
    return STEEPEST if chance >= 1.0 else max(-STEEPEST, math.log(chance) - math.log1p(-chance))
