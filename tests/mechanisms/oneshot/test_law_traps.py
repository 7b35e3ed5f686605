"""Traps in computing the laws of one-shot sets (Theorem 125), each with the wrong variant shown to be off."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.mechanisms import GuardedTopK, OneshotTopK
from tests.helpers.laws import NOISES, number_correct, quality, right_probability
from tests.helpers.support import full_size, sized

every_noise = pytest.mark.parametrize("noise", NOISES)


@full_size
@pytest.mark.parametrize("noise", ["exponential", "half-logistic", "laplace"])
def test_panels_that_are_not_cut_at_the_kinks_never_settle(noise, monkeypatch):
    s = np.random.default_rng(0).normal(size=sized(8, full=20))
    assert number_correct(s, 5, noise).sum() == pytest.approx(1, abs=1e-12)
    monkeypatch.setattr("shortlist.utility.quadrature._cuts", lambda values, levels, noise: np.array(levels))
    with pytest.raises(ArithmeticError, match="settle"):
        number_correct(s, 5, noise)


@pytest.mark.parametrize("noise", ["exponential", "half-logistic", "laplace"])
def test_one_rule_that_is_not_cut_at_the_kinks_is_off(noise, monkeypatch):
    s = np.random.default_rng(0).normal(size=50)
    exact = number_correct(s, 10, noise)
    monkeypatch.setattr("shortlist.utility.quadrature._cuts", lambda values, levels, noise: np.array(levels))
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
    if noise in chance:
        assert 1 - right_probability(s, 2, noise) == pytest.approx(chance[noise], rel=1e-4)


def test_laws_that_floats_hardly_hold_are_still_answered():
    """The mass left out may exceed every float, and a chance may be below the smallest float with full digits."""
    values = np.repeat(np.arange(400, 0, -1), 10)
    found = GuardedTopK(k=1000, epsilon=1.0).quality(values, monotone=True)
    assert 0.0 <= found.top <= found.recall <= 1.0
    assert OneshotTopK(k=1000, epsilon=11.0, noise="exponential").success_probability(values, monotone=True) >= 0.0
