"""Which classes of subsets can matter at all: rectangles of rows and columns, judged from two lists of numbers.

For a + b = 1, both positive, C(i + j, i) a^i b^j is the chance of i heads among i + j tosses, so at most 1. Hence class
(i, j) of `subsets` has at most the mass e^(row + column) with

    row = i ln(1/a) - rise_i,   column = j ln(1/b) - fall_j.

All classes with row + column < T together have at most e^T sum C(i + j, i) a^i b^j <= e^T min(rows / a, columns / b):
for a fixed i the sum over all j is 1/a, for a fixed j that over all i is 1/b. So the sums of two short lists, for some
twenty a, tell what can be left out and how much that is at most, before a single class is looked at. Rows, and columns,
of nearly equal loss are first put together: a rectangle of them is bounded by its corner.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist._runs import Runs
from shortlist.exact.binomials import log_choose
from shortlist.exact.subset_classes import Cells, Classes, bounded, cover, log_sum

LEFT_OUT_LOG = 27.0
"""What is left out has at most e^-27 (2e-12) of the largest mass found: bounded, and drawn from when its turn comes."""

STEPS = 96
"""Blocks of equal width in loss at either end, and of equal ratio between them."""

NUMBERS = np.arange(1.0, STEPS + 1.0)

GROUP = 4
"""Blocks of rows that are judged together: most of them pass or fail together."""

SLOPE_ROUNDING = 2.0**-46
"""Slopes are larger and losses smaller by this share, far more than the floats are off: the bounds hold."""

BAR_SLACK = 2.0**-20
"""Far more than the bar may be off."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Runs first[b] .. last[b] of rows or of columns."""

    first: Indices
    last: Indices


def relevant(
    classes: Classes, *, outside: float, width: float, start: int = 0, cuts: tuple[int, ...] = ()
) -> tuple[Cells, float]:
    """(cells that vary in loss by at most `width` or hardly matter, a bound on the log mass of all other classes).

    Classes with j < start are not there at all. No cell straddles a cut. `outside` is as for `cover`.
    """
    cells, left_out = sifted(classes, outside=outside, width=width, start=start, cuts=cuts)
    cells, rest = cover(classes, cells, outside=outside, width=width, lenient=True)
    return cells, float(np.logaddexp(left_out, log_sum(rest.upper)))


def sifted(
    classes: Classes,
    *,
    outside: float,
    width: float,
    start: int = 0,
    cuts: tuple[int, ...] = (),
    at_most: float | None = None,
) -> tuple[Cells, float]:
    """(cells that hold all classes that may matter, a bound on the log mass of the others, -inf if there are none).

    The bound is `at_most`, or if that is None LEFT_OUT_LOG below the largest of `outside` and of what is found.
    """
    size = len(classes.i), len(classes.fall) - start
    rows = _blocks(classes.rise, width, 0, tuple(range(0, size[0], size[0] // STEPS + 1)))
    columns = _blocks(classes.fall, width, start, cuts)
    alpha, beta = _slopes(math.ceil(math.log(sum(size))))
    by_row = np.multiply.outer(alpha, classes.i[rows.last]) - classes.rise[rows.first] * (1.0 - SLOPE_ROUNDING)
    by_column = np.multiply.outer(beta, columns.last) - classes.fall[columns.first] * (1.0 - SLOPE_ROUNDING)
    row, column = by_row.max(axis=1), by_column.max(axis=1)
    largest = _largest(classes, rows.last[by_row.argmax(axis=1)], columns.last[by_column.argmax(axis=1)])
    left_out = max(outside, largest) - LEFT_OUT_LOG if at_most is None else at_most
    bar = left_out - BAR_SLACK - math.log(len(alpha)) - np.minimum(math.log(size[0]) + alpha, math.log(size[1]) + beta)
    some_rows = np.flatnonzero((by_row >= (bar - column)[:, None]).all(axis=0))
    some_columns = np.flatnonzero((by_column >= (bar - row)[:, None]).all(axis=0))
    r, c = _pairs(by_row[:, some_rows], bar[:, None] - by_column[:, some_columns])
    at, which = _members(rows, some_rows[r])
    c = some_columns[c][which]
    everything = len(r) == len(rows.first) * len(columns.first)
    return bounded(classes, at, columns.first[c], columns.last[c]), -math.inf if everything else left_out


def others(classes: Classes, cells: Cells, *, start: int = 0) -> Cells:
    """All classes with j >= start that are in none of the cells: as cells again."""
    every = np.arange(len(classes.i))
    row = np.concatenate([cells.row, every, every])
    first = np.concatenate([cells.first, np.full(len(every), start - 1), np.full(len(every), len(classes.fall))])
    last = np.concatenate([cells.last, first[len(cells) :]])
    order = np.lexsort((first, row))
    begin, end = last[order][:-1] + 1, first[order][1:] - 1
    gap = (row[order][:-1] == row[order][1:]) & (begin <= end)
    return bounded(classes, row[order][:-1][gap], begin[gap], end[gap])


def _blocks(loss: Floats | Runs, width: float, start: int, cuts: tuple[int, ...]) -> Blocks:
    """Runs that vary in loss by at most `width` near both ends, by more between; cut at cuts and where losses begin."""
    least, most, steps = float(loss[start]), float(loss[len(loss) - 1]), width * NUMBERS
    edges = least + steps
    if most > edges[-1]:
        between = least + steps[-1] * ((most - least) / steps[-1]) ** (NUMBERS / STEPS)
        edges = np.concatenate([edges, between, most - steps])
    places = np.concatenate([loss.searchsorted(edges), np.array((start, *cuts), np.int64)])
    places.sort()
    places = places[(places >= start) & (places < len(loss))]
    first = places[np.append(True, places[1:] > places[:-1])]
    return Blocks(first, np.append(first[1:], len(loss)) - 1)


@cache
def _slopes(reach: int) -> tuple[Floats, Floats]:
    """(ln(1/a), ln(1/b)), rounded up, for odds a / b from e^-reach to e^reach."""
    odds = np.arange(-reach, reach + 1.0)
    return np.logaddexp(0.0, -odds) * (1.0 + SLOPE_ROUNDING), np.logaddexp(0.0, odds) * (1.0 + SLOPE_ROUNDING)


def _largest(classes: Classes, row: Indices, column: Indices) -> float:
    """The largest log mass where these rows and columns meet; it need not be exact."""
    mass = log_choose(classes.i[row][:, None], column[None, :]) - classes.rise[row][:, None] - classes.fall[column]
    return float(mass.max())


def _pairs(above: Floats, below: Floats) -> tuple[Indices, Indices]:
    """(row, column) of all pairs with above >= below in every line, and of some beside them: GROUP rows are as one."""
    count = above.shape[1]
    if not count:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    groups = np.maximum.reduceat(above, np.arange(0, count, GROUP), axis=1)
    group, column = np.nonzero((groups[:, :, None] >= below[:, None, :]).all(axis=0))
    row = np.add.outer(group * GROUP, np.arange(GROUP)).ravel()
    there = row < count
    return row[there], np.repeat(column, GROUP)[there]


def _members(blocks: Blocks, chosen: Indices) -> tuple[Indices, Indices]:
    """(the members of all chosen blocks, one after the other; which of the chosen each is from)."""
    sizes = blocks.last[chosen] - blocks.first[chosen] + 1
    which = np.repeat(np.arange(len(chosen)), sizes)
    ahead = np.cumsum(sizes) - sizes
    return np.arange(len(which)) + (blocks.first[chosen] - ahead)[which], which
