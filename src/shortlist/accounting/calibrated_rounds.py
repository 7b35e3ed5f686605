"""The largest epsilon of a round, of many adaptive rounds of bounded range: Renyi divergences, and a few exact looks.

Composing rounds on a fine grid takes most of a calibration. Their Renyi divergences cost next to nothing and follow the
same line: ln of the exact cost over theirs, the *gap*, changes by a hundredth where e changes threefold. So the search
runs over them, and each exact look says the gap where it is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shortlist.accounting.bounded_range import WIDEST, range_renyi
from shortlist.accounting.calibration import calibrate
from shortlist.accounting.finer_guarantees import BoundedRange
from shortlist.accounting.guarantees import ApproxDP, PureDP
from shortlist.accounting.renyi import renyi_epsilon
from shortlist.exact.crossing import crossing

FEW = 5
"""So few rounds are composed in no time, and searched for as everything else is."""
SPARE = 1e-7
"""How far below the line the last look aims, relative to e."""
CLOSE = 1e-6
"""An e that fits is taken if none above e (1 + CLOSE) does, by the slope between the last two looks."""
LOOKS = 6
FAR = 0.5
"""An exact look that is farther off, in ln epsilon, says that the gap misled."""
GAP = -0.06
"""Where to look first."""
MARGIN = 0.01
"""In ln epsilon: the gap of one delta is that of another, half or twice as large, within less."""


def largest_round(rounds: int, budget: ApproxDP, near: float) -> float:
    """e, rounded down: `rounds` adaptive rounds of e-bounded range fit `budget`, which was tried; nearly the largest.

    Parameters
    ----------
    rounds
        How many; up to FEW, e is within a part in 10^9 of the largest, as `calibrate` has it. Beyond, in 10^6.
    budget
        (epsilon, delta).
    near
        Where to begin.
    """
    tried: list[tuple[float, float]] = []  # (ln e, gap)
    log_e = None if rounds <= FEW or not budget.epsilon or not budget.delta else _place(rounds, budget, near, GAP)
    for _ in range(LOOKS):
        if log_e is None:
            break
        excess = budget.excess(BoundedRange(math.exp(log_e)).repeat(rounds))
        if not abs(excess) < FAR:  # where delta pays for all, the line is steep or ends
            break
        by_renyi = renyi_excess(log_e, rounds, budget)
        tried.append((log_e, excess - by_renyi))
        slope = (renyi_excess(log_e + 1e-3, rounds, budget) - by_renyi) / 1e-3 + _bend(tried)
        if not 0.5 < slope < 4.0:
            break
        if -CLOSE * slope < excess <= 0:
            return math.exp(log_e)
        # where the Renyi cost and the gap, a line through the last two, meet the budget; a little below
        aim = _place(rounds, budget, math.exp(log_e - excess / slope), tried[-1][1] - excess / slope * _bend(tried))
        log_e = None if aim is None else aim - SPARE
    return calibrate(lambda e: BoundedRange(e).repeat(rounds), budget, near=near if log_e is None else math.exp(log_e))


def _bend(tried: list[tuple[float, float]]) -> float:
    """How much the gap changes with ln e, by the last two looks."""
    if len(tried) < 2 or tried[-1][0] == tried[-2][0]:
        return 0.0
    return (tried[-1][1] - tried[-2][1]) / (tried[-1][0] - tried[-2][0])


def seems_too_much(e: float, rounds: int, budget: ApproxDP | PureDP, beside: tuple[float, ApproxDP | PureDP]) -> bool:
    """Whether `rounds` of e cost more than the budget, by their Renyi divergences and the gap of what just fits.

    `beside` is an e that just fits another budget with about the same delta. If this says no, an exact look must tell.
    """
    here, (known, there) = budget, beside
    if rounds <= FEW or not isinstance(here, ApproxDP) or not isinstance(there, ApproxDP):
        return False
    if not here.delta or not there.delta or not here.epsilon:
        return False
    gap = -renyi_excess(math.log(known), rounds, there)
    return renyi_excess(math.log(e), rounds, here) + gap > MARGIN


@np.errstate(all="ignore")
def renyi_excess(log_e: float, rounds: int, budget: ApproxDP) -> float:
    """ln of the epsilon that rounds of e cost at most by their Renyi divergences, over that of the budget."""
    e = math.exp(log_e)
    cost, _ = renyi_epsilon(lambda orders: rounds * range_renyi(e, orders) * (1 + 1e-15), budget.delta)
    return math.log(cost / budget.epsilon) if 0 < cost < math.inf else math.copysign(50.0, cost - 1.0)


def _place(rounds: int, budget: ApproxDP, near: float, gap: float) -> float | None:
    """ln e where the Renyi cost and a gap meet the budget; None if they do so nowhere near."""
    return _crossing(lambda log_e: renyi_excess(log_e, rounds, budget) + gap, near, 1e-9)


def rough_place(rounds: int, budget: ApproxDP, near: float, gap: Callable[[int, float, float], float]) -> float | None:
    """The same to a part in 10^5, for a gap that is a function of the rounds, ln e and delta."""
    if not budget.epsilon or not budget.delta:
        return None
    return _crossing(lambda log_e: renyi_excess(log_e, rounds, budget) + gap(rounds, log_e, budget.delta), near, 1e-5)


def _crossing(excess: Callable[[float], float], near: float, close: float) -> float | None:
    here = math.log(near)
    if not here < math.log(WIDEST):
        return None
    at, step = excess(here), 1e-4
    for _ in range(12):
        if not math.isfinite(at):
            break
        step = max(0.8 * abs(at), 1.5 * step)
        there = here - step if at > 0 else here + step
        other = excess(there)
        if (other > 0) != (at > 0):
            low, high = sorted(((here, at), (there, other)))
            return crossing(excess, low, high, close)[0]
        here, at = there, other
    return None
