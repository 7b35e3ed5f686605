"""How long a guarded draw takes beside that of 0.1.0 (two processes that take turns), and many draws of sets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from bench.peers import ROOT

COMMIT = "38a6cd8"
"""The last of version 0.1.0."""
ROUNDS, DRAWS, D = 15, 5, 10_000
SHAPES = ("zipf", "pareto", "normal")
CASES = [(shape, k, epsilon) for shape in SHAPES for k in (10, 100) for epsilon in (0.01, 0.3)]

WORKER = """
import json, sys, time
import numpy as np
from shortlist.mechanisms import GuardedTopK
rank, rng = np.arange(1, {d} + 1), np.random.default_rng(1)
shapes = {{
    "zipf": np.floor(1e6 / rank**0.8),
    "pareto": np.floor(rng.pareto(1.2, {d}) * 100),
    "normal": rng.normal(1000, 100, {d}),
}}
for line in sys.stdin:
    shape, k, epsilon = json.loads(line)
    values, mechanism = shapes[shape].astype(np.int64), GuardedTopK(k=k, epsilon=epsilon)
    start = time.process_time()
    for _ in range({draws}):
        mechanism.release(values, monotone=True)
    print((time.process_time() - start) / {draws}, flush=True)
"""


def old_source() -> Path:
    """The source of 0.1.0, taken from the history on first use."""
    home = ROOT / ".bench" / "0.1.0"
    if not (home / "src").exists():
        home.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(["git", "archive", COMMIT, "src"], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "x", "-C", home], input=archive, check=True)
    return home / "src"


class Drawer:
    """A process that draws with the source it was started with."""

    def __init__(self, source: Path, code: str) -> None:
        words = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=words
        )

    def seconds(self, case: tuple[str, int, float]) -> float:
        """Of the processor, for one draw."""
        ask, answer = self._process.stdin, self._process.stdout
        assert ask is not None
        assert answer is not None
        ask.write(json.dumps(case) + "\n")
        ask.flush()
        return float(answer.readline())

    def close(self) -> None:
        self._process.communicate()


def draws_table() -> Iterator[str]:
    """A guarded draw of d = 10,000 counts, the whole public call, and that of 0.1.0: milliseconds of the processor."""
    yield "| shape | k | epsilon | 0.1.0: min (median) | now | ratio: min (median) | target |"
    yield "|---|---|---|---|---|---|---|"
    code = WORKER.format(d=D, draws=DRAWS)
    drawers = {"old": Drawer(old_source(), code), "now": Drawer(ROOT / "src", code)}
    for case in CASES:
        times: dict[str, list[float]] = {name: [] for name in drawers}
        for turn in range(ROUNDS + 1):
            for name, drawer in drawers.items():
                seconds = drawer.seconds(case)
                times[name] += [seconds] * bool(turn)
        both = [f"{1e3 * min(one):.1f} ({1e3 * median(one):.1f})" for one in times.values()]
        ratio = f"{min(times['now']) / min(times['old']):.2f} ({median(times['now']) / median(times['old']):.2f})"
        yield f"| {case[0]} | {case[1]} | {case[2]} | {' | '.join(both)} | {ratio} | 3 |"
    for drawer in drawers.values():
        drawer.close()


TABLES = {"draws": draws_table}
