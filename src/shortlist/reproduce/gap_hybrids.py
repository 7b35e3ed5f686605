"""Free gap, figures 7 and 8: top k with a threshold pays only for what it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shortlist.mechanisms import HybridSparseVector, HybridTopK
from shortlist.reproduce.data import market, shuffled
from shortlist.reproduce.experiment import FREE_GAP, Columns, Experiment, Line, Result, Setting
from shortlist.reproduce.figures import OURS, THEIRS, Row, canvas, columns_of, curve, legend, name, rows_of
from shortlist.scores import Scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILON, K, DATA = 0.2, 16, "T40I10D100K"
KINDS = {"hybrid top k": HybridTopK, "hybrid sparse vector": HybridSparseVector}


def run(setting: Setting) -> Result:
    counts = market(DATA)
    ranks = setting.pick((4, 32), (2, 4, 8, 12, 16, 24, 32, 48, 64), tuple(range(2, 65, 2)))
    trials = setting.pick(4, 150, 3_000)
    rows: list[Row] = []
    for label, kind in KINDS.items():
        for rank in ranks:
            source = setting.source(f"gap-hybrids {label} {rank}")
            threshold = int(counts[rank - 1])
            outcomes = []
            for _ in range(trials):
                values = shuffled(counts, source)
                release = kind(threshold=threshold, k=K, epsilon=EPSILON).release(
                    Scores(values, monotone=True), rng=source
                )
                above = int(np.count_nonzero(values[release.indices] >= threshold))
                outcomes.append((len(release.items), above / max(len(release.items), 1), 1 - release.cost / EPSILON))
            means = np.mean(outcomes, axis=0).tolist()
            rows.append(
                {"mechanism": label, "above": rank, "trials": trials}
                | dict(zip(("returned", "precision", "left"), means, strict=True))
            )
    few = min(ranks)
    left = {row["mechanism"]: row["left"] for row in rows if row["above"] == few}
    lines = (
        Line(
            f"budget left when {few} of k = {K} asked for are above the threshold",
            "the part of the k answers that was not given",
            "; ".join(f"{label}: {share:.0%}" for label, share in left.items()),
            "a statement about the outcome: the run is epsilon-DP, and a ledger that adds up epsilons may "
            "take the rest back. Where the threshold ends the list our top k pays half a share less than printed "
            "for general scores",
        ),
    )
    caption = f"k = {K}, epsilon = {EPSILON}. Data: GENERATED Zipf counts of the size of {DATA}, in random order."
    return Result(columns_of(rows), lines, caption, generated=True)


def draw(columns: Columns) -> Figure:
    figure, axes = canvas(1, 3)
    panels = (("returned", "Items returned"), ("precision", "Precision"), ("left", "Budget left"))
    for ax, (column, title) in zip(axes[0], panels, strict=True):
        for label, colour in zip(KINDS, (OURS, THEIRS), strict=True):
            curve(
                ax,
                rows_of(columns, mechanism=label),
                "above",
                column,
                color=colour,
                marker="o",
                markersize=4,
                label=label,
            )
        if column != "returned":
            ax.set_ylim(-0.02, 1.04)
        ax.axvline(K, color="#94a3b8", linestyle=":")
        name(ax, title, "items truly above the threshold", "")
    legend(axes[0, 0], loc="lower right")
    return figure


EXPERIMENT = Experiment(
    name="gap-hybrids",
    paper=FREE_GAP,
    shows="figures 7 and 8",
    title="At most k, and only what is above a line",
    question="If fewer than k items are worth returning, what comes back of the budget?",
    see="Left of the dotted line (k) fewer items come back and the rest of the budget with them.",
    claim="The hybrids of top k and sparse vector return the items above the threshold and charge for these alone.",
    run=run,
    draw=draw,
)
