"""Bounds on how many exceed a level, against the law itself."""

import math

import numpy as np
import pytest

from shortlist.utility.quadrature import Crowd, log_bounds, without_tilt
from tests.helpers.inside import EXPONENTIAL, GUMBEL

CROWD = Crowd(np.array([-2.0, 0.0, 0.5, 3.0]), np.array([5.0, 1.0, 2.0, 3.0]), 2.0)
LEVELS = np.array([-3.0, -1.0, 0.7, 2.0, 4.0, 9.0])


def law_of(noise, level):
    """P[0, 1, .. exceed], item by item."""
    law = np.array([1.0])
    for value, weight in zip(CROWD.values, CROWD.weights, strict=True):
        p = math.exp(noise.log_survival(np.array([level - value]))[0])
        for _ in range(int(weight)):
            law = np.convolve(law, [1 - p, p])
    return np.concatenate([np.zeros(int(CROWD.sure)), law])


@pytest.mark.parametrize("noise", [EXPONENTIAL, GUMBEL])
@pytest.mark.parametrize("number", [1, 3, 6, 9, 12, 13])
def test_no_tail_exceeds_its_bound_and_none_is_far_below_it(noise, number):
    upper, lower = (log_bounds(CROWD, noise, LEVELS, number, side=side) for side in (1, -1))
    for level, most, least in zip(LEVELS.tolist(), upper.tolist(), lower.tolist(), strict=True):
        law = law_of(noise, level)
        for tail, bound in ((law[number:].sum(), most), (law[: number + 1].sum(), least)):
            assert tail <= math.exp(bound) * (1 + 1e-12)
            assert bound == 0.0 or bound < math.log(max(tail, 1e-22)) + 3.0


def test_a_crowd_that_is_not_tilted_has_the_chances_of_its_noise():
    seen = without_tilt(CROWD, GUMBEL, LEVELS)
    x = LEVELS[:, None] - CROWD.values
    assert seen.chance == pytest.approx(np.exp(GUMBEL.log_survival(x)), abs=1e-15)
    assert seen.density == pytest.approx(np.exp(GUMBEL.log_density(x)), abs=1e-15)
