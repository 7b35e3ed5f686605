"""Candidates that stay in their engine: Python sees how many have each score, and the names of the winners.

A position among the candidates is a score class and a rank inside it. Positions go to a mechanism, which treats
candidates alike, so any fixed way to number the candidates of a class gives the same law (docs/tables.md#names).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shortlist._arrays import Indices
from shortlist._reading import Frame

Place = tuple[int, int]
"""(score, rank inside its class, from 1)."""


class Engine(Protocol):
    """An aggregate of (item, score), held where it was made until the scores are forgotten."""

    @property
    def frame(self) -> Frame | None:
        """How a released table is made in the caller's own kind."""
        ...

    def classes(self) -> list[tuple[int, int]]:
        """(score, how many items have it), in any order."""
        ...

    def winners(self, places: Sequence[Place]) -> list[tuple[object, ...]]:
        """The items at these places, in this order: the only names that travel."""
        ...


@dataclass(frozen=True, slots=True)
class Uncounted:
    """So many candidates before anything is counted: all of them score 0, and none has a name yet."""

    number: int
    frame: Frame | None = None

    def classes(self) -> list[tuple[int, int]]:
        return [(0, self.number)] if self.number else []

    def winners(self, places: Sequence[Place]) -> list[tuple[object, ...]]:
        raise RuntimeError("nothing was counted yet")


@dataclass(frozen=True, slots=True, repr=False)
class Held:
    """The names behind the positions 0 .. d - 1: best score first."""

    engine: Engine
    scores: Indices
    """The distinct scores, decreasing."""
    ends: Indices
    """Where each class ends."""

    @classmethod
    def of(cls, engine: Engine) -> Held:
        classes = np.array(sorted(engine.classes(), reverse=True), np.int64).reshape(-1, 2)
        return cls(engine, classes[:, 0], np.cumsum(classes[:, 1]))

    @property
    def sizes(self) -> Indices:
        return np.diff(self.ends, prepend=0)

    def names(self, positions: Sequence[int]) -> list[Hashable]:
        """The candidates at these positions; several columns make a tuple."""
        if not len(positions):
            return []
        where = np.asarray(positions, np.int64)
        which = np.searchsorted(self.ends, where, side="right")
        ranks = where - (self.ends - self.sizes)[which] + 1
        places = list(zip(self.scores[which].tolist(), ranks.tolist(), strict=True))
        rows = self.engine.winners(places)
        if len(rows) != len(places):
            raise RuntimeError("the table changed between counting and naming the winners; count again")
        return [row[0] if len(row) == 1 else row for row in rows]
