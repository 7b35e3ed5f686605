"""Two pairs of eyes: a request costs nothing, an approval is somebody else's, and each pays for one release."""

import itertools
import json
import os
import shutil
from fractions import Fraction
from typing import Any

import pytest

import shortlist as sl
from shortlist import BudgetExceeded, Ledger, PureDP
from shortlist.ledger import sqlite as ledger_turn
from shortlist.ledger.filter import Amounts
from shortlist.privacy import ApprovalNeeded, ApproxDP, LedgerError
from tests.helpers.interrupting import every_place
from tests.helpers.postgres import OWNER
from tests.helpers.support import full_size, sized
from tests.helpers.terminal import called


@pytest.fixture
def user(monkeypatch):
    """Become somebody: what the operating system would say of another user, or whom a server lets in."""

    def become(name):
        monkeypatch.setenv("PGUSER", name)
        for one in made:
            one.__exit__()  # who a connection is does not change
        monkeypatch.setattr("shortlist.ledger.sqlite.user_name", lambda: name)
        monkeypatch.setattr("shortlist.cli.ledger.user_name", lambda: name)

    made: list[Ledger] = []
    become("anna")
    vars(become)["made"] = made
    return become


@pytest.fixture
def shared(place, user):
    """A ledger in a file or on a server, of which anna and ben are analysts."""
    path = place()
    made = Ledger(path, budget=PureDP(1.0), approval=True)
    if str(path).startswith("postgresql:"):
        made.grant("anna")
        made.grant("ben")
        made = Ledger(path.replace(f"{OWNER}@", ""))
    user.made.append(made)
    return made


@pytest.fixture
def ledger(tmp_path, user):
    return Ledger(tmp_path / "budget.db", budget=PureDP(1.0), approval=True)


def ask(ledger, epsilon=0.5, purpose="weekly chart"):
    return sl.select([9, 1], epsilon=epsilon, ledger=ledger, purpose=purpose)


def requested(ledger, **words):
    with pytest.raises(ApprovalNeeded) as waits:
        ask(ledger, **words)
    return waits.value.request


def test_a_release_waits_for_another_user_and_is_then_charged_once(shared, user):
    ledger = shared
    assert requested(ledger) == requested(ledger) == 1, "the same is not requested twice"
    assert str(ledger).startswith("booked: epsilon 0 of 1, 0 releases;")
    assert str(ledger).endswith("would still be admitted; each release waits until another person has approved it")
    with pytest.raises(ValueError, match="must be approved by another user"):
        ledger.approve(1)
    user("ben")
    ledger.approve(1)
    with pytest.raises(ValueError, match="was approved already"):
        ledger.approve(1)
    assert requested(ledger) == 3, "ben did not ask for it: it is a request of his own"
    user("anna")
    release = ask(ledger)
    assert release.receipt.entry == 4
    assert str(ledger).startswith("booked: epsilon 0.5 of 1, 1 release;")
    assert requested(ledger) == 5, "an approval pays for one release"
    assert [(entry.kind, entry.who, entry.request) for entry in ledger.entries()] == [
        ("request", "anna", None), ("approval", "ben", 1), ("request", "ben", None), ("charge", "anna", 1),
        ("request", "anna", None),
    ]  # fmt: skip
    assert Ledger(ledger.path).verify() == 5


def test_what_is_asked_must_be_word_for_word_what_was_approved(shared, user):
    ledger = shared
    requested(ledger)
    user("ben")
    ledger.approve(1)
    user("anna")
    assert requested(ledger, purpose="another chart") == 3
    assert requested(ledger, epsilon=0.25) == 4
    assert ask(ledger).receipt.entry == 5


def test_room_is_looked_for_before_the_request_and_before_the_release(shared, user):
    ledger = shared
    with pytest.raises(BudgetExceeded):
        ask(ledger, epsilon=2.0)
    assert ledger.verify() == 0
    requested(ledger, epsilon=0.75)
    requested(ledger, epsilon=0.5)
    user("ben")
    ledger.approve(1)
    ledger.approve(2)
    user("anna")
    ask(ledger, epsilon=0.75)
    with pytest.raises(BudgetExceeded):
        ask(ledger, epsilon=0.5)


