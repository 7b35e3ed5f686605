"""JointTopK: its law by enumeration, its guarantee on a box, its exact utility."""

from fractions import Fraction
from functools import partial
from itertools import permutations

import numpy as np
import pytest

import shortlist as sl
from shortlist import PureDP, Scores
from shortlist.exact import sequences as sequence_classes
from shortlist.mechanisms import JointTopK
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange
from shortlist.sampling import entropy as shares
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import of_kind, present


def law(x, k, rate):
    """P(s) by enumeration."""
    best = sorted(x, reverse=True)
    weight = {
        s: np.exp(-rate * max(float(best[i]) - float(x[j]) for i, j in enumerate(s)))
        for s in permutations(range(len(x)), k)
    }
    total = sum(weight.values())
    return {s: w / total for s, w in weight.items()}


def test_the_law_is_that_of_the_table():
    wanted = {(0, 1): 0.1613124, (0, 3): 0.05934352, (1, 0): 0.09784092, (3, 2): 0.03599366}
    exact = law([3, 2, 2, 0], 2, 0.5)
    assert all(abs(exact[s] - p) < 1e-7 for s, p in wanted.items())


CASES = [
    ([3, 2, 2, 0], 2, 1.0, True),
    ([3.5, -1.25, 3.5, 0.0, 0.125], 3, 2.0, False),
    ([1, 1, 1], 2, 1.0, True),
    ([4, 1, 3], 3, 1.0, True),
    ([2, 9], 1, 0.5, False),
    ([7], 1, 1.0, True),
]


@pytest.mark.parametrize(("x", "k", "epsilon", "monotone"), CASES)
def test_draws_follow_the_law(x, k, epsilon, monotone):
    exact = law(x, k, epsilon / (2 if monotone else 4))
    rows = JointTopK(k=k, epsilon=epsilon).release_many(x, monotone=monotone, draws=6000, rng=sl.testing.seeded(1))
    index = {s: i for i, s in enumerate(exact)}
    counts = np.bincount([index[tuple(row)] for row in rows.tolist()], minlength=len(index))
    wrong = list(law(x, k, epsilon).values()) if len(set(x)) > 1 else None
    assert_law(counts, list(exact.values()), wrong=wrong)


@full_size
def test_draws_decided_in_balls_follow_the_law(monkeypatch):
    """Weights raised by e: proposals are rejected often, and each acceptance is an exact coin."""
    monkeypatch.setattr(shares, "SHARE_SLACK", 1.0)
    exact, draws = law([3, 2, 2, 0], 2, 0.5), sized(suite=2000, full=4000)
    rows = JointTopK(k=2, epsilon=1.0).release_many([3, 2, 2, 0], monotone=True, draws=draws, rng=sl.testing.seeded(2))
    index = {s: i for i, s in enumerate(exact)}
    counts = np.bincount([index[tuple(row)] for row in rows.tolist()], minlength=len(index))
    assert_law(counts, list(exact.values()), wrong=list(law([3, 2, 2, 0], 2, 0.8).values()))


@pytest.mark.parametrize("values", [[1e300, 5e-324, 3.0], [2**62, -(2**62), 2**62 - 1], [1e-310, 2e-310, 0.0]])
def test_scores_of_any_size_are_exact(values):
    m = JointTopK(k=2, epsilon=1.0)
    best = np.argsort(-np.array(values), kind="stable")[:2].tolist()
    tiny = m.release(values, sensitivity=1e-320 if max(values) < 1 else 1e-3)
    assert tiny.indices == best
    assert m.inclusion_probabilities(values).sum() == pytest.approx(2, abs=1e-9)


@pytest.mark.traced
@pytest.mark.filterwarnings("error")
def test_steps_too_small_for_a_float_warn_nobody():
    assert len(present(JointTopK(k=3, epsilon=1.0).release(np.arange(4) * 5e-324, monotone=True).items)) == 3
    assert len(present(JointTopK(k=2, epsilon=1e-300).release([1, 2, 3], sensitivity=1e300).items)) == 2


