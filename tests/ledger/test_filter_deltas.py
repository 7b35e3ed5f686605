"""Every place where the filter looks at a delta: each of them refuses something that nothing else would."""

from fractions import Fraction

import pytest

from shortlist.ledger.filter import Amounts, fits, has_form, refund_of
from shortlist.privacy import ZCDP, ApproxDP, BudgetExceeded, Ledger, PureDP, ThinnedRange

TINY = Fraction(1, 10**9)


def amounts(epsilon, curve, delta):
    epsilon, curve = (None if one is None else Fraction(one) for one in (epsilon, curve))
    return Amounts(epsilon, curve, Fraction(delta))


def test_a_sum_of_deltas_above_the_limit_does_not_fit_however_little_epsilon_it_has():
    limits = amounts(1, 1, TINY)
    assert fits(limits, amounts(1, 5, TINY))
    assert fits(limits, amounts(5, 1, TINY))
    assert not fits(limits, amounts(0, 0, TINY + Fraction(1, 10**30)))
    assert not fits(limits, amounts(5, 5, 0))


def test_deltas_add_up_over_charges_until_they_are_used_up(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", budget=ApproxDP(1.0, 1e-6), split=0.5)
    for _ in range(2):
        ledger.charge(ApproxDP(0.001, 2e-7))
    with pytest.raises(BudgetExceeded):
        ledger.charge(ApproxDP(0.001, 2e-7))
    ledger.charge(PureDP(0.001))


def test_a_delta_against_a_budget_without_one_has_no_form(tmp_path):
    assert has_form(amounts(1, 1, 0), amounts(1, 1, 0))
    assert not has_form(amounts(1, 1, 0), amounts(1, 1, TINY))
    ledger = Ledger(tmp_path / "budget.db", budget=PureDP(1.0))
    with pytest.raises(ValueError, match="delta"):
        ledger.charge(ApproxDP(0.1, 1e-9))


def test_a_refund_may_not_keep_more_delta_than_was_reserved(tmp_path):
    reserved = amounts(1, 1, TINY)
    assert refund_of(reserved, amounts(0, 0, TINY), ("pure", "zcdp")) == amounts(1, 1, 0)
    with pytest.raises(ValueError, match="worst case"):
        refund_of(reserved, amounts(0, 0, 2 * TINY), ("pure", "zcdp"))
    ledger = Ledger(tmp_path / "budget.db", budget=ZCDP(1.0, 1e-6))
    paid = ledger.reserve(ThinnedRange(0.1, 4, 1e-8), refundable=("pure", "zcdp"))
    before = ledger.spent
    with pytest.raises(ValueError, match="worst case"):
        paid.refund(ThinnedRange(0.1, 1, 2e-8))
    assert ledger.spent == before


def test_a_delta_is_never_given_back(tmp_path):
    assert refund_of(amounts(1, 1, TINY), amounts(0, 0, 0), ("pure", "zcdp")).delta == 0
    ledger = Ledger(tmp_path / "budget.db", budget=ZCDP(1.0, 1e-6))
    ledger.reserve(ThinnedRange(0.1, 4, 1e-8), refundable=("pure", "zcdp")).refund(ThinnedRange(0.1, 1, 1e-8))
    assert ledger.spent.delta == 1e-8
