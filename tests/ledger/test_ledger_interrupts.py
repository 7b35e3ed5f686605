"""An interrupt at any line leaves the ledger free, whole and as it was before or after; and its folder clean."""

import itertools
import os
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from typing import Any

import pytest

from shortlist import Ledger
from shortlist.ledger import sqlite as ledger_turn
from shortlist.privacy import LedgerError, PureDP
from tests.helpers.interrupting import Interrupt, every_place, interrupted
from tests.helpers.processes import in_child
from tests.helpers.support import full_size, sized

STEP = sized(5, full=1)
"""Every fifth place in the suite, every one at full size."""
BEFORE, AFTER = 0.5, 1.5


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "budget.db", budget=PureDP(4.0))
    ledger.charge(PureDP(BEFORE), purpose="weekly chart")
    return ledger.path


@pytest.fixture(autouse=True)
def unsynced(monkeypatch):
    """Thousands of files that no power cut concerns."""
    monkeypatch.setattr(ledger_turn, "SETTINGS", ("synchronous = OFF", *ledger_turn.SETTINGS[1:]))
    monkeypatch.setattr(os, "fsync", lambda _: None)


def fresh(made, folder):
    """A folder of its own with a copy of the ledger, for each run."""
    for number in itertools.count():
        place = folder / str(number)
        place.mkdir()
        yield Ledger(shutil.copy(made, place / "budget.db"))


def check_free(path):
    """Nobody holds the file, nobody is in the way of a fork, and nothing lies beside it."""
    assert not ledger_turn._running
    assert not ledger_turn._forking
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        other.execute("ROLLBACK")
    assert os.listdir(os.path.dirname(path)) == ["budget.db"]
    Ledger(path, wait=0.0).verify()


def charging(ledgers):
    """A charge, which is booked or not, and the ledger knows which."""

    def run():
        ledger = next(ledgers)
        head = ledger.head

        def check(_interrupt):
            check_free(ledger.path)
            spent, booked = ledger.spent.epsilon, ledger.booked_since(head)
            assert (spent, booked) in ((BEFORE, None), (AFTER, 2))
            found.add(booked)

        return lambda: ledger.charge(PureDP(1.0), purpose="again"), check

    found: set[Any] = set()
    return run, found


def refunding(ledgers):
    def run():
        ledger = next(ledgers)
        reservation = ledger.reserve(PureDP(1.0), refundable=("pure",))

        def check(_interrupt):
            check_free(ledger.path)
            assert ledger.spent.epsilon in (AFTER, BEFORE + 0.25)
            found.add(ledger.spent.epsilon)

        return lambda: reservation.refund(PureDP(0.25)), check

    found: set[Any] = set()
    return run, found


def reading(ledgers, work):
    def run():
        ledger = next(ledgers)

        def check(_interrupt):
            check_free(ledger.path)
            assert ledger.spent.epsilon == BEFORE

        return lambda: work(ledger), check

    return run


def making(folder):
    def run():
        place = folder / str(next(numbers))
        place.mkdir()

        def check(_interrupt):
            assert not ledger_turn._running
            there = os.listdir(place)
            assert there in ([], ["budget.db"])
            Ledger(place / "budget.db", budget=PureDP(4.0)).charge(PureDP(4.0))
            check_free(str(place / "budget.db"))
            found.add(len(there))

        return lambda: Ledger(place / "budget.db", budget=PureDP(4.0)), check

    numbers = itertools.count()
    found: set[Any] = set()
    return run, found


