"""Candidates that stay in their engine: Python sees how many have each score, and the names of the winners.

A position among the candidates is a score class and a rank inside it. Positions go to a mechanism, which treats
candidates alike, so any fixed way to number the candidates of a class gives the same law (docs/tables.md#names).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from shortlist._arrays import Frame, Indices

Place = tuple[int, int]
"""(score, rank inside its class, from 1)."""

Column = Literal["score", "weight"]
"""By which of its numbers an item is found. Weights are made where an engine is `weighted`; items that weigh nothing
are not found by them."""


class Engine(Protocol):
    """An aggregate of (item, score) and perhaps a weight, held where it was made until the scores are forgotten.

    Both numbers were made of the same rows in one pass, and naming the winners reads what is held, never the rows.
    """

    @property
    def frame(self) -> Frame | None:
        """How a released table is made in the caller's own kind."""
        ...

    @property
    def weighted(self) -> bool:
        """Whether items have weights."""
        ...

    def classes(self, column: Column = "score") -> list[tuple[int, int]]:
        """(score or weight, how many items have it), in any order."""
        ...

    def winners(self, places: Sequence[Place], column: Column = "score") -> list[tuple[object, ...]]:
        """The items at these places, in this order: the only names that travel."""
        ...

    def counts(self, places: Sequence[Place]) -> list[int]:
        """The scores of the items at these places of the weights, in this order."""
        ...


@dataclass(frozen=True, slots=True)
class Uncounted:
    """So many candidates before anything is counted: all of them score 0, and none has a name yet."""

    number: int
    weighted: bool = False
    frame: Frame | None = None

    def classes(self, column: Column = "score") -> list[tuple[int, int]]:
        return [(0, self.number)] if self.number and column == "score" else []

    def winners(self, places: Sequence[Place], column: Column = "score") -> list[tuple[object, ...]]:
        raise RuntimeError("nothing was counted yet")

    def counts(self, places: Sequence[Place]) -> list[int]:
        raise RuntimeError("nothing was counted yet")


@dataclass(frozen=True, slots=True, repr=False)
class Held:
    """The names behind the positions 0 .. d - 1: best score first."""

    engine: Engine
    scores: Indices
    """The distinct scores, decreasing."""
    ends: Indices
    """Where each class ends."""
    column: Column = "score"

    @classmethod
    def of(cls, engine: Engine, column: Column = "score") -> Held:
        classes = np.array(engine.classes(column), np.int64).reshape(-1, 2)
        best = classes[np.argsort(-classes[:, 0])]
        return cls(engine, best[:, 0], np.cumsum(best[:, 1]), column)

    @property
    def sizes(self) -> Indices:
        return np.diff(self.ends, prepend=0)

    def names(self, positions: Sequence[int]) -> list[Hashable]:
        """The candidates at these positions; several columns make a tuple."""
        if not len(positions):
            return []
        places = self.places(positions)
        rows = self.engine.winners(places, self.column)
        if len(rows) != len(places):
            raise RuntimeError(CHANGED)
        return [row[0] if len(row) == 1 else row for row in rows]

    def places(self, positions: Sequence[int]) -> list[Place]:
        """The same positions as the engine knows them."""
        where = np.asarray(positions, np.int64)
        which = np.searchsorted(self.ends, where, side="right")
        ranks = where - (self.ends - self.sizes)[which] + 1
        return list(zip(self.scores[which].tolist(), ranks.tolist(), strict=True))


@dataclass(slots=True, repr=False, eq=False)
class Weights:
    """The items by their weights: whole numbers of 2^-20, of those above 0, best first. Read when they are needed.

    One person, added, raises the weights of t <= most items by weight(t) each, and no other: the squares of what they
    add are 1 at most in all (Theorem 195). Private, as scores are.
    """

    engine: Engine
    most: int
    """How many items of a person were weighed, at most: public."""
    _places_held: Held | None = None

    @property
    def _held(self) -> Held:
        if self._places_held is None:
            self._places_held = Held.of(self.engine, "weight")
        return self._places_held

    @property
    def scores(self) -> Indices:
        """The distinct weights, decreasing."""
        return self._held.scores

    @property
    def sizes(self) -> Indices:
        """How many items have each."""
        return self._held.sizes

    def names(self, positions: Sequence[int]) -> list[Hashable]:
        """The items at these positions."""
        return self._held.names(positions)

    def counts(self, positions: Sequence[int]) -> list[int]:
        """Their scores: how many people have them, or kept them where a cap was asked for."""
        counts = self.engine.counts(self._held.places(positions)) if len(positions) else []
        if len(counts) != len(positions):
            raise RuntimeError(CHANGED)
        return counts


CHANGED = "the table changed between counting and naming the winners; count again"
