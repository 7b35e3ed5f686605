"""A crowd that is not tilted, against its noise."""

import numpy as np
import pytest

from shortlist.utility.quadrature import Crowd, tilt
from tests.helpers.inside import GUMBEL

CROWD = Crowd(np.array([-2.0, 0.0, 0.5, 3.0]), np.array([5.0, 1.0, 2.0, 3.0]), 2.0)
LEVELS = np.array([-3.0, -1.0, 0.7, 2.0, 4.0, 9.0])


def test_a_crowd_that_is_not_tilted_has_the_chances_of_its_noise():
    seen = tilt(CROWD, GUMBEL, LEVELS, None)
    x = LEVELS[:, None] - CROWD.values
    assert seen.chance == pytest.approx(np.exp(GUMBEL.log_survival(x)), abs=1e-15)
    assert seen.density == pytest.approx(np.exp(GUMBEL.log_density(x)), abs=1e-15)
