"""A picture of a plan: what each mechanism costs, or how far it gets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from shortlist.pages.plots import DARK, INK, PALE, SOFT, inks, log_ticks, new_axes, palette
from shortlist.pages.rounding import bound_text, chance_text, cost_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shortlist.planning.answer import Plan

BUDGETS = {"pure": 0, "zcdp": 1, "approx": 2}
"""Their places in the palette."""
REACHED = {
    "top": "chance of exactly the true top k",
    "great": "chance of a great set",
    "good": "chance of a good set",
    "recall": "expected share of the true top k",
}
"""The goals, in words that fit under an axis."""


def plot_plan(plan: Plan, ax: Axes | None = None) -> Axes:
    """One dot for each row, best on top, coloured by budget; the bound and the collapse point as lines."""
    rows = [row for row in plan.rows if math.isfinite(row.epsilon) and row.epsilon > 0]
    if ax is None:
        ax = new_axes(8, 1.6 + 0.3 * max(len(rows), 3))
    by_cost, ink, colours = plan.target is not None, inks(ax)[0], palette(ax)
    for place, row in enumerate(rows):
        x = row.epsilon if by_cost else row.reached
        filled = row.domain == "known"
        ax.plot(
            x, place, "o", color=colours[BUDGETS[row.budget]], markersize=7, markerfacecolor=None if filled else "none"
        )
        text = cost_text(x) if by_cost else chance_text(x)
        ax.annotate(text, (x, place), (8, 0), textcoords="offset points", va="center", fontsize=8, color=ink)
    ax.set_yticks(range(len(rows)), [f"{row.mechanism} ({row.budget})" for row in rows], fontsize=9)
    ax.invert_yaxis()
    if by_cost:
        log_ticks(ax)
        for value, label, style in (
            (plan.bound, "lower bound", "--"),
            (plan.collapse, "collapse point", ":"),
        ):
            if value is not None and 0 < value < math.inf:
                ax.axvline(value, color=SOFT, linestyle=style, label=f"{label} {bound_text(value)}")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, fontsize=8, loc="upper right")
    title = f"Epsilon for {plan.goal} {plan.target:g}: {plan.described}" if by_cost else f"How good: {plan.described}"
    ax.set_title(title, loc="left", color=ink, fontsize=11)
    hollow = " (hollow: candidates from the data)" if any(row.domain != "known" for row in rows) else ""
    ax.set_xlabel(("epsilon" if by_cost else REACHED[plan.goal]) + hollow, color=ink, fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="x", color=PALE if ink == INK else DARK)
    ax.set_axisbelow(True)
    if by_cost:
        ax.margins(x=0.12)
    else:
        ax.set(xlim=(0, 1.12), xticks=[0, 0.25, 0.5, 0.75, 1])  # chances, however close together they are
    return ax
