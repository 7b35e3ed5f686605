"""The ledger as its users meet it: charges, releases, refunds, and what is refused."""

import math
import pickle
import warnings
from dataclasses import dataclass

import pytest

import shortlist as sl
from shortlist import BudgetExceeded, Ledger, Scores, mechanisms
from shortlist.mechanisms import GumbelTopKValues, Mechanism, NoisyMax, OneshotTopK
from shortlist.mechanisms.base import Outcome
from shortlist.privacy import ZCDP, ApproxDP, Balance, BoundedRange, ExPost, GumbelDP, LedgerError, PureDP, compose
from tests.helpers.processes import Looking
from tests.helpers.typed import present


def test_a_ledger_survives_and_reads_its_own_budget(path):
    Ledger(path, budget=PureDP(1.0)).charge(PureDP(0.25), purpose="first")
    again = Ledger(path)
    assert again.budget == PureDP(1.0)
    assert (again.spent, again.remaining) == (Balance(0.25, None, None, 0.0), Balance(0.75, None, None, 0.0))
    assert Ledger(path, budget=PureDP(1.0)).head == again.head


@pytest.mark.parametrize(
    "other", [{"budget": PureDP(2.0)}, {"budget": ZCDP(1.0, 1e-6)}, {"split": 0.4}, {"order": 9.0}]
)
def test_opening_with_other_terms_raises(path, other):
    Ledger(path, budget=ApproxDP(1.0, 1e-6))
    with pytest.raises(ValueError, match="was fixed as"):
        Ledger(path, **other)


def test_a_check_raises_as_a_charge_would_and_books_nothing(path):
    ledger = Ledger(path, budget=PureDP(1.0))
    ledger.check(PureDP(1.0))
    with pytest.raises(BudgetExceeded, match=r"asked epsilon 1\.5"):
        ledger.check(PureDP(1.5))
    with pytest.raises(ValueError, match="cannot be counted"):
        ledger.check(ZCDP(0.1))
    assert not ledger.entries()
    ledger.charge(PureDP(0.75))
    with pytest.raises(BudgetExceeded):
        ledger.check(PureDP(0.5))


def test_a_missing_file_is_made_only_for_a_budget(path):
    for _ in range(2):
        with pytest.raises(LedgerError, match="is not there"):
            Ledger(path)


def test_rule_a_or_rule_b_admits(path):
    ledger = Ledger(path, budget=ApproxDP(3.0, 1e-6))
    ledger.charge(PureDP(2.5))
    assert ledger.remaining.rho is None, "2.5^2/2 is far beyond rule (b)"
    ledger.charge(PureDP(0.5))
    with pytest.raises(BudgetExceeded):
        ledger.charge(PureDP(1e-9))


def test_many_small_charges_go_further_by_rule_b(path):
    ledger = Ledger(path, budget=ApproxDP(1.0, 1e-6))
    ledger.charge(BoundedRange(0.01).repeat(1000))
    assert ledger.remaining.epsilon is None
    assert 0 < present(ledger.remaining.rho) < 0.02


def test_a_charge_without_pure_form_closes_rule_a(path):
    ledger = Ledger(path, budget=ApproxDP(3.0, 1e-6))
    ledger.charge(ZCDP(0.001))
    assert ledger.spent.epsilon is None
    with pytest.raises(BudgetExceeded):
        ledger.charge(PureDP(1.0))


def test_a_pair_costs_its_delta_in_either_rule(path):
    ledger = Ledger(path, budget=ApproxDP(3.0, 1e-6), split=0.25)
    ledger.charge(ApproxDP(1.0, 5e-7))
    assert ledger.remaining.epsilon == 2.0
    with pytest.raises(BudgetExceeded, match="delta"):
        ledger.charge(ApproxDP(0.1, 3e-7))


@pytest.mark.parametrize(
    ("budget", "charge", "reason"),
    [
        (PureDP(1.0), ZCDP(0.01), "rare losses"),
        (PureDP(1.0), ApproxDP(0.1, 1e-9), "has a delta"),
        (ZCDP(1.0), ApproxDP(0.1, 1e-9), "has a delta"),
        (ZCDP(1.0, 1e-6), GumbelDP(0.1), "as_approx"),
        (ApproxDP(1.0, 1e-6), GumbelDP(0.1), "as_approx"),
    ],
)
def test_a_kind_that_does_not_fit_is_refused_with_the_reason(path, budget, charge, reason):
    ledger = Ledger(path, budget=budget)
    with pytest.raises(ValueError, match=reason):
        ledger.charge(charge)
    assert ledger.verify() == 0


def test_a_gumbel_value_is_booked_as_its_pair(path):
    ledger = Ledger(path, budget=ApproxDP(3.0, 1e-6))
    pair = GumbelDP(0.01).as_approx(1e-7)
    ledger.charge(pair)
    assert ledger.spent.delta == 1e-7
    assert ledger.spent.epsilon == pair.epsilon


