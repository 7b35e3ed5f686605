"""Who competes in the canonical paper's experiments, under which name and in which colour."""

from __future__ import annotations

from collections.abc import Callable

from shortlist.mechanisms import CanonicalTopK, GuardedTopK, JointTopK, OneshotTopK
from shortlist.pages.plots import INK, PALETTE
from shortlist.planning.compare import Studied

PEELING, ONE_SHOT, JOINT = "peeling, Gumbel", "one-shot, exponential", "joint"
PAPER, OURS, GUARDED, BOUND = "canonical, paper's loss", "canonical, gap-aware", "guarded (default)", "lower bound"

ENTRANTS: dict[str, Callable[[int, float], Studied]] = {
    PEELING: lambda k, epsilon: OneshotTopK(k=k, epsilon=epsilon, noise="gumbel"),
    ONE_SHOT: lambda k, epsilon: OneshotTopK(k=k, epsilon=epsilon, noise="exponential"),
    JOINT: lambda k, epsilon: JointTopK(k=k, epsilon=epsilon),
    PAPER: lambda k, epsilon: CanonicalTopK(k=k, epsilon=epsilon, noise="gumbel", loss="paper"),
    OURS: lambda k, epsilon: CanonicalTopK(k=k, epsilon=epsilon),
    GUARDED: lambda k, epsilon: GuardedTopK(k=k, epsilon=epsilon),
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