@pytest.mark.parametrize("wrong", [0, 7, 2, "1", None, True, 2**70])
def test_only_requests_are_approved(shared, user, wrong):
    ledger = shared
    requested(ledger)
    user("ben")
    ledger.approve(1)
    with pytest.raises(ValueError, match="request must be the number of an entry"):
        ledger.approve(wrong)


def test_it_is_fixed_when_the_ledger_is_made(tmp_path, ledger):
    assert Ledger(ledger.path).terms.approval
    with pytest.raises(ValueError, match="approval was fixed as True"):
        Ledger(ledger.path, approval=False)
    plain = Ledger(tmp_path / "plain.db", budget=PureDP(1.0))
    with pytest.raises(ValueError, match="approval was fixed as False"):
        Ledger(plain.path, approval=True)
    wrong: Any = "yes"
    with pytest.raises(TypeError, match="approval must be True or False"):
        Ledger(tmp_path / "new.db", budget=PureDP(1.0), approval=wrong)
    with pytest.raises(ValueError, match="request must be"):
        plain.approve(1)


def test_an_approval_pays_for_no_more_than_was_asked_for(shared, user):
    """Word for word the same, at another cost: what a caller of the ledger's own parts, or of SQL, could try."""
    ledger = shared
    words = {"purpose": "chart", "mechanism": "", "unit": "", "guarantee": "the same", "refundable": "", "source": ""}

    def charge(epsilon):
        ledger._store.charge([(Amounts(Fraction(epsilon), None, Fraction(0)), words)])

    with pytest.raises(ApprovalNeeded, match="entry 1"):
        charge("1/4")
    assert ledger.entries()[0].amounts == Amounts(Fraction(1, 4), None, Fraction(0))
    assert ledger.spent.epsilon == 0.0
    user("ben")
    ledger.approve(1)
    user("anna")
    with pytest.raises(ApprovalNeeded, match="entry 3"):
        charge("1/2")
    charge("1/8")
    assert ledger.spent.epsilon == 0.125
    with pytest.raises(ApprovalNeeded, match="entry 3"):
        charge("1/8")
    assert ledger.verify() == 4


def test_a_charge_above_what_was_approved_is_refused_by_verify(ledger, user, monkeypatch):
    requested(ledger)
    user("ben")
    ledger.approve(1)
    user("anna")
    with monkeypatch.context() as patch:
        patch.setattr(
            "shortlist.ledger.filter.countable_costs",
            lambda terms, guarantees: [(guarantees[0], Amounts(Fraction(1), None, Fraction(0)))],
        )
        patch.setattr("shortlist.ledger.sqlite.request_for", lambda db, path, said, cost: 1)
        ask(ledger)
    with pytest.raises(LedgerError, match="entry 3 costs more than was approved"):
        Ledger(ledger.path).verify()


def test_a_first_charge_that_takes_all_of_delta_is_covered_by_its_request(place, user):
    ledger = Ledger(place(), budget=ApproxDP(1.0, 1e-6), approval=True)
    large = ApproxDP(0.5, 9e-7)
    path = str(ledger.path)
    if path.startswith("postgresql:"):
        ledger.grant("anna")
        ledger.grant("ben")
        ledger = Ledger(path.replace(f"{OWNER}@", ""))
    user.made.append(ledger)
    with pytest.raises(ApprovalNeeded):
        ledger.charge(large)
    user("ben")
    ledger.approve(1)
    user("anna")
    ledger.charge(large)
    assert (ledger.spent.rho, ledger.verify()) == (None, 3)


@pytest.mark.parametrize("forgery", ["no request", "no approval", "own approval", "used twice", "other words"])
def test_a_chain_that_goes_around_the_approval_is_refused_by_verify(ledger, user, monkeypatch, forgery):
    """Written by the library's own code, with the check switched off."""
    if forgery != "no request":
        requested(ledger)
    if forgery in ("used twice", "other words"):
        user("ben")
        ledger.approve(1)
        user("anna")
    if forgery == "own approval":
        with monkeypatch.context() as patch:
            names = iter(["ben"])  # whom the check sees; the entry is written by anna
            patch.setattr("shortlist.ledger.sqlite.user_name", lambda: next(names, "anna"))
            ledger.approve(1)
    with monkeypatch.context() as patch:
        patch.setattr("shortlist.ledger.sqlite._kinds_of", lambda db, request: {"approval"})
        number = None if forgery == "no request" else 1
        patch.setattr("shortlist.ledger.sqlite.request_for", lambda db, path, said, cost: number)
        if forgery == "no request":
            patch.setattr("shortlist.ledger.filter.Terms.approval", False)
        if forgery == "used twice":
            ask(ledger, epsilon=0.5)
        ask(ledger, epsilon=0.25 if forgery == "other words" else 0.5)
    with pytest.raises(LedgerError, match=r"was not approved|approves no request of another"):
        Ledger(ledger.path).verify()


