"""A plan speaks of the mechanisms as they are when nothing but the budget is said."""

import math

import pytest

import shortlist as sl
from shortlist.mechanisms import CanonicalLimitedDomain, LimitedDomainTopK, NamesChoice, StableTopK
from shortlist.mechanisms.limited_domain.entry import rates
from shortlist.planning.limited_domain_search import least_epsilon_of_a_list
from shortlist.planning.search import TYPICAL
from shortlist.planning.shapes import shaped

BUILT = {
    "canonical-limited-domain": CanonicalLimitedDomain,
    "limited-domain": LimitedDomainTopK,
    "stable": StableTopK,
    "names-choice": NamesChoice,
}


@pytest.mark.parametrize("budget", ["approx", "zcdp"])
def test_what_a_plan_promises_without_a_public_list_is_the_mechanisms_own_law(budget):
    k, users, delta, epsilon = 3, 150, 1e-2, 0.5
    values = shaped("zipf:1.1", 40, users, k)
    found = sl.plan(
        k=k, items=40, users=users, shape="zipf:1.1", epsilon=epsilon, delta=delta, domain="unknown", budget=budget
    )
    assert {one.method for one in found.rows} == set(BUILT) - ({"stable"} if budget == "zcdp" else set())
    for one in found.rows:
        paid = sl.ApproxDP(epsilon, delta) if budget == "approx" else sl.ZCDP(one.rho, delta / 2)
        built = BUILT[one.method](k=k, budget=paid)
        assert one.top == pytest.approx(built.success_probability(values, monotone=True), abs=1e-6), one
        assert 0.005 < one.top < 0.99, one
        if one.method != "stable":
            assert one.recall == pytest.approx(built.expected_recall(values, monotone=True), abs=1e-6), one


@pytest.mark.parametrize(("k", "delta", "power"), [(1, 1e-4, 3)])
def test_the_epsilon_of_a_list_was_tried_with_the_mechanisms_own_parameters(k, delta, power):
    """A made-up race that lives on its bar: what a bar held in the search would reach, the mechanism's does not."""

    def race(e, bar):
        return -math.expm1(-5 * e * (bar / delta) ** power)

    found = least_epsilon_of_a_list(race, k, delta, 0.9, ((1.0, TYPICAL), 0.7), width=1e-3, most=1e4)
    assert race(*rates(k, found, delta)) >= 0.9
