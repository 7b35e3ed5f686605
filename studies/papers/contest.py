"""Who competes in the canonical paper's experiments, under which name and in which colour."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shortlist.mechanisms import CanonicalTopK
from shortlist.mechanisms.base import Request
from shortlist.mechanisms.registry import METHODS
from shortlist.pages.plots import INK, PALETTE
from shortlist.privacy import PureDP

PEELING, ONE_SHOT, PAPER, GAMMA_1 = (
    "peeling",
    "one-shot, exponential",
    "canonical (paper)",
    "canonical, gamma = 1 (paper)",
)
OURS, GUARDED, JOINT, BOUND = "canonical, gap-aware (ours)", "guarded (ours)", "joint", "lower bound"

OLD, NEW = (PEELING, ONE_SHOT), (PAPER, GAMMA_1)
"""The classical mechanisms of the paper's comparison, and its own two."""


def _method(name: str) -> Callable[[int, float], Any]:
    return lambda k, epsilon: METHODS[name].build(Request(k, PureDP(epsilon)))


ENTRANTS: dict[str, Callable[[int, float], Any]] = {
    PEELING: _method("oneshot-gumbel"),
    ONE_SHOT: _method("oneshot-exponential"),
    PAPER: lambda k, epsilon: CanonicalTopK(k=k, epsilon=epsilon, noise="gumbel", loss="paper"),
    GAMMA_1: lambda k, epsilon: CanonicalTopK(k=k, epsilon=epsilon, noise="gumbel", loss="paper", gamma=1),
    OURS: _method("canonical"),
    GUARDED: _method("guarded"),
    JOINT: _method("joint"),
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
