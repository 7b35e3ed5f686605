"""The k-subsets of ranked candidates, gathered into classes of equal loss, and classes into cells (Lemma 64, 65).

Rank the candidates by decreasing score. A subset other than the top k misses some rank up to k and holds some rank
beyond it. Class (i, j): the best rank missing is k - i and the worst rank held is k + 1 + j. It has C(i + j, i)
members: ranks 1 to k - i - 1, rank k + 1 + j, and any i of the i + j ranks between. Against the top k, its loss is
``rise[i] + fall[j]``, both nondecreasing, in nats: its subsets have weight e^-loss, the top k weight 1.

A *cell* is a run of classes, one i and first <= j <= last. It holds closed-form many subsets, and its loss lies
between those of its ends: that brackets its mass. Nothing here draws and nothing is left out: what the covering drops
is returned, with its bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from shortlist._arrays import Floats, Indices, Mask
from shortlist._runs import Runs
from shortlist.exact.binomials import log_run

DROPPED_LOG = 46.0
"""Cells whose mass is below e^-46 (1e-20) of the total are dropped: kept apart, not forgotten."""

SLIGHT = 12.0
"""Cells with less than e^-12 of the total between them may be rough where only speed depends on it."""

LOSS_ROUNDING = 2.0**-48
"""Relative error of a loss: its two parts are good to 2^-50 each, their sum to 2^-53."""


@dataclass(frozen=True, slots=True)
class Classes:
    """The losses of all classes: row `i[r]` has loss rise[r] + fall[j]."""

    i: Indices
    rise: Floats
    fall: Floats | Runs


@dataclass(frozen=True, slots=True)
class Cells:
    """Runs of classes with bounds on the logarithm of their mass sum_j C(i + j, i) e^-loss."""

    row: Indices
    first: Indices
    last: Indices
    lower: Floats
    upper: Floats

    def __len__(self) -> int:
        return len(self.row)

    def where(self, mask: Mask) -> Cells:
        return Cells(self.row[mask], self.first[mask], self.last[mask], self.lower[mask], self.upper[mask])


COLUMNS = attrgetter(*Cells.__slots__)
NO_CELLS = Cells(*np.empty((3, 0), np.int64), *np.empty((2, 0)))


def bounded(classes: Classes, row: Indices, first: Indices, last: Indices) -> Cells:
    """Cells with their bounds, every float error included."""
    fewest, most = log_run(classes.i[row], first, last)
    rise, least, largest = classes.rise[row], classes.fall[first], classes.fall[last]
    lower = fewest - (rise + largest) * (1.0 + LOSS_ROUNDING)
    upper = most - (rise + least) * (1.0 - LOSS_ROUNDING)
    return Cells(row, first, last, lower, upper)


def join(parts: list[Cells]) -> Cells:
    """All cells of all parts, one after the other."""
    if len(parts) < 2:
        return parts[0] if parts else NO_CELLS
    return Cells(*map(np.concatenate, zip(*map(COLUMNS, parts), strict=True)))


def log_sum(logs: Floats) -> float:
    """ln sum e^logs, without its rounding error of some 1e-13."""
    if not len(logs):
        return -math.inf
    largest = float(logs.max())
    return largest + float(np.log(np.exp(logs - largest).sum()))


def cover(
    classes: Classes, start: Cells, *, outside: float, width: float, lenient: bool = False
) -> tuple[Cells, Cells]:
    """(cells, rest): `start` cut into cells whose loss varies by at most `width`, and negligible ones.

    `outside` is the logarithm of a mass that is there besides, 0 for the top k: it makes more cells negligible. If
    `lenient`, the loss of cells that hold less than e^-SLIGHT of the total between them may vary by more.
    """
    cells: list[Cells] = []
    rest: list[Cells] = []
    mass, active = outside, start
    while True:
        total = float(np.logaddexp(mass, log_sum(active.lower)))
        negligible = active.upper < total - DROPPED_LOG
        finished = classes.fall[active.last] - classes.fall[active.first] <= width
        if lenient:
            finished |= active.upper < total - SLIGHT - math.log(len(active) + 1)
        finished &= ~negligible
        if finished.any():
            cells.append(active.where(finished))
            mass = float(np.logaddexp(mass, log_sum(cells[-1].lower)))
        if negligible.any():
            rest.append(active.where(negligible))
        rough = ~(negligible | finished)
        if not rough.any():
            return join(cells), join(rest)
        active = quartered(classes, active.where(rough))


def settle(classes: Classes, cells: Cells, *, outside: float, tolerance: float) -> Cells:
    """The same cells, cut until their bounds are within about `tolerance` of the total mass, or no cut can help."""
    total = float(np.logaddexp(outside, log_sum(cells.lower)))
    share = tolerance / max(4 * len(cells), 1)
    parts: list[Cells] = []
    active = cells
    while True:
        gap = np.exp(active.upper - total) - np.exp(active.lower - total)
        rough = (gap > share) & (classes.fall[active.last] > classes.fall[active.first])
        if not rough.any():
            return join([*parts, active])
        parts.append(active.where(~rough))
        active = quartered(classes, active.where(rough))


def quartered(classes: Classes, cells: Cells) -> Cells:
    """Each cell cut in two, and each part again if its loss varies still."""
    parts = _halved(classes.fall, np.array([cells.row, cells.first, cells.last]))
    varies = classes.fall[parts[1]] < classes.fall[parts[2]]
    again = _halved(classes.fall, parts[:, varies])
    return bounded(classes, *np.concatenate([again, parts[:, ~varies]], axis=1))


def _halved(fall: Floats | Runs, parts: Indices) -> Indices:
    """Each of the columns (row, first, last) cut in two where a run of equal losses begins; they must vary in loss."""
    row, first, last = parts
    middle = fall[(first + last + 1) // 2]
    cut = fall.searchsorted(middle, side="left")
    cut = np.where(cut > first, cut, fall.searchsorted(middle, side="right"))
    return np.concatenate([[row, first, cut - 1], [row, cut, last]], axis=1)
