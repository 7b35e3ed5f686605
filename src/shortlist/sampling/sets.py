"""Draws of sets and of ordered lists: canonical ones, the guard beside them, and the switch under zCDP.

An ordered sequence is drawn in proportion to e^(-rate loss), exactly (Theorem 78, Lemma 189). A cell of losses is
proposed in proportion to an integer that is surely above its mass; in it a whole loss, all alike, unless N is the same
all over it. The loss is accepted with the exact ratio of its mass to its share. Then every place takes a uniform rank
among those it may have and that are left: a shuffle that stops early.

Under exponential noise the first arrival among all sequences is found without drawing them all (Theorem 190). With U_s
uniform, the sequence with the largest noise - loss_s is the one with the least U_s / p_s, p_s = e^-loss_s. The right
sequence arrives at a uniform time; the others are proposed at the times of a Poisson process that is thinned as for
subsets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Self

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.exact.noise import EXPONENTIAL, GUMBEL, LN2, Noise
from shortlist.exact.reals import Lazy, Uniform, around, ball, formula, is_positive, to_float
from shortlist.exact.sequences import Cells, Junk, Ladder, junk_of, times
from shortlist.exact.sequences import cells as sequence_cells
from shortlist.exact.subsets import BestSorted, Classes, Ranking, bound_cells, cover, log_sum, settle, sift
from shortlist.sampling.entropy import Sampler, Shares, WordStream, accept, shares, subset
from shortlist.sampling.subsets import (
    ERROR,
    LIGHTEST,
    MARGIN,
    WIDTH,
    Envelope,
    FewClasses,
    Groups,
    GuardArrivalTime,
    Loss,
    Proposal,
    Weight,
    binomial_prefix_sum,
    falls_if_few,
    few_classes,
    first_proposal,
    log_sizes,
    prepare,
    race_beside,
    runs_of,
)

if TYPE_CHECKING:
    from flint import arb


Class = tuple[int, int] | None
"""Class (i, j) of `exact.subset_classes`; None is the top k."""


@dataclass(frozen=True, slots=True)
class SubsetRace(Sampler[Indices]):
    """A race of all k-subsets, whose winner stands as positions among the caller's candidates."""

    ranking: Ranking
    choose: Callable[[WordStream], Class]

    def draw_one(self, stream: WordStream) -> Indices:
        return pick_member(self.ranking, self.choose(stream), stream)


def prepare_subsets(ranking: Ranking, noise: Noise, *, width: float = WIDTH) -> SubsetRace:
    """The race of all k-subsets under any noise; the ranking must have more than k candidates."""
    if noise not in (GUMBEL, EXPONENTIAL):
        return SubsetRace(ranking, groups_of(ranking, noise).draw)
    draw = gumbel_class if noise == GUMBEL else exponential_class
    return SubsetRace(ranking, partial(draw, proposals_of(ranking, width=width)))


def prepare_rounded(ranking: Ranking, noise: Noise, step: Fraction) -> SubsetRace:
    """Return the race of all k-subsets with losses rounded up to multiples of `step` (Lemma 274), class by class."""
    groups = groups_of(ranking, noise)
    exact = groups.exact_loss

    def loss(i: int, j: int) -> Fraction:
        return round_up(exact(i, j), step)

    return SubsetRace(ranking, replace(groups, exact_loss=loss, step=float(step)).draw)


def round_up(loss: Fraction, step: Fraction) -> Fraction:
    """The next multiple of `step`, or the loss itself if it is one."""
    return math.ceil(loss / step) * step


def proposals_of(ranking: Ranking, *, width: float = WIDTH) -> Envelope | FewClasses:
    """Return all classes but the top k with their weights, one by one where there are few, else in cells of `width`."""
    merges = ranking.merges
    classes = ranking.single_row() if merges else ranking.classes()
    fall = falls_if_few(classes)
    if fall is None:
        return envelope_of(ranking, width=width)
    return few_classes(classes, fall, _loss(ranking), start=int(merges))


def envelope_of(ranking: Ranking, *, width: float = WIDTH) -> Envelope:
    """Return integer weights above the masses of all classes but the top k."""
    classes = ranking.single_row() if ranking.merges else ranking.classes()
    return prepare(classes, _loss(ranking), start=int(ranking.merges), width=width)


