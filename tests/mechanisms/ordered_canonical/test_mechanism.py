"""OrderedCanonicalTopK: its loss, its law by enumeration, its exact utility, its refusals."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

import shortlist as sl
from shortlist import PureDP, Scores
from shortlist.accounting.curves import largest_range
from shortlist.audit.certified import sets
from shortlist.exact import sequences as sequence_classes
from shortlist.mechanisms import JointTopK, OrderedCanonicalTopK
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange
from shortlist.sampling import sets as sequence_race
from shortlist.sampling.entropy import WordStream
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import of_kind


def by_definition(s, x):
    """The loss of one list, from the definition."""
    best = sorted(x, reverse=True)
    missed = max(best[i] - x[j] for i, j in enumerate(s))
    return missed if missed > 0 else -min(best[i] - best[i + 1] for i in range(min(len(s), len(x) - 1)))


def chances(mechanism, scores):
    return {s: float(p) for s, p in sets.ordered_canonical_law(mechanism, scores).chances.items()}


def test_the_loss_moves_by_one_at_most():
    largest = 0
    for d, k, top in ((3, 2, 3), (4, 2, 2), (4, 3, 2), (3, 3, 3), (2, 1, 5)):
        for x, step in product(product(range(top + 1), repeat=d), product((0, 1), repeat=d)):
            moved = tuple(a + b for a, b in zip(x, step, strict=True))
            for s in permutations(range(d), k):
                largest = max(largest, abs(by_definition(s, moved) - by_definition(s, x)))
    assert largest == 1


def test_the_loss_is_at_most_the_largest_pair():
    for x in product(range(4), repeat=4):
        for s, loss in sets.losses(x, 2).items():
            pairs = [x[f] - x[e] for i, e in enumerate(s) for f in range(4) if f not in s[: i + 1]]
            right = [x[i] for i in s] == sorted(x, reverse=True)[:2]
            assert loss == by_definition(s, x)
            assert loss == max(pairs) if right else loss <= max(pairs)


CASES = [
    ([3, 2, 2, 0], 2, 1.0, True),
    ([9, 6, 2, 1], 2, 0.7, True),
    ([3.5, -1.25, 2.5, 0.0, 0.125], 3, 2.0, False),
    ([1, 1, 1], 2, 1.0, True),
    ([4, 1, 3], 3, 1.0, True),
    ([2, 9], 1, 0.5, False),
    ([7], 1, 1.0, True),
]
noises = pytest.mark.parametrize("noise", ["exponential", "gumbel"])
cases = pytest.mark.parametrize(("x", "k", "epsilon", "monotone"), CASES)


@full_size
@noises
@cases
def test_draws_follow_the_law(x, k, epsilon, monotone, noise):
    scores, mechanism = Scores(x, monotone=monotone), OrderedCanonicalTopK(k=k, epsilon=epsilon, noise=noise)
    exact = chances(mechanism, scores)
    rows = mechanism.release_many(scores, draws=sized(600, full=20_000), rng=sl.testing.seeded(1))
    index = {s: i for i, s in enumerate(exact)}
    counts = np.bincount([index[tuple(row)] for row in rows.tolist()], minlength=len(index))
    wrong = chances(OrderedCanonicalTopK(k=k, epsilon=2 * epsilon, noise=noise), scores)
    assert_law(counts, list(exact.values()), wrong=list(wrong.values()) if len(set(x)) > 1 else None)


@noises
@cases
def test_utility_is_that_of_the_enumeration(x, k, epsilon, monotone, noise):
    scores, mechanism = Scores(x, monotone=monotone), OrderedCanonicalTopK(k=k, epsilon=epsilon, noise=noise)
    exact, best = chances(mechanism, scores), sorted(x, reverse=True)[:k]
    correct = np.zeros(k + 1)
    for s, p in exact.items():
        correct[sum(x[i] >= best[-1] for i in s)] += p
    in_order = sum(p for s, p in exact.items() if [x[i] for i in s] == best)
    right = sum(p for s, p in exact.items() if sorted((x[i] for i in s), reverse=True) == best)
    released = [sum(p for s, p in exact.items() if i in s) for i in range(len(x))]
    assert mechanism.order_probability(scores) == pytest.approx(in_order, abs=1e-10)
    assert mechanism.success_probability(scores) == pytest.approx(right, abs=1e-10)
    assert mechanism.quality(scores).recall == pytest.approx(correct @ np.arange(k + 1) / k, abs=1e-10)
    np.testing.assert_allclose(mechanism.number_correct(scores), correct, atol=1e-10)
    np.testing.assert_allclose(mechanism.inclusion_probabilities(scores), released, atol=1e-10)


@full_size
@noises
def test_wide_cells_change_nothing(noise, monkeypatch):
    x = [30, 22, 21, 17, 9, 4, 0]
    scores, mechanism = Scores(x, monotone=True), OrderedCanonicalTopK(k=2, epsilon=0.1, noise=noise)
    before = mechanism.inclusion_probabilities(scores)
    monkeypatch.setattr(sequence_classes, "FEW_PAIRS", 0)
    np.testing.assert_allclose(mechanism.inclusion_probabilities(scores), before, atol=1e-12)
    exact = chances(mechanism, scores)
    rows = mechanism.release_many(scores, draws=sized(1000, full=20_000), rng=sl.testing.seeded(2))
    index = {s: i for i, s in enumerate(exact)}
    counts = np.bincount([index[tuple(row)] for row in rows.tolist()], minlength=len(index))
    wrong = chances(OrderedCanonicalTopK(k=2, epsilon=sized(0.22, full=0.14), noise=noise), scores)
    assert_law(counts, list(exact.values()), wrong=list(wrong.values()))


def test_it_needs_half_the_epsilon_of_joint_where_the_gap_decides():
    x = Scores([4030, 4020, 4010, 4000, *range(500)], monotone=True)
    joint, ordered = JointTopK(k=3, epsilon=1.2), OrderedCanonicalTopK(k=3, epsilon=0.6, noise="gumbel")
    assert ordered.order_probability(x) == pytest.approx(joint.order_probability(x), abs=0.02)


@pytest.mark.parametrize("values", [[1e300, 5e-324, 3.0], [2**62, -(2**62), 2**62 - 1], [1e-310, 2e-310, 0.0]])
def test_scores_of_any_size_are_exact(values):
    mechanism = OrderedCanonicalTopK(k=2, epsilon=1.0)
    best = np.argsort(-np.array(values), kind="stable")[:2].tolist()
    assert mechanism.release(values, sensitivity=1e-320 if max(values) < 1 else 1e-3).indices == best
    assert mechanism.inclusion_probabilities(values).sum() == pytest.approx(2, abs=1e-8)


def test_the_never_chosen_are_never_chosen():
    mechanism = OrderedCanonicalTopK(k=2, epsilon=0.01)
    rows = mechanism.release_many([1.0, -np.inf, 3.0, 2.0], draws=300, rng=sl.testing.seeded(3))
    assert set(rows.ravel().tolist()) == {0, 2, 3}


@pytest.mark.traced
def test_guarantees_and_budgets():
    assert OrderedCanonicalTopK(k=2, epsilon=1.0).charge == PureDP(1.0)
    assert OrderedCanonicalTopK(k=2, epsilon=1.0, noise="gumbel").charge == BoundedRange(1.0)
    zcdp = OrderedCanonicalTopK(k=2, budget=ZCDP(0.125))
    assert of_kind(BoundedRange, zcdp.charge) == BoundedRange(largest_range(0.125, 1))
    assert of_kind(BoundedRange, OrderedCanonicalTopK(k=2, budget=ApproxDP(1.0, 1e-6)).charge).epsilon > 1.0
    assert sl.top_k([900, 5, 500], k=2, epsilon=5.0, monotone=True, method="ordered-canonical", ordered=True).items == [
        0,
        2,
    ]
    with pytest.raises(ValueError, match="laplace noise has no exact draw of lists"):
        OrderedCanonicalTopK(k=2, epsilon=1.0, noise="laplace")
    with pytest.raises(ValueError, match="pure budgets only"):
        OrderedCanonicalTopK(k=2, budget=ZCDP(0.1), noise="exponential")
    with pytest.raises(ValueError, match="more than the 2 candidates"):
        OrderedCanonicalTopK(k=3, epsilon=1.0).release([1, 2])
    with pytest.raises(ValueError, match="as_public"):
        OrderedCanonicalTopK(k=1, epsilon=1.0).quality(Scores([1, 2])._as_counted())


def test_the_oracle_of_the_page():
    x = [5, 3, 2, 0]
    for noise, right in {"gumbel": 0.3787624296, "exponential": 0.4728180086}.items():
        mechanism = OrderedCanonicalTopK(k=2, epsilon=1.0, noise=noise)
        assert mechanism.order_probability(x, monotone=True) == pytest.approx(right, abs=1e-9)
        assert float(
            sets.ordered_canonical_law(mechanism, Scores(x, monotone=True)).chances[0, 1].mid()
        ) == pytest.approx(right, abs=1e-9)


@pytest.mark.traced
def test_draws_decided_in_balls_follow_the_law(monkeypatch):
    """With bounds that say nothing, every proposal is accepted or not by its exact chance."""
    monkeypatch.setattr(sequence_race, "ERROR", 1.0)
    scores, mechanism = Scores([5, 3, 2, 0], monotone=True), OrderedCanonicalTopK(k=2, epsilon=1.0)
    exact = chances(mechanism, scores)
    rows = mechanism.release_many(scores, draws=1200, rng=sl.testing.seeded(3))
    index = {s: i for i, s in enumerate(exact)}
    counts = np.bincount([index[tuple(row)] for row in rows.tolist()], minlength=len(index))
    wrong = chances(OrderedCanonicalTopK(k=2, epsilon=2.5), scores)
    assert_law(counts, list(exact.values()), wrong=list(wrong.values()))


@pytest.mark.traced
def test_the_right_list_is_never_proposed_as_a_wrong_one(monkeypatch):
    """It has an arrival of its own: proposed once more, its chance is exactly nothing."""
    monkeypatch.setattr(sequence_race, "shuffle_sequence", lambda reach, stream: [0, 1])
    steps, _ = sequence_classes.ladder(np.array([5, 3, 2, 0]), 2, gap=True)
    proposal = sequence_race.sequence_envelope(steps, Fraction(1, 2)).propose(WordStream(sl.testing.seeded(1)))
    assert proposal.high == -np.inf
    assert proposal.chance() == 0
