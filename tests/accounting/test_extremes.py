"""Where floats run out: what an attack on the accountants found, each with the truth it understated."""

import math
import warnings

import pytest

from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, GumbelDP, PureDP, RenyiDP, calibrate, compose


def test_products_keep_deltas_far_below_the_smallest_square():
    """A real non-adaptive mechanism needs 7.6e-224 here, and at least 1.7e-214 at the second epsilon."""
    together = compose(BoundedRange(0.1).repeat(1000), PureDP(0.1))
    assert together.delta_at(50.0) >= 7.6e-224
    assert together.epsilon_at(1e-220) > 49.0096


def test_one_round_of_tiny_range_has_its_delta():
    """delta(0) = tanh(epsilon / 4) for one round of bounded range."""
    for epsilon in (1e-158, 1e-161, 1e-162, 1e-300):
        assert BoundedRange(epsilon).delta_at(0.0) >= epsilon / 4
    found = calibrate(BoundedRange, ApproxDP(0.0, 1e-200))
    assert found <= 4e-200


@pytest.mark.parametrize(("epsilon", "order"), [(0.1, 1 + 1e-15), (1.0, 1 + 4.5e-16), (0.5, 1 + 1e-8)])
def test_bounded_range_near_order_one_is_not_below_its_divergence(epsilon, order):
    """KL of the worst window: at order 1 the tight value is above 0.98 epsilon^2 / 8 up to epsilon 1."""
    assert BoundedRange(epsilon).rdp(order) >= 0.98 * epsilon**2 / 8


def test_gumbel_values_near_their_last_order_are_infinite_or_large():
    assert math.isinf(GumbelDP(0.04).rdp(25.50333324444783))
    assert GumbelDP(1.0).rdp(1.58197670686) > GumbelDP(1.0).rdp(1.5819767)


@pytest.mark.parametrize(
    ("guarantee", "epsilon"),
    [(ZCDP(0.5), 60.0), (GumbelDP(0.01), 20.0), (PureDP(0.01).repeat(10**4), 99.9)],
)
def test_below_the_pure_epsilon_no_delta_is_zero(guarantee, epsilon):
    assert guarantee.delta_at(epsilon) > 0


@pytest.mark.parametrize(
    ("guarantee", "delta"),
    [(BoundedRange(0.1).repeat(100), 1e-16), (PureDP(0.1).repeat(400), 1e-14), (PureDP(1.0).repeat(1000), 1e-10)],
)
def test_lower_bounds_do_not_vanish_at_small_delta(guarantee, delta):
    lower, upper = guarantee.epsilon_bounds(delta)
    assert 0.5 * upper < lower <= upper


def test_lower_bounds_stay_below_their_witness():
    assert ZCDP(2e6).epsilon_bounds(0.9)[0] < 1997437
    assert RenyiDP(2.0, 0.0).epsilon_bounds(0.0)[0] == 0.0


@pytest.mark.parametrize(
    ("guarantee", "delta"),
    [
        (PureDP(400.0).repeat(10**9), 1e-6),
        (PureDP(1e5).repeat(1000), 1e-300),
        (BoundedRange(5e-324).repeat(2), 1e-6),
        (GumbelDP(5e-324).repeat(2), 1e-6),
        (PureDP(1e300), 1e-6),
    ],
)
def test_extreme_sizes_are_answered_without_a_crash_or_a_warning(guarantee, delta):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert guarantee.epsilon_at(delta) >= 0
        assert 0 <= guarantee.delta_at(1e300) <= 1


def test_a_trade_off_curve_falls():
    rounds = PureDP(1.4868538807455423).repeat(5)
    errors = [rounds.tradeoff(alpha) for alpha in (0.00396, 0.02, 0.2, 0.5)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 0.25


@pytest.mark.parametrize("budget", [PureDP(1e-300), PureDP(1e300), ApproxDP(0.0, 0.999), ApproxDP(2.0, 0.0)])
def test_budgets_of_any_size_are_calibrated(budget):
    found = calibrate(BoundedRange, budget)
    assert budget.excess(BoundedRange(found)) <= 0
    assert budget.excess(BoundedRange(found * (1 + 1e-6))) > 0


def test_calibration_says_what_is_wrong():
    with pytest.raises(ValueError, match="every parameter fits"):
        calibrate(lambda x: PureDP(0.1), PureDP(1.0))
    with pytest.raises(ValueError, match="no parameter fits"):
        calibrate(GumbelDP, ZCDP(0.1))
    with pytest.raises(TypeError, match="budget must be"):
        calibrate(GumbelDP, 1.0)  # type: ignore[arg-type]


def test_a_number_of_rounds_beyond_all_floats_is_refused():
    with pytest.raises(ValueError, match="whole number"):
        PureDP(0.1).repeat(10**400)
    with pytest.raises(ValueError, match="whole number"):
        GumbelDP(0.1, 10**400)