def waiting(ledgers, patch):
    """A charge that finds the file locked twice."""

    def run():
        ledger = next(ledgers)
        other = sqlite3.connect(ledger.path, timeout=0, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        pauses = iter((lambda: None, lambda: other.execute("ROLLBACK")))
        patch.setattr(time, "sleep", lambda _: next(pauses)())

        def check(_interrupt):
            other.close()
            check_free(ledger.path)
            assert ledger.spent.epsilon in (BEFORE, AFTER)

        return lambda: ledger.charge(PureDP(1.0)), check

    return run


@full_size
def test_an_interrupt_at_any_line_of_a_charge_leaves_it_booked_or_not_and_known(made, tmp_path):
    run, found = charging(fresh(made, tmp_path))
    assert every_place(run, step=STEP) > 150 // STEP
    assert found == {None, 2}, "some came before the commit, some after it"


@full_size
def test_an_interrupt_at_any_line_of_a_refund_leaves_it_given_or_not(made, tmp_path):
    run, found = refunding(fresh(made, tmp_path))
    assert every_place(run, step=STEP) > 150 // STEP
    assert found == {AFTER, BEFORE + 0.25}


@full_size
def test_an_interrupt_at_any_line_of_making_leaves_a_ledger_or_nothing(tmp_path):
    run, found = making(tmp_path)
    assert every_place(run, step=STEP) > 150 // STEP
    assert found == {0, 1}


@full_size
def test_an_interrupt_at_any_line_of_opening_and_verifying_leaves_the_file_free(made, tmp_path):
    ledgers = fresh(made, tmp_path)
    assert every_place(reading(ledgers, lambda ledger: Ledger(ledger.path)), step=STEP) > 100 // STEP
    assert every_place(reading(ledgers, Ledger.verify), step=3 * STEP) > 100 // STEP


@full_size
def test_an_interrupt_at_any_line_of_a_wait_leaves_the_file_free(made, tmp_path, monkeypatch):
    monkeypatch.setattr(ledger_turn, "BRIEFLY", 0.0)
    assert every_place(waiting(fresh(made, tmp_path), monkeypatch), step=STEP) > 150 // STEP


@pytest.mark.long
def test_an_interrupt_at_any_operation_does_no_harm(made, tmp_path, monkeypatch):
    """Finer than lines, and than any signal: between any two operations of the interpreter."""
    ledgers = fresh(made, tmp_path)
    (tmp_path / "made").mkdir()
    runs = charging(ledgers)[0], refunding(ledgers)[0], making(tmp_path / "made")[0], reading(ledgers, Ledger.verify)
    places = [every_place(run, opcodes=True) for run in runs]
    monkeypatch.setattr(ledger_turn, "BRIEFLY", 0.0)
    places.append(every_place(waiting(ledgers, monkeypatch), opcodes=True))
    print("interrupts at operations of charge, refund, make, verify, wait:", places)
    assert min(places) > 500


@pytest.mark.long
def test_hundreds_of_real_signals_do_no_harm(made, tmp_path):
    """Our own handler raises, at moments that a timer of the operating system picks."""

    def child():
        def stop(_number, _frame):
            raise Interrupt

        signal.signal(signal.SIGALRM, stop)
        ledgers, kept = fresh(made, tmp_path), []
        stopped = booked = 0
        for number in range(600):
            ledger = next(ledgers)
            head = ledger.head
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + number * 5e-6)
                ledger.reserve(PureDP(1.0), refundable=("pure",)).refund(PureDP(0.25))
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupt as interrupt:
                kept.append(interrupt)
                stopped += 1
            check_free(ledger.path)
            assert ledger.spent.epsilon in (BEFORE, BEFORE + 0.25, AFTER)
            assert ledger.booked_since(head) == (None if ledger.spent.epsilon == BEFORE else 2)
            booked += ledger.spent.epsilon != BEFORE
        return stopped, booked

    stopped, booked = in_child(child)
    print(f"{stopped} of 600 runs were interrupted, in {booked} the charge was booked")
    assert stopped > 200


def test_a_wait_can_be_interrupted_at_once_and_its_end_is_an_option(made, tmp_path, monkeypatch):
    ledger = next(fresh(made, tmp_path))
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")

        def press_control_c(_):
            raise Interrupt

        with monkeypatch.context() as patch:
            patch.setattr(time, "sleep", press_control_c)
            with pytest.raises(Interrupt):
                ledger.charge(PureDP(1.0))
        with pytest.raises(LedgerError, match="for 0 seconds"):
            Ledger(ledger.path, wait=0.0)
        other.execute("ROLLBACK")
    with pytest.raises(ValueError, match="wait must be"):
        Ledger(ledger.path, wait=-1.0)
    check_free(ledger.path)


def test_what_was_booked_is_told_by_the_file(made, tmp_path):
    ledger = next(fresh(made, tmp_path))
    head = ledger.head
    assert ledger.booked_since(head) is None
    Ledger(ledger.path).charge(PureDP(0.5), purpose="somebody else's")
    assert ledger.booked_since(head) is None, "another object's charge is not ours"
    ledger.charge(PureDP(0.5))
    assert ledger.booked_since(head) == 3
    assert ledger.booked_since(ledger.head) is None, "nothing since"
    with pytest.raises(Exception, match="no room"):
        ledger.charge(PureDP(9.0))
    assert ledger.booked_since(head) is None, "the last charge was refused"
    ledger.charge(PureDP(0.5))
    with pytest.raises(ValueError, match="head must be one of this ledger"):
        ledger.booked_since("abc")


def test_the_storm_finds_a_lock_that_stays_held(made, tmp_path, monkeypatch):
    """The test of the tests: with one `end` only, some interrupt leaves the file locked."""
    ledgers, end = fresh(made, tmp_path), ledger_turn.SqliteSession.end

    def once(turn):
        if turn not in ended:
            ended.append(turn)
            end(turn)

    harmed = 0
    for place in itertools.count(1):
        ledger, ended = next(ledgers), []
        with monkeypatch.context() as patch:
            patch.setattr(ledger_turn.SqliteSession, "end", once)
            interrupt = interrupted(lambda ledger=ledger: ledger.charge(PureDP(1.0)), place)
        if interrupt is None:
            break
        harmed += bool(ledger_turn._running)
        ledger_turn._running.clear()
    assert 0 < harmed < place
