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
from shortlist.exact.sequence_laws import CHUNK, Levels

BEYOND = math.log(60.0)
"""Integrals end where the product is below e^-60."""


def race_chances(support: Levels, v: float = -math.inf, a: float = 1.0) -> Floats:
    """P[the winner is a sequence of this level], for every level; what they lack of 1 is the chance of the guard."""
    mass = float(np.logaddexp.reduce(support.log_mass))
    nodes, weights = _panels(min(0.0, BEYOND - mass, -v))
    result = np.zeros(len(support.log_mass))
    size = max(1, CHUNK // len(result))
    for start in range(0, len(nodes), size):
        result += _contribution(support, nodes[start : start + size], weights[start : start + size], v, a)
    return result


@np.errstate(divide="ignore", over="ignore")
def _contribution(support: Levels, node: Floats, weight: Floats, v: float, a: float) -> Floats:
    """What some nodes ln t of the integral add, with their weights."""
    log_p = -support.depth
    here = np.log1p(-np.exp(np.minimum(log_p + node[:, None], -1e-300)))  # ln (1 - p_r t)
    rise = node[:, None] + log_p + support.log_width - here  # ln of t (p_r - p_next) / (1 - p_r t)
    ratio = np.log1p(np.exp(np.minimum(rise, 700.0)))  # ln of (1 - p_next t) / (1 - p_r t)
    log_ratio = np.where(rise < -30.0, rise, np.log(ratio))
    log_counts = support.log_mass - log_p - support.log_width
    still_out = -np.exp(np.minimum(log_counts + log_ratio, 700.0)).sum(axis=1)  # ln G(t)
    if v > -math.inf:
        still_out = still_out + np.log(-np.expm1(np.minimum(a * (node + v), 0.0)))
    both = support.log_mass - 2.0 * here - ratio  # N_r (p_r - p_next) / ((1 - p_r t) (1 - p_next t))
    log_terms = both + (still_out + node + np.log(weight))[:, None]
    return np.asarray(np.exp(np.minimum(log_terms, 700.0)).sum(axis=0))


def _panels(end: float) -> tuple[Floats, Floats]:
    """Gauss nodes and weights for an integral over ln t up to `end`: short panels at the end, long ones below."""
    points, lowest = (5, 20.0) if is_rough() else (12, 45.0)
    node, weight = np.polynomial.legendre.leggauss(points)
    edges = end - np.concatenate([np.arange(0.0, 4.0, 0.25), np.arange(4.0, lowest)])
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[:-1] - edges[1:]) / 2
    return (middle[:, None] + half[:, None] * node).ravel(), (half[:, None] * weight).ravel()
