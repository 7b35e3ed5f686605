"""A ledger on a server through interrupts and tampered memory: booked or not, known, and nothing left held."""

import contextlib
import os
import signal
import time
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'shortlist[postgres]'")

from shortlist import Ledger, PureDP
from shortlist.ledger import postgres as ledger_line
from shortlist.privacy import ApprovalNeeded, LedgerError
from tests.helpers.interrupting import Interrupt, every_place
from tests.helpers.postgres import OWNER
from tests.helpers.processes import in_child
from tests.helpers.support import full_size, sized
from tests.helpers.typed import present

STEP = sized(23, full=1)
BEFORE, AFTER = 0.5, 1.5
HELD = (
    "SELECT (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'), "
    "(SELECT count(*) FROM pg_stat_activity WHERE datname = 'ledgers' AND state LIKE 'idle in%')"
)


@pytest.fixture
def fresh(server, name):
    """New ledgers, each with one charge."""
    numbers = iter(range(10**6))

    def one():
        ledger = Ledger(server.url("ledgers", f"{name}.{next(numbers)}"), budget=PureDP(4.0))
        ledger.charge(PureDP(BEFORE), purpose="weekly chart")
        return ledger

    return one


def check_free(server):
    """Nobody holds a ledger. The server notices by itself that a connection was closed, so it may take it a moment."""
    while server.sql(HELD) != [(0, 0)]:
        pass


@full_size
def test_an_interrupt_at_any_line_of_a_charge_leaves_it_booked_or_not_and_known(server, fresh):
    found: set[Any] = set()

    def run():
        ledger = fresh()
        head = ledger.head

        def check(_interrupt):
            booked = ledger.booked_since(head)
            assert (ledger.spent.epsilon, booked) in ((BEFORE, None), (AFTER, 2))
            assert Ledger(ledger.path, wait=5.0).verify() == (2 if booked else 1)
            found.add(booked)
            check_free(server)

        return lambda: ledger.charge(PureDP(1.0), purpose="again"), check

    assert every_place(run, step=STEP) > 100 // STEP
    assert found == {None, 2}, "some came before the commit, some after it"


@full_size
def test_an_interrupt_at_any_line_of_a_refund_leaves_it_given_or_not(server, fresh):
    found = set()

    def run():
        ledger = fresh()
        reservation = ledger.reserve(PureDP(1.0), refundable=("pure",))

        def check(_interrupt):
            assert ledger.spent.epsilon in (AFTER, BEFORE + 0.25)
            found.add(ledger.spent.epsilon)
            check_free(server)

        return lambda: reservation.refund(PureDP(0.25)), check

    assert every_place(run, step=STEP) > 100 // STEP
    assert found == {AFTER, BEFORE + 0.25}


@full_size
def test_an_interrupt_at_any_line_of_making_leaves_a_ledger_or_nothing(server, name):
    numbers, found = iter(range(10**6)), set()

    def run():
        url = server.url("ledgers", f"{name}.made.{next(numbers)}")

        def check(_interrupt):
            try:
                there = Ledger(url).verify() == 0
            except LedgerError:
                there = False
            found.add(there)
            Ledger(url, budget=PureDP(4.0)).charge(PureDP(4.0))
            check_free(server)

        return lambda: Ledger(url, budget=PureDP(4.0)), check

    assert every_place(run, step=STEP) > 100 // STEP
    assert found == {False, True}


@pytest.mark.long
def test_an_interrupt_at_any_line_of_what_else_there_is_leaves_nothing_held(server, fresh):
    """Opening, verifying, finding, asking, approving, closing: done or not, and free."""

    def asked():
        path = fresh().path
        ledger = Ledger(f"{path}.asked", budget=PureDP(4.0), approval=True)
        ledger.grant("anna")
        with pytest.raises(ApprovalNeeded):
            ledger.charge(PureDP(1.0))
        return ledger, Ledger(ledger.path.replace(OWNER, "anna"))

    def ask(ledger):
        with contextlib.suppress(ApprovalNeeded):
            ledger.charge(PureDP(1.0), purpose="another")

    for made, work, entries in (
        (lambda: [fresh()] * 2, lambda one: Ledger(one.path).verify(), {1}),
        (lambda: [fresh()] * 2, lambda one: one.find(one.head), {1}),
        (lambda: [fresh()] * 2, lambda one: one.close("over"), {1, 2}),
        (asked, ask, {1, 2}),
        (asked, lambda one: one.approve(1), {1, 2}),
    ):
        found: set[int] = set()

        def run(made=made, work=work, entries=entries, found=found):
            owner, one = made()

            def check(_interrupt):
                many = Ledger(owner.path, wait=5.0).verify()
                assert many in entries
                found.add(many)
                check_free(server)

            return lambda: work(one), check

        assert every_place(run, step=5) > 20
        assert found == entries


@pytest.mark.long
def test_an_interrupt_at_any_line_of_a_wait_leaves_the_ledger_free(server, fresh, monkeypatch):
    monkeypatch.setattr(ledger_line, "SETTINGS", ledger_line.SETTINGS.replace("2s", "5ms"))

    def run():
        ledger = fresh()
        holder = ledger_line.Lines(ledger._store._address).take()[0]
        holder.execute("SELECT pg_advisory_lock(%s, %s)", (ledger_line.LOCK, ledger._store._number))
        pauses = iter((lambda: None, lambda: holder.execute("SELECT pg_advisory_unlock_all()")))
        monkeypatch.setattr(time, "sleep", lambda _: next(pauses, lambda: None)())

        def check(_interrupt):
            holder.close()
            check_free(server)
            assert ledger.spent.epsilon in (BEFORE, AFTER)

        return lambda: ledger.charge(PureDP(1.0)), check

    assert every_place(run, step=5) > 20


