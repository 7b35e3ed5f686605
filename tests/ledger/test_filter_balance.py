"""What a ledger shows of its exact sums: never less than was spent, never more than is left."""

from fractions import Fraction

import pytest

from shortlist.ledger.filter import Amounts, balance
from shortlist.privacy import ApproxDP, Ledger, PureDP
from tests.helpers.typed import present


def test_what_is_spent_is_rounded_up_and_what_is_left_down():
    third = Fraction(1, 3)
    amounts = Amounts(third, third, third)
    spent, left = balance(amounts, None), balance(amounts, None, left=True)
    for up, down in ((spent.epsilon, left.epsilon), (spent.rho, left.rho), (spent.delta, left.delta)):
        assert up is not None
        assert down is not None
        assert Fraction(down) < third < Fraction(up)
        assert up - down < 1e-16


@pytest.mark.parametrize("charges", [1, 3, 7])
def test_spent_and_left_cover_the_budget_from_both_sides(tmp_path, charges):
    ledger = Ledger(tmp_path / "budget.db", budget=PureDP(1.0))
    for _ in range(charges):
        ledger.charge(PureDP(0.1))
    exact = charges * Fraction(0.1)
    assert Fraction(present(ledger.spent.epsilon)) >= exact
    assert Fraction(present(ledger.remaining.epsilon)) <= 1 - exact
    assert ledger.remaining.epsilon == pytest.approx(1 - 0.1 * charges)


def test_all_that_is_left_can_be_charged_and_no_more(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", budget=ApproxDP(1.0, 1e-6))
    for _ in range(3):
        ledger.charge(ApproxDP(0.1, 1e-7))
    left = ledger.remaining
    assert Fraction(present(left.epsilon)) <= 1 - 3 * Fraction(0.1)
    assert Fraction(left.delta) <= Fraction(1e-6) / 2 - 3 * Fraction(1e-7)
    ledger.charge(ApproxDP(present(left.epsilon), left.delta))
