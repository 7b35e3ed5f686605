"""Classes of subsets with the same loss, and subsets of ranked scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np

from shortlist._arrays import Floats, Indices, Mask, Runs, Values
from shortlist.exact.noise import GUMBEL
from shortlist.exact.reals import Contest

ULPS = 2.0**-46
"""`log_choose` is off by at most ULPS (2 + its value): 64 units in the last place, where four or five occur."""

_SERIES_FROM = 32
_TABLED = 1 << 16
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


def _series(x: Floats) -> Floats:
    """r(x) = 1/(12 x) - 1/(360 x^3) + 1/(1260 x^5) - 1/(1680 x^7), less than 2e-17 off from 32 on."""
    y = 1.0 / (x * x)
    return (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y / 1680.0))) / x


def _stirling(x: Indices) -> Floats:
    """r(x) + ln(x) / 2, where a table of it ends."""
    large = np.maximum(x, _SERIES_FROM) * 1.0
    return np.where(x < _SERIES_FROM, _table()[np.minimum(x, _SERIES_FROM)], _series(large) + 0.5 * np.log(large))


@cache
def _table() -> Floats:
    """r(x) + ln(x) / 2, by r(x) = r(x + 1) + (x + 1/2) ln(1 + 1/x) - 1 where the series will not do; 0 is not used."""
    table = _series(np.maximum(np.arange(_TABLED), _SERIES_FROM) * 1.0)
    for x in range(_SERIES_FROM - 1, 0, -1):
        table[x] = table[x + 1] + ((x + 0.5) * math.log1p(1.0 / x) - 1.0)
    return table + 0.5 * np.log(np.maximum(np.arange(_TABLED), 1))


def log_choose(i: Indices, j: Indices) -> Floats:
    """ln C(i + j, i) for i, j >= 0, to ULPS (2 + its value).

    >>> log_choose(np.array([2]), np.array([2])).round(12).tolist()  # ln 6
    [1.791759469228]
    """
    n, x, y = i + j, np.maximum(i, 1) * 1.0, np.maximum(j, 1) * 1.0
    bulk = x * np.log1p(y / x) + y * np.log1p(x / y) - _HALF_LOG_TWO_PI
    if n.max(initial=0) < _TABLED:
        table = _table()
        value = bulk + (table[n] - table[i] - table[j])
    else:
        value = bulk + (_stirling(n) - _stirling(i) - _stirling(j))
    return np.where((i > 0) & (j > 0), np.maximum(value, 0.0), 0.0)


def one_log_choose(i: int, j: int) -> float:
    """The same for one pair: faster than an array of one.

    >>> round(one_log_choose(2, 2), 12)
    1.791759469228
    """
    if not i or not j:
        return 0.0
    if i + j >= _TABLED:
        return float(log_choose(np.array([i]), np.array([j]))[0])
    table = _table()
    bulk = i * math.log1p(j / i) + j * math.log1p(i / j) - _HALF_LOG_TWO_PI
    return max(bulk + float(table[i + j] - table[i] - table[j]), 0.0)


def log_run(i: Indices, first: Indices, last: Indices) -> tuple[Floats, Floats]:
    """(lower, upper) bounds on ln sum_{j = first .. last} C(i + j, i), for 0 <= first <= last.

    The sum is C(i + last + 1, i + 1) - C(i + first, i + 1) (the hockey stick). Where the two are too close for floats,
    it is also between the number of terms times the first and times the last term; these are
    C(i + j, i) = C(i + j, i + 1) (i + 1) / j and C(i + j + 1, i + 1) (i + 1) / (i + j + 1).
    """
    whole, before = log_choose(i + 1, np.array([last, np.maximum(first - 1, 0)]))
    x, y = i + 1.0, np.maximum(first, 1) * 1.0
    lowest = np.where(first > 0, before + np.log(x / y), 0.0)
    highest = whole - np.log((last + x) / x)
    before = np.where(first > 0, before, -np.inf)
    slack = ULPS * (4.0 + 2.0 * whole)
    with np.errstate(divide="ignore"):
        share = -np.expm1(np.minimum(before - whole, 0.0))
        stick = whole + np.log(share)
        error = np.where(slack < 0.25 * share, slack * (1.0 + 2.0 / np.maximum(share, 1e-300)), np.inf)
    terms = np.log((last - first + 1) * 1.0)
    return np.maximum(stick - error, terms + lowest - slack), np.minimum(stick + error, terms + highest + slack)


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
    exact_fall: Callable[[int], float] | None = None
    """The second part of a loss, where `fall` has lower bounds on it (`BestSorted`)."""


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


def bound_cells(classes: Classes, row: Indices, first: Indices, last: Indices) -> Cells:
    """Cells with their bounds, every float error included."""
    fewest, most = log_run(classes.i[row], first, last)
    rise, least, largest = classes.rise[row], classes.fall[first], classes.fall[last]
    lower = fewest - (rise + largest) * (1.0 + LOSS_ROUNDING)
    upper = most - (rise + least) * (1.0 - LOSS_ROUNDING)
    return Cells(row, first, last, lower, upper)


def join(parts: list[Cells]) -> Cells:
    """All cells of all parts, one after the other."""
    return Cells(*map(np.concatenate, zip(*map(COLUMNS, [NO_CELLS, *parts]), strict=True)))


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
        active = quarter(classes, active.where(rough))


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
        active = quarter(classes, active.where(rough))


def quarter(classes: Classes, cells: Cells) -> Cells:
    """Each cell cut in two, and each part again if its loss varies still."""
    parts = _halve(classes.fall, np.array([cells.row, cells.first, cells.last]))
    varies = classes.fall[parts[1]] < classes.fall[parts[2]]
    again = _halve(classes.fall, parts[:, varies])
    return bound_cells(classes, *np.concatenate([again, parts[:, ~varies]], axis=1))


def _halve(fall: Floats | Runs, parts: Indices) -> Indices:
    """Each of the columns (row, first, last) cut in two where a run of equal losses begins; they must vary in loss."""
    row, first, last = parts
    middle = fall[(first + last + 1) // 2]
    cut = fall.searchsorted(middle, side="left")
    cut = np.where(cut > first, cut, fall.searchsorted(middle, side="right"))
    return np.concatenate([[row, first, cut - 1], [row, cut, last]], axis=1)


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
    cells, left_out = sift(classes, outside=outside, width=width, start=start, cuts=cuts)
    cells, rest = cover(classes, cells, outside=outside, width=width, lenient=True)
    return cells, float(np.logaddexp(left_out, log_sum(rest.upper)))


def sift(
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
    return bound_cells(classes, at, columns.first[c], columns.last[c]), -math.inf if everything else left_out


def others(classes: Classes, cells: Cells, *, start: int = 0) -> Cells:
    """All classes with j >= start that are in none of the cells: as cells again."""
    every = np.arange(len(classes.i))
    row = np.concatenate([cells.row, every, every])
    first = np.concatenate([cells.first, np.full(len(every), start - 1), np.full(len(every), len(classes.fall))])
    last = np.concatenate([cells.last, first[len(cells) :]])
    order = np.lexsort((first, row))
    begin, end = last[order][:-1] + 1, first[order][1:] - 1
    gap = (row[order][:-1] == row[order][1:]) & (begin <= end)
    return bound_cells(classes, row[order][:-1][gap], begin[gap], end[gap])


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


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates by decreasing score, tied ones in the caller's order. Those at -inf are left out."""

    order: Indices
    """Where each rank stands among the caller's candidates; of none if they came ranked."""
    scores: Values | Runs | BestSorted
    k: int
    inner: Fraction
    """g epsilon / R, for the worst score inside."""
    outer: Fraction
    """(1 - g) epsilon / R, for the best score outside."""
    gap_aware: bool

    def positions(self, ranks: Indices) -> Indices:
        """Where these ranks stand among the caller's candidates."""
        if isinstance(self.scores, BestSorted):
            return self.scores.positions(ranks)
        return ranks if isinstance(self.scores, Runs) else self.order[ranks]

    def sort(self) -> Ranking:
        """Return the same with all scores sorted."""
        if not isinstance(self.scores, BestSorted):
            return self
        order, scores = self.scores.sort()
        return replace(self, order=order, scores=scores)

    @property
    def merges(self) -> bool:
        """Whether g = 1, so that the classes of `single_row` will do."""
        return not self.outer

    def classes(self) -> Classes:
        """The losses of all classes in floats, to a relative error of 2^-50 each part."""
        rise = _scale(self.scores[: self.k][::-1], self._anchor, self.outer)
        if isinstance(self.scores, BestSorted):
            return Classes(np.arange(self.k), rise, self.scores.fall, lambda j: self._fall_at(self.k + j))
        rest = self.scores[self.k :]
        return Classes(np.arange(self.k), rise, _scale(rest, self.scores[self.k - 1], self.inner))

    def single_row(self) -> Classes:
        """For g = 1, where only the worst rank held matters: one row, whose class j holds rank k + j as its worst.

        Its C(k - 1 + j, j) members are rank k + j and any k - 1 before it; class 0 is the top k.
        """
        only, rise = np.array([self.k - 1]), np.zeros(1)
        if isinstance(self.scores, BestSorted):
            fall = self.scores.fall
            all_of_them = Runs(np.append(0.0, fall.values), np.append(1, fall.ends + 1))
            return Classes(only, rise, all_of_them, lambda j: self._fall_at(self.k - 1 + j))
        return Classes(only, rise, _scale(self.scores[self.k - 1 :], self.scores[self.k - 1], self.inner))

    def _fall_at(self, rank: int) -> float:
        """Return the second part of the loss of sets whose worst member has this rank, to a relative error of 2^-50."""
        return float(_scale(self.scores[rank : rank + 1], self.scores[self.k - 1], self.inner)[0])

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
        return self.scores[self.k if self.gap_aware else self.k - 1]


