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
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Self

import numpy as np

from shortlist._arrays import Indices
from shortlist.exact import sequences
from shortlist.exact.noise import EXPONENTIAL, GUMBEL, LN2, Noise
from shortlist.exact.reals import Lazy, Uniform, around, ball, formula, is_positive, to_float
from shortlist.exact.sequences import Cells, Junk, Ladder
from shortlist.exact.subsets import BestSorted, Classes, Ranking, bound_cells, cover, log_sum, settle, sift
from shortlist.sampling import subsets
from shortlist.sampling.entropy import Shares, WordStream, accept, pick, shares, subset
from shortlist.sampling.subsets import ERROR, Envelope, FewClasses, Groups, Loss, Proposal

if TYPE_CHECKING:
    from flint import arb


Class = tuple[int, int] | None
"""Class (i, j) of `exact.subset_classes`; None is the top k."""


def prepare_subsets(ranking: Ranking, noise: Noise, step: Fraction | None = None) -> Callable[[WordStream], Indices]:
    """The race of all k-subsets under any noise, whose winner stands as positions among the caller's candidates.

    The ranking must have more than k candidates. With `step`, losses are rounded up to multiples of it (Lemma 274).
    """
    choose: Callable[[WordStream], Class]
    if step is None and noise in (GUMBEL, EXPONENTIAL):
        choose = partial(gumbel_class if noise == GUMBEL else exponential_class, proposals_of(ranking))
    else:
        groups = groups_of(ranking, noise)
        if step is not None:
            exact = groups.exact_loss
            groups = replace(groups, exact_loss=lambda i, j: round_up(exact(i, j), step), step=float(step))
        choose = groups.draw
    return lambda stream: pick_member(ranking, choose(stream), stream)


def round_up(loss: Fraction, step: Fraction) -> Fraction:
    """The next multiple of `step`, or the loss itself if it is one."""
    return math.ceil(loss / step) * step


def proposals_of(ranking: Ranking) -> Envelope | FewClasses:
    """Return all classes but the top k with their weights, one by one where there are few, else in cells."""
    classes, start = ranking.single_row() if ranking.merges else ranking.classes(), int(ranking.merges)
    fall = subsets.falls_if_few(classes)
    if fall is None:
        return subsets.prepare(classes, _loss(ranking), start=start)
    return subsets.few_classes(classes, fall, _loss(ranking), start=start)


def groups_of(ranking: Ranking, noise: Noise) -> Groups:
    """All classes but the top k, tied scores joined."""
    first, last = subsets.runs_of(ranking.scores[ranking.k :])
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


def exponential_class(envelope: Envelope | FewClasses, stream: WordStream) -> Class:
    """Draw the class of the winner under exponential noise."""
    return subsets.first_proposal(envelope, stream.uniform(), stream)


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
            return proposal.choice


NEGLIGIBLE = 60.0
"""Classes below e^-60 of the largest add less to few classes than the floats are off."""

