"""Joint top-1000 of a million counts beside `np.argsort`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from time import process_time

import numpy as np

from bench.shapes import shape
from bench.timing import interleaved, ratio
from shortlist.mechanisms import JointTopK


def joint_table() -> Iterator[str]:
    """`JointTopK(k=1000)` of 1,000,000 Zipf counts, the whole call, times `np.argsort` of them: min (median)."""
    yield "| epsilon | seconds of the processor | times `np.argsort` | target |"
    yield "|---|---|---|---|"
    values = shape("zipf", 10**6)
    for epsilon in (0.1, 1.0, 10.0):
        runs = {
            "argsort": partial(np.argsort, values),
            "joint": partial(JointTopK(k=1000, epsilon=epsilon).release, values, monotone=True),
        }
        times = interleaved(runs, 7, before=values.max, clock=process_time)
        target = "20" if epsilon == 1 else ""
        yield f"| {epsilon} | {min(times['joint']):.2f} | {ratio(times, 'joint', 'argsort')} | {target} |"


TABLES = {"joint-large": joint_table}
