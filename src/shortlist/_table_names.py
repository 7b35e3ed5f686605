"""Candidates whose names stay in the table they were counted from."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from shortlist._arrays import Indices, Values


class Names(Protocol):
    """Candidates whose names stay where they are (`shortlist.tables`): positions are score classes, best first."""

    @property
    def scores(self) -> Values:
        """The distinct scores, decreasing."""

    @property
    def sizes(self) -> Indices:
        """How many candidates have each."""

    def names(self, positions: Sequence[int]) -> list[Hashable]:
        """The candidates at these positions."""


class WeighedNames(Names, Protocol):
    """The same candidates by their capped weights: `scores` are whole numbers of 2^-20, and those of weight 0 are left
    out. One person, added, adds to `most` of them at most, and by squares that are 1 at most in all (Theorem 195)."""

    @property
    def most(self) -> int:
        """How many of a person's candidates were weighed, at most: public."""

    def counts(self, positions: Sequence[int]) -> list[int]:
        """The scores, as `Scores` have them, of the candidates at these positions."""


class Pick(NamedTuple):
    """Positions in one group: of its scores, or of its capped weights."""

    group: int
    positions: Sequence[int]
    by_weight: bool = False


class NamesOfGroups(Protocol):
    """The names of many groups, asked for together: one question for all winners."""

    @property
    def number(self) -> int:
        """How many groups there are: private, unless their keys are public."""

    def keys(self, groups: Sequence[int]) -> list[Hashable]:
        """The keys of these groups: of those that are listed, for they travel."""

    def names(self, picks: Sequence[Pick]) -> list[list[Hashable]]:
        """The candidates that were picked, group by group."""


class OnGrid:
    """The same candidates, their scores in units of the caller: whole steps times a power of two, which is exact."""

    __slots__ = ("_grid", "_names")

    def __init__(self, names: Names, grid: float) -> None:
        self._names = names
        self._grid = grid

    @property
    def scores(self) -> Values:
        return self._names.scores.astype(np.float64) * self._grid

    @property
    def sizes(self) -> Indices:
        return self._names.sizes

    def names(self, positions: Sequence[int]) -> list[Hashable]:
        return self._names.names(positions)
