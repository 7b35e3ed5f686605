"""One exact draw among all sets of at most k labels of a working list (Lemma 116).

The list has counts x_1 >= x_2 >= .. and a bar B; a of the counts reach the bar. A set y has the weight
e^(inner m(y) - outer M(y)) with m(y) its least count (at most B if y has fewer than k labels) and M(y) the largest
count outside, at least B. Only three things matter: the run of best ranks that y holds (h of them, h = a if it holds
all that reach the bar), its last rank, and its size. So the sets fall into classes, of sizes S(n, r) = sum_{i <= r}
C(n, i) or C(n, r). A class is drawn by its exact mass, then a member of it, all alike.

Ranks stand for labels: equal counts have equal laws, whatever their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats, Indices, Values
from shortlist.exact.partial_reals import ball, rounded
from shortlist.exact.subset_classes import log_choose
from shortlist.sampling.entropy import Source
from shortlist.sampling.uniforms import Shares, WordStream, shares, subset

if TYPE_CHECKING:
    from flint import arb, fmpz


@dataclass(frozen=True, slots=True)
class Family:
    """The sets that hold the first `lead` ranks, `last` (from 1; 0: none) and some of `pool` ranks from `start` on.

    At most `most` of the pool, or exactly so many if `full`; what they lose against the best set is `loss`.
    """

    lead: int
    start: int
    pool: int
    most: int
    last: int
    full: bool
    loss: Fraction

    def size(self) -> fmpz:
        from flint import fmpz

        if self.full:
            return fmpz.bin_uiui(self.pool, self.most)
        return sum((fmpz.bin_uiui(self.pool, i) for i in range(min(self.most, self.pool) + 1)), fmpz(0))

    def mass(self) -> arb:
        from flint import arb

        return arb(self.size()) * (-ball(self.loss)).exp()

    def member(self, stream: WordStream) -> list[int]:
        """The ranks (from 0) of one of the sets, all alike."""
        ranks = subset(self.pool, self._how_many(stream), stream)
        last = [self.last - 1] if self.last else []
        return [*range(self.lead), *(self.start + ranks).tolist(), *last]

    def _how_many(self, stream: WordStream) -> int:
        """i with probability in proportion to C(pool, i), i = 0 .. most."""
        from flint import fmpz

        if self.full:
            return self.most
        ticket, i = fmpz(stream.below(int(self.size()))), 0
        while ticket >= (here := fmpz.bin_uiui(self.pool, i)):
            ticket, i = ticket - here, i + 1
        return i


@dataclass(frozen=True)
class LimitedSets:
    """P(y) proportional to e^(inner m(y) - outer M(y)) over the sets y of at most k ranks."""

    counts: Values
    """The counts of the working list, in decreasing order."""
    bar: Fraction
    k: int
    limit: int
    """The most labels a list may have: a public number, for which tables are kept."""
    inner: Fraction
    outer: Fraction

    @cached_property
    def reached(self) -> int:
        """a: how many counts reach the bar."""
        return int(np.count_nonzero(self.counts >= math.ceil(self.bar)))

    @cached_property
    def _best(self) -> tuple[Fraction, Fraction]:
        """(m, M) of the set that loses nothing: the top k if they reach the bar, otherwise all that do."""
        if self.reached < self.k:
            return self.bar, self.bar
        return Fraction(int(self.counts[self.k - 1])), self._outside(self.k)

    def _outside(self, lead: int) -> Fraction:
        """M of a set that holds the first `lead` ranks and not the next."""
        return max(self.bar, Fraction(int(self.counts[lead]))) if lead < len(self.counts) else self.bar

    def _fall(self, last: int) -> Fraction:
        """What is lost inside by a set whose last rank is `last`, or (0) all of which reach the bar."""
        return self.inner * (self._best[0] - (int(self.counts[last - 1]) if last else self.bar))

    def _rise(self, lead: int) -> Fraction:
        """What is lost outside by a set that misses rank lead + 1 first."""
        return self.outer * (self._outside(lead) - self._best[1])

    @cached_property
    def _lasts(self) -> Indices:
        """The last ranks that make a difference: none (all reach the bar), those below the bar, those of k above it."""
        a, n = self.reached, len(self.counts)
        return np.concatenate([[0], np.arange(a + 1, n + 1), np.arange(self.k + 1, a + 1)])

    @property
    def _leads(self) -> int:
        return min(self.reached, self.k)

    @cached_property
    def _shares(self) -> Shares:
        """Of all families: by lead and last rank, then those that hold all that reach the bar (or the top k)."""
        a, n, k, leads = self.reached, len(self.counts), self.k, self._leads
        sums, below = log_partial_sums(k, self.limit), n - a
        fall = np.array([rounded(self._fall(last)) for last in self._lasts.tolist()])
        logs = np.empty((leads, len(fall)))
        for h in range(leads):
            logs[h, 0] = sums[a - h - 1, k - 1 - h]
            logs[h, 1 : 1 + below] = sums[a - h - 1 : n - h - 1, k - 1 - h]
            free = self._lasts[1 + below :] - h - 2 - (k - 1 - h)
            logs[h, 1 + below :] = log_choose(np.full(len(free), k - 1 - h), free)
            logs[h] -= rounded(self._rise(h))
        best = np.zeros(1) if a >= k else np.concatenate([[0.0], sums[:below, k - 1 - a] - fall[1 : 1 + below]])
        return shares(np.concatenate([(logs - fall).ravel(), best]))

    def _family(self, place: int) -> Family:
        a, k, width = self.reached, self.k, len(self._lasts)
        if place < self._leads * width:
            h, last = place // width, int(self._lasts[place % width])
            loss = self._rise(h) + self._fall(last)
            pool = (last - h - 2) if last else (a - h - 1)
            return Family(h, h + 1, pool, k - 1 - h, last, 0 < last <= a, loss)
        last = a + place - self._leads * width
        if last == a:
            return Family(min(a, k), 0, 0, 0, 0, True, Fraction(0))
        return Family(a, a, last - 1 - a, k - 1 - a, last, False, self._fall(last))

    def draw(self, source: Source) -> list[int]:
        """The ranks (from 0) of one set."""
        return self._set(WordStream(source), self._family)

    def draw_many(self, source: Source, draws: int) -> list[list[int]]:
        """Independent sets."""
        stream, family = WordStream(source, ahead=1024), cache(self._family)
        return [self._set(stream, family) for _ in range(draws)]

    def _set(self, stream: WordStream, family: Callable[[int], Family]) -> list[int]:
        while True:
            place = self._shares.propose(stream)
            proposal = family(place)
            if self._shares.accepted(place, proposal.mass, stream):
                return proposal.member(stream)


@lru_cache(maxsize=4)
def log_partial_sums(k: int, limit: int) -> Floats:
    """ln sum_{i <= r} C(n, i) at [n, r], n < limit + 1, r < k: S(n + 1, r) = S(n, r) + S(n, r - 1); to 1e-8."""
    table = np.zeros((limit + 1, k))
    for n in range(limit):
        table[n + 1, 1:] = np.logaddexp(table[n, 1:], table[n, :-1])
    return table