def rank_scores(
    values: Values | Runs, k: int, rate: Fraction, gamma: Fraction, *, gap_aware: bool, faint: float | None = None
) -> Ranking:
    """Sort once, unless the values come as runs, best first; `rate` is epsilon / R.

    With `faint`, for one draw, only the best of many scores are sorted: all sets with another candidate weigh less than
    e^-faint of the best set (`BestSorted`).
    """
    best = None
    if faint is not None and not isinstance(values, Runs):
        best = BestSorted.of(values, k, gamma * rate, one_log_choose(k, len(values) - k), faint)
    if isinstance(values, Runs) or best is not None:
        ranked = values if best is None else best
        return Ranking(np.empty(0, np.int64), ranked, k, gamma * rate, (1 - gamma) * rate, gap_aware)
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
        return len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]
    depth = np.int64(values.max()) - values.astype(np.int64)
    lower = np.argsort(depth.astype(np.uint16), kind="stable")
    upper = (depth >> 16).astype(np.uint8 if span < 1 << 24 else np.uint16)
    return lower[np.argsort(upper[lower], kind="stable")]


def _scale(scores: Values | Runs, centre: np.generic, rate: Fraction) -> Any:
    """rate |scores - centre|, to a relative error of 2^-50; runs stay runs."""
    if isinstance(scores, Runs):
        return Runs(_scale(scores.values, centre, rate), scores.ends)
    if not rate:
        return np.zeros(len(scores))
    return np.abs(Contest(scores, 1, 1 / rate, GUMBEL, centre.item()).positions(scores))


