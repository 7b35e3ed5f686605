"""The switch of lists under zCDP: an exponential mechanism of two candidates, ordered canonical or peeling (Lemma 225).

With lead = (score of the right list) - max_t (ln N_J(t) - rate t), N_J(t) the junk lists that lose at most t, ordered
canonical top-k is chosen with probability 1 / (1 + e^-(slope (lead - tau))). The lead is enclosed by floats, more
closely if they do not tell on which side a partially drawn uniform lies, and then computed in balls.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from shortlist.exact.partial_reals import Uniform, ball
from shortlist.exact.sequence_classes import Ladder
from shortlist.exact.sequence_junk import Junk, junk_of
from shortlist.mechanisms.guarded.switch import is_below, told
from shortlist.sampling.entropy import Source
from shortlist.sampling.sequence_draw import Sequences
from shortlist.sampling.subset_rejection import ERROR
from shortlist.sampling.uniforms import WordStream

if TYPE_CHECKING:
    from flint import arb

SLOPE = Fraction(1, 8)
"""t, how much of the lead the switch sees: it costs t^2 / (1 + t^2) of rho (Definition 224)."""

TAU = Fraction(40)
"""How far the right list is to be ahead for even odds (Definition 224)."""


def held_by_junk(k: int) -> int:
    """A list that holds so many of the k best, or fewer, is junk: it misses more than a tenth (Definition 224)."""
    return math.ceil(Fraction(9, 10) * k) - 1


@dataclass(frozen=True, slots=True)
class ListSwitch:
    """Ordered canonical top-k with Gumbel noise, unless the junk is too heavy."""

    sequences: Sequences
    junk: Junk
    """What it weighs beside the right list."""

    def draw(self, source: Source) -> list[int] | None:
        """The ranks of a list, or None if peeling is chosen."""
        return self._winner(WordStream(source))

    def draw_many(self, source: Source, draws: int) -> list[list[int] | None]:
        """Independent draws."""
        stream = WordStream(source, ahead=1024)
        return [self._winner(stream) for _ in range(draws)]

    def _winner(self, stream: WordStream) -> list[int] | None:
        return self.sequences.sequence(stream) if self._is_canonical(Uniform(stream.word)) else None

    def _is_canonical(self, coin: Uniform) -> bool:
        quick = told(coin, *self.bounds(fine=False))
        return is_below(coin, *self.bounds(fine=True), self.exact) if quick is None else quick

    def bounds(self, *, fine: bool) -> tuple[float, float]:
        """(lower, upper) bounds on slope (lead - tau), the log odds of ordered canonical."""
        junk = self.junk.finer if fine else self.junk
        low, high = -junk.high - float(TAU), -junk.low - float(TAU)
        error = ERROR * (1.0 + abs(low) + abs(high))
        return float(SLOPE) * (low - error), float(SLOPE) * (high + error)

    def exact(self) -> arb:
        """The log odds at the working precision."""
        return -ball(SLOPE) * (self.junk.exact() + ball(TAU))


def list_switch(steps: Ladder, rate: Fraction) -> ListSwitch:
    """The switch of a ladder with its gap; some list must be junk, which the number of candidates tells."""
    return ListSwitch(Sequences(steps, rate), junk_of(steps, rate, held_by_junk(steps.k)))
