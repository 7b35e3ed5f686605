"""The region of tests by its lowest half planes, and the envelope of lines, beside all of them."""

import numpy as np
import pytest

from shortlist import bounds, tuned
from shortlist.accounting import compose
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, PureDP


@pytest.mark.parametrize("base", [ZCDP(0.5), PureDP(1.0), ApproxDP(0.5, 1e-6), BoundedRange(0.3).repeat(5)])
def test_the_lowest_half_planes_are_as_low_as_all(base):
    charges, x = base.curves(), np.concatenate([np.linspace(0, 1, 500), np.geomspace(1e-14, 1, 300)])
    c, d = tuned.half_planes(bounds.whole_profile(charges), compose.pure_total(charges), compose.renyi_total(charges))
    every = np.minimum((c[:, None] + d[:, None] * x).min(axis=0), 1.0)
    assert np.array_equal(tuned.Region.of(c, d).largest(x), every)


def test_half_planes_that_are_no_numbers_or_never_lowest_are_left_out():
    found = tuned.Region.of(np.array([0.0, 0.5, 0.5, np.inf, 0.9, 0.9]), np.array([2.0, 0.5, 0.5, 1.0, 0.6, np.nan]))
    assert len(found.bound.slopes) == 2
    assert found.largest(np.array([0.1, 1 / 3, 0.9])).tolist() == pytest.approx([0.2, 2 / 3, 0.95])


def test_the_envelope_holds_the_largest_line_of_every_order():
    rng = np.random.default_rng(4)
    slopes, heights = rng.normal(size=(2, 400))
    found, orders = tuned.Envelope.of(slopes, heights), np.array([1.0, 1.1, 2.0, 7.0, 500.0])
    assert np.array_equal(found.at(orders), (orders * slopes[:, None] + heights[:, None]).max(axis=0))
    assert len(found.slopes) < 30
