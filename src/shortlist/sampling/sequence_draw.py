"""Drawing one ordered sequence in proportion to e^(-rate loss), exactly (Theorem 78, Lemma 189).

A cell of losses is proposed in proportion to an integer that is surely above its mass; in it a whole loss, all alike,
unless N is the same all over it. The loss is accepted with the exact ratio of its mass to its share, decided in balls.
Then every place takes a uniform rank among those it may have and that are left: a shuffle that stops early.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log, prod
from typing import TYPE_CHECKING

import numpy as np

from shortlist.exact.partial_reals import ball
from shortlist.exact.sequence_classes import Cells, Ladder, cells, times
from shortlist.sampling.entropy import Source
from shortlist.sampling.proportional_draw import Shares, shares
from shortlist.sampling.uniforms import WordStream

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, slots=True)
class Level:
    """A loss that was proposed: how far each place reaches, and the mass it stands for."""

    loss: int
    reach: list[int]
    mass: Callable[[], arb]
    log_mass: float


@dataclass(frozen=True)
class Sequences:
    """P(s) proportional to e^(-rate loss(s)) over the sequences of a ladder."""

    steps: Ladder
    rate: Fraction
    """For one unit of the ladder."""

    @cached_property
    def cells(self) -> Cells:
        return cells(self.steps, self.rate)

    @cached_property
    def _flat(self) -> list[bool]:
        flags: list[bool] = self.cells.flat.tolist()
        return flags

    @cached_property
    def _shares(self) -> Shares:
        return shares(self.cells.upper)

    def draw(self, source: Source) -> list[int]:
        """One sequence of ranks."""
        return self.sequence(WordStream(source))

    def draw_many(self, source: Source, draws: int) -> list[list[int]]:
        """Independent sequences."""
        stream = WordStream(source, ahead=1024)
        return [self.sequence(stream) for _ in range(draws)]

    def sequence(self, stream: WordStream) -> list[int]:
        """One sequence of ranks, from these words."""
        while True:
            cell = self._shares.propose(stream)
            level = self.level(cell, stream)
            if self._shares.accepted(cell, level.mass, stream, level.log_mass):
                return shuffled_sequence(level.reach, stream)

    def level(self, cell: int, stream: WordStream) -> Level:
        """A loss of the cell. If N is the same all over it, the mass is that of the whole cell.

        Elsewhere it is that of one whole loss, N(t) (e^(-rate t) - e^(-rate (t + 1))), times the number of them.
        """
        cover, rate, flat = self.cells, self.rate, self._flat[cell]
        start, width = int(cover.start[cell]), int(cover.end[cell] - cover.start[cell])
        if flat:
            reach, loss = cover.low[cell].tolist(), start
            step = rate * width if cell + 1 < len(cover) else None
            count, log_mass = prod(n - i for i, n in enumerate(reach)), float(cover.upper[cell])
        else:
            loss, step = start + stream.below(width), rate
            here = self.steps.reach(self.steps.losses_of([loss]))
            reach = here[0].tolist()
            count = width * prod(n - i for i, n in enumerate(reach))
            depth, whole = _float_times(loss, rate), _float_times(1, rate)
            log_mass = float(self.steps.log_counts(here)[0]) - depth + log(width) + _log_rise(whole, rate)

        def mass() -> arb:
            rise = 1 if step is None else -(-ball(step)).expm1()
            return ball(Fraction(count)) * (-ball(rate * loss)).exp() * rise

        return Level(loss, reach, mass, log_mass)


def _float_times(whole: int, rate: Fraction) -> float:
    return float(times(np.array([whole], object), rate)[0])


def _log_rise(step: float, rate: Fraction) -> float:
    """ln (1 - e^-step), also of a step that is too small for a float."""
    return log(-np.expm1(-step)) if step > 1e-300 else log(rate.numerator) - log(rate.denominator)


def shuffled_sequence(reach: list[int], stream: WordStream) -> list[int]:
    """Each place takes a uniform one of its first `reach` ranks that no earlier place took; reach is nondecreasing.

    After i places the first i entries of a virtual array are the ranks taken, and the next up to `reach` are left.
    """
    array: dict[int, int] = {}
    ranks = []
    for i, n in enumerate(reach):
        j = i + stream.below(n - i)
        ranks.append(array.get(j, j))
        array[j] = array.get(i, i)
    return ranks
