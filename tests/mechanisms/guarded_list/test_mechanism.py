"""GuardedListTopK: its law, its guard, its exact utility."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

import shortlist as sl
from shortlist import Scores
from shortlist.audit.certified import sets
from shortlist.exact import sequences as sequence_junk
from shortlist.exact.sequences import ladder
from shortlist.mechanisms import GuardedListTopK, GuardedTopK, OneshotTopK, OrderedCanonicalTopK
from shortlist.mechanisms import lists as module
from shortlist.privacy import ZCDP, PureDP
from shortlist.utility import distribution
from tests.helpers.support import assert_law

CASES = [
    ([3, 2, 2, 0], 1.0),
    ([9, 6, 2, 1], 2.7),
    ([9.5, 6.0, 2.0, 1.0, 0.25], 0.7),
    ([4, 1, 3], 1.0),
    ([7, 7, 7, 7], 1.0),
    ([40, 30, 20, 10, 5], 0.3),
    ([40, 30, 20, 10, 5], 12.0),
]
cases = pytest.mark.parametrize(("x", "epsilon"), CASES)


def chances(mechanism, scores):
    return {outcome: float(p) for outcome, p in sets.law_of_guarded_list(mechanism, scores).chances.items()}


def counted(mechanism, scores, index, seed, draws=3000):
    drawn = mechanism.release_many(scores, draws=draws, rng=sl.testing.seeded(seed))
    way = ["one-shot" if one else "canonical" for one in drawn.chosen[:, 0]]
    return np.bincount([index[tuple(row), how] for row, how in zip(drawn.indices.tolist(), way, strict=True)],
                       minlength=len(index))  # fmt: skip


@cases
def test_draws_follow_the_certified_law(x, epsilon):
    scores, mechanism = Scores(x, monotone=True), GuardedListTopK(k=2, epsilon=epsilon)
    exact = chances(mechanism, scores)
    counts = counted(mechanism, scores, {outcome: i for i, outcome in enumerate(exact)}, seed=1)
    wrong = chances(GuardedListTopK(k=2, epsilon=1.5 * epsilon), scores)
    assert_law(counts, list(exact.values()), wrong=list(wrong.values()) if len(set(x)) > 1 else None)


@pytest.mark.traced
def test_draws_decided_exactly_follow_the_law(monkeypatch):
    """With bounds that say nothing of the guard, every arrival is compared in balls of its exact weight."""
    monkeypatch.setattr(
        "shortlist.mechanisms.lists.junk_of", lambda *law: replace(sequence_junk.junk_of(*law), low=-1e3, high=1e3)
    )
    scores, mechanism = Scores([9, 6, 2, 1], monotone=True), GuardedListTopK(k=2, epsilon=1.5)
    exact = chances(mechanism, scores)
    counts = counted(mechanism, scores, {outcome: i for i, outcome in enumerate(exact)}, seed=2, draws=1500)
    assert_law(counts, list(exact.values()), wrong=list(chances(GuardedListTopK(k=2, epsilon=0.7), scores).values()))


@cases
def test_utility_is_that_of_the_certified_law(x, epsilon):
    scores, mechanism = Scores(x, monotone=True), GuardedListTopK(k=2, epsilon=epsilon)
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
    assert mechanism.quality(scores).recall == pytest.approx(correct @ np.arange(3) / 2, abs=1e-8)
    in_order = sum(p for (s, how), p in exact.items() if how == "canonical" and [x[i] for i in s] == best)
    assert mechanism.least_order_probability(scores) == pytest.approx(in_order, abs=1e-8)


@pytest.mark.parametrize("few", [0, 10**6])
def test_the_weight_of_the_junk_is_that_of_the_enumeration(few, monkeypatch):
    monkeypatch.setattr(sequence_junk, "LEAST", 0.5 if few else 1e-290)
    values, k, rate, held = np.array([30, 22, 21, 17, 9, 4, 0]), 3, Fraction(1, 9), 1
    steps, _ = ladder(values, k, gap=True)
    missed = sorted(
        max(int(values[i] - values[r]) for i, r in enumerate(ranks))
        for ranks in permutations(range(7), k)
        if sum(r < k for r in ranks) <= held
    )
    best = max(np.log(n) - float(rate) * (t - steps.first) for n, t in enumerate(missed, start=1))
    found = sequence_junk.junk_of(steps, rate, held)
    assert found.low <= best <= found.high
    assert found.finer.high - found.finer.low < 1e-7
    assert float(found.exact()) == pytest.approx(best, abs=1e-12)


def test_what_wins_is_rarely_junk():
    scores = Scores(np.concatenate([[60, 50, 40, 30, 20], np.zeros(500)]).astype(np.int64), monotone=True)
    for epsilon in (0.05, 0.3, 1.0):
        mechanism = GuardedListTopK(k=5, epsilon=epsilon)
        utility, plain = distribution(mechanism, scores), OrderedCanonicalTopK(k=5, epsilon=epsilon)
        junk = float(utility.race.number_correct()[: module.junk_size(5) + 1].sum())
        a, tau = module.SHARE, module.tau_of(5, 505)
        assert junk <= np.exp(-float(tau)) * (1 + epsilon / 2 * 60) * float(a / (1 + a))
        assert epsilon == 1.0 or plain.number_correct(scores)[:2].sum() > 0.9  # where it collapses without a guard


def test_of_few_candidates_one_shot_takes_all_of_epsilon():
    assert not module.is_guarded(1, 100)
    assert not module.is_guarded(3, 5)
    assert module.is_guarded(2, 4)
    scores, mechanism = Scores([5, 3, 1, 0], monotone=True), GuardedListTopK(k=3, epsilon=1.0)
    alone = OneshotTopK(k=3, epsilon=1.0, noise="exponential")
    assert mechanism.guard_probability(scores) == 1
    np.testing.assert_allclose(
        mechanism.inclusion_probabilities(scores), alone.inclusion_probabilities(scores), atol=1e-8
    )
    assert all(
        mechanism.release(scores, rng=sl.testing.seeded(seed)).items
        == alone.release(scores, rng=sl.testing.seeded(seed)).items
        for seed in range(20)
    )


def test_one_winner_has_no_guard():
    assert GuardedListTopK(k=1, epsilon=1.0).guard_probability([5, 3, 1], monotone=True) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("shape", ["zipf", "cliff", "blocks", "few"])
def test_beside_one_shot_it_costs_little_recall(shape):
    """What a hundredth of epsilon is worth; with the guard of sets the cliff cost .2."""
    rank, k = np.arange(1, 301), 10
    values = {
        "zipf": (5000 / np.sqrt(rank)).astype(np.int64),
        "cliff": np.where(rank <= k, 300, 0),
        "blocks": np.repeat([900, 800, 600, 300, 0], [4, 8, 20, 60, 208]),
        "few": np.arange(0, 600, 20),
    }[shape]
    scores = Scores(values, monotone=True)
    for epsilon in (0.02, 0.08, 0.3, 1.2):
        plain = OneshotTopK(k=k, epsilon=epsilon, noise="exponential").number_correct(scores) @ np.arange(k + 1) / k
        assert GuardedListTopK(k=k, epsilon=epsilon).number_correct(scores) @ np.arange(k + 1) / k > plain - 0.017


def test_lists_of_the_default_say_which_way_they_went():
    scores = {f"item {i}": 1000 * (20 - i) for i in range(20)}
    release = sl.top_k(scores, k=8, epsilon=50.0, monotone=True, public=True, ordered=True)
    assert (release.items, release.used) == ([f"item {i}" for i in range(8)], "canonical")
    assert release.why.startswith("auto: GuardedListTopK")
    release = sl.top_k(scores, k=8, epsilon=1e-6, monotone=True, public=True, ordered=True, rng=sl.testing.seeded(1))
    assert (release.used, release.ordered) == ("one-shot", True)


def test_guarantees_and_refusals():
    assert GuardedListTopK(k=2, epsilon=1.0).charge == PureDP(1.0)
    assert GuardedListTopK(k=2, budget=ZCDP(0.1)).charge == ZCDP(0.1)
    release = sl.top_k([900, 5, 500, 3, 2], k=2, epsilon=5.0, monotone=True, method="guarded-list", ordered=True)
    assert (release.items, release.used, release.ordered) == ([0, 2], "canonical", True)


def test_the_oracle_of_the_page():
    mechanism, x = GuardedListTopK(k=2, epsilon=6.0), [9, 6, 4, 3, 1]
    assert mechanism.guard_probability(x, monotone=True) == pytest.approx(0.9003692090, abs=1e-9)
    assert mechanism.quality(x, monotone=True).recall == pytest.approx(0.9993769453, abs=1e-9)
    exact = chances(mechanism, Scores(x, monotone=True))
    assert exact[(0, 1), "canonical"] == pytest.approx(0.0996304072, abs=1e-9)
    assert exact[(0, 1), "one-shot"] == pytest.approx(0.8990626783, abs=1e-9)


def test_an_outlier_does_not_make_others_equal():
    """Beside 1e30 floats cannot tell 5 from 3: positions are told from the k-th score."""
    for mechanism in (GuardedListTopK(k=2, epsilon=1e-20), GuardedTopK(k=3, epsilon=1e-25)):
        values = [1e30, 1e30, 5.0, 3.0, 1.0, 0.0, -1.0, -2.0][mechanism.k == 2 :]
        assert mechanism.success_probability(values, monotone=True) < 0.5
