"""Pictures of releases, comparisons and plans."""

from __future__ import annotations

import itertools
import math
import os
import warnings
from collections.abc import Iterator
from functools import lru_cache
from textwrap import fill
from typing import TYPE_CHECKING, Any, cast
from unicodedata import bidirectional

from shortlist._runtime import MissingPackageError
from shortlist._text import terminal_safe
from shortlist.errors import PrivacyWarning
from shortlist.pages import summary
from shortlist.pages.texts import width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from shortlist.planning.comparison import Comparison
    from shortlist.planning.plans import Plan
    from shortlist.release import GroupedRelease, Release


INK = "#1f2a37"
ACCENT = "#0f766e"
SOFT = "#94a3b8"
FINE = "#64748b"
PALE = "#e2e8f0"
DARK = "#334155"
PANELS = 12
"""Groups that are drawn."""
SHORT, LONGEST = 24, 60
"""Letters of a name that a picture has room for, and for which it makes room."""
BOXES = "Last Resort"
"""A font of later versions of matplotlib that has a box for every letter: better than nothing, and than a warning."""
NO_FONT = (
    "no installed font has all letters of these names: some are drawn as boxes. Install one that has them, for example "
    "Noto Sans CJK; the names themselves are whole"
)
FROM_LEFT = "\u200e"
"""A letter that is not seen and says that a line runs from left to right."""
AS_TEXT: dict[str, Any] = {"parse_math": False, "usetex": False}
"""For words that somebody else chose: neither formulas nor, whatever the caller's settings, a program for TeX."""


def new_panels(wide: float, high: float, across: int = 1, down: int = 1) -> list[Axes]:
    """Return the axes of a new figure of that size in inches, in rows.

    Raises
    ------
    MissingPackageError
        without matplotlib, saying how to install it.
    """
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as lost:
        raise MissingPackageError("a picture needs matplotlib: pip install 'shortlist[plot]'", name=lost.name) from None
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    edge = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1)  # words do not touch that of the picture
    return list(plt.subplots(down, across, figsize=(wide, high), layout=edge, squeeze=False)[1].ravel())


def plot_release(release: Release, ax: Axes | None = None, most: int = LONGEST) -> Axes:
    """The items, best first where that was released; as bars with their margins where values were, else as a list."""
    if isinstance(ax, str | os.PathLike):
        raise TypeError('ax must be matplotlib Axes; a file is written by release.plot().figure.savefig("top10.png")')
    names = [shorten(item, most) for item in release.items or []]
    widest = max(map(width, names), default=0)
    if ax is None:
        (ax,) = new_panels(6 + 0.09 * max(0, widest - SHORT), 1.1 + 0.34 * len(names))
    ink, soft = inks(ax)
    fonts = {**AS_TEXT, "fontfamily": families("".join(names))}
    draw = _draw_bars if release.values is not None and release.q is None else _draw_list
    draw(ax, release, names, ink, fonts)
    ax.spines[:].set_visible(False)
    ax.set_title(_title(release), loc="left", color=ink, fontsize=12)
    promise = [
        "" if release.secure else "NOT PRIVATE, drawn with a seed",
        "lines at the ends: 95%" if release.margins else "",
        shorten(f"{summary.in_short(release.guarantee)} for one {release.unit}, {release.mechanism}", 160),
        "an epsilon above 10 promises little" if summary.caution(release.guarantee) else "",
        "ranks and values disagree where items are too close to tell" if summary.disagree(release) else "",
    ]
    beside = min(SHORT, widest) if release.values is not None else 0  # names stand left of the bars
    ax.set_xlabel(fill("; ".join(filter(None, promise)), 74 - beside), loc="left", color=soft, fontsize=9, **AS_TEXT)
    return ax


def _title(release: Release) -> str:
    many = len(release)
    if release.q is not None:
        return "1 quantile" if many == 1 else f"{many} quantiles"
    if many < 2:
        return "1 selected" if many else "Nothing could be released"
    kind = f"in order, {summary.first_of(release)} first" if release.ordered else "a set: the order says nothing"
    return f"{many} {'smallest' if release.largest is False else 'selected'}, {kind}"


def _draw_list(ax: Axes, release: Release, names: list[str], ink: str, fonts: dict[str, Any]) -> None:
    """Numbered where the order was released, and with equal marks where it was not."""
    rows = range(len(names))
    ranked = release.ordered and release.q is None and len(names) > 1
    ax.scatter([0] * len(rows), rows, s=190 if ranked else 60, color=ACCENT, zorder=2)
    for row, name in enumerate(names):
        if ranked:
            ax.text(0, row, str(row + 1), color="white", fontsize=8, ha="center", va="center_baseline", zorder=3)
        name = name if release.q is None else f"{summary.quantile_in_words(release.q[row])} {name}"
        beside = f"  (leads by {release.gaps[row]:,.4g})" if release.gaps and row < len(release.gaps) else ""
        ax.text(0.05, row, _beside("", name) + beside, color=ink, fontsize=11, va="center_baseline", **fonts)
    ax.set(xlim=(-0.05, 1), ylim=(len(rows) - 0.4, -0.6), xticks=[], yticks=[])


