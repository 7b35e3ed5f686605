"""Canonical Lipschitz, section 7.3: how long one draw takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.mechanisms import CanonicalTopK, GuardedTopK, JointTopK, OneshotTopK
from shortlist.reproduce.contest import COLOURS, GUARDED, JOINT, ONE_SHOT, OURS
from shortlist.reproduce.data import counts, origin
from shortlist.reproduce.experiment import CANONICAL, Columns, Experiment, Line, Result, Setting
from shortlist.reproduce.figures import BOUND, Row, canvas, columns_of, curve, legend, log_axis, name, rows_of
from shortlist.scores import Scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL_CLASSES = "the paper's O(dk), in NumPy"
EPSILON = 1.0


def all_classes(values: Indices, k: int) -> Floats:
    """The log masses of all k (d - k) classes, row by row: the work of the paper's algorithm, vectorised."""
    from scipy.special import gammaln

    x = values.astype(float)
    rest = len(x) - k
    factorial = gammaln(np.arange(len(x) + 1) + 1.0)
    fixed = 0.5 * EPSILON * x[k:] - factorial[:rest]
    rows = np.empty(k)
    for i in range(k):
        row = fixed + factorial[i : i + rest]
        top = float(row.max())
        rows[i] = top + math.log(np.exp(row - top).sum()) - 0.5 * EPSILON * x[k - 1 - i] - factorial[i]
    return rows


def run(setting: Setting) -> Result:
    data = counts("netflix", setting)
    values = data.values[: setting.pick(300, None, None)]
    scores, source = Scores(values, monotone=True), setting.source("canonical-times")
    rows: list[Row] = []
    for k in setting.pick((10,), (1, 3, 10, 30, 100, 300, 1000), (1, 3, 10, 30, 100, 300, 1000, 3000)):
        calls: dict[str, Callable[[], Any]] = {
            ALL_CLASSES: lambda k=k: all_classes(values, k),  # type: ignore[misc]
        }
        for label, m in {
            OURS: CanonicalTopK(k=k, epsilon=EPSILON),
            GUARDED: GuardedTopK(k=k, epsilon=EPSILON),
            ONE_SHOT: OneshotTopK(k=k, epsilon=EPSILON, noise="exponential"),
            JOINT: JointTopK(k=k, epsilon=EPSILON),
        }.items():
            if label != JOINT or k <= 100:
                calls[label] = lambda m=m: m.release(scores, rng=source)  # type: ignore[misc]
        for label, call in calls.items():
            rows.append({"mechanism": label, "k": k, "seconds": _best(call, setting.pick(1, 3, 9))})
    at = {(row["mechanism"], row["k"]): row["seconds"] for row in rows}
    largest = max(row["k"] for row in rows)
    lines = (
        Line(
            f"time of one draw, Netflix, k = {largest}",
            "O(dk): all classes of sets are visited",
            f"{at[OURS, largest]:.3g} s, {at[OURS, largest] / at[ALL_CLASSES, largest]:.2g} of the O(dk) sum; "
            f"guarded {at[GUARDED, largest]:.3g} s, one-shot {at[ONE_SHOT, largest]:.3g} s",
            "classes are bounded in bulk and only the few that can win are opened, and the draw stays exact",
        ),
    )
    caption = f"One release, from scores to items, epsilon = {EPSILON:g}; best of several runs. {origin([data])}"
    return Result(columns_of(rows), lines, caption, generated=not data.real, timed=True)


def _best(call: Callable[[], Any], runs: int) -> float:
    """The least seconds of several runs, after one to warm up."""
    call()
    seconds = []
    for _ in range(runs):
        start = perf_counter()
        call()
        seconds.append(perf_counter() - start)
    return min(seconds)


def draw(columns: Columns) -> Figure:
    figure, axes = canvas(1, 1, (6.2, 4.2))
    ax = axes[0, 0]
    for label in (ALL_CLASSES, JOINT, OURS, GUARDED, ONE_SHOT):
        colour = COLOURS.get(label, BOUND)
        curve(
            ax, rows_of(columns, mechanism=label), "k", "seconds", color=colour, marker="o", markersize=4, label=label
        )
    log_axis(ax, "x")
    log_axis(ax, "y")
    name(ax, "Time of one release, Netflix", "k", "seconds")
    legend(ax)
    return figure


EXPERIMENT = Experiment(
    name="canonical-times",
    paper=CANONICAL,
    shows="section 7.3",
    title="How long a draw takes",
    question="The number of sets is astronomical: how long does one exact draw from them take?",
    see="How slowly our lines rise with k, against the sum over all classes.",
    claim="The canonical mechanism runs in time O(dk).",
    run=run,
    draw=draw,
    uses=("netflix",),
    alone=True,
)
