"""The exact law of stable sets: a rank by its gap, and the chance of its test (Theorem 100, 102, 103)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shortlist.exact.stability_test import StabilityTest
from shortlist.mechanisms.stable.ranking import ranked_gaps
from shortlist.scores import Scores

NEVER = 1e-15
"""What is less likely adds nothing that is seen."""


@dataclass(frozen=True, slots=True)
class StableLaw:
    """For every rank: its top set by positions, P[the rank is chosen], P[its set passes | it is chosen]."""

    ways: tuple[tuple[list[int], float, float], ...]

    @classmethod
    def of(cls, scores: Scores, ranks: Mapping[int, float], test: StabilityTest) -> StableLaw:
        """From the chances of the ranks."""
        positions, gaps = ranked_gaps(scores, max(ranks))
        chances = {gap: float(test.chance(gap).mid()) if gap > 0 else 0.0 for gap in set(gaps)}
        passing = {j: chances[gaps[min(j, len(gaps)) - 1]] for j in ranks}
        return cls(tuple((positions[:j].tolist(), chance, passing[j]) for j, chance in ranks.items()))

    @property
    def named(self) -> float:
        """P[some set is named]."""
        return min(1.0, sum(chosen * passes for _, chosen, passes in self.ways))

    def sets(self) -> dict[tuple[int, ...] | None, float]:
        """P[each set], and None for no set."""
        sets: dict[tuple[int, ...] | None, float] = {
            tuple(sorted(members)): chosen * passes for members, chosen, passes in self.ways if chosen * passes
        }
        return {**sets, None: 1.0 - self.named}

    def filled(self, right: Callable[[list[int]], float]) -> float:
        """P[a true top k], where `right` says how likely it is after each set, and after none."""
        total = (1.0 - self.named) * right([])
        ways = ((members, chosen * passes) for members, chosen, passes in self.ways)
        return min(1.0, total + sum(chance * right(members) for members, chance in ways if chance > NEVER))
