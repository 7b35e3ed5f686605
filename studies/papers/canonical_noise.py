"""Canonical paper, figure 4: which noise, for one item and for one-shot lists."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shortlist.mechanisms import OneshotTopK
from shortlist.pages.plots import PALETTE
from shortlist.planning.search import least_epsilon_reaching
from shortlist.scores import Scores
from studies.papers.data import Counts, counts, made_up
from studies.papers.experiment import (
    CANONICAL,
    Claim,
    Columns,
    Exhibit,
    Experiment,
    Finding,
    Result,
    Setting,
    held,
)
from studies.papers.figures import Row, canvas, columns_of, curve, distinct, legend, log_axis, name, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOISES = ("exponential", "half-logistic", "gumbel", "laplace", "logistic")
SIZES = (1, 10, 100, 1000)


def _panel(data: Counts, k: int, points: int) -> list[Row]:
    """Around the epsilon at which exponential noise is right half the time."""
    scores = Scores(data.values, monotone=True)

    def chance(noise: str, epsilon: float) -> float:
        return OneshotTopK(k=k, epsilon=epsilon, noise=noise).success_probability(scores)

    middle = least_epsilon_reaching(lambda epsilon: chance("exponential", epsilon), 0.5, width=0.01)
    return [
        {"made_up": not data.real, "k": k, "noise": noise, "epsilon": epsilon, "top": chance(noise, epsilon)}
        for noise in NOISES
        for epsilon in (middle * np.geomspace(0.1, 10.0, points)).tolist()
    ]


def run(setting: Setting) -> Result:
    data = counts("netflix", setting)
    if setting.effort == "small":
        data = Counts(data.name, data.values[:60], data.real)
    rows = [row for k in setting.pick((1, 10), SIZES, SIZES) for row in _panel(data, k, setting.pick(2, 25, 61))]
    beyond = ("Under zCDP the order turns: Gumbel noise has a bounded range and costs a quarter of the rho.",)
    return Result(columns_of(rows), "Netflix, one-shot with kappa = k. Exact laws.", made_up(data), beyond=beyond)


def behind(columns: Columns) -> dict[str, float]:
    """By noise: how far it falls behind the best at worst, over all k and epsilons."""
    worst: dict[str, float] = {}
    table: dict[tuple[int, float], dict[str, float]] = {}
    for row in rows_of(columns):
        table.setdefault((row["k"], row["epsilon"]), {})[row["noise"]] = row["top"]
    for at in table.values():
        for noise, top in at.items():
            worst[noise] = max(worst.get(noise, 0.0), max(at.values()) - top)
    return worst


def judge_best(columns: Columns) -> Finding:
    worst = behind(columns)
    ours = "; ".join(f"{noise} {lag:.2g}" for noise, lag in worst.items())
    best = worst["exponential"] < 1e-6
    return held(best, f"behind the best by at most: {ours}", "exact, at every k and epsilon drawn")


def halfway(columns: Columns) -> float:
    """How many times the epsilon of the best noise the worst one needs for an even chance; NaN if some never get there.

    Epsilons are read off between the points of the grid, on a logarithmic scale.
    """
    worst = 1.0
    for k in distinct(columns, "k"):
        needs = []
        for noise in distinct(columns, "noise"):
            rows = sorted(rows_of(columns, k=k, noise=noise), key=lambda row: row["epsilon"])
            tops = [row["top"] for row in rows]
            if not tops[0] < 0.5 <= tops[-1]:
                return math.nan
            needs.append(float(np.interp(0.5, tops, np.log([row["epsilon"] for row in rows]))))
        worst = max(worst, math.exp(max(needs) - min(needs)))
    return worst


def judge_alike(columns: Columns) -> Finding:
    """Fairly similar: the worst noise needs at most three times the epsilon of the best for an even chance."""
    most, times = max(behind(columns).values()), halfway(columns)
    if math.isnan(times):
        return Finding("not comparable", "some never reach an even chance", "the range of epsilons is too small")
    ours = (
        f"for an even chance the worst needs {times:.2g} times the epsilon of the best; at the same epsilon they are "
        f"up to {most:.2f} apart in their chances"
    )
    why = (
        "exact; the paper says that it appears so and names no measure; fairly similar is taken as within three times "
        "the epsilon, for steep curves are far apart in chances wherever they do not coincide"
    )
    return held(times <= 3, ours, why, "corrected")


def draw(columns: Columns) -> Figure:
    sizes = distinct(columns, "k")
    figure, axes = canvas(1, len(sizes), (3.5 * len(sizes) + 0.6, 3.8), sharey=True)
    for ax, k in zip(axes[0], sizes, strict=True):
        for noise, colour in zip(NOISES, PALETTE, strict=False):
            curve(ax, rows_of(columns, k=k, noise=noise), "epsilon", "top", color=colour, label=noise)
        log_axis(ax)
        ax.set_ylim(-0.03, 1.03)
        name(ax, f"k = {k}", "epsilon", "chance of the true top k" if k == sizes[0] else "")
    legend(axes[0, 0])
    return figure


FACTS = {"d": 17_770, "k": SIZES, "measure": "top", "noise": NOISES}
FIGURE_4 = Exhibit(
    place="figure 4", about="Netflix: five kinds of noise, one item and one-shot lists",
    theirs=FACTS | {"law": "10,000 draws"}, ours=lambda _: FACTS | {"law": "exact"},
    because={"law": "one-shot lists have an exact law for every noise"},
    claims=(
        Claim("Exponential noise is consistently best.", "section 2", judge_best),
        Claim("It appears that all kinds of noise perform fairly similarly.", "section 8", judge_alike),
    ),
    data=("netflix",),
)  # fmt: skip
EXPERIMENT = Experiment(
    name="canonical-noise",
    paper=CANONICAL,
    title="Which noise",
    question="Five kinds of noise give the same epsilon: which is right most often?",
    see="The leftmost curve in each panel.",
    exhibits=(FIGURE_4,),
    run=run,
    draw=draw,
)
