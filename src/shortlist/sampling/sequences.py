"""Draw ordered lists, and race them.

Drawing one ordered sequence in proportion to e^(-rate loss), exactly (Theorem 78, Lemma 189).

A cell of losses is proposed in proportion to an integer that is surely above its mass; in it a whole loss, all alike,
unless N is the same all over it. The loss is accepted with the exact ratio of its mass to its share, decided in balls.
Then every place takes a uniform rank among those it may have and that are left: a shuffle that stops early.

The first arrival among all ordered sequences under exponential noise, without drawing them all (Theorem 190).

With U_s uniform, the sequence with the largest noise - loss_s is the one with the least U_s / p_s, p_s = e^-loss_s. The
right sequence arrives at a uniform time; the others are proposed as by `sequence_draw`, at the times of a Poisson
process that is thinned as for subsets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import log, prod
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Indices
from shortlist.exact.reals import Lazy, Uniform, ball, to_float
from shortlist.exact.sequences import Cells, Junk, Ladder, cells, junk_of, times
from shortlist.sampling.entropy import Source
from shortlist.sampling.sets import decide_by_bounds, is_below
from shortlist.sampling.subsets import ERROR, LIGHTEST, MARGIN, after, first_proposal
from shortlist.sampling.uniforms import Shares, WordStream, shares

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
            if self._shares.accept(cell, level.mass, stream, level.log_mass):
                return shuffle_sequence(level.reach, stream)

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


def shuffle_sequence(reach: list[int], stream: WordStream) -> list[int]:
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


LN2 = math.log(2.0)


@dataclass(frozen=True, slots=True)
class SequenceProposal:
    """A sequence of ranks, to be accepted with probability 2^shift e^-lead mass / of; the right one never is."""

    ranks: list[int]
    level: Level
    envelope: SequenceEnvelope
    of: int
    """The weight of its cell."""
    loss: float
    """What the sequence loses beside the right one, to a relative error of 2^-48."""
    low: float
    high: float

    def chance(self) -> arb:
        lead = (-ball(self.envelope.lead)).exp()
        return self.level.mass() * lead * ball(Fraction(2) ** self.envelope.shift / self.of)

    def weight(self) -> arb:
        """e^-loss"""
        return (-ball(self.envelope.exact_loss(self.ranks))).exp()


@dataclass(frozen=True, slots=True)
class SequenceEnvelope:
    """Cells with integer weights, at least 2^shift times the mass of their sequences beside that of the right one."""

    sequences: Sequences
    """All of them, as if the right one had no lead."""
    lead: Fraction
    """By how much the right sequence is ahead of a loss of 0."""
    shift: int
    cumulative: Indices

    @property
    def total(self) -> int:
        return int(self.cumulative[-1])

    def exact_loss(self, ranks: list[int]) -> Fraction:
        """What a wrong sequence loses beside the right one."""
        steps = self.sequences.steps
        missed = steps.whole(np.arange(steps.k)) - steps.whole(np.array(ranks))
        return self.sequences.rate * int(missed.max()) + self.lead

    def propose(self, stream: WordStream) -> SequenceProposal:
        cell = int(np.searchsorted(self.cumulative, stream.below(self.total), side="right"))
        weight = int(self.cumulative[cell]) - (int(self.cumulative[cell - 1]) if cell else 0)
        level = self.sequences.level(cell, stream)
        ranks = shuffle_sequence(level.reach, stream)
        if ranks == list(range(len(ranks))):
            return SequenceProposal(ranks, replace(level, mass=_nothing), self, weight, 1.0, -math.inf, -math.inf)
        lead, deep = to_float(self.lead), to_float(self.sequences.rate * level.loss)
        log = level.log_mass - lead + self.shift * LN2 - math.log(weight)
        error = ERROR * (2000.0 + abs(self.shift) + abs(level.log_mass) + 2.0 * deep + lead)
        return SequenceProposal(ranks, level, self, weight, to_float(self.exact_loss(ranks)), log - error, log + error)


def _nothing() -> arb:
    from flint import arb

    return arb(0)


def envelope_of(steps: Ladder, rate: Fraction) -> SequenceEnvelope:
    """The envelope of all sequences of a ladder but the right one, whose loss is the first of the ladder."""
    sequences = Sequences(replace(steps, first=0), rate)
    lead = -steps.first * rate
    logs = sequences.cells.upper - to_float(lead)
    halvings = math.ceil(max(float(logs.max()) / LN2 + MARGIN, LIGHTEST))
    bits = 60 - len(logs).bit_length()
    weights = np.floor(np.exp(logs - halvings * LN2) * (2.0**bits * (1.0 + MARGIN))).astype(np.int64) + 1
    return SequenceEnvelope(sequences, lead, bits - halvings, np.cumsum(weights))


@dataclass(frozen=True, slots=True)
class SequenceRace:
    """A race of all sequences, and perhaps of one more, which can be run again and again."""

    envelope: SequenceEnvelope
    other: Callable[[Uniform], Lazy] | None = None
    """When the other one arrives, as a function of a uniform number."""

    def draw(self, source: Source) -> list[int] | None:
        """The winner's ranks, or None if the other one wins."""
        return self._winner(WordStream(source))

    def draw_many(self, source: Source, draws: int) -> list[list[int] | None]:
        """Independent winners."""
        stream = WordStream(source, ahead=1024)
        return [self._winner(stream) for _ in range(draws)]

    def _winner(self, stream: WordStream) -> list[int] | None:
        right = Uniform(stream.word)
        other = None if self.other is None else self.other(Uniform(stream.word))
        beaten = other is not None and after(right, other)
        proposal = first_proposal(self.envelope, other if other is not None and beaten else right, stream)
        if proposal is not None:
            return proposal.ranks
        return None if beaten else list(range(self.envelope.sequences.steps.k))


SLOPE = Fraction(1, 8)
"""t, how much of the lead the switch sees: it costs t^2 / (1 + t^2) of rho (Definition 224)."""

TAU = Fraction(40)
"""How far the right list is to be ahead for even odds (Definition 224)."""


def junk_limit(k: int) -> int:
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
        quick = decide_by_bounds(coin, *self.bounds(fine=False))
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
    return ListSwitch(Sequences(steps, rate), junk_of(steps, rate, junk_limit(steps.k)))
