"""Custom noise: what is accepted, its law, and that it never releases an order."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from shortlist.noise import piecewise_noise
from tests.helpers.inside import EXPONENTIAL


@pytest.mark.parametrize(
    ("knots", "slopes", "message"),
    [
        ([], [], "same length"),
        ([0, 1], [-1], "same length"),
        ([0, 0], [-1, -1], "increase strictly"),
        ([1, 0], [-1, -1], "increase strictly"),
        ([0], [Fraction(-100001, 100000)], "steeper"),
        ([0], [0.25], r"\[-1, 0\]"),
        ([0, 1], [-1, 0], "last slope"),
        ([0], [float("nan")], "finite rational"),
        ([float("inf")], [-1], "finite rational"),
        (["a"], [-1], "finite rational"),
        ([2**31], [-1], "within 2"),
        ([0], [-(2.0**-40)], "at most"),
    ],
)
def test_what_would_break_the_guarantee_is_refused(knots, slopes, message):
    with pytest.raises(ValueError, match=message):
        piecewise_noise(knots, slopes)


@pytest.mark.parametrize("name", ["gumbel", 3])
def test_a_custom_noise_needs_a_name_of_its_own(name):
    with pytest.raises(ValueError, match="name"):
        piecewise_noise([0], [-1], name=name)


def test_numbers_of_numpy_are_numbers():
    assert piecewise_noise([np.float32(0.5)], [np.float64(-1)]).kinks == (0.5,)  # type: ignore[list-item]


def test_a_slope_of_minus_one_is_exponential_noise():
    again = piecewise_noise([0], [-1])
    x = np.linspace(-3, 30, 200)
    for ours, known in [(again.log_survival, EXPONENTIAL.log_survival), (again.log_cdf, EXPONENTIAL.log_cdf)]:
        np.testing.assert_allclose(ours(x), known(x), atol=1e-12)
    np.testing.assert_allclose(again.log_density(x), EXPONENTIAL.log_density(x))
    with ctx.workprec(128):
        assert again.exact_quantile(12345, 64).overlaps(EXPONENTIAL.exact_quantile(12345, 64))


def test_custom_noise_releases_no_order():
    assert not piecewise_noise([0], [-1]).releases_order


def test_the_density_integrates_to_the_law():
    noise = piecewise_noise([-1, 2, 3], [Fraction(-1, 3), 0, -1])
    x = np.linspace(-1, 40, 400_001)
    mass = np.exp(noise.log_density(x[:-1] + 5e-5)) @ np.diff(x)
    assert abs(mass - 1) < 1e-4
    assert noise.kinks == (-1.0, 2.0, 3.0)


def test_a_uniform_that_the_precision_cannot_place_is_not_a_number():
    """ln S is -1/3 at the knot 1: at 24 bits the ball of a nearby u straddles it, at 200 bits it does not."""
    noise = piecewise_noise([0, 1], [Fraction(-1, 3), -1])
    near = int(Fraction(np.exp(-1 / 3)) * 2**64)
    with ctx.workprec(24):
        assert noise.exact_quantile(near, 64).is_nan()
    with ctx.workprec(200):
        assert abs(noise.exact_quantile(near, 64) - 1) < arb("1e-10")


def test_equal_noises_are_equal_and_survive_pickling():
    one, same, other = (piecewise_noise([0, 1, 2], [Fraction(-1, 2), 0, last]) for last in (-1, -1.0, Fraction(-1, 3)))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    back = pickle.loads(pickle.dumps(one))
    assert back == one
    assert back.log_survival(np.array([2.5])).tolist() == one.log_survival(np.array([2.5])).tolist()
