"""The numbers of the accountants (Table 151, 152)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shortlist.accounting import curves
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, GumbelDP, PureDP, calibrate
from tests.helpers.inside import many_rounds


def at(profile, x: float) -> float:
    return float(profile(np.array([x]))[0])


@pytest.mark.parametrize(
    ("epsilon", "order", "value"),
    [(1.0, 2, 0.240229), (1.0, 4, 0.429533), (1.0, 16, 0.781201), (0.5, 2, 0.061860)],
)
def test_bounded_range_has_the_tight_renyi_curve(epsilon, order, value):
    assert BoundedRange(epsilon).rdp(order) == pytest.approx(value, abs=6e-7)


@pytest.mark.parametrize(("order", "value"), [(2, 0.735326), (4, 0.895883), (16, 0.979116)])
def test_pure_dp_has_the_renyi_curve_of_randomised_response(order, value):
    assert PureDP(1.0).rdp(order) == pytest.approx(value, abs=6e-7)
    sinh = math.log((math.sinh(order) - math.sinh(order - 1)) / math.sinh(1.0)) / (order - 1)
    assert PureDP(1.0).rdp(order) == pytest.approx(sinh, rel=1e-12)


def test_zcdp_converts_by_the_tight_formula():
    assert ZCDP(0.5).epsilon_at(1e-6) == pytest.approx(5.221534, abs=6e-7)
    assert ZCDP(0.5).delta_at(4.0) == pytest.approx(1.957954e-4, rel=1e-6)
    assert ZCDP(0.5).epsilon_at(1e-6) < 0.5 + 2 * math.sqrt(0.5 * math.log(1e6)) == pytest.approx(5.756522, abs=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "rounds", "x", "value"),
    [
        (1.0, 2, 0.0, 0.30336550),
        (1.0, 2, 0.5, 0.15245191),
        (1.0, 3, 0.75, 0.1497555),
        (0.2, 10, 0.5, 0.0109484),
        (0.2, 10, 1.0, 1.12541e-4),
    ],
)
def test_adaptive_rounds_follow_the_recursion(epsilon, rounds, x, value):
    found = at(many_rounds(epsilon, rounds), x)
    assert value * (1 - 2e-6) <= found <= value * (1 + 2e-4)
    assert BoundedRange(epsilon).repeat(rounds).delta_at(x) <= found


@pytest.mark.parametrize(("epsilon", "least", "most"), [(1.0, 0.1713, 0.17220), (4.0, 0.6018, 0.60715)])
def test_ten_rounds_get_the_epsilon_of_the_adaptive_optimum(epsilon, least, most):
    found = calibrate(lambda each: BoundedRange(each).repeat(10), ApproxDP(epsilon, 1e-5))
    assert least <= found <= most


GUMBEL = [
    (1, 0.5, 0.5, 0.0842264552),
    (1, 1.0, 1.0, 0.197379194),
    (1, 1.0, 0.0, 0.353224357),
    (1, 1.0, 0.5, 0.264043820),
    (3, 0.7, 0.5, 0.34357646),
    (10, 0.05, 0.5, 5.24740e-4),
    (10, 0.1, 1.0, 1.33011705e-3),
    (10, 0.2, 2.0, 4.16354517e-3),
]


@pytest.mark.parametrize(("k", "mu", "epsilon", "value"), GUMBEL)
def test_gumbel_values_have_the_exact_profile(k, mu, epsilon, value):
    assert GumbelDP(mu, k).delta_at(epsilon) == pytest.approx(value, rel=1e-6)


def test_very_many_values_reveal_everything():
    for profile in (curves.forward(3.0, 1000), curves.backward(3.0, 1000)):
        assert at(profile, 0.0) == pytest.approx(1.0, abs=1e-12)


def test_one_gumbel_value_has_the_closed_form():
    for mu, epsilon in [(0.5, 0.5), (1.0, 1.0), (1e-3, 2e-3), (3.0, 0.1)]:
        closed = math.exp(epsilon) * math.expm1(mu) * math.exp((mu + epsilon) / math.expm1(-mu))
        assert GumbelDP(mu).delta_at(epsilon) == pytest.approx(closed, rel=1e-11)


def test_the_two_orders_of_a_gumbel_pair():
    assert at(curves.forward(0.7, 3), 0.5) == pytest.approx(0.343576460, rel=1e-8)
    assert at(curves.backward(0.7, 3), 0.5) == pytest.approx(0.267589008, rel=1e-8)
    assert at(curves.forward(1.0, 1), 0.0) == pytest.approx(at(curves.backward(1.0, 1), 0.0), rel=1e-12)
    for k, mu in [(1, 0.01), (1, 2.0), (5, 0.3), (300, 0.1)]:
        x = np.linspace(0, 3 * k * mu, 300)
        assert np.all(curves.forward(mu, k)(x) >= curves.backward(mu, k)(x) * (1 - 1e-9) - 1e-15)


def test_gumbel_renyi_is_finite_only_below_its_limit():
    order = np.array([1.5])
    assert curves.forward_renyi(0.5, order)[0] == pytest.approx(0.284191659, rel=1e-8)
    assert curves.backward_renyi(0.5, order)[0] == pytest.approx(0.140806521, rel=1e-8)
    assert GumbelDP(0.5, k=2).rdp(1.5) == pytest.approx(2 * 0.284191659, rel=1e-8)
    assert GumbelDP(0.5, k=2, monotone=False).rdp(1.5) == pytest.approx(2 * (0.284191659 + 0.140806521), rel=1e-8)
    limit = 1 / -math.expm1(-0.5)
    assert limit == pytest.approx(2.5415, abs=1e-4)
    assert math.isfinite(GumbelDP(0.5).rdp(limit - 1e-3))
    assert math.isinf(GumbelDP(0.5).rdp(limit + 1e-3))


@pytest.mark.parametrize(
    ("k", "delta", "scales"),
    [
        (1, 1e-5, [15.9779, 8.82532, 4.94006, 2.83695]),
        (5, 1e-5, [24.49543, 13.31299, 7.31885, 4.11374]),
        (10, 1e-5, [30.90300, 16.70122, 9.12245, 5.08677]),
        (50, 1e-5, [58.18887, 31.15831, 16.83652, 9.26097]),
        (10, 1e-6, [36.99942, 19.71990, 10.61637, 5.82633]),
    ],
)
def test_gumbel_scales(k, delta, scales):
    for epsilon, scale in zip([0.5, 1.0, 2.0, 4.0], scales, strict=True):
        mu = calibrate(lambda each: GumbelDP(each, k), ApproxDP(epsilon, delta))
        assert 1 / mu == pytest.approx(scale, abs=6e-5)
        assert GumbelDP(mu, k).delta_at(epsilon) <= delta


@pytest.mark.parametrize(
    ("k", "mu", "epsilon", "value"),
    [(1, 0.5, 0.3, 0.154235), (3, 0.7, 0.5, 0.480956), (10, 0.1, 1.0, 4.2753e-3)],
)
def test_two_clocks(k, mu, epsilon, value):
    assert GumbelDP(mu, k, monotone=False).delta_at(epsilon) == pytest.approx(value, rel=3e-5)


@pytest.mark.parametrize(("epsilon", "scale"), [(1.0, 18.8746), (4.0, 5.6599)])
def test_two_clock_scales(epsilon, scale):
    mu = calibrate(lambda each: GumbelDP(each, 10, monotone=False), ApproxDP(epsilon, 1e-5))
    assert 1 / mu == pytest.approx(scale, abs=2e-4)


def test_gumbel_tradeoff_is_the_papers_curve():
    mu = 1.0
    first, second = 0.205568348, 0.441207295
    for alpha in [0.01, 0.1, 0.2]:
        assert GumbelDP(mu).tradeoff(alpha) == pytest.approx(1 - alpha ** math.exp(-mu), abs=1e-9)
    for alpha in [0.25, 0.4]:
        assert GumbelDP(mu).tradeoff(alpha) == pytest.approx(first + second - alpha, abs=2e-9)
    for alpha in [0.5, 0.9]:
        assert GumbelDP(mu).tradeoff(alpha) == pytest.approx((1 - alpha) ** math.exp(mu), abs=1e-9)


def test_one_round_moving_two_groups_stays_below_two_clocks():
    """The exact worst pair at mu = 1, epsilon = 1.1 is 0.186394: above one clock, below two (Theorem 91)."""
    assert GumbelDP(1.0).delta_at(1.1) == pytest.approx(0.186220, abs=1e-6)
    assert GumbelDP(1.0).delta_at(1.1) < 0.186394 < GumbelDP(1.0, monotone=False).delta_at(1.1)


def test_the_joint_release_of_index_and_value_is_below_one_clock():
    """gamma = 1, h = [0, .3, 1] moved by [0, 1, .5], both orders (Table 152)."""
    for x, one, other in [
        (0.1, 0.184097828, 0.165945083),
        (0.3, 0.127331167, 0.101870691),
        (0.5, 0.076681868, 0.062536578),
    ]:
        assert GumbelDP(1.0).delta_at(x) > max(one, other)


def test_a_hundred_exponential_mechanisms():
    lower, upper = BoundedRange(0.1).repeat(100).epsilon_bounds(1e-6)
    assert 2.23 < lower < 2.246 < upper < 2.26
    assert ZCDP(100 * 0.1**2 / 8).epsilon_at(1e-6) == pytest.approx(2.42, abs=0.005)
