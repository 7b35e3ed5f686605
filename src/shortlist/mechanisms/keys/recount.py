"""Candidates by their capped weights, whose people are counted again once their names are out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from shortlist._arrays import Indices, Values


class Recounted:
    """As the weights of a table, but for how many people hold what was named.

    Up to `most` names a person can hold all of them, and the counts of the table do. Beyond, `again` counts the rows
    once more: of each person at most `most` of these very names.
    """

    __slots__ = ("_again", "_weights", "most")

    def __init__(self, weights: Any, again: Callable[[list[Hashable], int], list[int]]) -> None:
        self._weights = weights
        self._again = again
        self.most: int = weights.most

    @property
    def scores(self) -> Values:
        scores: Values = self._weights.scores
        return scores

    @property
    def sizes(self) -> Indices:
        sizes: Indices = self._weights.sizes
        return sizes

    def names(self, positions: Sequence[int]) -> list[Hashable]:
        names: list[Hashable] = self._weights.names(positions)
        return names

    def counts(self, positions: Sequence[int]) -> list[int]:
        counts: list[int] = self._weights.counts(positions)
        return counts

    def people(self, positions: Sequence[int]) -> tuple[list[int], int]:
        """(how many people hold each, of how many of them one person counts at most)."""
        if len(positions) <= self.most:
            return self.counts(positions), len(positions)
        return self._again(self.names(positions), self.most), self.most
