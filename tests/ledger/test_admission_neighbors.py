"""One ledger adds up charges for one neighboring relation: a sum over both bounds neither."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import shortlist as sl
from shortlist import Ledger, PureDP, Scores
from shortlist.mechanisms import SparseVector
from shortlist.pate import MultiLabelPATE
from shortlist.privacy import ApprovalNeeded, BudgetExceeded, LedgerError
from tests.helpers.terminal import called
from tests.helpers.typed import present

GOLDEN = Path(__file__).parent / "golden" / "schema_4"
ADDED, REPLACED = "user (add-remove)", "user (replace)"
REFUSED = r'counts charges for neighbours="{}", and this one is for "{}".*allow_mixed_neighbors'


def two(neighbours):
    return Scores([9.0, 1.0], sensitivity=1.0, neighbours=neighbours)


@pytest.fixture(params=["file", "server"])
def made(request, tmp_path):
    """Makes a ledger, in a file or on a server."""
    if request.param == "file":
        return lambda **words: Ledger(tmp_path / "budget.db", **words)
    server = request.getfixturevalue("server")
    base = server.base(f"neighbors_{abs(hash(request.node.name)):x}")
    return lambda **words: Ledger(server.url(base), **words)


def test_a_half_and_a_half_for_different_neighbors_are_not_one(made):
    """The loss of both when a user is replaced is 1.5: the first one is up to 1, for it is counted twice."""
    ledger = made(budget=PureDP(1.0))
    sl.select(two("add-remove"), epsilon=0.5, ledger=ledger)
    with pytest.raises(ValueError, match=REFUSED.format("add-remove", "replace")):
        sl.select(two("replace"), epsilon=0.5, ledger=ledger)
    assert (ledger.verify(), ledger.spent.epsilon) == (1, 0.5)
    sl.select(two("add-remove"), epsilon=0.25, ledger=ledger)
    ledger.charge(PureDP(0.25), purpose="states no relation")
    assert Ledger(ledger.path).verify() == 3


def test_the_first_charge_that_states_a_relation_fixes_it(made):
    ledger = made(budget=PureDP(4.0))
    ledger.charge(PureDP(0.25))
    ledger.charge(PureDP(0.25), unit=REPLACED)
    guarantee = PureDP(0.25)
    for again in (ledger, Ledger(ledger.path)):
        for act in (
            lambda one=again: one.charge(guarantee, unit=ADDED),
            lambda one=again: one.reserve(guarantee, PureDP(0.5), refundable=("pure",), unit=ADDED),
            lambda one=again: one.check(guarantee, unit=ADDED),
            lambda one=again: one.check(guarantee, unit=ADDED, fresh=False),
            lambda one=again: one.if_charged(guarantee, unit=ADDED),
            lambda one=again: one.standing_if(guarantee, unit=ADDED),
        ):
            with pytest.raises(ValueError, match=REFUSED.format("replace", "add-remove")):
                act()
        again.check(guarantee, unit=REPLACED)
        again.charge(guarantee, unit="household (replace)")
    assert ledger.verify() == 4


def _tune(ledger, neighbours):
    sl.tune(
        lambda one: (one, 0.0), [0.1, 1.0], guarantee=PureDP(0.125), runs=sl.Binomial(2, 1.0), ledger=ledger,
        neighbours=neighbours,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("release", "states"),
    [
        (lambda ledger: sl.quantile([1.0, 2.0, 3.0], lower=0, upper=4, step=1, epsilon=0.5, ledger=ledger), ADDED),
        (lambda ledger: _tune(ledger, "replace"), "row (replace)"),
        (lambda ledger: _tune(ledger, "add-remove"), "row (add-remove)"),
        (lambda ledger: SparseVector(k=1, threshold=5.0, epsilon=0.5, sensitivity=1.0).stream(
            [1, 9], ledger=ledger), ADDED),
        (lambda ledger: MultiLabelPATE(rho=0.1, delta=1e-6, queries=10).label(
            np.array([[1, 0]] * 300), ledger=ledger), "votes)"),
    ],
    ids=["quantile", "tuning", "tuning added", "stream", "PATE"],
)  # fmt: skip
def test_every_kind_of_release_states_its_relation_and_keeps_to_it(tmp_path, release, states):
    wrong = REPLACED if "add-remove" in states else ADDED
    budget = sl.ApproxDP(8.0, 1e-3)
    first, later = (Ledger(tmp_path / f"{name}.db", budget=budget) for name in ("first", "later"))
    release(first)
    assert first.entries()[0].unit.endswith(states.rpartition(" ")[2])
    with pytest.raises(ValueError, match="counts charges for"):
        first.charge(PureDP(0.01), unit=wrong)
    later.charge(PureDP(0.01), unit=wrong)
    with pytest.raises(ValueError, match="counts charges for"):
        release(later)
    assert later.verify() == 1


def test_an_owner_may_allow_both_when_the_ledger_is_made_and_it_is_said(made, tmp_path):
    ledger = made(budget=PureDP(1.0), allow_mixed_neighbors=True)
    sl.select(two("add-remove"), epsilon=0.5, ledger=ledger)
    sl.select(two("replace"), epsilon=0.5, ledger=ledger)
    again = Ledger(ledger.path, allow_mixed_neighbors=True)
    assert again.verify() == 2
    assert "both neighboring relations" in str(again)
    assert again.terms.as_json()["mixed"] is True
    again.report(tmp_path / "page.html")
    assert "<b>Charges for different neighbors.</b>" in (tmp_path / "page.html").read_text()
    with pytest.raises(BudgetExceeded):
        again.charge(PureDP(0.25))
    with pytest.raises(ValueError, match="allow_mixed_neighbors was fixed as True"):
        Ledger(ledger.path, allow_mixed_neighbors=False)


def test_a_ledger_that_does_not_allow_both_cannot_be_opened_as_one_that_does(made):
    ledger = made(budget=PureDP(1.0))
    with pytest.raises(ValueError, match="allow_mixed_neighbors was fixed as False"):
        Ledger(ledger.path, allow_mixed_neighbors=True)


def test_the_command_line_allows_both_by_a_word(tmp_path):
    path = str(tmp_path / "budget.db")
    made = called("ledger", "init", path, "--epsilon", "1", "--allow-mixed-neighbors")
    assert (made.returncode, "both neighboring relations" in made.stdout) == (0, True)
    assert "a guess of 50%" not in made.stdout
    assert Ledger(path).terms.mixed


def test_the_flag_is_part_of_what_the_chain_starts_from(tmp_path):
    path = tmp_path / "budget.db"
    Ledger(path, budget=PureDP(1.0)).charge(PureDP(0.5))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TRIGGER terms_stay")
        db.execute("UPDATE terms SET content = replace(content, '}', ', \"mixed\": true}')")
    with pytest.raises(LedgerError):
        Ledger(path)


def test_a_request_is_refused_before_anybody_approves_it(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", budget=PureDP(1.0), approval=True)
    for unit in (ADDED, REPLACED):
        with pytest.raises(ApprovalNeeded):
            ledger.charge(PureDP(0.25), unit=unit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shortlist.ledger.sqlite.user_name", lambda: "somebody else")
        ledger.approve(1)
    ledger.charge(PureDP(0.25), unit=ADDED)
    with pytest.raises(ValueError, match="counts charges for"):
        ledger.charge(PureDP(0.25), unit=REPLACED)
    assert ledger.verify() == 4


# What older versions wrote


def copied(name, tmp_path):
    return shutil.copy(GOLDEN / f"{name}.db", tmp_path)


def test_a_ledger_that_mixes_already_is_read_and_keeps_to_its_first_relation(tmp_path):
    path = copied("mixed", tmp_path)
    ledger = Ledger(path)
    head = "f8947abc39f611069515b6b76b1ff124e01b580da7efbae76aa3210b268892e4"
    assert (ledger.verify(head=head), ledger.spent.epsilon) == (5, 1.5)
    with pytest.raises(ValueError, match=REFUSED.format("add-remove", "replace")):
        ledger.charge(PureDP(0.25), unit=REPLACED)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (4,)
    ledger.charge(PureDP(0.25), unit=ADDED)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT number, relation FROM neighbors").fetchall() == [(2, "add-remove")]
    assert Ledger(path).verify(head=head) == 6


def test_a_ledger_that_states_no_relation_takes_the_first_that_comes(tmp_path):
    path = copied("unstated", tmp_path)
    Ledger(path).charge(PureDP(0.25), unit=REPLACED)
    with pytest.raises(ValueError, match="counts charges for"):
        Ledger(path).charge(PureDP(0.25), unit=ADDED)
    assert Ledger(path).verify() == 2


@pytest.mark.parametrize("name", ["closed", "approval"])
def test_other_ledgers_of_schema_4_are_what_they_were(tmp_path, name):
    ledger = Ledger(copied(name, tmp_path))
    assert ledger.verify() == (2 if name == "closed" else 1)
    if name == "closed":
        with pytest.raises(LedgerError, match="closed for good and books nothing more: over"):
            ledger.charge(PureDP(0.25))


def test_an_edit_of_the_relation_is_found_by_verify(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", budget=PureDP(1.0))
    for _ in range(3):
        ledger.charge(PureDP(0.25), unit=ADDED)
    with closing(sqlite3.connect(ledger.path)) as db:
        trigger = db.execute("SELECT sql FROM sqlite_master WHERE name = 'neighbors_stay'").fetchone()[0]
        with pytest.raises(sqlite3.IntegrityError):
            db.execute("UPDATE neighbors SET relation = 'replace'")
        with db:
            db.execute("DROP TRIGGER neighbors_stay")
            db.execute("UPDATE neighbors SET relation = 'replace'")
            db.execute(trigger)
    with pytest.raises(LedgerError, match="neighboring relation"):
        Ledger(ledger.path).verify()


STATED = ("(add-remove)", "(replace)")


@pytest.mark.parametrize("unit", [
    "", "user", *(f"user {words}" for words in STATED), *STATED, "(replace) user", "user (Replace)", "a\0b (replace)",
    "(replace)\0", "Zoë 🗳 (add-remove)", "replace", "add-remove", "user (replace) ", "user ('replace')",
])  # fmt: skip
def test_a_unit_states_its_relation_at_its_end(unit, tmp_path):
    """Python reads it of an entry, and SQLite of the first one when another is charged."""
    ledger = Ledger(tmp_path / "budget.db", budget=PureDP(1.0))
    ledger.charge(PureDP(0.25), unit=unit)
    stated = next((words.strip("()") for words in STATED if unit.endswith(words)), "")
    assert present(ledger.find(ledger.head)).relation == stated
    refused = 0
    for words in STATED:
        try:
            ledger.charge(PureDP(0.25), unit=f"user {words}")
        except ValueError:
            refused += 1
    assert refused == 1  # the first that states a relation decides
    assert ledger.verify() == 2
    assert {one.relation for one in ledger.entries()} - {""} == {stated or "add-remove"}
