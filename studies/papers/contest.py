"""Who competes in the canonical paper's experiments, under which name and in which colour."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shortlist.mechanisms import CanonicalTopK
from shortlist.pages.plots import INK, PALETTE
from shortlist.planning.rows import curves

CURVES = curves()

PEELING, ONE_SHOT, PAPER, GAMMA_1 = (
    "peeling",
    "one-shot, exponential",
    "canonical (paper)",
    "canonical, gamma = 1 (paper)",
)
OURS, GUARDED, JOINT, BOUND = "canonical, gap-aware (ours)", "guarded (ours)", "joint", "lower bound"

OLD, NEW = (PEELING, ONE_SHOT), (PAPER, GAMMA_1)
"""The classical mechanisms of the paper's comparison, and its own two."""

ENTRANTS: dict[str, Callable[[int, float], Any]] = {
    PEELING: CURVES["one-shot, Gumbel"],
    ONE_SHOT: CURVES[ONE_SHOT],
    PAPER: lambda k, epsilon: CanonicalTopK(k=k, epsilon=epsilon, noise="gumbel", loss="paper"),
    GAMMA_1: lambda k, epsilon: CanonicalTopK(k=k, epsilon=epsilon, noise="gumbel", loss="paper", gamma=1),
    OURS: CURVES["canonical"],
    GUARDED: CURVES["guarded"],
    JOINT: CURVES[JOINT],
}
"""Peeling with the exponential mechanism and one-shot Gumbel noise have the same law. The paper did not run joint."""

COLOURS = {
    PEELING: PALETTE[1],
    ONE_SHOT: PALETTE[5],
    PAPER: PALETTE[2],
    GAMMA_1: PALETTE[4],
    OURS: PALETTE[0],
    GUARDED: INK,
    JOINT: PALETTE[3],
    BOUND: "#64748b",
}
DASHES = {GUARDED: "--", OURS: "--", BOUND: ":"}
MARKS = {PEELING: "v", ONE_SHOT: "^", PAPER: "D", GAMMA_1: "d", OURS: "o", GUARDED: "P", JOINT: "s", BOUND: "_"}
