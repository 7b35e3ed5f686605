"""Scores in order for sets: ranks, losses, and what is known from counts of equal scores.

Ranked scores and the exact losses of their k-subsets: what the canonical mechanism draws from.

For a k-subset y let m be its worst score and M the best score outside. Its loss is ``(1-g) M - g m`` ("gap-aware") or
``(1-g) max(M, m) - g m`` ("paper"), in units of R / epsilon. The two differ at the top k alone. Relative to the top k,
class (i, j) of `exact.subset_classes` loses, with x_1 >= x_2 >= .. the ranked scores,

    (1-g) (x_{k-i} - a) + g (x_k - x_{k+1+j}),   a = x_{k+1} (gap-aware) or x_k (paper).

Many integers of which there are few different ones: counted by number, not sorted. Draws nothing.

What a set is drawn from are the ranked scores, and these are known from how many candidates have each number. Who is at
which rank is looked up for the winners alone (Lemma 268). So a set costs two readings of the scores and little memory,
where the winners have few different numbers; many of them are looked up in an order of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from shortlist._arrays import Indices, Runs, Values
from shortlist.exact.noise_distributions import GUMBEL
from shortlist.exact.score_intervals import Contest
from shortlist.exact.subset_classes import Classes


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates by decreasing score, tied ones in the caller's order. Those at -inf are left out."""

    order: Indices
    """Where each rank stands among the caller's candidates; of none if they came ranked."""
    scores: Values | Runs
    k: int
    inner: Fraction
    """g epsilon / R, for the worst score inside."""
    outer: Fraction
    """(1 - g) epsilon / R, for the best score outside."""
    gap_aware: bool

    def positions(self, ranks: Indices) -> Indices:
        """Where these ranks stand among the caller's candidates."""
        return ranks if isinstance(self.scores, Runs) else self.order[ranks]

    @property
    def merges(self) -> bool:
        """Whether g = 1, so that the classes of `merged` will do."""
        return not self.outer

    def classes(self) -> Classes:
        """The losses of all classes in floats, to a relative error of 2^-50 each part."""
        top, rest = self.scores[: self.k], self.scores[self.k :]
        rise = _scaled(top[::-1], self._anchor, self.outer)
        return Classes(np.arange(self.k), rise, _scaled(rest, self.scores[self.k - 1], self.inner))

    def merged(self) -> Classes:
        """For g = 1, where only the worst rank held matters: one row, whose class j holds rank k + j as its worst.

        Its C(k - 1 + j, j) members are rank k + j and any k - 1 before it; class 0 is the top k.
        """
        fall = _scaled(self.scores[self.k - 1 :], self.scores[self.k - 1], self.inner)
        return Classes(np.array([self.k - 1]), np.zeros(1), fall)

    def loss(self, i: int, last: int) -> Fraction:
        """The loss of the subsets that miss rank k - i first and hold rank last + 1 as their worst, exactly."""
        outside = Fraction(self.scores[self.k - 1 - i].item()) - Fraction(self._anchor.item())
        inside = Fraction(self.scores[self.k - 1].item()) - Fraction(self.scores[last].item())
        return self.outer * outside + self.inner * inside

    def loss_of(self, ranks: tuple[int, ...]) -> Fraction:
        """The loss of the subset of these ranks (from 0, increasing), exactly."""
        prefix = next((n for n, rank in enumerate(ranks) if n != rank), self.k)
        return Fraction(0) if prefix == self.k else self.loss(self.k - 1 - prefix, ranks[-1])

    @property
    def _anchor(self) -> np.generic:
        anchor: np.generic = self.scores[self.k if self.gap_aware else self.k - 1]
        return anchor


def ranked(values: Values | Runs, k: int, rate: Fraction, gamma: Fraction, *, gap_aware: bool) -> Ranking:
    """Sort once, unless the values come as runs, best first; `rate` is epsilon / R."""
    if isinstance(values, Runs):
        return Ranking(np.empty(0, np.int64), values, k, gamma * rate, (1 - gamma) * rate, gap_aware)
    order = descending(values)
    scores = values[order]
    if values.dtype.kind == "f":
        able = int(np.searchsorted(-scores, np.inf, side="left"))
        order, scores = order[:able], scores[:able]
    return Ranking(order, scores, k, gamma * rate, (1 - gamma) * rate, gap_aware)


