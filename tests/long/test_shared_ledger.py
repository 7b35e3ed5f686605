"""A shared ledger at full size: races, killed clients, killed servers. No overspend, nothing acknowledged is lost."""

import os
import random
import signal
import tempfile
import threading
import time

import pytest

from shortlist import BudgetExceeded, Ledger
from shortlist.privacy import LedgerError, OutcomeUnknown, PureDP
from tests.helpers import postgres
from tests.helpers.processes import finish, start
from tests.helpers.proxy import Proxy
from tests.helpers.typed import present

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(postgres.why_not() is not None, reason=str(postgres.why_not())),
]
EPSILON = 2.0**-10
CHARGES = 10_000


@pytest.fixture
def own():
    """A server of its own, that may be killed."""
    server = postgres.Server()
    try:
        server.roles()
        server.base("ledgers")
        yield server
    finally:
        server.stop()


@pytest.fixture
def shared(own):
    ledger = Ledger(own.url("ledgers"), budget=PureDP(CHARGES * EPSILON))
    ledger.grant("anna")
    return ledger


def charge_until_refused(url):
    """How many charges one process was told of, by two connections at once."""
    done: list[int] = []

    def spend():
        ledger, mine = Ledger(url), 0
        try:
            while True:
                ledger.charge(PureDP(EPSILON), purpose="race")
                mine += 1
        except BudgetExceeded:
            done.append(mine)

    threads = [threading.Thread(target=spend) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 2
    return sum(done)


def test_ten_thousand_charges_by_eight_processes_on_two_connections_each(own, shared):
    began = time.perf_counter()
    children = [start(charge_until_refused, own.url("ledgers", user="anna")) for _ in range(8)]
    done = [finish(*child) for child in children]
    took = time.perf_counter() - began
    print(f"{sum(done):,} charges by 8 processes on 16 connections in {took:.0f} s: {sum(done) / took:.0f} a second")
    assert sum(done) == CHARGES == shared.verify()
    assert shared.remaining.epsilon == 0.0


def acknowledging(url, pipe):
    """Charge as fast as the server lets us; a byte for every charge that was acknowledged."""
    ledger = Ledger(url)
    while True:
        ledger.charge(PureDP(EPSILON))
        os.write(pipe, b".")


def test_three_hundred_killed_clients_lose_and_double_nothing(own, shared):
    draw, acknowledged = random.Random(3), 0
    for kills in range(1, 301):
        seen, out = os.pipe()
        child, result = start(acknowledging, own.url("ledgers", user="anna"), out)
        os.close(out)
        wanted = draw.randrange(8)
        acknowledged += sum(len(os.read(seen, 1)) for _ in range(wanted))
        time.sleep(draw.random() / 200)  # anywhere in a charge; nothing depends on it
        os.kill(child, signal.SIGKILL)
        finish(child, result)
        with os.fdopen(seen, "rb") as pipe:
            acknowledged += len(pipe.read())
        booked = len(shared.entries())
        assert acknowledged <= booked <= acknowledged + kills, "a charge was lost, or came out of nothing"
    print(f"300 kills: {acknowledged:,} acknowledged, {booked:,} booked")
    assert shared.verify() == booked
    assert shared.spent.epsilon == booked * EPSILON


def charging_through_kills(url, pipe):
    """Charge on, whatever happens to the server: a line for each charge that was acknowledged or settled."""
    ledger = None
    while True:
        try:
            ledger = ledger or Ledger(url)
            ledger.charge(PureDP(EPSILON))
            os.write(pipe, b"a")
        except OutcomeUnknown as unknown:
            os.write(pipe, b"b" if settled(url, unknown.receipt) else b"n")
        except BudgetExceeded:
            return True
        except LedgerError:
            time.sleep(0.01)  # it is not there yet


def settled(url, receipt):
    """Whether it was booked, as soon as the server can tell."""
    while True:
        try:
            return Ledger(url).find(receipt) is not None
        except LedgerError:
            time.sleep(0.01)


def test_twenty_killed_servers_lose_and_double_nothing(own, shared):
    """Clients that settle what they do not know know exactly what was booked: not one more, not one less."""
    draw, reports, children = random.Random(4), [], []
    for _ in range(4):
        seen, out = os.pipe()
        children.append(start(charging_through_kills, own.url("ledgers", user="anna"), out))
        os.close(out)
        reports.append(os.fdopen(seen, "rb", buffering=0))
    told = [bytearray() for _ in reports]
    try:
        for _ in range(20):
            for report, words in zip(reports, told, strict=True):
                words += report.read(1) or b""
            time.sleep(draw.random() / 5)
            own.kill()
            own.start()
    finally:
        for child, _ in children:
            os.kill(child, signal.SIGTERM)
    for (child, result), report, words in zip(children, reports, told, strict=True):
        finish(child, result)
        words += report.read()
    counts = {letter: sum(words.count(letter) for words in told) for letter in (b"a", b"b", b"n")}
    print("20 kills of the server: acknowledged {}, unknown and booked {}, unknown and not {}".format(*counts.values()))
    again = Ledger(own.url("ledgers"))
    known = counts[b"a"] + counts[b"b"]
    assert known <= again.verify() <= known + len(children), "each may have died between the commit and its report"


@pytest.fixture
def wire(own):
    with tempfile.TemporaryDirectory() as folder:  # a socket's path must be short
        one = Proxy(folder, own)
        yield one
        one.close()


def test_a_thousand_cuts_in_the_middle_of_a_commit_are_unknown_and_settled(own, shared, wire):
    """Before the message, within it, after the answer; delivered late, before or after somebody asked for it."""
    draw, far = random.Random(5), Ledger(own.url("ledgers", user="anna", host=wire.folder))
    ways, booked, unknown = ("before", "after", "ended", "late", "arrived", "part"), 0, 0
    settled_by = {way: [0, 0] for way in ways}
    for _ in range(1000):
        way = draw.choice(ways)
        wire.cut, wire.share = way.replace("arrived", "late"), draw.random()
        with pytest.raises(OutcomeUnknown) as cut:
            far.charge(PureDP(EPSILON))
        if way == "arrived":
            wire.arrive()
        there = far.find(cut.value.receipt) is not None
        if way == "late":
            assert b"SL004" in wire.arrive(), "what was said never to be booked is refused when it arrives"
        assert way == "part" or there == (way in ("after", "ended", "arrived"))
        settled_by[way][there] += 1
        booked, unknown = booked + there, unknown + 1
        if draw.random() < 0.25:
            far.charge(PureDP(EPSILON))
            booked += 1
    print(f"{unknown:,} cuts, {booked:,} booked; of each way (not booked, booked): {settled_by}")
    assert shared.verify() == booked
    assert present(shared.spent.epsilon) == booked * EPSILON
    assert all(settled_by["part"]), "some were cut before the commit and some after it"