def test_the_never_chosen_are_never_chosen():
    m = JointTopK(k=2, epsilon=0.01)
    rows = m.release_many([1.0, -np.inf, 3.0, 2.0], draws=300, rng=sl.testing.seeded(3))
    assert set(rows.ravel().tolist()) == {0, 2, 3}
    assert m.inclusion_probabilities([1.0, -np.inf, 3.0])[1] == 0


@pytest.mark.parametrize("monotone", [False, True])
def test_the_rate_is_the_one_that_the_box_proves(monotone):
    """tests/audit/test_prove.py proves this rate."""
    scores = Scores([0, 1, 2, 2], monotone=monotone)
    assert JointTopK(k=2, epsilon=1.0)._rate(scores) == Fraction(1, 2 if monotone else 4)


def test_half_of_epsilon_on_general_scores_is_caught():
    x, moved = (9, 0, 9, 9, 3), (8, 1, 8, 10, 2)
    here, there = law(x, 2, 0.5), law(moved, 2, 0.5)
    assert max(abs(np.log(here[s] / there[s])) for s in here) == pytest.approx(1.5117, abs=1e-4)
    right = law(x, 2, 0.25), law(moved, 2, 0.25)
    assert max(abs(np.log(right[0][s] / right[1][s])) for s in right[0]) <= 1.0


@pytest.mark.parametrize(("x", "k"), [([5, 4, 4, 1, 0], 2), ([5, 4, 4, 1, 0], 3), ([3, 3, 3, 3], 2), ([6, 2, 1, 0], 4)])
def test_utility_is_that_of_the_enumeration(x, k):
    m, exact = JointTopK(k=k, epsilon=1.0), law(x, k, 0.5)
    kth = sorted(x)[-k]
    multiset = sorted(sorted(x)[-k:])
    right = sum(p for s, p in exact.items() if sorted(x[i] for i in s) == multiset)
    correct = np.zeros(k + 1)
    for s, p in exact.items():
        correct[sum(x[i] >= kth for i in s)] += p
    scores = Scores(x, monotone=True)
    assert m.success_probability(scores) == pytest.approx(right, abs=1e-10)
    np.testing.assert_allclose(m.number_correct(scores), correct, atol=1e-10)
    np.testing.assert_allclose(
        m.inclusion_probabilities(scores),
        [sum(p for s, p in exact.items() if i in s) for i in range(len(x))],
        atol=1e-10,
    )
    quality = m.quality(scores)
    assert quality.top == pytest.approx(right, abs=1e-10)
    assert quality.recall == pytest.approx(correct @ np.arange(k + 1) / k, abs=1e-10)


def test_great_sets_are_those_of_the_enumeration():
    x = list(range(15, 0, -1))
    chance = JointTopK(k=3, epsilon=1.0).quality(x, monotone=True).good
    exact = sum(p for s, p in law(x, 3, 0.5).items() if 0 in s and max(s) <= 3)
    assert chance == pytest.approx(exact, abs=1e-10)


def test_guarantees_and_budgets():
    assert JointTopK(k=2, epsilon=1.0).guarantee == PureDP(1.0)
    assert JointTopK(k=2, epsilon=1.0).charge == BoundedRange(1.0)
    zcdp = JointTopK(k=2, budget=ZCDP(0.125))
    assert of_kind(BoundedRange, zcdp.charge).epsilon == pytest.approx(1.00695851215, rel=1e-11)
    assert of_kind(BoundedRange, JointTopK(k=2, budget=ApproxDP(1.0, 1e-6)).charge).epsilon > 1.0
    release = JointTopK(k=2, epsilon=5.0).release({"a": 900, "b": 5, "c": 500}, monotone=True, public=True)
    assert release.items == ["a", "c"]
    assert release.ordered
    assert sl.top_k([900, 5, 500], k=2, epsilon=5.0, monotone=True, method="joint").items == [0, 2]


