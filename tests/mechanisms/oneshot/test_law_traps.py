"""Traps in computing the laws of one-shot sets (Theorem 125), each with the wrong variant shown to be off."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.exact import noise as exact_noise
from shortlist.mechanisms import GuardedTopK, OneshotTopK
from shortlist.utility import quadrature as panels
from shortlist.utility.quadrature import crowd_of, refine, tilt
from shortlist.utility.race import number_correct, quality, right_probability, spectrum
from tests.helpers.inside import EXPONENTIAL, GUMBEL, KINDS, LAPLACE, LOGISTIC
from tests.helpers.support import full_size, sized

every_noise = pytest.mark.parametrize("noise", KINDS.values(), ids=KINDS)


def coefficient(number, size, share_of_180_degrees):
    """[w^number] prod (o + p w) for twelve logistic items seen from 0, by a Fourier sum over ``size`` angles."""
    crowd = crowd_of(np.linspace(-3.0, -1.5, 12), np.ones(12))
    tilted = tilt(crowd, LOGISTIC, np.array([0.0]), number)
    angles = 2 * np.pi * np.arange(size // 2 + 1) / size
    shares = np.where(angles == 0, 1.0, np.where(angles == np.pi, share_of_180_degrees, 2.0)) / size
    terms = spectrum(tilted, crowd.weights, -float(number), angles).product * shares
    return float(np.exp(tilted.log_scale(crowd, number))[0] * terms.real.sum())


def test_an_even_number_of_angles_counts_180_degrees_twice():
    law = np.array([1.0])
    for s in np.linspace(-3.0, -1.5, 12):
        p = 1 / (1 + np.exp(-s))
        law = np.convolve(law, [1 - p, p])
    for number in (1, 2):
        assert coefficient(number, 13, 2.0) == pytest.approx(law[number], abs=1e-14)
        assert coefficient(number, 14, 1.0) == pytest.approx(law[number], abs=1e-14)
        assert abs(coefficient(number, 14, 2.0) - law[number]) > 1e-5


@full_size
@pytest.mark.parametrize("noise", [EXPONENTIAL, exact_noise.HALF_LOGISTIC, LAPLACE])
def test_panels_that_are_not_cut_at_the_kinks_never_settle(noise, monkeypatch):
    s = np.random.default_rng(0).normal(size=sized(8, full=20))
    assert number_correct(s, 5, noise).sum() == pytest.approx(1, abs=1e-12)
    monkeypatch.setattr(panels, "_cuts", lambda values, levels, noise: np.array(levels))
    with pytest.raises(ArithmeticError, match="settle"):
        number_correct(s, 5, noise)


@pytest.mark.parametrize("noise", [EXPONENTIAL, exact_noise.HALF_LOGISTIC, LAPLACE])
def test_one_rule_that_is_not_cut_at_the_kinks_is_off(noise, monkeypatch):
    s = np.random.default_rng(0).normal(size=50)
    exact = number_correct(s, 10, noise)
    monkeypatch.setattr(panels, "_cuts", lambda values, levels, noise: np.array(levels))
    monkeypatch.setattr("shortlist.utility.race.refine", lambda evaluate, settled: evaluate(1))
    assert np.abs(number_correct(s, 10, noise) - exact).max() > 1e-7


@every_noise
@pytest.mark.parametrize("gap", [61.0, 1e5, 1e300])
def test_losers_too_far_away_to_matter_leave_probability_one_not_zero(gap, noise):
    """Dropping items beyond 60 and integrating over the best loser among those left would give 0."""
    s = np.array([0.0, 0.0, -gap, -gap - 1.0])
    assert right_probability(s, 2, noise) == pytest.approx(1, abs=1e-10)
    assert quality(s, 2, noise).recall == pytest.approx(1, abs=1e-10)


@every_noise
def test_winners_too_far_away_to_matter_leave_the_rest_as_it_is(noise):
    s = np.array([0.3, 0.0, -0.5, -0.6])
    far = np.concatenate([s, [1e4, 2e4, 1e300]])
    assert right_probability(far, 5, noise) == pytest.approx(right_probability(s, 2, noise), abs=1e-12)
    np.testing.assert_allclose(number_correct(far, 5, noise)[3:], number_correct(s, 2, noise), atol=1e-12)


@every_noise
def test_wide_gaps_need_panels_by_the_unit_not_by_the_dozen(noise):
    s = np.array([0.0, -25.0, -50.0])
    law = number_correct(s, 2, noise)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    chance = {"gumbel": 1 / (1 + np.exp(25.0)), "exponential": np.exp(-25.0) / 2}
    if noise.name in chance:
        assert 1 - right_probability(s, 2, noise) == pytest.approx(chance[noise.name], rel=1e-4)


def test_the_complement_is_taken_from_the_distribution_function():
    """F(-4) of Gumbel noise is 2e-24, which 1 - S(-4) = 0 is not: the tilt needs it."""
    crowd = crowd_of(np.array([4.0]), np.ones(1))
    log_o = GUMBEL.log_cdf(np.array([-4.0]))
    assert 1.0 - np.exp(GUMBEL.log_survival(np.array([-4.0])))[0] == 0.0
    none = tilt(crowd, GUMBEL, np.array([0.0]), 0.5)
    assert none.log_tilt[0] == pytest.approx(log_o[0], abs=0.1)
    assert none.rest[0, 0] == pytest.approx(0.5, abs=0.05)


def test_refinement_stops_at_the_first_settled_value_and_raises_if_there_is_none():
    seen = []

    def halving(refinement):
        seen.append(refinement)
        return np.array([2.0**-refinement])

    assert refine(halving, lambda old, new: bool(old[0] - new[0] < 0.2)) == 0.125
    assert seen == [0, 1, 2, 3]
    with pytest.raises(ArithmeticError, match="settle"):
        refine(halving, lambda old, new: False)


def test_laws_that_floats_hardly_hold_are_still_answered():
    """The mass left out may exceed every float, and a chance may be below the smallest float with full digits."""
    values = np.repeat(np.arange(400, 0, -1), 10)
    found = GuardedTopK(k=1000, epsilon=1.0).quality(values, monotone=True)
    assert 0.0 <= found.top <= found.recall <= 1.0
    assert OneshotTopK(k=1000, epsilon=11.0, noise="exponential").success_probability(values, monotone=True) >= 0.0
