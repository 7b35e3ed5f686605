"""Canonical paper, section 7.3: how long one draw takes."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.mechanisms import CanonicalTopK, GuardedTopK, OneshotTopK
from shortlist.sampling.entropy import Source
from shortlist.scores import Scores
from studies.papers.contest import COLOURS, DASHES, GAMMA_1, GUARDED, ONE_SHOT, OURS, PAPER, PEELING
from studies.papers.data import counts, made_up
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
from studies.papers.figures import Row, canvas, columns_of, curve, log_axis, name, rows_of
from studies.papers.reference import exponential, gumbel, peeling

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILON, SIZES = 1.0, (10, 100, 1000)
EXACT_ONE_SHOT = "one-shot (ours)"


def all_classes(x: Floats, k: int, source: Source) -> tuple[int, int]:
    """REFERENCE: the classes (h, t) of the paper's algorithm 1, all k (d - k) of them, with fresh Gumbel noise each."""
    from scipy.special import gammaln

    log_factorial = gammaln(np.arange(len(x) + 1) + 1.0)
    ranks = np.arange(k + 1, len(x) + 1)
    best, result = float(gumbel(source, 1.0, 1)[0]), (k - 1, k)
    for h in range(k):
        body = log_factorial[ranks - h - 2] - log_factorial[k - 1 - h] - log_factorial[ranks - 1 - k]
        noisy = 0.5 * EPSILON * (x[k:] - x[h]) + body + gumbel(source, 1.0, len(ranks))
        i = int(np.argmax(noisy))
        if noisy[i] > best:
            best, result = float(noisy[i]), (h, int(ranks[i]))
    return result


def all_tails(x: Floats, k: int, source: Source) -> int:
    """REFERENCE: gamma = 1, one class for each tail t = k .. d, ln C(t - 1, k - 1) subsets each."""
    from scipy.special import gammaln

    t = np.arange(k, len(x) + 1)
    size = gammaln(t) - gammaln(k) - gammaln(t - k + 1.0)
    return int(t[np.argmax(EPSILON * x[k - 1 :] + size + gumbel(source, 1.0, len(t)))])


def one_shot(x: Floats, k: int, source: Source) -> Indices:
    """REFERENCE: one exponential for each item, the k largest."""
    return np.argpartition(-(EPSILON / k * x + exponential(source, 1.0, len(x))), k)[:k]


def calls(x: Floats, k: int, scores: Scores, source: Source) -> dict[str, Callable[[], Any]]:
    """The paper's four in NumPy, float noise; and our exact releases."""
    return {
        PEELING: lambda: peeling(x, k, k / EPSILON, "gumbel", source),
        ONE_SHOT: lambda: one_shot(x, k, source),
        PAPER: lambda: all_classes(x, k, source),
        GAMMA_1: lambda: all_tails(x, k, source),
        OURS: lambda: CanonicalTopK(k=k, epsilon=EPSILON).release(scores, rng=source),
        GUARDED: lambda: GuardedTopK(k=k, epsilon=EPSILON).release(scores, rng=source),
        EXACT_ONE_SHOT: lambda: OneshotTopK(k=k, epsilon=EPSILON, noise="exponential").release(scores, rng=source),
    }


def run(setting: Setting) -> Result:
    data = counts("netflix", setting)
    values = data.values[: setting.pick(100, None, None)]
    scores, x = Scores(values, monotone=True), values.astype(np.float64)
    rows: list[Row] = [
        {"mechanism": label, "k": k, "d": len(x), "seconds": _best(call, setting.pick(1, 3, 9))}
        for k in setting.pick((10,), SIZES, SIZES)
        for label, call in calls(x, k, scores, setting.source("canonical-times")).items()
    ]
    caption = f"One draw, scores sorted beforehand, epsilon = {EPSILON:g}; the best of several runs on this machine."
    return Result(columns_of(rows), caption, made_up(data), timed=True)


def _best(call: Callable[[], Any], runs: int) -> float:
    """The least seconds of several runs, after one to warm up."""
    call()
    seconds = []
    for _ in range(runs):
        start = perf_counter()
        call()
        seconds.append(perf_counter() - start)
    return min(seconds)