def _draw_bars(ax: Axes, release: Release, names: list[str], ink: str, fonts: dict[str, Any]) -> None:
    """One bar for each noisy value, with its margin; beside it the numbers, as they are printed."""
    rows, values = range(len(names)), list(release.values or ())
    margins = [margin.half_width for margin in release.margins or ()]
    shown = release.texts()["value"]
    ends = [max(value, 0.0) + (margins[row] if margins else 0.0) for row, value in enumerate(values)]
    ax.barh(rows, values, color=ACCENT, height=0.62)
    if margins:
        ax.errorbar(values, rows, xerr=margins, fmt="none", ecolor=ink, elinewidth=1, capsize=2.5)
    for row, end in enumerate(ends):
        words = shown[row].removesuffix(" (95%)")
        ax.annotate(words, (end, row), (5, 0), textcoords="offset points", color=ink, fontsize=9, va="center")
    marks = [_beside(f"{row + 1}  ", name) if release.ordered else name for row, name in enumerate(names)]
    ax.set_yticks(rows, marks, color=ink, fontsize=11, **fonts)
    ax.tick_params(length=0)
    low, high = min([0.0, *values]), max([1.0, *ends])
    ax.set(xlim=(low * 1.2, high * 1.45), ylim=(len(rows) - 0.4, -0.6), xticks=[])


def _beside(rank: str, name: str) -> str:
    """A rank to the left of its name, in every script: a line that begins with Arabic letters would run to the left."""
    first = next((kind for kind in map(bidirectional, name) if kind in ("L", "R", "AL")), "L")
    return rank + name if first == "L" else f"{FROM_LEFT}{rank}{name}"


def inks(ax: Axes) -> tuple[str, str]:
    """Colours of text and of fine print that can be read on the ground of these axes, light or dark."""
    from matplotlib.colors import to_rgba

    red, green, blue, opaque = to_rgba(ax.figure.get_facecolor())
    return (INK, FINE) if 0.3 * red + 0.6 * green + 0.1 * blue > 0.5 or not opaque else (PALE, SOFT)


@lru_cache(maxsize=64)
def families(text: str) -> list[str]:
    """Installed fonts that have all letters of a text between them, as far as there are any: its own first."""
    from matplotlib import font_manager, rcParams

    own, fonts = list(rcParams["font.family"]), font_manager.fontManager.ttflist
    missing = set(map(ord, text)) - _letters(font_manager.findfont(font_manager.FontProperties(family=own)))
    more: dict[str, None] = {}
    for file in _files() if missing else ():
        if has := missing & _letters(file):
            if all(font.fname != file for font in fonts):
                font_manager.fontManager.addfont(file)
            more[next(font.name for font in fonts if font.fname == file)] = None
            missing -= has
        if not missing:
            break
    if missing - set(map(ord, " \n")):
        warnings.warn(NO_FONT, PrivacyWarning, stacklevel=4)
    boxes = [font.name for font in fonts if missing and font.name.startswith(BOXES)]
    return [*own, *more, *boxes]


def _files() -> Iterator[str]:
    """Of installed fonts, plain ones first; then of those that are newer than matplotlib's list, which it keeps."""
    from matplotlib import font_manager

    listed = {font.fname: font.name for font in font_manager.fontManager.ttflist}
    plain = [file for file, name in listed.items() if not name.startswith(BOXES)]
    yield from sorted(plain, key=lambda file: ("Sans" not in listed[file], file))
    newer = set(font_manager.findSystemFonts()) - listed.keys()
    yield from sorted(newer, key=lambda file: ("Sans" not in file, "Regular" not in file, file))


@lru_cache(maxsize=4096)
def _letters(file: str) -> frozenset[int]:
    from matplotlib.ft2font import FT2Font

    try:
        font = FT2Font(file)
    except (RuntimeError, OSError):  # a font that cannot be read has none
        return frozenset()
    return frozenset(font.get_charmap() if font.scalable else ())  # matplotlib refuses coloured pictures of letters


