"""Drawing one sequence of the joint exponential mechanism, exactly.

A rung of the ladder is proposed in proportion to an integer that is surely above its weight, and accepted with the
exact ratio, decided in balls. Then every place takes a uniform rank among those it may have and that are left: a
shuffle that stops early.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from math import prod
from typing import TYPE_CHECKING

from shortlist.exact.partial_reals import ball
from shortlist.exact.sequence_classes import Ladder
from shortlist.sampling.entropy import Source
from shortlist.sampling.proportional_draw import Shares, shares
from shortlist.sampling.uniforms import WordStream

if TYPE_CHECKING:
    from flint import arb


Rung = tuple[list[int], Callable[[], "arb"]]
"""How far each place reaches, and the mass of the sequences that stand there."""


@dataclass(frozen=True)
class Sequences:
    """P(s) proportional to e^(-rate loss(s)) over the sequences of a ladder."""

    ladder: Ladder
    rate: Fraction

    @cached_property
    def _shares(self) -> Shares:
        return shares(self.ladder.log_weights(self.rate))

    def draw(self, source: Source) -> list[int]:
        """One sequence of ranks."""
        return self._sequence(WordStream(source), self._rung)

    def draw_many(self, source: Source, draws: int) -> list[list[int]]:
        """Independent sequences."""
        stream, rung = WordStream(source, ahead=1024), cache(self._rung)
        return [self._sequence(stream, rung) for _ in range(draws)]

    def _sequence(self, stream: WordStream, rung: Callable[[int], Rung]) -> list[int]:
        while True:
            place = self._shares.propose(stream)
            reach, mass = rung(place)
            if self._shares.accepted(place, mass, stream):
                return _shuffled(reach, stream)

    def _rung(self, rung: int) -> Rung:
        """How far each place reaches, and N (e^(-rate u) - e^(-rate u')), u' the next rung."""
        reach = self.ladder.reach(int(self.ladder.rungs[rung])).tolist()
        count = prod(n - i for i, n in enumerate(reach))
        rungs = self.ladder.rungs
        here = self.rate * int(rungs[rung])
        step = self.rate * int(rungs[rung + 1] - rungs[rung]) if rung + 1 < len(rungs) else None

        def mass() -> arb:
            width = 1 if step is None else -(-ball(step)).expm1()
            return ball(Fraction(count)) * (-ball(here)).exp() * width

        return reach, mass


def _shuffled(reach: list[int], stream: WordStream) -> list[int]:
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
