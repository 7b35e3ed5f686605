"""All of delta for the charges' own: what rule (a) may do with it, and why only the first charge may choose so."""

import math
from fractions import Fraction
from functools import cache

import pytest

from shortlist import ApproxDP, BudgetExceeded, Ledger, PureDP
from shortlist.ledger.filter import ZERO, Amounts, Terms, cost_of, fits
from shortlist.privacy import ZCDP, BoundedRange, ExPost, LedgerError
from tests.helpers.typed import present
from tests.ledger.test_filter import MENUS, approx, gaussian, pure, ranged, worst

BUDGET = ApproxDP(1.0, 0.05)


def in_order(admits, menu, epsilon, rounds):
    """sup of H_epsilon over adaptive adversaries, as `worst`, where the rule may look at which charge was the first."""
    allowed = cache(lambda taken: admits([menu[i] for i in taken]))

    @cache
    def value(ratio, taken):
        best = max(0.0, 1 - math.exp(epsilon) * ratio)
        if len(taken) == rounds:
            return best
        for i, (_, law) in enumerate(menu):
            more = (*taken[:1], *sorted((*taken[1:], i)))
            if allowed(more):
                best = max(best, sum(p * value(round(ratio * q / p, 13), more) for p, q in law if p))
        return best

    return value(1.0, ())


def by_the_first(terms):
    """The ledger's own rule: the first charge decides which limits hold."""

    def admits(charges):
        total = ZERO.where(terms.limits)
        for place, (guarantee, _) in enumerate(charges):
            cost = cost_of(guarantee, terms.order)
            limits = terms.limits_for(total, cost, first=place == 0)
            total = (total + cost).where(limits)
            if not fits(limits, total):
                return False
        return True

    return admits


def by_any(terms):
    """The WRONG rule: whenever it fits, rule (a) may use all of delta and rule (b) its share."""
    whole = Amounts(terms.limits.epsilon, None, Fraction(terms.budget.delta))

    def admits(charges):
        total = sum((cost_of(guarantee, terms.order) for guarantee, _ in charges), ZERO)
        return any(fits(limits, total.where(limits)) for limits in (terms.limits, whole))

    return admits


def the_menu(terms):
    """Some rounds that show which way it goes, and then a reveal, or all that is left of rho."""
    rest = float(terms.limits.curve - 4 * present(cost_of(BoundedRange(0.4), None).curve)) * 0.999
    return [ranged(0.4, 0.7), gaussian(rest), approx(0.0, 0.05), approx(0.0, 0.025)]


def test_a_ledger_that_lets_any_charge_choose_is_overdrawn():
    terms = Terms.of(BUDGET, 0.5, None)
    assert worst(by_any(terms), the_menu(terms), 1.0, rounds=6) == pytest.approx(0.0521, abs=1e-4)


@pytest.mark.parametrize("menu", ["the counterexample", "one sided", "the choice"])
@pytest.mark.parametrize("split", [0.5, 0.9])
def test_no_adversary_exceeds_the_budget_if_the_first_charge_chooses(menu, split):
    terms = Terms.of(BUDGET, split, None)
    menus = {**MENUS, "the choice": the_menu(Terms.of(BUDGET, 0.5, None))}
    assert in_order(by_the_first(terms), [*menus[menu], approx(0.0, 0.05)], 1.0, rounds=4) <= 0.05 * (1 + 1e-9)


def test_rule_a_alone_reaches_the_whole_delta_and_no_more():
    admits = by_the_first(Terms.of(BUDGET, 0.5, None))
    assert in_order(admits, [approx(0.5, 0.05), pure(0.5), approx(0.0, 0.01)], 1.0, rounds=3) == pytest.approx(0.05)


def test_a_first_charge_may_have_all_of_delta(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", budget=ApproxDP(3.0, 1e-6))
    ledger.charge(ApproxDP(1.0, 1e-6))
    assert str(ledger) == (
        "booked: epsilon 1 of 3 at delta 1e-6, 1 release; a charge of up to epsilon 2 would still be admitted\n"
        "delta: none of 1e-6 is left for answers that need one, as names from the data do"
    )
    assert ledger.remaining.rho is None, "rule (b) is closed"
    with pytest.raises(BudgetExceeded, match="its delta may be at most 0"):
        ledger.charge(ApproxDP(0.1, 1e-12))
    with pytest.raises(BudgetExceeded):
        ledger.charge(ZCDP(1e-6))
    ledger.reserve(PureDP(2.0), refundable=("pure",)).refund(PureDP(1.0))
    Ledger(ledger.path).charge(PureDP(1.0))
    assert Ledger(ledger.path).verify() == 4
    assert ledger.standing.left == 0.0


def test_a_later_charge_may_not_choose_whatever_was_given_back(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", budget=ApproxDP(3.0, 1e-6))
    ledger.reserve(PureDP(0.5), refundable=("pure", "zcdp")).refund(ExPost(0.5, 0.0))
    assert ledger.spent.epsilon == 0.0
    with pytest.raises(BudgetExceeded, match=r"at most 5e-7, for of 1e-6 the share 0\.5 is kept .* split=0"):
        ledger.charge(ApproxDP(1.0, 1e-6))
    ledger.charge(ApproxDP(1.0, 5e-7))
    with pytest.raises(BudgetExceeded):
        ledger.charge(ApproxDP(0.1, 1e-9))


@pytest.mark.parametrize(("split", "delta"), [(0.0, 1e-6), (1.0, 0.0)])
def test_a_ledger_keeps_the_split_it_was_asked_for(tmp_path, split, delta):
    ledger = Ledger(tmp_path / "budget.db", budget=ApproxDP(3.0, 1e-6), split=split)
    assert ledger.remaining.delta == delta
    ledger.charge(PureDP(0.1))
    if delta:
        ledger.charge(ApproxDP(1.0, delta))
    else:
        with pytest.raises(ValueError, match="keeps none"):
            ledger.charge(ApproxDP(1.0, 1e-9))


def test_a_chain_in_which_a_later_charge_chose_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "budget.db"
    ledger = Ledger(path, budget=ApproxDP(3.0, 1e-6))
    ledger.charge(PureDP(0.1))
    right = Terms.limits_for
    monkeypatch.setattr(Terms, "limits_for", lambda terms, before, cost, first: right(terms, before, cost, first=True))
    ledger.charge(ApproxDP(1.0, 1e-6))
    monkeypatch.undo()
    with pytest.raises(LedgerError, match="entry 2 breaks the rule"):
        Ledger(path)
