"""Draw many k-subsets at once.

Uniform members of classes of subsets, one row each (Lemma 265).

Classes of subsets with integer weights, one by one, so that a single word finds one: what rows of draws share.

Many draws of a class of subsets at once, one row each: the laws of `subset_rejection` and `subset_draw_exponential`.

Each row draws words of its own and float bounds decide it. What these leave open is decided exactly on the same words;
in a race by the plain draw of that row, which goes on where its words end (Theorem 266).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Mask, Words
from shortlist.sampling.entropy import Source
from shortlist.sampling.subsets import ERROR, Envelope, Proposal, accepted, first_proposal, time_slice
from shortlist.sampling.uniforms import HALF, WordStream


def member_rows(k: int, i: Indices, j: Indices, *, merged: bool, source: Source) -> Indices:
    """The ranks of a uniform member of class (i, j) for each row, in no order; i = -1 is the top k.

    A class holds ranks 0 to k - i - 2, rank k + j, and any i of the i + j ranks before that; where they are `merged`,
    all from one rank earlier on. Rows are taken by decreasing i, so that those with a c-th free member stand first.
    """
    by = np.argsort((-i).astype(np.int16), kind="stable")
    i, j = i[by].astype(np.int32), j[by].astype(np.int32)
    at_least = np.searchsorted(-i, -np.arange(k + 1), side="right").tolist()  # rows with i >= c
    ranks = np.empty((k, len(by)), np.int32)
    halves = source.words(sum(at_least[1:]) // 2 + 1).view(np.uint32)
    before = k - i - int(merged)
    used = 0
    for c, (some, free) in enumerate(pairwise(at_least)):
        picked = _below((j[:free] + (c + 1)).view(np.uint32), halves[used : used + free], source)
        used += free
        taken = (ranks[:c, :free] == picked).any(axis=0)
        ranks[c, :free] = np.where(taken, j[:free] + c, picked)
        ranks[c, free:some] = (i + j)[free:some]
        ranks[c, some:] = c - i[some:] - 1
    for c, some in enumerate(at_least[:-1]):
        ranks[c, :some] += before[:some]
    rows = np.empty((len(by), k), np.int64)
    rows[by] = ranks.T
    return rows


def _below(bounds: NDArray[np.uint32], halves: NDArray[np.uint32], source: Source) -> NDArray[np.int32]:
    """A uniform integer below each bound, from half a word each; a half that would favour some is drawn again.

    Of the 2^32 values h, those with h n mod 2^32 >= 2^32 mod n give each floor(h n / 2^32) equally often (Lemire 2019).
    """
    product = halves.astype(np.uint64) * bounds.astype(np.uint64)
    result = (product >> np.uint64(32)).astype(np.int32)
    perhaps = np.flatnonzero(product.astype(np.uint32) < bounds)
    unfair = perhaps[(product[perhaps] & np.uint64(HALF - 1)) < HALF % bounds[perhaps].astype(np.int64)]
    if len(unfair):
        again = source.words(len(unfair)).view(np.uint32)[: len(unfair)]
        result[unfair] = _below(bounds[unfair], again, source)
    return result


APART = 46
"""Weights amount to less than 2^APART, the residual one apart: few words are beyond the last multiple of them."""

GUIDE = 16
"""So many leading bits of a ticket tell its class, where a single one has them all."""

MOST_HALVINGS = 20
"""Of the end of the first slice of the times."""

NONE, OPEN = -1, -2
"""In place of a class: the top k, or nobody before the deadline; and what a row does not tell yet."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Tickets: first those of the top k, if it is drawn beside the classes, then the residual ones, then each class's.

    Columns over the classes have the top k as their last entry, at place NONE.
    """

    envelope: Envelope
    """Its cells are single classes."""
    top: int
    """How many tickets the top k has: none in a race, where it arrives on its own."""
    i: Indices
    j: Indices
    low: Floats
    """At most the chance of acceptance."""
    high: Floats
    """At least that."""
    weight: Floats
    """e^-loss."""
    edges: Indices
    """Where the tickets of each class begin, and where those of the last end."""
    drop: int
    """A ticket has so many bits behind its leading ones."""
    guide: NDArray[np.int32] = field(init=False)
    """Whose all tickets with these leading bits are, or OPEN."""

    def __post_init__(self) -> None:
        starts = np.arange(((self.tickets - 1) >> self.drop) + 1) << self.drop
        places, last = self._search(starts), self._search(starts + ((1 << self.drop) - 1))
        object.__setattr__(self, "guide", np.where(places == last, places, OPEN).astype(np.int32))

    @property
    def shift(self) -> int:
        return self.envelope.shift

    @property
    def total(self) -> int:
        """Of the classes: at least 2^shift times their mass."""
        return self.envelope.total

    @property
    def tickets(self) -> int:
        return self.top + self.total

    @property
    def halvings(self) -> int:
        """Nearly everybody has arrived at 2^-halvings, where the classes have a large mass."""
        return min(max(self.total.bit_length() - self.shift - 5, 1), MOST_HALVINGS)

    def propose(self, stream: WordStream) -> Proposal:
        """A class, in a race: the remainder of a word, unless that is beyond the last multiple of the tickets."""
        while True:
            times, ticket = divmod(stream.word(), self.tickets)
            if times < (1 << 64) // self.tickets:
                return self.envelope.at(ticket, stream)

    def find(self, words: Words) -> Indices:
        """Places, by the same rule: OPEN for the residual weight and beyond the last multiple."""
        tickets = np.uint64(self.tickets)
        times = words // tickets
        ticket = (words - times * tickets).view(np.int64)
        places = self.guide.take(ticket >> self.drop).astype(np.int64)
        unsure = np.flatnonzero(places == OPEN)
        places[unsure] = self._search(ticket[unsure])
        places[times >= np.uint64((1 << 64) // self.tickets)] = OPEN
        return places

    def _search(self, tickets: Indices) -> Indices:
        places = np.searchsorted(self.edges, tickets, side="right") - 1
        places[tickets < self.edges[0]] = OPEN
        places[tickets < self.top] = NONE
        return places


def weights_of(envelope: Envelope, *, top: bool) -> Weights:
    """The tickets of an envelope that has every class apart; `top` says whether the top k is drawn with them."""
    cells, classes, shift = envelope.cells, envelope.classes, envelope.shift
    own = (1 << max(shift, 0)) if top else 0
    edges = np.append(0, envelope.cumulative) + (own + envelope.residual)
    rise, fall = classes.rise[cells.row], np.asarray(classes.fall[cells.first])
    high = cells.upper + shift * math.log(2.0) - np.log(np.diff(edges))
    error = ERROR * (64.0 + abs(shift) + np.abs(cells.upper) + rise + fall)
    low, high = high - (cells.upper - cells.lower) - error, high + error
    of_top = min(shift, 0) * math.log(2.0)
    return Weights(
        envelope,
        own,
        np.append(classes.i[cells.row], -1),
        np.append(cells.first, 0),
        np.exp(np.append(low, of_top)),
        np.exp(np.append(high, of_top)),
        np.exp(-np.append(rise + fall, 0.0)),
        edges,
        max((own + envelope.total - 1).bit_length() - GUIDE, 0),
    )


ROUNDING = 2.0**-34
"""Far more than the floats of a comparison are off, where the words behind them are at least LEAST."""

LEAST = np.uint64(1 << 44)
"""Of a lesser word too few bits are known: its row is decided by the plain draw."""

SLICES, ROUNDS = 12, 48
"""A row that is open after so many slices of the times, or rounds in one of them, is decided by the plain draw."""


@dataclass(frozen=True, slots=True)
class Classes:
    """The class of each row; i is -1 for the top k, and where nobody came before the deadline."""

    i: Indices
    j: Indices

    def put(self, row: int, proposal: Proposal | None) -> None:
        self.i[row], self.j[row] = (-1, 0) if proposal is None else (proposal.i, proposal.j)


@dataclass(frozen=True, slots=True)
class Record:
    """The words that each row has used, in order."""

    parts: list[tuple[Indices, tuple[Words, ...]]] = field(default_factory=list)

    def add(self, rows: Indices, *words: Words) -> None:
        """The next words of these rows, which increase."""
        self.parts.append((rows, words))

    def of(self, row: int) -> list[int]:
        past: list[int] = []
        for rows, words in self.parts:
            at = int(np.searchsorted(rows, row))
            if at < len(rows) and rows[at] == row:
                past += [int(column[at]) for column in words]
        return past


def in_proportion(weights: Weights, draws: int, source: Source) -> Classes:
    """Classes with a chance in proportion to their mass, the top k having mass 1 (Theorem 67)."""
    classes, rows = _nobody(draws), np.arange(draws)
    while len(rows):
        words, coins = source.words(2 * len(rows)).reshape(2, -1)
        places = weights.find(words)
        coin = coins * 2.0**-64
        at = np.maximum(places, NONE)
        yes, no = coin < weights.low[at] - ROUNDING, coin > weights.high[at] + ROUNDING
        classes.i[rows], classes.j[rows] = weights.i[at], weights.j[at]
        done = yes & (places != OPEN)
        for n in np.flatnonzero((places == OPEN) | ~(yes | no)).tolist():
            done[n] = _alone(weights, int(words[n]), int(coins[n]), source, classes, int(rows[n]))
        rows = rows[~done]
    return classes


def _alone(weights: Weights, word: int, coin: int, source: Source, classes: Classes, row: int) -> bool:
    """Whether what the word proposes is accepted, exactly: and if so it is put into the row."""
    times, ticket = divmod(word, weights.tickets)
    if times >= (1 << 64) // weights.tickets:
        return False
    if ticket < weights.top:
        classes.put(row, None)
        return WordStream(source, given=[coin]).all_zero(max(-weights.shift, 0))
    proposal = weights.envelope.at(ticket - weights.top, WordStream(source))
    classes.put(row, proposal)
    return accepted(proposal, WordStream(source, given=[coin]))


@dataclass(frozen=True, slots=True)
class Deadlines:
    """When each row's race ends, in floats: known to within `room`, which is infinite where they say nothing."""

    due: Floats
    room: Floats

    @classmethod
    def uniform(cls, words: Words) -> Deadlines:
        """Uniform times that start with these words."""
        due = np.multiply(words, 2.0**-64, dtype=np.float64)
        return cls(due, np.where(words < LEAST, np.inf, due * ROUNDING))

    @classmethod
    def late(cls, words: Words, low: float, high: float, a: float) -> Deadlines:
        """e^-v U^(1/a) with low <= v <= high, which may be nats apart, U uniform; beyond e^9 all times are alike."""
        log: Floats = np.log(np.maximum(words, LEAST) * 2.0**-64) / a
        off = ROUNDING * (1.0 + abs(low) + abs(high) - log)
        first, last = np.exp(np.minimum(log - high - off, 9.0)), np.exp(np.minimum(log - low + off, 9.0))
        return cls((first + last) / 2, np.where(words < LEAST, np.inf, (last - first) / 2 + ROUNDING * last))

    def or_earlier(self, other: Deadlines) -> tuple[Deadlines, Mask]:
        """(the earlier of the two, where that is the other); where they are too close nothing is known."""
        second = other.due < self.due
        room = np.where(second, other.room, self.room)
        told = np.abs(self.due - other.due) > self.room + other.room
        return Deadlines(np.where(second, other.due, self.due), np.where(told, room, np.inf)), second