# Interrupts


@pytest.fixture
def unsynced(monkeypatch):
    """Thousands of files that no power cut concerns."""
    monkeypatch.setattr(ledger_turn, "SETTINGS", ("synchronous = OFF", *ledger_turn.SETTINGS[1:]))
    monkeypatch.setattr(os, "fsync", lambda _: None)


def storm(made, folder, work, before, after):
    """Interrupt copies of a ledger at every place of `work`: as many entries as before, or as after, and free."""
    numbers, found = itertools.count(), set()

    def run():
        place = folder / str(next(numbers))
        place.mkdir()
        ledger = Ledger(shutil.copy(made, place / "budget.db"))

        def check(_interrupt):
            assert not ledger_turn._running
            assert os.listdir(place) == ["budget.db"]
            entries = Ledger(ledger.path, wait=0.0).verify()
            assert entries in (before, after)
            found.add(entries)

        return lambda: work(ledger), check

    places = every_place(run, step=sized(5, full=1))
    return places, found


def quietly(ledger):
    try:
        ledger.reserve(PureDP(0.5), purpose="chart")
    except ApprovalNeeded:
        return


@full_size
def test_an_interrupt_at_any_line_of_a_request_an_approval_or_a_release_leaves_it_done_or_not(
    tmp_path, user, unsynced, ledger
):
    for number, (name, work) in enumerate((("anna", quietly), ("ben", lambda one: one.approve(1)), ("anna", quietly))):
        user(name)
        (tmp_path / str(number)).mkdir()
        places, found = storm(ledger.path, tmp_path / str(number), work, number, number + 1)
        assert places > 20
        assert found == {number, number + 1}, "some came before the commit, some after it"
        work(ledger)
    assert [entry.kind for entry in ledger.entries()] == ["request", "approval", "charge"]


# The command line


def test_the_command_ends_with_4_while_it_waits(tmp_path, user):
    book, table, known = (str(tmp_path / name) for name in ("q4.db", "rows.csv", "known.txt"))
    with open(table, "w") as file:
        file.write("user,item\n" + "".join(f"{n},{'ab'[n % 2]}\n" for n in range(40)))
    with open(known, "w") as file:
        file.write("a\nb\nc\n")
    assert called("ledger", "init", book, "--epsilon", "3", "--approval").returncode == 0
    line = ("top", table, "-k", "1", "--user", "user", "--item", "item", "--candidates", known, "--epsilon", "1")
    waits = called(*line, "--ledger", book)
    assert (waits.returncode, waits.stdout) == (4, "")
    assert "entry 1 of" in waits.stderr
    assert waits.stderr.count("\n") == 1
    own = called("ledger", "approve", book, "1")
    assert (own.returncode, "another user" in own.stderr) == (1, True)
    user("ben")
    assert "entry 1 is approved by ben" in called("ledger", "approve", book, "1").stdout
    user("anna")
    done = called(*line, "--ledger", book)
    assert done.returncode == 0
    assert "booked: epsilon 1 of 3, 1 release" in done.stdout
    assert called(*line, "--ledger", book).returncode == 4
    shown = json.loads(called("ledger", "show", book, "--json").stdout)
    assert [entry["request"] for entry in shown["entries"]] == [None, 1, 1, None]
    assert shown["standing"]["words"] in done.stdout
    charge = Ledger(book).entries()[2]
    assert (charge.source or "").startswith(f"rows.csv in {tmp_path}: user user, item item; 3 candidates of sha256 ")


def test_another_question_is_not_approved_with_it(shared, user):
    ledger = shared
    ways: list[dict[str, Any]] = [{}, {"largest": False}, {"rng": sl.testing.seeded(1)}]
    for way in ways:
        with pytest.raises(ApprovalNeeded):
            sl.top_k([9, 5, 1], k=2, epsilon=0.1, monotone=True, ledger=ledger, **way)
    assert [entry.kind for entry in ledger.entries()] == ["request"] * len(ways)
