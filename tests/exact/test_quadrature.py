"""Where to integrate: ends that leave little outside, and are not far out."""

import math

import numpy as np
import pytest

from shortlist.exact.noise import GUMBEL, LAPLACE
from shortlist.utility.quadrature import NEGLIGIBLE_LOG, find_range


@pytest.mark.parametrize("centre", [-3e5, -40.0, 0.0, 7.0, 2e4])
@pytest.mark.parametrize("width", [0.01, 1.0, 300.0])
@pytest.mark.parametrize("noise", [GUMBEL, LAPLACE])
def test_ends_leave_little_outside_and_are_at_most_a_twentieth_too_far_out(centre, width, noise):
    def below(z):
        return noise.log_cdf((z - centre) / width)

    def above(z):
        return noise.log_survival((z - centre) / width)

    low, high = find_range(below, above, (-1.0, 1.0))
    assert below(np.array([low]))[0] <= NEGLIGIBLE_LOG
    assert above(np.array([high]))[0] <= NEGLIGIBLE_LOG
    inside = 0.0501 * (high - low)
    assert below(np.array([low + inside]))[0] > NEGLIGIBLE_LOG
    assert above(np.array([high - inside]))[0] > NEGLIGIBLE_LOG
    assert math.isfinite(low)
