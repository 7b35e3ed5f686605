"""Lists drawn in one round: their promise on a box of neighbours, in certified arithmetic."""

import pytest

from shortlist import ZCDP, PureDP
from shortlist.audit import prove_mechanism
from shortlist.mechanisms import GuardedListTopK, OrderedCanonicalTopK

kind = pytest.mark.parametrize("monotone", [False, True], ids=["general", "monotone"])


@kind
@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
def test_ordered_canonical_lists(noise, monotone):
    mechanism = OrderedCanonicalTopK(k=2, epsilon=1.0, noise=noise)
    proof = prove_mechanism(mechanism, d=4, top=2 if noise == "gumbel" else 1, monotone=monotone)
    assert proof.holds, proof.violation
    assert proof.least_log_ratio > 0.6
    assert noise != "gumbel" or 0.99 < proof.spread <= 1 + 1e-9
    assert not prove_mechanism(mechanism, d=4, top=1, monotone=monotone, claim=PureDP(0.5)).holds


def test_ordered_canonical_lists_under_zcdp():
    proof = prove_mechanism(OrderedCanonicalTopK(k=2, budget=ZCDP(0.2)), d=4, top=1, monotone=True)
    assert proof.holds, proof.violation
    assert proof.renyi <= 0


@kind
def test_guarded_lists_with_the_way_they_went(monotone):
    mechanism = GuardedListTopK(k=2, epsilon=1.0)
    proof = prove_mechanism(mechanism, d=4, top=1, monotone=monotone)
    assert proof.holds, proof.violation
    assert proof.least_log_ratio > 0.8
    assert not prove_mechanism(mechanism, d=4, top=1, monotone=monotone, claim=PureDP(0.5)).holds


@kind
def test_guarded_lists_of_few_candidates(monotone):
    """One-shot alone, with all of epsilon."""
    mechanism = GuardedListTopK(k=2, epsilon=1.0)
    proof = prove_mechanism(mechanism, d=3, top=2, monotone=monotone)
    assert proof.holds, proof.violation
    assert not prove_mechanism(mechanism, d=3, top=2, monotone=monotone, claim=PureDP(0.9)).holds


def test_guarded_lists_whose_order_wins():
    """At a large epsilon the list wins most of the time."""
    mechanism = GuardedListTopK(k=2, epsilon=8.0)
    proof = prove_mechanism(mechanism, d=4, top=2, monotone=True)
    assert proof.holds, proof.violation
    assert not prove_mechanism(mechanism, d=4, top=2, monotone=True, claim=PureDP(4.0)).holds
