"""Exact utility of the guarded race (SPEC_GUARD G3): the race of all subsets, unless the guard arrives first.

The guard arrives at e^-v U^(1/a), so it has not arrived at time s with chance F(s) = (1 - (s e^v)^a)_+. Every integral
of `subset_chances` gets that factor. F is not smooth at 0, so the integrals are taken in ln s.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist._arrays import Floats
from shortlist.laws.oneshot import inclusion_probabilities, right_probability, within_ranks
from shortlist.laws.oneshot import quality as oneshot_quality
from shortlist.laws.quality import Quality, good_ranks, great_ranks
from shortlist.laws.subset_chances import Chances, covered, log_integral, survival_of, thinned
from shortlist.laws.subsets import Classes
from shortlist.noise.kinds import EXPONENTIAL

PANELS = 40
"""Panels of one nat below the end of the integrals: what lies below them is less than e^-40."""


def guarded_chances(classes: Classes, v: float, a: float, cuts: tuple[int, ...] = ()) -> tuple[Chances, float]:
    """(the law of the class that wins, the chance of the guard) under exponential noise."""
    cells, left_out = covered(classes, cuts)
    mass = 0.5 * (cells.lower + cells.upper)
    loss = classes.rise[cells.row] + 0.5 * (classes.fall[cells.first] + classes.fall[cells.last])
    end, _ = survival_of(mass, loss, np.zeros(1))
    node, weight = _log_panels(min(end, -v))
    _, survival = survival_of(mass, loss, np.exp(node - end))
    still_out = survival + np.log(-np.expm1(np.minimum(a * (node + v), 0.0)))
    top = log_integral(end, still_out, weight * np.exp(node - end))
    cell = mass + thinned(loss, end, still_out, np.exp(node - end), weight * np.exp(node - end))
    guard = max(0.0, 1.0 - math.exp(top) - float(np.exp(cell).sum()))
    return Chances(classes, cells, cell, top, math.exp(left_out)), guard


def _log_panels(end: float) -> tuple[Floats, Floats]:
    """Gauss nodes and weights for an integral over ln s up to `end`."""
    node, weight = np.polynomial.legendre.leggauss(8)
    middles = end - 0.5 - np.arange(PANELS)
    return (middles[:, None] + node / 2).ravel(), np.tile(weight / 2, PANELS)


def mixed(race: Quality, guard: float, fallback: Quality) -> Quality:
    """What the race gives, and what follows if the guard wins."""
    return Quality(*(getattr(race, name) + guard * getattr(fallback, name) for name in Quality.__slots__))


def fallback_quality(s: Floats, k: int) -> Quality:
    """One-shot top-k with exponential noise on scores in noise units."""
    return oneshot_quality(s, k, EXPONENTIAL)


def mirrored_quality(s: Floats, losers: int) -> Quality:
    """The quality of what is left when one-shot picks the `losers` largest of the negated scores s."""
    d, k = len(s), len(s) - losers
    kth = np.sort(s)[k - 1]  # the negated k-th largest score
    kept = 1.0 - inclusion_probabilities(s, losers, EXPONENTIAL)
    great, good = (
        within_ranks(s, losers, max(d - reach, 0), d - head, EXPONENTIAL)
        for head, reach in (great_ranks(k), good_ranks(k))
    )
    return Quality(right_probability(s, losers, EXPONENTIAL), great, good, min(1.0, float(kept[s <= kth].sum()) / k))
