"""Find the noise that a budget allows, for one mechanism and for rounds of one.

The least noise that fits a budget.

The largest epsilon of a round, of many adaptive rounds of bounded range: Renyi divergences, and a few exact looks.

Composing rounds on a fine grid takes most of a calibration. Their Renyi divergences cost next to nothing and follow the
same line: ln of the exact cost over theirs, the *gap*, changes by a hundredth where e changes threefold. So the search
runs over them, and each exact look says the gap where it is needed. How the gap changes with e and delta is that of few
rounds that cost as much, ALIKE in place of many, to one part in twenty. What is returned was tried exactly, so no guess
can cost privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from shortlist.accounting.checks import number
from shortlist.accounting.compose import epsilon_of
from shortlist.accounting.guarantees import ApproxDP, BoundedRange, Guarantee
from shortlist.accounting.renyi import BOUNDED_RANGE_WIDEST, many_rounds, range_renyi, renyi_epsilon
from shortlist.exact.search import find_crossing


class Budget(Protocol):
    """PureDP, ZCDP and ApproxDP: guarantees that can say whether another one is within them.

    Examples
    --------
    >>> from shortlist.privacy import PureDP
    >>> PureDP(1.0).excess(PureDP(0.5)) < 0 < PureDP(1.0).excess(PureDP(2.0))
    True
    """

    def excess(self, guarantee: Guarantee) -> float:
        """How far `guarantee` is beyond this budget, as a logarithm: it fits if that is not positive."""
        ...


LARGEST = 700.0
"""Parameters are sought between e^-700 and e^700."""


def calibrate(guarantee_of: Callable[[float], Guarantee], budget: Budget, *, near: float = 1.0) -> float:
    """The largest parameter whose guarantee fits `budget`; rounded down, so that noise is rounded up.

    Parameters
    ----------
    guarantee_of
        From an epsilon per round, a mu, or any parameter that costs more the larger it is, to what it promises.
    budget
        PureDP, ZCDP or ApproxDP.
    near
        Where to begin; the nearer, the faster.

    Returns
    -------
    float
        x with budget.excess(guarantee_of(x)) <= 0, checked; no number above x (1 + 1e-9) has it.

    Raises
    ------
    ValueError
        if no parameter fits, with the reason.

    Examples
    --------
    >>> from shortlist.privacy import ApproxDP, GumbelDP
    >>> scale = 1 / calibrate(lambda mu: GumbelDP(mu, k=10), ApproxDP(epsilon=1.0, delta=1e-5))
    >>> round(scale, 4)
    16.7012
    """

    if not hasattr(budget, "excess"):
        raise TypeError("budget must be PureDP(..), ZCDP(..) or ApproxDP(..)")

    def excess(log_x: float) -> float:
        return min(max(budget.excess(guarantee_of(math.exp(log_x))), -50.0), 50.0)

    first = min(max(math.log(number("near", near, above=True)), -LARGEST / 2), LARGEST / 2)
    start = (first, excess(first))
    down, step = start[1] > 0, 0.01
    while abs(start[0]) < LARGEST:
        step = min(max(min(abs(start[1]), 5.0), 1.5 * step), LARGEST - abs(start[0]))
        next_x = start[0] - step if down else start[0] + step
        end = (next_x, excess(next_x))
        if (end[1] > 0) != down:
            low, high = (end, start) if down else (start, end)
            return math.exp(find_crossing(excess, low, high, 1e-10)[0])
        start = end
    if not down:
        raise ValueError(f"every parameter fits the budget {budget}: there is no largest one")
    raise ValueError(f"no parameter fits the budget {budget}: {guarantee_of(1.0).why_not() or 'write a larger budget'}")


FEW = 5
"""So few rounds are composed in no time, and searched for as everything else is."""
SPARE = 5e-7
"""How far below the line a look aims, relative to e: nearly always more than the gap misleads the second one."""
CLOSE = 1.5e-6
"""An e that fits is taken if none above e (1 + CLOSE) does, by the slope between the last two looks."""
LOOKS = 6
FAR = 0.5
"""An exact look that is farther off, in ln epsilon, says that the gap misled."""
GAP = -0.06
"""Where to look first."""
ALIKE = 24
"""So many rounds say how the gap of many changes."""
COARSE = 48
"""Steps to an epsilon for these."""
LARGE = 1 / 8
"""A delta above so much of epsilon pays for a part of what rounds cost that matters: they are sought by delta."""
STEEPEST = 50.0
"""No delta grows faster with e, in logarithms, where it is so large."""
MANY = 2 * ALIKE
"""Of more rounds an exact look takes longer than these."""


def largest_round(rounds: int, budget: ApproxDP, near: float) -> float:
    """e, rounded down: `rounds` adaptive rounds of e-bounded range fit `budget`, which was tried; nearly the largest.

    Parameters
    ----------
    rounds
        How many; up to FEW, e is within a part in 10^9 of the largest, as `calibrate` has it. Beyond, within CLOSE.
    budget
        (epsilon, delta).
    near
        Where to begin.
    """
    tried: list[tuple[float, float]] = []  # (ln e, gap)
    usual = rounds > FEW and budget.epsilon > 0 and budget.delta > 0
    if usual and budget.delta > LARGE * budget.epsilon and (e := _by_delta(rounds, budget, near)) is not None:
        return e
    log_e = _first(rounds, budget, near) if usual else None
    for _ in range(LOOKS):
        if log_e is None:
            break
        excess = budget.excess(BoundedRange(math.exp(log_e)).repeat(rounds))
        if not abs(excess) < FAR:  # where delta pays for all, the line is steep or ends
            break
        by_renyi = renyi_excess(log_e, rounds, budget)
        tried.append((log_e, excess - by_renyi))
        bend = _bend(tried, rounds, budget.delta)
        slope = (renyi_excess(log_e + 1e-3, rounds, budget) - by_renyi) / 1e-3 + bend
        if not 0.5 < slope < 4.0:
            break
        if -CLOSE * slope < excess <= 0:
            return math.exp(log_e)
        # where the Renyi cost and the gap, a line through the last two, meet the budget; a little below
        aim = _place(rounds, budget, math.exp(log_e - excess / slope), tried[-1][1] - excess / slope * bend)
        log_e = None if aim is None else aim - SPARE
    return calibrate(lambda e: BoundedRange(e).repeat(rounds), budget, near=near if log_e is None else math.exp(log_e))


def likely_round(rounds: int, budget: ApproxDP, near: float) -> float | None:
    """About what `largest_round` finds for more than MANY rounds, with no exact look at so many; None if that fails.

    It is off by some parts in a thousand, which are nearly the same for another share of delta.
    """
    place = _first(rounds, budget, near) if budget.epsilon and budget.delta else None
    return None if place is None else math.exp(place)


def _first(rounds: int, budget: ApproxDP, near: float) -> float | None:
    """ln e where to look first. What the gap of many rounds lacks of its limit is in proportion to 1 / rounds."""
    place = _place(rounds, budget, near, GAP, 1e-5)
    if place is None or rounds <= MANY:
        return place
    few, half = (_gap_alike(rounds, place, budget.delta, some) for some in (ALIKE, ALIKE // 2))
    gap = few + (few - half) * (1 - ALIKE / rounds)
    return _place(rounds, budget, math.exp(place), gap, 1e-5) if abs(gap - GAP) < FAR else place


def _bend(tried: list[tuple[float, float]], rounds: int, delta: float) -> float:
    """How much the gap changes with ln e: by the last two looks, or by fewer rounds."""
    log_e = tried[-1][0]
    if len(tried) > 1 and log_e != tried[-2][0]:
        return (tried[-1][1] - tried[-2][1]) / (log_e - tried[-2][0])
    if rounds <= MANY:
        return 0.0
    bend = (_gap_alike(rounds, log_e + 0.02, delta) - _gap_alike(rounds, log_e, delta)) / 0.02
    return bend if abs(bend) < FAR else 0.0


def _gap_alike(rounds: int, log_e: float, delta: float, few: int = ALIKE) -> float:
    """The gap of `few` rounds whose zCDP is that of `rounds`; not a number where they cost nothing.

    On a coarse grid: it only says where to look.
    """
    log_e += 0.5 * math.log(rounds / few)
    e = math.exp(log_e)
    if not e < BOUNDED_RANGE_WIDEST:
        return math.nan
    cost = epsilon_of(many_rounds(e, few, 1e-9 * delta, COARSE), delta, few * e)
    return -renyi_excess(log_e, few, ApproxDP(cost, delta)) if cost else math.nan


def _by_delta(rounds: int, budget: ApproxDP, near: float) -> float | None:
    """The same where delta pays for much: epsilon falls to nothing with e there, delta does not. None if that fails.

    What delta is at the epsilon of the budget, few rounds say first, and how fast it grows with e.
    """
    aim = math.log(budget.delta)

    def excess(some: int) -> Callable[[float], float]:
        return lambda log_e: _log_delta_alike(rounds, log_e, budget, some) - aim

    most = min(ALIKE, rounds)
    few, half = (_crossing(excess(some), near, 1e-6) for some in (most, most // 2))
    if few is None or half is None:
        return None
    log_e, before = few + (few - half) * (1 - most / rounds), None
    slope = (excess(most)(log_e + 1e-3) - excess(most)(log_e)) / 1e-3
    for _ in range(LOOKS):
        guarantee = BoundedRange(math.exp(log_e)).repeat(rounds)
        over = math.log(max(guarantee.delta_at(budget.epsilon), 1e-320)) - aim
        if before is not None and log_e != before[0]:
            slope = (over - before[1]) / (log_e - before[0])
        if not 0.1 < slope < STEEPEST:
            return None
        if -CLOSE * slope < over <= 0 and budget.excess(guarantee) <= 0:
            return math.exp(log_e)
        before, log_e = (log_e, over), log_e - over / slope - SPARE
    return None


def _log_delta_alike(rounds: int, log_e: float, budget: ApproxDP, few: int) -> float:
    """ln delta, at the epsilon of the budget, of `few` rounds whose zCDP is that of `rounds`; on a coarse grid."""
    e = math.exp(log_e + 0.5 * math.log(rounds / few))
    if not e < BOUNDED_RANGE_WIDEST:
        return math.nan
    profile = many_rounds(e, few, 1e-9 * budget.delta, COARSE)
    return math.log(max(float(profile(np.array([budget.epsilon]))[0]), 1e-320))


@np.errstate(all="ignore")
def renyi_excess(log_e: float, rounds: int, budget: ApproxDP) -> float:
    """ln of the epsilon that rounds of e cost at most by their Renyi divergences, over that of the budget."""
    e = math.exp(log_e)
    cost, _ = renyi_epsilon(lambda orders: rounds * range_renyi(e, orders) * (1 + 1e-15), budget.delta)
    return math.log(cost / budget.epsilon) if 0 < cost < math.inf else math.copysign(50.0, cost - 1.0)


def _place(rounds: int, budget: ApproxDP, near: float, gap: float, close: float = 1e-8) -> float | None:
    """ln e where the Renyi cost and a gap meet the budget; None if they do so nowhere near."""
    return _crossing(lambda log_e: renyi_excess(log_e, rounds, budget) + gap, near, close)


def rough_place(rounds: int, budget: ApproxDP, near: float, gap: Callable[[int, float, float], float]) -> float | None:
    """The same to a part in 10^5, for a gap that is a function of the rounds, ln e and delta."""
    if not budget.epsilon or not budget.delta:
        return None
    return _crossing(lambda log_e: renyi_excess(log_e, rounds, budget) + gap(rounds, log_e, budget.delta), near, 1e-5)


def _crossing(excess: Callable[[float], float], near: float, close: float) -> float | None:
    here = math.log(near)
    if not here < math.log(BOUNDED_RANGE_WIDEST):
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
            return find_crossing(excess, low, high, close)[0]
        here, at = there, other
    return None
