"""Gumbel paper, figure 3: the noise that top-k with values needs, as the paper computes it and as it is proved."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats
from shortlist.exact.search import bisect, within_ratio
from shortlist.pages.plots import PALETTE
from shortlist.privacy import ApproxDP, GumbelDP, PureDP, calibrate
from studies.papers.experiment import (
    GUMBEL,
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
from studies.papers.figures import canvas, columns_of, curve, legend, log_axis, name, rows_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDS, DELTAS, CANDIDATES = 10, (1e-3, 1e-5), 1000
VARIANCE = math.pi**2 / 6
"""Of Gumbel noise of scale 1."""

GUMBEL_PAPER, LAPLACE_PAPER, GAUSS_PAPER = "Gumbel, theorem 4", "Laplace, section 3.2", "Gaussian, section 3.2"
GUMBEL_OURS, LAPLACE_OURS, GAUSS_OURS = "Gumbel, exact profile", "Laplace, our accountant", "Gaussian, 1,000 candidates"


def ours(epsilon: float, delta: float) -> float:
    """Gumbel noise by the exact profile: the items come free with the values (Theorem 90)."""
    return VARIANCE / calibrate(lambda mu: GumbelDP(mu, ROUNDS), ApproxDP(epsilon, delta)) ** 2


def lemma_3(mu: float, epsilon: Floats) -> Floats:
    """delta of k exponential mechanisms as Lemma 3 of the paper has it, for compositions that are not adaptive."""
    from scipy.special import comb

    i = np.arange(ROUNDS + 1)
    worst = np.zeros_like(epsilon)
    for step in range(ROUNDS + 1):
        t = np.clip((epsilon + (step + 1) * mu) / (ROUNDS + 1), 0.0, mu)[:, None]
        p = (np.exp(-t) - math.exp(-mu)) / -math.expm1(-mu)
        gain = np.maximum(np.exp(ROUNDS * t - i * mu) - np.exp(epsilon)[:, None], 0.0)
        worst = np.maximum(worst, (comb(ROUNDS, i) * p ** (ROUNDS - i) * (1 - p) ** i * gain).sum(axis=1))
    return worst


def corollary_2(mu: float, epsilon: Floats) -> Floats:
    """delta of k Gumbel values of shift mu."""
    from scipy.special import gammaincc

    t = (ROUNDS * mu + epsilon) / -math.expm1(-mu)
    result: Floats = gammaincc(ROUNDS, t * math.exp(-mu)) - np.exp(epsilon) * gammaincc(ROUNDS, t)
    return result


def theorem_4(epsilon: float, delta: float) -> float:
    """The paper's optimisation: values and items pay separately, epsilon shared in the best way."""
    share = epsilon * np.linspace(0.02, 0.98, 241)

    def excess(scale: float) -> float:
        return float((corollary_2(1 / scale, share) + lemma_3(1 / scale, epsilon - share)).min()) - delta

    return VARIANCE * _least(excess) ** 2


def laplace_printed(epsilon: float, delta: float) -> float:
    """20 k ln(1 / delta) / epsilon^2: twice the square of the printed scale, which the paper cites with its proof."""
    return 20 * ROUNDS * math.log(1 / delta) / epsilon**2


def laplace_sound(epsilon: float, delta: float) -> float:
    """k noisy maxima and k fresh values with Laplace noise of scale b: 2 k times 1/b-DP, by our accountant."""
    return 2 / calibrate(lambda e: PureDP(e).repeat(2 * ROUNDS), ApproxDP(epsilon, delta)) ** 2


def gaussian_printed(epsilon: float, delta: float) -> float:
    """sigma^2 with sqrt(8 k) / sigma-Gaussian DP, section 3.2: whatever the number of candidates (Proposition 137)."""
    from scipy.special import ndtr

    def excess(sigma: float) -> float:
        mu = math.sqrt(8 * ROUNDS) / sigma
        return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)) - delta

    return _least(excess) ** 2


def gaussian_sound(epsilon: float, delta: float) -> float:
    """k rounds of noisy max, D_a <= a / (2 s^2) + ln m / (a - 1) (Theorem 55), and k values, a / (2 s^2)."""
    orders = 1 + np.geomspace(0.01, 1e6, 4000)

    def excess(sigma: float) -> float:
        cost: Floats = ROUNDS * (orders / sigma**2 + math.log(CANDIDATES) / (orders - 1))
        proved = cost + np.log1p(-1 / orders) - np.log(orders * delta) / (orders - 1)
        return float(proved.min()) - epsilon

    return _least(excess) ** 2


def _least(excess: Callable[[float], float]) -> float:
    """The least scale at which a decreasing excess is not positive, to 1e-4."""
    return bisect(lambda scale: excess(scale) <= 0, 0.1, 1e5, within_ratio(1e-4))[1]


CURVES: dict[str, Callable[[float, float], float]] = {
    GUMBEL_PAPER: theorem_4, LAPLACE_PAPER: laplace_printed, GAUSS_PAPER: gaussian_printed,
    GUMBEL_OURS: ours, LAPLACE_OURS: laplace_sound, GAUSS_OURS: gaussian_sound,
}  # fmt: skip
"""The paper's three curves, and the same three by the tightest accounting that we can prove."""


