"""What the exact order of a list costs, and how long joint lists take (skipped where the data is absent)."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from shortlist import Scores
from shortlist.mechanisms import GuardedListTopK, JointTopK, OrderedCanonicalTopK

DATA = Path(__file__).parents[2] / "shared" / "data"
ROWS = (
    ("NETFLIX.n17770", 10),
    ("NETFLIX.n17770", 50),
    ("SEARCHLOGS.n4096", 10),
    ("HEPTH.n4096", 10),
    ("HEPTH.n4096", 20),
    ("MEDCOST.n4096", 10),
    ("INCOME.n4096", 10),
    ("INCOME.n4096", 50),
)
TARGET = 0.99


def peeling(scores, k, epsilon):
    """P[the exact order] of k rounds at epsilon / k each: a product, if no scores tie."""
    ranked = np.sort(scores.values.astype(float))[::-1] * epsilon / k
    left = np.logaddexp.accumulate(ranked[::-1])[::-1]
    return float(np.exp((ranked[:k] - left[:k]).sum()))


def joint(scores, k, epsilon):
    return JointTopK(k=k, epsilon=epsilon).order_probability(scores)


def gumbel(scores, k, epsilon):
    return OrderedCanonicalTopK(k=k, epsilon=epsilon, noise="gumbel").order_probability(scores)


def exponential(scores, k, epsilon):
    return OrderedCanonicalTopK(k=k, epsilon=epsilon).order_probability(scores)


def guarded(scores, k, epsilon):
    """At least: one-shot may find the order too."""
    return GuardedListTopK(k=k, epsilon=epsilon).least_order_probability(scores)


def least_epsilon(chance, scores, k, low=1e-5, high=1e3):
    """The least epsilon, to a part in 300, for a chance of TARGET."""
    while high / low > 1.003:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if chance(scores, k, middle) >= TARGET else (middle, high)
    return high


def order_table():
    """Epsilon for a chance of 0.99 of the exact order, by exact laws."""
    if not DATA.exists():
        return
    yield "| data, k | peeling | joint | ordered canonical, Gumbel | ordered canonical | of joint | guarded list |"
    yield "|---|---|---|---|---|---|---|"
    for name, k in ROWS:
        scores = Scores(np.load(DATA / f"{name}.npy"), monotone=True)
        needed = [least_epsilon(chance, scores, k) for chance in (peeling, joint)]
        needed += [least_epsilon(chance, scores, k, needed[1] / 3, needed[1]) for chance in (gumbel, exponential)]
        last = least_epsilon(guarded, scores, k, needed[3] * 0.99, needed[3] * 30)
        cells = " | ".join(f"{epsilon:.3g}" for epsilon in needed)
        share = f"{needed[2] / needed[1]:.2f} and **{needed[3] / needed[1]:.2f}**"
        yield f"| {name.partition('.')[0].capitalize()} {k} | {cells} | {share} | {last:.3g} |"


def zipf(d):
    return Scores(np.random.default_rng(1).zipf(1.3, d).clip(max=10**7), monotone=True)


def joint_time_table():
    """One joint list of d counts (zipf), epsilon = 1: milliseconds, median of 5."""
    yield "| d | k = 10 | k = 100 |"
    yield "|---|---|---|"
    for d in (10_000, 100_000, 1_000_000):
        scores, cells = zipf(d), []
        for k in (10, 100):
            times = []
            for _ in range(5):
                start = perf_counter()
                JointTopK(k=k, epsilon=1.0).release(scores)
                times.append(perf_counter() - start)
            cells.append(f"{1000 * median(times):.0f}")
        yield f"| {d:,} | {' | '.join(cells)} |"


TABLES = {"order": order_table, "joint-time": joint_time_table}