def groups_of(ranking: Ranking, noise: Noise) -> Groups:
    """All classes but the top k, tied scores joined."""
    first, last = runs_of(ranking.scores[ranking.k :])
    classes = ranking.single_row() if ranking.merges else ranking.classes()
    return Groups(classes, first + ranking.merges, last + ranking.merges, _loss(ranking), noise)


def _loss(ranking: Ranking) -> Loss:
    return lambda i, j: ranking.loss(i, ranking.k - ranking.merges + j)


def pick_member(ranking: Ranking, winner: Class, stream: WordStream) -> Indices:
    """Return a uniform member of the class, as positions among the caller's candidates."""
    if winner is None:
        return ranking.positions(np.arange(ranking.k))
    i, j = winner
    between = ranking.k - i - ranking.merges
    middle = between + subset(i + j, i, stream)
    return ranking.positions(np.concatenate([np.arange(ranking.k - 1 - i), middle, [between + i + j]]))


def class_of(proposal: Proposal | None) -> Class:
    """Return the class of a proposal; None is the top k."""
    return None if proposal is None else (proposal.i, proposal.j)


def exponential_class(envelope: Envelope | FewClasses, stream: WordStream) -> Class:
    """Draw the class of the winner under exponential noise."""
    return class_of(first_proposal(envelope, stream.uniform(), stream))


def gumbel_class(envelope: Envelope | FewClasses, stream: WordStream) -> Class:
    """Draw class (i, j) with probability in proportion to its mass, or None for the top k, of mass 1."""
    top = 1 << max(envelope.shift, 0)
    while True:
        if stream.below(top + envelope.total) < top:
            if stream.all_zero(max(-envelope.shift, 0)):
                return None
            continue
        proposal = envelope.propose(stream)
        if accept(stream, proposal.low - ERROR, proposal.high + ERROR, proposal.chance):
            return class_of(proposal)


WEIGHT_WIDTH = 1e-7
"""How far apart the float bounds on the logarithm of a weight are, or nearly."""


@lru_cache(maxsize=16)
def _ends(rows: int, columns: int, starts: bytes) -> tuple[Indices, Indices, Floats, Floats]:
    """(rows with a class from their start on, where they start, ln of the size of that class, of all from it on)."""
    first = np.frombuffer(starts, np.int64)
    there, logs = np.flatnonzero(first < columns), log_sizes(0, rows, columns)
    all_from = np.array([log_sum(logs[row, first[row] :]) for row in there])
    return there, first[there], logs[there, first[there]], all_from


