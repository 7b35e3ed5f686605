"""Certified densities of the hybrids of top-k and sparse vector (Definition 98)."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

from flint import fmpq

from shortlist.certified import curves
from shortlist.certified.curves import NAMED, rational
from shortlist.certified.law import Law, gap_grid
from shortlist.certified.races import best_of, leads

if TYPE_CHECKING:
    from shortlist.mechanisms.hybrids.mechanism import HybridSparseVector, HybridTopK
    from shortlist.scores import Scores

CONSTANT = curves.Curve((), (curves.ONE,))


def law(mechanism: HybridTopK, scores: Scores) -> Law:
    """(order, gaps, ended): the threshold runs along, and where it finishes the list ends (Definition 98)."""
    k, scale = mechanism.k, mechanism._scale(scores)
    wide, noise = rational(scale), NAMED["exponential"]
    x = [rational(value) for value in scores.values.tolist()]
    line = rational(_threshold(mechanism, scores))
    densities, costs = {}, {}
    for n in range(min(k, len(x)) + 1):
        ended = n < k
        for order in permutations(range(len(x)), n):
            rest = [x[j] for j in range(len(x)) if j not in order]
            for gaps in gap_grid(n, scale):
                ahead = zip(order, leads(gaps), strict=True)
                winners = curves.product([CONSTANT, *(curves.density(noise, wide, x[i] - lead) for i, lead in ahead)])
                if ended:
                    others = [curves.below(noise, wide, place) for place in rest]
                    value = curves.product([winners, curves.density(noise, wide, line), *others]).integral()
                else:
                    value = best_of(winners, [line, *rest], noise, wide).integral()
                densities[order, gaps, ended] = value
                costs[order, gaps, ended] = float(mechanism._cost(scores, n))
    return Law(densities, density=True, costs=costs)


def _threshold(mechanism: HybridTopK | HybridSparseVector, scores: Scores) -> int | float:
    """Negated with the scores, where the smallest are asked for."""
    return -mechanism.threshold if scores._turned else mechanism.threshold


def sparse_vector_law(mechanism: HybridSparseVector, scores: Scores) -> Law:
    """(items in order of their gaps, gaps): an integral over the threshold's noise (Definition 98)."""
    below, scale = mechanism._scales(scores)
    noise, wide = NAMED["exponential"], rational(scale)
    at = Fraction(_threshold(mechanism, scores))
    shifted = [rational(Fraction(v) - at - scale + below) for v in scores.values.tolist()]
    line = curves.density(noise, rational(below), fmpq(0))
    densities, costs = {}, {}
    for n in range(min(mechanism.k, len(shifted)) + 1):
        for order in permutations(range(len(shifted)), n):
            for gaps in gap_grid(n, scale):
                if list(gaps) != sorted(gaps, reverse=True):
                    continue
                bar = rational(gaps[-1]) if n == mechanism.k else fmpq(0)
                rest = [shifted[j] - bar for j in range(len(shifted)) if j not in order]
                winners = [
                    curves.density(noise, wide, shifted[i] - rational(g)) for i, g in zip(order, gaps, strict=True)
                ]
                others = [curves.below(noise, wide, place) for place in rest]
                densities[order, gaps] = curves.product([line, *winners, *others]).integral()
                costs[order, gaps] = float(mechanism._cost(scores, n))
    return Law(densities, density=True, costs=costs)
