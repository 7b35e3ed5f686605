"""Drawing a class of subsets in proportion to its mass where there are few: rows first, then a class of the row.

The sizes C(i + j, i) of all classes are public numbers and are kept, so that the masses of all rows are one product of
a matrix and a vector. Row r has an integer weight W_r above 2^shift times its mass. When it is hit, its classes get
integer weights w_j near their shares of it, and class j is accepted with probability

    2^shift C(i + j, i) e^-loss(i, j) (sum of all w) / (W_r w_j),

so that it has a chance in proportion to its exact mass. No class is left out.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist._runs import Runs
from shortlist.exact.binomials import log_choose, one_log_choose
from shortlist.exact.noise_distributions import LN2
from shortlist.exact.subset_classes import Classes
from shortlist.sampling.subset_rejection import ERROR, MARGIN, Loss, Proposal
from shortlist.sampling.uniforms import WordStream

FEW = 1 << 14
"""So many classes are added up in less time than some of them are chosen: the largest of them has 10^76 members."""

SHARES = 46
"""Bits of the weights of the classes of a row: 1 for each class is below 2^-32 of them."""


def falls_if_few(classes: Classes) -> Floats | None:
    """The losses of all columns, one by one, where there are few classes; None otherwise."""
    if len(classes.i) * len(classes.fall) > FEW:
        return None
    return classes.fall.expanded() if isinstance(classes.fall, Runs) else classes.fall


@lru_cache(maxsize=16)
def log_sizes(first: int, rows: int, columns: int) -> Floats:
    """ln C(i + j, i), first <= i < first + rows and j < columns: of public numbers alone, so they are kept."""
    return log_choose(np.arange(first, first + rows)[:, None], np.arange(columns)[None, :])


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

    def propose(self, stream: WordStream) -> Proposal:
        """A class, to be accepted by what it weighs too much."""
        row = bisect_right(self.upto, stream.below(self.total))
        weight, upto = self.upto[row] - (self.upto[row - 1] if row else 0), self._upto(row)
        whole = int(upto[-1])
        place = int(upto.searchsorted(stream.below(whole), side="right"))
        own = int(upto[place]) - (int(upto[place - 1]) if place else 0)
        i, j = int(self.classes.i[row]), self.start + place
        loss, size = float(self.classes.rise[row]) + float(self.fall[j]), one_log_choose(i, j)
        log = self.shift * LN2 + size - loss + math.log(whole) - math.log(weight) - math.log(own)
        error = ERROR * (64.0 + abs(self.shift) + size + loss)
        return Proposal(
            i, j, j, j, self.shift, weight * own, loss, log - error, log + error, self.exact_loss, Fraction(whole)
        )

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
    masses = (np.einsum("rj,j->r", sizes, np.exp(-fall)) * np.exp(-classes.rise)).tolist()
    halvings = math.frexp(max(1.0, *masses))[1]
    bits = 60 - rows.bit_length()
    scale = 2.0 ** (bits - halvings) * (1.0 + 4.0 * MARGIN)
    upto = list(accumulate(math.floor(mass * scale) + 1 for mass in masses))
    return FewClasses(classes, fall, exact_loss, start, bits - halvings, upto)
