"""What the true top k costs on the canonical paper's data: the epsilon for a 99% chance, and the bound below it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shortlist.planning.search import least_epsilon_reaching
from shortlist.scores import Scores
from shortlist.utility.lower_bound import least_epsilon
from studies.papers.canonical_data import FIGURES
from studies.papers.contest import BOUND, COLOURS, ENTRANTS, JOINT, MARKS, OURS, PEELING
from studies.papers.data import Counts, counts, made_up
from studies.papers.experiment import CANONICAL, Columns, Experiment, Result, Setting
from studies.papers.figures import Row, canvas, columns_of, distinct, log_axis, name, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TARGET = 0.99
MOST = 1e5
JOINT_CELLS = 2_000_000
"""Joint's table has k times d cells: beyond so many it is left out, being far behind by then."""


def run(setting: Setting) -> Result:
    sizes = setting.pick((10,), (10, 100, 1000), (10, 100, 1000))
    data = [counts(name, setting) for name in setting.pick(("netflix", "patent"), tuple(FIGURES), tuple(FIGURES))]
    rows = [row for one in data for k in sizes for row in _needs(_cut(one, setting), k, setting)]
    caption = "Pure epsilon, counts, add or remove one user; exact, no simulation. The paper did not run joint."
    return Result(columns_of(rows), caption, made_up(*data), beyond=(distance(rows),))


def _cut(one: Counts, setting: Setting) -> Counts:
    return Counts(one.name, one.values[:300], one.real) if setting.effort == "small" else one


def _needs(data: Counts, k: int, setting: Setting) -> list[Row]:
    """The epsilon of every entrant, infinite where no epsilon up to 10^5 is enough."""
    scores, values = Scores(data.values, monotone=True), data.values
    gap = int(values[k - 1] - values[k])
    bound = least_epsilon(values, k, TARGET)
    rows: list[Row] = []

    def add(mechanism: str, epsilon: float) -> None:
        rows.append(
            {
                "data": data.title,
                "made_up": not data.real,
                "k": k,
                "gap": gap,
                "mechanism": mechanism,
                "epsilon": epsilon,
            }
        )

    start = max(bound, 1e-6)
    for label, build in ENTRANTS.items():
        if label == JOINT and k * len(values) > JOINT_CELLS:
            continue
        factor = {PEELING: 10.0, JOINT: 10.0}.get(label, 1.5)
        width = setting.pick(1e-2, 2e-3, 1e-4)
        least = least_epsilon_reaching(
            lambda epsilon, build=build: build(k, epsilon).success_probability(scores),  # type: ignore[misc]
            TARGET,
            start=factor * start,
            width=width,
        )
        add(label, least if least < MOST else math.inf)
    add(BOUND, bound)
    return rows


def distance(rows: list[Row]) -> str:
    """How far gap-aware canonical is from the best possible, apart for ties across rank k and for none."""
    ratios: dict[bool, list[float]] = {True: [], False: []}
    cases = {(row["data"], row["k"]): row["gap"] == 0 for row in rows}
    for (data, k), tied in cases.items():
        at = {row["mechanism"]: row["epsilon"] for row in rows if row["data"] == data and row["k"] == k}
        if at[BOUND] > 0 and at[OURS] < math.inf:
            ratios[tied].append(at[OURS] / at[BOUND])
    parts = [
        f"{min(some):.2f} to {max(some):.2f} times the lower bound in {len(some)} cases {where} tie across rank k"
        for where, some in (("without a", ratios[False]), ("with a", ratios[True]))
        if some
    ]
    dropped = len(cases) - sum(map(len, ratios.values()))
    return (f"The gap-aware canonical mechanism needs {'; '.join(parts) or 'no number'}. The bound is one for every "
            f"pure-DP mechanism on counts; {dropped} of {len(cases)} cases are left out, where no epsilon up to "
            f"{MOST:,.0f} is enough or the bound is 0.")  # fmt: skip


def draw(columns: Columns) -> Figure:
    sizes = distinct(columns, "k")
    figure, axes = canvas(1, len(sizes), (4.2 * len(sizes) + 1.4, 3.9))
    names = distinct(columns, "data")
    for ax, k in zip(axes[0], sizes, strict=True):
        for label, colour in COLOURS.items():
            rows = [row for row in rows_of(columns, k=k, mechanism=label) if np.isfinite(row["epsilon"])]
            places = [names.index(row["data"]) for row in rows]
            size = 14 if label == BOUND else 6
            ax.plot(places, [row["epsilon"] for row in rows], MARKS[label], color=colour, markersize=size,
                    markeredgewidth=2 if label == BOUND else 0.5, label=label, linestyle="none")  # fmt: skip
        log_axis(ax, "y")
        ax.set_xticks(range(len(names)), names, rotation=35, ha="right")
        name(ax, f"k = {k}", "", "epsilon for a 99% chance" if k == sizes[0] else "")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8)
    return figure


EXPERIMENT = Experiment(
    name="canonical-epsilon",
    paper=CANONICAL,
    title="What the true top k costs",
    question="How much epsilon does each mechanism need to return exactly the true top k, 99 times in 100?",
    see="Each column is one data set, logarithmic; the bar at the bottom is what every mechanism must pay.",
    exhibits=(),
    run=run,
    draw=draw,
    reads=tuple(FIGURES),
)
