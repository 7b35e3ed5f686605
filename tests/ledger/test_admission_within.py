"""What adds up on paper fits: the last part of a budget is what is left of it, and no limit moves."""

from fractions import Fraction
from typing import Any, cast

import polars as pl
import pytest

import shortlist as sl
from tests.helpers.typed import present


def spend(ledger, budget, times=1):
    for _ in range(times):
        ledger.charge(ledger.within(budget))


@pytest.mark.parametrize(
    ("whole", "parts"),
    [
        (1.0, [0.1] * 10),
        (1.0, [0.2] * 5),
        (0.3, [0.1, 0.2]),
        (0.3, [0.1] * 3),
        (0.7, [0.3, 0.4]),
        (0.7, [0.5, 0.2]),
        (1.2, [0.4] * 3),
        (0.6, [0.2] * 3),
        (3.0, [1, 0.1, 0.1, 1.8]),
        (3.0, [0.3] * 10),
        (1.0, [0.01] * 100),
    ],
)
def test_decimals_that_add_up_to_the_budget_fit_and_never_exceed_it(tmp_path, whole, parts):
    ledger = sl.Ledger(tmp_path / "year.db", budget=sl.PureDP(whole))
    for part in parts:
        spend(ledger, sl.PureDP(part))
    booked = sum(present(entry.amounts.epsilon) for entry in ledger._store.newest(2000))
    assert booked <= Fraction(whole)
    assert "no further charge would be admitted" in str(ledger)


def test_the_same_with_a_delta_and_in_rho(tmp_path):
    pairs = sl.Ledger(tmp_path / "pairs.db", budget=sl.ApproxDP(1.0, 1e-6), split=0.0)
    spend(pairs, sl.ApproxDP(0.1, 1e-7), 10)
    rhos = sl.Ledger(tmp_path / "rhos.db", budget=sl.ZCDP(0.3))
    spend(rhos, sl.ZCDP(0.1), 3)
    assert pairs.standing.releases == 10
    assert rhos.standing.booked == 0.3


@pytest.mark.parametrize("budget", [sl.PureDP(0.1 + 1e-9), sl.PureDP(2.0), sl.ApproxDP(0.1, 1e-9), sl.ZCDP(0.1)])
def test_more_than_a_hair_too_much_is_refused(tmp_path, budget):
    ledger = sl.Ledger(tmp_path / "year.db", budget=sl.PureDP(1.0))
    spend(ledger, sl.PureDP(0.1), 9)
    assert ledger.within(budget) == budget
    with pytest.raises((sl.BudgetExceeded, ValueError)):
        spend(ledger, budget)
    assert ledger.standing.releases == 9


def test_what_has_room_is_as_it_was_asked(tmp_path):
    ledger = sl.Ledger(tmp_path / "year.db", budget=sl.PureDP(1.0))
    assert ledger.within(sl.PureDP(0.1)) == sl.PureDP(0.1)
    assert ledger.within(sl.PureDP(1.0)) == sl.PureDP(1.0)


def test_what_is_left_is_told_as_the_decimal_it_stands_for(tmp_path):
    ledger = sl.Ledger(tmp_path / "year.db", budget=sl.PureDP(1.0))
    spend(ledger, sl.PureDP(0.1))
    assert str(ledger).endswith("a charge of up to epsilon 0.9 would still be admitted")
    left = cast(sl.PureDP, ledger.within(sl.PureDP(0.9))).epsilon
    assert left < 0.9
    assert Fraction(left) >= (1 - Fraction(1, 2**40)) * Fraction(0.9)


def test_a_charge_of_somebody_elses_mechanism_is_told_the_last_digit(tmp_path):
    ledger = sl.Ledger(tmp_path / "year.db", budget=sl.PureDP(0.3))
    ledger.charge(sl.PureDP(0.1), purpose="ours")
    with pytest.raises(sl.BudgetExceeded, match=r"to the last digit: 0\.1999999999999999") as refused:
        ledger.charge(sl.PureDP(0.2))
    ledger.charge(sl.PureDP(present(refused.value.remaining.epsilon)))


