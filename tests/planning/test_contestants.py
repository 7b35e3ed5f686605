"""A plan speaks of the mechanisms as they are when nothing but the budget is said."""

import pytest

import shortlist as sl
from shortlist.mechanisms import CanonicalLimitedDomain, LimitedDomainTopK, StableTopK
from shortlist.planning.shapes import shaped

BUILT = {
    "canonical-limited-domain": CanonicalLimitedDomain,
    "limited-domain": LimitedDomainTopK,
    "stable": StableTopK,
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
