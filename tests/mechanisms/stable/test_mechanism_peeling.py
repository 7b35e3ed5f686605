"""Stable sets that are filled up by rounds of the exponential mechanism (Theorem 273)."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from shortlist import ZCDP, ApproxDP, Scores
from shortlist.audit import Law, certify, prove_mechanism
from shortlist.mechanisms import OneshotTopK, StableTopK
from shortlist.privacy import BoundedRange, PureDP, compose
from shortlist.testing import seeded
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import of_kind, present

BUDGETS = [ApproxDP(1.0, 0.05), ZCDP(0.5, 0.05)]


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_the_budget_is_kept_on_a_box_and_half_of_it_is_not_enough(k, budget):
    mechanism = StableTopK(k=k, budget=budget, fill="peeling", limit=2)
    assert prove_mechanism(mechanism, d=3).holds
    less = replace(budget, delta=0.02)
    assert not prove_mechanism(mechanism, d=3, claim=less).holds


def test_each_label_at_the_price_of_all_is_refuted(monkeypatch):
    """The planted bug, one reading of the paper's algorithm: every round has all of rho that is for filling up.

    Three rounds then have noise that is too small by sqrt(3).
    """
    mechanism, right = StableTopK(k=3, budget=ZCDP(0.5, 0.01), fill="peeling", limit=3), OneshotTopK._scale
    assert prove_mechanism(mechanism, d=5, top=1).holds
    monkeypatch.setattr(OneshotTopK, "_scale", lambda self, scores: right(self, scores) / Fraction(17, 10))
    assert not prove_mechanism(mechanism, d=5, top=1, claim=mechanism.charge).holds


@full_size
@pytest.mark.parametrize("question", [{"monotone": True}, {"sensitivity": 0.5}])
def test_draws_follow_the_certified_law(question):
    mechanism = StableTopK(k=2, budget=ZCDP(1.0, 0.3), fill="peeling", limit=3)
    counts = [9, 7, 4, 0]
    law = of_kind(Law, certify(mechanism, Scores(counts, **question))).chances
    source, drawn = seeded(4), Counter[Any]()
    for _ in range(sized(1500, full=6000)):
        release = mechanism.release(counts, rng=source, public=True, **question)
        drawn[release.k, "stable" in present(release.used), tuple(sorted(release.items or []))] += 1  # type: ignore[type-var]
    assert set(drawn) <= set(law)
    loud = replace(mechanism, budget=ZCDP(4.0, 0.3))
    wrong = of_kind(Law, certify(loud, Scores(counts, **question))).chances
    assert_law([drawn[one] for one in law], [float(p.mid()) for p in law.values()],
               wrong=[float(wrong[one].mid()) for one in law])  # fmt: skip
    right = sum(float(p.mid()) for (_, _, members), p in law.items() if members == (0, 1))
    assert mechanism.success_probability(counts, **question) == pytest.approx(right, abs=1e-8)


def test_half_of_the_budget_pays_for_all_rounds():
    pure = StableTopK(k=4, budget=BUDGETS[0], fill="peeling")
    assert pure._parts.fill == PureDP(0.5)
    assert pure._parts.cost == ApproxDP(0.25, 0.05)  # nothing of delta is needed for filling up
    zcdp = StableTopK(k=4, budget=BUDGETS[1], fill="peeling")
    assert zcdp._parts.fill == ZCDP(0.25)
    assert present(zcdp.charge.as_zcdp()).rho <= 0.5
    assert zcdp.charge == compose(BoundedRange(present(zcdp._parts.gap)), zcdp._parts.cost, ZCDP(0.25))
    assert zcdp.name == "stable top-4, filled up by peeling, with the gaussian test"
    assert eval(repr(zcdp), {"StableTopK": StableTopK, "ZCDP": ZCDP}) == zcdp


def test_it_needs_a_public_list_and_a_fixed_k():
    mechanism = StableTopK(k=2, epsilon=1.0, delta=1e-6, fill="peeling")
    with pytest.raises(ValueError, match="must be public"):
        mechanism.release({"a": 9, "b": 2, "c": 1}, monotone=True)
    assert len(mechanism.release({"a": 9, "b": 2, "c": 1}, monotone=True, public=True)) == 2
    wrong: list[dict[str, Any]] = [{"fill": "peeling"}, {"k": 2, "fill": "all"}, {"k": 2, "fill": 1}]
    for words in wrong:
        with pytest.raises(ValueError, match="fill must be"):
            StableTopK(epsilon=1.0, delta=1e-6, **words)