def _mean(columns: Columns, label: str) -> float:
    return float(np.mean([row["seconds"] for row in rows_of(columns, mechanism=label)]))


def judge_pair(new: str, old: str, limit: float) -> Callable[[Columns], Finding]:
    """As fast: within five times, and below the printed mean; beyond twenty times it is contradicted."""

    def judge(columns: Columns) -> Finding:
        mean, rival = _mean(columns, new), _mean(columns, old)
        ratio = mean / rival
        verdict: Verdict = (
            "confirmed" if ratio <= 5 and mean < limit else "contradicted" if ratio > 20 else "not comparable"
        )
        return Finding(
            verdict,
            f"{mean:.2g} s against {rival:.2g} s on average",
            "NumPy on this machine, Python on a laptop there; as fast is taken as within five times",
        )

    return judge


def judge_rule(columns: Columns) -> Finding:
    """Microseconds, d k or d, with an error below 80% of the measured time."""
    rows = [row for row in rows_of(columns) if row["mechanism"] in (PEELING, PAPER, ONE_SHOT, GAMMA_1)]
    rule = {PEELING: True, PAPER: True, ONE_SHOT: False, GAMMA_1: False}
    errors = [abs(row["d"] * (row["k"] if rule[row["mechanism"]] else 1) * 1e-6 / row["seconds"] - 1) for row in rows]
    return held(max(errors) < 0.8, f"relative error {min(errors):.0%} to {max(errors):.0%} here", "a statement "
    "about one "
                "machine, and this is another", "not comparable")  # fmt: skip


def draw(columns: Columns) -> Figure:
    figure, axes = canvas(1, 1, (7.4, 4.4))
    for label in dict.fromkeys(columns["mechanism"]):
        curve(
            axes[0, 0],
            rows_of(columns, mechanism=label),
            "k",
            "seconds",
            color=COLOURS.get(label, COLOURS[ONE_SHOT]),
            linestyle=DASHES.get(label, "--" if "ours" in label else "-"),
            marker="o",
            markersize=4,
            label=label,
        )
    log_axis(axes[0, 0], "x")
    log_axis(axes[0, 0], "y")
    name(axes[0, 0], "Time of one draw, 17,770 items", "k", "seconds")
    axes[0, 0].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


FACTS = {"k": SIZES, "competitors": (PEELING, ONE_SHOT, PAPER, GAMMA_1)}
SECTION = Exhibit(
    place="section 7.3", about="Run times",
    theirs=FACTS | {"data": "all of its experiments", "machine": "laptop, Apple M1, 3.2 GHz, Python, one "
    "thread", "measurements": 2776},
    ours=lambda setting: {
        "k": SIZES, "competitors": (PEELING, ONE_SHOT, PAPER, GAMMA_1, OURS, GUARDED, EXACT_ONE_SHOT),
        "data": "Netflix",
        "machine": "the one this runs on, NumPy", "measurements": setting.pick(7, 63, 189)},
    because={
        "competitors": "our exact releases beside the paper's four", "data": "the largest of its data sets",
        "machine": "not at hand", "measurements": "the best of three, or of nine with --full, says enough",
    },
    claims=(
        Claim("Canonical is as fast as peeling, below one second on "
        "average.", "section 7.3", judge_pair(PAPER, PEELING, 1.0)),
        Claim("With gamma = 1 it is as fast as one-shot, below 3 ms on average.", "section 7.3",
              judge_pair(GAMMA_1, ONE_SHOT, 3e-3)),
        Claim("d k microseconds, or d, predict the time with an error below 80%.", "section 7.3", judge_rule),
    ),
    data=("netflix",),
)  # fmt: skip
EXPERIMENT = Experiment(
    name="canonical-times",
    paper=CANONICAL,
    title="How long a draw takes",
    question="The number of sets is astronomical: how long does one draw from them take?",
    see="Solid: the paper's four with float noise, as reference code. Dashed: our exact releases.",
    exhibits=(SECTION,),
    run=run,
    draw=draw,
    alone=True,
)