@pytest.mark.parametrize("wrong", [0.5, None, "PureDP(0.5)", PureDP])
def test_only_guarantees_are_charged(path, wrong):
    with pytest.raises(TypeError, match=r"write ledger\.charge"):
        Ledger(path, budget=PureDP(1.0)).charge(wrong)


def test_a_charge_beyond_all_floats_is_refused(path):
    ledger = Ledger(path, budget=ApproxDP(1.0, 1e-6))
    with pytest.raises(BudgetExceeded, match="asked epsilon inf"):
        ledger.charge(PureDP(1e308).repeat(10**6))


def test_every_mechanism_is_charged_in_the_one_place():
    for mechanism in (getattr(mechanisms, name) for name in mechanisms.__all__):
        assert mechanism.release is Mechanism.release


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0, 0.0])
def test_no_charge_can_add_to_the_budget(path, wrong):
    with pytest.raises(ValueError, match="epsilon must be"):
        Ledger(path, budget=PureDP(1.0)).charge(PureDP(wrong))


def test_a_forged_guarantee_gives_nothing_back(path):
    ledger = Ledger(path, budget=ApproxDP(1.0, 1e-6))
    for field in ("epsilon", "delta"):
        forged = ApproxDP(0.5, 1e-8)
        object.__setattr__(forged, field, -0.5)
        with pytest.raises(ValueError, match=r"forged|cannot be counted|must be a number"):
            ledger.charge(forged)
    assert ledger.verify() == 0


def test_what_is_left_can_be_asked_for_to_the_last_bit(path):
    ledger = Ledger(path, budget=PureDP(1.0))
    for _ in range(9):
        ledger.charge(PureDP(0.1))
    with pytest.raises(BudgetExceeded) as refused:
        ledger.charge(PureDP(0.1))
    assert refused.value.remaining == ledger.remaining
    left = f"a charge of up to epsilon 0.1 would still be admitted (to the last digit: {ledger.standing.left!r})"
    assert left in str(refused.value)
    assert ledger.standing.left == ledger.remaining.epsilon
    ledger.charge(PureDP(ledger.standing.left))
    assert str(ledger.remaining) == "epsilon 0"
    with pytest.raises(BudgetExceeded):
        ledger.charge(PureDP(5e-324))


def test_the_refusal_names_what_was_asked_spent_and_left(path):
    ledger = Ledger(path, budget=PureDP(1.0))
    ledger.charge(PureDP(0.75))
    words = r"asked epsilon 0\.5; booked: epsilon 0\.75 of 1, 1 release; a charge of up to epsilon 0\.25 would still"
    with pytest.raises(BudgetExceeded, match=words) as refused:
        ledger.charge(PureDP(0.5))
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)


def test_a_release_is_booked_with_what_and_why(path):
    ledger = Ledger(path, budget=PureDP(3.0))
    scores = Scores([9, 1], unit="voter", monotone=True)
    release = sl.select(scores, epsilon=0.5, method="exponential", ledger=ledger, purpose="weekly chart")
    sl.top_k([9, 1, 3], 2, epsilon=0.25, ledger=ledger)
    first, second = ledger.entries()
    assert first.guarantee == repr(release.charge) == "BoundedRange(epsilon=0.5)"
    assert first.mechanism == repr(OneshotTopK(k=1, epsilon=0.5)).replace("OneshotTopK(k=1, ", "NoisyMax(")
    assert (first.purpose, first.unit, first.kind) == ("weekly chart", "voter (add-remove)", "charge")
    assert first.time.endswith("+00:00")
    assert second.unit == "user (add-remove)"
    assert ledger.verify() == 2


def test_a_refused_release_looks_at_nothing(tmp_path, monkeypatch):
    path = tmp_path / "budget.db"
    ledger = Ledger(path, budget=PureDP(0.1))
    monkeypatch.setattr(Looking, "_draw", lambda *_: pytest.fail("looked at the data"))
    with pytest.raises(BudgetExceeded):
        Looking(0.5, -1).release([1, 2], ledger=ledger)
    path.unlink()
    with pytest.raises(LedgerError, match="is not there"):
        Looking(0.05, -1).release([1, 2], ledger=ledger)


def test_a_question_refused_by_public_facts_costs_nothing(path):
    ledger = Ledger(path, budget=PureDP(1.0))
    with pytest.raises(ValueError, match="k=3"):
        OneshotTopK(k=3, epsilon=0.5).release([1, 2], ledger=ledger)
    with pytest.raises(TypeError, match="ledger must be"):
        NoisyMax(epsilon=0.5).release([1, 2], ledger=str(path))  # type: ignore[arg-type]
    assert ledger.verify() == 0


