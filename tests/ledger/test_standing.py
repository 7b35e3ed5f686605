"""A balance is one number: the smaller of the rules' sums, rounded up; and what is left is admitted."""

import math
import pickle
import re
from fractions import Fraction

import pytest

import shortlist as sl
from shortlist import ApproxDP, BudgetExceeded, Ledger, PureDP
from shortlist.privacy import ZCDP, BoundedRange, Standing
from tests.helpers.typed import present


def test_the_line_of_the_product_page(tmp_path):
    ledger = Ledger(tmp_path / "q4.db", budget=ApproxDP(3.0, 1e-6))
    for _ in range(2):
        sl.select([9, 1, 5], epsilon=0.5, ledger=ledger)
    assert str(ledger) == (
        "booked: epsilon 1 of 3 at delta 1e-6, 2 releases; a charge of up to epsilon 2 would still be admitted\n"
        "delta: 5e-7 is left of the 5e-7 for answers that need one, as names from the data do; the other 5e-7 lets "
        "many small charges add up to less"
    )
    ledger.charge(ApproxDP(0.5, 4e-7))
    assert "\ndelta: 1e-7 is left of the 5e-7 for answers that need one" in str(ledger)
    ledger.charge(ApproxDP(0.5, 1e-7))
    assert str(ledger).endswith("\ndelta: none of 1e-6 is left for answers that need one, as names from the data do")


def test_what_is_left_is_printed_as_the_sum_of_decimals_that_it_is(tmp_path):
    ledger = Ledger(tmp_path / "q4.db", budget=PureDP(1.3))
    for _ in range(2):
        ledger.charge(PureDP(0.1))
    assert (str(ledger.remaining), repr(ledger.remaining)) == (
        "epsilon 1.1",
        "Balance(epsilon=1.0999999999999999, delta=0.0)",
    )
    ledger.charge(ledger.within(PureDP(1.1)))  # as it is printed, it may be asked for


def test_a_zcdp_ledger_counts_rho_and_says_which_epsilon_would_fit(tmp_path):
    ledger = Ledger(tmp_path / "q4.db", budget=ZCDP(0.5))
    ledger.charge(ZCDP(0.1))
    assert str(ledger) == "booked: rho 0.1 of 0.5, 1 release; a charge of up to epsilon 0.9253 would still be admitted"


@pytest.mark.parametrize(
    "terms",
    [{"budget": PureDP(3.0)}, {"budget": ZCDP(0.5, 1e-6)}, {"budget": ApproxDP(3.0, 1e-6)},
     {"budget": ApproxDP(3.0, 1e-6), "order": 9.36}, {"budget": ApproxDP(3.0, 1e-6), "split": 0.0}],
)  # fmt: skip
@pytest.mark.parametrize("spent", [0, 1, 3, 12])
def test_what_is_left_is_the_largest_pure_charge_that_is_admitted(tmp_path, terms, spent):
    ledger = Ledger(tmp_path / "q4.db", **terms)
    for _ in range(spent):
        ledger.charge(BoundedRange(0.1))
    left = ledger.standing.left
    with pytest.raises(BudgetExceeded):
        ledger.check(PureDP(math.nextafter(left, math.inf)))
    ledger.check(PureDP(left))
    shown = float(present(re.search(r"up to epsilon (\S+) would", str(ledger)))[1])
    assert left * 0.999 <= shown, "the words hold as well"
    ledger.check(ledger.within(PureDP(shown)))


def test_booked_is_by_the_rule_that_says_less(tmp_path):
    ledger = Ledger(tmp_path / "q4.db", budget=ApproxDP(3.0, 1e-6))
    seen = []
    for _ in range(100):
        ledger.charge(PureDP(0.05))
        seen.append(ledger.standing.booked)
    assert seen == sorted(seen)
    assert seen[0] == 0.05
    spent = ledger.spent
    assert present(spent.epsilon) > 3.0, "rule (a) is long exceeded"
    assert seen[-1] == ZCDP(present(spent.rho)).epsilon_at(5e-7) < 3.0
    assert "epsilon 2.491 of 3 at delta 1e-6, 100 releases" in str(ledger)


def test_sums_of_decimals_are_shown_as_their_sum_and_so_is_what_is_left(tmp_path):
    ledger = Ledger(tmp_path / "q4.db", budget=PureDP(3.0))
    for _ in range(10):
        ledger.charge(PureDP(0.1))
    assert Fraction(ledger.standing.booked) > 1
    assert str(ledger).startswith("booked: epsilon 1 of 3, 10 releases; a charge of up to epsilon 2 would")
    ledger.charge(ledger.within(PureDP(2.0)))
    assert "no further charge would be admitted" in str(ledger)


def test_a_refund_is_no_release_and_lowers_what_is_booked(tmp_path):
    ledger = Ledger(tmp_path / "q4.db", budget=PureDP(3.0))
    ledger.reserve(PureDP(1.0), refundable=("pure",)).refund(PureDP(0.25))
    assert str(ledger).startswith("booked: epsilon 0.25 of 3, 1 release;")
    ledger.charge(PureDP(2.75))
    assert str(ledger) == "booked: epsilon 3 of 3, 2 releases; no further charge would be admitted"
    assert ledger.standing.share == 1.0


def test_no_balance_has_more_than_four_digits(tmp_path):
    ledger = Ledger(tmp_path / "q4.db", budget=ApproxDP(math.pi, 1.23456789e-7))
    for _ in range(7):
        ledger.charge(PureDP(math.sqrt(2) / 100))
    for number in re.findall(r"[0-9][0-9.e-]*", str(ledger)):
        assert len(number.partition("e")[0].replace(".", "").lstrip("0")) <= 4, number


def test_a_preview_is_what_then_comes_and_books_nothing(tmp_path):
    ledger = Ledger(tmp_path / "q4.db", budget=ApproxDP(3.0, 1e-6))
    preview = ledger.standing_if(ApproxDP(1.0, 1e-6))
    assert ledger.verify() == 0
    ledger.charge(ApproxDP(1.0, 1e-6))
    assert ledger.standing == preview == pickle.loads(pickle.dumps(preview))
    with pytest.raises(BudgetExceeded):
        ledger.standing_if(PureDP(2.5))


def test_a_receipt_says_how_the_ledger_stood_and_its_json_too(tmp_path):
    ledger = Ledger(tmp_path / "q4.db", budget=PureDP(3.0))
    release = sl.select([9, 1, 5], epsilon=0.5, ledger=ledger)
    assert present(release.receipt).balance == str(ledger)
    assert str(ledger) in str(release)
    again = sl.Release.from_json(release.to_json())
    assert again == release
    assert present(again.receipt).balance == str(ledger)
    alone = sl.select([9, 1], epsilon=1.0).to_json()
    with pytest.raises(ValueError, match="there is no receipt"):
        sl.Release.from_json(alone.replace('"extras": {', '"extras": {"balance": "x", '))


def test_json_has_the_numbers_and_the_words():
    standing = Standing("epsilon", 1.0, 3.0, 1e-6, 2, 2.0)
    assert standing.as_json() == {
        "currency": "epsilon", "booked": 1.0, "of": 3.0, "delta": 1e-6, "releases": 2, "left": 2.0,
        "words": str(standing),
    }  # fmt: skip
