"""Exact distributions of ranks with a large gap, of stable sets, and of quantiles run by run or point by point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shortlist._arrays import Floats
from shortlist.errors import bad_value
from shortlist.exact.reals import to_float
from shortlist.mechanisms.stable import rank_gaps
from shortlist.sampling.quantiles import Node, Recursion, Runs
from shortlist.scores import Scores
from shortlist.utility import Quality
from shortlist.utility.race import WinnerDistribution, permute_and_flip, winner_probabilities

if TYPE_CHECKING:
    from shortlist.mechanisms.quantiles import Quantile
    from shortlist.mechanisms.stable import LargeGap, StableTopK

NEVER = 1e-15
"""What is less likely adds nothing that is seen."""


def large_gap(mechanism: LargeGap | StableTopK, scores: Scores) -> WinnerDistribution:
    """Return the distribution of the rank, from 1 on: a rank with the largest u(j) + r(j) is right."""
    (ranking, shifts), scale = mechanism._gaps(scores), mechanism._scale(scores)
    aims = [None if r is None else (ranking[j] - ranking[j + 1] + r) / scale for j, r in enumerate(shifts)]
    top = max(one for one in aims if one is not None)
    places = np.array([-np.inf if one is None else to_float(one - top) for one in aims])
    return WinnerDistribution(winner_probabilities(places, mechanism._noise[0]), np.array([one == top for one in aims]))


@dataclass(frozen=True, slots=True)
class StableDistribution:
    """For every rank: its top set by positions, P[the rank is chosen], P[its set passes | it is chosen]."""

    mechanism: StableTopK
    scores: Scores
    ways: tuple[tuple[list[int], float, float], ...]

    def sets(self) -> dict[tuple[int, ...] | None, float]:
        """P[each set], and None for no set."""
        if self.mechanism.fill:
            raise ValueError("the chances of all sets are known without fill; ask for success_probability")
        sets: dict[tuple[int, ...] | None, float] = {
            tuple(sorted(members)): chosen * passes for members, chosen, passes in self.ways if chosen * passes
        }
        return {**sets, None: 1.0 - self._any()}

    def success(self) -> float:
        """P[some set is named], or with fill P[a true top k]."""
        if not self.mechanism.fill:
            return self._any()
        total = (1.0 - self._any()) * self._right_after([])
        ways = ((members, chosen * passes) for members, chosen, passes in self.ways)
        return min(1.0, total + sum(chance * self._right_after(members) for members, chance in ways if chance > NEVER))

    def quality(self) -> Quality:
        """All four are equal, for what is named is the top k."""
        if self.mechanism.k is None or self.mechanism.fill:
            raise ValueError("quality is known for a fixed k without fill; success_probability is known for all")
        right = self._any()
        return Quality(top=right, great=right, good=right, recall=right)

    def _any(self) -> float:
        """P[some set is named]."""
        return min(1.0, sum(chosen * passes for _, chosen, passes in self.ways))

    def _right_after(self, stable: list[int]) -> float:
        """P[the k labels are a true top k | this set has passed, or none]."""
        if len(stable) == self.mechanism.k:
            return 1.0
        filling: Any
        filling, left = self.mechanism._round_of(self.scores, stable)
        return filling.success_probability(left)


def stable(mechanism: StableTopK, scores: Scores) -> StableDistribution:
    """Return the distribution of the set."""
    if mechanism.k is not None and not mechanism.fill:
        ranks = {mechanism.k: 1.0}
    else:
        ranks = dict(enumerate(large_gap(mechanism, scores).chances.tolist(), 1))
    test, (positions, gaps) = mechanism._parts.test, rank_gaps(scores, max(ranks))
    chances = {gap: float(test.chance(gap).mid()) if gap > 0 else 0.0 for gap in set(gaps)}
    passing = {j: chances[gaps[min(j, len(gaps)) - 1]] for j in ranks}
    ways = tuple((positions[:j].tolist(), chance, passing[j]) for j, chance in ranks.items())
    return StableDistribution(mechanism, scores, ways)


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


DISTRIBUTIONS: dict[str, Any] = {"LargeGap": large_gap, "StableTopK": stable, "Quantile": QuantileDistribution}
