"""Guarded lists with a delta: the race is that without one, and one-shot has all of delta."""

from fractions import Fraction

import numpy as np
import pytest

import shortlist as sl
from shortlist import Scores
from shortlist.audit import prove_mechanism
from shortlist.audit.certified import sets
from shortlist.exact.noise import EXPONENTIAL, GUMBEL
from shortlist.execute import choose_method
from shortlist.mechanisms import GuardedListTopK, OneshotTopK
from shortlist.mechanisms.base import Request
from shortlist.mechanisms.lists import SHARE
from shortlist.mechanisms.race import epsilon_of_a_round
from shortlist.privacy import ZCDP, ApproxDP, PureDP
from tests.helpers.support import assert_law, full_size, in_suite, sized
from tests.helpers.typed import present

BUDGET = ApproxDP(0.6, 0.01)
CASES = [([3, 2, 2, 0], BUDGET), ([9, 6, 2, 1], ApproxDP(1.5, 0.05)), ([4, 1, 3], BUDGET), ([7, 7, 7, 7], BUDGET)]
cases = pytest.mark.parametrize(("x", "budget"), CASES, ids=str)


def chances(mechanism, scores):
    return {outcome: float(p) for outcome, p in sets.law_of_guarded_list(mechanism, scores).chances.items()}


def test_gumbel_noise_has_the_largest_e_that_fits_what_is_left():
    noise, e = GuardedListTopK(k=2, budget=BUDGET)._one_shot(4)
    left = float((1 - SHARE) * Fraction(0.6))
    assert noise == GUMBEL
    assert float(e) == pytest.approx(epsilon_of_a_round(2, ApproxDP(left, 0.01)), rel=1e-9)
    assert GuardedListTopK(k=2, budget=BUDGET)._one_shot(3)[1] == epsilon_of_a_round(2, BUDGET)  # no race, no guard


def test_where_delta_is_not_worth_it_the_law_is_the_pure_one():
    scores, budget = Scores([9, 6, 2, 1], monotone=True), ApproxDP(3.0, 1e-9)
    assert GuardedListTopK(k=2, budget=budget)._one_shot(4)[0] == EXPONENTIAL
    assert chances(GuardedListTopK(k=2, budget=budget), scores) == chances(GuardedListTopK(k=2, epsilon=3.0), scores)


@cases
def test_draws_follow_the_certified_law(x, budget):
    scores, mechanism = Scores(x, monotone=True), GuardedListTopK(k=2, budget=budget)
    exact = chances(mechanism, scores)
    index = {outcome: i for i, outcome in enumerate(exact)}
    drawn = mechanism.release_many(scores, draws=6000, rng=sl.testing.seeded(5))
    way = ["one-shot" if one else "canonical" for one in present(drawn.chosen)[:, 0]]
    counts = np.bincount(
        [index[tuple(row), how] for row, how in zip(drawn.indices.tolist(), way, strict=True)], minlength=len(index)
    )
    wrong = chances(GuardedListTopK(k=2, budget=ApproxDP(2 * budget.epsilon, budget.delta)), scores)
    assert_law(counts, list(exact.values()), wrong=list(wrong.values()) if len(set(x)) > 1 else None)


@cases
def test_utility_is_that_of_the_certified_law(x, budget):
    scores, mechanism = Scores(x, monotone=True), GuardedListTopK(k=2, budget=budget)
    exact, best = chances(mechanism, scores), sorted(x, reverse=True)[:2]
    right = sum(p for (s, _), p in exact.items() if sorted((x[i] for i in s), reverse=True) == best)
    assert mechanism.success_probability(scores) == pytest.approx(right, abs=1e-8)
    released = [sum(p for (s, _), p in exact.items() if i in s) for i in range(len(x))]
    np.testing.assert_allclose(mechanism.inclusion_probabilities(scores), released, atol=1e-8)
    assert mechanism.quality(scores).top == pytest.approx(right, abs=1e-8)


@pytest.mark.parametrize("monotone", [False, True], ids=["general", "monotone"])
@pytest.mark.parametrize("budget", [BUDGET, ApproxDP(0.5, 0.05)], ids=str)
def test_it_keeps_its_budget_on_a_box(budget, monotone):
    mechanism = GuardedListTopK(k=2, budget=budget)
    assert mechanism._one_shot(4)[0] == GUMBEL
    proof = prove_mechanism(mechanism, d=4, top=1, monotone=monotone)
    assert proof.holds, proof.violation


def test_one_shot_with_more_than_is_left_is_refuted(monkeypatch):
    """Twice the e of a round: the box has two neighbours that (epsilon, delta) does not allow."""
    plain = GuardedListTopK._one_shot
    monkeypatch.setattr(GuardedListTopK, "_one_shot", lambda self, d: (GUMBEL, 2 * plain(self, d)[1]))
    assert not prove_mechanism(GuardedListTopK(k=2, budget=BUDGET), d=4, top=1, monotone=True).holds


@pytest.mark.parametrize(("k", "epsilon"), in_suite([(8, 0.05), (8, 1.0), (20, 0.3), (40, 2.0)], 0, 3))
def test_a_delta_is_never_a_loss(k, epsilon):
    scores = Scores((9000 / np.arange(1, 301) ** 0.8).astype(np.int64), monotone=True)
    without = GuardedListTopK(k=k, epsilon=epsilon)
    with_delta = GuardedListTopK(k=k, budget=ApproxDP(epsilon, 1e-6))
    assert with_delta.guard_probability(scores) == pytest.approx(without.guard_probability(scores), abs=1e-9)
    mean = np.arange(k + 1) / k
    assert with_delta.number_correct(scores) @ mean >= without.number_correct(scores) @ mean - 1e-6


@full_size
@pytest.mark.parametrize("k", in_suite([2, 3, 5, 7, 8, 100, 101, 400], 0, 2, 3, 4, 5, 6))
def test_the_rule_for_lists_with_a_delta_is_public_and_never_worse_than_without(k):
    every = (0.01, 1.0, 30.0)
    for epsilon in every if k <= 100 else sized((1.0,) if k == 101 else (30.0,), full=every):  # long lists: calibrated
        name = choose_method(Request(k, ApproxDP(epsilon, 1e-6), ordered=True))[0]
        if 8 <= k <= 100:
            assert name == "guarded-list"
        elif name == "oneshot-gumbel":
            least = 1.4 if k < 8 else 1.2
            assert epsilon_of_a_round(k, ApproxDP(epsilon, 1e-6)) >= least * epsilon / k
        else:
            assert name == "oneshot-exponential"
    assert choose_method(Request(k, ZCDP(0.1), ordered=True))[0] == ("guarded-list" if k == 100 else "oneshot-gumbel")


def test_a_list_whose_delta_would_not_help_has_a_pure_promise():
    scores = {"a": 40, "b": 30, "c": 10, "d": 2}
    release = sl.top_k(scores, k=2, epsilon=1.0, delta=1e-6, monotone=True, public=True, ordered=True)
    assert release.guarantee == PureDP(1.0)
    assert release.mechanism == OneshotTopK(k=2, epsilon=1.0, noise="exponential").name
    assert "the delta would not reduce the noise" in release.why
