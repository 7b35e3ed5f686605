"""What a list without a public domain costs under (epsilon, delta), by the split of delta that it chooses itself.

LimitedDomainTopK divides delta between its bar and the conversion of its rounds. A plan takes the calibrated
parameters from the mechanism, so it promises what the mechanism does and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from shortlist.exact.effort import rough
from shortlist.mechanisms.limited_domain.entry import rates
from shortlist.mechanisms.limited_domain.mechanism import LimitedDomainTopK
from shortlist.planning.search import least_with_slope
from shortlist.privacy import ApproxDP, BoundedRange

Race = Callable[[float, float], float]
"""(e of a round, delta of the bar) -> how far the list gets."""

SLACK = 1 + 4e-6
"""On every converted cost. Calibration finds e from below, to 1.5 parts in a million, lists leave a tenth of one to
spare, and epsilon grows with no more than the square of e: a mechanism that is given this epsilon has the e that was
tried."""

TRIES = 6
LOOSE = 0.03
"""How exactly the epsilon is sought that says which bar is likely: the shares of delta are far apart."""
NEARBY = 0.15
"""From so near, in ln epsilon, it is not sought at all."""


def _of(k: int, epsilon: float, delta: float) -> LimitedDomainTopK:
    return LimitedDomainTopK(k=k, budget=ApproxDP(epsilon, delta))


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
