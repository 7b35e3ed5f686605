"""Canonical Lipschitz, figure 4: which noise, for lists and for sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shortlist.mechanisms import CanonicalTopK, OneshotTopK
from shortlist.pages.plots import PALETTE
from shortlist.reproduce.data import Counts, counts, origin, zipf
from shortlist.reproduce.experiment import CANONICAL, Columns, Experiment, Line, Result, Setting, verdict
from shortlist.reproduce.figures import Row, canvas, columns_of, curve, legend, log_axis, name, rows_of
from shortlist.scores import Scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOISES = ("exponential", "half-logistic", "gumbel", "laplace", "logistic")
LISTS, SETS = "one-shot", "canonical"
FEW, OF = 4, 16
"""Canonical with every noise is exact where all sets can be listed: 4 of 16 are 1,820."""


def run(setting: Setting) -> Result:
    data = counts("netflix", setting)
    if setting.effort == "small":
        data = Counts(data.name, data.values[:200], data.real)
    points = setting.pick(2, 13, 41)
    rows = [*_lists(data, points), *_sets(setting.pick(2, 13, 41))]
    lists, sets = _best(rows, LISTS), _best(rows, SETS)
    lines = (
        Line(
            f"which noise ({data.source}; Zipf counts)",
            "exponential noise (permute-and-flip) never worse than Gumbel, Laplace or logistic",
            f"one-shot: {lists} is best everywhere; canonical: {sets} is",
            verdict(
                all("exponential" in best.split(" and ") for best in (lists, sets)),
                "exact, on these epsilons; exponential noise has no bounded range: under zCDP Gumbel costs a quarter "
                "of its rho",
            ),
        ),
    )
    caption = f"Left: Netflix, top 10. Right: {FEW} of {OF} Zipf counts, all {1820:,} sets listed. {origin([data])}"
    return Result(columns_of(rows), lines, caption, generated=not data.real)


def _row(panel: str, noise: str, epsilon: float, top: float) -> Row:
    return {"panel": panel, "noise": noise, "epsilon": epsilon, "top": top}


def _lists(data: Counts, points: int) -> list[Row]:
    scores = Scores(data.values, monotone=True)
    return [
        _row(LISTS, noise, epsilon, OneshotTopK(k=10, epsilon=epsilon, noise=noise).success_probability(scores))
        for noise in NOISES
        for epsilon in np.geomspace(0.002, 0.05, points).tolist()
    ]


def _sets(points: int) -> list[Row]:
    values = zipf(OF, 100, 1.0)
    right = tuple(range(FEW))
    return [
        _row(SETS, noise, epsilon, mechanism.probabilities(values, monotone=True)[right])
        for noise in NOISES
        for epsilon in np.geomspace(0.05, 3.0, points).tolist()
        for mechanism in [CanonicalTopK(k=FEW, epsilon=epsilon, noise=noise)]
    ]


def _best(rows: list[Row], panel: str) -> str:
    """The noises that nowhere fall behind the best one by more than a millionth."""
    behind: dict[str, float] = dict.fromkeys(NOISES, 0.0)
    for epsilon in {row["epsilon"] for row in rows if row["panel"] == panel}:
        here = {row["noise"]: row["top"] for row in rows if row["panel"] == panel and row["epsilon"] == epsilon}
        for noise, top in here.items():
            behind[noise] = max(behind[noise], max(here.values()) - top)
    return " and ".join(noise for noise, lag in behind.items() if lag < 1e-6) or "none"


def draw(columns: Columns) -> Figure:
    figure, axes = canvas(1, 2)
    for ax, panel, title in zip(
        axes[0], (LISTS, SETS), ("One-shot, Netflix, k = 10", f"Canonical, {FEW} of {OF}"), strict=True
    ):
        for noise, colour in zip(NOISES, PALETTE, strict=False):
            curve(ax, rows_of(columns, panel=panel, noise=noise), "epsilon", "top", color=colour, label=noise)
        log_axis(ax)
        ax.set_ylim(-0.03, 1.03)
        name(ax, title, "epsilon", "chance of the true top k")
    legend(axes[0, 0])
    return figure


EXPERIMENT = Experiment(
    name="canonical-noise",
    paper=CANONICAL,
    shows="figure 4",
    title="Which noise",
    question="Five kinds of noise give the same epsilon: which is right most often?",
    see="The leftmost curve in each panel.",
    claim="Exponential noise does at least as well as Gumbel, Laplace, logistic and half-logistic noise.",
    run=run,
    draw=draw,
    uses=("netflix",),
)
