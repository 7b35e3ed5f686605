"""What the box must refute: calibrations with less noise than was proved, and claims of too small a delta."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from flint import arb

from shortlist import ZCDP, ApproxDP, PureDP, Scores
from shortlist.audit import Law, certify, neighbours, prove, prove_mechanism, prove_pate
from shortlist.audit.prove import epsilons_of
from shortlist.mechanisms import (
    CanonicalLimitedDomain,
    CanonicalTopK,
    ExponentialWithGap,
    GuardedTopK,
    GumbelTopKValues,
    HybridSparseVector,
    HybridTopK,
    JointTopK,
    LargeGap,
    LimitedDomainTopK,
    MeasuredTopK,
    Mechanism,
    NoisyMax,
    OneshotTopK,
    SparseVector,
    StableTopK,
    TopKWithGaps,
    gaps,
)
from shortlist.mechanisms import gaps as gumbel_values
from shortlist.mechanisms import lists as joint
from shortlist.mechanisms import race as oneshot
from shortlist.mechanisms import sets as canonical
from shortlist.mechanisms import stable as large_gap
from shortlist.mechanisms import unknown_domain as limited_domain
from shortlist.mechanisms.stable import Parts
from shortlist.pate import MultiLabelPATE
from shortlist.privacy import GumbelDP, ThinnedRange
from tests.helpers.support import FULL, full_size, sized
from tests.helpers.typed import of_kind

# Claims


def disclosing(p):
    """Somebody who is there is named with probability p, and nobody else ever is."""

    def law(x):
        chance = arb(p) if x == (1,) else arb(0)
        return Law({"named": chance, "silent": 1 - chance})

    return law


@pytest.mark.parametrize(
    ("claim", "p"),
    [
        (ApproxDP(3.0, 0.05), 0.5),
        (ApproxDP(5.0, 0.01), 0.5),
        (ApproxDP(0.7, 0.05), 0.2),
        (ApproxDP(0.1, 0.002), 0.01),
        (ApproxDP(1.0, 1e-6), 2e-4),
        (ApproxDP(1.0, 1e-9), 2e-9),
        (ApproxDP(800.0, 0.05), 0.5),
        (ZCDP(0.5, 0.05), 0.06),
        (ZCDP(0.5, 1e-9), 2e-9),
        (PureDP(1.0), 1e-9),
    ],
    ids=str,
)
def test_what_is_disclosed_outright_must_fit_into_delta(claim, p):
    pairs = [((0,), (1,))]
    assert str(prove(disclosing(p), pairs, claim)).startswith("violated")
    allowed = getattr(claim, "delta", 0.0)
    assert prove(disclosing(allowed), pairs, claim).holds


@pytest.mark.parametrize(
    ("mechanism", "claim"),
    [
        (StableTopK(k=1, budget=ApproxDP(3.0, 0.45)), ApproxDP(3.0, 0.05)),
        (LimitedDomainTopK(k=1, budget=ApproxDP(3.0, 0.4), limit=2), ApproxDP(3.0, 0.05)),
        (LimitedDomainTopK(k=1, budget=ApproxDP(3.0, 0.4), limit=2), ZCDP(0.5, 0.05)),
        (StableTopK(k=1, budget=ApproxDP(1.0, 9e-4)), ApproxDP(1.0, 1e-6)),
    ],
    ids=str,
)
def test_a_delta_that_is_too_small_is_refuted(mechanism, claim):
    assert prove_mechanism(mechanism, d=2).holds
    assert str(prove_mechanism(mechanism, d=2, claim=claim)).startswith("violated")


@pytest.mark.parametrize(
    ("budget", "claim"),
    [
        (ApproxDP(4.0, 1e-2), ApproxDP(4.0, 2e-3)),
        (ApproxDP(0.1, 1e-4), ApproxDP(0.1, 4e-5)),
        (ApproxDP(4.0, 1e-2), GumbelDP(1.0)),
    ],
    ids=str,
)
def test_a_value_is_compared_at_the_epsilons_of_its_claim(budget, claim):
    mechanism = GumbelTopKValues(k=1, budget=budget)
    assert prove_mechanism(mechanism, d=2, top=1).holds
    assert not prove_mechanism(mechanism, d=2, top=1, claim=claim).holds


def test_a_claim_is_compared_at_its_own_epsilon_and_where_little_of_it_is_left():
    for claim in (PureDP(1.0), ApproxDP(3.0, 0.05), ApproxDP(0.0, 0.1)):
        assert claim.epsilon in epsilons_of(claim)
    for curve in (ZCDP(0.5), ZCDP(0.5, 0.05), GumbelDP(1.0)):
        lost = getattr(curve, "delta", 0.0)
        assert {curve.epsilon_at(lost + 1e-3), curve.epsilon_at(lost + 1e-6)} <= set(epsilons_of(curve))


def test_densities_prove_pure_claims_only():
    for mechanism in (TopKWithGaps(k=1, epsilon=5.0), HybridTopK(threshold=0, k=1, epsilon=5.0)):
        with pytest.raises(ValueError, match="pure claims only"):
            prove_mechanism(mechanism, d=2, top=1, claim=ApproxDP(0.1, 1e-6))


def test_the_limit_that_is_named_is_the_one_that_was_passed():
    mechanism = HybridTopK(threshold=1, k=2, epsilon=1.0)
    assert "more than 0.1" in prove_mechanism(mechanism, d=2, top=1, claim=PureDP(0.1)).violation


# Calibrations


def times(monkeypatch, owner, name, factor):
    """The method, property or function gives `factor` times what it gave; of a pair, times a pair."""
    plain = getattr(owner, name)
    getter: Any = plain.fget if isinstance(plain, property) else plain

    def changed(*arguments):
        value = getter(*arguments)
        if isinstance(value, tuple):
            return tuple(one * by for one, by in zip(value, factor, strict=True))
        return value * factor

    monkeypatch.setattr(owner, name, property(changed) if isinstance(plain, property) else changed)


ONE: dict[str, Any] = {"d": 3, "top": 1}
TWO: dict[str, Any] = {"d": 2, "top": 1}
FOUR: dict[str, Any] = {"d": 4, "top": 0}
VALUES = [GumbelTopKValues(k=k, budget=ApproxDP(1.0, 1e-3)) for k in (1, 2, 3)]
WRONG: list[tuple[Mechanism, Any, str, Any, dict[str, Any]]] = [
    (NoisyMax(epsilon=1.0), NoisyMax, "_scale", 0.5, ONE),
    (OneshotTopK(k=2, epsilon=1.0), OneshotTopK, "_scale", 0.5, ONE),
    (CanonicalTopK(k=2, epsilon=1.0), CanonicalTopK, "_rate", 3, {"d": 4, "top": 1}),
    (CanonicalTopK(k=2, epsilon=1.0, noise="gumbel"), canonical, "epsilon_of_a_round", 3, {"d": 4, "top": 1}),
    (JointTopK(k=2, epsilon=1.0), JointTopK, "_rate", 2, ONE),
    (JointTopK(k=2, epsilon=1.0), joint, "epsilon_of_a_round", 2, ONE),
    (TopKWithGaps(k=2, epsilon=1.0), TopKWithGaps, "_scale", 0.5, ONE),
    (TopKWithGaps(k=2, epsilon=1.0), gaps, "selection_scale", 0.5, ONE),
    (MeasuredTopK(k=1, epsilon=1.0), gaps, "selection_scale", 0.5, TWO),
    (MeasuredTopK(k=1, epsilon=1.0), MeasuredTopK, "_scales", (1, 0.5), TWO),
    (ExponentialWithGap(epsilon=1.0), ExponentialWithGap, "_scale", 0.5, ONE),
    (LargeGap(epsilon=1.0), LargeGap, "_scale", 0.25, {}),
    (LargeGap(epsilon=1.0), large_gap, "epsilon_of_a_round", 2, {}),
    (HybridTopK(threshold=1, k=2, epsilon=1.0), HybridTopK, "_scales", (0.5, 0.5), TWO),
    (HybridTopK(threshold=1, k=2, epsilon=1.0), HybridTopK, "_cost", 0.5, TWO),
    (HybridSparseVector(threshold=-4, k=2, epsilon=1.0), HybridSparseVector, "_scales", (0.5, 1), TWO),
    (HybridSparseVector(threshold=-4, k=2, epsilon=1.0), HybridSparseVector, "_scales", (1, 0.5), TWO),
    (HybridSparseVector(threshold=-4, k=2, epsilon=1.0), HybridSparseVector, "_cost", 0.5, TWO),
    (StableTopK(epsilon=1.0, delta=0.01, limit=2), StableTopK, "_scale", 0.2, {"d": 3, "top": 3}),
    (LimitedDomainTopK(k=1, epsilon=1.0, delta=0.05, limit=2), LimitedDomainTopK, "_bar", (1, 0.25), {}),
    (LimitedDomainTopK(k=1, epsilon=1.0, delta=0.05, limit=2), limited_domain, "dummies", 0.25, {}),
    (
        LimitedDomainTopK(k=1, epsilon=1.0, delta=0.05, limit=2, noise="exponential"),
        limited_domain,
        "exponential_offset",
        0.5,
        {},
    ),
    (CanonicalLimitedDomain(k=2, epsilon=1.0, delta=0.05, limit=3), CanonicalLimitedDomain, "_round", 2, ONE),
    (CanonicalLimitedDomain(k=2, epsilon=1.0, delta=0.05, limit=3), CanonicalLimitedDomain, "offset", 0.9, ONE),
    *((one, GumbelTopKValues, "scale", Fraction(9, 10), FOUR) for one in VALUES),
    *((one, GumbelTopKValues, "scale", Fraction(99, 100), {**FOUR, "monotone": True}) for one in VALUES),
]


@full_size
@pytest.mark.parametrize(
    ("mechanism", "owner", "name", "factor", "box"),
    WRONG,
    ids=[f"{case[0].name}, {case[2]} times {case[3]}" for case in WRONG],
)
def test_a_wrong_calibration_is_refuted(mechanism, owner, name, factor, box, monkeypatch):
    if FULL:  # on boxes as large `test_box` proves it for every mechanism
        assert prove_mechanism(mechanism, **box).holds
    times(monkeypatch, owner, name, factor)
    assert str(prove_mechanism(mechanism, **box)).startswith("violated")


@pytest.mark.parametrize(("k", "delta"), [(1, 0.15), (2, 0.15), pytest.param(3, 0.25, marks=pytest.mark.long)])
def test_the_noise_of_monotone_scores_is_too_little_for_general_ones(k, delta, monkeypatch):
    mechanism, plain = GumbelTopKValues(k=k, budget=ApproxDP(0.3, delta)), gumbel_values.largest_mu
    assert prove_mechanism(mechanism, **FOUR).holds
    monkeypatch.setattr(gumbel_values, "largest_mu", lambda k, budget, _: plain(k, budget, True))
    assert prove_mechanism(mechanism, **FOUR, monotone=True).holds
    assert "hockey stick" in prove_mechanism(mechanism, **FOUR).violation


FILLED = StableTopK(k=1, budget=ZCDP(2.0, 0.05), fill=True, limit=2)


@pytest.mark.parametrize("public", [True, False])
def test_filling_up_with_twice_its_epsilon_is_refuted(public, monkeypatch):
    assert prove_mechanism(FILLED, public=public).holds
    charge, fill = FILLED.charge, of_kind(ThinnedRange, FILLED._parts.fill)
    wrong = replace(FILLED._parts, fill=replace(fill, epsilon=2 * fill.epsilon))
    monkeypatch.setattr(StableTopK, "_parts", property(lambda _: wrong))
    assert "hockey stick" in prove_mechanism(FILLED, public=public, claim=charge).violation


def test_filling_up_without_its_delta_is_refuted_where_the_list_is_not_public(monkeypatch):
    plain = Parts.charge
    monkeypatch.setattr(
        Parts, "charge", lambda parts: plain(replace(parts, fill=replace(of_kind(ThinnedRange, parts.fill), delta=0.0)))
    )
    assert "hockey stick" in prove_mechanism(FILLED, public=False).violation
    assert prove_mechanism(FILLED, public=True).holds  # a public list needs none


def test_a_low_bar_is_refuted_also_where_it_fills_up(monkeypatch):
    times(monkeypatch, CanonicalLimitedDomain, "offset", Fraction(9, 10))
    assert "hockey stick" in prove_mechanism(FILLED, public=False).violation


@pytest.mark.parametrize("public", [True, False])
def test_a_test_that_passes_one_step_early_is_refuted_where_it_is_filled_up(public, monkeypatch):
    """At least for more than: a gap of 1, where one person changes the set, has the chance of a gap of 2."""
    test: Any = FILLED._parts.test
    wrong = replace(FILLED._parts, test=replace(test, slack=0))
    monkeypatch.setattr(StableTopK, "_parts", property(lambda _: wrong))
    assert "hockey stick" in prove_mechanism(FILLED, public=public).violation


@pytest.mark.parametrize("part", ["threshold", "questions"])
def test_a_wrong_calibration_of_sparse_vector_is_refuted(part, monkeypatch):
    mechanism = SparseVector(threshold=1, k=1, epsilon=1.0)
    plain = mechanism.rules
    (branch,) = plain.branches
    narrow = replace(branch, test=replace(branch.test, scale=branch.test.scale / 2))
    wrong: dict[str, Any] = {
        "threshold": {"threshold_scale": plain.threshold_scale / 3},
        "questions": {"branches": (narrow,)},
    }
    monkeypatch.setattr(SparseVector, "rules", replace(plain, **wrong[part]))
    assert not prove_mechanism(mechanism, d=2).holds


@full_size
@pytest.mark.parametrize(
    ("part", "wrong"),
    [("_rate", lambda rate: 2 * rate), ("_one_shot", lambda after: replace(after, scale=after.scale / 2))],
)
def test_a_wrong_calibration_of_guarded_sets_is_refuted(part, wrong, monkeypatch):
    mechanism, plain = GuardedTopK(k=3, epsilon=1.0), getattr(GuardedTopK, part)
    monkeypatch.setattr(GuardedTopK, part, lambda *words: wrong(plain(*words)))
    assert not prove_mechanism(mechanism, d=6, top=1, monotone=sized(True, full=False)).holds


def test_a_wrong_calibration_of_teachers_is_refuted(monkeypatch):
    pate = MultiLabelPATE(rho=0.5, delta=0.1, queries=1)
    assert prove_pate(pate, labels=2, teachers=12).holds
    times(monkeypatch, MultiLabelPATE, "_scale", 0.25)
    assert not prove_pate(pate, labels=2, teachers=12).holds


ASKED: list[tuple[Mechanism, Any, str]] = [
    *{(case[1], case[2]): case[:3] for case in WRONG if isinstance(case[1], type)}.values(),
    (StableTopK(k=2, epsilon=1.0, delta=0.01, fill=True, limit=2), StableTopK, "_filling"),
]


@pytest.mark.parametrize(("mechanism", "owner", "name"), ASKED, ids=[f"{case[0].name}, {case[2]}" for case in ASKED])
def test_the_sampler_asks_where_the_law_does(mechanism, owner, name, monkeypatch):
    class AskedError(Exception):
        pass

    def asked(*_, **__):
        raise AskedError

    monkeypatch.setattr(owner, name, property(asked) if isinstance(getattr(owner, name), property) else asked)
    with pytest.raises(AskedError):
        mechanism.release([3, 1, 1, 0], monotone=True)
    with pytest.raises(AskedError):
        certify(mechanism, Scores([3, 1, 1, 0], monotone=True))


def test_a_charge_beyond_the_budget_is_refuted(monkeypatch):
    times(monkeypatch, oneshot, "epsilon_of_a_round", 1 + 1e-6)
    oneshot.charge_of_rounds.cache_clear()
    found = prove_mechanism(OneshotTopK(k=2, budget=ZCDP(0.2)), **ONE)
    oneshot.charge_of_rounds.cache_clear()
    assert "does not fit the budget" in found.violation


# Boxes


def test_questions_are_tried_in_every_order():
    assert len(list(neighbours(2, 1))) == 3 * 8
    assert len(list(neighbours(2, 1, everywhere=True))) == 4 * 8
    plain, ordered = (
        prove_mechanism(one, **TWO) for one in (NoisyMax(epsilon=1.0), SparseVector(threshold=1, k=1, epsilon=1.0))
    )
    assert (plain.pairs, ordered.pairs) == (3 * 8, 4 * 8)


def test_an_order_that_gives_somebody_away_is_refuted():
    """A law that spares increasing scores and their neighbours: a box of sorted ones does not see it."""

    def law(x):
        loud = arb(0.9) if x[0] - x[1] > 2 else arb(0.5)
        return Law({"loud": loud, "silent": 1 - loud})

    assert prove(law, neighbours(2, 1), PureDP(0.1)).holds
    assert not prove(law, neighbours(2, 1, everywhere=True), PureDP(0.1)).holds


@pytest.mark.parametrize("k", [3, 4])
def test_the_law_of_guarded_sets_is_that_of_the_sampler_also_for_most_of_the_candidates(k):
    mechanism, x = GuardedTopK(k=k, epsilon=1.0), [9, 8, 7, 5, 3, 1, 0]
    law = of_kind(Law, certify(mechanism, Scores(x))).chances
    assert float(sum(law.values())) == pytest.approx(1.0, abs=1e-12)
    right = sum(float(chance) for (chosen, _), chance in law.items() if chosen == tuple(range(k)))
    assert right == pytest.approx(mechanism.success_probability(x), abs=1e-8)
    guard = sum(float(chance) for (_, used), chance in law.items() if used == "one-shot")
    assert guard == pytest.approx(mechanism.guard_probability(x), abs=1e-8)
