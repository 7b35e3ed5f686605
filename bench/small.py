"""Small questions, many of them: a whole public call beside that of 0.1.0, in two processes that take turns."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from time import process_time

from bench.draws import Drawer, old_source
from bench.peers import ROOT
from bench.race import contestants
from bench.shapes import shape
from bench.timing import interleaved, ratio
from shortlist.exact.noise import KINDS

ROUNDS, CALLS = 15, 40
CASES = [(call, d, k) for d in (10, 100, 500, 2000) for call, k in (("select", 1), ("ordered", 5), ("set", 5))]

WORKER = """
import json, sys, time
import numpy as np
import shortlist as sl
for line in sys.stdin:
    call, d, k = json.loads(line)
    values = np.floor(1e4 / np.arange(1, d + 1) ** 0.8).astype(np.int64)
    if call == "select":
        ask = lambda: sl.select(values, epsilon=1.0, monotone=True)
    else:
        ask = lambda: sl.top_k(values, k, epsilon=1.0, monotone=True, ordered=call == "ordered")
    ask()
    start = time.process_time()
    for _ in range({calls}):
        ask()
    print((time.process_time() - start) / {calls}, flush=True)
"""


def small_table() -> Iterator[str]:
    """`select` and `top_k` of few candidates, the whole call, and those of 0.1.0: microseconds of the processor."""
    yield "| call | d | 0.1.0: min (median) | now | times faster: min (median) | target |"
    yield "|---|---|---|---|---|---|"
    code = WORKER.format(calls=CALLS)
    drawers = {"old": Drawer(old_source(), code), "now": Drawer(ROOT / "src", code)}
    for case in CASES:
        times: dict[str, list[float]] = {name: [] for name in drawers}
        for turn in range(ROUNDS + 1):
            for name, drawer in drawers.items():
                seconds = drawer.seconds(case)
                times[name] += [seconds] * bool(turn)
        both = [f"{1e6 * min(one):,.0f} ({1e6 * median(one):,.0f})" for one in times.values()]
        faster = f"{min(times['old']) / min(times['now']):.2f} ({median(times['old']) / median(times['now']):.2f})"
        name = {"select": "one winner", "ordered": "top 5 in order", "set": "top 5 as a set"}[case[0]]
        yield f"| {name} | {case[1]:,} | {' | '.join(both)} | {faster} | 3 |"
    for drawer in drawers.values():
        drawer.close()


def ten_thousand_table() -> Iterator[str]:
    """One winner of 10,000 shuffled Zipf counts, the whole public call: times G, by the processor, min (median)."""
    yield "| noise | times G: min (median) | target |"
    yield "|---|---|---|"
    values = shape("zipf", 10_000)
    times = interleaved(contestants(values, 1, KINDS), 300, before=values.max, clock=process_time)
    for noise in KINDS:
        yield f"| {noise} | {ratio(times, noise, 'G')} | 1.2 |"


TABLES = {"small": small_table, "ten-thousand": ten_thousand_table}
