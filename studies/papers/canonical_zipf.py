"""Canonical paper, figures 2 and 3: Zipf scores from flat to steep, and epsilon from small to large."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats
from shortlist.scores import Scores
from studies.papers.contest import COLOURS, DASHES, ENTRANTS, NEW, OLD, OURS
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
from studies.papers.figures import Row, canvas, columns_of, curve, distinct, legend, log_axis, name, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ITEMS, TOTAL, SIZES, EPSILON, SKEW = 10_000, 1.5e8, (10, 100, 1000), 1.0, 0.04
SHOWN = (*OLD, *NEW, OURS)
BY_SKEW, BY_EPSILON = "figure 2", "figure 3"


def scores(skew: float, items: int) -> Floats:
    """1.5e8 i^-s / sum of all i^-s, i = 1 .. d."""
    weights = np.arange(1.0, items + 1) ** -skew
    result: Floats = TOTAL * weights / weights.sum()
    return result


def _chances(panel: str, x: float, skew: float, epsilon: float, k: int, items: int) -> list[Row]:
    data = Scores(scores(skew, items), monotone=True)
    result = {label: ENTRANTS[label](k, epsilon).quality(data) for label in SHOWN}
    return [
        {"panel": panel, "x": x, "k": k, "mechanism": label, "top": quality.top, "good": quality.good}
        for label, quality in result.items()
    ]


def run(setting: Setting) -> Result:
    items, sizes = setting.pick(30, ITEMS, ITEMS), setting.pick((10,), SIZES, SIZES)
    skews = sorted({*np.geomspace(1e-3, 1.0, setting.pick(1, 13, 41)).tolist(), SKEW})
    epsilons = np.geomspace(1e-2, 10.0, setting.pick(1, 13, 41)).tolist()
    rows = [row for k in sizes for s in skews for row in _chances(BY_SKEW, s, s, EPSILON, k, items)]
    rows += [row for k in sizes for e in epsilons for row in _chances(BY_EPSILON, e, SKEW, e, k, items)]
    return Result(
        columns_of(rows), f"{items:,} scores 1.5e8 i^-s / sum, made by this formula as in the paper. Exact laws."
    )


def _pairs(columns: Columns, panel: str, k: int, measure: str) -> list[tuple[float, float, float]]:
    """(x, the better classical chance, the better new one) along a panel."""
    result: dict[float, dict[str, float]] = {}
    for row in rows_of(columns, panel=panel, k=k):
        result.setdefault(row["x"], {})[row["mechanism"]] = row[measure]
    return [(x, max(at[one] for one in OLD), max(at[one] for one in NEW)) for x, at in sorted(result.items())]


def _most(pairs: list[tuple[float, float, float]]) -> float:
    """The largest ratio of new to old where the new one is right at least half the time."""
    return max((new / max(old, 1e-300) for _, old, new in pairs if new >= 0.5), default=0.0)


def _times(ratio: float) -> str:
    return f"{ratio:.3g}" if ratio < 1e6 else "over a million"


def judge_many(columns: Columns) -> Finding:
    """Many times: at least three times somewhere, and nowhere behind by more than a hundredth."""
    ratios = {k: _most(_pairs(columns, BY_SKEW, k, "top")) for k in distinct(columns, "k") if k > 10}
    behind = [x for k in ratios for x, old, new in _pairs(columns, BY_SKEW, k, "top") if new < old - 0.01]
    ours = "; ".join(f"k = {k}: up to {_times(ratio)} times" for k, ratio in ratios.items())
    if not ratios:
        return Finding("not comparable", "not run", "only k = 10 was run")
    return held(min(ratios.values()) >= 3 and not behind, ours, "the better of each pair, where the new one is right "
                f"at least half the time; many times is taken as three; behind at {len(behind)} skews")  # fmt: skip


def judge_ten(columns: Columns) -> Finding:
    """The caption of figure 3: at epsilon 1 and s = 0.04 or more all four find the top 10 with 99.9%."""
    result = [
        row for row in rows_of(columns, panel=BY_SKEW, k=10) if row["x"] >= SKEW and row["mechanism"] in (*OLD, *NEW)
    ]
    worst = min(result, key=lambda row: row["top"])
    return held(worst["top"] >= 0.999, f"least: {worst['top']:.5f}, {worst['mechanism']}, at s = {worst['x']:g}",
                f"exact, over {len({row['x'] for row in result})} skews")  # fmt: skip


def judge_small(columns: Columns) -> Finding:
    ratio = _most(_pairs(columns, BY_EPSILON, 10, "top"))
    return held(ratio >= 2, f"up to {_times(ratio)} times as likely to be right", "the better of each pair, where the "
                "new one is right at least half the time; much larger is taken as twice")  # fmt: skip


def judge_good(columns: Columns) -> Finding:
    """Good sets: ahead somewhere, behind nowhere, and by less than for top sets."""
    gains = {
        measure: [
            new - old
            for panel in (BY_SKEW, BY_EPSILON)
            for k in distinct(columns, "k")
            for _, old, new in _pairs(columns, panel, k, measure)
        ]
        for measure in ("top", "good")
    }
    behind = sum(gain < -0.01 for gain in gains["good"])
    lead = {measure: float(np.mean(gain)) for measure, gain in gains.items()}
    holds = behind == 0 and 0 < lead["good"] < lead["top"]
    verdict: Verdict = "confirmed" if holds else "corrected" if lead["good"] > 0 else "contradicted"
    return Finding(
        verdict,
        f"mean lead {lead['good']:.3f} for good sets, {lead['top']:.3f} for top sets; behind by "
        f"more "
        f"than 0.01 at {behind} of {len(gains['good'])} points",
        "the better of each pair, at every k, skew and epsilon drawn",
    )


def draw(columns: Columns) -> Figure:
    sizes = distinct(columns, "k")
    figure, axes = canvas(4, len(sizes), (3.7 * len(sizes) + 0.8, 10.4), sharey=True)
    panels = ((BY_SKEW, "top"), (BY_SKEW, "good"), (BY_EPSILON, "top"), (BY_EPSILON, "good"))
    for line, (panel, measure) in zip(axes, panels, strict=True):
        for ax, k in zip(line, sizes, strict=True):
            for label in SHOWN:
                curve(ax, rows_of(columns, panel=panel, k=k, mechanism=label), "x", measure, color=COLOURS[label],
                      linestyle=DASHES.get(label, "-"), linewidth=1.6, label=label)  # fmt: skip
            log_axis(ax)
            ax.set_ylim(-0.03, 1.03)
            fixed = f"epsilon = {EPSILON:g}" if panel == BY_SKEW else f"s = {SKEW:g}"
            name(
                ax,
                f"k = {k}, {fixed}: {measure}",
                "s" if panel == BY_SKEW else "epsilon",
                "chance" if k == sizes[0] else "",
            )
    legend(axes[0, 0], loc="lower right")
    return figure


FACTS = {"d": ITEMS, "sum of scores": TOTAL, "k": SIZES, "measure": ("top", "good"), "competitors": (*OLD, *NEW)}
BECAUSE = {"competitors": "one of ours is drawn beside the paper's four, dashed",
           "law": "the classical mechanisms have exact laws too"}  # fmt: skip
DRAWN = {"law": "10,000 draws for the classical mechanisms"}
FIGURE_2 = Exhibit(
    place="figure 2", about="Zipf scores from flat to steep",
    theirs=FACTS | DRAWN | {"epsilon": EPSILON, "s": "0 to 1"},
    ours=lambda _: FACTS | {"competitors": SHOWN, "law": "exact for all", "epsilon": EPSILON, "s": "0.001 to 1, "
    "logarithmic"},
    because=BECAUSE | {"s": "at s = 0 all scores are equal and every set is a top set; the change happens below 0.1"},
    claims=(
        Claim("The new mechanisms find the top 100 and the top 1000 with a chance many times "
        "larger.", "section 7.2", judge_many),
        Claim("At epsilon 1 and s of at least 0.04 all four find the top 10 with at least 99.9%.", "caption of "
        "figure 3",
              judge_ten),
    ),
)  # fmt: skip
FIGURE_3 = Exhibit(
    place="figure 3", about="Zipf scores with s = 0.04, epsilon varied",
    theirs=FACTS | DRAWN | {"s": SKEW, "epsilon": "varied, range not in the text"},
    ours=lambda _: FACTS | {"competitors": SHOWN, "law": "exact for all", "s": SKEW, "epsilon": (0.01, 10.0)},
    because=BECAUSE | {"epsilon": "our range, logarithmic"},
    claims=(
        Claim("For the top 10 the lead becomes much larger when epsilon is small.", "section 7.2", judge_small),
        Claim("Good sets: the new mechanisms are ahead again, by less than for top sets.", "section 7.2", judge_good),
    ),
)  # fmt: skip
EXPERIMENT = Experiment(
    name="canonical-zipf",
    paper=CANONICAL,
    title="Zipf scores, from flat to steep",
    question="How does the chance of a top or a good set depend on the skew of the scores and on epsilon?",
    see="How far left each curve rises.",
    exhibits=(FIGURE_2, FIGURE_3),
    run=run,
    draw=draw,
)