@dataclass(frozen=True, slots=True)
class Family:
    """The classes (i, j) with first[i] <= j < end[i], and the top k where `top` says so."""

    ranking: Ranking
    classes: Classes
    first: Indices
    end: Indices
    top: bool

    @classmethod
    def junk(cls, ranking: Ranking, classes: Classes, first: Indices) -> Self:
        """Row i from j = first[i] on."""
        return cls(ranking, classes, first, np.full(len(first), len(classes.fall)), top=False)

    @classmethod
    def all_but_junk(cls, ranking: Ranking, classes: Classes, first: Indices) -> Self:
        """Row i below j = first[i], and the top k."""
        return cls(ranking, classes, np.zeros(len(first), np.int64), first, top=True)

    def sort(self) -> Self:
        """Return the same by scores that are all sorted."""
        ranking = self.ranking.sort()
        return self if ranking is self.ranking else replace(self, ranking=ranking, classes=ranking.classes())

    def bounds(self, tolerance: float = WEIGHT_WIDTH) -> tuple[float, float]:
        """(lower, upper) bounds on the logarithm of the mass: rough ones where only the best scores are sorted."""
        best = self.ranking.scores
        if not isinstance(best, BestSorted):
            return self._bounds(tolerance)
        near = replace(self, first=np.minimum(self.first, best.far_from), end=np.minimum(self.end, best.far_from))
        low, high = near._bounds(best.width) if self.top or (near.first < near.end).any() else (-math.inf, -math.inf)
        return low - best.spread, float(np.logaddexp(high, best.faint))

    @np.errstate(all="ignore")
    def _bounds(self, tolerance: float) -> tuple[float, float]:
        beside, outside = np.zeros(int(self.top)), 0.0 if self.top else -math.inf  # the top k has mass 1
        row = np.flatnonzero(self.first < self.end)
        whole = bound_cells(self.classes, row, self.first[row], self.end[row] - 1)
        parts, dropped = cover(self.classes, whole, outside=outside, width=1.0)
        cells = settle(self.classes, parts, outside=outside, tolerance=tolerance)
        low = log_sum(np.concatenate([cells.lower, beside]))
        high = log_sum(np.concatenate([cells.upper, dropped.upper, beside]))
        return low - ERROR * (1 + abs(low)), high + ERROR * (1 + abs(high))

    @np.errstate(all="ignore")
    def quick_bounds(self) -> tuple[float, float]:
        """The same, and closer, where there are few classes: all of them are added up, their sizes from a table."""
        fall = falls_if_few(self.classes)
        if fall is None:
            return self.bounds()
        rows, columns = len(self.classes.i), len(fall)
        sizes = log_sizes(0, rows, columns)
        logs = sizes - self.classes.rise[:, None] - fall
        place = np.arange(columns)
        logs[(place < self.first[:, None]) | (place >= self.end[:, None])] = -np.inf
        middle = log_sum(np.append(logs, 0.0) if self.top else logs.ravel())
        error = ERROR * (64 + 2 * abs(middle) + float(sizes[-1, -1]))  # no loss that matters is above their sum
        return middle - error, middle + error

    def rough_bounds(self) -> tuple[float, float]:
        """The same of junk, nats apart but in a few operations, where there are few classes: from where rows start."""
        there, first, least, most = _ends(len(self.classes.i), len(self.classes.fall), self.first.tobytes())
        loss = self.classes.rise[there] + self.classes.fall[first]
        low, high = float((least - loss).max()), float((most - loss).max()) + math.log(len(there))
        error = ERROR * (64 + float(loss.max()))
        return low - error, high + error

    def exact(self, low: float) -> arb:
        """The logarithm at the working precision, which is at least `low`.

        Every class is summed, but those that together do not reach that far.
        """
        from flint import arb, ctx

        loss, k = self.ranking.loss, self.ranking.k
        at_most = low - ctx.prec * LN2
        rise = cache(lambda i: (-ball(loss(i, k - 1))).exp())
        fall = cache(lambda j: (-ball(loss(0, k + j) - loss(0, k - 1))).exp())
        mass = sum((size * rise(i) * fall(j) for i, j, size in self.runs(at_most)), arb(int(self.top)))
        return (mass + arb(0).union(arb(at_most).exp())).log()

    def runs(self, at_most: float) -> Iterator[tuple[int, int, arb]]:
        """(i, j, size), classes of equal loss together, j the first of them; e^at_most may be left out."""
        from flint import arb

        starts, ends = runs_of(self.ranking.scores[self.ranking.k :])  # by exact scores: floats may join losses
        cells, _ = sift(self.classes, outside=-math.inf, width=1.0, at_most=at_most)
        cells = cells.where((cells.last >= self.first[cells.row]) & (cells.first < self.end[cells.row]))
        begin = np.maximum(cells.first, self.first[cells.row])
        end = np.minimum(cells.last, self.end[cells.row] - 1)
        runs = np.searchsorted(ends, begin), np.searchsorted(starts, end, side="right")
        columns = (side.tolist() for side in (cells.row, begin, end, *runs))
        for i, first, last, low, high in zip(*columns, strict=True):
            before = binomial_prefix_sum(i, first - 1)
            for run in range(low, high):
                after_it = binomial_prefix_sum(i, min(int(ends[run]), last))
                yield i, max(int(starts[run]), first), arb(after_it - before)
                before = after_it


FAINT = -100.0
"""Junk that weighs e^-100 of the top k or less hardly ever wins: then rough bounds on its weight will do."""


