"""The region of tests by its lowest half planes, and the hull of ratios, beside all of them."""

import numpy as np
import pytest

from shortlist.accounting.tuned import Region, _base, _hull
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, PureDP


@pytest.mark.parametrize("base", [ZCDP(0.5), PureDP(1.0), ApproxDP(0.5, 1e-6), BoundedRange(0.3).repeat(5)])
def test_the_lowest_half_planes_are_as_low_as_all(base):
    found, x = _base(base).region, np.concatenate([np.linspace(0, 1, 500), np.geomspace(1e-14, 1, 300)])
    every = np.minimum((found.c[:, None] + found.d[:, None] * x).min(axis=0), 1.0)
    assert np.array_equal(found.largest(x), every)


def test_half_planes_that_are_no_numbers_or_never_lowest_are_left_out():
    found = Region(np.array([0.0, 0.5, 0.5, np.inf, 0.9, 0.9]), np.array([2.0, 0.5, 0.5, 1.0, 0.6, np.nan]))
    assert [len(part) for part in found.envelope] == [2, 2, 1]
    assert found.largest(np.array([0.1, 1 / 3, 0.9])).tolist() == pytest.approx([0.2, 2 / 3, 0.95])


def test_the_hull_holds_the_largest_of_every_order():
    rng = np.random.default_rng(4)
    gains, bases = rng.normal(size=(2, 400))
    kept_gains, kept_bases = _hull(gains, bases)
    for order in [1.0, 1.1, 2.0, 7.0, 500.0]:
        assert (order * kept_gains + kept_bases).max() == pytest.approx((order * gains + bases).max(), abs=1e-12)
    assert len(kept_gains) < 30
