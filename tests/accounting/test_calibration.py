"""The least noise that fits: it fits, and hardly any less would."""

from __future__ import annotations

import math

import pytest

from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, GumbelDP, PureDP, calibrate, compose
from tests.helpers.inside import largest_range
from tests.helpers.typed import present

FAMILIES = {
    "one selection": BoundedRange,
    "five rounds": lambda each: BoundedRange(each).repeat(5),
    "five hundred rounds": lambda each: BoundedRange(each).repeat(500),
    "permute and flip": PureDP,
    "with a delta of its own": lambda each: compose(BoundedRange(each), ApproxDP(0.0, 1e-7)),
    "values": lambda mu: GumbelDP(mu, k=4),
    "values both ways": lambda mu: GumbelDP(mu, k=4, monotone=False),
}


BUDGETS = [ApproxDP(1.0, 1e-6), ApproxDP(0.05, 1e-3), ApproxDP(0.0, 0.01)]
SLOW = {"five rounds": 0.05, "with a delta of its own": 0.05, "values both ways": 0.05}
"""Families whose case of this epsilon is slow and says no more than its neighbours: left to the long run."""
CASES = [
    pytest.param(family, budget, id=f"{family}-{budget}", marks=[pytest.mark.long] if slow else [])
    for family in FAMILIES
    for budget in BUDGETS
    for slow in [budget.epsilon == SLOW.get(family, 2.0) or family == "five hundred rounds"]
]


@pytest.mark.parametrize(("family", "budget"), CASES)
def test_the_parameter_fits_and_a_little_more_does_not(family, budget):
    make = FAMILIES[family]
    found = calibrate(make, budget)
    assert budget.excess(make(found)) <= 0
    assert budget.excess(make(found * 1.001)) > 0
    assert make(found).delta_at(budget.epsilon) <= budget.delta * (1 + 1e-4)


def test_zcdp_and_pure_budgets_have_closed_forms():
    ten = calibrate(lambda each: BoundedRange(each).repeat(10), ZCDP(0.1))
    assert ten == pytest.approx(largest_range(0.1, 10), rel=1e-9)
    pure = calibrate(lambda each: PureDP(each).repeat(10), ZCDP(0.1))
    assert pure * math.tanh(pure / 2) == pytest.approx(0.01, rel=2e-9)
    assert calibrate(lambda each: BoundedRange(each).repeat(10), PureDP(1.0)) == pytest.approx(0.1, rel=1e-9)
    found = calibrate(lambda each: BoundedRange(each).repeat(3), PureDP(1.0))
    assert present(BoundedRange(found).repeat(3).as_pure()).epsilon <= 1.0


@pytest.mark.parametrize(("epsilon", "scale"), [(0.5, 30.903), (1, 16.701), (2, 9.122), (4, 5.087), (8, 2.934)])
def test_ten_gumbel_values_need_this_scale(epsilon, scale):
    mu = calibrate(lambda each: GumbelDP(each, k=10), ApproxDP(epsilon, 1e-5))
    assert round(1 / mu, 3) == scale


def test_a_gumbel_value_is_refused_by_zcdp_and_pure_budgets_with_the_reason():
    for budget in (ZCDP(0.1), PureDP(1.0)):
        with pytest.raises(ValueError, match=r"no parameter fits the budget .*exponential tail.*ApproxDP"):
            calibrate(GumbelDP, budget)


def test_a_delta_that_the_budget_does_not_have_is_refused():
    with pytest.raises(ValueError, match="may reveal everything"):
        calibrate(lambda each: ApproxDP(each, 1e-6), ZCDP(0.1))
    found = calibrate(lambda each: ApproxDP(each, 1e-6), ZCDP(0.1, delta=1e-6))
    assert found == pytest.approx(calibrate(PureDP, ZCDP(0.1)), rel=1e-9)


def test_a_cost_that_does_not_depend_on_the_parameter_is_refused():
    with pytest.raises(ValueError, match="no parameter fits"):
        calibrate(lambda each: PureDP(2.0), PureDP(1.0))
