"""Free-gap paper, figure 9: how often the test rejects although the winner is not the best."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.mechanisms import ExponentialWithGap
from shortlist.pages.plots import PALETTE, SOFT
from shortlist.scores import Scores
from studies.papers.data import counts, made_up, shuffled
from studies.papers.experiment import FREE_GAP, Claim, Columns, Exhibit, Experiment, Finding, Result, Setting, held
from studies.papers.figures import Row, canvas, columns_of, curve, legend, name, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILONS, LEVELS, QUERIES, DATA = tuple((np.arange(1, 12) * 1e-6).tolist()), (0.05, 0.01), 100, "bms-pos"


def errors(values: Indices, epsilon: float) -> tuple[float, dict[float, float]]:
    """(P[the winner is not the best], P[p <= level | it is not] by level), exactly.

    The exponent is epsilon u / 2: winner s by softmax, its gap logistic at theta_s given that it is positive;
    p <= level if and only if the gap is at least ln(2 / level - 1).
    """
    x: Floats = epsilon * (values - values.max()).astype(np.float64) / 2
    weight = np.exp(x)
    theta = x - np.log(np.maximum(weight.sum() - weight, 1e-300))
    chance = weight / weight.sum()
    wrong = values < values.max()
    positive = 1 / (1 + np.exp(-theta))
    rates = {}
    for level in LEVELS:
        beyond = 1 / (1 + np.exp(math.log(2 / level - 1) - theta)) / positive
        rates[level] = float((chance * beyond)[wrong].sum() / chance[wrong].sum())
    return float(chance[wrong].sum()), rates


def simulated(values: Indices, epsilon: float, trials: int, setting: Setting) -> tuple[int, dict[float, int]]:
    """(c1, c2 by level) of repeated releases of ours: wrong winners, and rejections among them."""
    draws = ExponentialWithGap(epsilon=epsilon).release_many(
        Scores(values, sensitivity=1), draws=trials, rng=setting.source(f"gap-pvalues {epsilon:g}")
    )
    winners = np.asarray(draws.indices).reshape(trials)
    gaps = epsilon / 2 * np.asarray(draws.reals).reshape(trials)  # from the units of the scores to those of the paper
    wrong = values[winners] < values.max()
    return int(wrong.sum()), {level: int((gaps[wrong] >= math.log(2 / level - 1)).sum()) for level in LEVELS}


def run(setting: Setting) -> Result:
    data = counts(DATA, setting)
    values = shuffled(data.values, setting.source("gap-pvalues sample"))[:QUERIES]
    trials = setting.pick(200, 100_000, 100_000)
    rows: list[Row] = []
    for epsilon in EPSILONS[:: setting.pick(5, 1, 1)]:
        chance, exact = errors(values, epsilon)
        wrong, rejected = simulated(values, epsilon, trials, setting)
        rows += [
            {"made_up": not data.real, "epsilon": epsilon, "level": level, "wrong": chance, "exact": exact[level]}
            | {"trials": trials, "c1": wrong, "c2": rejected[level], "share": rejected[level] / max(wrong, 1)}
            for level in LEVELS
        ]
    caption = f"{QUERIES} counts sampled from the data; {trials:,} releases at each epsilon, and the exact rate."
    return Result(columns_of(rows), caption, made_up(data))


def judge(columns: Columns) -> Finding:
    """The rate of false rejections, exactly and in the draws: at most the level everywhere."""
    worst = {level: max(row["exact"] for row in rows_of(columns, level=level)) for level in LEVELS}
    seen = {level: max(row["share"] for row in rows_of(columns, level=level)) for level in LEVELS}
    ours = "; ".join(
        f"alpha = {level:g}: at most {worst[level]:.4f} exactly, {seen[level]:.4f} in the draws" for level in LEVELS
    )
    holds = all(max(worst[level], seen[level]) <= level for level in LEVELS)
    return held(holds, ours, "given that the winner is not the best, as in the paper")


def draw(columns: Columns) -> Figure:
    figure, axes = canvas(1, 2, (10.0, 3.9))
    for ax, level, colour in zip(axes[0], LEVELS, PALETTE, strict=False):
        rows = [row | {"x": row["epsilon"] * 1e6} for row in rows_of(columns, level=level)]
        curve(ax, rows, "x", "exact", color=colour, label="exact")
        curve(ax, rows, "x", "share", color=colour, marker="o", linestyle="none", label="draws")
        ax.axhline(level, color=SOFT, linestyle=":")
        ax.set_ylim(0, 1.15 * level)
        name(ax, f"Level {level:g}", "epsilon, in millionths", "P[rejects | the winner is not the best]")
        legend(ax, loc="lower right")
    return figure


FACTS = {"queries": QUERIES, "epsilon": EPSILONS, "alpha": LEVELS, "trials": 100_000, "measure": "c2 / c1"}
FIGURE_9 = Exhibit(
    place="figure 9", about="False rejections, given that the winner is not the best",
    theirs=FACTS, ours=lambda setting: FACTS | {"trials": setting.pick(200, 100_000, 100_000)},
    because={"trials": "a small run tries whether all works"},
    claims=(Claim("The rate of false rejections stays below the level, at 0.05 and at 0.01.", "section 9.4", judge),),
    data=(DATA,),
)  # fmt: skip
EXPERIMENT = Experiment(
    name="gap-pvalues",
    paper=FREE_GAP,
    title="Is the winner really the best?",
    question="How often does the released gap seem to show that the winner is the best, when it is not?",
    see="Everything stays below the dotted line, the level of the test.",
    exhibits=(FIGURE_9,),
    run=run,
    draw=draw,
)
