"""The largest epsilon of a round, of many adaptive rounds of bounded range: a rough search, then a few exact looks.

Composing rounds on a fine grid takes most of a calibration. On a coarse one the cost is too large by parts in a
hundred and follows the same line, so the search runs there; the exact cost of what it found says how far to move.
"""

from __future__ import annotations

import math

from shortlist.accounting import accountant, families
from shortlist.accounting.bounded_range import ROUGH, WIDEST
from shortlist.accounting.calibration import calibrate
from shortlist.accounting.finer_guarantees import BoundedRange
from shortlist.accounting.guarantees import ApproxDP
from shortlist.exact.crossing import crossing

FEW = 5
"""So few rounds are composed in no time, and searched for as everything else is."""
SPARE = 1e-7
"""How far below the line the last look aims, relative to e."""
CLOSE = 1e-6
"""An e that fits is taken if none above e (1 + CLOSE) does, by the slope between the last two looks."""
LOOKS = 6
FAR = 0.5
"""An exact look that is farther off, in ln epsilon, says that the rough one misled."""
RATIO = 1.04
"""The largest e by rough looks is at least that of exact ones over this."""


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

    def exact(log_e: float) -> float:
        return budget.excess(BoundedRange(math.exp(log_e)).repeat(rounds))

    start = None if rounds <= FEW or not budget.epsilon or not budget.delta else _rough_crossing(rounds, budget, near)
    if start is None:
        return calibrate(lambda e: BoundedRange(e).repeat(rounds), budget, near=near)
    here, slope = start
    excess = exact(here)
    for _ in range(LOOKS):
        if -CLOSE * slope < excess <= 0:
            return math.exp(here)
        if not abs(excess) < FAR:  # where delta pays for all, the line is steep or ends
            break
        before, here = (here, excess), here - excess / slope - SPARE
        excess = exact(here)
        risen = (excess - before[1]) / (here - before[0])
        slope = risen if 0.5 < risen < 4.0 else slope
    return calibrate(lambda e: BoundedRange(e).repeat(rounds), budget, near=math.exp(here))


def surely_too_much(e: float, rounds: int, budget: ApproxDP) -> bool:
    """Whether even a rough look shows that `rounds` of e do not fit; if not, an exact one must tell."""
    return rounds > FEW and budget.delta > 0 and _rough_excess(math.log(e / RATIO), rounds, budget) > 0


def _rough_excess(log_e: float, rounds: int, budget: ApproxDP) -> float:
    """ln of the epsilon that rounds of e cost at most, on a coarse grid, over that of the budget."""
    cost = accountant.epsilon_upper(((families.ranged(math.exp(log_e), ROUGH), rounds),), budget.delta)
    return math.log(cost / budget.epsilon) if 0 < cost < math.inf else math.copysign(50.0, cost - 1.0)


def _rough_crossing(rounds: int, budget: ApproxDP, near: float) -> tuple[float, float] | None:
    """(ln e where the rough cost meets the budget, its slope there); None if it does so nowhere near."""
    here = math.log(near)
    if not here < math.log(WIDEST):
        return None
    excess, step = _rough_excess(here, rounds, budget), 0.02
    for _ in range(8):
        step = max(1.1 * abs(excess), 1.5 * step)
        there = here - step if excess > 0 else here + step
        other = _rough_excess(there, rounds, budget)
        if (other > 0) != (excess > 0):
            low, high = sorted(((here, excess), (there, other)))
            slope = (high[1] - low[1]) / (high[0] - low[0])
            place = crossing(lambda x: _rough_excess(x, rounds, budget), low, high, 1e-3)[0]
            return (place, slope) if 0.5 < slope < 4.0 else None
        here, excess = there, other
    return None
