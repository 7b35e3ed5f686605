"""What gaps say about scores (Theorem 84, Proposition 97)."""

import math

import numpy as np
import pytest

from shortlist.utility.estimates import GapLaw, ThresholdGaps, best_linear


def test_the_best_linear_oracle():
    assert best_linear([10.0, 8.0, 7.0, 3.0], [1.5, 0.5, 4.0], 0.5) == pytest.approx(
        [9.58333333, 7.91666667, 7.25, 3.25]
    )
    assert best_linear([10.0, 8.0, 7.0, 3.0], [1.5, 0.5, 4.0, 99.0], 1.0) == pytest.approx(
        [9.6875, 7.9375, 7.1875, 3.1875]
    )
    assert best_linear([4.0], [], math.inf) == [4.0]


def law(noise, a, b, **more):
    return GapLaw(noise, 0.0, a, b, **more)


def test_the_laplace_exceedance_is_that_of_lemma_three():
    assert 1 - law("laplace", 0.8, 0.3).exceedance(2) == pytest.approx(0.69721022, abs=1e-8)
    b, t = 0.7, 3.0
    equal = (2 + b * t) * math.exp(-b * t) / 4
    for a in (b, b * (1 + 1e-6), b * (1 - 1e-6), b * (1 + 2e-5)):
        assert law("laplace", a, b).exceedance(t) == pytest.approx(equal, rel=1e-4)
        assert law("laplace", a, b).exceedance(-t) == pytest.approx(1 - equal, rel=1e-4)


def test_the_exponential_exceedance_is_that_of_its_own_tail():
    assert law("exponential", 0.8, 0.3).exceedance(2) == pytest.approx(0.29068370, abs=1e-8)


@pytest.mark.parametrize("noise", ["exponential", "laplace", "geometric"])
@pytest.mark.parametrize(("a", "b"), [(0.4, 0.3), (0.1, 0.9)])
def test_exceedance_variance_and_estimate_agree_with_simulation(noise, a, b):
    rng = np.random.default_rng(1)
    centre = 4.0 if noise == "geometric" else 0.0
    one = law(noise, a, b, centre=centre)
    n = 400_000

    def draw(rate):
        if noise == "laplace":
            return rng.laplace(scale=1 / rate, size=n)
        exponential = rng.exponential(1 / rate, n)
        return np.floor(exponential) if noise == "geometric" else exponential - 1 / rate

    gap = draw(a) - draw(b) - centre  # of a question at the threshold
    for t in (-7.0, -1.0, 0.0, 2.0, 9.0):
        assert one.exceedance(t) == pytest.approx(np.mean(gap > t), abs=0.004)
    assert one.variance == pytest.approx(gap.var(), rel=0.03)
    assert np.mean([one.estimate(float(g)) for g in gap[:20_000]]) == pytest.approx(0, abs=6 * gap.std() / 140)
    for confidence in (0.3, 0.9, 0.99):
        covered = np.mean(one.lower_bound(0.0, confidence).value + gap <= 0)
        assert (
            covered == pytest.approx(confidence, abs=0.004) if noise != "geometric" else covered >= confidence - 0.004
        )


def test_the_right_rate_for_general_questions_is_half():
    """b = .3, e1 = .8, general: a = .4. Using a = .8 gives only 92.60% (Table 156)."""
    assert law("laplace", 0.4, 0.3).lower_bound(0.0, 0.95).value == pytest.approx(-9.624621, abs=1e-6)
    wrong = law("laplace", 0.8, 0.3).lower_bound(0.0, 0.95).value
    assert wrong == pytest.approx(-8.172565, abs=1e-6)
    assert 1 - law("laplace", 0.4, 0.3).exceedance(-wrong) == pytest.approx(0.9260, abs=1e-4)


@pytest.mark.parametrize(("truth", "coverage"), [(0, 0.9), (-2, 0.8349), (-5, 0.6104), (-10, 0.0)])
def test_given_that_it_was_reported_the_bound_holds_less_often(truth, coverage):
    """P(score >= bound | gap >= 0), which the caveat warns of; monotone questions, b = .3, a = e1 = .8."""
    one = law("laplace", 0.8, 0.3)
    t = -one.lower_bound(0.0, 0.95).value
    reported, missed = one.exceedance(-truth), one.exceedance(max(t, -truth))
    assert 1 - missed / reported == pytest.approx(coverage, abs=2e-3)
    bound = one.lower_bound(3.0, 0.95)
    assert "reported above" in bound.caveat


def test_confidence_is_a_probability():
    for confidence in (0, 1, -0.5, 2, math.nan):
        with pytest.raises(ValueError, match="confidence"):
            law("laplace", 0.4, 0.3).lower_bound(0.0, confidence)


def test_inverse_variance_combination():
    one = GapLaw("exponential", 100.0, 0.5, 0.25)
    assert one.variance == pytest.approx(4 + 16)
    assert one.combine(10.0, 120.0, 5.0) == pytest.approx((120 / 5 + 110 / 20) / (1 / 5 + 1 / 20))
    both = ThresholdGaps((one, one))
    assert both.refine([10.0, 0.0], [120, 100], 5.0) == pytest.approx([118.0, 100.0])
    assert [bound.confidence for bound in both.lower_bound([1.0, 2.0], 0.9)] == [0.9, 0.9]


def test_extreme_rates_do_not_overflow():
    for noise in ("exponential", "laplace", "geometric"):
        assert GapLaw(noise, 0.0, 1e-160, 1e-170).variance == math.inf
        assert GapLaw(noise, 0.0, 800.0, 900.0).variance >= 0
        assert math.isfinite(GapLaw(noise, 0.0, 800.0, 900.0).lower_bound(1.0, 0.9).value)


@pytest.mark.parametrize("threshold", [math.inf, -math.inf])
def test_a_threshold_that_a_damaged_file_has_at_infinity_bounds_nothing(threshold):
    law = GapLaw("laplace", threshold, 1.0, 1.0)
    assert law.lower_bound(3.0, 0.9).value == -math.inf
