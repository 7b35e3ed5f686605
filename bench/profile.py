"""`python -m bench.profile`: what a public profile gains, by exact laws, into docs/figures/public-profile.svg."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from shortlist.mechanisms import CanonicalTopK
from shortlist.privacy import PureDP
from studies.papers.figures import BOUND, OTHER, OURS, THEIRS, canvas, legend, name

OUT = Path(__file__).parents[1] / "docs" / "figures" / "public-profile.svg"
K, D = 10, 1000
COUNTS = np.floor(20_000 * np.arange(1, D + 1) ** -0.8).astype(np.int64)
EPSILONS = np.geomspace(0.007, 0.02, 15)
TIMES = np.array([0, 0.25, 0.5, 0.75, 0.9, 1.0, 1.05, 1.1, 1.2, 1.35, 1.5, 2.0])
KNOWN = {0.0: ("no profile", BOUND), 0.5: ("half the true gaps", OTHER), 1.0: ("the true gaps", OURS),
         1.5: ("1.5 times the true gaps", THEIRS)}  # fmt: skip


def right(times: float, epsilon: float) -> float:
    """P[exactly the true top k], where the gaps of the profile are so many times the true ones."""
    gaps = times * (COUNTS[:K] - COUNTS[K - 1])
    mechanism = CanonicalTopK(k=K, epsilon=1.0, profile=gaps.tolist())
    return replace(mechanism, budget=PureDP(float(epsilon))).success_probability(COUNTS, monotone=True)


def main() -> None:
    figure, axes = canvas(1, 2)
    by_epsilon, by_guess = axes[0]
    for times, (label, colour) in KNOWN.items():
        by_epsilon.plot(EPSILONS, [right(times, one) for one in EPSILONS], color=colour, label=label)
    by_epsilon.set_xscale("log")
    by_epsilon.set_xticks([0.007, 0.01, 0.014, 0.02], ["0.007", "0.01", "0.014", "0.02"])
    by_epsilon.minorticks_off()
    name(by_epsilon, f"Zipf counts of {D:,} items, k = {K}", "epsilon", "chance of exactly the true top k")
    legend(by_epsilon, loc="upper left")
    for epsilon, colour in ((0.0105, OTHER), (0.012, OURS)):
        chances = [right(float(one), epsilon) for one in TIMES]
        by_guess.plot(TIMES, chances, color=colour, marker="o", markersize=3, label=f"epsilon = {epsilon}")
        by_guess.axhline(chances[0], color=colour, linewidth=0.8, linestyle=":")
    by_guess.axvspan(0, 1, color=BOUND, alpha=0.12, linewidth=0)
    by_guess.text(0.05, 0.94, "too low: safe", fontsize=8, transform=by_guess.get_xaxis_transform())
    by_guess.text(1.25, 0.5, "too high: hurts", fontsize=8, transform=by_guess.get_xaxis_transform())
    by_guess.set_ylim(0, 1)
    name(by_guess, "a guess that is too low, right, too high", "gaps of the profile over the true gaps")
    legend(by_guess, loc="upper right")
    OUT.parent.mkdir(exist_ok=True)
    figure.savefig(OUT, metadata={"Date": None})


if __name__ == "__main__":
    main()
