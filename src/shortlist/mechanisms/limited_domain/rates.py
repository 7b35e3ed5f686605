"""How limited-domain top-k shares its budget: e of a round, and the delta of the bar.

Under (epsilon, delta) a share of delta converts the rounds and the bar has the rest. All of it is public.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from shortlist.accounting.calibrate import FEW, MANY, likely_round
from shortlist.exact.unknown_domain_thresholds import dummies
from shortlist.mechanisms.oneshot.mechanism import (
    epsilon_of_a_round,
    plain_epsilon_of_a_round,
    quick_epsilon_of_a_round,
)
from shortlist.mechanisms.unknown_domain import DeltaBudget, part_of
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, PureDP

SHARES = (Fraction(0), Fraction(1, 64), *(Fraction(n, 20) for n in (1, 2, 3, 5, 7, 9, 10, 12)))
"""Shares of delta for the conversion, among which the best is taken: by public numbers alone. At 0 rounds add up."""

LOWER = 1 - 1e-3
"""A bar that is lower by less than this is not worth another calibration."""

SPARE = 1e-7
"""By how much e stays below what is calibrated where rounds are converted, so that their charge fits as well."""

NEAR = 1.005
"""Shares whose quick height is within this of the lowest are tried, if that is by zCDP: it misleads by less than 1%."""


@lru_cache
def gumbel_rates(k: int, limit: int, budget: DeltaBudget, split: float | None) -> tuple[float, float]:
    """(e, delta of the bar): delta is split where the bar c + 1 + ln(M) / e stands lowest, or where `split` says."""
    if isinstance(budget, ZCDP):
        return epsilon_of_a_round(k, ZCDP(budget.rho)), budget.delta
    return _rates_at(k, budget, share_for_rounds(k, limit, budget) if split is None else Fraction(split))


@lru_cache
def share_for_rounds(k: int, limit: int, budget: ApproxDP) -> Fraction:
    """The share of delta, of SHARES, whose calibrated bar is lowest, or nearly: it converts the rounds.

    Another share is better if an e that would lower the bar fits its part of the budget: one look at the privacy
    curve, where finding the e itself takes several. For many rounds, where every look takes long, likely numbers are
    compared, and the chosen share alone is calibrated.
    """
    (quick, first), *others = quick_heights(k, limit, budget)
    chosen, e, bar = first, _likely(k, _for_rounds(budget, first)), part_of(budget.delta, 1 - first)
    for height, share in others:
        rest = part_of(budget.delta, 1 - share)
        lowest = math.log(dummies(limit, Fraction(bar))) / e
        if not rest or not lowest or (first and height > NEAR * quick):
            continue
        rate, rounds = math.log(dummies(limit, Fraction(rest))) / (LOWER * lowest), _for_rounds(budget, share)
        if _likely(k, rounds) >= rate if k > MANY else rounds.excess(BoundedRange(rate).repeat(k)) <= 0:
            chosen, e, bar = share, _likely(k, rounds), rest
    return chosen


@lru_cache
def _likely(k: int, rounds: ApproxDP | PureDP) -> float:
    """About the e of k rounds, only to choose a share by."""
    likely = None
    if k > MANY and isinstance(rounds, ApproxDP):
        likely = likely_round(k, rounds, plain_epsilon_of_a_round(k, rounds))
    return likely or epsilon_of_a_round(k, rounds)


def _rates_at(k: int, budget: ApproxDP, share: Fraction) -> tuple[float, float]:
    """e and the delta of the bar, both rounded down, if that share of delta converts the rounds.

    e is less by SPARE where rounds are converted: a ledger adds the bar's delta to their curve, and rounds that up.
    """
    rounds = _for_rounds(budget, share)
    e = epsilon_of_a_round(k, rounds)
    return e if isinstance(rounds, PureDP) else e * (1 - SPARE), part_of(budget.delta, 1 - share)


def _for_rounds(budget: ApproxDP, share: Fraction) -> ApproxDP | PureDP:
    converted = part_of(budget.delta, share)
    return ApproxDP(budget.epsilon, converted) if converted else PureDP(budget.epsilon)


def quick_heights(k: int, limit: int, budget: ApproxDP) -> list[tuple[float, Fraction]]:
    """(the height of the bar by zCDP or the plain sum, the share of delta for conversion), the lowest first."""
    quick = quick_epsilon_of_a_round if k <= FEW else plain_epsilon_of_a_round

    def height(share: Fraction) -> float:
        e = quick(k, ApproxDP(budget.epsilon, part_of(budget.delta, share)))
        return math.log(limit / ((1 - share) * budget.delta)) / e if e else math.inf

    return sorted((height(share), share) for share in SHARES)