@dataclass(frozen=True, slots=True)
class Guard(Sampler[Indices | None]):
    """A guard of rate a, tau nats above the mass of the junk classes."""

    ranking: Ranking
    envelope: Envelope | FewClasses
    a: Fraction
    tau: Fraction
    junk: Family
    low: float
    """At most v."""
    high: float
    """At least v."""

    def draw_one(self, stream: WordStream) -> Indices | None:
        """Return the winning subset, as positions among the caller's candidates, or None if the guard wins."""
        proposal, guarded = race_beside(self.envelope, partial(GuardArrivalTime, self, self.a), stream)
        if proposal is None and guarded:
            return None
        return pick_member(self.ranking, class_of(proposal), stream)

    def bounds(self, *, fine: bool) -> tuple[float, float]:
        """(lower, upper) bounds on v: closer ones where the first are rough, then none but the exact number."""
        if not (fine and (self.high < FAINT or isinstance(self.ranking.scores, BestSorted))):
            return self.low, self.high
        low, high = self.junk.sort().quick_bounds()
        return low + float(self.tau), high + float(self.tau)

    def exact(self) -> arb:
        """v at the working precision."""
        low, _ = self.bounds(fine=True)
        return ball(self.tau) + self.junk.sort().exact(low - float(self.tau))


def prepare_guard(ranking: Ranking, a: Fraction, tau: Fraction, first: Indices) -> Guard:
    """The race of all k-subsets with its guard; `first` says from which j on row i is junk, and some class must be."""
    envelope = proposals_of(ranking)
    junk, above = Family.junk(ranking, envelope.classes, first), float(tau)
    if isinstance(envelope, FewClasses):
        low, high = junk.rough_bounds()
        if high + above < FAINT:
            return Guard(ranking, envelope, a, tau, junk, low + above, high + above)
    low, high = junk.quick_bounds()
    return Guard(ranking, envelope, a, tau, junk, low + above, high + above)


@dataclass(frozen=True, slots=True)
class Switch(Sampler[Indices | None]):
    """Canonical top-k with Gumbel noise, unless the junk is too heavy."""

    ranking: Ranking
    envelope: Envelope | FewClasses
    slope: Fraction
    """t: how much of the lead it sees (`budgets.py`)."""
    tau: Fraction
    rest: Family
    junk: Family
    least: tuple[float, float]
    """(at most the log mass of the rest, at most that of the junk)."""
    low: float
    high: float

    def draw_one(self, stream: WordStream) -> Indices | None:
        """Return a subset, as positions among the caller's candidates, or None if one-shot is chosen."""
        if not is_below(stream.uniform(), self):
            return None
        return pick_member(self.ranking, gumbel_class(self.envelope, stream), stream)

    def bounds(self, *, fine: bool) -> tuple[float, float]:
        """Return (lower, upper) bounds on the log odds of canonical top-k, t (lead - tau)."""
        if fine and isinstance(self.ranking.scores, BestSorted):
            return self._sort().bounds(fine=False)
        return self.low, self.high

    def exact(self) -> arb:
        """The log odds of canonical top-k at the working precision."""
        if isinstance(self.ranking.scores, BestSorted):
            return self._sort().exact()
        lead = self.rest.exact(self.least[0]) - self.junk.exact(self.least[1])
        return ball(self.slope) * (lead - ball(self.tau))

    def _sort(self) -> Switch:
        """Return the same by scores that are all sorted."""
        return prepare_switch(self.ranking.sort(), self.slope, self.tau, self.junk.first)


def prepare_switch(ranking: Ranking, slope: Fraction, tau: Fraction, first: Indices) -> Switch:
    """The choice before a race of all k-subsets; `first` says from which j on row i is junk, and some class must be."""
    envelope = proposals_of(ranking)
    rest = Family.all_but_junk(ranking, envelope.classes, first)
    junk = Family.junk(ranking, envelope.classes, first)
    (least_rest, most_rest), (least_junk, most_junk) = rest.bounds(), junk.bounds()
    low, high = least_rest - most_junk - float(tau), most_rest - least_junk - float(tau)
    error = ERROR * (1.0 + abs(most_rest) + abs(most_junk))
    odds = float(slope) * (low - error), float(slope) * (high + error)
    return Switch(ranking, envelope, slope, tau, rest, junk, (least_rest, least_junk), *odds)


def is_below(coin: Uniform, log_odds: Weight) -> bool:
    """Return whether the log odds of the coin are below a number, exactly: bounds in floats mostly decide."""
    for fine in (False, True):
        low, high = log_odds.bounds(fine=fine)
        if coin.high < 1.0 and _log_odds(coin.high, +1.0) < low:
            return True
        if coin.low and _log_odds(coin.low, -1.0) > high:
            return False

    def ahead() -> arb:
        number = log_odds.exact() if coin.bits > 128 else around(low, high)
        uniform = coin.ball()
        return number - (uniform / (1 - uniform)).log()

    return is_positive(formula(ahead, [coin]))


