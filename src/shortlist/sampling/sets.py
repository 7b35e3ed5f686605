"""Draws of sets of k candidates: canonical sets, the guard beside them, and the switch under zCDP."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Self

import numpy as np

from shortlist._arrays import Floats, Indices, Mask
from shortlist.exact.noise import EXPONENTIAL, GUMBEL, LN2, Noise
from shortlist.exact.reals import Uniform, around, ball, formula, is_positive
from shortlist.exact.subsets import Classes, Ranking, bound_cells, cover, log_sum, settle, sift
from shortlist.sampling.entropy import Source
from shortlist.sampling.subsets import (
    ERROR,
    WIDTH,
    Envelope,
    FewClasses,
    Groups,
    GuardArrivalTime,
    Loss,
    P,
    Proposals,
    accept,
    after,
    binomial_prefix_sum,
    falls_if_few,
    few_classes,
    first_arrival,
    first_proposal,
    log_sizes,
    prepare,
    runs_of,
)
from shortlist.sampling.uniforms import WordStream, subset

if TYPE_CHECKING:
    from flint import arb


Class = tuple[int, int] | None
"""Class (i, j) of `exact.subset_classes`; None is the top k."""


@dataclass(frozen=True, slots=True)
class SubsetRace:
    """Whatever depends on the scores alone, done once: a race of all k-subsets that can be run again and again."""

    ranking: Ranking
    choose: Callable[[WordStream], Class]

    def draw(self, source: Source) -> Indices:
        """The winner, as positions among the caller's candidates."""
        return self._winner(WordStream(source))

    def draw_many(self, source: Source, draws: int) -> Indices:
        """Independent winners, one row each, sorted."""
        stream = WordStream(source, ahead=1024)
        return np.sort([self._winner(stream) for _ in range(draws)], axis=1)

    def _winner(self, stream: WordStream) -> Indices:
        return self.ranking.positions(members(self.ranking, self.choose(stream), stream))


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
    classes = ranking.single_row() if ranking.merges else ranking.classes()
    fall = falls_if_few(classes)
    if fall is None:
        return envelope_of(ranking, width=width)
    return few_classes(classes, fall, _loss(ranking), start=int(ranking.merges))


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


def members(ranking: Ranking, winner: Class, stream: WordStream) -> Indices:
    """The ranks (from 0) of a uniform member of the class."""
    if winner is None:
        return np.arange(ranking.k)
    i, j = winner
    between = ranking.k - i - ranking.merges
    return np.concatenate([np.arange(ranking.k - 1 - i), between + subset(i + j, i, stream), [between + i + j]])


def exponential_class(envelope: Envelope | FewClasses, stream: WordStream) -> Class:
    """The class of the winner under exponential noise."""
    return first_arrival(envelope, Uniform(stream.word), stream)


def gumbel_class(envelope: Envelope | FewClasses, stream: WordStream) -> Class:
    """Class (i, j) with probability in proportion to its mass, or None for the top k, of mass 1."""
    proposal = gumbel_proposal(envelope, stream)
    return None if proposal is None else (proposal.i, proposal.j)


def gumbel_proposal(envelope: Proposals[P], stream: WordStream) -> P | None:
    """A proposal with probability in proportion to its mass, or None for the top k, of mass 1."""
    top = 1 << max(envelope.shift, 0)
    while True:
        if stream.below(top + envelope.total) < top:
            if stream.all_zero(max(-envelope.shift, 0)):
                return None
            continue
        proposal = envelope.propose(stream)
        if accept(proposal, stream):
            return proposal


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

    @np.errstate(all="ignore")
    def bounds(self, tolerance: float = WEIGHT_WIDTH) -> tuple[float, float]:
        """(lower, upper) bounds on the logarithm of the mass."""
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


def draw_sets(one: Callable[[WordStream], Indices | None], k: int, source: Source, draws: int) -> tuple[Indices, Mask]:
    """(independent sets as sorted rows of positions, where there is none)."""
    stream = WordStream(source, ahead=1024)
    winners = [one(stream) for _ in range(draws)]
    nothing = np.zeros(k, np.int64)
    rows = np.sort([nothing if winner is None else winner for winner in winners], axis=1)
    return rows, np.array([winner is None for winner in winners])


FAINT = -100.0
"""Junk that weighs e^-100 of the top k or less hardly ever wins: then rough bounds on its weight will do."""


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

    def draw(self, source: Source) -> Indices | None:
        """The winning subset, as positions among the caller's candidates, or None if the guard wins."""
        return self._winner(WordStream(source))

    def draw_many(self, source: Source, draws: int) -> tuple[Indices, Mask]:
        """(independent winners, one row each; where the guard wins, and there is none)."""
        return draw_sets(self._winner, self.ranking.k, source, draws)

    def _winner(self, stream: WordStream) -> Indices | None:
        top, guard = stream.uniform(), GuardArrivalTime(self, self.a, stream.uniform())
        guarded = after(top, guard)  # before the top k
        proposal = first_proposal(self.envelope, guard if guarded else top, stream)
        if proposal is None and guarded:
            return None
        winner = None if proposal is None else (proposal.i, proposal.j)
        return self.ranking.positions(members(self.ranking, winner, stream))

    def bounds(self, *, fine: bool) -> tuple[float, float]:
        """(lower, upper) bounds on v: closer ones where the first are rough, then none but the exact number."""
        if not (fine and self.high < FAINT):
            return self.low, self.high
        low, high = self.junk.quick_bounds()
        return low + float(self.tau), high + float(self.tau)

    def exact(self) -> arb:
        """v at the working precision."""
        return ball(self.tau) + self.junk.exact(self.low - float(self.tau))


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
    """At most t (lead - tau), the log odds of canonical top-k."""
    high: float
    """At least t (lead - tau)."""

    def draw(self, source: Source) -> Indices | None:
        """A subset, as positions among the caller's candidates, or None if one-shot is chosen."""
        return self._winner(WordStream(source))

    def draw_many(self, source: Source, draws: int) -> tuple[Indices, Mask]:
        """(independent draws, one row each; where one-shot is chosen, and there is no set)."""
        return draw_sets(self._winner, self.ranking.k, source, draws)

    def _winner(self, stream: WordStream) -> Indices | None:
        if not is_below(Uniform(stream.word), self.low, self.high, self.exact):
            return None
        return self.ranking.positions(members(self.ranking, gumbel_class(self.envelope, stream), stream))

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
    """Whether the log odds of the coin are below a number, exactly: its bounds in floats tell most of the time."""
    quick = decide_by_bounds(coin, low, high)
    if quick is not None:
        return quick

    def ahead() -> arb:
        odds = exact() if coin.bits > 128 else around(low, high)
        uniform = coin.ball()
        return odds - (uniform / (1 - uniform)).log()

    return is_positive(formula(ahead, [coin]))


def decide_by_bounds(coin: Uniform, low: float, high: float) -> bool | None:
    """Whether canonical top-k is chosen, by the bounds and the bits that are drawn; None where they do not tell."""
    if coin.high < 1.0 and _log_odds(coin.high, +1.0) < low:
        return True
    return False if coin.low and _log_odds(coin.low, -1.0) > high else None


def _log_odds(uniform: float, sign: float) -> float:
    """ln(u / (1 - u)), moved by far more than the floats are off."""
    odds = math.log(uniform) - math.log1p(-uniform)
    return odds + sign * ERROR * (1.0 + abs(odds))
