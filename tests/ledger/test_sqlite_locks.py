"""A ledger is not written where locks do not work: two processes would book over each other's charges."""

import errno
import fcntl
import os
import sys
import time
from contextlib import suppress

import pytest

from shortlist import Ledger, PureDP
from shortlist.ledger import sqlite as turn
from shortlist.privacy import LedgerError
from tests.helpers.processes import in_child

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="locks of open files are Linux's")


@pytest.fixture(autouse=True)
def forgetful(monkeypatch):
    """No folder has been looked at before."""
    monkeypatch.setattr(turn, "_working_locks", set())


@pytest.fixture
def ledger(tmp_path):
    made = Ledger(tmp_path / "budget.db", budget=PureDP(1.0))
    turn._working_locks.clear()
    return made


def granted(*_):
    """A file system that says yes to everybody."""


def unknown(number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    return refuse


BROKEN = {
    "everybody gets the lock": {"lockf": granted, "fcntl": granted},
    "locks of processes are not kept": {"lockf": granted},
    "the second is not kept out": {"fcntl": granted},
    "no locks": {"lockf": unknown(errno.ENOLCK)},
    "not supported": {"lockf": unknown(errno.EOPNOTSUPP)},
    "no room for locks": {"fcntl": unknown(errno.ENOLCK)},
}


@pytest.mark.parametrize("how", BROKEN)
def test_where_locks_do_not_work_nothing_is_booked_and_reading_goes_on(ledger, monkeypatch, how, tmp_path):
    ledger.charge(PureDP(0.25))
    turn._working_locks.clear()
    for name, function in BROKEN[how].items():
        monkeypatch.setattr(fcntl, name, function)
    for act in (
        lambda: ledger.charge(PureDP(0.25)),
        lambda: Ledger(ledger.path).charge(PureDP(0.25)),
        lambda: ledger.close("over"),
        lambda: Ledger(tmp_path / "another.db", budget=PureDP(1.0)),
    ):
        with pytest.raises(LedgerError, match="locks do not work in its folder"):
            act()
    assert os.listdir(tmp_path) == ["budget.db"]
    assert (ledger.verify(), ledger.spent.epsilon) == (1, 0.25)
    monkeypatch.undo()
    ledger.charge(PureDP(0.25))
    assert ledger.verify() == 2


def test_where_it_cannot_be_told_the_ledger_works(ledger, monkeypatch):
    monkeypatch.setattr(fcntl, "fcntl", unknown(errno.EINVAL))
    ledger.charge(PureDP(0.25))
    assert ledger.verify() == 1


def test_it_is_looked_at_once_in_a_folder_and_beside_the_file_itself(ledger, monkeypatch, tmp_path):
    looks, real = [], turn._locks_work

    def look(folder):
        looks.append(folder)
        return real(folder)

    monkeypatch.setattr(turn, "_locks_work", look)
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "linked.db"
    link.symlink_to(ledger.path)
    for _ in range(3):
        Ledger(link).charge(PureDP(0.125))
        ledger.charge(PureDP(0.125))
    assert looks == [str(tmp_path)]
    assert sorted(os.listdir(tmp_path)) == ["budget.db", "links"]


def test_the_ledgers_own_locks_stay_while_others_look(ledger, tmp_path):
    """Closing a second descriptor of the ledger would drop them: the look never opens the ledger."""
    with turn.SqliteSession().connect(ledger.path, "rw") as db:
        db.execute("BEGIN EXCLUSIVE")
        turn.check_locks(ledger.path)

        def refused():
            with pytest.raises(LedgerError, match="locked by another process"):
                Ledger(ledger.path, wait=0.0)
            return True

        assert in_child(refused)
        db.execute("ROLLBACK")
    db.close()


@pytest.mark.parametrize("place", ["lockf", "fcntl", "unlink", "close", "open"])
def test_an_interrupt_leaves_nothing_beside_the_ledger(ledger, monkeypatch, tmp_path, place):
    module = fcntl if place in ("lockf", "fcntl") else os
    real, many = getattr(module, place), len(os.listdir("/proc/self/fd"))

    def interrupted(*words, **more):
        if place != "open":
            monkeypatch.setattr(module, place, real)
            with suppress(BlockingIOError):
                real(*words, **more)
            raise KeyboardInterrupt
        answer = real(*words, **more)
        if words[1] & os.O_CREAT:
            return answer
        os.close(answer)
        monkeypatch.setattr(module, place, real)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, place, interrupted)
    with pytest.raises(KeyboardInterrupt):
        turn.check_locks(ledger.path)
    assert os.listdir(tmp_path) == ["budget.db"]
    assert len(os.listdir("/proc/self/fd")) == many
    ledger.charge(PureDP(0.25))
    assert ledger.verify() == 1


def test_a_folder_that_takes_no_file_is_left_to_what_sqlite_says_of_it(ledger, monkeypatch):
    real = os.open

    def full(path, *words, **more):
        if str(path).endswith(".shortlist-lock"):
            raise OSError(errno.EROFS, "read-only")
        return real(path, *words, **more)

    monkeypatch.setattr(os, "open", full)
    turn.check_locks(ledger.path)
    assert not turn._working_locks, "it is looked at again"


def test_a_look_takes_no_time_that_anybody_notices(ledger):
    def look():
        turn._working_locks.clear()
        begun = time.perf_counter()
        turn.check_locks(ledger.path)
        return time.perf_counter() - begun

    assert min(look() for _ in range(20)) < 0.005