def test_a_draw_that_fails_stays_spent(path, monkeypatch):
    ledger = Ledger(path, budget=PureDP(1.0))
    monkeypatch.setattr(Looking, "_draw", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Looking(0.5, -1).release([1, 2], ledger=ledger)
    assert ledger.spent.epsilon == 0.5


@dataclass(frozen=True, slots=True)
class Rounds(Looking):
    """Up to four rounds of epsilon each, of which the output shows one used: refunds where `proved`."""

    proved: tuple[str, ...] = ("pure",)

    @property
    def guarantee(self):
        return BoundedRange(self.epsilon).repeat(4)

    @property
    def refundable(self):
        return self.proved

    def _final_charge(self, outcome):
        return BoundedRange(self.epsilon)

    def _draw(self, scores, source):
        return Outcome([0])


def test_a_pure_refund_survives(path):
    ledger = Ledger(path, budget=PureDP(2.0))
    for _ in range(5):
        Rounds(0.25, -1).release([1, 2], ledger=ledger, purpose="pay what you get")
    assert Ledger(path).spent.epsilon == 1.25
    with pytest.raises(BudgetExceeded):
        Rounds(0.25, -1).release([1, 2], ledger=ledger)
    assert [entry.kind for entry in ledger.entries(last=2)] == ["charge", "refund"]
    assert ledger.entries()[-1].refund_of == 9
    assert ledger.verify() == 10


@pytest.mark.parametrize("budget", [ZCDP(1.0), ApproxDP(5.0, 1e-6)])
def test_only_proved_currencies_are_refunded(place, budget):
    pure_only = Ledger(place(), budget=budget)
    Rounds(0.4, -1, ("pure",)).release([1, 2], ledger=pure_only)
    both = Ledger(place(), budget=budget)
    Rounds(0.4, -1, ("pure", "zcdp")).release([1, 2], ledger=both)
    one = 0.019955712973121538  # of bounded range 0.4
    assert pure_only.spent.rho == pytest.approx(4 * one)
    assert both.spent.rho == pytest.approx(one)
    if isinstance(budget, ApproxDP):
        assert pure_only.spent.epsilon == both.spent.epsilon == 0.4
    assert pure_only.verify() == (2 if isinstance(budget, ApproxDP) else 1)


def test_a_delta_is_never_refunded(path):
    ledger = Ledger(path, budget=ApproxDP(5.0, 1e-6))
    worst, used = (compose(ApproxDP(0.0, 1e-7), BoundedRange(0.5).repeat(n)) for n in (4, 1))
    ledger.reserve(worst, refundable=("pure", "zcdp")).refund(used)
    assert ledger.spent == Balance(0.5, 0.03114209226115588, None, 1e-7)
    ledger.reserve(worst, refundable=("pure", "zcdp")).refund(BoundedRange(0.5))
    assert ledger.spent.delta == 2e-7
    assert ledger.verify() == 4


def test_an_outcome_of_small_cost_is_refunded_in_the_pure_currency_alone(path):
    ledger = Ledger(path, budget=ApproxDP(5.0, 1e-6))
    ledger.reserve(ExPost(1.0, 0.0), refundable=("pure", "zcdp")).refund(ExPost(1.0, cost=0.25))
    assert ledger.spent == Balance(0.25, 0.4621171572600098, None, 0.0)
    ledger.reserve(PureDP(1.0), refundable=("pure",)).refund(ExPost(1.0, cost=0.0))
    assert ledger.spent == Balance(0.25, 0.9242343145200196, None, 0.0)


@pytest.mark.parametrize("noise", ["gumbel", "exponential"])
@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.7, 1.0])
def test_a_release_never_costs_more_than_its_budget(tmp_path, noise, epsilon):
    for k in (1, 3, 7, 10):
        ledger = Ledger(tmp_path / f"{k}.db", budget=PureDP(epsilon))
        OneshotTopK(k=k, epsilon=epsilon, noise=noise).release(list(range(20)), ledger=ledger)


def test_gumbel_values_are_booked_as_their_own_pair(path):
    ledger = Ledger(path, budget=ApproxDP(3.0, 1e-6))
    pair = ApproxDP(1.0, 1e-7)
    sl.top_k([9, 1, 3], 2, budget=pair, values=True, method="gumbel-values", monotone=True, ledger=ledger)
    assert (ledger.spent.epsilon, ledger.spent.delta) == (1.0, 1e-7)
    assert ledger.entries()[0].mechanism == repr(GumbelTopKValues(k=2, budget=ApproxDP(1.0, 1e-7)))