def test_bad_questions_are_refused_before_data_is_touched():
    with pytest.raises(ValueError, match="more than the 2 candidates"):
        JointTopK(k=3, epsilon=1.0).release([1, 2])
    with pytest.raises(ValueError, match="as_public"):
        JointTopK(k=1, epsilon=1.0).quality(Scores([1, 2])._as_counted())


@full_size
@pytest.mark.traced
@pytest.mark.parametrize(("x", "k", "epsilon", "monotone"), [
    ([30, 22, 22, 17, 9, 4, 0], 2, 0.1, True),
    ([3.5, -1.25, 3.1, 0.0, 0.125, 1e-300], 2, 2.0, False),
    ([2**62, -(2**62), 2**62 - 1, 2**61, 5], 3, 1e-18, True),
])  # fmt: skip
def test_draws_from_wide_cells_follow_the_law(x, k, epsilon, monotone, monkeypatch):
    """As where there are millions of rungs: cells hold several, and a loss in them is drawn and accepted."""
    monkeypatch.setattr(sequence_classes, "FEW_PAIRS", 0)
    monkeypatch.setattr(sequence_classes, "cells", partial(sequence_classes.cells, waste=4.0))
    mechanism, scores = JointTopK(k=k, epsilon=epsilon), Scores(x, monotone=monotone)
    steps, _ = sequence_classes.ladder(scores.values, k)
    assert not sequence_classes.cells(steps, mechanism._rate(scores) * steps.unit).flat.all()
    exact = law(x, k, epsilon / (2 if monotone else 4))
    rows = mechanism.release_many(scores, draws=sized(suite=200, full=6000), rng=sl.testing.seeded(4))
    index = {s: i for i, s in enumerate(exact)}
    counts = np.bincount([index[tuple(row)] for row in rows.tolist()], minlength=len(index))
    assert_law(counts, list(exact.values()), wrong=list(law(x, k, epsilon / sized(0.8, full=1.2)).values()))
    correct = [sum(p for s, p in exact.items() if i in s) for i in range(len(x))]
    np.testing.assert_allclose(mechanism.inclusion_probabilities(scores), correct, atol=1e-10)
    right = sum(p for s, p in exact.items() if [x[i] for i in s] == sorted(x, reverse=True)[:k])
    assert mechanism.order_probability(scores) == pytest.approx(right, abs=1e-10)


def test_the_bounds_of_cells_hold_the_mass_of_their_rungs():
    values = np.array([900, 877, 850, 850, 500, 420, 421, 422, 90, 88, 12, 5, 0])
    steps, _ = sequence_classes.ladder(values, 4)
    rate = Fraction(1, 100)
    every = sequence_classes.cells(steps, rate)  # one for each rung: their masses are known
    assert every.flat.all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequence_classes, "FEW_PAIRS", 0)
        found = sequence_classes.cells(steps, rate, waste=3.0)
    assert len(found) < len(every)
    assert set(found.start.tolist()) <= set(every.start.tolist())
    cell = np.searchsorted(found.start, every.start, side="right") - 1
    mass = np.bincount(cell, np.exp(every.upper))
    assert (np.exp(found.lower) <= mass * (1 + 1e-12)).all()
    assert (mass <= np.exp(found.upper) * (1 + 1e-12)).all()


def test_a_million_candidates_are_no_more_than_their_best():
    values = np.arange(1_000_000) // 7
    release = JointTopK(k=100, epsilon=1000.0).release(values, monotone=True, rng=sl.testing.seeded(5))
    assert all(isinstance(item, int) and item > 999_800 for item in release)
    assert JointTopK(k=2, epsilon=1e-9).order_probability(np.zeros(1_000_000, np.int64), monotone=True) == 1