@pytest.mark.long
def test_hundreds_of_real_signals_do_no_harm(server, fresh):
    """Our own handler raises, at moments that a timer picks: as far apart as the machine is slow."""

    def child():
        def stop(_number, _frame):
            raise Interrupt

        def work(ledger):
            ledger.reserve(PureDP(1.0), refundable=("pure",)).refund(PureDP(0.25))

        signal.signal(signal.SIGALRM, stop)
        stopped, booked = 0, 0
        for number in range(400):
            if number % 50 == 0:
                ledger, began = fresh(), time.perf_counter()
                work(ledger)
                took = time.perf_counter() - began
            ledger = fresh()
            head = ledger.head
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-4 + number / 400 * took)
                work(ledger)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupt:
                stopped += 1
            spent = ledger.spent.epsilon
            assert spent in (BEFORE, BEFORE + 0.25, AFTER)
            assert ledger.booked_since(head) == (None if spent == BEFORE else 2)
            booked += spent != BEFORE
            with ledger:
                assert ledger.verify() in (1, 2, 3)
            check_free(server)
        return stopped, booked

    stopped, booked = in_child(child)
    print(f"{stopped} of 400 runs were interrupted, in {booked} the charge was booked")
    assert stopped > 100
    assert 0 < booked < 400


def test_a_storm_finds_a_connection_that_stays_open(server, fresh, monkeypatch):
    """The test of the tests: where the connection is not closed after an interrupt, a ledger stays held."""
    monkeypatch.setattr(ledger_line.Line, "close", lambda line: None)
    ledger, kept = fresh(), []

    def stop(line, statements, **more):
        if more:
            line.execute("SELECT pg_advisory_lock(%s, %s)", (ledger_line.LOCK, ledger._store._number))
            kept.append(line)
            raise KeyboardInterrupt
        return real(line, statements, **more)

    real = ledger_line.together
    with monkeypatch.context() as patch:
        patch.setattr(ledger_line, "together", stop)
        with pytest.raises(KeyboardInterrupt):
            ledger.charge(PureDP(1.0))
    assert server.sql(HELD)[0][0] == 1
    monkeypatch.undo()
    kept[0].close()
    check_free(server)


def test_a_reservation_is_its_own_whatever_other_threads_book_meanwhile(ledger, monkeypatch):
    """Otherwise its refund would give back what another release has used."""
    keep, others = ledger_line.Lines.keep, iter([lambda: ledger.charge(PureDP(2.0), purpose="another thread's")])

    def meanwhile(lines, line):
        keep(lines, line)
        for other in others:
            other()

    with monkeypatch.context() as patch:
        patch.setattr(ledger_line.Lines, "keep", meanwhile)
        reservation = ledger.reserve(PureDP(1.0), refundable=("pure",), purpose="ours")
    assert [entry.purpose for entry in ledger.entries()] == ["ours", "another thread's"]
    assert (reservation.number, reservation.receipt().spent.epsilon) == (1, 1.0)
    reservation.refund(PureDP(0.25))
    assert (ledger.spent.epsilon, reservation.receipt().spent.epsilon) == (2.25, 2.25)
    assert ledger.verify() == 3


def test_entries_that_vanished_are_missed(server, name):
    base = server.base(f"vanish_{name}")
    ledger = Ledger(server.url(base), budget=PureDP(1.0))
    for _ in range(2):
        ledger.charge(PureDP(0.25))
    head = ledger.head
    cut = ("ALTER TABLE shortlist.entries DISABLE TRIGGER ALL", "DELETE FROM shortlist.entries WHERE number = 2")
    server.sql(*cut, base=base)
    for act in (
        lambda: ledger.charge(PureDP(0.25)),
        lambda: ledger.spent,
        lambda: Ledger(server.url(base)).verify(head=head),
    ):
        with pytest.raises(LedgerError, match="vanished"):
            act()


def test_another_ledger_of_the_same_name_is_noticed(server, name):
    base = server.base(f"other_{name}")
    ledger = Ledger(server.url(base), budget=PureDP(1.0))
    server.sql("DROP SCHEMA shortlist CASCADE", base=base)
    with pytest.raises(LedgerError, match=r"holds no ledgers|no ledger was made"):
        ledger.charge(PureDP(0.25))
    Ledger(server.url(base), budget=PureDP(1.0))
    with pytest.raises(LedgerError, match="another ledger than the one that was opened"):
        ledger.charge(PureDP(0.25))


def test_receipts_are_found_in_files_and_on_servers(place):
    import shortlist as sl

    ledger = Ledger(place(), budget=PureDP(2.0))
    receipt = present(sl.select([9, 1], epsilon=0.5, ledger=ledger, purpose="chart").receipt)
    ledger.charge(PureDP(0.5))
    assert present(ledger.find(receipt)).purpose == "chart"
    assert present(ledger.find(ledger.head)).number == 2
    assert ledger.find("0" * 64) is None
    other = Ledger(place(), budget=PureDP(2.0))
    assert other.find(receipt) is None
    mistakes: list[tuple[Any, type[Exception]]] = [(3, TypeError), ("x y", ValueError), ("", ValueError)]
    mistakes.append((ledger.head[:32] + "0", ValueError))  # a part of one: that it is not there would settle nothing
    for wrong, error in mistakes:
        with pytest.raises(error, match="receipt must be"):
            ledger.find(wrong)


def test_a_file_has_no_roles(tmp_path):
    ledger = Ledger(tmp_path / "q.db", budget=PureDP(1.0))
    with pytest.raises(ValueError, match="has no roles"):
        ledger.grant("anna")
    assert os.path.exists(ledger.path)
