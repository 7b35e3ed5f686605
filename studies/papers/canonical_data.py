"""Canonical paper, figures 1 and 5 to 10: the chance of a top and of a great set over epsilon, on six data sets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.planning.search import least_epsilon_reaching
from shortlist.scores import Scores
from shortlist.utility.lower_bound import least_epsilon, most_success
from studies.papers.contest import BOUND, COLOURS, DASHES, ENTRANTS, GUARDED, NEW, OLD, OURS
from studies.papers.data import DATA_SETS, Counts, counts, made_up
from studies.papers.experiment import (
    CANONICAL,
    Claim,
    Columns,
    Exhibit,
    Experiment,
    Finding,
    Result,
    Setting,
    Verdict,
    held,
)
from studies.papers.figures import Row, canvas, columns_of, curve, distinct, log_axis, rows_of
from studies.papers.figures import name as named

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES, SURE, MOST = (10, 100, 1000), 0.99, 1e4
FIGURES = {"netflix": ("figure 1", "figure 5"), "patent": ("figure 6",), "searchlogs": ("figure 7",),
           "medcost": ("figure 8",), "income": ("figure 9",), "hepth": ("figure 10",)}  # fmt: skip
PRINTED = {10: 6.0, 100: 34.0, 1000: 81.0}
"""How many times more epsilon the classical methods need on Netflix, section 7.1."""

REACH = {10: 60.0, 100: 300.0, 1000: 3000.0}
"""The grid of epsilons ends at so many times the lower bound, where peeling arrives."""

QUALITIES = ("top", "great", "good")
SHOWN = (*OLD, *NEW, OURS, GUARDED)


def study(data: Counts, k: int, points: int, search: bool = True) -> list[Row]:
    """Exact qualities on a grid around the lower bound, and where top and great sets are sure at 99%."""
    scores = Scores(data.values, monotone=True)
    middle = max(least_epsilon(data.values, k, 0.9), 1e-4)
    coarse = middle * np.geomspace(0.3, REACH.get(k, 100.0), points)
    near = middle * np.geomspace(0.3, 6.0, 3 * points)
    rows: list[Row] = []

    def add(label: str, epsilon: float, top: float, great: float, good: float) -> None:
        rows.append({"data": data.title, "made_up": not data.real, "k": k, "mechanism": label, "epsilon": epsilon}
                    | {"top": top, "great": great, "good": good})  # fmt: skip

    for label in SHOWN:
        grid = coarse if label in (*OLD, GUARDED) else np.union1d(coarse, near)
        sure = [_needed(label, scores, k, quality, middle) for quality in ("top", "great")] if search else []
        for epsilon in sorted({*grid.tolist(), 1.0, *(one for one in sure if one < math.inf)}):
            quality = ENTRANTS[label](k, epsilon).quality(scores)
            add(label, epsilon, quality.top, quality.great, quality.good)
    epsilons = (middle * np.geomspace(0.1, 10.0, 3 * points)).tolist()
    for epsilon, most in zip(epsilons, most_success(data.values, k, epsilons), strict=True):
        add(BOUND, epsilon, most, 1.0, 1.0)
    return rows


def _needed(label: str, scores: Scores, k: int, quality: str, start: float) -> float:
    """The epsilon at which that quality reaches 99%, from above, to a part in 200."""
    if label in (OURS, GUARDED):
        return math.inf
    result = least_epsilon_reaching(
        lambda epsilon: getattr(ENTRANTS[label](k, epsilon).quality(scores), quality), SURE, start=start, width=5e-3
    )
    return result if result < MOST else math.inf


def run_of(which: str) -> Any:
    def run(setting: Setting) -> Result:
        data = counts(which, setting)
        if setting.effort == "small":
            data = Counts(which, data.values[:30], data.real)
        rows: list[Row] = []
        for k in setting.pick((10,), SIZES, SIZES):
            rows += study(data, k, setting.pick(1, 9, 33), search=setting.effort != "small")
        caption = (
            f"{data.title}, {len(data.values):,} items, counts, add or remove one user. Exact laws, no simulation."
        )
        return Result(columns_of(rows), caption, made_up(data))

    return run


def needs(columns: Columns, quality: str) -> dict[int, dict[str, float]]:
    """By k and mechanism: the least epsilon of the table at which the quality is at least 99%; infinite if none is."""
    result: dict[int, dict[str, float]] = {}
    for row in rows_of(columns):
        at = result.setdefault(row["k"], {}).setdefault(row["mechanism"], math.inf)
        if row[quality] >= SURE and row["epsilon"] < at:
            result[row["k"]][row["mechanism"]] = row["epsilon"]
    return result


def _ratios(columns: Columns, quality: str) -> dict[int, float]:
    """By k: the better classical mechanism's epsilon over the better new one's; NaN if neither gets there."""
    result = {}
    for k, at in needs(columns, quality).items():
        old, new = min(at[label] for label in OLD), min(at[label] for label in NEW)
        result[k] = math.nan if math.inf in (old, new) and old == new else old / new
    return result


def _listed(ratios: dict[int, float]) -> str:
    def shown(ratio: float) -> str:
        if math.isnan(ratio):
            return f"neither gets there below {MOST:,.0f}"
        return "no number" if math.isinf(ratio) else f"{ratio:.3g}"

    return "; ".join(f"k = {k}: {shown(ratio)}" for k, ratio in ratios.items())


def judge_ahead(quality: str, columns: Columns, vast: float = 1.0) -> Finding:
    """The new ones need less at every k; a vast improvement is one of at least so many times."""
    ratios = _ratios(columns, quality)
    told = [ratio for ratio in ratios.values() if not math.isnan(ratio)]
    ahead = bool(told) and min(told) > 1 and min(told) >= vast
    verdict: Verdict = "confirmed" if ahead else "contradicted" if told else "not comparable"
    ours = f"the better classical one over the better new one, epsilon for a 99% chance: {_listed(ratios)}"
    why = "exact; ties at rank k count as equal" + (f"; vast is taken as {vast:g} times" if vast > 1 else "")
    return Finding(verdict, ours, why)


def judge_ratios(columns: Columns) -> Finding:
    """As large as the printed ratios, to a quarter, for some pairing of old and new at every k."""
    parts, enough = [], True
    for k, at in needs(columns, "top").items():
        pairs = {old: at[old] / min(at[new] for new in NEW) for old in OLD}
        parts.append(f"k = {k}: " + ", ".join(f"{pair:.3g} ({old})" for old, pair in pairs.items()))
        enough = enough and any(pair >= 0.75 * PRINTED[k] for pair in pairs.values())
    why = (
        "at a 99% chance of exactly the true set, over the better of the paper's two; the ratio grows with the chance, "
        "and the paper does not say at which chance it read its curves; a larger ratio is in its favour"
    )
    return held(enough, "; ".join(parts), why)


def judge_thousand(columns: Columns) -> Finding:
    """Almost surely: at least 95%."""
    at = {row["mechanism"]: row["top"] for row in rows_of(columns, k=max(columns["k"]), epsilon=1.0)}
    ours = "; ".join(f"{label}: {at[label]:.3f}" for label in NEW)
    sure = max(columns["k"]) == 1000 and min(at[label] for label in NEW) >= 0.95
    return held(sure, f"chances at epsilon 1: {ours}", "exact; almost surely is taken as 95%")


def draw(columns: Columns) -> Figure:
    sizes = distinct(columns, "k")
    figure, axes = canvas(3, len(sizes), (3.7 * len(sizes) + 2.2, 8.2), sharey=True)
    for row, quality in enumerate(QUALITIES):
        for ax, k in zip(axes[row], sizes, strict=True):
            for label in (*SHOWN, BOUND) if quality == "top" else SHOWN:
                curve(ax, rows_of(columns, k=k, mechanism=label), "epsilon", quality, color=COLOURS[label],
                      linewidth=1.6, linestyle=DASHES.get(label, "-"), label=label)  # fmt: skip
            log_axis(ax)
            ax.set_ylim(-0.03, 1.03)
            named(ax, f"k = {k}: {quality}", "epsilon" if row == 2 else "", "chance" if k == sizes[0] else "")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=8)
    return figure


NEAR = "section 7.1, figures in appendix A.2"
CLAIMS = {
    "figure 1": (
        Claim("The two new mechanisms return the true top 1000 almost surely with epsilon of at most 1.", "section 7.1",
              judge_thousand),
        Claim("The classical ones need 6, 34 and up to 81 times the epsilon at k = 10, 100 and 1000.", "section 7.1",
              judge_ratios),
    ),
    "figure 5": (Claim("For great sets too the new mechanisms are a vast improvement (the figure is given without "
    "words "
                       "of its own).", NEAR, lambda columns: judge_ahead("great", columns, 3.0)),),
}  # fmt: skip


def exhibit(which: str, place: str) -> Exhibit:
    title = DATA_SETS[which].title
    measure = {"figure 1": ("top",), "figure 5": ("great",)}.get(place, ("top", "great"))
    facts = {"d": 17_770 if which == "netflix" else 4_096, "k": SIZES, "sensitivity": 0.5, "competitors": (*OLD, *NEW)}
    alike = (
        Claim("The results are like those on Netflix: the new mechanisms need less epsilon for the true top k.", NEAR,
              lambda columns: judge_ahead("top", columns)),
        Claim("The same for great sets, as far as the figures show them.", NEAR,
              lambda columns: judge_ahead("great", columns)),
    )  # fmt: skip
    return Exhibit(
        place=place,
        about=f"{title}: the chance of a {' and a '.join(measure)} set",
        theirs=facts | {"measure": measure, "law": "10,000 draws for the classical mechanisms"},
        ours=lambda _: facts | {"competitors": SHOWN, "measure": QUALITIES, "law": "exact for all"},
        because={
            "competitors": "two of ours are drawn beside the paper's four, dashed",
            "measure": "all three measures of the paper for every data set",
            "law": "the classical mechanisms have exact laws too, so no curve has error bars",
        },
        claims=CLAIMS.get(place, alike),
        data=(which,),
    )


def experiment(which: str) -> Experiment:
    title = DATA_SETS[which].title
    return Experiment(
        name=f"canonical-{which}",
        paper=CANONICAL,
        title=f"{title}: top, great and good sets",
        question="How likely is a top, a great or a good set of k items at a given epsilon?",
        see="Curves further to the left need less epsilon; no mechanism can pass the dotted line.",
        exhibits=tuple(exhibit(which, place) for place in FIGURES[which]),
        run=run_of(which),
        draw=draw,
    )


EXPERIMENTS = tuple(experiment(which) for which in FIGURES)
NETFLIX = EXPERIMENTS[0]
