"""Numbers plus noise, rounded to whole ones: floats where they are sure, and exact arithmetic on the same bits."""

from fractions import Fraction

import numpy as np
import pytest

from shortlist.exact import geometric
from shortlist.sampling import thresholds as additive
from shortlist.testing import seeded
from tests.helpers.inside import GAUSSIAN, LAPLACE

VALUES = np.array([0, 3, -7, 10**6, 2**40])


@pytest.mark.parametrize("noise", [GAUSSIAN, LAPLACE], ids=lambda noise: noise.name)
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(50), Fraction(10**9)])
def test_whole_sums_are_the_same_in_floats_and_exactly(noise, scale, monkeypatch):
    quick = [additive.add_whole_noise(VALUES, scale=scale, noise=noise, source=seeded(n)) for n in range(40)]
    monkeypatch.setattr(additive, "FLOAT_ERROR", 1e9)  # floats are sure of nothing
    exact = [additive.add_whole_noise(VALUES, scale=scale, noise=noise, source=seeded(n)) for n in range(40)]
    np.testing.assert_array_equal(quick, exact)
    assert len({tuple(row) for row in exact}) > 10


def test_sums_beyond_all_whole_numbers_are_cut():
    huge = additive.add_whole_noise(VALUES, scale=Fraction(10) ** 30, noise=LAPLACE, source=seeded(1))
    assert {abs(int(one)) for one in huge} == {geometric.LARGEST}


def test_pure_noise_keeps_whole_numbers_whole_and_floats_real():
    whole = additive.add_pure_noise(VALUES, scale=Fraction(5), source=seeded(2))
    assert all(one == int(one) for one in whole)
    assert any(one != value for one, value in zip(whole, VALUES.tolist(), strict=True))
    real = additive.add_pure_noise(VALUES * 1.0, scale=Fraction(5), source=seeded(2))
    assert any(one != int(one) for one in real)
