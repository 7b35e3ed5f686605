"""Numbers behind a guarantee are rounded in its favour: certified, for many of them."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from shortlist.exact import thresholds
from shortlist.mechanisms.race import epsilon_of_a_round
from shortlist.privacy import PureDP
from tests.helpers.inside import quantile_above

SOME = np.random.default_rng(1).random(200)


def test_quantiles_of_the_gaussian_test_are_never_below_the_true_ones():
    """Phi(-z) <= delta, and hardly less: a quantile rounded to the nearest float would break it every second time."""
    with ctx.workprec(300):
        for delta in [1e-12, 1e-6, 0.01, 0.05, 0.3, *(10.0 ** (-9 * SOME)).tolist()]:
            if delta < 0.5:
                found = (arb(quantile_above(delta)) / arb(2).sqrt()).erfc() / 2
                assert found <= arb(delta)
                assert found >= arb(delta) * (1 - 1e-12)


@pytest.mark.parametrize("slack", [1, 2])
def test_rates_of_the_gaussian_test_never_cost_more_than_their_rho(slack):
    for rho in (10.0 ** (2 - 8 * SOME)).tolist():
        cost = (slack * thresholds.rate_below(rho, slack**2)) ** 2 / 2
        assert Fraction(rho) * (1 - Fraction(1, 10**12)) <= cost <= Fraction(rho)


@pytest.mark.parametrize("k", [2, 3, 7, 10, 41, 1000])
def test_rounds_of_a_pure_budget_never_add_up_to_more(k):
    for epsilon in [0.1, 1.0, 0.7, *(10.0 ** (3 - 6 * SOME)).tolist()]:
        total = k * Fraction(epsilon_of_a_round(k, PureDP(epsilon)))
        assert Fraction(epsilon) * (1 - Fraction(1, 10**12)) <= total <= Fraction(epsilon)