def run(setting: Setting) -> Result:
    points = sorted({*np.geomspace(0.25, 8.0, setting.pick(0, 8, 21)).tolist(), 1.0})
    rows = [
        {"delta": delta, "curve": label, "epsilon": epsilon, "variance": variance(epsilon, delta)}
        for delta in DELTAS
        for label, variance in CURVES.items()
        for epsilon in points
    ]
    beyond = ("What a Gumbel value estimates is the soft minimum of all scores, whichever item won, for index and "
    "value "
              "are independent: 1,000 equal scores with scale 10 are off by 75, which no variance shows.",)  # fmt: skip
    return Result(columns_of(rows), f"k = {ROUNDS}, monotone scores of sensitivity 1.", beyond=beyond)


def _below(columns: Columns, delta: float, one: str, rivals: tuple[str, ...]) -> list[float]:
    """The epsilons at which one curve is strictly below all rivals."""
    at = {(row["curve"], row["epsilon"]): row["variance"] for row in rows_of(columns, delta=delta)}
    own = [epsilon for label, epsilon in at if label == one]
    return [epsilon for epsilon in own if all(at[one, epsilon] < at[rival, epsilon] for rival in rivals)]


def judge_least(columns: Columns) -> Finding:
    """The paper's own curves first, then those of tight accounting."""
    parts, printed, proved = [], True, True
    for delta in DELTAS:
        count = len({row["epsilon"] for row in rows_of(columns, delta=delta)})
        own = _below(columns, delta, GUMBEL_PAPER, (LAPLACE_PAPER, GAUSS_PAPER))
        sound = _below(columns, delta, GUMBEL_OURS, (LAPLACE_OURS, GAUSS_OURS))
        printed, proved = printed and len(own) == count, proved and len(sound) == count
        reach = f", the largest of them {max(sound):.2g}" if sound else ""
        parts.append(f"delta = {delta:g}: by the printed formulas at {len(own)} of {count} epsilons, by tight "
                     f"accounting at {len(sound)}{reach}")  # fmt: skip
    verdict: Verdict = "contradicted" if not printed else "confirmed" if proved else "corrected"
    why = (
        "the printed Laplace scale is proved where the paper cites it, and loose: composed tightly, half of its "
        "variance is enough for general scores and a fifth for monotone ones (epsilon 1, delta 1e-5); the printed "
        "Gaussian formula leaves the number of candidates out: it fails for general scores at a hundred of them, and "
        "for monotone scores at a million"
    )
    return Finding(verdict, "; ".join(parts), why)


def judge_accounting(columns: Columns) -> Finding:
    at = {row["curve"]: row["variance"] for row in rows_of(columns, delta=DELTAS[-1], epsilon=1.0)}
    ratio = at[GUMBEL_PAPER] / at[GUMBEL_OURS]
    return held(ratio >= 0.999, f"{at[GUMBEL_PAPER]:.0f} by theorem 4, {at[GUMBEL_OURS]:.0f} by the exact profile",
                "for monotone scores, as the theorem has it; loose, for it charges items and values apart, and the "
                "items come free with the values; its proof uses a lemma for compositions that are not "
                "adaptive")  # fmt: skip


def draw(columns: Columns) -> Figure:
    figure, axes = canvas(1, 2, (11.4, 4.4), sharey=True)
    colours = (PALETTE[0], PALETTE[1], PALETTE[2])
    for ax, delta in zip(axes[0], DELTAS, strict=True):
        for i, label in enumerate(CURVES):
            curve(
                ax,
                rows_of(columns, delta=delta, curve=label),
                "epsilon",
                "variance",
                color=colours[i % 3],
                label=label,
                linestyle=":" if label == GAUSS_PAPER else "--" if i < 3 else "-",
                linewidth=1.8,
            )
        log_axis(ax, "x")
        log_axis(ax, "y")
        name(ax, f"Top {ROUNDS} with values, delta = {delta:g}", "epsilon", "variance of one noisy value")
    legend(axes[0, 1])
    return figure


FACTS = {"k": ROUNDS, "delta": DELTAS, "measure": "variance of the noise"}
FIGURE_3 = Exhibit(
    place="figure 3", about="The variance of the noise of ten items with values",
    theirs=FACTS | {"epsilon": "varied, range not in the "
    "text", "competitors": (GUMBEL_PAPER, LAPLACE_PAPER, GAUSS_PAPER)},
    ours=lambda _: FACTS | {"epsilon": (0.25, 8.0), "competitors": tuple(CURVES)},
    because={"epsilon": "our range, logarithmic",
             "competitors": "the same three once more, by the tightest accounting that is proved"},
    claims=(
        Claim("Gumbel noise has a smaller variance than Laplace and Gaussian noise at the same (epsilon, delta).",
              "section 3.2", judge_least),
        Claim("Gumbel noise of the least variance that theorem 4 allows is (epsilon, delta)-DP.",
              "section 3.2, theorem 4", judge_accounting),
    ),
)  # fmt: skip
EXPERIMENT = Experiment(
    name="gumbel-variance",
    paper=GUMBEL,
    title="The noise that ten items with values need",
    question="Which noise is smallest when ten items are released with noisy values?",
    see="Dashed: the paper's formulas. Solid: the tightest accounting that is proved. Dotted: the Gaussian formula, "
    "which fails for general scores from 100 candidates on, and for monotone ones from a million.",
    exhibits=(FIGURE_3,),
    run=run,
    draw=draw,
)
