"""Gathering a crowd on sites: sums over items stay what they are, and the way back is interpolation."""

from __future__ import annotations

import numpy as np
import pytest

from shortlist.utility.quadrature import Crowd, crowd_of, gather, round_crowd
from tests.helpers.inside import EXPONENTIAL, KINDS, LAPLACE

every_noise = pytest.mark.parametrize("noise", KINDS.values(), ids=KINDS)


def dense(n=5000, seed=0):
    values = np.unique(np.random.default_rng(seed).normal(size=n) * 2)
    return crowd_of(values, (1 + np.arange(values.size) % 2).astype(np.float64))


@every_noise
@pytest.mark.parametrize("levels", [(0.5, 0.51), (2.0, 4.0), (9.0, 9.0)])
def test_sums_over_the_sites_are_sums_over_the_items(levels, noise):
    crowd = dense()
    seen = gather(crowd, levels, noise, 1).crowd
    assert seen.values.size < crowd.values.size / 3
    for z in np.linspace(levels[0], levels[1], 3):
        items, sites = (one.values < levels[0] for one in (crowd, seen))
        expected = noise.log_cdf(z - crowd.values[items]) @ crowd.weights[items]
        found = noise.log_cdf(z - seen.values[sites]) @ seen.weights[sites]
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-14)


@every_noise
def test_nobody_is_lost(noise):
    crowd = dense()
    seen = gather(crowd, (1.0, 1.2), noise, 0).crowd
    assert seen.weights.sum() + seen.sure == pytest.approx(crowd.weights.sum(), rel=1e-12)


def test_items_that_surely_exceed_are_counted_and_items_that_surely_do_not_are_dropped():
    crowd = crowd_of(np.array([-100.0, 0.0, 100.0]), np.array([5.0, 1.0, 7.0]))
    seen = gather(crowd, (0.0, 1.0), LAPLACE, 0)
    np.testing.assert_array_equal(seen.crowd.values, [0.0])
    assert seen.crowd.sure == 7.0
    np.testing.assert_array_equal(seen.spread(np.array([0.25]), 1.0), [0.0, 0.25, 1.0])
    all_of_them = Crowd(crowd.values, crowd.weights, drop_below=False, count_above=False)
    kept = gather(all_of_them, (0.0, 1.0), LAPLACE, 0).crowd
    np.testing.assert_array_equal(kept.values, crowd.values)


def test_the_way_back_is_the_function_itself():
    crowd = dense()
    seen = gather(crowd, (8.0, 8.5), LAPLACE, 1)
    assert seen.crowd.values.size < crowd.values.size / 3
    back = seen.spread(np.exp(seen.crowd.values / 3), np.nan)
    np.testing.assert_allclose(back, np.exp(crowd.values / 3), rtol=1e-12)


def test_no_cell_reaches_across_a_kink():
    """The exponential density at z - s jumps at s = z: from the levels in question every jump stays in place."""
    crowd = dense()
    levels = (0.0, 0.03)
    seen = gather(crowd, levels, EXPONENTIAL, 1).crowd
    for z in (0.001, 0.012, 0.029):
        above = crowd.weights[crowd.values > z].sum()
        assert seen.weights[seen.values > z].sum() + seen.sure == pytest.approx(above, abs=1e-9)


def test_rounding_moves_every_value_one_way_by_less_than_a_quarter():
    crowd = dense(200)
    up, down = round_crowd(crowd, up=True), round_crowd(crowd, up=False)
    assert up.weights.sum() == down.weights.sum() == crowd.weights.sum()
    for z in np.linspace(-5, 5, 21):
        exceed = [one.weights[one.values > z].sum() for one in (down, crowd, up)]
        assert exceed == sorted(exceed)
        assert up.weights[up.values > z].sum() <= crowd.weights[crowd.values > z - 0.25].sum()
