"""A budget divided: what each of n equal releases may spend, by the rule of the filter that admits the most."""

from __future__ import annotations

from fractions import Fraction

from shortlist.accounting.guarantees import ZCDP, ApproxDP, PureDP
from shortlist.ledger.chain import State
from shortlist.ledger.filter import Amounts, cost_of, left_of
from shortlist.ledger.standing import HAIR, down, largest_charge
from shortlist.ledger.terms import Terms
from shortlist.pages.rounding import SAME, number_text

ROUNDED = Fraction(1, 2**50)
"""A share that is so near to a decimal, relatively, is that decimal but for the rounding of floats."""


def share_of(terms: Terms, here: State, releases: int, delta: float) -> PureDP | ApproxDP | ZCDP:
    """A guarantee of which so many charges are admitted where a ledger stands, and no more (Theorem 219).

    By rule (a) each may have epsilon e = (what is left of epsilon) / n, by rule (b) each rho r = (what is left of rho)
    / n. It is r where n charges of e, and more than e, would be admitted by rule (b) too: then every e-DP release fits
    into r. Otherwise it is e. A ledger that adds up divergences of one order has no r; there it is the largest e.

    Raises
    ------
    ValueError
        if there is nothing left, or less delta than n times `delta`.
    """
    each = Amounts(Fraction(0), Fraction(0), Fraction(delta))
    limits = terms.limits_for(here.total, each, first=not here.charges)
    total = here.total.where(limits)
    left = left_of(limits, total)
    if releases * each.delta > left.delta:
        most = number_text(down(left.delta / releases), up=False)
        raise ValueError(f"delta must be at most {most} for each of {releases:,} releases: so much is left of it")

    def with_epsilon(epsilon: float) -> PureDP | ApproxDP:
        return ApproxDP(epsilon, delta) if delta else PureDP(epsilon)

    by_sums = 0.0 if left.epsilon is None else down(left.epsilon / releases)
    rho = 0.0 if left.curve is None or terms.order is not None else down(left.curve / releases)
    epsilon = largest_charge(limits, total, releases, lambda one: cost_of(with_epsilon(one), terms.order))
    if rho and (left.epsilon is None or epsilon > by_sums):
        return ZCDP(rho, delta)
    if not epsilon:
        raise ValueError("nothing is left to divide: make a new ledger for what is to come")
    return with_epsilon(epsilon)


def decimal_of(size: float, releases: int) -> float:
    """The decimal to ask for in place of a share of that size; the share itself where it is not one but for rounding.

    A fifth of 1 is a hair less than the float 0.2. Who asks for 0.2 five times gets it four times, and the last time
    what is left (`within`), so that the budget is kept and nothing is booked for less than was drawn.

    >>> decimal_of(0.19999999999999998, 5), decimal_of(3 / 13, 13)
    (0.2, 0.23076923076923078)
    """
    decimal = float(f"{size:.{SAME}g}")
    more = Fraction(decimal) - Fraction(size)
    fits = abs(more) <= ROUNDED * Fraction(decimal) and releases * more <= HAIR * Fraction(decimal)
    return decimal if fits else size