BLOCK = 256
"""Scores of which only the largest is looked at first, at most."""
SMALLEST_BLOCK = 8
PIECE = 1 << 14
"""Scores that are put into bins at a time: they fit a processor's cache."""
BINS = 1 << 14
WIDTH = 0.05
"""How much a loss may vary in a bin, unless that makes more than BINS of them."""
SORTED_AT_ONCE = 1 << 15
"""So many scores are sorted in less time than many are put into bins."""
FEWEST = 1 << 12
BELOW = 1.0 - 2.0**-40
"""Far more than floats are off here."""


class BestSorted:
    """Scores of which the best are sorted; the others are counted in bins, and sorted where a rank is asked for.

    Bin b holds the candidates with a loss of about b to b + 1 times `width` beside the k-th best, the last bin all
    that lose more. Floats round in order: a better score is never in a later bin.
    """

    def __init__(
        self, values: Values, able: int, k: int, rate: Fraction, best: Indices, crowd: float, faint: float
    ) -> None:
        self.values, self._able = values, able
        self._centre = values[best[k - 1]]
        far, self.faint = crowd + faint, -faint
        self.width = max(WIDTH, far / BINS)
        """How much a loss varies in a bin, at most."""
        self.spread = 1.001 * self.width
        """At most so much more than its bound a loss is, but in the last bin."""
        self._last = math.ceil(far / self.width)
        """The bin of all that lose more."""
        self._steps = float(rate) / self.width
        self._members: dict[int, Indices] = {}
        with np.errstate(over="ignore"):
            floor = np.float64(float(self._centre) - (self._last + 2) / self._steps)
            near = np.flatnonzero(values >= floor)
        if len(near) <= SORTED_AT_ONCE:
            near = near[self._bins(values[near]) < self._last]
            counts = np.array([len(near), able - len(near)])
            self._numbers = np.array([0, self._last])
            best = max(best, near[descending(values[near])], key=len)
        else:
            every = np.zeros(self._last + 1, np.int64)
            for start in range(0, len(values), PIECE):
                every += np.bincount(self._bins(values[start : start + PIECE]), minlength=len(every))
            every[-1] -= len(values) - able
            self._numbers = np.flatnonzero(every)
            counts = every[self._numbers]
        self.sorted, self.order = best, Order(self)
        """Where the ranks that are sorted stand among the candidates, and where any rank does."""
        self._ends = np.cumsum(counts)
        """Where the ranks of the bins end that hold any."""
        later = self._ends > len(best)
        exact = _scale(values[best[k:]], self._centre, rate)
        bounds = np.maximum(self._numbers[later] * (self.width * BELOW), exact[-1] if len(exact) else 0.0)
        self.fall = Runs(np.append(exact, bounds), np.append(np.arange(1, len(exact) + 1), self._ends[later] - k))
        """The losses of ranks k, k + 1, ..: exact to 2^-50 where they are sorted, and lower bounds where not."""
        self.far_from = int(self._ends[-2]) - k if self._numbers[-1] == self._last else int(self._ends[-1]) - k
        """Where in `fall` the last bin begins."""

    @classmethod
    def of(cls, values: Values, k: int, rate: Fraction, crowd: float, faint: float) -> BestSorted | None:
        """Return the scores with bins up to a loss of crowd + faint, where e^crowd outcomes weigh e^-faint or less.

        None where all are as well sorted: few scores, integers that no float holds, many that tie for rank k.
        """
        size, whole = len(values), values.dtype.kind != "f"
        block = min(BLOCK, size // (4 * (k + 1)))
        if size < FEWEST or block < SMALLEST_BLOCK or not 1e-200 < float(rate) < 1e200:
            return None
        if whole and (int(values.max()) > 2**53 or int(values.min()) < -(2**53)):
            return None
        highest = np.maximum.reduceat(values, np.arange(0, size, block))
        bar = np.partition(highest, len(highest) - k - 1)[len(highest) - k - 1]
        best = np.flatnonzero(values >= bar)
        if len(best) > SORTED_AT_ONCE or bar == -np.inf:
            return None
        able = size if whole else int(np.count_nonzero(values > -np.inf))
        return cls(values, able, k, rate, best[descending(values[best])], crowd, faint)

    def __getitem__(self, rank: Any) -> Any:
        """The scores of these ranks."""
        if isinstance(rank, slice):
            return self.values[self.positions(np.arange(*rank.indices(self._able)))]
        return self.values[self.positions(np.array([rank]))[0]]

    def positions(self, ranks: Indices) -> Indices:
        """Where these ranks stand among the candidates."""
        positions = np.empty(len(ranks), np.int64)
        known = ranks < len(self.sorted)
        positions[known] = self.sorted[ranks[known]]
        if known.all():
            return positions
        place = np.searchsorted(self._ends, ranks, side="right")
        bins = self._numbers[np.where(known, 0, place)]
        self._look_up(set(bins[~known].tolist()) - self._members.keys())
        for n in np.flatnonzero(~known):
            start = int(self._ends[place[n] - 1]) if place[n] else 0
            positions[n] = self._members[int(bins[n])][ranks[n] - start]
        return positions

    def sort(self) -> tuple[Indices, Values]:
        """Return (positions by rank, scores by rank) of all."""
        order = descending(self.values)[: self._able]
        return order, self.values[order]

    def _look_up(self, bins: set[int]) -> None:
        """Sort the members of these bins."""
        if not bins:
            return
        with np.errstate(over="ignore"):
            slack = abs(float(self._centre)) * 2.0**-40
            high = np.float64(float(self._centre) - (min(bins) - 1) / self._steps + slack)
            low = np.float64(float(self._centre) - (max(bins) + 2) / self._steps - slack)
        inside = self.values > -np.inf if max(bins) == self._last else self.values >= low
        if min(bins):
            inside &= self.values <= high
        near = np.flatnonzero(inside)
        number = self._bins(self.values[near])
        for one in bins:
            members = near[number == one]
            self._members[one] = members[descending(self.values[members])]

    def _bins(self, values: Values) -> Indices:
        """The bin of each."""
        with np.errstate(over="ignore"):
            depth = np.subtract(self._centre, values, dtype=np.float64)
            depth *= self._steps
        return np.clip(depth, 0.0, self._last, out=depth).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Order:
    """The candidate at each rank, looked up when it is asked for."""

    best: BestSorted

    def __getitem__(self, ranks: Indices) -> Indices:
        return self.best.positions(ranks)
