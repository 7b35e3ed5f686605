"""Canonical Lipschitz, figure 1: the chance of a top, a great and a good set over epsilon, on six data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shortlist.exact.lower_bound import least_epsilon, most_success
from shortlist.planning.search import least_epsilon_reaching
from shortlist.reproduce.canonical_epsilon import JOINT_CELLS
from shortlist.reproduce.contest import BOUND, COLOURS, DASHES, ENTRANTS, GUARDED, JOINT, ONE_SHOT, OURS, PAPER, PEELING
from shortlist.reproduce.data import SHAPES, Counts, counts, origin
from shortlist.reproduce.experiment import CANONICAL, Columns, Experiment, Line, Result, Setting, verdict
from shortlist.reproduce.figures import Row, canvas, columns_of, curve, distinct, log_axis, name, rows_of
from shortlist.scores import Scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REACH = {10: 60.0, 100: 300.0, 1000: 3000.0}
"""The grid of epsilons ends at so many times the lower bound, where peeling arrives."""

QUALITIES = ("top", "great", "good")


DEAR = (PEELING, ONE_SHOT, JOINT)
"""Their laws take a hundred times longer than that of canonical, and their curves are smooth: a coarse grid does."""


def study(data: Counts, k: int, points: int, entrants: tuple[str, ...]) -> list[Row]:
    """Exact qualities of every entrant on a grid of epsilons around the lower bound, finer near the cliffs."""
    values, scores = data.values, Scores(data.values, monotone=True)
    middle = max(least_epsilon(values, k, 0.9), 1e-4)
    coarse = np.geomspace(0.3, REACH.get(k, 100.0), points)
    near, nearer = np.geomspace(0.3, 6.0, 4 * points), np.geomspace(0.5, 3.0, points)
    fine = {GUARDED: np.union1d(nearer, coarse[coarse > 3.0])}
    cheap = np.union1d(near, coarse[coarse > 6.0])
    grids = {label: coarse if label in DEAR else fine.get(label, cheap) for label in entrants}
    grids[BOUND] = np.geomspace(0.1, 10.0, 4 * points)
    rows: list[Row] = []
    for label, grid in grids.items():
        if label == JOINT and k * len(values) > JOINT_CELLS:
            continue
        for epsilon in (middle * grid).tolist():
            top, great, good, recall = _chances(label, scores, k, epsilon)
            rows.append(
                {"data": data.name, "k": k, "mechanism": label, "epsilon": epsilon}
                | {"top": top, "great": great, "good": good, "recall": recall}
            )
    return rows


def _chances(label: str, scores: Scores, k: int, epsilon: float) -> tuple[float, float, float, float]:
    if label == BOUND:
        return most_success(scores.values, k, epsilon), 1.0, 1.0, 1.0
    quality = ENTRANTS[label](k, epsilon).quality(scores)
    return quality.top, quality.great, quality.good, quality.recall


def _small(setting: Setting, name: str) -> Counts:
    data = counts(name, setting)
    return Counts(name, data.values[:300], data.real) if setting.effort == "small" else data


def run_netflix(setting: Setting) -> Result:
    data = _small(setting, "netflix")
    sizes = setting.pick((10,), (10, 100, 1000), (10, 100, 1000))
    rows = [row for k in sizes for row in study(data, k, setting.pick(3, 11, 33), tuple(ENTRANTS))]
    ahead = {k: _ahead(data, k) for k in sizes}
    lines = (
        Line(
            "Netflix: chance of a top, great or good set",
            "canonical above peeling and joint at every epsilon that is of use",
            "; ".join(
                f"k = {k}: at the epsilon where canonical is right half the time, peeling is right "
                f"{rival:.2g} of the time"
                for k, rival in ahead.items()
            ),
            verdict(
                max(ahead.values()) < 0.5,
                "exact; below its collapse point canonical is all or nothing, and the guarded default is not",
            ),
        ),
    )
    return Result(columns_of(rows), lines, f"Exact laws, no simulation. {origin([data])}", generated=not data.real)


def _ahead(data: Counts, k: int) -> float:
    """P[top] of peeling at the epsilon at which canonical is right half the time."""
    scores = Scores(data.values, monotone=True)
    half = least_epsilon_reaching(lambda epsilon: ENTRANTS[OURS](k, epsilon).success_probability(scores), 0.5)
    return ENTRANTS[PEELING](k, half).success_probability(scores)


def draw_netflix(columns: Columns) -> Figure:
    sizes = distinct(columns, "k")
    figure, axes = canvas(3, len(sizes), (3.7 * len(sizes) + 1.6, 8.2), sharey=True)
    for row, quality in enumerate(QUALITIES):
        for ax, k in zip(axes[row], sizes, strict=True):
            for label, colour in COLOURS.items():
                if label != BOUND or quality == "top":
                    _curve(ax, rows_of(columns, k=k, mechanism=label), quality, label, colour)
            log_axis(ax)
            ax.set_ylim(-0.03, 1.03)
            name(ax, f"k = {k}: {quality}", "epsilon" if row == 2 else "", "chance" if k == sizes[0] else "")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8)
    return figure


def _curve(ax: object, rows: list[Row], quality: str, label: str, colour: str) -> None:
    width = 2.2 if label in (OURS, GUARDED) else 1.3
    curve(ax, rows, "epsilon", quality, color=colour, linewidth=width,  # type: ignore[arg-type]
          linestyle=DASHES.get(label, "-"), label=label)  # fmt: skip


OTHERS = tuple(one for one in SHAPES if one != "netflix")
SHOWN = (PEELING, PAPER, OURS, GUARDED)


def run_others(setting: Setting) -> Result:
    names = setting.pick(("patent",), OTHERS, OTHERS)
    sizes = setting.pick((10,), (10, 100, 1000), (10, 100, 1000))
    data = [_small(setting, one) for one in names]
    rows = [row for one in data for k in sizes for row in study(one, k, setting.pick(3, 7, 25), SHOWN)]
    cases = [(one.name, k) for one in data for k in sizes]
    lost = [f"{name.title()}, k = {k}" for name, k in cases if not _wins(rows, name, k)]
    lines = (
        Line(
            f"{', '.join(one.source for one in data)}: who first reaches a 90% recall",
            "canonical",
            f"canonical (ours or the guarded default) in {len(cases) - len(lost)} of {len(cases)} cases",
            verdict(
                not lost, "exact recall on the same grid of epsilons" + ("; not in " + "; ".join(lost) if lost else "")
            ),
        ),
    )
    generated = not all(one.real for one in data)
    return Result(columns_of(rows), lines, f"Exact laws, no simulation. {origin(data)}", generated=generated)


def _wins(rows: list[Row], data: str, k: int) -> bool:
    def first(labels: tuple[str, ...]) -> float:
        return float(min(
            (row["epsilon"] for row in rows
             if row["data"] == data and row["k"] == k and row["mechanism"] in labels and row["recall"] >= 0.9),
            default=np.inf,
        ))  # fmt: skip

    return first((OURS, GUARDED)) < np.inf and first((OURS, GUARDED)) <= first((PEELING, PAPER))


def draw_others(columns: Columns) -> Figure:
    sizes, names = distinct(columns, "k"), distinct(columns, "data")
    figure, axes = canvas(len(sizes), len(names), (2.9 * len(names) + 1.4, 2.7 * len(sizes) + 0.6), sharey=True)
    for row, k in enumerate(sizes):
        for ax, data in zip(axes[row], names, strict=True):
            for label in SHOWN:
                rows = rows_of(columns, data=data, k=k, mechanism=label)
                _curve(ax, rows, "top", label, COLOURS[label])
                curve(ax, rows, "epsilon", "good", color=COLOURS[label], linewidth=0.9, linestyle=":")
            log_axis(ax)
            ax.set_ylim(-0.03, 1.03)
            title = f"{data.title()}, k = {k}"
            name(ax, title, "epsilon" if k == sizes[-1] else "", "chance" if data == names[0] else "")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(SHOWN), frameon=False, fontsize=9)
    return figure


NETFLIX = Experiment(
    name="canonical-netflix",
    paper=CANONICAL,
    shows="figure 1, Netflix",
    title="Netflix: top, great and good sets",
    question="How likely is a top, a great or a good set of k movies at a given epsilon?",
    see="Curves further to the left need less epsilon; the dashed line is what no mechanism can pass.",
    claim="The canonical mechanism beats peeling and the joint mechanism, the more the larger k is.",
    run=run_netflix,
    draw=draw_netflix,
    uses=("netflix",),
)
OTHER_DATA = Experiment(
    name="canonical-data",
    paper=CANONICAL,
    shows="figure 1, five other data sets",
    title="Five more data sets",
    question="Does what holds for Netflix hold for patents, search logs, incomes, medical costs and citations?",
    see="Solid: the chance of the true top k; dotted: of a good set. Further left is better.",
    claim="The canonical mechanism is ahead on all six data sets.",
    run=run_others,
    draw=draw_others,
    uses=OTHERS,
)
