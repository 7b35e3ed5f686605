"""A budget divided by n: n charges are admitted, one more is not, nor n that are a hair larger."""

import math
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import ApproxDP, BudgetExceeded, Ledger, PureDP
from shortlist.cli.ledger import decimal_of
from shortlist.ledger.filter import ZERO, State, Terms, admit, cost_of
from shortlist.pages.standing import share_of
from shortlist.privacy import ZCDP, BoundedRange
from tests.helpers.typed import present

TERMS = {
    "pure": (PureDP(3.0), None, None),
    "small": (PureDP(0.1), None, None),
    "zcdp": (ZCDP(0.5), None, None),
    "zcdp with a delta": (ZCDP(0.03, 1e-6), None, None),
    "approximate": (ApproxDP(3.0, 1e-6), None, None),
    "all for conversion": (ApproxDP(3.0, 1e-6), 1.0, None),
    "none for conversion": (ApproxDP(3.0, 1e-6), 0.0, None),
    "by order": (ApproxDP(3.0, 1e-6), None, 9.36),
    "large": (ApproxDP(10.0, 1e-6), None, None),
}


def charged(terms, here, guarantee, times=1):
    """The state after so many charges, by the ledger's own admission."""
    for _ in range(times):
        total = admit(terms, here, cost_of(guarantee, terms.order))[1]
        here = replace(here, total=total, charges=here.charges + 1)
    return here


def start(terms):
    return State(0, "", ZERO.where(terms.limits), 0)


def a_hair_more(share):
    name = "rho" if isinstance(share, ZCDP) else "epsilon"
    return replace(share, **{name: math.nextafter(getattr(share, name), math.inf)})


def check_divided(terms, here, releases, delta=0.0):
    share = share_of(terms, here, releases, delta)
    full = charged(terms, here, share, releases)
    with pytest.raises(BudgetExceeded):
        charged(terms, full, share)
    with pytest.raises(BudgetExceeded):
        charged(terms, here, a_hair_more(share), releases)
    return share


@pytest.mark.parametrize("releases", [1, 2, 3, 7, 13, 104])
@pytest.mark.parametrize("kind", TERMS)
def test_n_charges_are_admitted_and_no_more(kind, releases):
    terms = Terms.of(*TERMS[kind])
    check_divided(terms, start(terms), releases)


@pytest.mark.parametrize("seed", range(12))
def test_so_of_ledgers_that_are_partly_spent(seed):
    rng = np.random.default_rng(seed)
    terms = Terms.of(*list(TERMS.values())[seed % len(TERMS)])
    here = start(terms)
    limit = float(present(terms.limits.epsilon or terms.limits.curve))
    for _ in range(int(rng.integers(1, 5))):
        spent = [PureDP, BoundedRange][int(rng.integers(2))](limit * float(rng.uniform(0.001, 0.1)))
        here = charged(terms, here, spent)
    check_divided(terms, here, int(rng.integers(1, 40)))


@pytest.mark.parametrize("kind", ["zcdp with a delta", "approximate", "none for conversion", "by order"])
def test_each_may_have_a_delta_of_its_own(kind):
    terms = Terms.of(*TERMS[kind])
    share = check_divided(terms, start(terms), 13, delta=1e-8)
    assert share.delta == 1e-8
    with pytest.raises(ValueError, match="delta must be at most"):
        share_of(terms, start(terms), 13, 1e-6)


def test_the_rule_is_the_one_that_admits_more():
    terms = Terms.of(ApproxDP(3.0, 1e-6), None, None)
    few, many = share_of(terms, start(terms), 13, 0.0), share_of(terms, start(terms), 104, 0.0)
    assert few == PureDP(math.nextafter(3 / 13, 0.0) if Fraction(3 / 13) * 13 > 3 else 3 / 13)
    assert isinstance(many, ZCDP)
    assert present(cost_of(PureDP(3 / 104), None).curve) < Fraction(many.rho), "what rule (a) would admit fits into it"
    only = Terms.of(ApproxDP(3.0, 1e-6), 0.0, None)
    assert isinstance(share_of(only, start(only), 104, 0.0), PureDP), "rule (b) has no delta to convert with"


def test_all_of_delta_goes_to_one_release_of_an_empty_ledger():
    terms = Terms.of(ApproxDP(3.0, 1e-6), None, None)
    assert check_divided(terms, start(terms), 1, delta=1e-6) == ApproxDP(3.0, 1e-6)
    assert check_divided(terms, start(terms), 2, delta=2.5e-7).delta == 2.5e-7
    begun = charged(terms, start(terms), PureDP(0.1))
    with pytest.raises(ValueError, match="at most 5e-7"):
        share_of(terms, begun, 1, 1e-6)


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.01), ApproxDP(1.0, 1e-6)])
@pytest.mark.parametrize("ordered", [False, True])
def test_releases_that_spend_a_share_each_are_all_admitted(tmp_path, budget, ordered):
    ledger = Ledger(tmp_path / "budget.db", budget=budget)
    ledger.charge(PureDP(0.01))
    share = ledger.plan(releases=3)
    for _ in range(3):
        sl.top_k([9, 7, 5, 3, 1], k=2, budget=share, ordered=ordered, monotone=True, ledger=ledger)
    with pytest.raises(BudgetExceeded):
        sl.top_k([9, 7, 5, 3, 1], k=2, budget=share, ordered=ordered, monotone=True, ledger=ledger)
    assert ledger.standing.releases == 4


def test_nothing_is_divided_of_nothing_and_among_nobody(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", budget=PureDP(1.0))
    wrongs: tuple[Any, ...] = (0, -1, 1.5, "13", True)
    for wrong in wrongs:
        with pytest.raises(ValueError, match="releases must be a whole number"):
            ledger.plan(wrong)
    ledger.charge(PureDP(1.0))
    with pytest.raises(ValueError, match="nothing is left to divide"):
        ledger.plan(13)


@pytest.mark.parametrize(
    ("whole", "releases"), [(1.0, 5), (1.0, 10), (0.3, 3), (0.6, 3), (3.0, 15), (1.2, 4), (0.7, 7)]
)
@pytest.mark.parametrize("kind", [PureDP, ZCDP])
def test_a_decimal_share_can_be_asked_for_as_often_as_planned_and_never_overdraws(kind, whole, releases, tmp_path):
    ledger = Ledger(tmp_path / "one.db", budget=kind(whole))
    share = ledger.plan(releases)
    (name,) = {"epsilon", "rho"} & {field.name for field in fields(share)}
    size = decimal_of(getattr(share, name), releases)
    assert len(repr(size)) <= 5
    booked = Fraction(0)
    for _ in range(releases):
        drawn = ledger.within(kind(size))
        ledger.charge(drawn)
        booked += Fraction(getattr(drawn, name))
    assert (1 - Fraction(1, 2**39)) * Fraction(whole) <= booked <= Fraction(whole)
    with pytest.raises(BudgetExceeded):
        ledger.charge(ledger.within(kind(size)))


@pytest.mark.parametrize(
    ("size", "releases"), [(1 / 3, 3), (3 / 13, 13), (0.2 - 1e-14, 5), (0.19999999999999998, 10**6)]
)
def test_a_share_that_is_no_decimal_or_would_not_be_admitted_so_often_stays_as_it_is(size, releases):
    assert decimal_of(size, releases) == size


def test_a_share_that_is_a_hair_more_than_a_decimal_is_asked_for_as_that():
    assert decimal_of(0.30000000000000004, 3) == 0.3
