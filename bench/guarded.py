"""The guarded default beside its two halves, on real data (skipped where the data is absent)."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shortlist import Scores
from shortlist.mechanisms import CanonicalTopK, GuardedTopK, OneshotTopK

DATA = Path(__file__).parents[2] / "shared" / "data"
NAMES = ("NETFLIX.n17770", "PATENT.n4096", "SEARCHLOGS.n4096", "HEPTH.n4096", "MEDCOST.n4096", "INCOME.n4096")
MULTIPLES = (0.7, 1.0, 1.1, 1.35, 2.0)


def one_shot(scores, k, epsilon):
    return OneshotTopK(k=k, epsilon=epsilon, noise="exponential").quality(scores).recall


def canonical(scores, k, epsilon):
    return CanonicalTopK(k=k, epsilon=epsilon).quality(scores).recall


def guarded(scores, k, epsilon):
    return GuardedTopK(k=k, epsilon=epsilon).quality(scores).recall


def crossing(scores, k):
    """The last epsilon at which one-shot has the larger recall."""
    low, high = 1e-6, 1e3
    while high / low > 1.1:  # canonical's recall passes 0.9 just above the crossing
        middle = np.sqrt(low * high)
        low, high = (low, middle) if canonical(scores, k, middle) > 0.9 else (middle, high)
    grid = high * np.geomspace(0.2, 1.5, 40)
    ahead = [one_shot(scores, k, e) > canonical(scores, k, e) for e in grid]
    last = int(np.flatnonzero(ahead)[-1])
    low, high = grid[last], grid[last + 1]
    while high / low > 1.001:
        middle = np.sqrt(low * high)
        low, high = (middle, high) if one_shot(scores, k, middle) > canonical(scores, k, middle) else (low, middle)
    return low


def guarded_table():
    """Recall of one-shot / canonical / guarded at multiples of the epsilon where the first two cross."""
    if not DATA.exists():
        return
    yield "| data, k | crossing | " + " | ".join(f"{m:g} times" for m in MULTIPLES) + " |"
    yield "|---|---|" + "---|" * len(MULTIPLES)
    for k in (10, 100):
        for name in NAMES:
            scores = Scores(np.load(DATA / f"{name}.npy"), monotone=True)
            here = crossing(scores, k)
            cells = [
                f"{one_shot(scores, k, m * here):.3f} / {canonical(scores, k, m * here):.3f} / "
                f"**{guarded(scores, k, m * here):.3f}**"
                for m in MULTIPLES
            ]
            yield f"| {name.partition('.')[0].capitalize()} {k} | {here:.3g} | " + " | ".join(cells) + " |"


TABLES = {"guarded": guarded_table}
