"""What the junk weighs, and what all other sets do: bounds in floats, and sums in balls where those do not tell.

A family of classes is what lies between two columns in each row; masses are relative to the top k, of mass 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Self

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.exact.noise_distributions import LN2
from shortlist.exact.partial_reals import ball
from shortlist.exact.ranked_subsets import Ranking
from shortlist.exact.subset_classes import Classes, bounded, cover, log_sum, settle, sifted
from shortlist.sampling.subset_draw import runs_of
from shortlist.sampling.subset_rejection import ERROR, binomial_prefix_sum, falls_if_few, log_sizes

if TYPE_CHECKING:
    from flint import arb

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
        whole = bounded(self.classes, row, self.first[row], self.end[row] - 1)
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
        cells, _ = sifted(self.classes, outside=-math.inf, width=1.0, at_most=at_most)
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
