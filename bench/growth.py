"""How time and memory grow: with d, k, groups and rows, ours beside numpy's; the slopes, and a picture."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from time import process_time
from typing import Any

import numpy as np

import shortlist as sl
from bench.peers import ROOT
from shortlist.mechanisms import JointTopK

OUT = ROOT / "docs" / "figures" / "growth.svg"
ROUNDS = 3
LARGEST = 10**8
Runs = dict[str, Callable[[], object]]


def zipf(d: int) -> Any:
    """Shuffled counts, 32 bits each: a hundred million of them take 400 MB."""
    counts = np.floor(1e6 / np.arange(1, d + 1) ** 0.8).astype(np.int32)
    np.random.default_rng(1).shuffle(counts)
    return counts


def by_candidates(d: int) -> Runs:
    values, rng = zipf(d), np.random.default_rng(2)
    runs: Runs = {
        "one winner": partial(sl.select, values, epsilon=0.1, monotone=True),
        "np.max": values.max,
    }
    if d <= 10**7:
        runs["numpy, argmax with Gumbel noise"] = lambda: np.argmax(values + rng.gumbel(size=d) * 10)
    if d >= 100:
        runs["top 10 in order"] = partial(
            sl.top_k, values, 10, epsilon=0.1, monotone=True, method="peeling", ordered=True
        )
    runs["set of 10"] = partial(sl.top_k, values, 10, epsilon=1.0, monotone=True)
    return runs


def by_items(k: int) -> Runs:
    values = zipf(10**6)
    return {
        "peeling": partial(sl.top_k, values, k, epsilon=1.0, monotone=True, method="peeling", ordered=True),
        "set": partial(sl.top_k, values, k, epsilon=1.0, monotone=True),
        "joint": partial(JointTopK(k=k, epsilon=1.0).release, values, monotone=True),
        "np.argsort": partial(np.argsort, values.astype(np.int64)),
    }


def by_groups(groups: int) -> Runs:
    values = [zipf(100).tolist() for _ in range(groups)]
    return {
        "one winner each": partial(sl.top_k, values, 1, epsilon=1.0, monotone=True, parallel=True),
        "set of 3 each": partial(sl.top_k, values, 3, epsilon=1.0, monotone=True, parallel=True),
    }


def by_rows(rows: int) -> Runs:
    import pandas as pd

    rng = np.random.default_rng(3)
    table = pd.DataFrame({"user": rng.integers(0, max(rows // 10, 1), rows), "item": rng.integers(0, 500, rows)})
    return {
        "count": partial(sl.count, table, user="user", item="item", candidates=range(500)),
        "pandas, distinct pairs counted": lambda: table.drop_duplicates()["item"].value_counts(),
    }


WHAT: dict[str, tuple[Callable[[int], Runs], list[int]]] = {
    "candidates": (by_candidates, [10**n for n in range(2, int(math.log10(LARGEST)) + 1)]),
    "items wanted, of 1,000,000": (by_items, [1, 10, 100, 1000]),
    "groups of 100": (by_groups, [1, 10, 100, 1000]),
    "rows": (by_rows, [10**n for n in range(3, 8)]),
}


def measured(run: Callable[[], object]) -> tuple[float, float]:
    """(least seconds of the processor, peak of what Python holds beyond, in MB), once it is warm."""
    run()
    seconds = []
    for _ in range(ROUNDS):
        start = process_time()
        run()
        seconds.append(process_time() - start)
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return min(seconds), peak / 2**20


def slope(points: list[tuple[int, float]]) -> float:
    """d ln seconds / d ln size over the upper half of the sizes, by least squares."""
    some = points[len(points) // 2 - 1 :] if len(points) > 3 else points
    x, y = np.log([size for size, _ in some]), np.log([max(cost, 1e-9) for _, cost in some])
    return float(np.polyfit(x, y, 1)[0])


def growth_table() -> Iterator[str]:
    """Growth: seconds of the processor and memory beyond the input at the largest size, and the slope of ln seconds"""
    yield "| by | what | sizes | seconds at each | memory at the largest | slope |"
    yield "|---|---|---|---|---|---|"
    found: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for by, (made, sizes) in WHAT.items():
        times: dict[str, list[tuple[int, float]]] = {}
        memory: dict[str, float] = {}
        for size in sizes:
            for name, run in made(size).items():
                seconds, memory[name] = measured(run)
                times.setdefault(name, []).append((size, seconds))
        found[by] = times
        for name, points in times.items():
            sizes_shown = f"{points[0][0]:,} to {points[-1][0]:,}"
            each = ", ".join(f"{seconds:.2g}" for _, seconds in points)
            yield f"| {by} | {name} | {sizes_shown} | {each} | {memory[name]:,.1f} MB | {slope(points):.2f} |"
    picture(found)


def picture(found: dict[str, dict[str, list[tuple[int, float]]]]) -> None:
    """All of it on double logarithmic axes, one panel for each thing that grows."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "shortlist"
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(2, 2, figsize=(10, 7.5), layout="constrained")
    for panel, (by, times) in zip(panels.ravel(), found.items(), strict=True):
        for name, points in times.items():
            ours = "np" not in name and "numpy" not in name and "pandas" not in name
            panel.loglog(*zip(*points, strict=True), "o-" if ours else "s--", label=f"{name} ({slope(points):.2f})")
        panel.set_xlabel(by)
        panel.set_ylabel("seconds of the processor")
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8)
    figure.savefig(OUT, metadata={"Date": None})
    pyplot.close(figure)


TABLES = {"growth": growth_table}
