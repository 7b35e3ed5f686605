"""Exact distributions of ranks with a large gap, and of stable sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.exact.reals import to_float
from shortlist.mechanisms.stable import rank_gaps
from shortlist.scores import Scores
from shortlist.utility import Quality
from shortlist.utility.race import WinnerDistribution, winner_probabilities

if TYPE_CHECKING:
    from shortlist.mechanisms.stable import LargeGap, StableTopK

NEVER = 1e-15
"""What is less likely adds nothing that is seen."""


def large_gap(mechanism: LargeGap | StableTopK, scores: Scores) -> WinnerDistribution:
    """Return the distribution of the rank, from 1 on: a rank with the largest u(j) + r(j) is right."""
    (ranking, shifts), scale = mechanism._gaps(scores), mechanism._scale(scores)
    aims = [None if r is None else (ranking[j] - ranking[j + 1] + r) / scale for j, r in enumerate(shifts)]
    top = max(one for one in aims if one is not None)
    places = np.array([-np.inf if one is None else to_float(one - top) for one in aims])
    return WinnerDistribution(winner_probabilities(places, mechanism._noise), np.array([one == top for one in aims]))


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
        right: float = filling.success_probability(left)
        return right


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


DISTRIBUTIONS: dict[str, Any] = {"LargeGap": large_gap, "StableTopK": stable}
