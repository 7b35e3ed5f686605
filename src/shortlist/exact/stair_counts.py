"""How many sets of k ranks hold enough of the first ranks: what a score with public offsets has to count (Lemma 179).

A *boundary* (r, p) asks that at least p members are among the first r ranks. Between two boundaries a set holds any e
of the B ranks there, in C(B, e) ways, so the number of ways to go on from c members depends on c alone: one pass from
the last boundary to the first counts all sets. A set other than the top k has a *head* h < k: it holds ranks 1 to h and
misses rank h + 1. All is done for many rows of boundaries at once, in logarithms, and for one row in integers.

Every sum here has positive terms that are counts, so a logarithm v is off by at most (boundaries + 2) ULPS (4 + v).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats, Indices, Mask
from shortlist.exact.binomials import ULPS, log_choose

if TYPE_CHECKING:
    from flint import fmpz

BLOCK = 1 << 21
"""Terms summed at a time, so that memory stays bounded."""


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Rows of boundaries: at least `least` members are among the first `ranks`, which are nondecreasing along a row.

    All k members are within the last boundary of a row. A boundary that asks for 0 members is a mark.
    """

    k: int
    ranks: Indices
    least: Indices

    def __len__(self) -> int:
        return len(self.ranks)

    @property
    def error(self) -> float:
        """`ULPS` times this is the error of a logarithm v of a count, divided by 4 + v."""
        return ULPS * float(self.ranks.shape[1] + 2)

    def row(self, n: int) -> Boundaries:
        """One of the rows."""
        return Boundaries(self.k, self.ranks[n : n + 1], self.least[n : n + 1])

    def allowed(self, b: int) -> Mask:
        """Which numbers of members c = 0..k boundary b admits, by row."""
        enough: Mask = np.arange(self.k + 1) >= self.least[:, b : b + 1]
        return enough

    def marked(self, rank: int) -> tuple[Boundaries, Indices]:
        """(the same with one more boundary in each row, which asks for nothing; where in the row it stands)."""
        mark = np.minimum(rank, self.ranks[:, -1:])
        ranks = np.concatenate([self.ranks, mark], axis=1)
        least = np.concatenate([self.least, np.zeros_like(mark)], axis=1)
        order = np.argsort(ranks, axis=1, kind="stable")
        rows = Boundaries(self.k, np.take_along_axis(ranks, order, 1), np.take_along_axis(least, order, 1))
        return rows, np.argmax(order == ranks.shape[1] - 1, axis=1)

    def within(self, rank: int) -> Boundaries:
        """The same for sets that hold no rank beyond this one."""
        return Boundaries(self.k, np.minimum(self.ranks, rank), self.least)

    def first_beyond(self) -> tuple[Indices, Mask]:
        """(for every row and head h, the first boundary at rank h + 1 or later; whether there is one).

        Those before it are met: no row asks more of the first ranks than the top k has there.
        """
        first = (self.ranks[:, :, None] <= np.arange(self.k)).sum(axis=1)
        return np.minimum(first, self.ranks.shape[1] - 1), first < self.ranks.shape[1]


def log_binomials(sizes: Indices, k: int) -> Floats:
    """ln C(size, e) for e = 0..k, a row for every size; -inf where e is more than the size."""
    e = np.arange(k + 1)
    left = sizes[:, None] - e
    chosen = np.broadcast_to(e, left.shape)
    return np.where(left >= 0, log_choose(chosen, np.maximum(left, 0)), -np.inf)


