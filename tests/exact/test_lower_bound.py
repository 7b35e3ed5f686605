"""The bound for every mechanism: its recursion, its table, and that no mechanism is below it."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from shortlist.mechanisms import CanonicalTopK, GuardedTopK, OneshotTopK
from shortlist.utility.lower_bound import least_epsilon, least_epsilon_for_recall, least_failure, most_recall
from shortlist.utility.sets import success_bounds
from tests.helpers.inside import EXPONENTIAL, GUMBEL, rank_scores
from tests.helpers.support import full_size, in_suite, sized
from tests.mechanisms.canonical.test_law import counts


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("sets", [2, 3, 100, 10**9])
def test_the_closed_form_is_the_recursion(epsilon, sets):
    chance = 1 / sets
    for steps in range(60):
        found = float(least_failure(epsilon, np.array([math.log(sets)]), np.array([float(steps)]))[0])
        assert found == pytest.approx(1 - chance, rel=1e-9, abs=2e-12)
        chance = min(math.exp(epsilon) * chance, 1 - math.exp(-epsilon) * (1 - chance))


TABLE = [  # (Table 160): data, k, canonical g=1 Gumbel, g=.5 Gumbel, g=.5 exponential, lower bound
    ("NETFLIX.n17770", 10, 0.00329, 0.00263, 0.00237, 0.00182),
    ("PATENT.n4096", 10, 0.135, 0.0824, 0.0755, 0.0649),
    ("SEARCHLOGS.n4096", 10, 0.195, 0.154, 0.139, 0.108),
    ("HEPTH.n4096", 10, 1.38, 0.941, 0.818, 0.783),
    ("MEDCOST.n4096", 10, 3.53, 2.52, 2.23, 1.96),
    ("INCOME.n4096", 10, 0.00312, 0.00210, 0.00180, 0.00177),
    ("NETFLIX.n17770", 100, 0.297, 0.156, 0.135, 0.126),
    ("PATENT.n4096", 100, 1.42, 0.565, 0.518, 0.423),
    ("SEARCHLOGS.n4096", 100, 1.54, 0.920, 0.836, 0.652),
    ("HEPTH.n4096", 100, 9.21, 4.81, 4.22, 3.91),
    ("MEDCOST.n4096", 100, 23.6, 16.4, 16.3, 10.4),
    ("INCOME.n4096", 100, 0.00818, 0.00448, 0.00447, 0.00280),
    pytest.param("NETFLIX.n17770", 1000, 1.01, 0.410, 0.409, 0.320, marks=pytest.mark.long),
    pytest.param("PATENT.n4096", 1000, 8.86, 3.14, 2.81, 2.21, marks=pytest.mark.long),
    pytest.param("HEPTH.n4096", 1000, 41.3, 14.7, 14.5, 12.2, marks=pytest.mark.long),
    pytest.param("SEARCHLOGS.n4096", 1000, math.inf, 21.8, 21.7, 9.90, marks=pytest.mark.long),
    ("INCOME.n4096", 1000, math.inf, 12.4, 12.3, 5.07),
]


@cache
def bound_of(data, k):
    """The least epsilon for success .99, found once for all tests."""
    return least_epsilon(counts(data), k, 0.99)


@pytest.mark.parametrize(("data", "k", "one", "half", "exponential", "bound"), TABLE)
def test_the_table_of_bounds_to_two_digits(data, k, one, half, exponential, bound):
    """A sum cut off early would be some 40% low where collapse decides."""
    x = counts(data)
    for gamma, noise, printed in ((1, GUMBEL, one), (0.5, GUMBEL, half), (0.5, EXPONENTIAL, exponential)):
        for factor in (0.994, 1.006) if printed < math.inf else ():
            rate = Fraction(printed * factor)
            lower, upper = success_bounds(rank_scores(x, k, rate, Fraction(gamma), gap_aware=True), noise)
            assert upper < 0.99 if factor < 1 else lower > 0.99
    found = bound_of(data, k)
    assert found == pytest.approx(bound, rel=0.005)
    assert found <= exponential


@pytest.mark.parametrize("turn", range(30))
def test_no_mechanism_is_better_than_the_bound(turn):
    rng = np.random.default_rng(turn)
    d = int(rng.integers(3, 40))
    x, k = np.sort(rng.integers(0, 12 + 10 * (turn % 3), d)), int(rng.integers(1, d))
    for success in (0.6, 0.9, 0.99):
        epsilon = least_epsilon(x, k, success) or 1e-6
        for noise in (GUMBEL, EXPONENTIAL):
            for gamma in (0, 0.5, 0.8, 1):
                ranking = rank_scores(x, k, Fraction(epsilon), Fraction(gamma), gap_aware=True)
                assert success_bounds(ranking, noise)[0] <= success
    one_shot = OneshotTopK(k=k, epsilon=epsilon, noise="exponential")
    assert one_shot.success_probability(x, monotone=True) <= 0.99


def test_one_competitor_decides_alone():
    """a = c = 1: b >= e^-(eps gap) / 2, which exponential noise reaches."""
    x = np.array([1000, 10, 0, -1000])
    assert least_epsilon(x, 2, 0.99) == pytest.approx(math.log(50) / 10, rel=1e-3)


def test_ties_divide_by_the_right_sets_and_equal_counts_need_nothing():
    assert least_epsilon(np.full(50, 3), 7, 0.99) == 0.0
    assert least_epsilon(np.array([9, 5, 5, 5, 1]), 3, 0.5) >= 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.5, 2.0], 1, 0.9), "whole"),
        (([1, 2], 2, 0.9), "less than"),
        (([1, 2], 0, 0.9), "at least 1"),
        (([1, 2], 1, 1.0), "success"),
    ],
)
def test_questions_without_an_answer_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        least_epsilon(np.array(arguments[0]), *arguments[1:])


@pytest.mark.parametrize("turn", in_suite(range(20), 0, 1, 2))
def test_the_limit_of_recall_is_above_every_mechanism(turn):
    rng = np.random.default_rng(turn)
    d = int(rng.integers(3, 30))
    x, k = np.sort(rng.integers(0, 12 + 10 * (turn % 3), d)), int(rng.integers(1, d))
    for epsilon in (0.05, 0.3, 1.0, 3.0):
        most = most_recall(x, k, epsilon)
        one_shot = OneshotTopK(k=k, epsilon=epsilon, noise="exponential").quality(x, monotone=True)
        canonical = CanonicalTopK(k=k, epsilon=epsilon).quality(x, monotone=True)
        guarded = GuardedTopK(k=k, epsilon=epsilon).quality(x, monotone=True)
        assert max(one_shot.recall, canonical.recall, guarded.recall) <= most + 1e-9


def test_the_limit_of_recall_is_reached_by_one_winner_and_by_no_privacy_loss():
    """One of two: half of e^(-epsilon gap) is wrong. And at a tiny epsilon a random set is all that there is."""
    assert most_recall(np.array([7, 3]), 1, 0.5) == pytest.approx(1 - math.exp(-2) / 2, rel=1e-9)
    assert most_recall(np.arange(20, 0, -1), 5, 1e-9) == pytest.approx(5 / 20, rel=1e-6)
    assert most_recall(np.array([5, 3, 3, 1]), 2, 0.1) == 1.0


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (0.5, 1e-3), (1.0, 0.05)])
def test_with_a_delta_the_recursion_is_attained_by_two_candidates(epsilon, delta):
    """The chance to choose the one that leads by t: it is (epsilon, delta)-DP, so no recursion can be smaller."""
    f = [0.5]
    while len(f) < 40:
        f.append(min(1.0, math.exp(epsilon) * f[-1] + delta, 1 - math.exp(-epsilon) * (1 - delta - f[-1])))
    lead = {t: f[t] if t >= 0 else 1 - f[-t] for t in range(-39, 40)}
    for t in range(-38, 39):
        for near in (t - 1, t + 1):
            for p, q in ((lead[t], lead[near]), (1 - lead[t], 1 - lead[near])):
                assert p <= math.exp(epsilon) * q + delta + 1e-12
    if delta == 0:
        found = least_failure(epsilon, np.full(40, math.log(2)), np.arange(40.0))
        assert found == pytest.approx(1 - np.array(f), abs=1e-11)


@pytest.mark.parametrize(("x", "k"), [([40, 33, 20, 11, 8, 7, 1], 3), (list(range(0, 60, 3)), 8)])
@pytest.mark.parametrize("recall", [0.6, 0.9, 0.99])
def test_no_epsilon_below_the_bound_reaches_a_recall(x, k, recall):
    least = least_epsilon_for_recall(np.array(x), k, recall)
    assert most_recall(np.array(x), k, least * 0.999) < recall <= most_recall(np.array(x), k, least * 1.001)
    for mechanism in (CanonicalTopK(k=k, epsilon=least), OneshotTopK(k=k, epsilon=least, noise="exponential")):
        assert mechanism.quality(x, monotone=True).recall <= recall


def test_a_recall_that_chance_has_or_that_ties_give_has_no_bound():
    assert least_epsilon_for_recall(np.arange(20, 0, -1), 10, 0.3) == 0.0
    assert least_epsilon_for_recall(np.array([5, 3, 3, 1]), 2, 0.99) == 0.0


@full_size
def test_a_chance_below_the_least_float_bounds_nothing_that_is_possible():
    """A cliff below the best fifth: a random set of 400 is right with e^-1000, and epsilon 4 lifts that by e^1600."""
    k = sized(suite=400, full=1000)
    x = np.repeat([k, 0], [k, 4 * k])
    for epsilon in (4.0, 12.0):
        one_shot = OneshotTopK(k=k, epsilon=epsilon, noise="exponential").quality(x, monotone=True)
        assert one_shot.recall <= CanonicalTopK(k=k, epsilon=epsilon).quality(x, monotone=True).recall
        assert most_recall(x, k, epsilon) == pytest.approx(1.0, abs=1e-9)
    assert 1.0 < least_epsilon_for_recall(x, k, 0.99) < 2.5
