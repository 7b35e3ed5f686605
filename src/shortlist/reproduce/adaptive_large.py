"""Adaptive k, figure 1 (right): a cliff behind rank k, and k larger and larger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shortlist.mechanisms import OneshotTopK, StableTopK
from shortlist.mechanisms.canonical_limited.law import canonical_limited_domain
from shortlist.mechanisms.canonical_limited.mechanism import GAMMA
from shortlist.mechanisms.plan_rows import recall_of
from shortlist.pages.plots import PALETTE
from shortlist.privacy import ApproxDP
from shortlist.reproduce.adaptive_fixed import CANONICAL, COLOURS, LISTS, PUBLIC, list_recall
from shortlist.reproduce.experiment import ADAPTIVE, Columns, Experiment, Line, Result, Setting, verdict
from shortlist.reproduce.figures import Row, canvas, columns_of, curve, legend, log_axis, name, rows_of
from shortlist.scores import Scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILON, DELTA, HEIGHT, LABELS = 0.15, 1e-6, 700, 20_000
ADAPTIVE_K = "stable set, k by the gaps"


def run(setting: Setting) -> Result:
    rows: list[Row] = []
    budget = ApproxDP(EPSILON, DELTA)
    for k in setting.pick((10,), (10, 30, 100, 300), (10, 30, 100, 300, 1000)):
        values = np.where(np.arange(setting.pick(1_500, LABELS, LABELS)) < k, HEIGHT, 0)
        scores = Scores(values, monotone=True)
        sets = StableTopK(budget=budget, limit=max(1000, 2 * k)).release_many(
            scores, draws=setting.pick(3, 20, 200), rng=setting.source(f"adaptive-large {k}")
        )
        right = (sets.indices >= 0) & (sets.indices < k)
        stable = float(np.count_nonzero(right) / (k * len(right)))
        for mechanism, recall in {
            ADAPTIVE_K: stable,
            CANONICAL: canonical_limited_domain(values, k, EPSILON, DELTA, 2 * k, float(GAMMA)).recall,
            LISTS: list_recall(values, k, budget),
            PUBLIC: recall_of(OneshotTopK(k=k, budget=budget, noise="gumbel"), scores),
        }.items():
            rows.append({"k": k, "mechanism": mechanism, "recall": recall})
    most = max(row["k"] for row in rows)
    at = {row["mechanism"]: row["recall"] for row in rows if row["k"] == most}
    lines = (
        Line(
            f"a cliff of {HEIGHT} behind rank {most}, epsilon = {EPSILON}, delta = 1e-6",
            "the adaptive k returns the whole plateau at a cost that does not depend on k",
            "; ".join(f"{mechanism} {recall:.2f}" for mechanism, recall in at.items()) + " (recall)",
            verdict(
                at[ADAPTIVE_K] >= 0.99,
                "for a cliff: the test needs a gap of about 17 / epsilon for any k; no public fact tells whether there "
                "is one, so it is chosen by name only",
            ),
        ),
    )
    caption = f"k labels held by {HEIGHT} users each and the rest by none: GENERATED, as in the paper. No public list."
    return Result(columns_of(rows), lines, caption, generated=False)


def draw(columns: Columns) -> Figure:
    figure, axes = canvas(1, 1, (6.2, 4.2))
    ax = axes[0, 0]
    for mechanism, colour in {ADAPTIVE_K: PALETTE[1], **COLOURS}.items():
        rows = rows_of(columns, mechanism=mechanism)
        if rows:
            style = ":" if mechanism == PUBLIC else "-"
            curve(ax, rows, "k", "recall", color=colour, linestyle=style, marker="o", markersize=4, label=mechanism)
    log_axis(ax)
    ax.set_ylim(-0.02, 1.04)
    name(ax, f"A cliff of {HEIGHT} behind rank k, epsilon = {EPSILON}", "k", "recall")
    legend(ax, loc="lower left", bbox_to_anchor=(0.0, 0.12))
    return figure


EXPERIMENT = Experiment(
    name="adaptive-large",
    paper=ADAPTIVE,
    shows="figure 1, large k",
    title="A cliff, and k without end",
    question="If the counts fall off behind rank k, what does it take to name all k?",
    see="The line that stays at the top while the others fall with k.",
    claim="With a large gap the cost of the top k does not depend on k.",
    run=run,
    draw=draw,
)
