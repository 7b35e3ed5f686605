"""Free-gap paper, table 1 and figure 1: moments of the noises, and the threshold's share of epsilon."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shortlist.pages.plots import PALETTE
from studies.papers.experiment import FREE_GAP, Claim, Columns, Exhibit, Experiment, Finding, Result, Setting, held
from studies.papers.figures import OURS, THEIRS, Row, canvas, columns_of, curve, legend, name, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = tuple(range(1, 51))
EPSILONS = (0.7, 5.0)
PRINTED = {
    "laplace": (0.0, 2.0),
    "exponential": (1.0, 1.0),
    "geometric": (math.e / (math.e - 1), math.e / (math.e - 1) ** 2),
}
"""(mean, variance) as table 1 has them, scale 1: Lap(1), Exp(1), Geo(p) with p = 1 - 1/e."""

FLAT = 0.02
"""The shares are almost the same if the printed one costs at most 2% more variance than the best."""


def variance(theta: float, k: int, epsilon: float) -> float:
    """Of the gap of a counting query under geometric noise, section 5.2: q / (1 - q)^2 for each of the two noises."""
    first, second = math.exp(theta * epsilon), math.exp((1 - theta) * epsilon / k)
    return first / (first - 1) ** 2 + second / (second - 1) ** 2


def best_share(k: int, epsilon: float) -> float:
    """The theta of the least variance, by search: the function is convex."""
    from scipy.optimize import minimize_scalar

    result = minimize_scalar(
        lambda theta: variance(theta, k, epsilon), bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-10}
    )
    return float(result.x)


def moments(noise: str) -> tuple[float, float]:
    """Mean and variance by summing or integrating the law of table 1 on a fine grid."""
    if noise == "geometric":
        n = np.arange(2_000)
        weights = -math.expm1(-1.0) * np.exp(-n.astype(float))
        points = n.astype(float)
    else:
        points = np.linspace(-60.0 if noise == "laplace" else 0.0, 60.0, 2_400_001)
        density = np.exp(-np.abs(points)) * (0.5 if noise == "laplace" else 1.0)
        weights = density * (points[1] - points[0])
        weights[[0, -1]] /= 2
    mean = float(weights @ points)
    return mean, float(weights @ (points - mean) ** 2)


def run(setting: Setting) -> Result:
    rows: list[Row] = []
    for epsilon in EPSILONS:
        for k in SIZES[:: setting.pick(7, 1, 1)]:
            best, printed = best_share(k, epsilon), 1 / (1 + k ** (2 / 3))
            extra = variance(printed, k, epsilon) / variance(best, k, epsilon) - 1
            rows.append(_row("figure 1", "geometric", k, epsilon, best, printed, extra))
    for noise, (mean, spread) in PRINTED.items():
        result = moments(noise)
        rows.append(_row("mean", noise, 0, 0.0, result[0], mean, abs(result[0] - mean)))
        rows.append(_row("variance", noise, 0, 0.0, result[1], spread, abs(result[1] - spread)))
    return Result(columns_of(rows), "Counting queries, geometric noise; the best share by search, at two epsilons.")


def _row(panel: str, noise: str, k: int, epsilon: float, result: float, printed: float, apart: float) -> Row:
    return {
        "panel": panel,
        "noise": noise,
        "k": k,
        "epsilon": epsilon,
        "found": result,
        "printed": printed,
        "apart": apart,
    }


def judge_share(columns: Columns) -> Finding:
    rows = rows_of(columns, panel="figure 1")
    extra = {
        e: max(row["apart"] for row in rows if row["epsilon"] == e) for e in sorted({row["epsilon"] for row in rows})
    }
    apart = {e: max(abs(row["found"] - row["printed"]) for row in rows if row["epsilon"] == e) for e in extra}
    ours = "; ".join(
        f"epsilon = {e:g}: shares differ by at most {apart[e]:.2g}, variance by {extra[e]:.2%}" for e in extra
    )
    return held(max(extra.values()) <= FLAT, ours, "the best share by search, the other by its formula; almost the "
    "same is "
                "taken as at most 2% more variance")  # fmt: skip


def judge_moments(columns: Columns) -> Finding:
    wrong = [
        f"{row['noise']} {row['panel']}: {row['found']:.4f}, printed {row['printed']:.4f}"
        for panel in ("mean", "variance")
        for row in rows_of(columns, panel=panel)
        if row["apart"] > 1e-6
    ]
    return held(not wrong, "; ".join(wrong) or "all six agree", "by sums over the laws of the table, scale 1; "
    "Geo(p) on "
                "0, 1, 2, .. has mean (1 - p) / p, and 1 / p on 1, 2, 3, ..", "corrected")  # fmt: skip


def draw(columns: Columns) -> Figure:
    figure, axes = canvas(1, 2, (10.0, 3.9))
    for ax, epsilon in zip(axes[0], EPSILONS, strict=True):
        rows = rows_of(columns, panel="figure 1", epsilon=epsilon)
        curve(ax, rows, "k", "printed", color=THEIRS, label="1 / (1 + k^(2/3))")
        curve(ax, rows, "k", "found", color=OURS if epsilon < 1 else PALETTE[2], marker="o", markersize=3,
              linestyle="none", label="best, by search")  # fmt: skip
        ax.set_ylim(0, 0.55)
        name(ax, f"Geometric noise, epsilon = {epsilon:g}", "k", "share of epsilon for the threshold")
        legend(ax)
    return figure


FIGURE_1 = Exhibit(
    place="figure 1", about="The best share of epsilon for the threshold, geometric noise",
    theirs={"noise": "geometric", "k": SIZES, "epsilon": "not in the text", "formula": "1 / (1 + k^(2/3))"},
    ours=lambda _: {"noise": "geometric", "k": SIZES, "epsilon": EPSILONS, "formula": "1 / (1 + k^(2/3))"},
    because={"epsilon": "the text names none: the one of section 9, and a large one, where whole noise differs most"},
    claims=(Claim("The share that is best for exponential noise is almost the best for geometric noise.", "section 5.2",
                  judge_share),),
)  # fmt: skip
TABLE_1 = Exhibit(
    place="table 1", about="Mean and variance of the three noises",
    theirs={"noises": tuple(PRINTED)}, ours=lambda _: {"noises": tuple(PRINTED)}, because={},
    claims=(Claim("The noises have these means and variances.", "section 3, table 1", judge_moments),),
)  # fmt: skip
EXPERIMENT = Experiment(
    name="gap-theta",
    paper=FREE_GAP,
    title="How much of epsilon the threshold deserves",
    question="Which share of epsilon should go to the threshold so that the gaps are least noisy?",
    see="Dots found by search against the printed formula.",
    exhibits=(TABLE_1, FIGURE_1),
    run=run,
    draw=draw,
)
