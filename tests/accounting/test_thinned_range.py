"""ThinnedRange: rounds of bounded range after one common thinning (Definition 19, Theorem 111)."""

from fractions import Fraction

import pytest

from shortlist import Ledger
from shortlist.accounting import curves as checks
from shortlist.ledger.filter import cost_of
from shortlist.privacy import ZCDP, BoundedRange, PureDP, ThinnedRange
from tests.helpers.inside import range_rho
from tests.helpers.typed import present

FEW = ThinnedRange(0.15, 10, 5e-7)


@pytest.mark.parametrize("x", [0.0, 0.3, 0.7, 1.2])
def test_delta_is_paid_once_beside_the_rounds(x):
    rounds = BoundedRange(0.15).repeat(10)
    assert FEW.delta_at(x) == pytest.approx(5e-7 + rounds.delta_at(x), rel=1e-6)
    assert FEW.delta_at(x) >= 5e-7 + rounds.delta_bounds(x)[0]


def test_its_forms():
    assert FEW.delta_at(1.5) == 5e-7
    assert FEW.epsilon_at(5e-7) == pytest.approx(1.5)
    assert FEW.epsilon_at(4e-7) == float("inf")
    assert present(FEW.as_zcdp()) == ZCDP(checks.up(10 * Fraction(range_rho(0.15))), 5e-7)
    assert present(FEW.as_zcdp()).delta == 5e-7
    assert FEW.as_pure() is None
    assert ThinnedRange(0.5, 2).as_pure() == PureDP(1.0)
    assert FEW.rdp(2.0) == float("inf")
    assert ThinnedRange(0.15, 10).rdp(2.0) == pytest.approx(10 * BoundedRange(0.15).rdp(2.0))
    low, high = FEW.epsilon_bounds(1e-6)
    assert 0 <= low <= high


def test_it_composes_and_repeats():
    twice = FEW.repeat(2)
    assert present(twice.as_zcdp()).delta <= 1e-6
    assert twice.epsilon_at(2e-6) < 3.0
    assert twice.epsilon_at(2e-6) > FEW.epsilon_at(1e-6)
    mixed = FEW.compose(ZCDP(0.01, 1e-7)).compose(PureDP(0.1))
    assert mixed.epsilon_at(1e-6) < 1.6
    many = ThinnedRange(0.001, 1000, 1e-9)  # more rounds than one recursion has
    assert many.epsilon_at(1e-6) < ZCDP(1000 * 0.001**2 / 8).epsilon_at(9e-7)


def test_what_it_costs_in_each_currency():
    cost = cost_of(FEW, None)
    assert float(present(cost.epsilon)) == pytest.approx(1.5)
    assert float(present(cost.curve)) == pytest.approx(10 * range_rho(0.15), rel=1e-15)
    assert float(cost.delta) == 5e-7
    assert cost_of(FEW, 8.0).curve == 8 * present(cost.curve)


def test_a_pure_ledger_has_no_room_for_its_delta(tmp_path):
    with Ledger(tmp_path / "budget.db", budget=PureDP(3.0)) as ledger, pytest.raises(ValueError, match="delta"):
        ledger.charge(FEW)


@pytest.mark.parametrize("arguments", [(0.0,), (1.0, 0), (1.0, 1, 1.0), (1.0, 1, -0.1), (1.0, 1.5)])
def test_bad_numbers_are_refused(arguments):
    with pytest.raises(ValueError, match="must be"):
        ThinnedRange(*arguments)
