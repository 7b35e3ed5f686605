"""What a ledger admits, what is left, and how it is shared."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Self

from shortlist.accounting.checks import SAME, number_text, up
from shortlist.accounting.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from shortlist.exact.search import narrowed, neighbours
from shortlist.ledger.chain import State, relation_of
from shortlist.ledger.filter import (
    ZERO,
    Amounts,
    Balance,
    BudgetExceeded,
    Terms,
    balance,
    converted_epsilon,
    cost_of,
    fits,
    has_form,
    left_of,
)

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


def priced(terms: Terms, guarantee: Guarantee) -> Amounts:
    """What a guarantee costs, or the reason why it cannot be counted against these terms.

    Raises
    ------
    TypeError, ValueError
        with that reason.
    """
    cost = cost_of(guarantee, terms.order)
    if has_form(terms.limits, cost):
        return cost
    if cost.delta and not getattr(terms.budget, "delta", 0.0):
        reason = (
            "it has a delta, as names from the data need one, and this budget was made without. Make another ledger "
            "with a delta: `shortlist ledger init` with --delta 1e-5, or budget=ApproxDP(epsilon, 1e-5) in Python"
        )
    elif cost.delta and not terms.limits.delta:
        reason = "it has a delta, and this ledger keeps none for the charges' own"
    else:
        reason = guarantee.why_not() or "there is no such form"
        reason += "; for a budget with a delta, charge its pair at one fixed beforehand: guarantee.as_approx(1e-8)"
    raise ValueError(f"{guarantee} cannot be counted against {terms}: {reason}")


def admitted(terms: Terms, before: State, cost: Amounts) -> tuple[Amounts, Amounts]:
    """(what is booked, the sums after it) of a charge that fits.

    Raises
    ------
    BudgetExceeded
        if it does not.
    """
    limits = terms.limits_for(before.total, cost, first=not before.charges)
    amounts, total = cost.where(limits), (before.total + cost).where(limits)
    if fits(limits, total):
        return amounts, total
    spent, left = spent_of(terms, before.total), left_of_terms(terms, before.total)
    price = balance(cost.where(terms.limits), terms.order)
    here = Standing.of_state(terms, before)
    left_over = f"{here}{here.to_the_last_digit(price.epsilon)}{_about_delta(terms, before, cost)}"
    words = f"asked {price_text(price)}; {left_over}"
    raise BudgetExceeded(price, spent, left, words)


def check_neighbors(terms: Terms, before: State, unit: str) -> None:
    """Refuse a charge whose unit states another neighboring relation than the first charge that stated one.

    Raises
    ------
    ValueError
        with the reason. A ledger made with `allow_mixed_neighbors` refuses none.
    """
    stated, first = relation_of(unit), before.neighbors
    if terms.mixed or not stated or not first or stated == first:
        return
    raise ValueError(
        f'this ledger counts charges for neighbours="{first}", and this one is for "{stated}". Their sum bounds the '
        "loss of neither: a charge of epsilon under add-remove is up to 2 epsilon when a user is replaced, and one "
        "under replace promises nothing when a user is added or removed. Use another ledger for this one; or make a "
        "ledger with allow_mixed_neighbors=True, if the sum need not bound the loss. Nothing was charged"
    )


def after_charge(terms: Terms, before: State, *guarantees: Guarantee, unit: str = "") -> State:
    """Where a ledger would stand after a charge of the first that has room.

    It raises as `check_neighbors`, `countable` and `admitted` do.
    """
    check_neighbors(terms, before, unit)
    costs = [cost for _, cost in countable(terms, guarantees)]
    cost = costs[first_that_fits(terms, before, costs)]
    return replace(before, total=admitted(terms, before, cost)[1], charges=before.charges + 1)


def first_with_room(terms: Terms, before: State, guarantees: tuple[Guarantee, ...]) -> Guarantee:
    """The first of several true statements of one release that would be admitted, or else the first (Theorem 223)."""
    return next((one for one in guarantees if _has_room(terms, before, one)), guarantees[0])


def countable(terms: Terms, guarantees: Sequence[Guarantee]) -> list[tuple[Guarantee, Amounts]]:
    """Those of several true statements of one release that can be counted against these terms, with what they cost.

    Raises
    ------
    TypeError, ValueError
        with the reason of the first, if there is none.
    """
    costs = [(one, cost_of(one, terms.order)) for one in guarantees]
    counted = [(one, cost) for one, cost in costs if has_form(terms.limits, cost)]
    return counted or [(guarantees[0], priced(terms, guarantees[0]))]


def first_that_fits(terms: Terms, before: State, costs: Sequence[Amounts]) -> int:
    """Which of several costs is the first that would be admitted; the first of all, if none is."""
    return next((place for place, cost in enumerate(costs) if _fits(terms, before, cost)), 0)


def within(terms: Terms, before: State, budget: PureDP | ApproxDP | ZCDP) -> PureDP | ApproxDP | ZCDP:
    """The budget, or as much of it as is left where only rounding stands between the two.

    Ten times the float 0.1 is more than 1. Whoever divides a budget into decimals means what is left of it, and a
    release that is drawn for less keeps what it was asked to keep. Nothing is booked here, and no limit is moved.
    """
    if _has_room(terms, before, budget):
        return budget
    less = _with_delta_left(terms, before, budget)
    if not _has_room(terms, before, less):
        less = _with_size_left(terms, before, less)
    return less if _has_room(terms, before, less) else budget


def _with_delta_left(terms: Terms, before: State, budget: PureDP | ApproxDP | ZCDP) -> PureDP | ApproxDP | ZCDP:
    """The same with the delta that is left, where that is a hair less."""
    if isinstance(budget, PureDP):
        return budget
    limits = terms.limits_for(before.total, cost_of(budget, terms.order), first=not before.charges)
    left = down(limits.delta - before.total.delta)
    if not (1 - HAIR) * Fraction(budget.delta) <= Fraction(left) < Fraction(budget.delta):
        return budget
    return replace(budget, delta=left)


def _with_size_left(terms: Terms, before: State, budget: PureDP | ApproxDP | ZCDP) -> PureDP | ApproxDP | ZCDP:
    """The same with the epsilon, or the rho, that is left, where that is a hair less."""
    name = "rho" if isinstance(budget, ZCDP) else "epsilon"
    whole: float = getattr(budget, name)
    least = up((1 - HAIR) * Fraction(whole))

    def with_size(size: float) -> PureDP | ApproxDP | ZCDP:
        changed: dict[str, Any] = {name: size}
        return replace(budget, **changed)

    def too_much(size: float) -> bool:
        return not _has_room(terms, before, with_size(size))

    return budget if too_much(least) else with_size(narrowed(too_much, least, whole, neighbours)[0])


def _has_room(terms: Terms, before: State, guarantee: Guarantee) -> bool:
    cost = cost_of(guarantee, terms.order)
    return has_form(terms.limits, cost) and _fits(terms, before, cost)


def _fits(terms: Terms, before: State, cost: Amounts) -> bool:
    limits = terms.limits_for(before.total, cost, first=not before.charges)
    return fits(limits, (before.total + cost).where(limits))


def price_text(price: Balance) -> str:
    """A cost in words, by the first rule that counts it."""
    rules = {"epsilon": price.epsilon, "rho": price.rho, "Renyi divergence": price.renyi}
    name, value = next((name, value) for name, value in rules.items() if value is not None)
    return f"{name} {number_text(value)}" + (f" and delta {number_text(price.delta)}" if price.delta else "")


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


def spent_of(terms: Terms, total: Amounts) -> Balance:
    """The filter's sums, rounded up."""
    return balance(total, terms.order)


def left_of_terms(terms: Terms, total: Amounts) -> Balance:
    """What each rule still admits, rounded down."""
    limits = terms.limits_for(total, ZERO, first=False)
    return balance(left_of(limits, total.where(limits)), terms.order, left=True)


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
