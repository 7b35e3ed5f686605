"""The law of the level of the sequence that wins a race under exponential noise, alone or beside a guard (Theorem 194).

With p_s = e^(-rate (loss - first)), sequence s wins with chance pi(p) = Int p G(t) F(t) / (1 - p t) dt, where G(t) is
the product of all 1 - p_s t, and F(t) = (1 - (t e^v)^a)_+ is the chance that a guard has not arrived by t. pi falls as
the loss grows, so the winner is uniform given a level, and level r has the chance N_r (pi(p_r) - pi(p_next)).
"""

from __future__ import annotations

import math

import numpy as np

from shortlist._arrays import Floats
from shortlist.exact.effort import is_rough
from shortlist.exact.sequence_laws import Levels

SMALLEST = 1e-290
"""Differences below this are as good as none."""
BEYOND = math.log(60.0)
"""Integrals end where the product is below e^-60."""

CELLS = 1 << 17
"""Nodes times levels that are looked at together, so that they stay in the processor's cache."""


def race_chances(support: Levels, v: float = -math.inf, a: float = 1.0) -> Floats:
    """P[the winner is a sequence of this level], for every level; what they lack of 1 is the chance of the guard."""
    mass = float(np.logaddexp.reduce(support.log_mass))
    nodes, weights = _panels(min(0.0, BEYOND - mass, -v))
    result = np.zeros(len(support.log_mass))
    size = max(1, CELLS // len(result))
    for start in range(0, len(nodes), size):
        result += _contribution(support, mass, nodes[start : start + size], weights[start : start + size], v, a)
    return result


@np.errstate(divide="ignore", over="ignore")
def _contribution(support: Levels, mass: float, node: Floats, weight: Floats, v: float, a: float) -> Floats:
    """What some nodes ln t of the integral add, with their weights; `mass` is ln of the sum of all masses.

    ln G(t) = -sum N_r ln [(1 - p_next t) / (1 - p_r t)], where N_r (p_r - p_next) is the mass of level r: one logarithm
    for each level and node, and sums of products.
    """
    share, width = np.exp(support.log_mass - mass), np.exp(support.log_width)
    out = np.exp(node)[:, None] * np.exp(-support.depth)  # p_r t
    drop = out * width  # t (p_r - p_next)
    left = np.subtract(1.0, out, out=out)
    rise = drop / left
    per_drop = np.log1p(rise)
    np.divide(per_drop, drop, out=per_drop, where=drop > SMALLEST)
    per_drop[drop <= SMALLEST] = 1.0
    still_out = -np.exp(node + mass) * np.einsum("ij,j->i", per_drop, share)  # ln G(t); by one thread, as below
    if v > -math.inf:
        still_out = still_out + np.log(-np.expm1(np.minimum(a * (node + v), 0.0)))
    drop += left  # 1 - p_next t
    drop *= left
    factor = weight * np.exp(np.minimum(still_out + node + mass, 700.0))
    chances = np.einsum("i,ij->j", factor, np.reciprocal(drop, out=drop))
    return np.asarray(share * chances)


def _panels(end: float) -> tuple[Floats, Floats]:
    """Gauss nodes and weights for an integral over ln t up to `end`: short panels at the end, long ones below."""
    points, lowest = (5, 20.0) if is_rough() else (12, 45.0)
    node, weight = np.polynomial.legendre.leggauss(points)
    edges = end - np.concatenate([np.arange(0.0, 4.0, 0.25), np.arange(4.0, lowest)])
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[:-1] - edges[1:]) / 2
    return (middle[:, None] + half[:, None] * node).ravel(), (half[:, None] * weight).ravel()
