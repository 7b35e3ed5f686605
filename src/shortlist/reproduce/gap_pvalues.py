"""Free gap, figure 9: is the winner really the best? The gap is a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shortlist.mechanisms import ExponentialWithGap
from shortlist.reproduce.experiment import FREE_GAP, Columns, Experiment, Line, Result, Setting, verdict
from shortlist.reproduce.figures import OURS, THEIRS, Row, canvas, columns_of, curve, legend, name, rows_of
from shortlist.scores import Scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIED, CLEAR = "two tied for the best", "one clear best"
EPSILON, RIVALS, LEVEL = 1.0, 50, 0.05
LEADS = (0, 2, 4, 6, 8, 10, 12)


def p_values(lead: int, trials: int, setting: Setting) -> list[float]:
    """p-values of repeated releases of the winner of fifty, the best ahead by `lead` and a second at 0."""
    scores = Scores(np.array([lead, 0, *[-4] * (RIVALS - 2)]), monotone=True)
    m, source = ExponentialWithGap(epsilon=EPSILON), setting.source(f"gap-pvalues {lead}")
    return [float(m.release(scores, rng=source).p_value or 1.0) for _ in range(trials)]


def run(setting: Setting) -> Result:
    trials = setting.pick(60, 2_500, 50_000)
    grid = np.linspace(0.0, 1.0, 41).tolist()
    samples = {lead: np.sort(p_values(lead, trials, setting)) for lead in LEADS}
    rows: list[Row] = []
    for label, lead in ((TIED, 0), (CLEAR, 8)):
        for level in grid:
            share = float(np.searchsorted(samples[lead], level, side="right")) / trials
            rows.append({"panel": "levels", "series": label, "x": level, "share": share, "trials": trials})
    for lead in LEADS:
        share = float(np.searchsorted(samples[lead], LEVEL, side="right")) / trials
        rows.append({"panel": "power", "series": "power", "x": float(lead), "share": share, "trials": trials})
    null = next(row["share"] for row in rows if row["panel"] == "power" and row["x"] == 0)
    strong = next(row["share"] for row in rows if row["panel"] == "power" and row["x"] == LEADS[-1])
    lines = (
        Line(
            "is the winner the best? A test at 5%",
            "2 / (1 + e^g) is a p-value: g >= ln 39 = 3.66 rejects at 5%",
            f"rejects {null:.1%} of ties and {strong:.0%} of leads of {LEADS[-1]} / epsilon",
            verdict(
                null <= LEVEL + 5 * (LEVEL * (1 - LEVEL) / trials) ** 0.5,
                "valid given who won: the test costs nothing beyond the selection",
            ),
        ),
    )
    caption = f"{RIVALS} candidates, epsilon = {EPSILON:g}, counts; {trials:,} releases each. Scores are made up."
    return Result(columns_of(rows), lines, caption)


def draw(columns: Columns) -> Figure:
    figure, axes = canvas(1, 2)
    left, right = axes[0]
    left.plot([0, 1], [0, 1], color="#94a3b8", linestyle=":")
    for label, colour in ((TIED, THEIRS), (CLEAR, OURS)):
        curve(left, rows_of(columns, panel="levels", series=label), "x", "share", color=colour, label=label)
    name(left, "How often the p-value is at most", "level", "share of releases")
    left.set(xlim=(0, 1), ylim=(0, 1.02))
    legend(left, loc="lower right")
    curve(right, rows_of(columns, panel="power"), "x", "share", color=OURS, marker="o")
    right.axhline(LEVEL, color="#94a3b8", linestyle=":")
    right.set_ylim(0, 1.02)
    name(right, "Power of the test at 5%", "lead of the best, in units of 1 / epsilon", "share of releases that reject")
    return figure


EXPERIMENT = Experiment(
    name="gap-pvalues",
    paper=FREE_GAP,
    shows="figure 9",
    title="Is the winner really the best?",
    question="Can the released gap show that the winner has the largest score?",
    see="The tied case stays below the diagonal, so the test is valid; the clear case rises at once.",
    claim="The gap of the exponential mechanism gives a valid p-value for the winner being the best.",
    run=run,
    draw=draw,
)
