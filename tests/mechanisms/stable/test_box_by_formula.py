"""StableTopK and LargeGap on every small histogram with every user, new labels included.

The choice of the rank (Theorem 100), the tests (Theorem 102, 103) and all of it (Theorem 104).
"""

from fractions import Fraction
from functools import cache
from math import exp, log

import numpy as np
import pytest
from scipy.stats import norm

from shortlist.exact import thresholds
from tests.helpers.inside import GaussianTest, quantile_above
from tests.mechanisms.limited_domain.by_formula import canonical_law, hockey_stick, neighbours, worst

ORDERS = [1.05, 1.3, 2.0, 3.0, 5.0, 9.0, 17.0, 33.0]
HALF, LITTLE = Fraction(1, 2), Fraction(1, 50)


def sorted_sets(h, j):
    """(the gap behind rank j, the top j set); None at a tie and beyond the data, where there is no such set."""
    order = sorted(range(len(h)), key=lambda i: (-h[i], i))
    counts = [h[i] for i in order] + [0] * (j + 1)
    gap = counts[j - 1] - counts[j]
    return gap, frozenset(order[:j]) if gap else None


def ranks_law(h, limit, e):
    weights = [exp(e / 2 * sorted_sets(h, j)[0]) for j in range(1, limit + 1)]
    return [w / sum(weights) for w in weights]


def chances(test):
    return cache(lambda q: 0.0 if q == 0 else float(test.chance(q)))


def adaptive_law(h, limit, e, chance):
    """{(j, set or None): probability}"""
    law = {}
    for j, p in enumerate(ranks_law(h, limit, e), 1):
        gap, found = sorted_sets(h, j)
        passed = chance(gap) if found is not None else 0.0
        law[j, None] = p * (1 - passed)
        if passed:
            law[j, found] = p * passed
    return law


def fixed_law(h, k, chance):
    gap, found = sorted_sets(h, k)
    passed = chance(gap) if found is not None else 0.0
    return {None: 1 - passed, found: passed} if passed else {None: 1.0}


def thinned(h, other, limit, e, chance):
    """(the law after the common thinning, the mass that is missing): where the sets differ, only None is common."""
    law, missing = {}, 0.0
    for j, p in enumerate(ranks_law(h, limit, e), 1):
        (gap, found), (_, there) = sorted_sets(h, j), sorted_sets(other, j)
        passed = chance(gap) if found is not None else 0.0
        if found is not None and found == there:
            law[j, None], law[j, found] = p * (1 - passed), p * passed
        else:
            law[j, None], missing = p, missing + p * passed
    return law, missing


def renyi(p, q, a):
    return log(sum(mass**a * q[o] ** (1 - a) for o, mass in p.items() if mass)) / (a - 1)


@pytest.mark.parametrize("limit", [3, 4])
@pytest.mark.parametrize(("s", "bound"), [(1.5, 0.3472), (1.0, 0.6250)])
def test_choosing_and_testing_cost_their_rho_and_delta_once(limit, s, bound):
    delta, most, missing = 1e-3, 0.0, 0.0
    chance = chances(GaussianTest(Fraction(1) / Fraction(s), quantile_above(delta)))
    for h, other in neighbours(4, 4):
        (p, lost), (q, gone) = thinned(h, other, limit, 1.0, chance), thinned(other, h, limit, 1.0, chance)
        missing = max(missing, lost, gone)
        most = max(most, *(renyi(x, y, a) / a for a in ORDERS for x, y in ((p, q), (q, p))))
    assert missing <= delta + 1e-12
    assert most <= bound
    assert most > 0.7 * bound  # the box is large enough to see it


@pytest.mark.parametrize("kind", [thresholds.OptimalTest, thresholds.LaplaceTest])
@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(3, 10)])
def test_the_tests_keep_epsilon_and_delta_at_fixed_k(kind, epsilon):
    chance = chances(kind(epsilon, LITTLE))
    for k in (1, 2, 3):
        found = worst(lambda h, k=k: fixed_law(h, k, chance), neighbours(4, 5), float(epsilon))
        assert found <= 0.02 + 1e-12
        assert found > 0.019


@pytest.mark.parametrize("kind", [thresholds.OptimalTest, thresholds.LaplaceTest])
def test_the_tests_keep_epsilon_and_delta_with_a_chosen_rank(kind):
    chance = chances(kind(HALF, LITTLE))
    found = worst(lambda h: adaptive_law(h, 3, 0.5, chance), neighbours(4, 4), [0.5, 1.0])
    assert found[1] <= 0.02 + 1e-12
    assert kind is thresholds.LaplaceTest or found[0] > 0.02  # the bit alone would keep it, the rank costs more


def test_no_test_passes_more_often_than_the_optimal_one():
    epsilon, delta = Fraction(1), Fraction(1, 1000)
    best = chances(thresholds.OptimalTest(epsilon, delta))
    laplace = chances(thresholds.LaplaceTest(epsilon, delta))
    assert all(best(q) >= laplace(q) - 1e-15 for q in range(1, 40))
    assert best(7) > laplace(7) + 0.05
    raised = cache(lambda q: min(1.0, best(q) * 1.001))
    assert worst(lambda h: fixed_law(h, 1, raised), neighbours(2, 12), 1.0) > 0.001


