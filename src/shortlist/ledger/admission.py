"""Whether a charge is admitted where a ledger stands, in exact numbers; and how it stands, in floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from shortlist.accounting.checked_numbers import up
from shortlist.accounting.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from shortlist.exact.crossing import narrowed, neighbours
from shortlist.ledger.chain import State, relation_of
from shortlist.ledger.filter import ZERO, Amounts, Balance, BudgetExceeded, balance, cost_of, fits, has_form, left_of
from shortlist.ledger.standing import HAIR, Standing, down
from shortlist.ledger.terms import Terms
from shortlist.pages.rounding import number_text


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