def test_a_refund_is_given_once_and_never_more_than_was_reserved(path):
    ledger = Ledger(path, budget=PureDP(2.0))
    reservation = ledger.reserve(PureDP(1.0), refundable=("pure",))
    with pytest.raises(ValueError, match="reserve the worst case"):
        reservation.refund(PureDP(1.5))
    reservation.refund(PureDP(0.25))
    with pytest.raises(ValueError, match="refunded already"):
        pickle.loads(pickle.dumps(reservation)).refund(PureDP(0.1))
    ledger.reserve(PureDP(0.5), refundable=()).refund(PureDP(0.1))
    assert ledger.spent.epsilon == 0.75
    with pytest.raises(ValueError, match="refundable must name"):
        ledger.reserve(PureDP(0.5), refundable=("delta",))  # type: ignore[arg-type]


def test_a_refund_that_cannot_be_booked_does_not_take_the_release_away(path, monkeypatch):
    ledger = Ledger(path, budget=PureDP(2.0))

    def fail(*_):
        raise LedgerError("the disk is full")

    monkeypatch.setattr(type(ledger._store), "refund", fail)
    with pytest.warns(UserWarning, match="refund is lost"):
        assert Rounds(0.25, -1).release([1, 2], ledger=ledger).indices == [0]
    assert ledger.spent.epsilon == 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Rounds(0.25, -1).release([1, 2], ledger=ledger).indices == [0]


@pytest.mark.parametrize(
    "purpose",
    ["", "Überblick 概要 🗳", "'; DROP TABLE entries; --", "a\x00b\nc\x1b[31m", "[red]markup[/]", "x" * 10_000],
    ids=["empty", "unicode", "sql", "control", "markup", "long"],
)
def test_any_purpose_is_kept_as_it_is(path, purpose):
    ledger = Ledger(path, budget=PureDP(2.0))
    ledger.charge(PureDP(0.5), purpose=purpose)
    assert Ledger(path).entries()[0].purpose == purpose
    assert ledger.verify() == 1


@pytest.mark.parametrize("purpose", ["x" * 10_001, "\ud800", b"bytes", None, 3])
def test_a_purpose_that_is_no_short_text_is_refused(path, purpose):
    ledger = Ledger(path, budget=PureDP(2.0))
    with pytest.raises((TypeError, ValueError), match="purpose must be"):
        ledger.charge(PureDP(0.5), purpose=purpose)
    assert ledger.verify() == 0


def test_a_clock_that_goes_back_changes_nothing(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "budget.db", budget=PureDP(1.0))
    times = iter(["2030-01-01T00:00:00.000+00:00", "1970-01-01T00:00:00.000+00:00"])
    monkeypatch.setattr("shortlist.ledger.sqlite.now", lambda: next(times))
    ledger.charge(PureDP(0.5))
    ledger.charge(PureDP(0.5))
    assert ledger.verify() == 2
    with pytest.raises(BudgetExceeded):
        ledger.charge(PureDP(0.1))


def test_a_ledger_works_when_the_process_moves_and_when_pickled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("here.db", budget=PureDP(1.0))
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    pickle.loads(pickle.dumps(ledger)).charge(PureDP(0.5))
    assert ledger.spent.epsilon == 0.5
    assert "PureDP(epsilon=1.0)" in repr(ledger)


@pytest.mark.parametrize("charge", [PureDP(0.5), BoundedRange(0.5), ApproxDP(0.5, 1e-8), ZCDP(0.01)], ids=str)
def test_a_preview_is_what_the_charge_then_does_and_books_nothing(path, charge):
    ledger = Ledger(path, budget=ApproxDP(3.0, 1e-6))
    ledger.charge(PureDP(0.25))
    head = ledger.head
    preview = ledger.if_charged(charge)
    assert (ledger.head, len(ledger.entries())) == (head, 1)
    ledger.charge(charge)
    assert preview == (ledger.spent, ledger.remaining)


def test_a_preview_refuses_what_a_charge_would(path):
    ledger = Ledger(path, budget=PureDP(1.0))
    with pytest.raises(BudgetExceeded):
        ledger.if_charged(PureDP(1.5))
    with pytest.raises(ValueError, match="delta"):
        ledger.if_charged(ApproxDP(0.5, 1e-8))
    assert ledger.entries() == []


def test_a_receipt_is_taken_after_the_refund(path):
    ledger = Ledger(path, budget=PureDP(1.0))
    reservation = ledger.reserve(PureDP(0.5), refundable=("pure",), purpose="x")
    reservation.refund(ExPost(0.5, 0.125))
    receipt = reservation.receipt()
    assert (receipt.ledger, receipt.entry, receipt.purpose) == (ledger.name, 1, "x")
    assert ledger.name in (str(path).rpartition("/")[2], str(path).rpartition("=")[2])
    assert (receipt.spent, receipt.remaining, receipt.head) == (ledger.spent, ledger.remaining, ledger.head)
