"""The exact law of private quantiles: run by run for one quantile, point by point for several on a small grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist._arrays import Floats
from shortlist.errors import bad_value
from shortlist.sampling.quantiles import Node, Recursion, Runs
from shortlist.scores import Scores
from shortlist.utility.race import permute_and_flip

if TYPE_CHECKING:
    from shortlist.mechanisms.quantiles import Quantile

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


@dataclass(frozen=True, slots=True)
class QuantileDistribution:
    """The places that come out: of one quantile by runs of places, of several one sequence after the other."""

    mechanism: Quantile
    scores: Scores

    def runs(self) -> list[Run]:
        root, recursion, q = self._one()
        runs, share = root.runs(q * root.total), float(self.scores.largest_sensitivity)
        chances = run_chances(runs, recursion.rate(q), recursion.flips).tolist()
        errors = (runs.distances / share).tolist()
        return [Run(*one) for one in zip(runs.firsts.tolist(), runs.sizes.tolist(), chances, errors, strict=True)]

    def winners(self) -> Floats:
        root, recursion, q = self._one()
        if self.scores._size > LARGEST:
            raise ValueError("that many points are not listed one by one: read .runs(...)")
        return point_chances(root, q, recursion.rate(q), recursion.flips)

    def sets(self) -> dict[tuple[int, ...], float]:
        root, recursion = self.mechanism._recursion(self.scores)
        if self.scores._size ** len(recursion.q) > LARGEST:
            raise ValueError("that many sequences are not listed one by one: ask for fewer quantiles or points")
        return sequence_chances(root, recursion.q, recursion.rate, recursion.flips)

    def _one(self) -> tuple[Node, Recursion, Fraction]:
        """Return all votes, how they are asked, and the q of the only quantile."""
        root, recursion = self.mechanism._recursion(self.scores)
        if len(recursion.q) > 1:
            raise bad_value("this law is of one quantile: write $q=0.5, or read .sequence_probabilities(...)")
        return root, recursion, recursion.q[0]


DISTRIBUTIONS: dict[str, Any] = {"Quantile": QuantileDistribution}
