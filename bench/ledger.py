"""The ledger: durable charges, waiting processes, a file of 100,000 entries; and a server beside the file."""

from __future__ import annotations

import multiprocessing
import tempfile
from statistics import median
from time import perf_counter

from shortlist import Ledger
from shortlist.ledger import sqlite as file
from shortlist.ledger.filter import cost_of
from shortlist.ledger.sqlite import in_transaction
from shortlist.privacy import PureDP
from tests.helpers import postgres

EPSILON = 2.0**-10


def seconds(run, *arguments):
    start = perf_counter()
    run(*arguments)
    return perf_counter() - start


def charge_often(ledger, times):
    for _ in range(times):
        ledger.charge(PureDP(EPSILON), purpose="bench")


def in_processes(ledger, processes, times):
    """The same number of charges by several processes at once; an error in one of them is an error here."""
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        pool.starmap(charge_often, [(ledger, times // processes)] * processes, chunksize=1)


def grow(ledger, entries):
    """Fill a ledger in one transaction."""
    cost = cost_of(PureDP(EPSILON), None).where(ledger.terms.limits)
    said = {
        "kind": "charge",
        "guarantee": repr(PureDP(EPSILON)),
        "refundable": "",
        "unit": "",
        "mechanism": "",
        "purpose": "",
    }

    def work(db):
        here = file.read_state(db, ledger._store.origin, ledger.path)
        for _ in range(entries):
            here = file.append(db, here, cost, here.total + cost, refund_of=None, **said)

    in_transaction(ledger.path, work, write=True)


def open_and_admit(path):
    Ledger(path).charge(PureDP(EPSILON))


def ledger_table():
    """The ledger on this machine's disk; every charge is synced before it counts."""
    yield "| what | time | target |"
    yield "|---|---|---|"
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(f"{folder}/small.db", budget=PureDP(1e6))
        yield f"| 1,000 durable charges, one process | {seconds(charge_often, ledger, 1000):.1f} s | 30 s |"
        taken = seconds(in_processes, ledger, 8, 1000)
        yield f"| 1,000 durable charges, eight processes at once | {taken:.1f} s | they wait, never fail |"
        large = Ledger(f"{folder}/large.db", budget=PureDP(1e6))
        grow(large, 100_000)
        times = [1000 * seconds(open_and_admit, large.path) for _ in range(30)]
        found = f"{median(times):.0f} ({max(times):.0f}) ms"
        yield f"| open and admit at 100,000 entries: median (slowest of 30) | {found} | 50 ms |"
        yield f"| verify 100,000 entries | {seconds(large.verify):.1f} s | |"


def shared_table():
    """A ledger on PostgreSQL beside one in a file, on one machine: the server on a socket, every commit synced."""
    reason = postgres.why_not()
    if reason is not None:
        raise RuntimeError(reason)
    server = postgres.Server()
    try:
        server.roles()
        server.base("ledgers")
        yield "| what | file | server |"
        yield "|---|---|---|"
        with tempfile.TemporaryDirectory() as folder:
            places = f"{folder}/small.db", server.url("ledgers")
            ledgers = [Ledger(place, budget=PureDP(1e6)) for place in places]
            yield _row("one charge, one process: median of 500", ledgers, _median_charge)
            for processes in (1, 2, 8):
                many = f"charges a second, {processes} process{'es' * (processes > 1)} at once"
                yield _row(many, ledgers, lambda one, n=processes: f"{800 / seconds(in_processes, one, n, 800):.0f}")
            yield _row(
                "open and charge once", ledgers, lambda one: f"{1000 * seconds(open_and_admit, one.path):.0f} ms"
            )
            yield _row("verify 2,900 entries", ledgers, lambda one: f"{seconds(one.verify):.2f} s")
    finally:
        server.stop()


def _row(what, ledgers, measured):
    return f"| {what} | {' | '.join(str(measured(one)) for one in ledgers)} |"


def _median_charge(ledger):
    return f"{1000 * median(seconds(charge_often, ledger, 1) for _ in range(500)):.1f} ms"


TABLES = {"ledger": ledger_table, "ledger-shared": shared_table}
