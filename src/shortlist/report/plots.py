"""Pictures with matplotlib. A picture of a release draws released things only."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from shortlist.release import Release

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shortlist.planning.compare import Comparison

INK = "#1f2a37"
ACCENT = "#0f766e"
SOFT = "#94a3b8"


def plot_release(release: Release, ax: Axes | None = None) -> Axes:
    """The items as a list: numbered where the order was released, and with equal marks where it was not."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(6, 1.1 + 0.34 * len(release.columns()["item"])), layout="constrained")
    rows = range(len(release.columns()["item"]))
    ax.scatter([0] * len(rows), rows, s=190 if release.ordered else 60, color=ACCENT, zorder=2)
    for row, item in enumerate(release.columns()["item"]):
        if release.ordered:
            ax.text(0, row, str(row + 1), color="white", fontsize=8, ha="center", va="center_baseline", zorder=3)
        ax.text(0.05, row, _short(str(item)), color=INK, fontsize=11, va="center_baseline")
    ax.set(xlim=(-0.05, 1), ylim=(len(rows) - 0.4, -0.6), xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    kind = "in order, best first" if release.ordered else "a set: the order says nothing"
    ax.set_title(f"{len(rows)} selected, {kind}", loc="left", color=INK, fontsize=12)
    ax.set_xlabel(
        f"{release.guarantee} for one {release.unit}, {release.mechanism}", loc="left", color=SOFT, fontsize=9
    )
    return ax


PALETTE = ("#0f766e", "#b45309", "#1d4ed8", "#be185d", "#4d7c0f", "#7c3aed", "#0e7490", "#a16207")


def plot_comparison(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """P[a true top k] over epsilon, one curve for each mechanism, named at its end."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in comparison.rows:
        curves.setdefault(row.mechanism, []).append((row.epsilon, row.top))
    for (name, points), colour in zip(curves.items(), itertools.cycle(PALETTE)):
        ax.plot(*zip(*points, strict=True), color=colour, marker="o", markersize=4, label=name)
    if comparison.limit:
        ax.plot(*zip(*comparison.limit, strict=True), color=SOFT, linestyle="--", label="no mechanism can do better")
    ax.set(xscale="log", ylim=(-0.02, 1.02), xlabel="epsilon")
    ax.set_title(f"Chance that the released set is a true top {comparison.k}", loc="left", color=INK, fontsize=12)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="#e2e8f0")
    ax.set_axisbelow(True)
    ax.legend(frameon=False, fontsize=9)
    return ax


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
