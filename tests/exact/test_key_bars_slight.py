"""The Gaussian profile in floats where the noise is wide: it decides which losses are checked in balls."""

from fractions import Fraction

import numpy as np
import pytest
from flint import ctx

from shortlist.exact import thresholds
from tests.helpers.inside import Cap, ball, pair_bar


@pytest.mark.parametrize("mu", [1e-15, 1e-9, 9e-4, 1.1e-3, 0.5])
@pytest.mark.parametrize("z", [-4.0, 0.0, 1.0, 6.0, 30.0])
def test_the_float_profile_is_near_the_certified_one(mu: float, z: float) -> None:
    found = float(thresholds.gaussian_profile(np.array([mu * z]), np.array([mu]))[0])
    with ctx.workprec(1000):
        exact = float(thresholds._profile_ball(ball(Fraction(mu * z)), ball(Fraction(mu))).mid())
    assert found == pytest.approx(exact, rel=2e-7)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-12, 1e-20), (1e-13, 1e-21), (1e-11, 1e-200)])
def test_a_tiny_budget_is_kept(epsilon: float, delta: float) -> None:
    cap = Cap(3, weighted=False)
    bar = pair_bar(epsilon, delta, cap)
    with ctx.workprec(2000):
        losses = [float(loss.upper()) for j in range(4) for loss in thresholds._loss_balls(bar, epsilon, cap, 3, j)]
    assert max(losses) <= delta


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-14, 1e-22), (1e-12, 1e-200)])
def test_a_budget_whose_bar_no_table_reaches_is_refused_at_once(epsilon: float, delta: float) -> None:
    with pytest.raises(ValueError, match="too small for any table"):
        pair_bar(epsilon, delta, Cap(3, weighted=False))
