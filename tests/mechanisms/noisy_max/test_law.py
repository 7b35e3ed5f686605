"""The law of a noisy maximum: oracles, independent paths, extremes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shortlist.noise import piecewise_noise
from tests.helpers.by_force import inclusion, set_probabilities
from tests.helpers.inside import EXPONENTIAL, GUMBEL, KINDS, LAPLACE, LOGISTIC
from tests.helpers.laws import winner_probabilities
from tests.helpers.support import full_size, sized

every_noise = pytest.mark.parametrize("noise", KINDS.values(), ids=KINDS)


def winners(s, noise):
    return winner_probabilities(np.asarray(s, dtype=float), noise)


@pytest.mark.parametrize(
    ("s", "noise", "law"),
    [  # (Table 153)
        ([1.5, 1.0, 0.0], GUMBEL, [0.546549387, 0.331498960, 0.121951652]),
        ([1.5, 1.0, 0.0], EXPONENTIAL, [0.63028135, 0.28070945, 0.08900920]),
        ([3.0, 2.0, 0.0], EXPONENTIAL, [0.79727196, 0.18088711, 0.02184093]),
        ([0.0, -0.5, -1.2, -0.1], EXPONENTIAL, [0.38706978, 0.19512438, 0.08850279, 0.32930304]),
        ([1.5, 1.0, 0.0], LAPLACE, [0.5572781, 0.3323583, 0.1103636]),
    ],
)
def test_law_agrees_with_the_oracles(s, noise, law):
    digits = 5e-8 if noise is LAPLACE else 5e-9
    np.testing.assert_allclose(winners(s, noise), law, rtol=0, atol=digits)


@every_noise
@pytest.mark.parametrize(
    "s", [[0.0, 0.0], [3.0, 1.0, 1.0, -0.25, -7.0], [0.0, -1e-3, -2e-3, 0.5], [40.0, 0.0, 0.0]], ids=str
)
def test_law_agrees_with_dense_quadrature(s, noise):
    expected = inclusion(set_probabilities(s, 1, noise.name), len(s))
    np.testing.assert_allclose(winners(s, noise), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("d", [2, 9, 31, 40])
def test_permute_and_flip_agrees_with_its_exact_coefficients(d):
    """p_i sum_r c_r / (r + 1), with c_r the coefficients of prod_{j != i} (1 - p_j t), in rational arithmetic."""
    odds = [Fraction(1)] + [Fraction(1 + (7 * j) % 90, 100) for j in range(1, d)]
    expected = []
    for i, own in enumerate(odds):
        coefficients = [Fraction(1)]
        for p in odds[:i] + odds[i + 1 :]:
            shifted = [-p * c for c in coefficients]
            coefficients = [a + b for a, b in zip([*coefficients, Fraction(0)], [Fraction(0), *shifted], strict=True)]
        expected.append(float(own * sum(c / (r + 1) for r, c in enumerate(coefficients))))
    s = np.log([float(p) for p in odds])
    np.testing.assert_allclose(winners(s, EXPONENTIAL), expected, rtol=0, atol=1e-14)


def test_alternating_coefficients_in_floats_would_be_wrong():
    """The trap of the expansion in powers (Proposition 54): with 100 ties the coefficients reach 1e29 and cancel."""
    coefficients = np.poly(np.ones(99))[::-1] * (-1.0) ** 99
    printed = np.sum(coefficients / np.arange(1, 101))
    assert abs(printed - 0.01) > 1.0
    np.testing.assert_allclose(winners(np.zeros(100), EXPONENTIAL), 0.01, rtol=1e-13)


@every_noise
@pytest.mark.parametrize("d", [1, 2, 32, 33, 100_000])
def test_equal_scores_win_equally_often(d, noise):
    np.testing.assert_allclose(winners(np.full(d, 17.25), noise), 1 / d, rtol=1e-11)


@full_size
@every_noise
@pytest.mark.parametrize("spread", [1e-3, 1e3])
def test_probabilities_sum_to_one_for_very_many_distinct_scores(spread, noise):
    s = spread * np.random.default_rng(3).normal(size=sized(20_000, full=100_000))
    law = winners(s, noise)
    assert abs(law.sum() - 1) <= 1e-12
    assert law.min() >= 0
    assert law.argmax() == s.argmax()


@pytest.mark.parametrize("d", [33, 400, 3000])
@pytest.mark.parametrize("spread", [0.0, 0.1, 2.0, 50.0])
def test_permute_and_flip_agrees_with_the_integral_over_levels(d, spread):
    """Exponential noise under another name takes the general path."""
    s = spread * np.random.default_rng(6).normal(size=d)
    expected = winners(s, piecewise_noise([0], [-1]))
    np.testing.assert_allclose(winners(s, EXPONENTIAL), expected, rtol=1e-11, atol=1e-14)


@every_noise
def test_many_items_by_cells_agree_with_each_item_by_itself(noise, monkeypatch):
    s = np.random.default_rng(4).exponential(size=3000)
    by_cells = winners(s, noise)
    monkeypatch.setattr("shortlist.utility.quadrature.FULL_CELL", np.inf)
    np.testing.assert_allclose(by_cells, winners(s, noise), rtol=1e-11, atol=1e-15)


@every_noise
def test_gaps_of_1e300_leave_nothing_to_chance(noise):
    np.testing.assert_allclose(winners([1e300, -1e300, 0.0], noise), [1, 0, 0], atol=1e-14)
    np.testing.assert_allclose(winners([-1e300, 1.5e308, 1.5e308, -1.5e308], noise), [0, 0.5, 0.5, 0], atol=1e-14)


@every_noise
def test_items_at_minus_infinity_change_nothing_and_never_win(noise):
    law = winners([0.0, -np.inf, 1.0, -np.inf], noise)
    assert law[1] == law[3] == 0.0
    np.testing.assert_array_equal(law[[0, 2]], winners([0.0, 1.0], noise))


@every_noise
def test_law_is_equivariant_under_permutation_and_invariant_under_shifts(noise):
    random = np.random.default_rng(5)
    s = np.round(random.normal(size=40), 1)
    order = random.permutation(40)
    np.testing.assert_array_equal(winners(s[order], noise), winners(s, noise)[order])
    np.testing.assert_allclose(winners(s + 1024.0, noise), winners(s, noise), atol=1e-12)


def test_two_items_win_by_the_law_of_a_difference_of_noises():
    """P[N_1 - N_0 <= g], with e = e^g: for Laplace 1 - (2 + g) / (4 e), for logistic e (e - 1 - g) / (e - 1)^2."""
    for gap in (0.125, 1.0, 5.0):
        e = np.exp(gap)
        assert winners([gap, 0.0], LAPLACE)[0] == pytest.approx(1 - (2 + gap) / (4 * e), abs=1e-13)
        assert winners([gap, 0.0], LOGISTIC)[0] == pytest.approx(e * (e - 1 - gap) / (e - 1) ** 2, abs=1e-13)


def test_custom_noise_with_many_kinks_agrees_with_dense_quadrature():
    """The counterexample (Proposition 61): hazard 1 on [10 j, 10 j + 5], 0 elsewhere."""
    knots = [5 * j for j in range(40)]
    noise = piecewise_noise(knots, [-1, 0] * 19 + [-1, -1])
    law = tuple((lambda x, log=log: np.exp(log(x))) for log in (noise.log_survival, noise.log_cdf, noise.log_density))
    s = [5.0, 0.0, 5.0, 3.3]
    expected = inclusion(set_probabilities(s, 1, law, noise.kinks), 4)
    np.testing.assert_allclose(winners(s, noise), expected, rtol=0, atol=1e-9)
    assert abs(winners(s, noise).sum() - 1) <= 1e-12


def test_noise_that_falls_over_a_billion_units_is_integrated_too():
    slow = piecewise_noise([0, 3, 1000], [-1, 0, Fraction(-1, 10**6)])
    law = winners([1e6, 0.0, 0.0], slow)
    assert abs(law.sum() - 1) <= 1e-12
    assert law[1] == law[2]


def test_noise_with_a_hidden_kink_is_refused_rather_than_answered_badly():
    with pytest.raises(ArithmeticError, match="settle"):
        winners([0.3, 0.0, -1.0], replace(LAPLACE, kinks=()))


@pytest.mark.parametrize("s", [[0.0, np.nan], [0.0, np.inf], [-np.inf, -np.inf], [], [[0.0, 1.0]]], ids=str)
def test_scores_that_are_no_scores_are_refused(s):
    with pytest.raises(ValueError, match=r"score|candidate"):
        winners(s, GUMBEL)
