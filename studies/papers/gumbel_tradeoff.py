"""Gumbel paper, figures 1 and 2: how well anybody can tell two neighbours apart."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats
from shortlist.pages.plots import PALETTE, SOFT
from shortlist.privacy import GumbelDP
from studies.papers.experiment import GUMBEL, Claim, Columns, Exhibit, Experiment, Finding, Result, Setting, held
from studies.papers.figures import Row, canvas, columns_of, curve, distinct, legend, name, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MU, SHIFTS, ROUNDS = 1.0, (0.25, 0.5, 1.0, 2.0), 10
UP, DOWN, BOTH = "T(Gum(0, 1), Gum(mu, 1))", "T(Gum(mu, 1), Gum(0, 1))", "B_mu"
ONE, TWO_A, TWO_B, CHECK = "figure 1", "figure 2a", "figure 2b", "accountant"


def closed_form(mu: float, alpha: float) -> float:
    """The least type II error (Proposition 89): 1 - a^{e^-mu} up to a1, slope -1 up to a2, then (1 - a)^{e^mu}."""
    shrink = math.exp(-mu)
    first = math.exp(mu / (shrink - 1))
    last = 1 - math.exp(mu * shrink / (shrink - 1))
    if alpha <= first:
        return 1 - math.pow(alpha, shrink)
    return first + last - alpha if alpha <= last else math.pow(1 - alpha, math.exp(mu))


def closed_form_of_rounds(mu: float, k: int, alpha: float) -> float:
    """The same for k values, equation (7) of the paper: by the chi-squared law with 2k degrees."""
    from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv

    shrink = math.exp(-mu)
    turn = k * mu / (1 - shrink)
    first, last = float(gammaincc(k, turn)), float(gammainc(k, turn * shrink))
    if alpha <= first:
        return float(gammainc(k, gammainccinv(k, alpha) * shrink))
    return first + last - alpha if alpha <= last else float(gammaincc(k, gammaincinv(k, alpha) / shrink))


def tests(mu: float, points: int) -> tuple[Floats, Floats]:
    """(type I, type II) of the best tests of Gum(0, 1) against Gum(mu, 1): reject where e^x exceeds t."""
    t = np.concatenate([[0.0], np.geomspace(1e-6, 60.0, points)])
    return np.exp(-t), -np.expm1(-t * math.exp(-mu))


def envelope(mu: float, points: int) -> tuple[Floats, Floats]:
    """The largest convex curve below the best tests in both directions, by their corners: no formula of the paper."""
    alpha, beta = tests(mu, points)
    corners = sorted(
        {*zip(alpha.tolist(), beta.tolist(), strict=True), *zip(beta.tolist(), alpha.tolist(), strict=True)}
    )
    hull: list[tuple[float, float]] = []
    for x, y in corners:
        while len(hull) > 1 and _above(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    return np.array([x for x, _ in hull]), np.array([y for _, y in hull])


def _above(left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]) -> bool:
    """Whether the middle is on or above the line from left to right."""
    return (middle[1] - left[1]) * (right[0] - left[0]) >= (right[1] - left[1]) * (middle[0] - left[0])


def run(setting: Setting) -> Result:
    fine = np.linspace(0.0, 1.0, setting.pick(11, 101, 201)).tolist()
    hull = envelope(MU, setting.pick(2_000, 20_000, 20_000))
    rows: list[Row] = []

    def add(panel: str, series: str, mu: float, k: int, points: list[tuple[float, float]]) -> None:
        rows.extend({"panel": panel, "series": series, "mu": mu, "k": k, "alpha": a, "beta": b} for a, b in points)

    add(ONE, UP, MU, 1, [(a, 1 - a ** math.exp(-MU)) for a in fine])
    add(ONE, DOWN, MU, 1, [(a, (1 - a) ** math.exp(MU)) for a in fine])
    add(ONE, BOTH, MU, 1, [(a, closed_form(MU, a)) for a in fine])
    add(ONE, "envelope", MU, 1, [(a, float(np.interp(a, *hull))) for a in fine])
    for mu in SHIFTS:
        add(TWO_A, BOTH, mu, 1, [(a, closed_form(mu, a)) for a in fine])
        add(TWO_B, BOTH, mu, ROUNDS, [(a, closed_form_of_rounds(mu, ROUNDS, a)) for a in fine])
    for a in setting.pick((0.3,), (0.1, 0.3, 0.5, 0.7), (0.1, 0.3, 0.5, 0.7)):
        law = GumbelDP(SHIFTS[0], ROUNDS)
        add(CHECK, "equation (7)", SHIFTS[0], ROUNDS, [(a, closed_form_of_rounds(SHIFTS[0], ROUNDS, a))])
        add(CHECK, "accountant", SHIFTS[0], ROUNDS, [(a, law.tradeoff(a))])
    caption = f"Left: one value, mu = {MU:g}, both directions and their envelope. Middle: B_mu. Right: {ROUNDS} values."
    gain = max(1 - a - closed_form(0.5, a) for a in fine)
    beyond = (
        f"At mu = 0.5, below which the paper calls privacy good without a measure, a test gains at most {gain:.3f} "
        "over guessing.",
    )
    return Result(columns_of(rows), caption, beyond=beyond)


def _apart(columns: Columns, panel: str, one: str, other: str) -> float:
    first, second = (rows_of(columns, panel=panel, series=series) for series in (one, other))
    return float(max(abs(a["beta"] - b["beta"]) for a, b in zip(first, second, strict=True)))


def judge_directions(columns: Columns) -> Finding:
    apart = _apart(columns, ONE, UP, DOWN)
    return held(apart > 0.01, f"they differ by up to {apart:.3f} at mu = 1",
                "for mu > 0; at mu = 0, which the text includes, both are the diagonal")  # fmt: skip


def judge_formula(columns: Columns) -> Finding:
    apart = _apart(columns, ONE, BOTH, "envelope")
    return held(apart < 2e-3, f"formula and envelope differ by at most {apart:.1g}",
                "the envelope is built from the corners of the best tests and uses no formula of the paper; appendix A "
                "prints a1 with a minus too many (4.86 at mu = 1, no probability), equation (4) does not")  # fmt: skip


def _falls(columns: Columns, panel: str) -> bool:
    by_shift = [[row["beta"] for row in rows_of(columns, panel=panel, mu=mu)] for mu in sorted(distinct(columns, "mu"))]
    drawn = [curve for curve in by_shift if curve]
    return all(low <= high + 1e-12 for a, b in pairwise(drawn) for high, low in zip(a, b, strict=True))


def judge_order(panel: str) -> Claim:
    where, what = {TWO_A: ("section 2.1", "B_mu"), TWO_B: ("section 2.2", "B_mu^10")}[panel]

    def judge(columns: Columns) -> Finding:
        falls = _falls(columns, panel)
        return held(falls, f"{'lower' if falls else 'not lower'} at every type I error for mu = {_shifts(columns)}",
                    "as computed on the grid; the paper does not name its values of mu in the text")  # fmt: skip

    return Claim(f"A larger mu means a lower curve {what}: less privacy.", where, judge)


def _shifts(columns: Columns) -> str:
    return ", ".join(f"{mu:g}" for mu in sorted(distinct(columns, "mu")))


def judge_rounds(columns: Columns) -> Finding:
    apart = _apart(columns, CHECK, "equation (7)", "accountant")
    return held(apart < 1e-4, f"formula and accountant differ by at most {apart:.1g}",
                "the accountant has the curve from its profile of deltas, by another road")  # fmt: skip


def draw(columns: Columns) -> Figure:
    figure, axes = canvas(1, 3, (13.2, 4.2))
    styles = {UP: (PALETTE[1], "--"), DOWN: (PALETTE[2], "--"), BOTH: (PALETTE[0], "-")}
    for series, (colour, line) in styles.items():
        curve(axes[0, 0], rows_of(columns, panel=ONE, series=series), "alpha", "beta", color=colour, linestyle=line,
              label=series)  # fmt: skip
    for ax, panel in ((axes[0, 1], TWO_A), (axes[0, 2], TWO_B)):
        for colour, mu in zip(PALETTE, SHIFTS, strict=False):
            curve(ax, rows_of(columns, panel=panel, mu=mu), "alpha", "beta", color=colour, label=f"mu = {mu:g}")
    titles = (f"One value, mu = {MU:g}", "One value, B_mu", f"{ROUNDS} values, B_mu^{ROUNDS}")
    for ax, title in zip(axes[0], titles, strict=True):
        ax.plot([0, 1], [1, 0], color=SOFT, linestyle=":", linewidth=1)
        name(ax, title, "type I error", "least type II error")
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        legend(ax)
    return figure


FIGURE_1 = Exhibit(
    place="figure 1", about="Both directions of a test on one Gumbel value, and B_mu",
    theirs={"mu": MU, "curves": (UP, DOWN, BOTH)}, ours=lambda _: {"mu": MU, "curves": (UP, DOWN, BOTH)}, because={},
    claims=(
        Claim("The best tests in the two directions have different curves.", "section 2.1", judge_directions),
        Claim("B_mu, the convex envelope of both, has the closed form (4).", "section 2.1, equation "
        "(4)", judge_formula),
    ),
)  # fmt: skip
FIGURE_2 = Exhibit(
    place="figure 2", about="B_mu, and B_mu^10, for several mu",
    theirs={"k": (1, ROUNDS), "mu": "several, not named in the text"},
    ours=lambda _: {"k": (1, ROUNDS), "mu": SHIFTS},
    because={"mu": "our values; the copy we read has no numbers on the picture"},
    claims=(
        judge_order(TWO_A), judge_order(TWO_B),
        Claim("The curve of k values has the closed form (7).", "section 2.2, equation (7)", judge_rounds),
    ),
)  # fmt: skip
EXPERIMENT = Experiment(
    name="gumbel-tradeoff",
    paper=GUMBEL,
    title="What a Gumbel value gives away",
    question="How often must a test err that tries to tell whether one person is in the data?",
    see="Left: two curves that are mirror images, and their common envelope, which is symmetric. The nearer to the "
        "dotted diagonal, the less a test can learn.",
    exhibits=(FIGURE_1, FIGURE_2),
    run=run,
    draw=draw,
)  # fmt: skip
