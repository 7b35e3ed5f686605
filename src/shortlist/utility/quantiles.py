"""The exact law of private quantiles: run by run for one quantile, point by point for several on a small grid."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from shortlist._arrays import Floats
from shortlist.sampling.quantiles import Node, Runs
from shortlist.utility.race import permute_and_flip

LARGEST = 10**6
"""So many points, or sequences of them, are listed one by one."""


class Run(NamedTuple):
    """Points side by side with one chance for all of them together."""

    first: int
    size: int
    chance: float
    error: float
    """How far the rank asked for is from the ranks of these points, in people."""


def run_chances(runs: Runs, rate: Fraction, flips: bool) -> Floats:
    """P[the point is in the run]; all runs must be there."""
    falls, sizes = -float(rate) * runs.distances, runs.sizes.astype(np.float64)
    if flips:
        return permute_and_flip(falls, sizes) * sizes
    odds: Floats = np.exp(falls) * sizes
    return odds / float(odds.sum())


def all_runs(node: Node, q: Fraction, rate: Fraction, flips: bool, share: Fraction) -> list[Run]:
    """The law of one quantile: chances are exact to 1e-12 and add up to 1."""
    runs = node.runs(q * node.total)
    chances = run_chances(runs, rate, flips).tolist()
    errors = (runs.distances / float(share)).tolist()
    return [Run(*one) for one in zip(runs.firsts.tolist(), runs.sizes.tolist(), chances, errors, strict=True)]


def point_chances(node: Node, q: Fraction, rate: Fraction, flips: bool) -> Floats:
    """P[point], for all points of a node."""
    runs = node.runs(q * node.total)
    return np.repeat(run_chances(runs, rate, flips) / runs.sizes, runs.sizes)


def sequence_chances(
    node: Node, q: tuple[Fraction, ...], rate: Callable[[Fraction], Fraction], flips: bool
) -> dict[tuple[int, ...], float]:
    """{points: chance} of several quantiles by the recursion, for all sequences that can come out."""

    def below(node: Node, part: tuple[Fraction, ...], low: Fraction, high: Fraction) -> dict[tuple[int, ...], float]:
        if not part:
            return {(): 1.0}
        middle = len(part) // 2
        inside = (part[middle] - low) / (high - low)
        law: dict[tuple[int, ...], float] = {}
        for place, chance in enumerate(point_chances(node, inside, rate(inside), flips).tolist()):
            at = node.first + place
            left, right = node.split(at)
            before = below(left, part[:middle], low, part[middle])
            after = below(right, part[middle + 1 :], part[middle], high)
            for head, one in before.items():
                for tail, two in after.items():
                    law[*head, at, *tail] = chance * one * two
        return law

    return below(node, q, Fraction(0), Fraction(1))