def plot_groups(release: GroupedRelease) -> list[Axes]:
    """One panel for each of the first groups, side by side, and the promise that holds for all of them."""
    first = list(release.items())[:PANELS]
    across = min(3, len(first)) or 1
    down = -(-len(first) // across) or 1
    tallest = max((len(one) for _, one in first), default=0)
    panels = new_panels(3.6 * across, 0.7 + (0.9 + 0.34 * tallest) * down, across, down)
    for ax, (key, one) in zip(panels, first, strict=False):
        plot_release(one, ax, SHORT)
        name = shorten(key, SHORT)
        ax.set_title(name, loc="left", color=inks(ax)[0], fontsize=12, fontfamily=families(name), **AS_TEXT)
        ax.set(xlabel="", ylim=(tallest - 0.4, -0.6))
    bars = [ax for ax, (_, one) in zip(panels, first, strict=False) if one.values is not None and one.q is None]
    ends = [ax.get_xlim() for ax in bars]
    for ax in bars:  # one scale: bars are compared with those beside them
        ax.set_xlim(min(low for low, _ in ends), max(high for _, high in ends))
    for ax in panels[len(first) :]:
        ax.set_visible(False)
    more = f"; {len(release) - len(first)} more groups are not drawn" if len(release) > len(first) else ""
    seeded = "" if all(one.secure for one in release.values()) else "NOT PRIVATE, drawn with a seed; "
    promise = shorten(f"{seeded}{summary.in_short(release.guarantee)} for one {release.unit} in all groups{more}", 160)
    panels[0].figure.suptitle(promise, x=0.02, ha="left", color=inks(panels[0])[1], fontsize=9, **AS_TEXT)
    return panels[: len(first)]


PALETTE = ("#0f766e", "#b45309", "#1d4ed8", "#be185d", "#4d7c0f", "#7c3aed", "#0e7490", "#a16207")
ON_DARK = ("#4fd1c0", "#f0a35a", "#8ab1ff", "#f58cb9", "#a8d25f", "#c0a2ff", "#67cfe6", "#e3bd5c")
"""The same colours for a dark ground, as pages have them."""


def palette(ax: Axes) -> tuple[str, ...]:
    """Colours of lines and dots that can be told from the ground of these axes."""
    return PALETTE if inks(ax)[0] == INK else ON_DARK


def plot_comparison(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """P[a true top k] over epsilon, one curve for each mechanism, named at its end."""
    if ax is None:
        (ax,) = new_panels(7.5, 4.5)
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in comparison.rows:
        curves.setdefault(row.mechanism, []).append((row.epsilon, row.top))
    for (name, points), colour in zip(curves.items(), itertools.cycle(palette(ax))):
        ax.plot(*zip(*points, strict=True), color=colour, marker="o", markersize=4, label=name)
    if comparison.limit:
        ax.plot(*zip(*comparison.limit, strict=True), color=SOFT, linestyle="--", label="no mechanism can do better")
    log_ticks(ax)
    ax.set(ylim=(-0.02, 1.02), xlabel="epsilon")
    _finish(ax, f"Chance that the released set is a true top {comparison.k}", inks(ax)[0], "y")
    ax.legend(frameon=False, fontsize=9)
    return ax


def log_ticks(ax: Axes) -> None:
    """A logarithmic axis with numbers that are read at a glance, and not too close together."""
    from matplotlib.ticker import LogLocator, NullLocator

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_locator(NullLocator())


def shorten(item: object, most: int) -> str:
    """A label on one line, without what a picture cannot show; several columns side by side.

    Of a long one the beginning and the end: long names often differ in the end alone.
    """
    text = terminal_safe(", ".join(map(str, item)) if isinstance(item, tuple) else str(item))
    end = most // 3
    return text if len(text) <= most else f"{text[: most - 1 - end]}…{text[-end:]}"


def _finish(ax: Axes, title: str, ink: str, lines: str) -> None:
    """A title, and lines behind what is drawn, across one axis."""
    ax.set_title(title, loc="left", color=ink, fontsize=12 if lines == "y" else 11)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=cast(Any, lines), color=PALE if ink == INK else DARK)
    ax.set_axisbelow(True)


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
        (ax,) = new_panels(8, 1.6 + 0.3 * max(len(rows), 3))
    by_cost, ink, colours = plan.target is not None, inks(ax)[0], palette(ax)
    for place, row in enumerate(rows):
        x = row.epsilon if by_cost else row.reached
        face = None if row.domain == "known" else "none"
        ax.plot(x, place, "o", color=colours[BUDGETS[row.budget]], markersize=7, markerfacecolor=face)
        text = summary.cost_text(x) if by_cost else summary.chance_text(x)
        ax.annotate(text, (x, place), (8, 0), textcoords="offset points", va="center", fontsize=8, color=ink)
    ax.set_yticks(range(len(rows)), [f"{row.mechanism} ({row.budget})" for row in rows], fontsize=9)
    ax.invert_yaxis()
    if by_cost:
        log_ticks(ax)
        for value, label, style in ((plan.bound, "lower bound", "--"), (plan.collapse, "collapse point", ":")):
            if value is not None and 0 < value < math.inf:
                ax.axvline(value, color=SOFT, linestyle=style, label=f"{label} {summary.bound_text(value)}")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, fontsize=8, loc="upper right")
    title = f"Epsilon for {plan.goal} {plan.target:g}: {plan.described}" if by_cost else f"How good: {plan.described}"
    _finish(ax, title, ink, "x")
    hollow = " (hollow: candidates from the data)" if any(row.domain != "known" for row in rows) else ""
    ax.set_xlabel(("epsilon" if by_cost else REACHED[plan.goal]) + hollow, color=ink, fontsize=9)
    if by_cost:
        ax.margins(x=0.12)
    else:
        ax.set(xlim=(0, 1.12), xticks=[0, 0.25, 0.5, 0.75, 1])  # chances, however close together they are
    return ax
