"""How the budget of guarded top-k is shared: what the sets are drawn with, and what one-shot has where it follows.

The hazard a of the guard's noise is public. Under a pure or an (epsilon, delta) budget the sets have all of epsilon,
and one-shot has ((1 - a) epsilon, delta) (Theorem 170). Under zCDP the switch, a choice of bounded range t e, is paid
beside either (Theorem 173).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial

from shortlist.accounting.calibrate import CLOSE, FEW, renyi_excess, rough_place
from shortlist.exact.effort import is_rough
from shortlist.exact.noise_distributions import EXPONENTIAL, GUMBEL, Noise
from shortlist.exact.partial_reals import rounded_down
from shortlist.mechanisms.checks import Budget
from shortlist.mechanisms.oneshot.mechanism import epsilon_of_a_round, plain_epsilon_of_a_round
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, calibrate

SLOPE = Fraction(1, 4)
"""t, how much of the lead the switch sees: it costs t^2 / (1 + t^2) of rho."""


def worth_delta(k: int) -> Fraction:
    """Gumbel noise needs about so many times the e of exponential noise for the same recall: a public rule."""
    return Fraction(7, 5) if k < 8 else Fraction(6, 5)


def whole_of(budget: Budget) -> Budget:
    """What is charged, whichever way it goes: never bounded range, which neither the guard nor the switch leaves."""
    return ZCDP(budget.rho) if isinstance(budget, ZCDP) else budget


def rate_of(budget: Budget) -> Fraction:
    """The epsilon that the sets are drawn with."""
    return Fraction(range_beside_switch(budget, SLOPE) if isinstance(budget, ZCDP) else budget.epsilon)


@lru_cache
def one_shot_of(budget: Budget, k: int, share: Fraction) -> tuple[Noise, Fraction]:
    """(noise of one-shot top-k, its e = R / scale) where the guard of hazard `share` has won: e is rounded down."""
    return _one_shot(budget, k, share, epsilon_of_a_round)


def nearly_one_shot_of(budget: Budget, k: int, share: Fraction) -> tuple[Noise, Fraction]:
    """The same in a fraction of the time, with an e that is too small by up to one part in a thousand: for plans."""
    return _nearly_one_shot_of(budget, k, share, is_rough())


@lru_cache
def _nearly_one_shot_of(budget: Budget, k: int, share: Fraction, roughly: bool) -> tuple[Noise, Fraction]:
    return _one_shot(budget, k, share, partial(_nearly_epsilon_of_a_round, roughly=roughly))


def budget_with_rounds(e: float, k: int, share: Fraction, delta: float) -> tuple[ApproxDP, tuple[Noise, Fraction]]:
    """(the least budget with this delta whose one-shot can have rounds of e, its `one_shot_of`): one cost, no search.

    A calibration of few rounds stops within a part in 10^9 of e, one of many in 10^6: the noise is that of an e which
    is smaller by two of them.
    """
    whole = Fraction(BoundedRange(e).repeat(k).epsilon_at(delta)) / (1 - share)
    near = max(float(whole), LEAST)
    budget = ApproxDP(near if Fraction(near) >= whole else math.nextafter(near, math.inf), delta)
    return budget, _one_shot(budget, k, share, lambda _, __: e * (1 - (2e-9 if k <= FEW else 2 * CLOSE)))


LEAST = math.exp(-60.0)
"""No smaller epsilon is told from none."""


def _one_shot(
    budget: Budget, k: int, share: Fraction, calibrated: Callable[[int, ApproxDP], float]
) -> tuple[Noise, Fraction]:
    if isinstance(budget, ZCDP):
        return GUMBEL, Fraction(round_beside_switch(budget, k, SLOPE))
    left = (1 - share) * Fraction(budget.epsilon)
    plain = left / k
    if isinstance(budget, ApproxDP) and budget.delta:
        e = Fraction(calibrated(k, ApproxDP(rounded_down(left), budget.delta)))
        if e >= worth_delta(k) * plain:
            return GUMBEL, e
    return EXPONENTIAL, plain


@lru_cache
def range_beside_switch(budget: ZCDP, slope: Fraction) -> float:
    """e, rounded down: one draw of e-bounded range after a switch of t e fits the budget, t its slope."""
    near = math.sqrt(8 * budget.rho) or 1.0
    return calibrate(lambda e: BoundedRange(e).compose(_switch(e, slope)), budget, near=near)


@lru_cache
def round_beside_switch(budget: ZCDP, k: int, slope: Fraction) -> float:
    """e of a round, rounded down: k rounds after the same switch fit the budget."""
    whole = range_beside_switch(budget, slope)
    switch = _switch(whole, slope)
    return calibrate(lambda e: BoundedRange(e).repeat(k).compose(switch), budget, near=whole / math.sqrt(k))


def _switch(e: float, slope: Fraction) -> BoundedRange:
    return BoundedRange(float(slope) * e)


STEPS = 1.4
"""To a factor of e, where the gap between what rounds cost and their Renyi divergences is looked up: nearly a line."""
SHORT = 3e-4
"""How far below the line an e is tried: what two steps tell of the gap between them is right to less."""


def _nearly_epsilon_of_a_round(k: int, budget: ApproxDP, *, roughly: bool = False) -> float:
    """At most e, by Renyi divergences and a table of their gap; the one exact look that it fits is left to the last."""
    place = None if k <= FEW else rough_place(k, budget, plain_epsilon_of_a_round(k, budget), _gap)
    if place is None:
        return epsilon_of_a_round(k, budget)
    e = math.exp(place) * (1 - SHORT)
    if roughly or budget.excess(BoundedRange(e).repeat(k)) <= 0:
        return e
    return epsilon_of_a_round(k, budget)


def _gap(k: int, log_e: float, delta: float) -> float:
    """ln of the cost of k rounds over that of their Renyi divergences, by a line between two steps."""
    step = math.floor(STEPS * log_e)
    low, high = _gap_at(k, step, delta), _gap_at(k, step + 1, delta)
    return low + (STEPS * log_e - step) * (high - low)


@lru_cache(4096)
def _gap_at(k: int, step: int, delta: float) -> float:
    cost = BoundedRange(math.exp(step / STEPS)).repeat(k).epsilon_at(delta)
    return -renyi_excess(step / STEPS, k, ApproxDP(cost, delta)) if cost else math.nan