def race_in_rows(weights: Weights, draws: int, source: Source) -> Classes:
    """The class whose subset arrives before all others, or i = -1 if the top k does (Theorem 68)."""
    words, record = source.words(draws), Record()
    record.add(np.arange(draws), words)

    def plain(row: int) -> Proposal | None:
        stream = WordStream(source, given=record.of(row))
        return first_proposal(weights, stream.uniform(), stream, weights.halvings)

    return first_in_rows(weights, Deadlines.uniform(words), record, source, plain)


def first_in_rows(
    weights: Weights, deadlines: Deadlines, record: Record, source: Source, plain: Callable[[int], Proposal | None]
) -> Classes:
    """The class whose subset arrives first in each row, i = -1 if none does before the deadline (Theorem 68).

    `record` has the words of the deadlines; `plain` decides a row alone, on the words that are there of it.
    """
    places = np.full(len(deadlines.due), OPEN)
    rows = np.flatnonzero(deadlines.room < np.inf)
    for number in range(SLICES):
        if len(rows):
            rows = _through(weights, number, rows, deadlines, places, record, source)
    classes = Classes(weights.i[np.maximum(places, NONE)], weights.j[np.maximum(places, NONE)])
    for row in np.flatnonzero(places == OPEN).tolist():
        classes.put(row, plain(row))
    return classes


