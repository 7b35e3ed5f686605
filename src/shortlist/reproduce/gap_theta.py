"""Free gap, figure 1: how to share epsilon between the threshold and the questions."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from shortlist.mechanisms import SparseVector
from shortlist.mechanisms.sparse_vector.mechanism import least_variance_share
from shortlist.reproduce.experiment import FREE_GAP, Columns, Experiment, Line, Result, Setting, verdict
from shortlist.reproduce.figures import OURS, THEIRS, canvas, columns_of, curve, legend, log_axis, name, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

K = 10
KINDS = {"general": False, "monotone": True}


def variance(theta: float, monotone: bool, noise: str) -> float:
    """Var(gap) at epsilon = 1, as the mechanism states it."""
    m = SparseVector(threshold=0, k=K, epsilon=1.0, theta=theta, monotone=monotone, noise=noise)  # type: ignore[arg-type]
    return m.rules.branches[-1].law.variance


def run(setting: Setting) -> Result:
    grid = np.linspace(0.02, 0.7, setting.pick(5, 69, 201)).tolist()
    rows = [
        {"queries": kind, "noise": noise, "theta": theta, "variance": variance(theta, monotone, noise)}
        for kind, monotone in KINDS.items()
        for noise in ("laplace", "exponential")
        for theta in grid
    ]
    best = {kind: least_variance_share(Fraction(K * (1 if monotone else 2))) for kind, monotone in KINDS.items()}
    general = variance(best["general"], False, "laplace")
    exponential = variance(best["monotone"], True, "exponential")
    lines = (
        Line(
            "best share of epsilon for the threshold, k = 10",
            "1 / (1 + (2k)^{2/3}), and 1 / (1 + k^{2/3}) if monotone",
            f"{best['general']:.4f} and {best['monotone']:.4f}; gap variance {general:.0f} (Laplace, general) and "
            f"{exponential:.0f} (exponential, monotone) at epsilon = 1",
            verdict(
                all(
                    abs(best[kind] * (1 + (K * two) ** (2 / 3)) - 1) < 1e-3
                    for kind, two in (("general", 2), ("monotone", 1))
                ),
                "exponential noise halves the variance at every share",
            ),
        ),
    )
    return Result(columns_of(rows), lines, f"k = {K}, epsilon = 1, sensitivity 1. Closed forms.")


def draw(columns: Columns) -> Figure:
    figure, axes = canvas(1, 2)
    for ax, (kind, monotone) in zip(axes[0], KINDS.items(), strict=True):
        for noise, colour in (("laplace", THEIRS), ("exponential", OURS)):
            curve(ax, rows_of(columns, queries=kind, noise=noise), "theta", "variance", color=colour, label=noise)
        best = least_variance_share(Fraction(K * (1 if monotone else 2)))
        ax.axvline(best, color="#94a3b8", linestyle=":")
        ax.text(best + 0.012, 0.93, f"best share {best:.3f}", fontsize=8, transform=ax.get_xaxis_transform())
        log_axis(ax, "y")
        name(ax, f"{kind.title()} questions, k = {K}", "share of epsilon for the threshold", "variance of a gap")
        legend(ax, loc="upper center")
    return figure


EXPERIMENT = Experiment(
    name="gap-theta",
    paper=FREE_GAP,
    shows="figure 1",
    title="How much of epsilon the threshold deserves",
    question="Which share of epsilon should go to the threshold so that the gaps are least noisy?",
    see="The dotted line at the bottom of each curve.",
    claim="The best share is 1 / (1 + (2k)^{2/3}), or 1 / (1 + k^{2/3}) for monotone questions.",
    run=run,
    draw=draw,
)
