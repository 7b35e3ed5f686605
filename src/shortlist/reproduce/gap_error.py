"""Free gap, figures 2 and 3: how much better measurements become with the gaps that came for free."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats
from shortlist.mechanisms import SparseVector, TopKWithGaps
from shortlist.release import Release
from shortlist.reproduce.data import laplace, market, shuffled
from shortlist.reproduce.experiment import FREE_GAP, Columns, Experiment, Line, Result, Setting, verdict
from shortlist.reproduce.figures import OURS, THEIRS, Row, canvas, columns_of, curve, legend, name, rows_of
from shortlist.sampling.entropy import Source
from shortlist.scores import Scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOP, THRESHOLD = "top k", "sparse vector"
DATA = "BMS-POS"
REPEATS = 8
"""Measurements of the same winners per release: they are cheap, and the error is an average over them too."""


def theory(selection: str, noise: str, k: int) -> float:
    """The share of the squared error that gaps save, counts, half of epsilon to select and half to measure."""
    ratio = {"laplace": 1.0, "exponential": 0.5}[noise]  # Var(gap noise) / Var(measurement noise)
    if selection == TOP:
        return (k - 1) / (k * (1 + ratio))
    gap, measurement = ratio * (1 + math.pow(k, 2 / 3)) ** 3, float(k * k)
    return measurement / (gap + measurement)


def saved(selection: str, noise: str, k: int, epsilon: float, trials: int, source: Source) -> float:
    """1 - (squared error with gaps) / (squared error of the measurements), simulated with our own mechanisms."""
    values, half = market(DATA), epsilon / 2
    scale = k / half
    with_gaps = plain = 0.0
    for _ in range(trials):
        order = shuffled(values, source)
        release = _select(selection, noise, k, half, order, source)
        if not release.indices:
            continue
        truth = order[release.indices]
        for error in laplace(source, scale, REPEATS * len(truth)).reshape(REPEATS, -1):
            refined = release.refine(truth + error, variance=2 * scale**2)
            with_gaps += _squares(np.array(refined) - truth)
            plain += _squares(error)
    return 1 - with_gaps / plain


def _select(selection: str, noise: str, k: int, epsilon: float, values: object, source: Source) -> Release:
    if selection == TOP:
        return TopKWithGaps(k=k, epsilon=epsilon, noise=noise).release(Scores(values, monotone=True), rng=source)
    counts = market(DATA)
    threshold = int(counts[4 * k])
    m = SparseVector(threshold=threshold, k=k, epsilon=epsilon, noise=noise, monotone=True)  # type: ignore[arg-type]
    return m.release(values, rng=source)


def _squares(errors: Floats) -> float:
    return float(errors @ errors)


def _study(setting: Setting, cases: list[tuple[str, str, int, float]], by: str) -> list[Row]:
    budget = setting.pick(200, 6_000, 200_000)
    rows: list[Row] = []
    for selection, noise, k, epsilon in cases:
        source = setting.source(f"gap-error {by} {selection} {noise} {k} {epsilon}")
        share = saved(selection, noise, k, epsilon, max(3, budget // (k + 4)), source)
        rows.append(
            {"selection": selection, "noise": noise, "k": k, "epsilon": epsilon, "saved": share}
            | {"theory": theory(selection, noise, k)}
        )
    return rows


PAIRS = [(selection, noise) for selection in (TOP, THRESHOLD) for noise in ("laplace", "exponential")]
CAPTION = (
    f"Half of epsilon selects, half measures. Data: GENERATED Zipf counts of the size of {DATA}, in random order; "
    "dots are simulated with the released mechanisms, lines are theory."
)


def _off(at: dict[tuple[str, str], Row], noise: str) -> float:
    """How far what was saved is from the theory, for the worse of the two selections."""
    return max(abs(float(at[one, noise]["saved"] - at[one, noise]["theory"])) for one in (TOP, THRESHOLD))


def run_by_k(setting: Setting) -> Result:
    sizes = setting.pick((2, 5), (2, 5, 10, 15, 20, 25), (2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 25))
    rows = _study(setting, [(*pair, k, 0.7) for pair in PAIRS for k in sizes], "k")
    most = sizes[-1]
    at = {(row["selection"], row["noise"]): row for row in rows if row["k"] == most}
    lines = tuple(
        Line(
            f"less squared error with gaps, {noise} noise, k = {most}, {DATA}-like counts",
            f"{limit} for large k",
            f"{at[TOP, noise]['saved']:.0%} (theory {at[TOP, noise]['theory']:.0%}) for top k; "
            f"{at[THRESHOLD, noise]['saved']:.0%} ({at[THRESHOLD, noise]['theory']:.0%}) for the sparse vector",
            verdict(
                _off(at, noise) <= 0.05,
                f"at most {math.ceil(100 * _off(at, noise))} points from the theory, which "
                "takes the order for clear: where it is close, winners are overestimated and gaps save less",
            ),
        )
        for noise, limit in (("laplace", "50%"), ("exponential", "66%"))
    )
    return Result(columns_of(rows), lines, f"epsilon = 0.7. {CAPTION}", generated=True)


def run_by_epsilon(setting: Setting) -> Result:
    epsilons = setting.pick(
        (0.3, 1.5), (0.1, 0.3, 0.5, 0.7, 1.0, 1.5), tuple(np.arange(0.1, 1.55, 0.1).round(2).tolist())
    )
    rows = _study(setting, [(*pair, 10, epsilon) for pair in PAIRS for epsilon in epsilons], "epsilon")
    shares = [row["saved"] for row in rows if row["selection"] == TOP and row["noise"] == "exponential"]
    lines = (
        Line(
            f"less squared error with gaps over epsilon, k = 10, {DATA}-like counts",
            "flat in epsilon",
            f"between {min(shares):.0%} and {max(shares):.0%} (top k, exponential noise), "
            f"theory {theory(TOP, 'exponential', 10):.0%}",
            verdict(
                max(shares) - min(shares) <= 0.1,
                "both noises scale alike, so epsilon cancels, unless it is so small that the order is lost",
            ),
        ),
    )
    return Result(columns_of(rows), lines, f"k = 10. {CAPTION}", generated=True)


def _draw(columns: Columns, x: str, label: str) -> Figure:
    figure, axes = canvas(1, 2, sharey=True)
    for ax, selection in zip(axes[0], (TOP, THRESHOLD), strict=True):
        for noise, colour in (("laplace", THEIRS), ("exponential", OURS)):
            rows = rows_of(columns, selection=selection, noise=noise)
            curve(ax, rows, x, "theory", color=colour, linewidth=1.2)
            curve(ax, rows, x, "saved", color=colour, marker="o", linestyle="none", label=noise)
        ax.set_ylim(0, 0.75)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        name(
            ax,
            {TOP: "Noisy top k with gaps", THRESHOLD: "Sparse vector with gaps"}[selection],
            label,
            "less squared error",
        )
        legend(ax, loc="lower right")
    return figure


BY_K = Experiment(
    name="gap-error-by-k",
    paper=FREE_GAP,
    shows="figure 2",
    title="Free gaps sharpen measurements: by k",
    question="If half of epsilon selects and half measures, how much do the gaps of the selection improve the rest?",
    see="Dots on their lines, rising towards 50% with Laplace noise and 66% with exponential noise.",
    claim="The squared error falls by up to 50% with Laplace noise, 66% with exponential noise.",
    run=run_by_k,
    draw=lambda columns: _draw(columns, "k", "k"),
)
BY_EPSILON = Experiment(
    name="gap-error-by-epsilon",
    paper=FREE_GAP,
    shows="figure 3",
    title="Free gaps sharpen measurements: by epsilon",
    question="Does the improvement depend on how much is spent?",
    see="Flat rows of dots.",
    claim="The improvement is the same at every epsilon.",
    run=run_by_epsilon,
    draw=lambda columns: _draw(columns, "epsilon", "epsilon"),
)
