"""Subsets in the order of their noisy weights: by rejection among classes, and by arrival times."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np

from shortlist._arrays import Floats, Indices, Runs, Values, Words
from shortlist.exact import subsets
from shortlist.exact.noise import LN2, Noise, log_uniform
from shortlist.exact.reals import Lazy, Uniform, around, ball, formula, is_positive
from shortlist.exact.search import bisect, whole_numbers
from shortlist.exact.subsets import ULPS, Cells, Classes, one_log_choose
from shortlist.sampling.entropy import WordStream, accept, pick

if TYPE_CHECKING:
    from flint import arb, fmpz


Loss = Callable[[int, int], Fraction]
"""The exact loss of class (i, j)."""

WIDTH = 0.7
"""How much the loss may vary in a cell: a proposal is accepted with a chance of at least e^-0.7, or nearly."""

MARGIN = 2.0**-20
"""Weights are above the masses by this share, beyond every float error."""

SPARE = 4.0
"""The residual weight is so many times the bound on the mass left out: its cells weigh up to e^WIDTH of their mass."""

LIGHTEST = -128
"""Masses below 2^-128 are weighed as if they were that large."""

TOTAL = 60
"""The weights of all cells amount to about 2^60."""

SMALL = 64
"""Integers of up to so many bits are as fast as floats."""

ERROR = 2.0**-40
"""Assumed relative error of the floats in an acceptance; where they cannot tell, Arb does."""


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Proposal(Generic[T_co]):
    """A class (i, j) of subsets or the ranks of a list, to be accepted with a chance that is known exactly."""

    choice: T_co
    loss: float
    """Against the top k, to a relative error of 2^-48."""
    low: float
    """A lower bound on the logarithm of the chance of acceptance."""
    high: float
    """An upper bound on it."""
    chance: Callable[[], arb]
    exact_loss: Callable[[], Fraction]


class Proposals(Protocol[T_co]):
    """Whoever proposes: accepted, with 2^shift mass / total, so that every subset has a chance as its mass is."""

    @property
    def shift(self) -> int: ...

    @property
    def total(self) -> int: ...

    def propose(self, stream: WordStream) -> Proposal[T_co]: ...


def _chance(loss: Callable[[], Fraction], i: int, first: int, last: int, shift: int, of: int | Fraction) -> arb:
    """2^shift N e^-loss / of, N the size of the classes (i, first) to (i, last)."""
    from flint import arb

    size = arb(binomial_prefix_sum(i, last) - binomial_prefix_sum(i, first - 1))
    return size * (-ball(loss())).exp() * ball(Fraction(2) ** shift / of)


@dataclass(frozen=True, slots=True)
class Envelope:
    """Cells with integer weights, and perhaps all other classes behind one residual weight."""

    classes: Classes
    cells: Cells
    exact_loss: Loss
    shift: int
    cumulative: Indices
    residual: int = 0
    rest: Callable[[], Envelope] | None = None

    @property
    def total(self) -> int:
        """The sum of all weights: at least 2^shift times the mass of all classes."""
        return self.residual + (int(self.cumulative[-1]) if len(self.cumulative) else 0)

    def propose(self, stream: WordStream) -> Proposal[tuple[int, int]]:
        """The class that a uniform integer below the total proposes: accepted with 2^shift N e^-loss / its weight."""
        ticket = stream.below(self.total) - self.residual
        if self.rest is not None and ticket < 0:
            return self._propose_rest(self.rest(), stream)
        c, weight = pick(self.cumulative, ticket)
        row, first, last = int(self.cells.row[c]), int(self.cells.first[c]), int(self.cells.last[c])
        lower, upper = float(self.cells.lower[c]), float(self.cells.upper[c])
        i = int(self.classes.i[row])
        j = position(i, first, last, stream)
        rise, fall = float(self.classes.rise[row]), self.classes.fall
        least, most = float(fall[first]), float(fall[last])
        here = float(fall[j]) if self.classes.exact_fall is None else self.classes.exact_fall(j)
        high = upper - (here - least) + self.shift * LN2 - math.log(weight)
        unsure = upper - lower - (most - least)
        error = ERROR * (64.0 + abs(self.shift) + abs(upper) + rise + max(here, most))
        loss = partial(self.exact_loss, i, j)
        chance = partial(_chance, loss, i, first, last, self.shift, weight)
        return Proposal((i, j), rise + here, high - unsure - error, high + error, chance, loss)

    def _propose_rest(self, rest: Envelope, stream: WordStream) -> Proposal[tuple[int, int]]:
        """A class that is in none of the cells, with a chance that is smaller by what the residual weighs too much."""
        share = Fraction(2) ** (self.shift - rest.shift) * rest.total / self.residual
        one = rest.propose(stream)
        log = math.log(share.numerator) - math.log(share.denominator)
        error = ERROR * (1.0 + math.log(share.denominator))
        return replace(
            one, low=one.low + log - error, high=one.high + log + error, chance=lambda: one.chance() * ball(share)
        )


def prepare(classes: Classes, exact_loss: Loss, *, start: int = 0, width: float = WIDTH) -> Envelope:
    """The envelope of all classes with j >= start, beside a top set of mass 1."""
    cells, left_out = subsets.relevant(classes, outside=0.0, width=width, start=start)
    shift, cumulative = weigh(cells.upper, heaviest=max(float(cells.upper.max(initial=0.0)), 0.0))
    envelope = Envelope(classes, cells, exact_loss, shift, cumulative)
    if left_out == -math.inf:
        return envelope

    @cache
    def rest() -> Envelope:
        """All classes that are in none of the cells.

        Its weights amount to less than SPARE times the mass of these classes and half a residual weight of 1: cells
        exceed their mass by a factor of e^WIDTH = 2.02 at most, those that `cover` drops by less than 1e-13 of it
        together, and one is added to each of the weights, which are scaled to 2^30 at least or else are below 2^-98.
        """
        beyond = subsets.others(classes, cells, start=start)
        outer = subsets.join(list(subsets.cover(classes, beyond, outside=-math.inf, width=WIDTH)))
        return Envelope(classes, outer, exact_loss, *weigh(outer.upper, heaviest=float(outer.upper.max())))

    return replace(envelope, residual=math.floor(SPARE * math.exp(left_out + shift * LN2)) + 1, rest=rest)


def weigh(logs: Floats, heaviest: float) -> tuple[int, Indices]:
    """(shift, where the weights end): integers above 2^shift e^log, for masses of e^heaviest at most."""
    halvings = math.ceil(max(heaviest / LN2 + MARGIN, LIGHTEST))
    bits = TOTAL - len(logs).bit_length()
    weights = np.floor(np.exp(logs - halvings * LN2) * (2.0**bits * (1.0 + MARGIN))).astype(np.int64) + 1
    return bits - halvings, np.cumsum(weights)


def position(i: int, first: int, last: int, stream: WordStream) -> int:
    """j in [first, last] with probability in proportion to C(i + j, i), exactly.

    That is the least j with u N < C(i + j + 1, i + 1) - C(i + first, i + 1) for u uniform and N the sum. Newton's steps
    find it in floats; where u is too near a boundary for them, integers decide, and draw more of u if they must.
    """
    if first == last:
        return first
    word, left, right = stream.word(), first, last
    if i + last < SMALL:
        return _exact_position(i, first, last, word, stream)
    top = one_log_choose(i + 1, last)
    before = math.exp(one_log_choose(i + 1, first - 1) - top) if first else 0.0
    target = before + (word + 0.5) * 2.0**-64 * (1.0 - before)
    error = 4.0 * ULPS * (4.0 + top)
    level, guess, value = top + math.log(target), last, top
    while left < right:
        step = (level - value) / math.log1p((i + 1) / max(guess, 1))
        guess = min(max(int(guess + step), left), right - 1)
        value = one_log_choose(i + 1, guess)
        gap = math.exp(value - top) - target
        if abs(gap) <= error:
            return _exact_position(i, first, last, word, stream)
        left, right = (left, guess) if gap > 0 else (guess + 1, right)
    return left


def _exact_position(i: int, first: int, last: int, word: int, stream: WordStream) -> int:
    start, share = binomial_prefix_sum(i, first - 1), Uniform(stream.word, word)
    size = binomial_prefix_sum(i, last) - start
    while True:
        low = _least(i, first, last, start, size * share.value, share.bits)
        if low == _least(i, first, last, start, size * (share.value + 1) - 1, share.bits):
            return low
        share.refine()


def _least(i: int, first: int, last: int, start: fmpz, target: fmpz, bits: int) -> int:
    """The least j with target < 2^bits (C(i + j + 1, i + 1) - C(i + first, i + 1))."""
    return bisect(lambda j: target < (binomial_prefix_sum(i, j) - start) << bits, first - 1, last, whole_numbers)[1]


def binomial_prefix_sum(i: int, j: int) -> fmpz:
    """sum_{l = 0 .. j} C(i + l, i) = C(i + j + 1, i + 1), exactly."""
    from flint import fmpz

    return fmpz.bin_uiui(i + j + 1, i + 1)


FEW = 1 << 14
"""So many classes are added up in less time than some of them are chosen: the largest of them has 10^76 members."""

SHARES = 46
"""Bits of the weights of the classes of a row: 1 for each class is below 2^-32 of them."""


def falls_if_few(classes: Classes) -> Floats | None:
    """The losses of all columns, one by one, where there are few classes; None otherwise."""
    if len(classes.i) * len(classes.fall) > FEW or classes.exact_fall is not None:
        return None
    return classes.fall.expand() if isinstance(classes.fall, Runs) else classes.fall


@lru_cache(maxsize=16)
def log_sizes(first: int, rows: int, columns: int) -> Floats:
    """ln C(i + j, i), first <= i < first + rows and j < columns: of public numbers alone, so they are kept."""
    return subsets.log_choose(np.arange(first, first + rows)[:, None], np.arange(columns)[None, :])


@lru_cache(maxsize=16)
def _sizes(first: int, rows: int, columns: int, start: int) -> Floats:
    """C(i + j, i) to a part in 2^36, and 0 for j < start."""
    sizes = np.exp(log_sizes(first, rows, columns))
    sizes[:, :start] = 0.0
    return sizes


@dataclass(frozen=True, slots=True)
class FewClasses:
    """All classes, by row: what `Envelope` is where there are many."""

    classes: Classes
    fall: Floats
    exact_loss: Loss
    start: int
    """Classes with j < start are not there."""
    shift: int
    upto: list[int]
    """Where the weights of the rows end, one after the other."""
    _shares: dict[int, Indices] = field(default_factory=dict)
    """Where the weights of the classes end, for rows that were hit."""

    @property
    def total(self) -> int:
        """At least 2^shift times the mass of all classes."""
        return self.upto[-1]

    def propose(self, stream: WordStream) -> Proposal[tuple[int, int]]:
        """A class, to be accepted by what it weighs too much."""
        row = bisect_right(self.upto, stream.below(self.total))
        weight, upto = self.upto[row] - (self.upto[row - 1] if row else 0), self._upto(row)
        whole = int(upto[-1])
        place, own = pick(upto, stream.below(whole))
        i, j = int(self.classes.i[row]), self.start + place
        loss, size = float(self.classes.rise[row]) + float(self.fall[j]), one_log_choose(i, j)
        log = self.shift * LN2 + size - loss + math.log(whole) - math.log(weight) - math.log(own)
        error = ERROR * (64.0 + abs(self.shift) + size + loss)
        exact_loss = partial(self.exact_loss, i, j)
        chance = partial(_chance, exact_loss, i, j, j, self.shift, Fraction(weight * own, whole))
        return Proposal((i, j), loss, log - error, log + error, chance, exact_loss)

    def _upto(self, row: int) -> Indices:
        """Weights of the classes of a row: never 0, and 2^SHARES of them together, or a little more."""
        if row not in self._shares:
            sizes = log_sizes(int(self.classes.i[row]), 1, len(self.fall))[0]
            logs = sizes[self.start :] - self.fall[self.start :]
            shares = np.exp(logs - logs.max())
            shares *= 2.0**SHARES / shares.sum()
            self._shares[row] = np.cumsum(shares.astype(np.int64) + 1)
        return self._shares[row]


@np.errstate(under="ignore")
def few_classes(classes: Classes, fall: Floats, exact_loss: Loss, *, start: int = 0) -> FewClasses:
    """The weights of all rows, beside a top set of mass 1; `fall` is that of the classes.

    Their margin is four times that by which the weights of the classes of a row may be off together, so that no chance
    is above 1.
    """
    rows = len(classes.i)
    sizes = _sizes(int(classes.i[0]), rows, len(fall), start)
    masses = np.einsum("rj,j->r", sizes, np.exp(-fall)) * np.exp(-classes.rise)
    halvings = math.frexp(max(1.0, float(masses.max())))[1]
    bits = 60 - rows.bit_length()
    scale = 2.0 ** (bits - halvings) * (1.0 + 4.0 * MARGIN)
    upto = np.cumsum(np.floor(masses * scale).astype(np.int64) + 1).tolist()
    return FewClasses(classes, fall, exact_loss, start, bits - halvings, upto)


@dataclass(slots=True)
class Arrival:
    """The time start + (E_1 + .. + E_n) / (total 2^doublings) of the n-th point of a Poisson process, drawn lazily."""

    start: Fraction
    total: int
    doublings: int
    clocks: list[Uniform] = field(default_factory=list)

    @property
    def low(self) -> float:
        return self._time((clock.high for clock in self.clocks), -ERROR)

    @property
    def high(self) -> float:
        return self._time((clock.low for clock in self.clocks), ERROR)

    def _time(self, uniforms: Iterable[float], error: float) -> float:
        """start + wait / rate, moved by `error` of itself, far more than the floats are off."""
        wait = sum(-math.log(one) if one else math.inf for one in uniforms)
        log_rate = math.log(self.total) + self.doublings * LN2
        delay = math.exp(min(math.log(wait) - log_rate, 700.0)) if wait else 0.0
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


@dataclass(frozen=True, slots=True)
class GuardArrivalTime:
    """The time e^-v U^(1/a) of a guard with noise of rate a < 1, drawn lazily; v is exact if its bounds do not tell."""

    least_v: float
    most_v: float
    exact_v: Callable[[], arb]
    a: Fraction
    clock: Uniform

    @property
    def low(self) -> float:
        return self._time(self.most_v, self.clock.low, -ERROR)

    @property
    def high(self) -> float:
        return self._time(self.least_v, self.clock.high, ERROR)

    def _time(self, v: float, uniform: float, error: float) -> float:
        if not uniform:
            return 0.0
        log = -v + math.log(uniform) / float(self.a)
        return math.exp(min(log + error * (1.0 + abs(v) + abs(log)), 700.0))

    @property
    def bits(self) -> int:
        return self.clock.bits

    def ball(self) -> arb:
        v = self.exact_v() if self.bits > 64 else around(self.least_v, self.most_v)
        return (self.clock.ball().log() / ball(self.a) - v).exp()

    def refine(self) -> None:
        self.clock.refine()


def race_beside(
    envelope: Proposals[T], arrival: Callable[[Uniform], Lazy], stream: WordStream
) -> tuple[T | None, bool]:
    """(what arrives before the top k and before another, whether the other is before the top k).

    When the other arrives is a function of a uniform number.
    """
    top, other = stream.uniform(), arrival(stream.uniform())
    guarded = after(top, other)
    return first_proposal(envelope, other if guarded else top, stream), guarded


def first_proposal(envelope: Proposals[T], deadline: Lazy, stream: WordStream) -> T | None:
    """What arrives first, or None if nothing arrives before the deadline.

    The deadline, at most 1, is the arrival of the top k: a `Uniform`; or that of anything else in the same race.
    Slices of the times end at 1/2, 3/4, 7/8, ..: before 1 - 1/s all arrive at most s times as fast as at 0.
    """
    start, speed = Fraction(0), 2
    while True:
        end = 1 - Fraction(1, speed)
        final = not later(deadline, end)
        arrival = Arrival(start, envelope.total * speed, -envelope.shift)
        while True:
            arrival.clocks.append(stream.uniform())
            if after(arrival, deadline) if final else later(arrival, end):
                break
            proposal = envelope.propose(stream)
            least, most = log_thinning(proposal.loss, arrival, speed)
            chance = partial(_thin, proposal, arrival, speed)
            if accept(stream, proposal.low - most - ERROR, proposal.high - least + ERROR, chance, [arrival]):
                return proposal.choice
        if final:
            return None
        start, speed = end, 2 * speed


def log_thinning(loss: float, time: Lazy, speed: int) -> tuple[float, float]:
    """Float bounds on ln (1 - p s) speed: by how much the hazard stays below its bound, inverted; p = e^-loss."""
    most = 1.0 - math.exp(-loss * (1.0 + ERROR)) * time.low * (1.0 - ERROR)
    least = 1.0 - math.exp(-loss * (1.0 - ERROR)) * time.high * (1.0 + ERROR)
    return (math.log(least) if least > 0 else -math.inf) + math.log(speed), math.log(most) + math.log(speed)


def _thin(proposal: Proposal[T], time: Lazy, speed: int) -> arb:
    """The chance of a proposal over the same, exactly."""
    return proposal.chance() / ((1 - (-ball(proposal.exact_loss())).exp() * time.ball()) * speed)


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
        for row, run, words in self._draw_groups(stream):
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

    def _draw_groups(self, stream: WordStream) -> Iterator[tuple[Indices, Indices, Words]]:
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
        fewest, most = (np.where(top, 0.0, bound) for bound in subsets.log_run(self.classes.i[row], first, last))
        loss = np.where(top, 0.0, self.classes.rise[row] + self.classes.fall[first])
        log, error = log_uniform(words, 0)
        with np.errstate(all="ignore"):
            shortest, longest = np.log(np.maximum(-log - error, 0.0)) - most, np.log(-log + error) - fewest
            q_low, e_low = self.noise.quantile(*_as_words(longest, up=True))
            q_high, e_high = self.noise.quantile(*_as_words(shortest, up=False))
            low = q_low - e_low - self._round_loss(loss, 1.0 + subsets.LOSS_ROUNDING)
            high = q_high + e_high - self._round_loss(loss, 1.0 - subsets.LOSS_ROUNDING)
        unknown = ~np.isfinite(shortest) | ~np.isfinite(longest)
        return np.where(unknown | np.isnan(low), -np.inf, low), np.where(unknown | np.isnan(high), np.inf, high)

    def _round_loss(self, loss: Floats, off: float) -> Floats:
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
        return np.append(0, scores.ends)[:-1], scores.ends - 1
    edges = np.flatnonzero(scores[1:] != scores[:-1]) + 1
    return np.append(0, edges), np.append(edges, len(scores)) - 1