ROUGH = 128
"""Bits of precision up to which floats may stand for a weight whose scores had to be sorted first."""
WEIGHT_WIDTH = 1e-7
"""How far apart the float bounds on the logarithm of a weight are, or nearly."""


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

    @np.errstate(all="ignore")
    def bounds(self) -> tuple[float, float]:
        """(lower, upper) bounds on the logarithm of the mass: of all classes where they are few, else by cells.

        They are rough where only the best scores are sorted.
        """
        best = self.ranking.scores
        if isinstance(best, BestSorted):
            near = replace(self, first=np.minimum(self.first, best.far_from), end=np.minimum(self.end, best.far_from))
            there = self.top or bool((near.first < near.end).any())
            low, high = near._bounds_by_cells(best.width) if there else (-math.inf, -math.inf)
            return low - best.spread, float(np.logaddexp(high, best.faint))
        fall = subsets.falls_if_few(self.classes)
        if fall is None:
            return self._bounds_by_cells(WEIGHT_WIDTH)
        sizes = subsets.log_sizes(0, len(self.classes.i), len(fall))
        logs = sizes - self.classes.rise[:, None] - fall
        place = np.arange(len(fall))
        logs = logs[(place >= self.first[:, None]) & (place < self.end[:, None])]
        logs = np.append(logs, 0.0) if self.top else logs
        middle = log_sum(logs[logs > logs.max() - NEGLIGIBLE])
        error = ERROR * (64 + 2 * abs(middle) + float(sizes[-1, -1]))  # no loss that matters is above their sum
        return middle - error, middle + error

    def _bounds_by_cells(self, tolerance: float) -> tuple[float, float]:
        beside, outside = np.zeros(int(self.top)), 0.0 if self.top else -math.inf  # the top k has mass 1
        row = np.flatnonzero(self.first < self.end)
        whole = bound_cells(self.classes, row, self.first[row], self.end[row] - 1)
        parts, dropped = cover(self.classes, whole, outside=outside, width=1.0)
        cells = settle(self.classes, parts, outside=outside, tolerance=tolerance)
        low = log_sum(np.concatenate([cells.lower, beside]))
        high = log_sum(np.concatenate([cells.upper, dropped.upper, beside]))
        return low - ERROR * (1 + abs(low)), high + ERROR * (1 + abs(high))

    def exact(self, low: float) -> arb:
        """The logarithm at the working precision, which is at least `low`.

        Every class is summed, but those that together do not reach that far. Where only the best scores were sorted,
        all are, and at low precision bounds will do.
        """
        from flint import arb, ctx

        every = self.sort()
        if every is not self:
            low, high = every.bounds()
            return around(low, high) if ctx.prec <= ROUGH else every.exact(low)
        loss, k = self.ranking.loss, self.ranking.k
        at_most = low - ctx.prec * LN2
        rise = cache(lambda i: (-ball(loss(i, k - 1))).exp())
        fall = cache(lambda j: (-ball(loss(0, k + j) - loss(0, k - 1))).exp())
        mass = sum((size * rise(i) * fall(j) for i, j, size in self.runs(at_most)), arb(int(self.top)))
        return (mass + arb(0).union(arb(at_most).exp())).log()

    def runs(self, at_most: float) -> Iterator[tuple[int, int, arb]]:
        """(i, j, size), classes of equal loss together, j the first of them; e^at_most may be left out."""
        from flint import arb

        starts, ends = subsets.runs_of(self.ranking.scores[self.ranking.k :])  # by exact scores: floats may join losses
        cells, _ = sift(self.classes, outside=-math.inf, width=1.0, at_most=at_most)
        cells = cells.where((cells.last >= self.first[cells.row]) & (cells.first < self.end[cells.row]))
        begin = np.maximum(cells.first, self.first[cells.row])
        end = np.minimum(cells.last, self.end[cells.row] - 1)
        runs = np.searchsorted(ends, begin), np.searchsorted(starts, end, side="right")
        columns = (side.tolist() for side in (cells.row, begin, end, *runs))
        for i, first, last, low, high in zip(*columns, strict=True):
            before = subsets.binomial_prefix_sum(i, first - 1)
            for run in range(low, high):
                after_it = subsets.binomial_prefix_sum(i, min(int(ends[run]), last))
                yield i, max(int(starts[run]), first), arb(after_it - before)
                before = after_it


@dataclass(frozen=True, slots=True)
class Guard:
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

    def draw(self, stream: WordStream) -> Indices | None:
        """Return the winning subset, as positions among the caller's candidates, or None if the guard wins."""
        arrival = partial(subsets.GuardArrivalTime, self.low, self.high, self.exact, self.a)
        winner, guarded = subsets.race_beside(self.envelope, arrival, stream)
        return None if winner is None and guarded else pick_member(self.ranking, winner, stream)

    def exact(self) -> arb:
        """v at the working precision."""
        return ball(self.tau) + self.junk.exact(self.low - float(self.tau))


def prepare_guard(ranking: Ranking, a: Fraction, tau: Fraction, first: Indices) -> Guard:
    """The race of all k-subsets with its guard; `first` says from which j on row i is junk, and some class must be."""
    envelope = proposals_of(ranking)
    junk = Family.junk(ranking, envelope.classes, first)
    low, high = junk.bounds()
    return Guard(ranking, envelope, a, tau, junk, low + float(tau), high + float(tau))


@dataclass(frozen=True, slots=True)
class Switch:
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
    """At most the log odds of canonical top-k, t (lead - tau)."""
    high: float
    """At least the same."""

    def draw(self, stream: WordStream) -> Indices | None:
        """Return a subset, as positions among the caller's candidates, or None if one-shot is chosen."""
        if not is_below(stream.uniform(), self.low, self.high, self.exact):
            return None
        return pick_member(self.ranking, gumbel_class(self.envelope, stream), stream)

    def exact(self) -> arb:
        """The log odds of canonical top-k at the working precision."""
        lead = self.rest.exact(self.least[0]) - self.junk.exact(self.least[1])
        return ball(self.slope) * (lead - ball(self.tau))


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


