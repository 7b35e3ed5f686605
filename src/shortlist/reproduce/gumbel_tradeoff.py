"""Gumbel-DP, figures 1 and 2: how well anybody can tell two neighbours apart."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from shortlist.pages.plots import PALETTE, SOFT
from shortlist.privacy import GumbelDP
from shortlist.reproduce.experiment import GUMBEL, Columns, Experiment, Line, Result, Setting
from shortlist.reproduce.figures import canvas, columns_of, curve, legend, name, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHIFTS = (0.25, 0.5, 1.0, 2.0)
ROUNDS = (1, 5, 10, 20)
EACH = 0.2
"""The shift of each of k values."""


def closed_form(mu: float, alpha: float) -> float:
    """The least type II error (Proposition 89): 1 - a^{e^-mu} up to a1, slope -1 up to a2, then (1 - a)^{e^mu}."""
    shrink = math.exp(-mu)
    first = math.exp(mu / (shrink - 1))
    last = 1 - math.exp(mu * shrink / (shrink - 1))
    if alpha <= first:
        return 1 - math.pow(alpha, shrink)
    return first + last - alpha if alpha <= last else math.pow(1 - alpha, math.exp(mu))


def run(setting: Setting) -> Result:
    shifts = setting.pick((1.0,), SHIFTS, SHIFTS)
    fine = np.linspace(0.0, 1.0, setting.pick(11, 101, 201)).tolist()
    rows = [
        {"panel": "one value", "mu": mu, "k": 1, "alpha": alpha, "beta": closed_form(mu, alpha)}
        for mu in shifts
        for alpha in fine
    ]
    grid = np.linspace(0.0, 1.0, setting.pick(3, 21, 101)).tolist()
    for k in setting.pick((5,), ROUNDS, ROUNDS):
        law = GumbelDP(EACH, k)
        rows += [
            {"panel": "k values", "mu": EACH, "k": k, "alpha": alpha, "beta": law.tradeoff(alpha)} for alpha in grid
        ]
    points = [(mu, alpha) for mu in shifts for alpha in setting.pick((0.3,), (0.1, 0.3, 0.7), (0.1, 0.3, 0.5, 0.7))]
    worst = max(abs(GumbelDP(mu).tradeoff(alpha) - closed_form(mu, alpha)) for mu, alpha in points)
    first, last = math.exp(1 / math.expm1(-1)), 1 - math.exp(math.exp(-1) / math.expm1(-1))
    lines = (
        Line(
            "trade-off of one Gumbel value",
            "B_mu in closed form (definition 4); appendix A prints a1 with one minus too many",
            f"the accountant's curve is the closed form to {worst:.1g}; a1 = {first:.6f}, a2 = {last:.6f} at mu = 1",
            "the definition is right; as printed in the appendix a1 would be 4.86, no probability",
        ),
    )
    return Result(columns_of(rows), lines, "Left: one value of shift mu. Right: k values of shift 0.2 each.")


def draw(columns: Columns) -> Figure:
    figure, axes = canvas(1, 2)
    left, right = axes[0]
    for colour, mu in zip(PALETTE, SHIFTS, strict=False):
        curve(left, rows_of(columns, panel="one value", mu=mu), "alpha", "beta", color=colour, label=f"mu = {mu:g}")
    for colour, k in zip(PALETTE, ROUNDS, strict=False):
        curve(right, rows_of(columns, panel="k values", k=k), "alpha", "beta", color=colour, label=f"k = {k}")
    for ax, title in ((left, "One Gumbel value"), (right, "k values, shift 0.2 each")):
        ax.plot([0, 1], [1, 0], color=SOFT, linestyle=":", linewidth=1)
        name(ax, title, "type I error", "least type II error")
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        legend(ax)
    return figure


EXPERIMENT = Experiment(
    name="gumbel-tradeoff",
    paper=GUMBEL,
    shows="figures 1 and 2",
    title="What a Gumbel value gives away",
    question="How often must a test err that tries to tell whether one person is in the data?",
    see="The nearer a curve is to the dotted diagonal, the less a test can learn; the curves are not symmetric.",
    claim="One Gumbel value of shift mu has the trade-off B_mu, and k of them have a closed form too.",
    run=run,
    draw=draw,
)
