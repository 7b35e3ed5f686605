"""How a ledger stands in one number, for people: what is booked of the budget, and the largest charge that fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self

from shortlist.accounting.checked_numbers import up
from shortlist.accounting.guarantees import ZCDP, ApproxDP, PureDP
from shortlist.exact.crossing import narrowed, neighbours
from shortlist.ledger.chain import State
from shortlist.ledger.filter import ZERO, Amounts, cost_of, fits, left_of
from shortlist.ledger.terms import Terms, converted_epsilon
from shortlist.pages.rounding import number_text

TINY, HUGE = 2.0**-200, 2.0**1000
"""What is left below or above is not looked for."""
HAIR = Fraction(1, 2**40)
"""By which part a release may exceed what is left and still be meant: ten times the float 0.1 is more than 1."""


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
        budget, left = terms.budget, 0.0 if here.closed else largest_pure(terms, here)
        if isinstance(budget, ZCDP):
            booked = up(here.total.curve or Fraction(0))
            return cls("rho", booked, budget.rho, budget.delta, here.charges, left)
        delta = budget.delta if isinstance(budget, ApproxDP) else 0.0
        return cls("epsilon", _booked_epsilon(terms, here.total), budget.epsilon, delta, here.charges, left)

    @property
    def share(self) -> float:
        """How much of the budget is booked, from 0 to 1."""
        return min(1.0, self.booked / self.of) if self.of else 1.0

    def as_json(self) -> dict[str, Any]:
        """For programs, with the words for people."""
        return {
            "currency": self.currency, "booked": self.booked, "of": self.of, "delta": self.delta,
            "releases": self.releases, "left": self.left, "words": str(self),
        }  # fmt: skip

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
        if self.used_up:
            return "no further charge would be admitted"
        return f"a charge of up to epsilon {self.left_text} would still be admitted"

    @property
    def used_up(self) -> bool:
        """Whether nothing is left, or what rounding left over."""
        return not self.left or (self.currency == "epsilon" and self.left < HAIR * Fraction(self.of))

    @property
    def left_text(self) -> str:
        """The epsilon that is left, in four digits: one that a release may ask for (`Ledger.within`)."""
        if self.used_up:
            return "nothing"
        text = number_text(self.left, up=False, same=True)
        meant = (1 - HAIR) * Fraction(float(text)) <= Fraction(self.left)
        return text if meant else number_text(self.left, up=False)

    def to_the_last_digit(self, epsilon: float | None) -> str:
        """All digits of what is left, where only they tell it from the `epsilon` of a charge."""
        close = epsilon is not None and self.left and number_text(epsilon) == self.left_text
        return f" (to the last digit: {self.left!r})" if close else ""


DELTA = "\ndelta: "
"""How the line about delta begins."""


def in_words(terms: Terms, closed: str, here: State) -> str:
    """All of it: that it is closed, if it is, how it stands, who else has to agree; and on a line of its own delta."""
    standing, delta = Standing.of_state(terms, here), _delta_in_words(terms, here)
    stands = "; ".join(filter(None, [closed, str(standing), terms.mixed_words, "" if closed else terms.approval_words]))
    return f"{stands}{DELTA}{delta}" if delta else stands


def _delta_in_words(terms: Terms, here: State) -> str:
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


def _booked_epsilon(terms: Terms, total: Amounts) -> float:
    """The epsilon of what is booked, by the rule that says less; rounded up, and never above the budget's."""
    most = terms.budget.epsilon if isinstance(terms.budget, PureDP | ApproxDP) else math.inf
    sums = [most]
    if total.epsilon is not None:
        sums.append(up(total.epsilon))
    limits = terms.limits_for(total, ZERO, first=False)
    if isinstance(terms.budget, ApproxDP) and limits.curve and total.curve is not None and total.curve <= limits.curve:
        slack = Fraction(terms.split or 0) * Fraction(terms.budget.delta)
        sums.append(converted_epsilon(total.curve, slack, terms.order))
    return min(sums)


def largest_pure(terms: Terms, here: State) -> float:
    """The largest epsilon of a pure charge that the filter admits now; 0 if there is none."""
    limits = terms.limits_for(here.total, ZERO, first=False)
    return largest_charge(limits, here.total.where(limits), 1, lambda epsilon: cost_of(PureDP(epsilon), terms.order))


def largest_charge(limits: Amounts, total: Amounts, times: int, cost: Callable[[float], Amounts]) -> float:
    """The largest epsilon of which so many charges are admitted after these sums; 0 if there is none.

    `cost` rises with epsilon, which is what it costs by rule (a).
    """
    left = left_of(limits, total)

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
    return low if high >= HUGE else narrowed(too_much, low, high, neighbours)[0]


def down(exact: Fraction) -> float:
    """The largest float that is not above it."""
    return 0.0 - up(-exact)
