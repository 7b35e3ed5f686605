"""How a ledger stands, in numbers and words: what is booked, what is left, and why a charge does not fit.

No charge depends on it. `ledger/filter.py` decides what is admitted, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Literal, Self

from shortlist.accounting.curves import number_text, up
from shortlist.accounting.guarantees import ZCDP, ApproxDP, PureDP
from shortlist.errors import bad_value
from shortlist.exact.search import bisect, neighbours
from shortlist.ledger import filter as rules
from shortlist.ledger.filter import HAIR, ZERO, Amounts, BudgetExceeded, State, Terms, balance, cost_of, down, fits

TINY, HUGE = 2.0**-200, 2.0**1000
"""What is left below or above is not looked for."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Progress through a budget. The promise to people is the budget, whatever is booked of it.

    Parameters
    ----------
    currency
        In which the budget is counted: `"epsilon"`, or `"rho"` for a `ZCDP` budget.
    booked, of, delta
        What the charges add up to, by the rule of the ledger that has the most room, rounded up; of which budget; and
        its delta.
    releases
        How many charges were booked.
    left
        The largest epsilon that a pure charge may have now; rounded down, so that it is admitted. What is booked and
        what is left need not add up to the budget (docs/ledger.md#balances).

    Examples
    --------
    >>> print(Standing("epsilon", 1.0, 3.0, 1e-6, 2, 2.0))
    booked: epsilon 1 of 3 at delta 1e-6, 2 releases; a charge of up to epsilon 2 would still be admitted
    """

    currency: Literal["epsilon", "rho"]
    booked: float
    of: float
    delta: float
    releases: int
    left: float

    @classmethod
    def of_state(cls, terms: Terms, here: State) -> Self:
        """How a ledger with such `terms` stands `here`."""
        budget, limits = terms.budget, terms.limits_for(here.total, ZERO, first=False)
        price, total = (lambda epsilon: cost_of(PureDP(epsilon), terms.order)), here.total.where(limits)
        left = 0.0 if here.closed else largest_charge(limits, total, 1, price)
        if isinstance(budget, ZCDP):
            booked = up(here.total.curve or Fraction(0))
            return cls("rho", booked, budget.rho, budget.delta, here.charges, left)
        delta = budget.delta if isinstance(budget, ApproxDP) else 0.0
        return cls("epsilon", _epsilon_of_charges(terms, here.total), budget.epsilon, delta, here.charges, left)

    @property
    def share(self) -> float:
        """How much of the budget is booked, from 0 to 1."""
        return min(1.0, self.booked / self.of) if self.of else 1.0

    def as_json(self) -> dict[str, Any]:
        """For programs, with the words for people."""
        return {**asdict(self), "words": str(self)}

    def __str__(self) -> str:
        return f"booked: {self.so_far}, {self.times}; {self.admits}"

    @property
    def times(self) -> str:
        """How many releases there were, in words."""
        return f"{self.releases:,} release{'s' * (self.releases != 1)}"

    @property
    def so_far(self) -> str:
        """What is booked of which budget, in words."""
        at = f" at delta {number_text(self.delta)}" if self.delta else ""
        return f"{self.currency} {number_text(self.booked)} of {number_text(self.of)}{at}"

    @property
    def admits(self) -> str:
        """What a pure charge may still be, in words."""
        if self.nothing_left:
            return "no further charge would be admitted"
        return f"a charge of up to epsilon {self.left_text} would still be admitted"

    @property
    def nothing_left(self) -> bool:
        """Whether nothing is left, or what rounding left over."""
        return not self.left or (self.currency == "epsilon" and self.left < HAIR * Fraction(self.of))

    @property
    def left_text(self) -> str:
        """The epsilon that is left, in four digits: one that a release may ask for (`Ledger.within`)."""
        if self.nothing_left:
            return "nothing"
        text = number_text(self.left, up=False, same=True)
        meant = (1 - HAIR) * Fraction(float(text)) <= Fraction(self.left)
        return text if meant else number_text(self.left, up=False)


def _epsilon_of_charges(terms: Terms, total: Amounts) -> float:
    """The epsilon of what is booked, by the rule that says less; rounded up, and never above the budget's."""
    most = terms.budget.epsilon if isinstance(terms.budget, PureDP | ApproxDP) else math.inf
    sums = [most]
    if total.epsilon is not None:
        sums.append(up(total.epsilon))
    limits = terms.limits_for(total, ZERO, first=False)
    if isinstance(terms.budget, ApproxDP) and limits.curve and total.curve is not None and total.curve <= limits.curve:
        slack = Fraction(terms.split or 0) * Fraction(terms.budget.delta)
        sums.append(epsilon_of_curve(total.curve, slack, terms.order))
    return min(sums)


def largest_charge(limits: Amounts, total: Amounts, times: int, cost: Callable[[float], Amounts]) -> float:
    """The largest epsilon of which so many charges are admitted after these sums; 0 if there is none.

    `cost` rises with epsilon, which is what it costs by rule (a).
    """
    left = rules.left_of(limits, total)

    def too_much(epsilon: float) -> bool:
        return not fits(limits, total + (times * cost(epsilon)).where(limits))

    by_sums = 0.0 if left.epsilon is None else down(left.epsilon / times)
    if by_sums and too_much(by_sums):
        return 0.0  # a delta stands in the way
    if not left.curve or too_much(high := max(math.nextafter(by_sums, math.inf), TINY)):
        return by_sums
    low = high
    while high < HUGE and not too_much(high):
        low, high = high, high * (1024.0 if high < 1e-3 else 2.0)
    return low if high >= HUGE else bisect(too_much, low, high, neighbours)[0]


def epsilon_of_curve(curve: Fraction, delta: Fraction, order: float | None) -> float:
    """The epsilon that a sum of rho, or of Renyi divergence at `order`, has at this delta; rounded up."""
    if not curve:
        return 0.0
    if order is None:
        return ZCDP(up(curve)).epsilon_at(0.0 - up(-delta))
    with localcontext(prec=rules.DIGITS):
        gain = Fraction(rules.exact_divergence(0.0, delta, Decimal(order)))
    return max(0.0, math.nextafter(up(curve - gain), math.inf))


def price_text(price: rules.Balance) -> str:
    """A cost in words, by the first rule that counts it."""
    rules = {"epsilon": price.epsilon, "rho": price.rho, "Renyi divergence": price.renyi}
    name, value = next((name, value) for name, value in rules.items() if value is not None)
    return f"{name} {number_text(value)}" + (f" and delta {number_text(price.delta)}" if price.delta else "")


def refusal(terms: Terms, before: State, cost: Amounts) -> BudgetExceeded:
    """The error of a charge that does not fit: what it asks, how the ledger stands, and what would fit."""
    price, here = balance(cost.where(terms.limits), terms.order), Standing.of_state(terms, before)
    # all digits of what is left, where only they tell it from the epsilon of the charge
    close = price.epsilon is not None and here.left and number_text(price.epsilon) == here.left_text
    digits = f" (to the last digit: {here.left!r})" if close else ""
    words = f"asked {price_text(price)}; {here}{digits}{_about_delta(terms, before, cost)}"
    spent, left = balance(before.total, terms.order), rules.balance_left(terms, before.total)
    return BudgetExceeded(price, spent, left, words)


def _about_delta(terms: Terms, before: State, cost: Amounts) -> str:
    """What is left of delta, where that is what a charge asks too much of."""
    limits = terms.limits_for(before.total, ZERO, first=False)
    if before.total.delta + cost.delta <= limits.delta:
        return ""
    left = balance(limits - before.total.where(limits), None, left=True).delta
    words = f"; its delta may be at most {number_text(left, up=False)}"
    if isinstance(terms.budget, ApproxDP) and limits.delta < terms.budget.delta:
        words += (
            f", for of {number_text(terms.budget.delta)} the share {terms.split:g} is kept for adding up many small "
            "charges (a ledger made with split=0 keeps none)"
        )
    return words


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
    left = rules.left_of(limits, total)
    if releases * each.delta > left.delta:
        most = number_text(down(left.delta / releases), up=False)
        raise bad_value(f"$delta must be at most {most} for each of {releases:,} releases: so much is left of it")

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


DELTA = "\ndelta: "
"""How the line about delta begins."""


def describe_ledger(terms: Terms, closed: str, here: State) -> str:
    """All of it: that it is closed, if it is, how it stands, who else has to agree; and on a line of its own delta."""
    standing, delta = Standing.of_state(terms, here), _describe_delta(terms, here)
    stands = "; ".join(
        filter(None, [closed, str(standing), terms.relation_words, "" if closed else terms.approval_words])
    )
    return f"{stands}{DELTA}{delta}" if delta else stands


def _describe_delta(terms: Terms, here: State) -> str:
    """How much of its delta a ledger still gives to answers that need one; empty if it has none, or is closed."""
    budget, share = terms.budget, terms.limits.delta
    if isinstance(budget, PureDP) or not budget.delta or here.closed:
        return ""
    limits, whole = terms.limits_for(here.total, ZERO, first=False), Fraction(budget.delta)
    left, all_of_it = limits.delta - here.total.delta, number_text(budget.delta)
    part = number_text(down(share), up=False)
    other = f"the other {number_text(up(whole - share))} lets many small charges add up to less"
    if 0 < share < whole and not here.charges:
        return f"names from the data need one: the first charge may have all of {all_of_it}, later ones {part}; {other}"
    if left < HAIR * whole:
        return f"none of {all_of_it} is left for answers that need one, as names from the data do"
    amount = number_text(down(left), up=False)
    if limits.delta < whole:
        return f"{amount} is left of the {part} for answers that need one, as names from the data do; {other}"
    return f"{amount} is left of {all_of_it} for answers that need one, as names from the data do"
