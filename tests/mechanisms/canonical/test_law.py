"""Exact utility of the canonical mechanism: the printed tables, brute force, meters, and certified bounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shortlist import Scores
from shortlist.mechanisms import CanonicalTopK
from tests.helpers.laws import canonical, good_ranks, great_ranks, holds
from tests.helpers.subset_law import subset_law

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data"
kinds = pytest.mark.parametrize("noise", ["gumbel", "exponential"])


FIVE = {
    (0.5, "gumbel", 1): (0.5021076393, 0.8182088037),
    (0.5, "gumbel", 2): (0.3436917676, 0.7105843549),
    (0.5, "exponential", 1): (0.5471833348, 0.8409824881),
    (0.5, "exponential", 2): (0.3656429761, 0.7248960811),
    (0.75, "gumbel", 1): (0.5605005882, 0.8845674652),
    (0.75, "gumbel", 2): (0.3871500597, 0.7547743200),
    (0.75, "exponential", 1): (0.5978426757, 0.9042052447),
    (0.75, "exponential", 2): (0.4134219097, 0.7736900563),
    (1, "gumbel", 1): (0.5822072782, 0.9307224457),
    (1, "gumbel", 2): (0.4245231118, 0.7969648993),
    (1, "exponential", 1): (0.5991514980, 0.9446496586),
    (1, "exponential", 2): (0.4499604154, 0.8184713464),
}
"""x = 5, 4, 4, 1, 0, k = 2, epsilon = .8: (gamma, noise, R) -> P[right], recall (Table 158)."""


@pytest.mark.parametrize(("gamma", "noise", "R"), FIVE)
def test_five_items_agree_with_the_table(gamma, noise, R):
    m = CanonicalTopK(k=2, epsilon=0.8, gamma=gamma, noise=noise)
    question = {"scores": [5, 4, 4, 1, 0], "monotone": R == 1}
    found = m.quality(**question)
    assert (found.top, found.recall) == pytest.approx(FIVE[gamma, noise, R], abs=1e-10)
    assert m.success_probability(**question) == pytest.approx(found.top, abs=1e-11)


SETS = [  # (Table 157): x, epsilon / R, gamma, loss, {set: probability}
    ([3, 2, 2, 0], 0.5, 0.5, "paper", [0.23094344, 0.23094344, 0.14007428, 0.17985893, 0.10908996, 0.10908996]),
    ([3, 2, 2, 0], 0.5, 1.0, "paper", [0.24368619, 0.24368619, 0.08964714, 0.24368619, 0.08964714, 0.08964714]),
    ([3, 2, 2, 0], 1.0, 0.5, "paper", [0.29234035, 0.29234035, 0.10754601, 0.17731339, 0.06522995, 0.06522995]),
    ([5, 4, 1, 0], 0.5, 0.5, "paper", [0.35956543, 0.16984668, 0.13227673, 0.13227673, 0.10301722, 0.10301722]),
    ([5, 4, 1, 0], 0.5, 0.5, "gap-aware", [0.54308021, 0.12117758, 0.09437319, 0.09437319, 0.07349791, 0.07349791]),
]


@pytest.mark.parametrize(("x", "rate", "gamma", "loss", "law"), SETS)
def test_sets_have_the_probabilities_of_the_table(x, rate, gamma, loss, law):
    m = CanonicalTopK(k=2, epsilon=2 * rate, gamma=gamma, noise="gumbel", loss=loss)
    assert list(m.probabilities(x).values()) == pytest.approx(law, abs=6e-9)


def test_sets_under_exponential_noise_have_the_probabilities_of_the_table():
    found = CanonicalTopK(k=2, epsilon=0.8, gamma=0.5).probabilities([5, 4, 4, 1, 0], monotone=True)
    a, b, c = 0.27359167, 0.04436258, 0.02935135
    assert list(found.values()) == pytest.approx([a, a, 0.06754187, b, 0.16413300, b, c, b, c, c], abs=6e-9)


def test_the_gap_aware_loss_beats_the_papers():
    x = [9, 9, 3, 3, 3, 2]
    paper, aware = (
        CanonicalTopK(k=2, epsilon=1.0, gamma=0.5, noise="gumbel", loss=loss) for loss in ("paper", "gap-aware")
    )
    assert paper.success_probability(x) == pytest.approx(0.2579, abs=5e-5)
    assert aware.success_probability(x) == pytest.approx(0.6090, abs=5e-5)


@kinds
@pytest.mark.parametrize("turn", range(40))
def test_everything_agrees_with_brute_force(turn, noise):
    rng = np.random.default_rng(turn)
    d = int(rng.integers(2, 9))
    k = int(rng.integers(1, d))
    x = rng.integers(0, 6, d) if turn % 2 else rng.normal(size=d) * 3
    gamma, rate, loss = (
        (0, 0.3, 0.5, 0.9, 1)[turn % 5],
        (0.01, 0.5, 2.0, 30.0)[turn % 4],
        ("gap-aware", "paper")[turn // 3 % 2],
    )
    mechanism = canonical(k, rate, gamma, noise, loss)
    law = subset_law(x.tolist(), k, rate, gamma, noise, loss)
    best = np.sort(x)[::-1][:k]
    correct, included, right, within = np.zeros(k + 1), np.zeros(d), 0.0, np.zeros(2)
    for y, p in law.items():
        chosen = list(y)
        included[chosen] += p
        correct[np.count_nonzero(x[chosen] >= best[-1])] += p
        right += p * np.array_equal(np.sort(x[chosen])[::-1], best)
        for n, (head, reach) in enumerate((great_ranks(k), good_ranks(k))):
            within[n] += p * holds(x, chosen, head, reach)
    lower, upper = mechanism.success_bounds(x, monotone=True)
    assert lower <= right + 1e-13
    assert upper >= right - 1e-13
    assert upper - lower < 1e-9
    found = mechanism.quality(x, monotone=True)
    assert found.top == pytest.approx(right, abs=1e-11)
    assert (found.great, found.good) == pytest.approx(within, abs=1e-10)
    assert found.recall == pytest.approx(correct @ np.arange(k + 1) / k, abs=1e-10)
    np.testing.assert_allclose(mechanism.number_correct(x, monotone=True), correct, atol=1e-10)
    np.testing.assert_allclose(mechanism.inclusion_probabilities(x, monotone=True), included, atol=1e-10)


ROWS = [  # (Table 159), R = 1: data, k, epsilon, then set, recall, great, good for Gumbel and for exponential noise
    ("NETFLIX.n17770", 10, 0.002,
     (0.94770673, 0.99332451, 0.97067384, 0.99700268),
     (0.97285432, 0.99653597, 0.9847995, 0.99844729)),
    ("NETFLIX.n17770", 100, 0.1,
     (0.93689099, 0.99936804, 1, 1),
     (0.96667894, 0.99966634, 1, 1)),
    ("PATENT.n4096", 10, 0.05,
     (0.74836933, 0.9502427, 0.78475834, 0.97082012),
     (0.84900455, 0.97015347, 0.87086208, 0.98251737)),
    ("PATENT.n4096", 100, 0.3,
     (0.57978702, 0.99132923, 0.99999992, 1),
     (0.71075547, 0.9940351, 0.99999995, 1)),
    ("SEARCHLOGS.n4096", 10, 0.1,
     (0.89500386, 0.98641298, 0.93334213, 1),
     (0.94335253, 0.99267281, 0.96409915, 1)),
    ("HEPTH.n4096", 10, 0.5,
     (0.85062531, 0.98173422, 0.94108683, 0.99771801),
     (0.91600462, 0.98975446, 0.96727903, 0.99873455)),
    ("MEDCOST.n4096", 10, 1.0,
     (2.6230376e-5, 0.10216942, 3.1126e-5, 4.2209e-5),
     (2.6231064e-5, 0.10216942, 3.1127e-5, 4.2209e-5)),
    ("INCOME.n4096", 10, 0.001,
     (0.87818324, 0.98781783, 0.97473013, 0.99999999),
     (0.93172681, 0.99317241, 0.98616941, 0.99999999)),
]  # fmt: skip


def counts(name):
    path = DATA / f"{name}.npy"
    if not path.exists():
        pytest.skip(f"the shared data folder has no {path.name} here")
    return np.load(path)


@pytest.mark.parametrize(("data", "k", "epsilon", "gumbel", "exponential"), ROWS)
def test_real_counts_agree_with_the_table(data, k, epsilon, gumbel, exponential):
    for noise, printed in (("gumbel", gumbel), ("exponential", exponential)):
        found = CanonicalTopK(k=k, epsilon=epsilon, noise=noise).quality(counts(data), monotone=True)
        assert (found.top, found.recall, found.great, found.good) == pytest.approx(
            printed, abs=6e-9, rel=2e-5 if printed[0] < 1e-3 else None
        )


@kinds
@pytest.mark.parametrize(("k", "epsilon"), [(10, 0.002), (100, 0.02), (1000, 0.1), (1000, 0.41), (1000, 1.0)])
def test_meters_read_zero_on_netflix_and_nothing_is_truncated(k, epsilon, noise):
    mechanism, scores = canonical(k, epsilon, noise=noise), Scores(counts("NETFLIX.n17770"), monotone=True)
    law, included = mechanism.number_correct(scores), mechanism.inclusion_probabilities(scores)
    assert law.sum() == pytest.approx(1, abs=1e-9)
    assert included.sum() == pytest.approx(k, abs=k * 1e-9)
    correct = np.argsort(-scores.values, kind="stable")[:k]
    assert law @ np.arange(k + 1) == pytest.approx(included[correct].sum(), abs=k * 1e-9)
    lower, upper = mechanism.success_bounds(scores)
    assert upper <= lower * (1 + 1e-8)


def test_certified_bounds_hold_the_full_sum_over_all_classes():
    x = np.sort(counts("NETFLIX.n17770"))[::-1].astype(float)
    k, epsilon = 100, 0.07
    factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 17771)))])
    rows = [
        np.logaddexp.reduce(
            factorial[i : i + 17670]
            - factorial[i]
            - factorial[:17670]
            - 0.5 * epsilon * (x[k - 1 - i] - x[k] + x[k - 1] - x[k:])
        )
        for i in range(k)
    ]
    exact = float(np.exp(-np.logaddexp(0.0, np.logaddexp.reduce(np.array(rows).ravel()))))
    lower, upper = canonical(k, epsilon).success_bounds(counts("NETFLIX.n17770"), monotone=True)
    assert lower * (1 - 1e-9) <= exact <= upper * (1 + 1e-9)


@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.3, 1.0, 4.0, 9.0])
def test_exponential_noise_fails_at_most_as_often_as_gumbel_noise_and_in_the_end_half_as_often(rate):
    x = [9, 8, 6, 5, 5, 2, 1, 1, 0]
    failure = {
        noise: 1 - sum(canonical(3, rate, noise=noise).success_bounds(x, monotone=True)) / 2
        for noise in ("gumbel", "exponential")
    }
    assert failure["exponential"] <= failure["gumbel"] + 1e-12
    if rate >= 9:
        assert failure["exponential"] / failure["gumbel"] == pytest.approx(0.5, abs=1e-2)


def test_utility_of_edges_and_other_noise():
    everyone = CanonicalTopK(k=3, epsilon=1.0)
    x = [5.0, -np.inf, 3.0, 4.0]
    assert everyone.success_bounds(x) == (1.0, 1.0)
    assert everyone.quality(x).recall == 1.0
    assert everyone.number_correct(x).tolist() == [0, 0, 0, 1]
    assert everyone.inclusion_probabilities(x).tolist() == [1, 0, 1, 1]
    assert everyone.probabilities(x) == {(0, 2, 3): 1.0}
    some = CanonicalTopK(k=2, epsilon=1.0)
    assert some.inclusion_probabilities(x)[1] == 0
    assert some.inclusion_probabilities(x).sum() == pytest.approx(2)
    assert set(some.probabilities(x)) == {(0, 2), (0, 3), (2, 3)}
    with pytest.raises(ValueError, match="more than 100,000 sets"):
        CanonicalTopK(k=20, epsilon=1.0).probabilities(range(60))


@kinds
def test_a_million_candidates_take_little_memory_and_time(noise):
    x = np.floor(1e6 / np.arange(1, 10**6 + 1) ** 0.8).astype(np.int64)
    found = canonical(1000, 1.0, noise=noise).quality(x, monotone=True)
    assert 0.4 < found.recall < 0.45
