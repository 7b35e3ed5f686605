"""The ledger: durable charges, waiting processes, and a file of 100,000 entries."""

from __future__ import annotations

import multiprocessing
import tempfile
from statistics import median
from time import perf_counter

from shortlist import Ledger
from shortlist.ledger import file as file
from shortlist.ledger.filter import cost_of
from shortlist.ledger.turn import in_transaction
from shortlist.privacy import PureDP

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
        here = file.state(db, file.origin(db, ledger.path), ledger.path)
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


TABLES = {"ledger": ledger_table}
