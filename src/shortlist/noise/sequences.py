"""Drawing one sequence of the joint exponential mechanism, exactly.

A rung of the ladder is proposed in proportion to an integer that is surely above its weight, and accepted with the
exact ratio, decided in balls. Then every place takes a uniform rank among those it may have and that are left: a
shuffle that stops early.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Indices
from shortlist.laws.sequences import Ladder
from shortlist.noise.entropy import Source
from shortlist.noise.lazy import ball
from shortlist.noise.uniforms import Stream, Uniform, is_positive

if TYPE_CHECKING:
    from flint import arb

SHARES = 1 << 52
"""Integer weights are shares of about so many."""

SLACK = 2e-4
"""By how much weights are raised beyond every float error; proposals are accepted but for about this chance."""


@dataclass(frozen=True)
class Sequences:
    """P(s) proportional to e^(-rate loss(s)) over the sequences of a ladder."""

    ladder: Ladder
    rate: Fraction

    @cached_property
    def _envelope(self) -> tuple[float, Indices]:
        """(the logarithm of the weights' unit, their running sums)."""
        logs = self.ladder.log_weights(self.rate)
        top = float(logs.max())
        unit = top + float(np.log(np.exp(logs - top).sum()))
        weights = np.floor(np.exp(logs - unit + SLACK) * SHARES).astype(np.int64) + 1
        return unit, np.cumsum(weights)

    def draw(self, source: Source) -> list[int]:
        """One sequence of ranks."""
        stream = Stream(source)
        unit, sums = self._envelope
        while True:
            rung = int(np.searchsorted(sums, stream.below(int(sums[-1])), side="right"))
            weight = int(sums[rung] - (sums[rung - 1] if rung else 0))
            reach = self.ladder.reach(int(self.ladder.rungs[rung]))
            if self._accepted(rung, weight, unit, reach, stream):
                return _shuffled([int(n) for n in reach], stream)

    def _accepted(self, rung: int, weight: int, unit: float, reach: Indices, stream: Stream) -> bool:
        """A coin with the chance N (e^(-rate u) - e^(-rate u')) / (weight e^unit / SHARES), u' the next rung."""
        count = prod(int(n) - i for i, n in enumerate(reach))
        rungs = self.ladder.rungs
        here = self.rate * int(rungs[rung])
        step = self.rate * int(rungs[rung + 1] - rungs[rung]) if rung + 1 < len(rungs) else None
        uniform = Uniform(stream)

        def excess() -> arb:
            width = 1 if step is None else -(-ball(step)).expm1()
            return (
                ball(Fraction(count * SHARES, weight)) * (-ball(here) - ball(Fraction(unit))).exp() * width
                - uniform.ball()
            )

        return is_positive(excess, [uniform])


def _shuffled(reach: list[int], stream: Stream) -> list[int]:
    """Each place takes a uniform one of its first `reach` ranks that no earlier place took; reach is nondecreasing.

    After i places the first i entries of a virtual array are the ranks taken, and the next up to `reach` are left.
    """
    moved: dict[int, int] = {}
    taken = []
    for i, n in enumerate(reach):
        j = i + stream.below(n - i)
        taken.append(moved.get(j, j))
        moved[j] = moved.get(i, i)
    return taken