def log_sums(terms: Floats, axis: int) -> Floats:
    """ln sum e^terms along an axis."""
    largest = terms.max(axis=axis, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    shifted = terms - largest
    np.exp(shifted, out=shifted)
    with np.errstate(divide="ignore"):
        sums: Floats = np.log(shifted.sum(axis=axis)) + largest.squeeze(axis)
    return sums


def completions(rows: Boundaries) -> list[Floats]:
    """For every boundary, ln of the ways to choose the members beyond it, by row and by members c up to it."""
    k, last = rows.k, rows.ranks.shape[1] - 1
    members = np.arange(k + 1)
    ways = np.where((members == k) & rows.allowed(last), 0.0, -np.inf)
    result = [ways]
    for b in range(last, 0, -1):
        low, high = (int(rows.least[:, n].min(initial=k)) for n in (b - 1, b))
        before = np.full_like(ways, -np.inf)
        for some, block in steps(rows, b):
            before[some, low:] = log_sums(block[:, low:, high:] + ways[some, None, high:], axis=2)
        ways = np.where(rows.allowed(b - 1), before, -np.inf)
        result.insert(0, ways)
    return result


def beginnings(rows: Boundaries, heads: Floats) -> list[Floats]:
    """For every boundary, ln of the mass of the ways to it, by row and by members up to it; `heads` are the weights."""
    first, met = rows.first_beyond()
    result: list[Floats] = []
    for b in range(rows.ranks.shape[1]):
        ways = np.full((len(rows), rows.k + 1), -np.inf)
        if b:
            for some, block in steps(rows, b):
                ways[some] = log_sums(block + result[-1][some, :, None], axis=1)
            ways = np.where(np.arange(rows.k + 1) >= rows.least[:, b : b + 1], ways, -np.inf)
        for row, head, logs in head_terms(rows, b, met & (first == b)):
            np.logaddexp.at(ways, row, logs + heads[row, head][:, None])
        result.append(ways)
    return result


def steps(rows: Boundaries, b: int) -> Iterator[tuple[slice, Floats]]:
    """(rows, ln C(size of the block before boundary b, c' - c) by c and c'), some rows at a time."""
    k = rows.k
    size = rows.ranks[:, b] - rows.ranks[:, b - 1]
    ahead = np.concatenate([np.full((len(rows), k), -np.inf), log_binomials(size, k)], axis=1)
    block = np.lib.stride_tricks.sliding_window_view(ahead, k + 1, axis=1)[:, ::-1]
    each = max(1, BLOCK // (k + 1) ** 2)
    for start in range(0, len(rows), each):
        yield slice(start, start + each), block[start : start + each]


def head_terms(rows: Boundaries, b: int, where: Mask) -> Iterator[tuple[Indices, Indices, Floats]]:
    """(row, head, ln of the ways from the head to boundary b by members there) for the pairs chosen, in parts."""
    row, head = np.nonzero(where)
    members, each = np.arange(rows.k + 1), max(1, BLOCK // (rows.k + 1))
    for start in range(0, len(row), each):
        r, h = row[start : start + each], head[start : start + each]
        left = (rows.ranks[r, b] - h - 1)[:, None] - (members - h[:, None])
        chosen = members - h[:, None]
        fits = (left >= 0) & (chosen >= 0) & (members >= rows.least[r, b][:, None])
        logs = np.full(fits.shape, -np.inf)
        logs[fits] = log_choose(chosen[fits], left[fits])
        yield r, h, logs


def log_counts(rows: Boundaries) -> Floats:
    """ln of the number of sets that meet all boundaries, by row and head."""
    ways, (first, met) = completions(rows), rows.first_beyond()
    result = np.full((len(rows), rows.k), -np.inf)
    for b, after in enumerate(ways):
        for row, head, logs in head_terms(rows, b, met & (first == b)):
            result[row, head] = log_sums(logs + after[row], axis=1)
    return result


@dataclass(frozen=True, slots=True)
class ExactCounts:
    """The same for one row and one head, in integers: ways[b - first][c], the head before boundary `first`."""

    ways: list[list[fmpz]]
    first: int

    @classmethod
    def of(cls, rows: Boundaries, head: int) -> ExactCounts:
        from flint import fmpz

        k, ranks = rows.k, rows.ranks[0].tolist()
        first = int(rows.first_beyond()[0][0, head])
        ways = [[fmpz(int(c == k and yes)) for c, yes in enumerate(rows.allowed(len(ranks) - 1)[0])]]
        for b in range(len(ranks) - 1, first, -1):
            size, after = ranks[b] - ranks[b - 1], ways[0]
            choose = [fmpz.bin_uiui(size, e) for e in range(min(size, k) + 1)]
            ways.insert(0, [
                sum((one * after[c + e] for e, one in enumerate(choose[: k - c + 1])), fmpz(0))
                if yes else fmpz(0)
                for c, yes in enumerate(rows.allowed(b - 1)[0])
            ])  # fmt: skip
        return cls(ways, first)

    def after(self, b: int, members: int) -> fmpz:
        """Ways to choose the members beyond boundary b, given how many there are up to it."""
        return self.ways[b - self.first][members]