@pytest.mark.parametrize(("kind", "size"), [(sl.ApproxDP, 3.0), (sl.ZCDP, 1.0)])
def test_deltas_that_add_up_to_the_budgets_fit_too(tmp_path, kind, size):
    split = 0.0 if kind is sl.ApproxDP else None
    ledger = sl.Ledger(tmp_path / "year.db", budget=kind(size, 1e-7), split=split)
    spend(ledger, kind(0.01, 1e-8), 9)
    last = cast(sl.ApproxDP | sl.ZCDP, ledger.within(kind(0.01, 1e-8)))
    assert last != kind(0.01, 1e-8), "ten times the float 1e-8 is more than 1e-7"
    assert (1 - Fraction(1, 2**40)) * Fraction(1e-8) <= Fraction(last.delta) < Fraction(1e-8)
    ledger.charge(last)
    assert sum(entry.amounts.delta for entry in ledger._store.newest(20)) <= Fraction(1e-7)
    assert ledger.within(kind(0.01, 1e-8)) == kind(0.01, 1e-8), "nothing is left"


def test_a_key_set_is_drawn_for_the_delta_that_is_left(tmp_path):
    rows = pl.DataFrame({"who": range(600), "what": ["tea"] * 400 + ["milk"] * 200})
    ledger = sl.Ledger(tmp_path / "year.db", budget=sl.ApproxDP(3.0, 1e-7))
    words: dict[str, Any] = {"user": "who", "item": "what", "most": 1, "epsilon": 0.5, "delta": 1e-8, "ledger": ledger}
    last = [sl.keys(rows, **words) for _ in range(5)][-1]
    delta = cast(sl.ApproxDP, last.guarantee).delta
    assert last.guarantee == last.charge == sl.ApproxDP(0.5, delta)
    assert 0 < delta < 1e-8


def test_never_more_is_drawn_than_was_asked_for(tmp_path):
    """A divergence of some order, rounded up, may fall by its last bit as epsilon rises."""
    asked, next_one = 0.44350871771406636, 0.4435087177140664
    most, fits = (Fraction(sl.PureDP(one).rdp(2.0)) for one in (asked, next_one))
    assert fits < most
    ledger = sl.Ledger(tmp_path / "year.db", budget=sl.ApproxDP(16.0, 1e-6), order=2.0)
    for share in (1 - 1e-9, 1 - 1e-9, 1.0):
        left = present(ledger.terms.limits.curve) - present(ledger._store.state().total.curve)
        ledger.charge(sl.ZCDP(float((left - (most + fits) / 2) / 2) * share))
    ledger.check(sl.PureDP(next_one))
    part = cast(sl.PureDP, ledger.within(sl.PureDP(asked)))
    assert (1 - Fraction(1, 2**40)) * Fraction(asked) <= Fraction(part.epsilon) < Fraction(asked)
    ledger.check(part)


def test_rhos_that_add_up_fit_where_divergences_of_one_order_are_counted(tmp_path):
    ledger = sl.Ledger(tmp_path / "year.db", budget=sl.ApproxDP(3.0, 1e-6), order=8.0)
    left = float(present(ledger.terms.limits.curve) / 8)
    part = cast(sl.ZCDP, ledger.within(sl.ZCDP(left * (1 + 1e-13))))
    assert left * (1 - 1e-12) < part.rho <= left
    ledger.charge(part)


@pytest.mark.parametrize("more", [0.0, 1e-13, 4.9e-12, 1e-11])
def test_the_decimal_that_is_told_may_be_asked_for(tmp_path, more):
    ledger = sl.Ledger(tmp_path / "year.db", budget=sl.PureDP(3.0))
    ledger.charge(sl.PureDP(1.0 + more))
    spend(ledger, sl.PureDP(float(ledger.standing.left_text)))
