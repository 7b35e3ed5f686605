"""Search for the least epsilon that reaches a goal, in few evaluations: each one is an exact distribution.

LimitedDomainTopK divides delta between its threshold and the conversion of its rounds, and to calibrate that is slow.
`least_epsilon_of_a_list` searches by its fast race and takes the calibrated parameters from the mechanism, so a plan
promises what the mechanism does and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from shortlist.exact.search import find_crossing
from shortlist.mechanisms.unknown_domain import LimitedDomainTopK, default_limit
from shortlist.planning.rows import SLACK, Goal
from shortlist.privacy import ApproxDP, BoundedRange, ThinnedRange
from shortlist.scores import Scores
from shortlist.utility.unknown_domain import BarredRace

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


Race = Callable[[float, float], float]
"""(e of a round, delta of the bar) -> how far the list gets."""

TRIES = 6
LOOSE = 0.03
"""How exactly the epsilon is sought that says which bar is likely: the shares of delta are far apart."""
NEARBY = 0.15
"""From so near, in ln epsilon, it is not sought at all."""


def _of(k: int, epsilon: float, delta: float) -> LimitedDomainTopK:
    return LimitedDomainTopK(k=k, budget=ApproxDP(epsilon, delta))


def rates(k: int, epsilon: float, delta: float) -> tuple[float, float]:
    """(e of a round, delta of the threshold) as the mechanism calibrates them for ApproxDP(epsilon, delta)."""
    charge = _of(k, epsilon, delta).charge
    assert isinstance(charge, ThinnedRange)
    return charge.epsilon, charge.delta


def race_of_a_list(scores: Scores, goal: Goal, k: int) -> Race:
    """Return how far a list of k gets, by (e of a round, delta of its threshold)."""

    def reach(e: float, delta: float) -> float:
        race = BarredRace.of(scores.values, k, e, delta, default_limit(k))
        return race.top() if goal == "top" else race.recall()

    return reach


def least_epsilon_of_a_list(
    race: Race, k: int, delta: float, target: float, start: float, step: float, *, width: float, most: float
) -> float:
    """The least epsilon at which LimitedDomainTopK itself reaches `target`, rounded up; infinite beyond `most`.

    Calibration is slow and the race is fast, so the search runs over e with the threshold held, the cost of that e
    follows, and the mechanism says which threshold it would choose there (first which it is likely to), until it is the
    same. Whatever is returned was tried with the mechanism's own threshold, and its own e or a smaller one. `start`
    says where to begin, and `step` how far to the next try; from nearby it is taken at its word, for the first
    threshold is only a likely one.
    """

    def least(bar: float, width: float) -> float:
        return least_epsilon_reaching(lambda p: race(p / k, bar), target, start=start, width=width, step=step)

    def cost(p: float, bar: float) -> float:
        return max(_cost(k, p, delta - bar), width * p)  # a positive one, even where delta alone would do

    bar, enough, tried = delta / 2, math.inf, math.inf
    p = least(bar, LOOSE) if step > NEARBY else start
    if 0 < p <= most:
        start, step = p, LOOSE
        bar = _of(k, cost(p, bar), delta).bar_delta(quick=True)
    for _ in range(TRIES):
        held, p = bar, least(bar, width)
        if not 0 < p <= most:
            return math.inf if p else 0.0
        start, step = p, 10 * width  # another bar changes little
        tried = cost(p, held)
        bar = _of(k, tried, delta).bar_delta()
        # with the same bar it has at least this e: that is what SLACK is for, and nothing need be calibrated
        own = (p / k, bar) if bar == held < delta else rates(k, tried, delta)
        if race(*own) >= target:
            enough = min(enough, tried)
        if bar == held:
            break
    while not math.isfinite(enough):
        tried *= 1 + width
        if race(*rates(k, tried, delta)) >= target:
            enough = tried
    return enough


def _cost(k: int, p: float, converts: float) -> float:
    if converts <= 0:
        return p
    return min(p, BoundedRange(p / k).repeat(k).epsilon_at(converts)) * SLACK
