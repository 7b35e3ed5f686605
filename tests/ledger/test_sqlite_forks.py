"""Waits, threads and forks: nobody waits for a lock on another file, and no child inherits a transaction."""

import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from typing import Any

import pytest

from shortlist import Ledger
from shortlist.ledger import sqlite as ledger_turn
from shortlist.ledger.sqlite import in_transaction
from shortlist.privacy import PureDP
from tests.helpers.processes import in_child


@pytest.fixture
def ledgers(tmp_path):
    return [Ledger(tmp_path / name, budget=PureDP(4.0)) for name in ("held.db", "free.db")]


@pytest.fixture
def waiter(ledgers, monkeypatch):
    """A thread of ours that charges a ledger which another connection holds; it has tried in vain when this begins."""
    tried, sleep = threading.Event(), time.sleep
    charge = threading.Thread(target=ledgers[0].charge, args=(PureDP(1.0),))

    def counted(seconds):
        if threading.current_thread() is charge:
            tried.set()
        sleep(seconds)

    with closing(sqlite3.connect(ledgers[0].path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(time, "sleep", counted)
        charge.start()
        tried.wait()
        yield charge
        assert charge.is_alive(), "it waits all the while"
        other.execute("ROLLBACK")
    charge.join()
    assert ledgers[0].spent.epsilon == 1.0


def test_one_ledger_does_not_wait_for_another(ledgers, waiter):
    ledgers[1].charge(PureDP(1.0))
    assert ledgers[1].spent.epsilon == 1.0
    assert Ledger(ledgers[1].path).verify() == 1


def test_a_fork_does_not_wait_for_a_lock_of_somebody_else(ledgers, waiter):
    in_child(ledgers[1].charge, PureDP(1.0))
    assert ledgers[1].spent.epsilon == 1.0


def test_a_fork_waits_for_a_transaction_of_another_thread(ledgers):
    """The child is made only when the transaction is over: it sees what was booked, and may charge."""
    inside, done = threading.Event(), []

    def slow(db):
        inside.set()
        while not ledger_turn._forking:  # until the fork is waiting for us
            pass
        done.append(True)

    thread = threading.Thread(target=lambda: in_transaction(ledgers[0].path, slow, write=True))
    thread.start()
    inside.wait()

    def charge():
        ledgers[0].charge(PureDP(1.0))
        return list(done)

    assert in_child(charge) == [True]
    thread.join()
    assert ledgers[0].verify() == 1


FORKS_IN_A_CHARGE = """
import os, sys
from shortlist import Ledger
from shortlist.privacy import LedgerError, PureDP
from shortlist.ledger import sqlite as ledger_file

held, free, first = Ledger(sys.argv[1]), Ledger(sys.argv[2]), sys.argv[3]
append, children, (committed, commit) = ledger_file.append, [], os.pipe()

def forks(*words, **more):
    after = append(*words, **more)
    children.append(os.fork())
    if children[0] and first == "child":
        assert os.waitpid(children[0], 0)[1] == 0
    return after

ledger_file.append = forks
try:
    held.charge(PureDP(1.0))
except LedgerError:
    assert not children[0]
if not children[0]:
    if first == "parent":
        os.read(committed, 1)
    for ledger in (held, free):
        try:
            ledger.charge(PureDP(1.0))
        except LedgerError as refused:
            assert "forked in the middle" in str(refused)
        else:
            os._exit(1)
elif first == "parent":
    os.write(commit, b".")
    assert os.waitpid(children[0], 0)[1] == 0
"""


@pytest.mark.parametrize("first", ["parent", "child"])
def test_a_child_forked_inside_a_charge_refuses_and_does_no_harm(ledgers, first):
    """As when a signal's handler forks: the child must neither commit nor undo what is its parent's, nor at its end."""
    held, free = ledgers
    subprocess.run([sys.executable, "-c", FORKS_IN_A_CHARGE, held.path, free.path, first], check=True)
    assert (held.verify(), free.verify()) == (1, 0)
    assert held.spent.epsilon == 1.0
    held.charge(PureDP(1.0))


def test_what_is_forked_while_threads_fork_and_charge_can_charge(ledgers):
    """Several threads fork and charge at once; every child charges. Nothing hangs, nothing is lost."""

    def fork_and_charge():
        for _ in range(5):
            done.append(in_child(lambda: ledgers[0].charge(PureDP(2.0**-10)) or True))
            ledgers[1].charge(PureDP(2.0**-10))

    done: list[Any] = []
    threads = [threading.Thread(target=fork_and_charge) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [True] * 20
    assert [ledger.verify() for ledger in ledgers] == [20, 20]
    assert not ledger_turn._forking