def _through(
    weights: Weights, number: int, rows: Indices, deadlines: Deadlines, places: Indices, record: Record, source: Source
) -> Indices:
    """Through one slice of the times: who arrives is put into places, rows whose deadline is later are returned."""
    start, end, speed = (float(one) for one in time_slice(number, weights.halvings))
    rate = math.ldexp(weights.total * speed, -weights.shift)
    due, room = deadlines.due[rows], deadlines.room[rows]
    race = _Race(rows, np.zeros(len(rows)), (np.minimum(due, end) - start) * rate, room * rate, due <= end)
    race = race.where(np.abs(due - end) > room)
    later: list[Indices] = [_NOBODY]
    for _ in range(ROUNDS):
        clock = source.words(len(race.rows))
        record.add(race.rows, clock)
        np.subtract(race.wait, np.log(np.maximum(clock, LEAST) * 2.0**-64), out=race.wait)
        ahead, doubt = race.limit - race.wait, race.slack + ROUNDING * (1.0 + race.wait)
        known = clock >= LEAST
        out = (ahead < -doubt) & known
        places[race.rows[out & race.last]] = NONE
        later.append(race.rows[out & ~race.last])
        race = race.where((ahead > doubt) & known)
        words, coins = source.words(2 * len(race.rows)).reshape(2, -1)
        record.add(race.rows, words, coins)
        place = weights.find(words)
        at = np.maximum(place, NONE)
        # the coin times what the hazard stays below its bound, and how far that may be off
        coin = coins * 2.0**-64 * (1.0 - weights.weight[at] * (start + race.wait / rate)) * speed
        off = ROUNDING * speed * (2.0 + 1.0 / rate)
        yes, no, told = coin < weights.low[at] - off, coin > weights.high[at] + off, place != OPEN
        places[race.rows[yes & told]] = place[yes & told]
        race = race.where(no & told)
        if not len(race.rows):
            break
    return np.sort(np.concatenate(later))


@dataclass(frozen=True, slots=True)
class _Race:
    """Rows in which somebody may still arrive in this slice."""

    rows: Indices
    wait: Floats
    """The time since the slice began, in units of the mean time between two proposals."""
    limit: Floats
    """When the deadline or the slice ends it."""
    slack: Floats
    """How far that may be off."""
    last: Mask
    """Whether it is the deadline that does."""

    def where(self, mask: Mask) -> _Race:
        some = np.flatnonzero(mask)
        return _Race(self.rows[some], self.wait[some], self.limit[some], self.slack[some], self.last[some])


_NOBODY = np.empty(0, np.int64)


def _nobody(draws: int) -> Classes:
    return Classes(np.full(draws, -1), np.zeros(draws, np.int64))
