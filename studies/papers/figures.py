"""One look for all figures: quiet axes, named curves, and the same colour for the same mechanism everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from shortlist.pages.plots import INK, PALETTE, SOFT
from studies.papers.experiment import Columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS, THEIRS, OTHER, BOUND = PALETTE[0], PALETTE[1], PALETTE[2], SOFT
"""Ours, the paper's, a competitor, and what no mechanism can pass."""

Row = dict[str, Any]


def canvas(
    rows: int = 1, columns: int = 1, size: tuple[float, float] | None = None, **shared: Any
) -> tuple[Figure, Any]:
    """A figure and its array of axes, rows by columns, without touching pyplot's state."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size or (4.6 * columns + 0.4, 3.6 * rows + 0.3), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **shared)
    for ax in axes.flat:
        tidy(ax)
    return figure, axes


def tidy(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(SOFT)
    ax.tick_params(colors=INK, labelsize=8)
    ax.grid(axis="y", color="#e2e8f0", linewidth=0.7)
    ax.set_axisbelow(True)


def name(ax: Axes, title: str, x: str = "", y: str = "") -> None:
    ax.set_title(title, loc="left", color=INK, fontsize=10)
    ax.set_xlabel(x, color=INK, fontsize=9)
    ax.set_ylabel(y, color=INK, fontsize=9)


def stamp(figure: Figure, made_up: tuple[str, ...]) -> None:
    """Say on the picture itself that made-up data stands in for the paper's."""
    if made_up:
        figure.suptitle(
            f"MADE-UP DATA in place of {', '.join(made_up)}", color=PALETTE[1], fontsize=10, x=0.01, ha="left"
        )


def legend(ax: Axes, **where: Any) -> None:
    ax.legend(frameon=False, fontsize=8, **where)


def rows_of(columns: Columns, **filters: Any) -> list[Row]:
    """The rows that have these values."""
    names = list(columns)
    rows = (dict(zip(names, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
    return [row for row in rows if all(row[key] == value for key, value in filters.items())]


def columns_of(rows: Iterable[Row]) -> Columns:
    """A list of rows with the same keys as a table."""
    listed = list(rows)
    return {key: [row[key] for row in listed] for key in listed[0]}


def distinct(columns: Columns, column: str) -> list[Any]:
    """The values of a column in the order of their first appearance."""
    return list(dict.fromkeys(columns[column]))


def curve(ax: Axes, rows: list[Row], x: str, y: str, **style: Any) -> None:
    ax.plot([row[x] for row in rows], [row[y] for row in rows], **style)


def log_axis(ax: Axes, which: str = "x") -> None:
    """A logarithmic axis whose labels are plain numbers, few enough to be read."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis = ax.xaxis if which == "x" else ax.yaxis
    (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    low, high = sorted(axis.get_view_interval())
    wide = high > 200 * low
    axis.set_major_locator(LogLocator(base=10, subs=(1.0,) if wide else (1.0, 2.0, 5.0), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))
    axis.set_minor_formatter(NullFormatter())


def _plain(value: float) -> str:
    """0.001, 20, 5,000; beyond a hundred thousand and below a ten-thousandth as a power of ten."""
    from math import floor, log10

    if 1e-4 <= value < 1e5:
        return f"{value:,.0f}" if value >= 1000 else f"{value:g}"
    power = floor(log10(value) + 1e-9)
    return f"$10^{{{power}}}$" if round(value / 10.0**power) == 1 else ""
