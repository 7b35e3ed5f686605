"""Interleaved timing: all contestants take turns, so that a busy moment of the machine hits them alike."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import perf_counter


def interleaved(
    contestants: dict[str, Callable[[], object]],
    rounds: int,
    before: Callable[[], object] = lambda: None,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, list[float]]:
    """Seconds of each contestant in each round, after one round to warm up.

    A `clock` of the processor (`time.process_time`) adds up all threads, and a busy machine does not change it much.
    `before` runs untimed before each turn, so that no contestant finds the caches as a greedier one left them.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        for name, run in contestants.items():
            before()
            start = clock()
            run()
            if turn:
                times[name].append(clock() - start)
    return times


def ratio(times: dict[str, list[float]], name: str, base: str) -> str:
    """Ratio of the minima, and of the medians in brackets."""
    return f"{min(times[name]) / min(times[base]):.3g} ({median(times[name]) / median(times[base]):.3g})"