def descending(values: Values) -> Indices:
    """Positions by decreasing value, tied ones in the caller's order.

    NumPy sorts up to 16 bits in linear time. Integers that span up to 32 bits are sorted by their lower and then by
    their upper half, which keeps the order of the first pass where the second ties.
    """
    span = 1 << 32 if values.dtype.kind == "f" else int(values.max()) - int(values.min())
    if span >= 1 << 32:
        order: Indices = len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]
        return order
    depth = np.int64(values.max()) - values.astype(np.int64)
    lower = np.argsort(depth.astype(np.uint16), kind="stable")
    upper = (depth >> 16).astype(np.uint8 if span < 1 << 24 else np.uint16)
    return lower[np.argsort(upper[lower], kind="stable")]


def _scaled(scores: Values | Runs, centre: np.generic, rate: Fraction) -> Any:
    """rate |scores - centre|, to a relative error of 2^-50; runs stay runs."""
    if isinstance(scores, Runs):
        return scores.map(lambda values: _scaled(values, centre, rate))
    if not rate:
        return np.zeros(len(scores))
    return np.abs(Contest(scores, 1, 1 / rate, GUMBEL, centre.item()).positions(scores))


MANY = 1 << 16
"""Fewer candidates than these are sorted in little time."""
SPAN = 1 << 22
"""Numbers further apart than this are not counted one by one."""
CHUNK = 1 << 20
FEW = 64
"""Each different number of the winners is looked for in all scores: more than so many cost more than an order."""


@dataclass(frozen=True, slots=True)
class Tallied:
    """Scores and their runs, best first; tied candidates stand in the caller's order."""

    values: Values
    runs: Runs

    def positions(self, ranks: Indices) -> Indices:
        """Where these ranks stand among the candidates, in the same order."""
        which = np.searchsorted(self.runs.ends, ranks, side="right")
        different = np.unique(which).tolist()
        if len(different) > FEW:
            return descending(self.values)[ranks]
        place = ranks - self.runs.starts_and_length[which]  # among those that are tied
        positions, before = np.zeros(len(ranks), np.int64), np.zeros(len(ranks), np.int64)
        least = self.runs.values[which.max(initial=0)]
        for start, chunk in _chunks(self.values):
            near = np.flatnonzero(chunk >= least)
            scores = chunk[near]
            for one in different:
                mine = which == one
                tied = near[scores == self.runs.values[one]]
                here = mine & (place >= before) & (place < before + len(tied))
                positions[here] = start + tied[place[here] - before[here]]
                before[mine] += len(tied)
        return positions


def tallied(values: Values) -> Tallied | None:
    """The scores, counted; None where there are few, where they are no integers or too far apart."""
    if values.dtype.kind not in "iu" or len(values) < MANY:
        return None
    least, most = int(values.min()), int(values.max())
    if most - least >= min(SPAN, 4 * len(values)) or most >= 1 << 63:
        return None
    counts = np.zeros(most - least + 1, np.int64)
    for _, chunk in _chunks(values):
        counts += np.bincount(most - chunk.astype(np.int64), minlength=len(counts))
    some = np.flatnonzero(counts)
    return Tallied(values, Runs.of(most - some, counts[some]))


def runs_of(counted: Runs | Tallied) -> Runs:
    """The ranked scores, whoever has them."""
    return counted.runs if isinstance(counted, Tallied) else counted


def positions_of(counted: Runs | Tallied, ranks: Indices) -> Indices:
    """The candidates at these ranks; those that came as runs have no other place."""
    return counted.positions(ranks) if isinstance(counted, Tallied) else ranks


def _chunks(values: Values) -> Iterator[tuple[int, Values]]:
    return ((start, values[start : start + CHUNK]) for start in range(0, len(values), CHUNK))
