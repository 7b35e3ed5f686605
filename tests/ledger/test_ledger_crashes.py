"""kill -9, races, threads and forks: never a release without its durable charge, never more than the budget."""

import os
import random
import signal
import threading
from pathlib import Path

import pytest

from shortlist import BudgetExceeded, Ledger
from shortlist.ledger import sqlite as ledger_file
from shortlist.ledger.sqlite import in_transaction
from shortlist.privacy import PureDP
from tests.helpers.interrupting import at_line
from tests.helpers.processes import Looking, finish, in_child, release_until_killed, start
from tests.helpers.support import full_size, sized
from tests.helpers.typed import present

EPSILON = 2.0**-10


def killed(path, kills):
    """Kill a releasing child again and again, as each of `kills` does, and compare its looks with the book.

    Returns in how many runs a transaction was cut in two.
    """
    ledger = Ledger(path, budget=PureDP(100.0))
    journal = Path(f"{ledger.path}-journal")
    looked = cut = 0
    for run, (work, kill) in enumerate(kills, 1):
        looks, out = os.pipe()
        child, result = start(work, ledger, out)
        os.close(out)
        looked += kill(child, looks)
        finish(child, result)
        with os.fdopen(looks, "rb") as pipe:
            looked += len(pipe.read())
        cut += journal.exists()
        booked = len(ledger.entries())
        assert looked <= booked <= looked + run, "a look without its charge, or charges out of nothing"
    assert looked > 0
    assert ledger.verify() == booked
    assert ledger.spent.epsilon == booked * EPSILON
    return cut


def dies_at(place):
    """A child that dies at a line of its second release, and a parent that only watches."""

    def work(ledger, out):
        Looking(EPSILON, out).release([1, 2], ledger=ledger)
        at_line(lambda: Looking(EPSILON, out).release([1, 2], ledger=ledger), place, die)

    return work, lambda child, looks: 0


def dies_before_the_commit(ledger, out):
    """A child that dies when its row is written, and its journal lies beside the file; or before its commit is sent."""
    Looking(EPSILON, out).release([1, 2], ledger=ledger)
    append = ledger_file.append

    def last_words(*words, **more):
        append(*words, **more)
        die()

    ledger_file.append = last_words
    if ledger.path.startswith("postgresql:"):
        from shortlist.ledger.postgres import Line

        execute = Line.execute

        def unsent(line, query, *words, **more):
            return die() if query == "COMMIT" else execute(line, query, *words, **more)

        Line.execute = unsent  # type: ignore[assignment, method-assign]
    Looking(EPSILON, out).release([1, 2], ledger=ledger)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


@full_size
def test_a_killed_process_leaves_no_release_without_its_charge(path):
    kills = [dies_at(place) for place in range(1, 700, sized(41, full=19))]
    cut = killed(path, [*kills, *[(dies_before_the_commit, lambda child, looks: 0)] * 5])
    assert cut >= 5 or isinstance(path, str), "kills in the middle of a transaction"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_hundreds_of_kills(path, seed):
    """Wherever the child is when the parent has seen so many of its looks: in SQLite, in libpq, or in the kernel."""
    draw = random.Random(seed)

    def kill(child, looks):
        seen = len(os.read(looks, 1))
        seen += sum(len(os.read(looks, 1)) for _ in range(draw.randrange(20)))
        os.kill(child, signal.SIGKILL)
        return seen

    killed(path, [(lambda ledger, out: release_until_killed(ledger, EPSILON, out), kill)] * 50)


def release_until_refused(ledger, epsilon):
    """How many releases a process gets until the budget is spent."""
    _, out = os.pipe()
    done = 0
    while True:
        try:
            Looking(epsilon, out).release([1, 2], ledger=ledger)
        except BudgetExceeded:
            return done
        done += 1


def test_eight_processes_racing_never_overspend(path):
    ledger = Ledger(path, budget=PureDP(1.0))
    children = [start(release_until_refused, ledger, 1 / 64) for _ in range(8)]
    done = [finish(*child) for child in children]
    assert sum(done) == 64
    assert ledger.verify() == 64
    assert ledger.remaining.epsilon == 0.0


def test_eight_processes_may_make_the_same_ledger_at_once(tmp_path):
    def make_and_charge():
        ledger = Ledger(tmp_path / "budget.db", budget=PureDP(1.0))
        ledger.charge(PureDP(1 / 16))
        return True

    assert all(finish(*child) for child in [start(make_and_charge) for _ in range(8)])
    assert Ledger(tmp_path / "budget.db").verify() == 8
    assert [each.name for each in tmp_path.iterdir()] == ["budget.db"]


def test_threads_share_one_ledger(path):
    ledger = Ledger(path, budget=PureDP(1.0))
    done = []
    threads = [threading.Thread(target=lambda: done.append(release_until_refused(ledger, 1 / 32))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(done) == 32
    assert ledger.verify() == 32


def test_a_child_forked_while_threads_charge_can_charge_too(path):
    ledger = Ledger(path, budget=PureDP(100.0))
    stop = threading.Event()

    def keep_charging():
        while not stop.is_set():
            ledger.charge(PureDP(EPSILON))

    threads = [threading.Thread(target=keep_charging) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            in_child(ledger.charge, PureDP(1.0))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    ledger.verify()
    assert 10.0 < present(ledger.spent.epsilon) < 100.0


def test_a_crash_between_release_and_refund_only_loses_the_refund(path):
    ledger = Ledger(path, budget=PureDP(4.0))
    ledger.reserve(PureDP(1.0), refundable=("pure",)).refund(PureDP(0.25))

    def die_before_the_refund():
        ledger.reserve(PureDP(1.0), refundable=("pure",))
        os.kill(os.getpid(), signal.SIGKILL)

    in_child(die_before_the_refund)
    assert Ledger(ledger.path).spent.epsilon == 1.25
    assert ledger.verify() == 3


def test_a_process_waits_for_another_one_that_holds_the_lock(tmp_path):
    """The holder lets go only when it has seen the waiter try and fail."""
    ledger = Ledger(tmp_path / "budget.db", budget=PureDP(4.0))
    held, holding = os.pipe()
    tried, trying = os.pipe()

    def hold():
        def work(db):
            os.write(holding, b".")
            os.read(tried, 1)

        in_transaction(ledger.path, work, write=True)

    holder = start(hold)
    os.read(held, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shortlist.ledger.sqlite.time.sleep", lambda _: os.write(trying, b"."))
        ledger.charge(PureDP(0.5))
    finish(*holder)
    assert ledger.verify() == 1
