"""Draw the winning k-subset under exponential or any other noise.

The first arrival among all k-subsets under exponential noise, without drawing them all (Theorem 68).

With U_y uniform, the subset with the largest noise - loss_y is the one with the least T_y = U_y / p_y, p_y = e^-loss_y.
The top k arrives at a uniform time, the others with hazard sum n p / (1 - p s) at time s. On the slice of times from
1 - 2^-l to 1 - 2^-(l+1) that is at most B = 2^(l+1) times sum n p, so a Poisson process of that rate, thinned, is
the arrivals. All comparisons are of partially drawn numbers: nothing is rounded and nothing is cut off.

The winner among all k-subsets under any noise: one draw for every group of subsets of equal loss.

The largest of N independent noises Q(U) is Q(V) with V the least of N uniforms: V = 1 - e^(-E / N) with E exponential.
Groups are the classes of `exact.subset_classes`, tied scores joined. Floats bound every finish Q(V) - loss; those that
may be the largest are compared exactly. All groups are drawn, so the work is in proportion to k times the number of
different scores; Gumbel and exponential noise have better ways (`subset_rejection`, `subset_draw_exponential`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from shortlist._arrays import Floats, Indices, Runs, Values, Words
from shortlist.exact.noise_distributions import LN2, Noise, log_uniform
from shortlist.exact.partial_reals import Lazy, Uniform, around, ball, formula, is_positive
from shortlist.exact.subset_classes import LOSS_ROUNDING, Classes, log_run
from shortlist.sampling.subset_rejection import (
    ERROR,
    Loss,
    Proposal,
    Proposals,
    Proposed,
    accepted,
    binomial_prefix_sum,
    position,
)
from shortlist.sampling.uniforms import WordStream

if TYPE_CHECKING:
    from flint import arb

Found = TypeVar("Found", bound=Proposed)


class Arrival:
    """The time start + (E_1 + .. + E_n) / (total 2^doublings) of the n-th point of a Poisson process, drawn lazily."""

    __slots__ = ("_log_rate", "clocks", "doublings", "start", "total")

    def __init__(self, start: Fraction, total: int | Fraction, doublings: int) -> None:
        self.start = start
        self.total = total
        self.doublings = doublings
        self.clocks: list[Uniform] = []
        self._log_rate = math.log(total) + doublings * math.log(2.0)

    def next(self, stream: WordStream) -> None:
        self.clocks.append(stream.uniform())

    @property
    def low(self) -> float:
        return self._time(sum(-math.log(clock.high) for clock in self.clocks), -ERROR)

    @property
    def high(self) -> float:
        return self._time(sum(-math.log(clock.low) if clock.low else math.inf for clock in self.clocks), ERROR)

    def _time(self, wait: float, error: float) -> float:
        """start + wait / rate, moved by `error` of itself, far more than the floats are off."""
        delay = math.exp(min(math.log(wait) - self._log_rate, 700.0)) if wait else 0.0
        return (float(self.start) + delay) * (1.0 + error * (1.0 + abs(self.doublings)))

    @property
    def bits(self) -> int:
        return max(clock.bits for clock in self.clocks)

    def ball(self) -> arb:
        from flint import arb

        rate = ball(self.total * Fraction(2) ** self.doublings)
        return ball(self.start) + sum((-clock.ball().log() for clock in self.clocks), arb(0)) / rate

    def refine(self) -> None:
        for clock in self.clocks:
            clock.refine()


class Weight(Protocol):
    """The logarithm of a weight: by float bounds, by closer ones if there are any, and exactly."""

    def bounds(self, *, fine: bool) -> tuple[float, float]: ...

    def exact(self) -> arb: ...


class LateArrival:
    """The time e^-v U^(1/a) of a guard with noise of rate a < 1, drawn lazily; v is exact if its bounds do not tell."""

    __slots__ = ("_a", "_bounds", "_clock", "_tries", "_v", "high", "low")

    def __init__(self, v: Weight, a: Fraction, clock: Uniform) -> None:
        self._v = v
        self._a = a
        self._clock = clock
        self._tries = 0
        self._enclose()

    def _enclose(self) -> None:
        """Float bounds on the time, by what is known of v and of U."""
        self._bounds = least, most = self._v.bounds(fine=self._tries > 0)
        self.low = self._time(most, self._clock.low, -1.0)
        self.high = self._time(least, self._clock.high, +1.0)

    def _time(self, v: float, uniform: float, sign: float) -> float:
        if not uniform:
            return 0.0
        log = -v + math.log(uniform) / float(self._a)
        return math.exp(min(log + sign * ERROR * (1.0 + abs(v) + abs(log)), 700.0))

    @property
    def bits(self) -> int:
        return self._clock.bits

    def ball(self) -> arb:
        v = self._v.exact() if self._tries > 1 else around(*self._bounds)
        return (self._clock.ball().log() / ball(self._a) - v).exp()

    def refine(self) -> None:
        self._clock.refine()
        self._tries += 1
        self._enclose()


def first_arrival(envelope: Proposals[Proposal], deadline: Lazy, stream: WordStream) -> tuple[int, int] | None:
    """The class (i, j) whose subset arrives first, or None if none arrives before the deadline."""
    proposal = first_proposal(envelope, deadline, stream)
    return None if proposal is None else (proposal.i, proposal.j)


def first_proposal(envelope: Proposals[Found], deadline: Lazy, stream: WordStream, halvings: int = 1) -> Found | None:
    """The proposal that arrives first, or None if none arrives before the deadline.

    The deadline, at most 1, is the arrival of the top k: a `Uniform`; or that of anything else in the same race. The
    first slice of the times ends at 2^-halvings: what arrives early is proposed nearly as often as it is accepted.
    """
    slices = 0
    while True:
        start, end, speed = time_slice(slices, halvings)
        final = not later(deadline, end)
        arrival = Arrival(start, envelope.total * speed, -envelope.shift)
        while True:
            arrival.next(stream)
            if after(arrival, deadline) if final else later(arrival, end):
                break
            proposal = envelope.propose(stream)
            thinning = _Thinning(proposal, arrival, speed)
            if accepted(proposal, stream, thinning.log_bounds(), thinning):
                return proposal
        if final:
            return None
        slices += 1


@lru_cache
def time_slice(number: int, halvings: int) -> tuple[Fraction, Fraction, int | Fraction]:
    """Where this slice of the times begins and ends, and how much faster than at 0 anybody can arrive in it.

    Slices end at 1/2, 3/4, 7/8, ..; before them is one that ends at 2^-halvings, if that is not 1/2.
    """
    ends = [Fraction(0), *([Fraction(1, 1 << halvings)] if halvings > 1 else ())]
    ends += [1 - Fraction(1, 2 << n) for n in range(number + 1)]
    speed = 1 / (1 - ends[number + 1])
    return ends[number], ends[number + 1], speed.numerator if speed.denominator == 1 else speed


def later(time: Lazy, end: Fraction) -> bool:
    """Whether the time is after a rational one."""
    if time.low > float(end) * (1.0 + ERROR):
        return True
    if time.high < float(end) * (1.0 - ERROR):
        return False
    return is_positive(formula(lambda: time.ball() - ball(end), [time]))


def after(one: Lazy, other: Lazy) -> bool:
    """Whether one drawn time is after another."""
    if one.low > other.high:
        return True
    if one.high < other.low:
        return False
    return is_positive(formula(lambda: one.ball() - other.ball(), [one, other]))


class _Thinning:
    """(1 - p s) speed: by how much the hazard stays below its bound, inverted."""

    __slots__ = ("_arrival", "_proposal", "_speed")

    def __init__(self, proposal: Proposed, arrival: Arrival, speed: int | Fraction) -> None:
        self._proposal = proposal
        self._arrival = arrival
        self._speed = speed

    def log_bounds(self) -> tuple[float, float]:
        loss, time = self._proposal.loss, self._arrival
        most = 1.0 - math.exp(-loss * (1.0 + ERROR)) * time.low * (1.0 - ERROR)
        least = 1.0 - math.exp(-loss * (1.0 - ERROR)) * time.high * (1.0 + ERROR)
        log_speed = math.log(self._speed)
        return (math.log(least) if least > 0 else -math.inf) + log_speed, math.log(most) + log_speed

    @property
    def bits(self) -> int:
        return self._arrival.bits

    def ball(self) -> arb:
        return (1 - self._proposal.weight() * self._arrival.ball()) * ball(Fraction(self._speed))

    def refine(self) -> None:
        self._arrival.refine()


BLOCK = 1 << 16
"""Groups drawn at a time."""

NARROW = 2.0**-45
"""By how much the floats of V may be off, relatively."""


@dataclass(frozen=True, slots=True)
class Groups:
    """All groups: row r of the classes, and the runs of equal scores from `first` to `last`."""

    classes: Classes
    first: Indices
    last: Indices
    exact_loss: Loss
    noise: Noise
    step: float = 0.0
    """Losses are rounded up to multiples of it, `exact_loss` too; 0 for losses as they are."""

    def draw(self, stream: WordStream) -> tuple[int, int] | None:
        """Class (i, j) of the winner, or None for the top k."""
        rivals: list[tuple[float, _Finish]] = []
        bar = -math.inf
        for row, run, words in self._drawn(stream):
            low, high = self._bounds(row, run, words)
            bar = max(bar, float(low.max()))
            for n in np.flatnonzero(high >= bar):
                finish = self._finish(int(row[n]), int(run[n]), Uniform(stream.word, int(words[n])))
                rivals.append((float(high[n]), finish))
        best, *others = [finish for high, finish in rivals if high >= bar]
        for other in others:
            if is_positive(formula(_above(other, best), [other.least, best.least])):
                best = other
        return best.group and (best.group[0], position(*best.group, stream))

    def _drawn(self, stream: WordStream) -> Iterator[tuple[Indices, Indices, Words]]:
        """Rows, runs and words, block by block; the top k is the last group, run -1 of row 0."""
        runs = len(self.first)
        count = len(self.classes.i) * runs
        for start in range(0, count + 1, BLOCK):
            group = np.arange(start, min(start + BLOCK, count + 1))
            row, run = np.divmod(group, runs)
            if group[-1] == count:
                row[-1], run[-1] = 0, -1
            yield row, run, stream.words(len(group))

    def _bounds(self, row: Indices, run: Indices, words: Words) -> tuple[Floats, Floats]:
        """(low, high) around the finish of each group."""
        top = run < 0
        first, last = self.first[run], self.last[run]
        fewest, most = (np.where(top, 0.0, bound) for bound in log_run(self.classes.i[row], first, last))
        loss = np.where(top, 0.0, self.classes.rise[row] + self.classes.fall[first])
        log, error = log_uniform(words, 0)
        with np.errstate(all="ignore"):
            shortest, longest = np.log(np.maximum(-log - error, 0.0)) - most, np.log(-log + error) - fewest
            q_low, e_low = self.noise.quantile(*_as_words(longest, up=True))
            q_high, e_high = self.noise.quantile(*_as_words(shortest, up=False))
            low = q_low - e_low - self._rounded(loss, 1.0 + LOSS_ROUNDING)
            high = q_high + e_high - self._rounded(loss, 1.0 - LOSS_ROUNDING)
        unknown = ~np.isfinite(shortest) | ~np.isfinite(longest)
        return np.where(unknown | np.isnan(low), -np.inf, low), np.where(unknown | np.isnan(high), np.inf, high)

    def _rounded(self, loss: Floats, off: float) -> Floats:
        """Bound the loss from the side of `off`, which is 1 give or take what floats are off."""
        near = loss * off
        return near if not self.step else np.ceil(near / self.step * off) * self.step * off

    def _finish(self, row: int, run: int, least: Uniform) -> _Finish:
        if run < 0:
            return _Finish(self, None, least)
        return _Finish(self, (int(self.classes.i[row]), int(self.first[run]), int(self.last[run])), least)


@dataclass(frozen=True, slots=True)
class _Finish:
    """Q(V) - loss of one group, lazily: (i, first, last), or None for the top k."""

    groups: Groups
    group: tuple[int, int, int] | None
    least: Uniform

    def ball(self) -> arb:
        from flint import arb

        size, loss = arb(1), arb(0)
        bits = self.least.bits
        if self.group is not None:
            i, first, last = self.group
            count = binomial_prefix_sum(i, last) - binomial_prefix_sum(i, first - 1)
            size, loss = arb(count), ball(self.groups.exact_loss(i, first))
            bits += int(count).bit_length()
        v = -(self.least.ball().log() / size).expm1() * arb(2) ** bits
        below, above = v.lower().floor().unique_fmpz(), v.upper().ceil().unique_fmpz()
        if below is None or above is None:
            return arb("nan")
        quantile = self.groups.noise.exact_quantile
        limit = 1 << bits
        ends = quantile(min(max(int(above), 0), limit), bits), quantile(min(max(int(below), 0), limit), bits)
        return ends[0].union(ends[1]) - loss


def _above(one: _Finish, other: _Finish) -> Callable[[], arb]:
    return lambda: one.ball() - other.ball()


def _as_words(log_wait: Floats, *, up: bool) -> tuple[Words, Indices]:
    """Word and level of V = 1 - exp(-e^log_wait), moved up or down by more than the floats are off."""
    with np.errstate(all="ignore"):
        log = np.where(log_wait < -40.0, log_wait, np.log(-np.expm1(-np.exp(log_wait))))
    log = np.where(np.isfinite(log), log, 0.0)
    level = np.maximum(np.floor(-log / LN2), 0.0)
    share = np.exp(log + level * LN2) * (1.0 + (NARROW if up else -NARROW) * (1.0 + level))
    near_one = share >= 1.0 - NARROW  # the greatest word: whoever reads it knows nothing of U
    words = np.where(near_one, 0.0, share * 2.0**64).astype(np.uint64)
    return np.where(near_one, np.uint64(2**64 - 1), words), level.astype(np.int64)


def runs_of(scores: Values | Runs) -> tuple[Indices, Indices]:
    """(first, last) of the runs of equal scores."""
    if isinstance(scores, Runs):
        return scores.starts_and_length[:-1], scores.ends - 1
    edges = np.flatnonzero(scores[1:] != scores[:-1]) + 1
    return np.append(0, edges), np.append(edges, len(scores)) - 1
