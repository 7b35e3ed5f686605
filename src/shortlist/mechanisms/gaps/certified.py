"""Certified densities of lists with gaps, and of lists that are measured afterwards (Theorem 80, 81)."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from typing import TYPE_CHECKING, Any

from flint import arb, fmpq

from shortlist.certified.curves import NAMED, power, rational
from shortlist.certified.law import Law, gap_grid
from shortlist.certified.races import gap_density

if TYPE_CHECKING:
    from shortlist.mechanisms.gaps.mechanism import MeasuredTopK, TopKWithGaps
    from shortlist.scores import Scores


def law(mechanism: TopKWithGaps, scores: Scores) -> Law:
    """The density of (order, gaps), on a grid of gaps."""
    return Law(_densities(mechanism, scores, mechanism._scale(scores)), density=True)


def measured_law(mechanism: MeasuredTopK, scores: Scores) -> Law:
    """The density of (order, gaps, measurements), of which values and gaps are a one-to-one function."""
    selection, measurement = mechanism._scales(scores)
    x, scale = [rational(value) for value in scores.values.tolist()], rational(measurement)
    densities = {}
    for (order, gaps), value in _densities(mechanism, scores, selection).items():
        for measurements in product((-8, 0, 8), repeat=mechanism.k):
            distance = sum((abs(fmpq(at) - x[i]) for i, at in zip(order, measurements, strict=True)), start=fmpq(0))
            densities[order, gaps, measurements] = value * power(-distance / scale)
    return Law(densities, density=True)


def _densities(mechanism: TopKWithGaps | MeasuredTopK, scores: Scores, scale: Fraction) -> dict[Any, arb]:
    x, noise = scores.values.tolist(), NAMED[mechanism.noise]
    return {
        (order, gaps): gap_density(x, order, gaps, noise, scale)
        for order in permutations(range(len(x)), mechanism.k)
        for gaps in gap_grid(mechanism.k, scale)
    }
