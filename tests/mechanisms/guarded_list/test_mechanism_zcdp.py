"""Guarded lists under zCDP: a switch between ordered canonical and peeling, which is paid for."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import shortlist as sl
from shortlist import Scores
from shortlist.audit import prove_mechanism
from shortlist.audit.certified import sets
from shortlist.exact.noise import GUMBEL
from shortlist.execute import choose_method
from shortlist.mechanisms import GuardedListTopK, OneshotTopK, OrderedCanonicalTopK
from shortlist.mechanisms.base import Request
from shortlist.mechanisms.race import epsilon_of_a_round
from shortlist.privacy import ZCDP
from shortlist.sampling.sets import LIST_SLOPE, junk_limit, list_switch
from shortlist.utility import distribution
from tests.helpers.support import assert_law, in_suite
from tests.helpers.typed import present

CASES = [
    ([3, 2, 2, 0], 0.2),
    ([60, 40, 20, 1], 0.5),
    ([80.5, 52.0, 26.0, 1.0, 0.25], 0.3),
    ([4, 1, 3], 0.1),
    ([7, 7, 7, 7], 0.1),
    ([400, 300, 200, 10, 5], 0.02),
]
cases = pytest.mark.parametrize(("x", "rho"), CASES)


def chances(mechanism, scores):
    return {outcome: float(p) for outcome, p in sets.law_of_guarded_list(mechanism, scores).chances.items()}


def counted(mechanism, scores, exact, seed, draws):
    index = {outcome: i for i, outcome in enumerate(exact)}
    drawn = mechanism.release_many(scores, draws=draws, rng=sl.testing.seeded(seed))
    way = ["one-shot" if one else "canonical" for one in present(drawn.chosen)[:, 0]]
    rows = zip(drawn.indices.tolist(), way, strict=True)
    return np.bincount([index[tuple(row), how] for row, how in rows], minlength=len(index))


@cases
def test_draws_follow_the_certified_law(x, rho):
    scores, mechanism = Scores(x, monotone=True), GuardedListTopK(k=2, budget=ZCDP(rho))
    exact = chances(mechanism, scores)
    wrong = chances(GuardedListTopK(k=2, budget=ZCDP(3 * rho)), scores)
    counts = counted(mechanism, scores, exact, seed=3, draws=5000)
    assert_law(counts, list(exact.values()), wrong=list(wrong.values()) if len(set(x)) > 1 else None)


@pytest.mark.traced
def test_draws_decided_exactly_follow_the_law(monkeypatch):
    """With bounds that say nothing of the lead, every coin is compared with the exact one in balls."""
    loose = "shortlist.mechanisms.lists.list_switch"
    monkeypatch.setattr(loose, lambda *law: replace(list_switch(*law), low=-1e3, high=1e3))
    scores, mechanism = Scores([60, 40, 20, 1], monotone=True), GuardedListTopK(k=2, budget=ZCDP(0.5))
    exact = chances(mechanism, scores)
    wrong = chances(GuardedListTopK(k=2, budget=ZCDP(0.1)), scores)
    assert_law(counted(mechanism, scores, exact, seed=4, draws=800), list(exact.values()), wrong=list(wrong.values()))


@pytest.mark.traced
def test_one_draw_is_one_of_many():
    scores, mechanism = Scores([60, 40, 20, 1], monotone=True), GuardedListTopK(k=2, budget=ZCDP(0.5))
    exact = chances(mechanism, scores)
    releases = [mechanism.release(scores, rng=sl.testing.seeded(seed)) for seed in range(400)]
    seen = [(tuple(present(one.items)), one.used) for one in releases]
    counts = np.array([seen.count(outcome) for outcome in exact])
    wrong = chances(GuardedListTopK(k=2, budget=ZCDP(0.1)), scores)
    assert_law(counts, list(exact.values()), wrong=list(wrong.values()))


@cases
def test_utility_is_that_of_the_certified_law(x, rho):
    scores, mechanism = Scores(x, monotone=True), GuardedListTopK(k=2, budget=ZCDP(rho))
    exact, best = chances(mechanism, scores), sorted(x, reverse=True)[:2]
    assert mechanism.guard_probability(scores) == pytest.approx(
        sum(p for (_, how), p in exact.items() if how == "one-shot"), abs=1e-8
    )
    right = sum(p for (s, _), p in exact.items() if sorted((x[i] for i in s), reverse=True) == best)
    assert mechanism.success_probability(scores) == pytest.approx(right, abs=1e-8)
    released = [sum(p for (s, _), p in exact.items() if i in s) for i in range(len(x))]
    np.testing.assert_allclose(mechanism.inclusion_probabilities(scores), released, atol=1e-8)
    correct = np.zeros(3)
    for (s, _), p in exact.items():
        correct[sum(x[i] >= best[-1] for i in s)] += p
    np.testing.assert_allclose(mechanism.number_correct(scores), correct, atol=1e-8)
    in_order = sum(p for (s, how), p in exact.items() if how == "canonical" and [x[i] for i in s] == best)
    assert mechanism.least_order_probability(scores) == pytest.approx(in_order, abs=1e-8)


@pytest.mark.parametrize("monotone", [False, True], ids=["general", "monotone"])
@pytest.mark.parametrize(("rho", "tau"), [(0.05, 40), (0.05, 0), (2.0, 0)])
def test_it_keeps_its_budget_on_a_box(rho, tau, monotone, monkeypatch):
    """Whatever tau is: at 0 both ways are likely on scores that differ little."""
    monkeypatch.setattr(sets, "LIST_SWITCH_TAU", Fraction(tau))
    proof = prove_mechanism(GuardedListTopK(k=2, budget=ZCDP(rho)), d=4, top=1, monotone=monotone)
    assert proof.holds, proof.violation
    assert proof.renyi <= 0


def test_a_switch_that_is_not_charged_is_refuted(monkeypatch):
    """Slope 1, and both ways with all of rho: the box has two neighbours that rho does not allow."""
    monkeypatch.setattr(sets, "LIST_SLOPE", Fraction(1))
    monkeypatch.setattr(sets, "LIST_SWITCH_TAU", Fraction(0))
    whole = Fraction(epsilon_of_a_round(1, ZCDP(0.1))), Fraction(epsilon_of_a_round(2, ZCDP(0.1)))
    monkeypatch.setattr(GuardedListTopK, "_rate", lambda self, scores: whole[0] / (2 * scores.range_sensitivity))
    monkeypatch.setattr(GuardedListTopK, "_one_shot", lambda self, d: (GUMBEL, whole[1]))
    assert not prove_mechanism(GuardedListTopK(k=2, budget=ZCDP(0.1)), d=4, top=2, monotone=True).holds


def test_the_switch_takes_a_sixty_fifth():
    scores, mechanism = Scores(range(100), monotone=True), GuardedListTopK(k=20, budget=ZCDP(0.1))
    e, (noise, round_) = float(2 * mechanism._rate(scores)), mechanism._one_shot(100)
    assert noise == GUMBEL
    assert 0.1 <= (1 + float(LIST_SLOPE) ** 2) * e**2 / 8 <= 0.102  # the tight value of zCDP is a little below e^2 / 8
    assert 20 * float(round_) ** 2 == pytest.approx(e**2, rel=0.02)
    assert mechanism._one_shot(39)[1] == epsilon_of_a_round(20, ZCDP(0.1))  # few candidates: no switch


def test_without_a_switch_nothing_is_paid_for_one():
    one, few = Scores([5, 3, 1], monotone=True), Scores([9, 5, 3, 1, 0], monotone=True)
    single = GuardedListTopK(k=1, budget=ZCDP(0.5))
    assert single.guard_probability(one) == pytest.approx(0, abs=1e-12)
    assert single.success_probability(one) == pytest.approx(
        OrderedCanonicalTopK(k=1, budget=ZCDP(0.5)).success_probability(one), abs=1e-9
    )
    exact = chances(single, one)
    assert_law(counted(single, one, exact, seed=6, draws=3000), list(exact.values()))
    peeled = OneshotTopK(k=3, budget=ZCDP(0.5))
    np.testing.assert_allclose(
        GuardedListTopK(k=3, budget=ZCDP(0.5)).inclusion_probabilities(few),
        peeled.inclusion_probabilities(few),
        atol=1e-8,
    )


def test_junk_is_rarely_released_by_the_switch():
    scores = Scores(np.concatenate([[60, 50, 40, 30, 20], np.zeros(500)]).astype(np.int64), monotone=True)
    for rho in (0.001, 0.5, 2.0):
        mechanism, plain = GuardedListTopK(k=5, budget=ZCDP(rho)), OrderedCanonicalTopK(k=5, budget=ZCDP(rho))
        junk = float(distribution(mechanism, scores).race.number_correct()[: junk_limit(5) + 1].sum())
        assert junk <= math.exp(-5) * (1 + 60 * float(mechanism._rate(scores))) ** 0.125
        assert rho > 0.001 or plain.number_correct(scores)[:2].sum() > 0.9  # where it collapses without a switch


def order_of_peeling(x, k, e):
    """P[k rounds of e find the k best scores in order], of distinct scores."""
    ranked = np.sort(x)[::-1] * float(e)
    left = np.logaddexp.accumulate(ranked[::-1])[::-1]
    return math.exp((ranked[:k] - left[:k]).sum())


@pytest.mark.parametrize("shape", in_suite(["zipf", "cliff", "blocks", "slope"], 1, 2))
def test_it_costs_little_beside_peeling_and_gains_the_order(shape):
    k, rank = 20, np.arange(1, 301)
    values = {
        "zipf": np.floor(5e5 / rank**0.8),
        "cliff": np.where(rank <= k, 3000, 0) + 20 * (300 - rank),
        "blocks": np.repeat([900, 800, 600, 300, 0], [4, 16, 20, 60, 200]),
        "slope": 9 * (300 - rank),
    }[shape].astype(np.int64)
    scores, gained = Scores(values, monotone=True), []
    for e in (0.003, 0.03, 0.3, 3.0):
        budget = ZCDP(e**2 / 8)
        mechanism, peeling = GuardedListTopK(k=k, budget=budget), OneshotTopK(k=k, budget=budget)
        recall, plain = (one.number_correct(scores) @ np.arange(k + 1) / k for one in (mechanism, peeling))
        assert recall > plain - 0.01
        after = mechanism.guard_probability(scores) * order_of_peeling(values, k, mechanism._one_shot(300)[1])
        before = order_of_peeling(values, k, epsilon_of_a_round(k, budget))
        gained.append(mechanism.least_order_probability(scores) + after - before)
    assert shape == "blocks" or min(gained) > -0.04


@pytest.mark.parametrize(("k", "name"), [(8, "oneshot-gumbel"), (19, "oneshot-gumbel"), (20, "guarded-list"),
                                         (100, "guarded-list"), (101, "oneshot-gumbel")])  # fmt: skip
def test_the_rule_takes_it_from_twenty_to_a_hundred_items(k, name):
    assert choose_method(Request(k, ZCDP(0.1), ordered=True))[0] == name


def test_lists_of_the_default_say_which_way_they_went():
    scores = {f"item {i}": 1000 * (60 - i) for i in range(60)}

    def released(rho, rng=None):
        return sl.top_k(scores, k=20, budget=ZCDP(rho), monotone=True, public=True, ordered=True, rng=rng)

    release = released(50.0)
    assert (release.items, release.used) == ([f"item {i}" for i in range(20)], "canonical")
    assert release.why.startswith("auto: GuardedListTopK, the default for an ordered list of 20 to 100")
    release = released(1e-9, sl.testing.seeded(1))
    assert (release.used, release.ordered, release.guarantee) == ("one-shot", True, ZCDP(1e-9))
