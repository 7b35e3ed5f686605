"""Who competes in the canonical paper's experiments, under which name and in which colour."""

from __future__ import annotations

from collections.abc import Callable

from shortlist.mechanisms import CanonicalTopK
from shortlist.mechanisms.entries import ENTRIES
from shortlist.mechanisms.plan_rows import Studied
from shortlist.pages.plots import INK, PALETTE

CURVES = {curve.label: curve.build for entry in ENTRIES for curve in entry.compared}

PEELING, ONE_SHOT, JOINT, GUARDED = "one-shot, Gumbel", "one-shot, exponential", "joint", "guarded"
PAPER, OURS, BOUND = "canonical, paper's loss", "canonical, gap-aware", "lower bound"

ENTRANTS: dict[str, Callable[[int, float], Studied]] = {
    PEELING: CURVES[PEELING],
    ONE_SHOT: CURVES[ONE_SHOT],
    JOINT: CURVES[JOINT],
    PAPER: lambda k, epsilon: CanonicalTopK(k=k, epsilon=epsilon, noise="gumbel", loss="paper"),
    OURS: CURVES["canonical"],
    GUARDED: CURVES[GUARDED],
}
"""The paper's own entrants (peeling, joint, canonical) and ours."""

COLOURS = {
    PEELING: PALETTE[1],
    ONE_SHOT: PALETTE[5],
    JOINT: PALETTE[3],
    PAPER: PALETTE[2],
    OURS: PALETTE[0],
    GUARDED: INK,
    BOUND: "#64748b",
}
DASHES = {GUARDED: "--", BOUND: ":"}
MARKS = {PEELING: "v", ONE_SHOT: "^", JOINT: "s", PAPER: "D", OURS: "o", GUARDED: "P", BOUND: "_"}
