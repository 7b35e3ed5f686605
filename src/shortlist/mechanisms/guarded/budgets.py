"""How the budget of guarded top-k is shared: what the sets are drawn with, and what one-shot has where it follows.

The hazard a of the guard's noise is public. Under a pure or an (epsilon, delta) budget the sets have all of epsilon,
and one-shot has ((1 - a) epsilon, delta) (Theorem 170). Under zCDP the switch, a choice of bounded range t e, is paid
beside either (Theorem 173).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from shortlist.accounting.calibrated_rounds import CLOSE, FEW
from shortlist.exact.noise_distributions import EXPONENTIAL, GUMBEL, Noise
from shortlist.mechanisms.checks import Budget
from shortlist.mechanisms.oneshot.mechanism import epsilon_of_a_round, quick_epsilon_of_a_round
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, calibrate

SLOPE = Fraction(1, 4)
"""t, how much of the lead the switch sees: it costs t^2 / (1 + t^2) of rho."""


def worth_delta(k: int) -> Fraction:
    """Gumbel noise needs about so many times the e of exponential noise for the same recall: a public rule."""
    return Fraction(7, 5) if k < 8 else Fraction(6, 5)


def rate_of(budget: Budget) -> Fraction:
    """The epsilon that the sets are drawn with."""
    return Fraction(range_beside_switch(budget, SLOPE) if isinstance(budget, ZCDP) else budget.epsilon)


@lru_cache
def one_shot_of(budget: Budget, k: int, share: Fraction) -> tuple[Noise, Fraction]:
    """(noise of one-shot top-k, its e = R / scale) where the guard of hazard `share` has won: e is rounded down."""
    return _one_shot(budget, k, share, epsilon_of_a_round)


def nearly_one_shot_of(budget: Budget, k: int, share: Fraction) -> tuple[Noise, Fraction]:
    """The same in a fraction of the time, with an e that is too small by up to one part in a thousand: for plans."""
    return _one_shot(budget, k, share, _nearly_epsilon_of_a_round)


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
        e = Fraction(calibrated(k, ApproxDP(_down(left), budget.delta)))
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


def _down(exact: Fraction) -> float:
    """The largest float that is not above."""
    near = float(exact)
    return near if Fraction(near) <= exact else math.nextafter(near, -math.inf)


STEPS = 8
"""To a factor of 2, where the cost of rounds is tabulated: its logarithm is nearly straight between two steps."""
BENT = 0.02
"""A line that bends by less of its rise is within 2.2 parts in 10,000 of its chord; it bends more where delta pays."""


def _nearly_epsilon_of_a_round(k: int, budget: ApproxDP) -> float:
    """At most e, from a table of what k rounds cost."""
    wanted, delta = math.log(budget.epsilon), budget.delta
    step = math.floor(STEPS * math.log2(quick_epsilon_of_a_round(k, budget)))
    while (low := _log_cost(k, step, delta)) > wanted:
        step -= math.ceil(STEPS * (low - wanted) / 1.4)
    while (high := _log_cost(k, step + 1, delta)) <= wanted:
        step, low = step + 1, high
    if not abs(high - 2 * low + _log_cost(k, step - 1, delta)) <= BENT * (high - low):  # it may be no number
        return math.exp2(_halved(lambda part: _log_cost(k, step + part, delta) <= wanted, step) / STEPS)
    return math.exp2((step + (wanted - low) / (high - low)) / STEPS) * (1 - 3e-4)


def _halved(fits: Callable[[float], bool], step: int) -> float:
    """The largest step and 128th of a step that fits, where the step itself does."""
    part = 0.0
    for width in (2.0**-n for n in range(1, 8)):
        part += width * fits(part + width)
    return step + part


@lru_cache(4096)
def _log_cost(k: int, step: float, delta: float) -> float:
    cost = BoundedRange(2.0 ** (step / STEPS)).repeat(k).epsilon_at(delta)
    return math.log(cost) if cost else -math.inf