def _log_odds(uniform: float, sign: float) -> float:
    """ln(u / (1 - u)), moved by far more than the floats are off."""
    odds = math.log(uniform) - math.log1p(-uniform)
    return odds + sign * ERROR * (1.0 + abs(odds))


@dataclass(frozen=True, slots=True)
class Level:
    """A loss that was proposed: how far each place reaches, and the mass it stands for."""

    loss: int
    reach: list[int]
    mass: Callable[[], arb]
    log_mass: float


@dataclass(frozen=True)
class Sequences(Sampler[list[int]]):
    """P(s) proportional to e^(-rate loss(s)) over the sequences of a ladder."""

    steps: Ladder
    rate: Fraction
    """For one unit of the ladder."""

    @cached_property
    def cells(self) -> Cells:
        return sequence_cells(self.steps, self.rate)

    @cached_property
    def _flat(self) -> list[bool]:
        flags: list[bool] = self.cells.flat.tolist()
        return flags

    @cached_property
    def _shares(self) -> Shares:
        return shares(self.cells.upper)

    def draw_one(self, stream: WordStream) -> list[int]:
        """Draw one sequence of ranks."""
        while True:
            cell = self._shares.propose(stream)
            level = self.level(cell, stream)
            if self._shares.accept(cell, level.mass, stream, level.log_mass):
                ranks = shuffle_sequence(level.reach, stream)
                surplus = self.steps.surplus(ranks) * self.rate
                if not surplus or _keeps(surplus, stream):
                    return ranks

    def level(self, cell: int, stream: WordStream) -> Level:
        """A loss of the cell. If N is the same all over it, the mass is that of the whole cell.

        Elsewhere it is that of one whole loss, N(t) (e^(-rate t) - e^(-rate (t + 1))), times the number of them.
        """
        cover, rate, flat = self.cells, self.rate, self._flat[cell]
        start, width = int(cover.start[cell]), int(cover.end[cell] - cover.start[cell])
        if flat:
            reach, loss = cover.low[cell].tolist(), start
            step = rate * width if cell + 1 < len(cover) else None
            count, log_mass = math.prod(n - i for i, n in enumerate(reach)), float(cover.upper[cell])
        else:
            loss, step = start + stream.below(width), rate
            here = self.steps.reach(self.steps.losses_of([loss]))
            reach = here[0].tolist()
            count = width * math.prod(n - i for i, n in enumerate(reach))
            depth, whole = _float_times(loss, rate), _float_times(1, rate)
            log_mass = float(self.steps.log_counts(here)[0]) - depth + math.log(width) + _log_rise(whole, rate)

        def mass() -> arb:
            rise = 1 if step is None else -(-ball(step)).expm1()
            return ball(Fraction(count)) * (-ball(rate * loss)).exp() * rise

        return Level(loss, reach, mass, log_mass)


def _keeps(surplus: Fraction, stream: WordStream) -> bool:
    """Return True with probability e^-surplus."""
    near = to_float(surplus)
    error = ERROR * (1.0 + near)
    return accept(stream, -near - error, -near + error, lambda: (-ball(surplus)).exp())


def _float_times(whole: int, rate: Fraction) -> float:
    return float(times(np.array([whole], object), rate)[0])