def test_the_closed_form_is_the_recursion():
    for epsilon, delta in ((1.0, 1e-6), (0.05, 1e-9), (3.0, 0.1), (0.2, 0.3)):
        best, p = chances(thresholds.OptimalTest(Fraction(epsilon), Fraction(delta))), 0.0
        for q in range(1, 900):
            p = min(exp(epsilon) * p + delta, 1 - exp(-epsilon) * (1 - p - delta), 1.0)
            assert best(q) == pytest.approx(p, rel=1e-9)
    found = chances(thresholds.OptimalTest(Fraction(1), Fraction(1e-6)))
    assert [found(q) for q in (1, 2, 10, 14, 20)] == pytest.approx(
        [1e-6, 3.718282e-6, 0.01281831, 0.6998871, 0.99925668]
    )


def test_the_gaussian_test_is_that_of_the_table():
    """rho = .5 halved and rho = .02 halved: s = 1.41421356 and 7.0710678 (Table 162)."""
    test = chances(GaussianTest(thresholds.rate_below(0.25, 1), quantile_above(1e-6)))
    assert [test(q) for q in (1, 2, 8, 16)] == pytest.approx([1e-6, 2.60148e-5, 0.577821, 0.9999999976], rel=1e-5)
    test = chances(GaussianTest(thresholds.rate_below(0.01, 1), quantile_above(1e-6)))
    wanted = [1e-6, 1.994037e-6, 0.01939449, 0.81685112, 0.99983494]
    assert [test(q) for q in (1, 2, 20, 41, 60)] == pytest.approx(wanted, rel=1e-6)
    test = chances(GaussianTest(thresholds.rate_below(0.01, 4), quantile_above(1e-6), 2))
    wanted = [1e-6, 1e-6, 1.415509e-6, 0.02298287, 0.81685112, 0.99983494]
    assert [test(q) for q in (1, 2, 3, 41, 82, 120)] == pytest.approx(wanted, rel=1e-6)


def test_public_numbers_are_rounded_to_the_safe_side():
    for delta in (0.3, 1e-3, 1e-6, 1e-12):
        z = quantile_above(delta)
        assert z == pytest.approx(norm.isf(delta), rel=1e-12)
        assert norm.sf(z) <= delta * (1 + 1e-13)
    for rho in (0.02, 0.3, 1e-9, 7.0):
        for slack in (1, 2):
            assert (slack * thresholds.rate_below(rho, slack**2)) ** 2 / 2 <= Fraction(rho)
            assert float(thresholds.rate_below(rho, slack**2)) == pytest.approx((2 * rho) ** 0.5 / slack)


# What must not be done, shown to fail on the same box


def test_a_comparison_that_is_not_strict_breaks_delta_with_discrete_noise():
    """Two-sided geometric noise with a whole threshold t: P[noise > t] <= delta, P[noise >= t] > delta."""
    shrink = exp(-1.0)
    tail = cache(lambda t: shrink**t / (1 + shrink) if t > 0 else 1 - shrink ** (1 - t) / (1 + shrink))  # P[noise >= t]
    t = next(t for t in range(50) if tail(t + 1) <= 0.02)

    def law(h, strict):
        return fixed_law(h, 1, lambda q: 0.0 if q == 0 else tail(t + strict - (max(1, q) - 1)))

    assert worst(lambda h: law(h, True), neighbours(3, 4), 1.0) <= 0.02 + 1e-12
    assert worst(lambda h: law(h, False), neighbours(3, 4), 1.0) > 0.02


def test_releasing_a_count_or_the_order_breaks_it():
    chance = chances(thresholds.OptimalTest(Fraction(1), LITTLE))

    def with_count(h):
        return {(found, h[0] if found else None): p for found, p in fixed_law(h, 1, chance).items()}

    assert worst(with_count, [((30, 0), (31, 0))], 1.0) > 0.9

    def with_order(h):
        return {
            tuple(sorted(found, key=lambda i: -h[i])) if found else None: p
            for found, p in fixed_law(h, 2, chance).items()
        }

    assert worst(with_order, [((31, 30, 0), (31, 31 + 1, 0))], 1.0) > 0.9


def test_a_fallback_without_a_public_list_breaks_it():
    """An item named by an exponential mechanism over what is there: a new label comes out (Proposition 149)."""

    def fallback(h):
        there = [i for i in range(len(h)) if h[i]]
        weights = [exp(h[i]) for i in there]
        return {i: w / sum(weights) for i, w in zip(there, weights, strict=True)} or {None: 1.0}

    assert worst(fallback, neighbours(3, 2), 1.0) == 1.0
    offset = log(2 * 49)
    assert worst(lambda h: canonical_law(h, 1, 2, 1.0, 1.0, offset), neighbours(3, 2), 1.0) <= 0.02 + 1e-12


def test_a_round_of_twice_root_rho_is_ten_times_too_much_for_ten_rounds():
    """2 sqrt(rho) read as the epsilon of each of k rounds costs k rho / 2 (Proposition 148)."""
    rho, k = 0.1, 10
    assert k * (2 * rho**0.5) ** 2 / 8 == pytest.approx(0.5)
    assert k * (2 * (rho / k) ** 0.5) ** 2 / 8 == pytest.approx(0.05)
    a, e = 2.0, 2 * rho**0.5  # ten rounds among many candidates, half of which move: the rounds are nearly independent
    p = np.array([0.5, 0.5])
    q = p * np.exp([e, 0.0])
    q /= q.sum()
    assert k * renyi(dict(enumerate(p)), dict(enumerate(q)), a) / a > 0.3


def test_hockey_sticks_see_what_they_should():
    assert hockey_stick({1: 0.9, 2: 0.1}, {1: 0.5, 2: 0.5}, 0.0) == pytest.approx(0.4)
