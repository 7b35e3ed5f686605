"""One set in proportion to its mass, where the score of a set has public offsets: nested families, and exact rejection.

Level t and head h name a family: all sets of that head whose alpha reaches the level (`exact.offset_levels`). It has
an integer weight W at least 2^shift (q_t - q_{t+1}) e^-loss(h) N_h(t), by certified bounds. A proposal is a family
drawn in proportion to W and a uniform member y of it, boundary by boundary. With q(y) the upper weight of the bracket
of y, it is accepted with probability

    2^shift (q_t - q_{t+1}) e^-loss(h) N_h(t) / W   times   e^-(loss inside of y) / q(y).

Over all families that hold y this adds up to 2^shift e^-loss(y): the exact mass (Theorem 181).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Indices, Values
from shortlist.exact.binomials import log_choose
from shortlist.exact.offset_levels import LEVEL_ROUNDING, Levels, covered
from shortlist.exact.offset_ranking import OffsetRanking
from shortlist.exact.partial_reals import ball
from shortlist.exact.stair_counts import Boundaries, ExactCounts, completions
from shortlist.sampling.proportional_draw import Shares, shares
from shortlist.sampling.subset_rejection import ERROR, LIGHTEST, MARGIN, WIDTH
from shortlist.sampling.uniforms import WordStream, subset

if TYPE_CHECKING:
    from flint import arb

KEPT = 64
"""Levels whose counts are kept from draw to draw."""


class Family:
    """All sets that reach one level, by head: floats now, integers when floats cannot tell."""

    __slots__ = ("_exact", "_first", "_ranks", "_tickets", "rows", "ways")

    def __init__(self, rows: Boundaries) -> None:
        self.rows = rows
        self.ways = [one[0] for one in completions(rows)]
        self._ranks: list[int] = rows.ranks[0].tolist()
        self._first: list[int] = rows.first_beyond()[0][0].tolist()
        self._exact: dict[int, ExactCounts] = {}
        self._tickets: dict[tuple[int, int, int], tuple[int, Shares | None]] = {}

    def exact(self, head: int) -> ExactCounts:
        if head not in self._exact:
            self._exact[head] = ExactCounts.of(self.rows, head)
        return self._exact[head]

    def size(self, head: int) -> arb:
        """How many sets of that head there are, exactly."""
        from flint import arb, fmpz

        exact = self.exact(head)
        room = int(self.rows.ranks[0, exact.first]) - head - 1
        least = max(head, int(self.rows.least[0, exact.first]))
        sizes = (fmpz.bin_uiui(room, c - head) * exact.after(exact.first, c) for c in range(least, self.rows.k + 1))
        return arb(sum(sizes, fmpz(0)))

    def member(self, head: int, stream: WordStream) -> Indices:
        """The ranks (from 0, increasing) of a uniform member of that head."""
        size, at, parts = head, head + 1, [np.arange(head)]
        for b in range(self._first[head], len(self._ranks)):
            room = self._ranks[b] - at
            count = self._count(b, room, size, head, stream)
            if count:
                parts.append(at + subset(room, count, stream))
            size, at = size + count, self._ranks[b]
        return np.concatenate(parts)

    def _count(self, b: int, room: int, size: int, head: int, stream: WordStream) -> int:
        """How many of the ranks up to boundary b, `room` of them, are held: in proportion to the sets with so many."""
        from flint import arb, fmpz

        least, tickets = self._tickets.get((b, room, size)) or self._shared(b, room, size)
        if tickets is None:
            return least
        while True:
            count = least + tickets.propose(stream)

            def mass(count: int = count) -> arb:
                return arb(fmpz.bin_uiui(room, count) * self.exact(head).after(b, size + count))

            if tickets.accepted(count - least, mass, stream):
                return count

    def _shared(self, b: int, room: int, size: int) -> tuple[int, Shares | None]:
        """(the fewest that may be held, the shares of so many and more; None if there is no choice), kept."""
        least = max(int(self.rows.least[0, b]) - size, 0)
        counts = np.arange(least, min(room, self.rows.k - size) + 1)
        tickets = None
        if len(counts) > 1:
            tickets = shares(log_choose(counts, room - counts) + self.ways[b][size + counts])
        self._tickets[b, room, size] = least, tickets
        return least, tickets


@dataclass(frozen=True, slots=True)
class OffsetProposal:
    """A set, to be accepted with the chance said above."""

    envelope: OffsetEnvelope
    ranks: Indices
    head: int
    layer: int
    of: int
    """The weight of its family."""
    level: int
    """alpha of the set."""
    bracket: int
    loss: float
    low: float
    high: float

    def chance(self) -> arb:
        """2^shift (q_t - q_{t+1}) e^-loss(h) N / of times e^-(loss inside) / q"""
        from flint import arb

        envelope, ranking = self.envelope, self.envelope.ranking
        near = [ball(ranking.exact_loss_at(level)) for level in envelope.nearest[self.layer : self.layer + 2]]
        step = (-near[0]).exp() - ((-near[1]).exp() if len(near) > 1 else arb(0))
        size = envelope.family(self.layer).size(self.head)
        inside = ranking.exact_loss_at(int(envelope.nearest[self.bracket])) - ranking.exact_loss_at(self.level)
        rest = (ball(inside) - ball(ranking.exact_head_loss(self.head))).exp()
        return size * step * rest * ball(Fraction(2) ** envelope.shift / self.of)

    def weight(self) -> arb:
        """e^-loss"""
        ranking = self.envelope.ranking
        return (-ball(ranking.exact_loss_at(self.level) + ranking.exact_head_loss(self.head))).exp()


class OffsetEnvelope:
    """Families with integer weights; together they hold every set but the top k."""

    __slots__ = (
        "_heads",
        "_logs",
        "_rows",
        "_slack",
        "cumulative",
        "family",
        "levels",
        "nearest",
        "ranking",
        "shift",
        "total",
    )

    def __init__(self, levels: Levels) -> None:
        self.levels, self.ranking = levels, levels.of
        self.nearest = nearest_levels(levels)
        self._rows = self.ranking.boundaries(levels.levels)
        self.family = lru_cache(maxsize=KEPT)(lambda layer: Family(self._rows.row(layer)))
        self._logs = levels.weighed(levels.near)
        self._heads = self.ranking.head_losses()
        lost = levels.near[:, None] + self._heads
        self._slack = levels.error * (4.0 + np.maximum(levels.counts, 0.0)) + LEVEL_ROUNDING * (8.0 + 2.0 * lost)
        upper = np.where(np.isneginf(self._logs), -np.inf, self._logs + self._slack)
        heaviest = max(float(upper.max(initial=0.0)), 0.0)
        halvings = max(math.ceil(heaviest / math.log(2.0) + MARGIN), LIGHTEST)
        bits = 60 - upper.size.bit_length()
        share = np.exp(upper - halvings * math.log(2.0)) * (2.0**bits * (1.0 + MARGIN))
        weights = np.where(np.isneginf(upper), 0, np.floor(share).astype(np.int64) + 1)
        self.cumulative: Indices = np.cumsum(weights.ravel())
        self.total = int(self.cumulative[-1])
        self.shift = bits - halvings

    def propose(self, stream: WordStream) -> OffsetProposal:
        place = int(np.searchsorted(self.cumulative, stream.below(self.total), side="right"))
        weight = int(self.cumulative[place]) - (int(self.cumulative[place - 1]) if place else 0)
        layer, head = divmod(place, self.ranking.k)
        ranks = self.family(layer).member(head, stream)
        level = self.ranking.level_of(ranks)
        bracket = int(np.searchsorted(-self.levels.levels, -level, side="left"))
        inside = float(self.ranking.loss_at(np.array([level]))[0])
        loss = inside + float(self._heads[head])
        log = float(self._logs[layer, head]) + self.shift * math.log(2.0) - math.log(weight)
        log += float(self.levels.near[bracket]) - inside
        error = float(self._slack[layer, head]) + ERROR * (64.0 + abs(self.shift) + loss + abs(log))
        return OffsetProposal(self, ranks, head, layer, weight, level, bracket, loss, log - error, log + error)


def nearest_levels(levels: Levels) -> Values:
    """The level of the least loss in each bracket."""
    first = levels.levels[:1]
    return np.concatenate([first, levels.of.below(levels.levels[:-1])]) if len(levels.levels) > 1 else first


def offset_envelope(ranking: OffsetRanking, *, width: float = WIDTH) -> OffsetEnvelope:
    """The envelope of all sets but the top k, beside a top set of mass 1."""
    return OffsetEnvelope(covered(ranking, width=width))
