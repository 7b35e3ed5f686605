"""A ledger that moves while others charge it, and moves that are killed: one budget at every moment, nothing lost."""

import os
import random
import signal
import time

import pytest

from shortlist import Ledger, PureDP
from shortlist.privacy import LedgerError
from tests.helpers import postgres
from tests.helpers.processes import finish, start

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(postgres.why_not() is not None, reason=str(postgres.why_not())),
]
EPSILON = 2.0**-10


def moved(path, url):
    from shortlist.ledger.postgres import move

    return move(path, url, 60.0)


def takes_charges(path):
    """Whether a ledger is there and books; one charge is gone then."""
    try:
        Ledger(path).charge(PureDP(EPSILON))
        return True
    except LedgerError:
        return False


def test_killed_moves_never_leave_two_budgets_and_can_be_gone_on_with(server, tmp_path):
    draw, seen, took = random.Random(6), set(), 0.0
    for number in range(121):
        path, url = str(tmp_path / f"{number}.db"), server.url("ledgers", f"killed.{number}")
        old = Ledger(path, budget=PureDP(1.0))
        for _ in range(3):
            old.charge(PureDP(EPSILON))
        began = time.perf_counter()
        child, result = start(moved, path, url)
        if number == 0:
            finish(child, result)
            took = time.perf_counter() - began
            continue
        time.sleep(draw.random() * 1.2 * took)  # anywhere in it; nothing depends on where
        os.kill(child, signal.SIGKILL)
        finish(child, result)
        here, there = takes_charges(path), takes_charges(url)
        assert not (here and there), "two budgets"
        seen.add((here, there))
        if [entry.kind for entry in old.entries(last=1)] != ["moved"]:
            moved(path, url)
        booked = [entry for entry in old.entries() if entry.kind == "charge"]
        assert Ledger(url).entries()[: 3 + here] == booked
        assert Ledger(url).verify() == 3 + here + there
        assert not takes_charges(path)
    print(f"120 kills of moves; (file, server) took charges: {sorted(seen)}")
    assert {(True, False), (False, True)} <= seen


def charging_until_closed(path, pipe):
    """A byte for every charge that was acknowledged."""
    ledger = Ledger(path)
    try:
        while True:
            ledger.charge(PureDP(EPSILON))
            os.write(pipe, b".")
    except LedgerError:
        return True


def test_what_is_charged_while_a_ledger_moves_moves_with_it(server, tmp_path):
    for turn in range(20):
        path, url = str(tmp_path / f"{turn}.db"), server.url("ledgers", f"busy.{turn}")
        Ledger(path, budget=PureDP(64.0))
        seen, out = os.pipe()
        children = [start(charging_until_closed, path, out) for _ in range(3)]
        os.close(out)
        first = os.read(seen, 1)
        movers = [start(moving_or_not, path, url) for _ in range(2)]
        assert sorted(finish(*mover) for mover in movers)[-1] is True
        assert all(finish(*child) for child in children)
        with os.fdopen(seen, "rb") as pipe:
            acknowledged = len(first + pipe.read())
        assert acknowledged == Ledger(url).verify()
        assert Ledger(path).verify() > acknowledged


def moving_or_not(path, url):
    """Whether this one of several that move the same ledger to the same place has moved it."""
    try:
        return bool(moved(path, url))
    except LedgerError:
        return False
