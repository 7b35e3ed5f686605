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
from shortlist.utility.effort import rough
from shortlist.utility.unknown_domain import BarredRace

LEAST, MOST = -100.0, 27.0
"""Epsilons are sought between e^-100 and e^27."""

STEEPEST = 700.0

SMOOTH = 6
"""So many tries follow the curve through the nearest three; what is not smooth is then sought between two points."""

SHORT = 0.35
"""How far below the least epsilon rough laws look at last, in widths: a little must be lacking there."""
SPARE = 0.1
"""How far above it an exact law looks."""
ALONG = 12
"""So many rough tries at most follow the curve from the start."""
NEAR = 20.0
"""Two tries so many widths apart say the slope between them."""
TYPICAL = 4.0
"""The log odds grow by so much to a factor of e, until two tries tell."""


def least_epsilon_reaching(
    quality: Callable[[float], float], target: float, *, start: float = 1.0, width: float = 1e-4, step: float = 0.7
) -> float:
    """The least epsilon at which an increasing chance or share reaches `target`, from above; infinite if none does.

    Rounded up by less than the relative `width`. The first try is `start`, the next `step` from it in ln epsilon, and
    so on by longer steps until the target lies between; then by the curve through the nearest three. It runs over ln
    epsilon and the log odds, in which the qualities of all mechanisms are nearly straight lines.

    Rough laws say where to look, and an exact one whether that is enough: what is returned was tried exactly. Where a
    little was lacking by a rough law, less than a width below, and the exact law agrees with it to a fifth of the
    width, that is the answer; if they differ by more, the search runs once more by exact laws alone.

    Examples
    --------
    >>> round(least_epsilon_reaching(lambda e: e / (1 + e), 0.9), 3)  # the odds are e
    9.0
    """
    return least_with_slope(quality, target, start=start, width=width, step=step)[0]


def least_with_slope(
    quality: Callable[[float], float], target: float, *, start: float, width: float, step: float, slope: float = TYPICAL
) -> tuple[float, float]:
    """The same, and how fast the log odds grow there with ln epsilon; a `slope` is believed until two tries tell."""
    goal = _log_odds(target)

    def lack(log_epsilon: float) -> float:
        return goal - _log_odds(quality(math.exp(log_epsilon)))

    with rough():
        tried = dict[float, float]()
        near = _along(lack, math.log(start), tried, width, step, slope)
        near = near or _between(lack, math.log(start), tried, width, step)
    if near is None:
        return _searched(lack, math.log(start), width, step), slope
    slope, left, end = near
    for _ in range(2):
        exact = lack(end)
        if exact <= 0 and abs(exact + left) < 0.2 * slope * width:  # then a little is lacking where rough laws said so
            return math.exp(end), slope
        if not 0 < exact < 0.5 * slope * width:
            break
        end, left = end + exact / slope + SPARE * width, SPARE * slope * width  # not a width above what is not enough
    return _searched(lack, end, width, 0.5 * width), slope


def _along(
    lack: Callable[[float], float], here: float, tried: dict[float, float], width: float, step: float, slope: float
) -> tuple[float, float, float] | None:
    """(the slope, what is left over at a point, the point), along the curve through what was tried; None if it is none.

    Less than a width below it something was tried, and a little was lacking.
    """
    low, high = -math.inf, math.inf
    for _ in range(ALONG):
        value = tried[here] = lack(here)
        low, high = (max(low, here), high) if value > 0 else (low, min(high, here))
        near = sorted(tried, key=lambda x: abs(tried[x]))[:3]
        if len(near) > 1:
            slope = (tried[near[0]] - tried[near[1]]) / (near[1] - near[0])
            told = near[0] == here or abs(near[1] - near[0]) <= NEAR * width  # a slope that far points say misleads
            if told and 0 < tried.get(low, math.inf) < (1 - 2 * SPARE) * slope * width:
                return slope, SPARE * slope * width, low + tried[low] / slope + SPARE * width
        here = _next(tried, near, slope, step) - SHORT * width
        if not low < here < high:
            step *= 2.0
            here = (low + high) / 2 if math.isfinite(high - low) else low + step if value > 0 else high - step
        if not LEAST < here < MOST:
            return None
    return None


def _next(tried: dict[float, float], near: list[float], slope: float, step: float) -> float:
    """Where the curve through the nearest crosses, if that is not far from them; else no number."""
    if abs(tried[near[0]]) >= STEEPEST / 2 or not 0 < slope < math.inf:
        return math.nan
    aim = _zero(tried, near) if len(near) > 1 else near[0] + tried[near[0]] / slope
    return min(max(aim, near[0] - 4 * step), near[0] + 4 * step) if aim == aim else aim


def _between(
    lack: Callable[[float], float], here: float, tried: dict[float, float], width: float, step: float
) -> tuple[float, float, float] | None:
    """The same, between a point where something is lacking and one where nothing is; None where they do not say."""
    place = math.log(_searched(lack, here, 0.5 * width, step, tried) or math.inf)
    if not LEAST < place < MOST:
        return None
    end = place + SPARE * width
    at_end, below = lack(end), lack(end - 0.95 * width)
    return ((below - at_end) / (0.95 * width), -at_end, end) if at_end <= 0 < below else None


def _searched(
    law: Callable[[float], float], here: float, width: float, step: float, tried: dict[float, float] | None = None
) -> float:
    """The least epsilon at which nothing is lacking, rounded up by less than the relative width.

    `tried` is what is known of the law.
    """
    tried = dict[float, float]() if tried is None else tried

    def lack(log_epsilon: float) -> float:
        if log_epsilon not in tried:
            tried[log_epsilon] = law(log_epsilon)
        return tried[log_epsilon]

    high = min((x for x, lacking in tried.items() if lacking <= 0), default=math.inf)
    low = max((x for x, lacking in tried.items() if lacking > 0 and x < high), default=-math.inf)
    if math.isfinite(high - low):
        return math.exp(_least_enough(lack, low, high, tried, width))
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
    race: Race,
    k: int,
    delta: float,
    target: float,
    near: tuple[tuple[float, float], float],
    *,
    width: float,
    most: float,
) -> float:
    """The least epsilon at which LimitedDomainTopK itself reaches `target`, rounded up; infinite beyond `most`.

    Calibration is slow and the race is fast, so the search runs over e with the bar held, the cost of that e follows,
    and the mechanism says which bar it would choose there (first which it is likely to), until it is the same.
    Whatever is returned was tried with the mechanism's own bar, and its own e or a smaller one. `near` says where to
    begin, with which slope, and how far to the next try; from nearby it is taken at its word, for the first bar is only
    a likely one.
    """
    (start, slope), step = near

    def least(bar: float, width: float) -> tuple[float, float]:
        with rough():  # whether it is enough is tried below, by the mechanism's own parameters
            return least_with_slope(
                lambda p: race(p / k, bar), target, start=start, width=width, step=step, slope=slope
            )

    def cost(p: float, bar: float) -> float:
        return max(_cost(k, p, delta - bar), width * p)  # a positive one, even where delta alone would do

    bar, enough, tried = delta / 2, math.inf, math.inf
    p = start
    if step > NEARBY:
        p, slope = least(bar, LOOSE)
    if 0 < p <= most:
        start, step = p, LOOSE
        bar = _of(k, cost(p, bar), delta).likely_bar
    for _ in range(TRIES):
        held, (p, slope) = bar, least(bar, width)
        if not 0 < p <= most:
            return math.inf if p else 0.0
        start, step = p, 10 * width  # another bar changes little
        tried = cost(p, held)
        bar = _of(k, tried, delta).bar_delta
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