def _log_rise(step: float, rate: Fraction) -> float:
    """ln (1 - e^-step), also of a step that is too small for a float."""
    return math.log(-np.expm1(-step)) if step > 1e-300 else math.log(rate.numerator) - math.log(rate.denominator)


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
    surplus: Fraction = Fraction(0)
    """How much of it the ladder did not see."""

    def chance(self) -> arb:
        lead = (-ball(self.envelope.lead + self.surplus)).exp()
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
        return self.sequences.rate * (int(missed.max()) + steps.surplus(ranks)) + self.lead

    def propose(self, stream: WordStream) -> SequenceProposal:
        cell = int(np.searchsorted(self.cumulative, stream.below(self.total), side="right"))
        weight = int(self.cumulative[cell]) - (int(self.cumulative[cell - 1]) if cell else 0)
        level = self.sequences.level(cell, stream)
        ranks = shuffle_sequence(level.reach, stream)
        if ranks == list(range(len(ranks))):
            return SequenceProposal(
                ranks, replace(level, mass=partial(ball, Fraction(0))), self, weight, 1.0, -math.inf, -math.inf
            )
        lead, deep = to_float(self.lead), to_float(self.sequences.rate * level.loss)
        surplus = self.sequences.steps.surplus(ranks) * self.sequences.rate
        more = to_float(surplus)
        log = level.log_mass - lead + self.shift * LN2 - math.log(weight) - more
        error = ERROR * (2000.0 + abs(self.shift) + abs(level.log_mass) + 2.0 * deep + lead + more)
        loss = to_float(self.exact_loss(ranks))
        return SequenceProposal(ranks, level, self, weight, loss, log - error, log + error, surplus)


def sequence_envelope(steps: Ladder, rate: Fraction) -> SequenceEnvelope:
    """The envelope of all sequences of a ladder but the right one, whose loss is the first of the ladder."""
    sequences = Sequences(replace(steps, first=0), rate)
    lead = -steps.first * rate
    logs = sequences.cells.upper - to_float(lead)
    halvings = math.ceil(max(float(logs.max()) / LN2 + MARGIN, LIGHTEST))
    bits = 60 - len(logs).bit_length()
    weights = np.floor(np.exp(logs - halvings * LN2) * (2.0**bits * (1.0 + MARGIN))).astype(np.int64) + 1
    return SequenceEnvelope(sequences, lead, bits - halvings, np.cumsum(weights))


@dataclass(frozen=True, slots=True)
class SequenceRace(Sampler[list[int] | None]):
    """A race of all sequences, and perhaps of one more."""

    envelope: SequenceEnvelope
    other: Callable[[Uniform], Lazy] | None = None
    """When the other one arrives, as a function of a uniform number."""

    def draw_one(self, stream: WordStream) -> list[int] | None:
        """Return the winner's ranks, or None if the other one wins."""
        if self.other is None:
            proposal, beaten = first_proposal(self.envelope, stream.uniform(), stream), False
        else:
            proposal, beaten = race_beside(self.envelope, self.other, stream)
        if proposal is not None:
            return proposal.ranks
        return None if beaten else list(range(self.envelope.sequences.steps.k))


LIST_SLOPE = Fraction(1, 8)
"""t, how much of the lead the switch sees: it costs t^2 / (1 + t^2) of rho (Definition 224)."""

LIST_TAU = Fraction(40)
"""How far the right list is to be ahead for even odds (Definition 224)."""


def junk_limit(k: int) -> int:
    """A list that holds so many of the k best, or fewer, is junk: it misses more than a tenth (Definition 224)."""
    return math.ceil(Fraction(9, 10) * k) - 1


@dataclass(frozen=True, slots=True)
class ListSwitch(Sampler[list[int] | None]):
    """Ordered canonical top-k with Gumbel noise, unless the junk is too heavy."""

    sequences: Sequences
    junk: Junk
    """What it weighs beside the right list."""

    def draw_one(self, stream: WordStream) -> list[int] | None:
        """Return the ranks of a list, or None if peeling is chosen."""
        return self.sequences.draw_one(stream) if is_below(stream.uniform(), self) else None

    def bounds(self, *, fine: bool) -> tuple[float, float]:
        """(lower, upper) bounds on slope (lead - tau), the log odds of ordered canonical."""
        junk = self.junk.finer if fine else self.junk
        low, high = -junk.high - float(LIST_TAU), -junk.low - float(LIST_TAU)
        error = ERROR * (1.0 + abs(low) + abs(high))
        return float(LIST_SLOPE) * (low - error), float(LIST_SLOPE) * (high + error)

    def exact(self) -> arb:
        """The log odds at the working precision."""
        return -ball(LIST_SLOPE) * (self.junk.exact() + ball(LIST_TAU))


def list_switch(steps: Ladder, rate: Fraction) -> ListSwitch:
    """The switch of a ladder with its gap; some list must be junk, which the number of candidates tells."""
    return ListSwitch(Sequences(steps, rate), junk_of(steps, rate, junk_limit(steps.k)))
