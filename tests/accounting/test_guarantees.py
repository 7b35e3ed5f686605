"""The family as users meet it."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, Composition, ExPost, GumbelDP, PureDP, RenyiDP, compose
from tests.helpers.inside import pure_rho, range_rho
from tests.helpers.typed import present

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "bad", [-1.0, 0.0, NAN, INF, 10**400, True, "1", None, 1j, [1.0]], ids=lambda bad: repr(bad)[:9]
)
@pytest.mark.parametrize(
    ("make", "name"),
    [(PureDP, "epsilon"), (BoundedRange, "epsilon"), (GumbelDP, "mu")],
    ids=["pure", "range", "gumbel"],
)
def test_a_bad_size_is_named_with_what_to_write(make, name, bad):
    with pytest.raises(ValueError, match=rf"^{name} must be a number greater than 0 .*write {name}="):
        make(bad)


@pytest.mark.parametrize("bad", [-1e-9, 1.0, 2.0, NAN, True, "1e-6", None], ids=repr)
def test_a_bad_delta_is_named_with_what_to_write(bad):
    match = r"^delta must be a number at least 0 and less than 1: write delta=1e-6"
    for ask in (
        lambda: ApproxDP(1.0, bad),
        lambda: ZCDP(0.1, delta=bad),
        lambda: PureDP(1.0).epsilon_at(bad),
        lambda: PureDP(1.0).repeat(2).epsilon_bounds(bad),
        lambda: GumbelDP(0.1).as_approx(bad),
    ):
        with pytest.raises(ValueError, match=match):
            ask()


@pytest.mark.parametrize("bad", [-0.1, NAN, INF, False, "a"], ids=repr)
def test_a_bad_epsilon_or_rho_is_named(bad):
    for ask, name in [
        (lambda: ApproxDP(bad, 0.1), "epsilon"),
        (lambda: ZCDP(bad), "rho"),
        (lambda: BoundedRange(0.1).delta_at(bad), "epsilon"),
        (lambda: BoundedRange(0.1).repeat(2).delta_bounds(bad), "epsilon"),
    ]:
        with pytest.raises(ValueError, match=rf"^{name} must be a number at least 0"):
            ask()


@pytest.mark.parametrize("bad", [1.0, 0.5, -2.0, NAN, INF, True, "2"], ids=repr)
def test_orders_must_be_above_one(bad):
    with pytest.raises(ValueError, match=r"^orders must be a number greater than 1"):
        RenyiDP([2.0, bad], [0.1, 0.2])
    with pytest.raises(ValueError, match=r"^alpha must be a number greater than 1"):
        PureDP(1.0).rdp(bad)


def test_renyi_orders_and_epsilons_belong_together():
    unequal: list[tuple[Any, list[float]]] = [([2.0], [0.1, 0.2]), ([], []), (2.0, [0.1, 0.2])]
    for orders, epsilons in unequal:
        with pytest.raises(ValueError, match="equally many"):
            RenyiDP(orders, epsilons)
    with pytest.raises(ValueError, match="differ"):
        RenyiDP([2.0, 2.0], [0.1, 0.2])
    with pytest.raises(ValueError, match="epsilons"):
        RenyiDP(2.0, -0.1)
    assert RenyiDP([8, 2], [0.4, 0.1]) == RenyiDP((2.0, 8.0), (0.1, 0.4))
    assert RenyiDP(2, 0.1) == RenyiDP([2.0], [0.1])


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "3", None], ids=repr)
def test_numbers_of_times_are_whole(bad):
    with pytest.raises(ValueError, match=r"^n must be a whole number from 1 to 2.53: write n=10"):
        PureDP(0.1).repeat(bad)
    with pytest.raises(ValueError, match=r"^k must be a whole number"):
        GumbelDP(0.1, k=bad)


def test_monotone_is_a_truth_value_and_alpha_a_probability():
    with pytest.raises(ValueError, match="monotone must be True or False"):
        GumbelDP(0.1, monotone="yes")  # type: ignore[arg-type]
    for bad in (-0.1, 1.1, NAN):
        with pytest.raises(ValueError, match="alpha must be a number"):
            PureDP(1.0).tradeoff(bad)
    for wrong in ((), (1.0,), (PureDP(1.0), "ZCDP")):
        with pytest.raises(ValueError, match="guarantees must be one or more: write compose"):
            compose(*wrong)


def test_guarantees_are_values():
    assert PureDP(1) == PureDP(np.float64(1.0))
    assert len({PureDP(1.0), PureDP(1), BoundedRange(1.0)}) == 2
    assert repr(ZCDP(0.1)) == "ZCDP(rho=0.1, delta=0.0)"
    value: Any
    for value in (PureDP(1.0), ZCDP(0.1), GumbelDP(0.1), RenyiDP(2, 0.1), compose(PureDP(1.0), ZCDP(0.1))):
        assert not hasattr(value, "__dict__")
        with pytest.raises(AttributeError):
            setattr(value, next(iter(value.__slots__)), 2.0)


def test_what_a_ledger_asks_for():
    assert PureDP(0.5).as_pure() == PureDP(0.5)
    assert BoundedRange(0.5).repeat(4).as_pure() == PureDP(2.0)
    assert PureDP(0.5).as_zcdp() == ZCDP(0.12245933120185457)
    assert BoundedRange(0.5).as_zcdp() == ZCDP(0.03114209226115588)
    assert ApproxDP(0.5, 1e-6).as_zcdp() == ZCDP(0.12245933120185457, delta=1e-6)
    assert ApproxDP(0.5, 1e-6).as_pure() is None
    assert ApproxDP(0.5, 0.0).as_pure() == PureDP(0.5)
    assert ZCDP(0.1).as_pure() is None
    assert GumbelDP(0.1).as_pure() is None
    assert GumbelDP(0.1).as_zcdp() is None
    assert RenyiDP(2, 0.1).as_zcdp() is None
    assert compose(PureDP(0.5), GumbelDP(0.1)).as_zcdp() is None
    booked = GumbelDP(0.1, k=3).as_approx(1e-6)
    assert booked.delta == 1e-6
    assert booked.as_zcdp() == ZCDP(pure_rho(booked.epsilon), delta=1e-6)
    mixed = compose(BoundedRange(0.5), ZCDP(0.25, delta=1e-6)).as_zcdp()
    assert mixed == ZCDP(0.2811420922611559, delta=1e-6)


def test_what_cannot_be_claimed_says_why():
    assert "exponential tail" in GumbelDP(0.5).why_not()
    assert "2.54149" in GumbelDP(0.5).why_not()
    assert "order 8" in RenyiDP([2, 8], [0.1, 0.2]).why_not()
    assert "exponential tail" in compose(PureDP(0.1), GumbelDP(0.5)).why_not()
    with pytest.raises(ValueError, match="no epsilon is proved at delta=1e-08"):
        ApproxDP(1.0, 1e-6).as_approx(1e-8)


def test_the_cost_of_an_outcome_comes_back_in_pure_dp_alone():
    seen = ExPost(epsilon=1.0, cost=0.3)
    assert Fraction(seen.unused()) <= 1 - Fraction(0.3)
    assert seen.unused() == pytest.approx(0.7)
    assert seen.as_zcdp() == PureDP(1.0).as_zcdp()
    assert seen.delta_at(0.5) == PureDP(1.0).delta_at(0.5)
    for other in (ZCDP, ApproxDP, RenyiDP):
        with pytest.raises(ValueError, match="PureDP only: other currencies average over outcomes"):
            seen.unused(other)
    with pytest.raises(ValueError, match="cost must be at most epsilon"):
        ExPost(1.0, cost=1.1)


def test_sums_are_rounded_up():
    for times in (3, 7, 10, 1000):
        exact = Fraction(0.1) * times
        found = present(PureDP(0.1).repeat(times).as_pure()).epsilon
        assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 2**52))
        assert Fraction(present(BoundedRange(0.1).repeat(times).as_zcdp()).rho) >= Fraction(range_rho(0.1)) * times


def test_a_guarantee_holds_at_its_own_parameters_exactly():
    assert PureDP(0.3).delta_at(0.3) == 0.0
    assert PureDP(0.3).epsilon_at(0.0) == 0.3
    assert ApproxDP(0.3, 1e-6).delta_at(0.3) == 1e-6
    assert ApproxDP(0.3, 1e-6).epsilon_at(1e-6) <= 0.3
    assert ApproxDP(0.3, 1e-6).epsilon_at(1e-7) == INF
    assert ZCDP(0.1).epsilon_at(0.0) == INF
    assert ZCDP(0.0, delta=1e-6).delta_at(0.5) == 1e-6
    assert GumbelDP(0.1).epsilon_at(0.0) == INF
    assert PureDP(0.2).epsilon_at(0.9) == 0.0
    assert PureDP(0.5).delta_at(0.2) == pytest.approx(-math.expm1(-0.3) / (1 + math.exp(-0.5)), rel=1e-12)


def test_renyi_between_and_beyond_the_orders():
    curve = RenyiDP([2.0, 4.0], [0.1, 0.2])
    assert curve.rdp(2.0) == pytest.approx(0.1, rel=1e-14)
    assert curve.rdp(1.5) == pytest.approx(0.1, rel=1e-14)
    assert curve.rdp(3.0) == pytest.approx((0.1 + 0.6) / 2 / 2, rel=1e-14)
    assert curve.rdp(4.1) == INF
    assert RenyiDP([2.0, 4.0], [0.3, 0.2]).rdp(2.0) == pytest.approx(0.2, rel=1e-14)
    assert RenyiDP([2.0, 4.0], [0.1, 0.2]).repeat(3).rdp(2.0) == pytest.approx(0.3, rel=1e-14)


def test_renyi_of_a_thinned_guarantee_is_infinite():
    assert ZCDP(0.1, delta=1e-6).rdp(2.0) == INF
    assert ApproxDP(0.1, 1e-6).rdp(2.0) == INF
    assert ZCDP(0.1).rdp(2.0) == pytest.approx(0.2)
    assert compose(PureDP(0.5), BoundedRange(0.5)).rdp(3.0) == pytest.approx(
        PureDP(0.5).rdp(3) + BoundedRange(0.5).rdp(3)
    )


@pytest.mark.parametrize("epsilon", [1e-15, 1e-12, 1e-9, 1e-5, 1e-2, 1.0, 30.0, 700.0])
def test_renyi_curves_keep_their_shape_at_every_scale(epsilon):
    for order in (1 + 1e-6, 1.01, 2.0, 50.0, 1e6, 1e12):
        ranged, pure = BoundedRange(epsilon).rdp(order), PureDP(epsilon).rdp(order)
        assert 0 < ranged <= min(order * epsilon**2 / 8, epsilon) * (1 + 1e-12)
        assert 0 < pure <= min(order * epsilon**2 / 2, epsilon) * (1 + 1e-12)
        if order * epsilon < 0.1:
            assert ranged >= order * epsilon**2 / 8 * 0.999
            assert pure >= order * epsilon**2 / 2 * 0.99
        if order * epsilon > 1e4:
            assert ranged > 0.99 * epsilon


@pytest.mark.parametrize("mu", [1e-9, 1e-6, 1e-3])
def test_tiny_shifts_keep_their_accuracy(mu):
    """For small mu the closed form is mu e^{-1 - r} with r = epsilon / mu, to first order."""
    for ratio in (0.0, 1.0, 30.0):
        assert GumbelDP(mu).delta_at(ratio * mu) == pytest.approx(mu * math.exp(-1 - ratio), rel=20 * mu + 1e-6)


def test_tradeoff_curves():
    e = math.e
    for alpha in (0.0, 0.1, 0.4, 0.9, 1.0):
        truth = max(0.0, 1 - e * alpha, (1 - alpha) / e)
        assert PureDP(1.0).tradeoff(alpha) == pytest.approx(truth, abs=1e-8)
        assert PureDP(1.0).tradeoff(alpha) <= truth
    assert ApproxDP(1.0, 0.1).tradeoff(0.0) <= 0.9
    many = BoundedRange(0.1).repeat(100)
    assert many.tradeoff(0.05) < BoundedRange(0.1).repeat(50).tradeoff(0.05) < BoundedRange(0.1).tradeoff(0.05) < 0.95


def test_the_readme_of_the_privacy_engineer_runs():
    assert ZCDP(rho=0.1).epsilon_at(delta=1e-6) == pytest.approx(2.14194, abs=1e-5)
    assert PureDP(0.5).delta_at(epsilon=0.2) == pytest.approx(0.16133, abs=1e-5)
    assert BoundedRange(0.1).repeat(100).epsilon_at(delta=1e-6) <= 2.30
    assert isinstance(compose(PureDP(0.1), ZCDP(0.1)), Composition)


def test_importing_privacy_does_not_import_scipy():
    code = "import sys, shortlist.privacy; sys.exit(any(name.split('.')[0] == 'scipy' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "extreme",
    [
        PureDP(1e200).repeat(3),
        PureDP(400.0).repeat(10_000),
        compose(BoundedRange(900.0).repeat(2000), GumbelDP(0.03, k=500)),
        GumbelDP(800.0, k=3).repeat(2),
        compose(PureDP(1e-12), BoundedRange(1e-13), GumbelDP(1e-9)),
        compose(ZCDP(0.0), PureDP(0.1)),
        compose(ZCDP(1e9, delta=0.1), BoundedRange(0.01).repeat(10)),
        compose(ApproxDP(0.0, 0.99), ApproxDP(3.0, 0.5)),
    ],
    ids=lambda value: str(value)[:60],
)
@pytest.mark.filterwarnings("error")
def test_extreme_parameters_are_answered(extreme):
    for delta in (0.0, 1e-250, 1e-6, 0.9):
        lower, upper = extreme.epsilon_bounds(delta)
        assert 0 <= lower <= upper
    for epsilon in (0.0, 1e-9, 1.0, 1e4):
        below, above = extreme.delta_bounds(epsilon)
        assert 0 <= below <= above <= 1
