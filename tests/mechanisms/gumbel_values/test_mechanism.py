"""GumbelTopKValues: its scale, its law, and that peeling with fresh noise is the same thing."""

from fractions import Fraction

import numpy as np
import pytest

import shortlist as sl
from shortlist import Scores
from shortlist.mechanisms import GumbelTopKValues
from shortlist.privacy import ZCDP, ApproxDP, GumbelDP, PureDP
from shortlist.sampling import thresholds
from tests.helpers.inside import GUMBEL
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import present

BUDGET = ApproxDP(1.0, 1e-5)


@pytest.mark.parametrize(("epsilon", "wanted"), [(0.5, 30.903), (1, 16.701), (2, 9.122), (4, 5.087), (8, 2.934)])
def test_monotone_scores_need_the_scale_of_the_exact_profile(epsilon, wanted):
    m = GumbelTopKValues(k=10, budget=ApproxDP(epsilon, 1e-5))
    assert float(m.scale(Scores([0] * 20, monotone=True))) == pytest.approx(wanted, abs=1e-3)


def test_general_scores_need_the_two_clock_scale():
    scores = Scores([0] * 20)
    assert float(GumbelTopKValues(k=10, budget=BUDGET).scale(scores)) == pytest.approx(18.8746, abs=1e-3)
    assert float(GumbelTopKValues(k=10, budget=ApproxDP(4.0, 1e-5)).scale(scores)) == pytest.approx(5.6599, abs=1e-3)


def test_the_scale_follows_the_sensitivity_and_not_the_range():
    m = GumbelTopKValues(k=2, budget=BUDGET)
    one = m.scale(Scores([1, 2]))
    assert m.scale(Scores([1, 2], sensitivity=3)) == 3 * one
    assert m.scale(Scores([1, 2], sensitivity=(1, 3))) == 3 * one


def test_the_noise_is_rounded_up():
    m = GumbelTopKValues(k=10, budget=BUDGET)
    mu = float(1 / m.scale(Scores([0] * 20, monotone=True)))
    assert GumbelDP(mu, 10).delta_at(1.0) <= 1e-5
    assert GumbelDP(mu * (1 + 1e-6), 10).delta_at(1.0) > 1e-5


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.5), 1.0, None])
def test_budgets_that_a_gumbel_value_cannot_keep_are_refused_with_the_reason(budget):
    with pytest.raises(TypeError, match="no pure and no zCDP"):
        GumbelTopKValues(k=2, budget=budget)


def test_a_release_carries_items_values_and_what_they_mean():
    m = GumbelTopKValues(k=2, budget=BUDGET)
    release = m.release({"a": 900, "b": 5, "c": 500}, monotone=True, public=True)
    assert release.items == ["a", "c"]
    assert release.ordered
    assert release.values is not None
    assert release.values == sorted(release.values, reverse=True)
    gamma = float(m.scale(Scores([1], monotone=True)))
    assert release.soft_max == pytest.approx(release.values[0] - np.euler_gamma * gamma, abs=1e-9)
    assert "soft maximum" in str(release)
    assert release.columns().keys() == {"rank", "item", "value"}
    assert release.guarantee == release.charge == BUDGET
    assert dict(zip(present(release.as_set().items), present(release.as_set().values), strict=True)) == dict(
        zip(present(release.items), present(release.values), strict=True)
    )


def drawn(m, scores, runs):
    source = sl.testing.seeded(5)
    return [m.release(scores, rng=source) for _ in range(runs)]


def peeled(values, k, gamma, source):
    """The oracle: k rounds, fresh noise each round, the winner removed (Theorem 57), then put on one scale.

    In E = e^(-v / gamma) a round's first arrival is exponential, and the one-shot values are the sums of the rounds'.
    """
    left, arrivals, winners, time = dict(enumerate(values)), [], [], 0.0
    for _ in range(k):
        noisy = {i: thresholds.add_noise(v, scale=gamma, noise=GUMBEL, source=source) for i, v in left.items()}
        best = max(noisy, key=noisy.__getitem__)
        time += np.exp(-noisy[best] / float(gamma))
        winners.append(best)
        arrivals.append(-float(gamma) * np.log(time))
        del left[best]
    return winners, arrivals


@full_size
def test_one_shot_values_have_the_law_of_peeling_with_fresh_noise():
    values, m = [40, 30, 25, 10], GumbelTopKValues(k=2, budget=ApproxDP(2.0, 1e-3))
    gamma = m.scale(Scores(values, monotone=True))
    runs = sized(600, full=10_000)
    releases = drawn(m, Scores(values, monotone=True), runs)
    source = sl.testing.seeded(6)
    oracle = [peeled(values, 2, gamma, source) for _ in range(runs)]
    critical, shift = 3.94 / np.sqrt(runs), sized(0.6, full=0.15)  # two-sample Kolmogorov-Smirnov at 1e-6.5
    for place in range(2):
        ours = np.array([release.values[place] for release in releases])
        theirs = np.array([arrivals[place] for _, arrivals in oracle])
        both = np.sort(np.concatenate([ours, theirs]))
        distance = np.abs(np.searchsorted(np.sort(ours), both) - np.searchsorted(np.sort(theirs), both)).max() / runs
        assert distance < critical
        shifted = np.searchsorted(np.sort(ours + shift * float(gamma)), both) - np.searchsorted(np.sort(theirs), both)
        assert np.abs(shifted).max() / runs > critical  # it would have seen a shift by that much of the scale
    first = np.bincount([release.indices[0] for release in releases], minlength=4)
    weights = np.exp(np.array(values) / float(gamma))
    assert_law(first, weights / weights.sum(), wrong=np.full(4, 0.25))


@full_size
def test_the_soft_max_estimate_is_unbiased_and_the_plain_value_is_not():
    runs, values, m = sized(1000, full=3000), [0] * 50, GumbelTopKValues(k=1, budget=ApproxDP(1.0, 1e-3))
    gamma = float(m.scale(Scores(values, monotone=True)))
    releases = drawn(m, Scores(values, monotone=True), runs)
    soft_max = gamma * np.log(50)
    error = 6 * gamma * np.pi / np.sqrt(6 * runs)
    assert abs(np.mean([release.soft_max for release in releases]) - soft_max) < error
    assert abs(np.mean([release.values[0] for release in releases]) - soft_max) > error
    assert np.mean([release.soft_max for release in releases]) > 3 * gamma  # no winner's score


def test_values_beyond_the_largest_float_are_infinite_and_raise_nothing():
    m = GumbelTopKValues(k=1, budget=ApproxDP(1.0, 1e-6))
    for seed in range(10):
        release = m.release([1.79e308] * 2 + [-1e308], sensitivity=1e307, rng=sl.testing.seeded(seed))
        assert release.soft_max is not None


def test_values_of_integers_above_2_to_the_53_are_exact():
    m = GumbelTopKValues(k=1, budget=BUDGET)
    large = present(m.release(Scores([2**60 + 1, 0], monotone=True), rng=sl.testing.seeded(3)).values)[0]
    small = present(m.release(Scores([1, -(2**60)], monotone=True), rng=sl.testing.seeded(3)).values)[0]
    assert Fraction(large) - 2**60 == pytest.approx(small, abs=256)
