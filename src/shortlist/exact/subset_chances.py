"""The chance of every class of subsets under Gumbel or exponential noise (Theorem 119).

A subset of loss w wins with a chance that depends on w alone. Gumbel noise: ``e^-w / (1 + S)``, S the mass of all
classes. Exponential noise: the top k wins with ``Int_0^1 G(s) ds`` and a subset of weight p = e^-w with

    p Int_0^1 (1 - s) G(s) / (1 - p s) ds,   G(s) = prod (1 - p_y s) over all subsets y but the top k.

Every factor has derivatives that alternate in sign on [0, 1], and so have the products: Gauss's rule never exceeds
such an integral and Radau's, with a node at 0, never falls below it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.exact.noise_distributions import GUMBEL, Noise
from shortlist.exact.subset_classes import Cells, Classes, log_sum, relevant, settle

CELL_WIDTH = 1e-9
"""Cells are cut until the bounds of their masses differ by about this share of the total, or all scores are equal."""

LOG_SUM_ROUNDING = 2.0**-45
"""A logarithm l of a sum over cells may be off by LOG_SUM_ROUNDING (32 + |l|): 128 units in the last place of l."""

NODES = 40
LAST = 50.0
"""Integrals end at s = 50 / S: beyond it G is below e^-50, and so is the share of what is left out."""

SMALL = 1e-8
"""Below it -ln(1 - y) is y + y^2 / 2 in floats."""

CHUNK = 1 << 16
"""Cells per block, so that memory stays bounded."""


@dataclass(frozen=True, slots=True)
class Chances:
    """All classes as cells, with the logarithm of each cell's chance, and of that of the top k as one subset.

    `error` says by how much the chance of any event may be off: what the bounds of the cells and the classes left out
    amount to, and how far all chances together are from 1.
    """

    classes: Classes
    cells: Cells
    cell: Floats
    top: float
    error: float

    @property
    def i(self) -> Indices:
        return self.classes.i[self.cells.row]


def chances(classes: Classes, noise: Noise, cuts: tuple[int, ...] = ()) -> Chances:
    """The law of the class that wins. No cell straddles a cut: j below and j at or above it are apart."""
    cells, left_out = covered(classes, cuts)
    mass = 0.5 * (cells.lower + cells.upper)
    loss = classes.rise[cells.row] + 0.5 * (classes.fall[cells.first] + classes.fall[cells.last])
    total = float(np.logaddexp(0.0, log_sum(mass)))
    top, factor = winning(mass, loss, noise)
    cell = mass + factor
    gap = float(np.exp(cells.upper - total).sum() - np.exp(cells.lower - total).sum()) + math.exp(left_out - total)
    whole = math.exp(top) + float(np.exp(cell).sum())
    return Chances(classes, cells, cell, top, abs(1.0 - whole) + gap + LOG_SUM_ROUNDING * (32.0 + total))


def winning(mass: Floats, loss: Floats, noise: Noise) -> tuple[float, Floats]:
    """(ln P[the top k wins, as one subset], ln of the chance of a subset over e^-its loss, by cell) from all cells."""
    if noise == GUMBEL:
        total = float(np.logaddexp(0.0, log_sum(mass)))
        return -total, np.full(len(loss), -total)
    end, survival = survival_of(mass, loss, _gauss()[0])
    return log_integral(end, survival, _gauss()[1]), thinned(loss, end, survival, *_gauss())


def top_bounds(classes: Classes, noise: Noise) -> tuple[float, float]:
    """(lower, upper) bounds on ln P[the top k wins, as one subset]: certified."""
    cells, left_out = covered(classes, ())
    least = classes.rise[cells.row] + classes.fall[cells.first]
    most = classes.rise[cells.row] + classes.fall[cells.last]
    # the classes left out have so little mass that p s is below 1e-9 for them: twice their mass bounds their hazard
    rest = left_out if noise == GUMBEL else left_out + math.log(2.0)
    return winning_bounds(np.append(cells.upper, rest), np.append(least, math.inf), cells.lower, most, noise)


def winning_bounds(upper: Floats, least: Floats, lower: Floats, most: Floats, noise: Noise) -> tuple[float, float]:
    """The same from upper masses with least losses, and lower masses with largest losses."""
    if noise == GUMBEL:
        heavy, light = log_sum(upper), log_sum(lower)
        return _widened(-float(np.logaddexp(0.0, heavy)), -float(np.logaddexp(0.0, light)))
    end, survival = survival_of(upper, least, _gauss()[0])
    low = log_integral(end, survival, _gauss()[1])
    end, survival = survival_of(lower, most, _radau()[0])
    return _widened(low, log_integral(end, survival, _radau()[1]))


def _widened(lower: float, upper: float) -> tuple[float, float]:
    return lower - LOG_SUM_ROUNDING * (32.0 - lower), min(upper + LOG_SUM_ROUNDING * (32.0 - upper), 0.0)


def covered(classes: Classes, cuts: tuple[int, ...]) -> tuple[Cells, float]:
    """(all classes that matter as cells with close bounds, the logarithm of a bound on the mass of the others)."""
    cells, left_out = relevant(classes, outside=0.0, width=0.7, cuts=cuts)
    if not len(cells):
        cells, left_out = relevant(classes, outside=-math.inf, width=0.7, cuts=cuts)
    return settle(classes, cells, outside=0.0, tolerance=CELL_WIDTH), left_out


@cache
def _gauss() -> tuple[Floats, Floats]:
    """Nodes and weights on [0, 1]."""
    node, weight = np.polynomial.legendre.leggauss(NODES)
    return (node + 1.0) / 2.0, weight / 2.0


@cache
def _radau() -> tuple[Floats, Floats]:
    """The same with a node at 0: those of (P_{n-1} + P_n) / (1 + x)."""
    from scipy.special import eval_legendre, roots_jacobi

    inner = roots_jacobi(NODES - 1, 0.0, 1.0)[0]
    node = np.append(-1.0, inner)
    weight = np.append(2.0, (1.0 - inner) / eval_legendre(NODES - 1, inner) ** 2) / NODES**2
    return (node + 1.0) / 2.0, weight / 2.0


def survival_of(mass: Floats, loss: Floats, node: Floats) -> tuple[float, Floats]:
    """(ln b, ln G at the nodes of [0, b]), b where the integrals end, from masses in logarithms and losses.

    ``N ln(1 - p s) = -mass s r(p s)`` with r(y) = -ln(1 - y) / y, which is 1 at 0.
    """
    end = min(0.0, math.log(LAST) - log_sum(mass))
    hazard = np.zeros(len(node))
    for start in range(0, len(mass), CHUNK):
        some = slice(start, start + CHUNK)
        share, weight = np.exp(mass[some] + end), np.exp(end - loss[some])
        small = weight < SMALL
        hazard += node * share[small].sum() + 0.5 * node**2 * (share[small] @ weight[small])
        share, weight = share[~small] / weight[~small], weight[~small]
        hazard -= np.array([share @ np.log1p(-weight * x) for x in node])
    return end, -hazard


def log_integral(end: float, survival: Floats, weight: Floats) -> float:
    """ln Int_0^b G ds"""
    return end + log_sum(survival + np.log(weight))


def thinned(loss: Floats, end: float, survival: Floats, node: Floats, weight: Floats) -> Floats:
    """ln Int_0^b (1 - s) G(s) / (1 - e^-loss s) ds for each loss."""
    s = node * math.exp(end)
    factor = weight * np.exp(survival) * (1.0 - s)
    result = np.empty(len(loss))
    for start in range(0, len(loss), CHUNK):
        p = np.exp(-loss[start : start + CHUNK])
        result[start : start + CHUNK] = sum(f / (1.0 - p * x) for f, x in zip(factor, s, strict=True))
    return end + np.log(result)
