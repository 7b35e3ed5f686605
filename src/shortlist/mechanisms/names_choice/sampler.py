"""One exact draw of which mechanism runs: a branch with probability in proportion to e^(-rate bar) (Algorithm 211)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.exact.partial_reals import ball, rounded
from shortlist.sampling.entropy import Source
from shortlist.sampling.uniforms import WordStream, shares

if TYPE_CHECKING:
    from flint import arb


class Choice:
    """A low bar is likely: exact rational exponents, decided in balls where floats do not tell."""

    __slots__ = ("_losses", "_shares")

    def __init__(self, bars: Sequence[Fraction], rate: Fraction) -> None:
        least = min(bars)
        self._losses = [rate * (bar - least) for bar in bars]
        self._shares = shares(np.array([-rounded(loss) for loss in self._losses]))

    def draw(self, source: Source) -> int:
        """The number of the branch."""
        return self._one(WordStream(source))

    def draw_many(self, source: Source, draws: int) -> Indices:
        """The numbers of the branches of independent choices."""
        stream = WordStream(source, ahead=1024)
        return np.array([self._one(stream) for _ in range(draws)], np.int64)

    def _one(self, stream: WordStream) -> int:
        while True:
            place = self._shares.propose(stream)
            if self._shares.accepted(place, partial(_mass, self._losses[place]), stream):
                return place

    def chances(self) -> Floats:
        """P[each branch is chosen]."""
        weights = np.exp([-rounded(loss) for loss in self._losses])
        chances: Floats = weights / weights.sum()
        return chances


def _mass(loss: Fraction) -> arb:
    return (-ball(loss)).exp()