def is_below(coin: Uniform, low: float, high: float, exact: Callable[[], arb]) -> bool:
    """Whether the log odds of the coin are below a number, exactly: its bounds in floats mostly decide."""
    if coin.high < 1.0 and _log_odds(coin.high, +1.0) < low:
        return True
    if coin.low and _log_odds(coin.low, -1.0) > high:
        return False

    def ahead() -> arb:
        uniform = coin.ball()
        return exact() - (uniform / (1 - uniform)).log()

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
class Sequences:
    """P(s) proportional to e^(-rate loss(s)) over the sequences of a ladder."""

    steps: Ladder
    rate: Fraction
    """For one unit of the ladder."""

    @cached_property
    def cells(self) -> Cells:
        return sequences.cells(self.steps, self.rate)

    @cached_property
    def _shares(self) -> Shares:
        return shares(self.cells.upper)

    def draw(self, stream: WordStream) -> list[int]:
        """Draw one sequence of ranks."""
        while True:
            cell = self._shares.propose(stream)
            level = self.level(cell, stream)
            if self._shares.accept(cell, level.mass, stream, level.log_mass):
                ranks = shuffle_sequence(level.reach, stream)
                surplus = self.steps.surplus(ranks) * self.rate
                if not surplus or _outlives(surplus, stream):
                    return ranks

    def level(self, cell: int, stream: WordStream) -> Level:
        """A loss of the cell. If N is the same all over it, the mass is that of the whole cell.

        Elsewhere it is that of one whole loss, N(t) (e^(-rate t) - e^(-rate (t + 1))), times the number of them.
        """
        cover, rate, flat = self.cells, self.rate, bool(self.cells.flat[cell])
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
            depth, whole = sequences.times(np.array([loss, 1], object), rate).tolist()
            tiny = whole <= 1e-300  # too small for a float, so that ln (1 - e^-rate) is ln rate
            rise = math.log(rate.numerator) - math.log(rate.denominator) if tiny else math.log(-np.expm1(-whole))
            log_mass = float(self.steps.log_counts(here)[0]) - depth + math.log(width) + rise

        def mass() -> arb:
            rise = 1 if step is None else -(-ball(step)).expm1()
            return ball(Fraction(count)) * (-ball(rate * loss)).exp() * rise

        return Level(loss, reach, mass, log_mass)


def _outlives(loss: Fraction, stream: WordStream) -> bool:
    """Return True with probability e^-loss."""
    near = to_float(loss)
    off = ERROR * (1.0 + near)
    return accept(stream, -near - off, -near + off, lambda: (-ball(loss)).exp())


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

    def propose(self, stream: WordStream) -> Proposal[list[int]]:
        """A list of ranks, to be accepted with 2^shift e^-lead mass / its weight; the right one never is."""
        cell, weight = pick(self.cumulative, stream.below(self.total))
        level = self.sequences.level(cell, stream)
        ranks = shuffle_sequence(level.reach, stream)
        exact_loss = partial(self.exact_loss, ranks)
        if ranks == list(range(len(ranks))):
            return Proposal(ranks, 1.0, -math.inf, -math.inf, partial(ball, Fraction(0)), exact_loss)

        surplus = self.lead + self.sequences.steps.surplus(ranks) * self.sequences.rate

        def chance() -> arb:
            return level.mass() * (-ball(surplus)).exp() * ball(Fraction(2) ** self.shift / weight)

        lead, deep = to_float(surplus), to_float(self.sequences.rate * level.loss)
        log = level.log_mass - lead + self.shift * LN2 - math.log(weight)
        error = ERROR * (2000.0 + abs(self.shift) + abs(level.log_mass) + 2.0 * deep + lead)
        return Proposal(ranks, to_float(exact_loss()), log - error, log + error, chance, exact_loss)


def sequence_envelope(steps: Ladder, rate: Fraction) -> SequenceEnvelope:
    """The envelope of all sequences of a ladder but the right one, whose loss is the first of the ladder."""
    every, lead = Sequences(replace(steps, first=0), rate), -steps.first * rate
    logs = every.cells.upper - to_float(lead)
    return SequenceEnvelope(every, lead, *subsets.weigh(logs, heaviest=float(logs.max())))


@dataclass(frozen=True, slots=True)
class SequenceRace:
    """A race of all sequences, and perhaps of one more."""

    envelope: SequenceEnvelope
    other: Callable[[Uniform], Lazy] | None = None
    """When the other one arrives, as a function of a uniform number."""

    def draw(self, stream: WordStream) -> list[int] | None:
        """Return the winner's ranks, or None if the other one wins."""
        if self.other is None:
            ranks, beaten = subsets.first_proposal(self.envelope, stream.uniform(), stream), False
        else:
            ranks, beaten = subsets.race_beside(self.envelope, self.other, stream)
        return list(range(self.envelope.sequences.steps.k)) if ranks is None and not beaten else ranks


LIST_SLOPE = Fraction(1, 8)
"""t, how much of the lead the switch sees: it costs t^2 / (1 + t^2) of rho (Definition 224)."""

LIST_TAU = Fraction(40)
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
    low: float
    """At most slope (lead - tau), the log odds of ordered canonical."""
    high: float
    """At least the same."""

    def draw(self, stream: WordStream) -> list[int] | None:
        """Return the ranks of a list, or None if peeling is chosen."""
        return self.sequences.draw(stream) if is_below(stream.uniform(), self.low, self.high, self.exact) else None

    def exact(self) -> arb:
        """The log odds at the working precision."""
        return -ball(LIST_SLOPE) * (self.junk.exact() + ball(LIST_TAU))


def list_switch(steps: Ladder, rate: Fraction) -> ListSwitch:
    """The switch of a ladder with its gap; some list must be junk, which the number of candidates tells."""
    junk = sequences.junk_of(steps, rate, junk_limit(steps.k))
    low, high = -junk.high - float(LIST_TAU), -junk.low - float(LIST_TAU)
    error = ERROR * (1.0 + abs(low) + abs(high))
    odds = float(LIST_SLOPE) * (low - error), float(LIST_SLOPE) * (high + error)
    return ListSwitch(Sequences(steps, rate), junk, *odds)
