"""Ordered sequences of k candidates, counted by their loss (Theorem 78).

With ranks 0, 1, .. by decreasing score, a sequence of k distinct ranks has the loss max_i (x_i - x_{s_i}). It loses at
most t iff each s_i is one of the n_i(t) = #{j : x_j >= x_i - t} best ranks; these sets are nested, so
N(t) = prod_i (n_i(t) - i) sequences do. Since e^-u = Int_u^inf e^-t dt, drawing a sequence with probability
proportional to e^-loss is drawing a level t with density proportional to N(t) e^-t, then one of the N(t) sequences
uniformly: positive terms only, whatever their size. N is a step function; its steps are the *rungs*, up to k d of them.

A ladder may begin below 0: with the loss of the right list lowered to -gap, N is 1 from there on (Definition 186).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats, Indices, Mask, Runs, Values
from shortlist.exact.reals import FAR, ball, to_float
from shortlist.exact.subsets import BestSorted

if TYPE_CHECKING:
    from flint import arb


WIDE, WIDEST = 16, 1 << 20
"""Scores that lie within so many units each, on average, and within so many in all, are counted unit by unit."""

CHUNK = 1 << 20
"""About so many numbers are held at once."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """Scores in decreasing order and the least loss there is, in whole numbers of a unit."""

    scores: Values | Runs
    """Whole numbers (int64, or Python integers in an object array), or floats: whole multiples of the unit."""
    rising: Values
    """The same in increasing order; nothing of runs."""
    unit: Fraction
    k: int
    first: int
    """The loss of the right list: 0, or less."""
    above: Indices | None = None
    """How many scores are less than so many units below the best, for 0, 1, .. until all are: where these are few."""
    best: BestSorted | None = None
    """The candidates, where only the best are sorted: then `scores` has runs of upper bounds on the others."""

    @property
    def last(self) -> int:
        """The loss from which on N does not grow."""
        ends = self.whole(np.array([0, len(self.scores) - 1]))
        return int(ends[0]) - int(ends[1])

    def whole(self, ranks: Indices) -> Values:
        """The scores of these ranks, exactly."""
        scores: Values = self.scores[ranks]
        if scores.dtype.kind != "f":
            return scores
        return np.array([int(Fraction(value) / self.unit) for value in scores.tolist()] + [None], object)[:-1]

    def surplus(self, ranks: list[int]) -> Fraction:
        """Return by how many units a wrong list loses more than the bounds on its scores say."""
        if self.best is None or max(ranks) < len(self.best.sorted):
            return Fraction(0)
        places = np.array(ranks)
        bounds = self.whole(np.arange(self.k)) - self.whole(places)
        chosen, centre = self.best.values[self.best.positions(places)].tolist(), self.best.values[self.best.sorted[0]]
        losses = (
            (Fraction(centre.item()) - Fraction(one)) / self.unit - int(top)
            for one, top in zip(chosen, self.whole(np.zeros(1, np.int64)) - self.whole(np.arange(self.k)), strict=True)
        )
        return max(losses) - int(bounds.max())

    def sort(self) -> Ladder:
        """Return the same by scores that are all sorted."""
        return self if self.best is None else ladder(self.best.values, self.k, gap=self.first < 0)[0]

    def reach(self, losses: Values) -> Indices:
        """n_i(t) for every place i, one row for each loss t, exactly; below 0 the right list alone is left."""
        floors = self.whole(np.arange(self.k)) - losses[:, None]
        if isinstance(self.scores, Runs):
            counts: Indices = Runs(-self.scores.values, self.scores.ends).searchsorted(-floors, side="right")
        elif self.above is not None:
            counts = self.above[np.clip(self.scores[0] + 1 - floors, 0, len(self.above) - 1)]
        else:
            sought = _floats_above(floors, self.unit) if self.scores.dtype.kind == "f" else floors
            counts = len(self.scores) - np.searchsorted(self.rising, sought, side="left")
        return np.maximum(counts, np.arange(1, self.k + 1))

    def log_counts(self, reach: Indices) -> Floats:
        """ln N for each row, to an absolute error of k 2^-48."""
        return np.log(reach - np.arange(self.k)).sum(axis=1)

    def losses_of(self, losses: list[int]) -> Values:
        """Losses as an array: int64 where the scores are, Python integers elsewhere."""
        return np.array(losses, np.int64 if self.whole(np.zeros(1, np.int64)).dtype == np.int64 else object)


def ladder(values: Values, k: int, *, gap: bool = False) -> tuple[Ladder, Indices]:
    """(the ladder of all scores above -inf, the position of each rank); ties rank as they stand.

    With `gap` the loss of the right list is minus the least lead that a place has on the next, which is 0 for a tie.
    """
    positions = np.arange(len(values)) if values.dtype.kind != "f" else np.flatnonzero(values > -np.inf)
    whole, unit = _in_units(values[positions])
    order = np.argsort(-whole, kind="stable")
    falling = whole[order]
    steps = Ladder(falling, np.ascontiguousarray(falling[::-1]), unit, k, 0, _above(falling))
    if gap and len(falling) > 1:
        best = steps.whole(np.arange(min(k + 1, len(falling))))
        steps = replace(steps, first=-int((best[:-1] - best[1:]).min()))
    return steps, positions[order]


FAINT_LISTS = 1000.0
"""Lists that weigh e^-1000 of the best one together: no guard sees them, whose noise has a hazard of 1/100."""


def coarse_ladder(values: Values, k: int, rate: Fraction, *, gap: bool) -> Ladder | None:
    """Return the ladder of the best scores and of bounds on the others; None where all are as well sorted.

    `rate` is for one unit of the scores.
    """
    best = BestSorted.of(values, k, rate, k * math.log(len(values)), FAINT_LISTS)
    if best is None:
        return None
    whole, unit = _in_units(values[best.sorted])
    bounds = best.fall.values[len(best.sorted) - k :]
    with np.errstate(over="ignore"):
        below = bounds / float(rate * unit) * (1.0 - 2.0**-40)
    if whole.dtype != np.int64 or not below.max(initial=0.0) < 2.0**61:
        return None
    tails = np.minimum(whole[k - 1] - below.astype(np.int64), whole[-1])
    falling = Runs(np.append(whole, tails), np.append(np.arange(1, k + 1), best.fall.ends + k))
    steps = Ladder(falling, falling.values[:0], unit, k, 0, None, best)
    if not gap:
        return steps
    top = steps.whole(np.arange(k + 1))
    return replace(steps, first=-int((top[:-1] - top[1:]).min()))


def _above(falling: Values) -> Indices | None:
    """How many are less than 0, 1, 2, .. units below the first; nothing where that takes more than sorting did."""
    if falling.dtype == np.int64 and len(falling) and falling[0] - falling[-1] < min(WIDE * len(falling), WIDEST):
        return np.append(0, np.cumsum(np.bincount(falling[0] - falling)))
    return None


def _in_units(values: Values) -> tuple[Values, Fraction]:
    """(whole numbers, or floats where 62 bits do not hold them; the unit): the scores up to a shift, exactly."""
    if values.dtype.kind != "f":
        top = int(values.max())
        if top - int(values.min()) < 2**62:
            return values.astype(np.int64) - np.int64(top), Fraction(1)
        return np.array([value - top for value in values.tolist()], object), Fraction(1)
    lowest, highest = _exponents(values)
    if highest - lowest > 61:
        return values, Fraction(2) ** lowest
    return np.ldexp(values, -lowest).astype(np.int64), Fraction(2) ** lowest


def _exponents(values: Floats) -> tuple[int, int]:
    """(e, f): all are whole multiples of 2^e, and less than 2^f in size."""
    mantissa, exponent = np.frexp(values[values != 0])
    if not len(mantissa):
        return 0, 0
    odd = (np.abs(mantissa) * 2.0**53).astype(np.int64)
    trailing = np.log2((odd & -odd).astype(np.float64)).astype(np.int64)
    return int((exponent - 53 + trailing).min()), int(exponent.max())


def _floats_above(wholes: Values, unit: Fraction) -> Floats:
    """The smallest float that is not below each whole number of units: x >= whole iff x >= that float."""
    floats = np.empty(wholes.size)
    for place, whole in enumerate(wholes.ravel().tolist()):
        exact, below = whole * unit.numerator, unit.denominator
        near = _quotient(exact, below)
        top, bottom = near.as_integer_ratio() if math.isfinite(near) else (exact, below)
        floats[place] = near if top * below >= exact * bottom else math.nextafter(near, math.inf)
    return floats.reshape(wholes.shape)


def _quotient(exact: int, below: int) -> float:
    """The nearest float, which beyond the largest one is an infinity: that of two scores may be."""
    try:
        return exact / below
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def times(whole: Values, rate: Fraction) -> Floats:
    """whole * rate in floats, to a relative error of 2^-51; so many nats as are no float are FAR, as good as none."""
    if whole.dtype == object:
        return np.clip(np.array([to_float(rate * value) for value in whole.tolist()], np.float64), -FAR, FAR)
    exponent = rate.numerator.bit_length() - rate.denominator.bit_length()
    with np.errstate(over="ignore", under="ignore"):
        product = np.ldexp(whole.astype(np.float64) * float(rate / Fraction(2) ** exponent), exponent)
    return np.clip(product, -FAR, FAR)


@dataclass(frozen=True, slots=True)
class Cells:
    """Losses from `start` up to before `end`, in increasing order; the last cell has no end, whatever its `end` says.

    A cell is flat if N is the same all over it. Then its mass, the integral of N(t) rate e^(-rate t), is known;
    elsewhere it is between two bounds, the upper one as if every whole loss of the cell weighed as much as any can.
    """

    start: Values
    end: Values
    low: Indices
    """n_i at the start, one row for each cell."""
    high: Indices
    """n_i at the last loss before the end."""
    flat: Mask
    lower: Floats
    upper: Floats
    """ln of the bounds."""

    def __len__(self) -> int:
        return len(self.start)


FEW_PAIRS = 4096
"""With so many pairs of a place and a rank, or fewer, every rung is a cell."""

WASTE = 0.2
"""Of the upper bounds so much may be beyond the mass."""


def cells(steps: Ladder, rate: Fraction, *, waste: float = WASTE) -> Cells:
    """Cells whose upper bounds exceed the whole mass by a share of `waste` at most; one for each rung, if few."""
    few = steps.k * len(steps.scores) <= FEW_PAIRS
    start = rungs(steps, steps.first, steps.last) if few else np.unique(steps.losses_of([steps.first, steps.last]))
    low, before = steps.reach(start), steps.reach(start[1:] - 1)
    cover = Cover.of(steps, start, low, np.concatenate([before, low[-1:]]))
    while True:
        lower, weights = cover.log_bounds(rate)
        top = float(weights.max())
        upper = np.exp(weights - top)
        open_ = ~cover.flat & (upper - np.exp(lower - top) > waste * float(upper.sum()) / len(upper))
        if not open_.any():
            return cover.cells(lower, weights)
        cover.split(steps, np.flatnonzero(open_))


@dataclass(slots=True)
class Cover:
    """Cells while they are being cut: what is known of a cell that stays whole is not computed again."""

    start: Values
    low: list[Indices]
    high: list[Indices]
    flat: Mask
    log_low: Floats
    log_high: Floats
    """ln N at the start, and at the last loss before the end."""

    @classmethod
    def of(cls, steps: Ladder, start: Values, low: Indices, high: Indices) -> Cover:
        """The cells that begin at these losses, the last of which is the largest loss there is."""
        flat: Mask = (low == high).all(axis=1)
        return cls(start, list(low), list(high), flat, steps.log_counts(low), steps.log_counts(high))

    def log_bounds(self, rate: Fraction) -> tuple[Floats, Floats]:
        """ln of (lower, upper) bounds on the mass of each cell."""
        end = np.append(self.start[1:], self.start[-1:] + 1)
        here, width = times(self.start, rate), times(end - self.start, rate)
        with np.errstate(divide="ignore"):  # a step too small for a float has no weight in one
            lower = self.log_low - here + np.log(-np.expm1(-np.append(width[:-1], np.inf)))
            return lower, np.where(self.flat, lower, self.log_high - here + np.log(width))

    def split(self, steps: Ladder, which: Indices) -> None:
        """Cuts each of these cells in two."""
        low, high = np.array([self.low[i] for i in which]), np.array([self.high[i] for i in which])
        cut = middles(steps, low, high)
        after, before = steps.reach(cut), steps.reach(cut - 1)
        self.start = np.insert(self.start, which + 1, cut)
        self.log_low = np.insert(self.log_low, which + 1, steps.log_counts(after))
        self.log_high = np.insert(self.log_high, which, steps.log_counts(before))
        self.flat[which] = (after == high).all(axis=1)
        self.flat = np.insert(self.flat, which, (low == before).all(axis=1))
        for i, new_low, new_high in zip(which[::-1].tolist(), after[::-1], before[::-1], strict=True):
            self.low.insert(i + 1, new_low)
            self.high.insert(i, new_high)

    def cells(self, lower: Floats, upper: Floats) -> Cells:
        """The cells as they are cut now, with these bounds on their masses."""
        end = np.append(self.start[1:], self.start[-1:] + 1)
        return Cells(self.start, end, np.array(self.low), np.array(self.high), self.flat, lower, upper)


def middles(steps: Ladder, low: Indices, high: Indices) -> Values:
    """A rung inside each of these cells: it halves the ranks that the place which gains most gains."""
    place = (high - low).argmax(axis=1)
    row = np.arange(len(low))
    rank = (low[row, place] + high[row, place]) // 2
    return steps.whole(place) - steps.whole(rank)  # after the start, where that rank is not reached


def rungs(steps: Ladder, begin: int, end: int) -> Values:
    """All rungs from one loss to another, both among them, in increasing order."""
    ends = steps.losses_of([begin, end])
    low, high = steps.reach(ends)
    places = np.repeat(np.arange(steps.k), high - low)
    ranks = np.concatenate([np.arange(first, last) for first, last in zip(low, high, strict=True)])
    return np.unique(np.concatenate([ends, steps.whole(places) - steps.whole(ranks)]))


LEAST = 1e-290
"""Smaller shares of junk are computed in logarithms: floats hold them, and what adds up to them, no more."""

SURE = 1e-9
"""The floats are right to this share of themselves, and to this."""


COARSE = 0.05
"""How far apart the first bounds are: enough for most draws, whose noise spreads over several units."""

PARTS = 8
"""A cell is cut into so many at once by losses, and into as many by ranks: rows cost less than rounds."""


@dataclass(frozen=True)
class Junk:
    """The largest ln N_J(t) - rate (t - first): float bounds, and the cells of losses where it may be."""

    steps: Ladder
    rate: Fraction
    limit: int
    """So many of the k best, or fewer, make a list junk."""
    low: float
    high: float
    start: Values
    end: Values

    @cached_property
    def finer(self) -> Junk:
        """The same with bounds as close as floats can tell."""
        if self.steps.best is not None:
            steps = self.steps.sort()
            return junk_of(steps, self.rate / self.steps.unit * steps.unit, self.limit).finer
        return _search(self.steps, self.rate, self.limit, self.start, self.end, 0.0)

    def exact(self) -> arb:
        """At the working precision."""
        from flint import arb

        values: list[arb] = []
        steps, rate = self.finer.steps, self.finer.rate
        for start, end in zip(self.finer.start.tolist(), self.finer.end.tolist(), strict=True):
            losses = rungs(steps, start, end - 1)
            for loss, reach in zip(losses.tolist(), steps.reach(losses).tolist(), strict=True):
                if count := junk_count(reach, self.limit):
                    values.append(arb(count).log() - ball(rate * (loss - steps.first)))
        return reduce(arb.max, values)


def junk_count(reach: list[int], limit: int) -> int:
    """How many sequences with these reaches hold at most so many of the first k ranks, k the number of places."""
    k, ways = len(reach), [1] + [0] * limit
    for i, n in enumerate(reach):
        inside, before = min(n, k), ways
        ways = [0] * (limit + 1)
        for c, number in enumerate(before):
            if number:
                hits = max(inside - c, 0)
                ways[c] += number * (n - i - hits)
                if c < limit:
                    ways[c + 1] += number * hits
    return sum(ways)


def junk_of(steps: Ladder, rate: Fraction, limit: int) -> Junk:
    """The junk of a ladder, coarsely at first; some list must be junk, which the number of candidates tells."""
    start = np.unique(steps.losses_of([0, steps.last]))
    junk = _search(steps, rate, limit, start, np.append(start[1:], start[-1:] + 1), COARSE)
    if steps.best is None:
        return junk
    # a list without candidates beyond the bins loses at most so much more than its bounds say
    lead = float(-steps.first * rate)
    low = junk.low - steps.best.spread - 2.0 * float(rate)
    return replace(junk, low=low if junk.low > steps.best.faint - lead + 1.0 else -math.inf)


def _search(steps: Ladder, rate: Fraction, limit: int, start: Values, end: Values, tolerance: float) -> Junk:
    """The search in these cells, until the bounds are that close.

    A cell that could not reach the best value if all its lists were junk is left out before its junk is counted.
    """
    best = -np.inf
    while True:
        here, high = times(start - steps.first, rate), steps.reach(end - 1)
        viable = steps.log_counts(high) - here >= best - 2.0 * _slack(best)
        start, end, here, high = start[viable], end[viable], here[viable], high[viable]
        low = steps.reach(start)
        values, bounds = _logs(steps, np.concatenate([low, high]), limit).reshape(2, -1) - here
        best = max(best, float(values.max()))
        slack, viable = _slack(best), bounds > best - 2.0 * _slack(best)
        start, end, low, high, bounds = start[viable], end[viable], low[viable], high[viable], bounds[viable]
        open_ = np.flatnonzero(~(low == high).all(axis=1) & (bounds > best + slack + tolerance))
        if not len(open_):
            return Junk(steps, rate, limit, best - slack, max(float(bounds.max()), best) + slack, start, end)
        cuts = np.unique(np.concatenate([start, *_cuts(steps, start[open_], end[open_], low[open_], high[open_])]))
        own = end[np.searchsorted(start, cuts, side="right") - 1]
        start, end = cuts, np.minimum(np.append(cuts[1:], own[-1:]), own)


def _slack(best: float) -> float:
    """What floats about that size may be off by."""
    return SURE * (1.0 + abs(best)) if best > -np.inf else 0.0


def _cuts(steps: Ladder, start: Values, end: Values, low: Indices, high: Indices) -> list[Values]:
    """Losses inside each of these cells: evenly spread, and rungs where the place that gains most gains evenly."""
    last = end - 1
    width, row, place = last - start, np.arange(len(start)), (high - low).argmax(axis=1)
    begin, gained, top = low[row, place], (high - low)[row, place], steps.whole(place)
    even = [start + width // PARTS * j + width % PARTS * j // PARTS for j in range(1, PARTS + 1)]
    return even + [top - steps.whole(begin + gained * j // PARTS) for j in range(PARTS)]


def _logs(steps: Ladder, reach: Indices, limit: int) -> Floats:
    """ln N_J for each row, to a relative error of SURE / 2 or far less; -inf where there is no junk."""
    size = max(16, CHUNK // (steps.k * (limit + 1)))
    parts = [_log_share(reach[i : i + size], limit) for i in range(0, len(reach), size)]
    return steps.log_counts(reach) + np.concatenate([np.zeros(0), *parts])


@np.errstate(divide="ignore")
def _log_share(reach: Indices, limit: int) -> Floats:
    """ln P[at most `limit` of the k places take one of the k best ranks], place after place; by logarithms if small."""
    k = reach.shape[1]
    choices = (reach - np.arange(k)).T[:, :, None].astype(np.float64)
    hits = np.maximum(np.minimum(reach, k).T[:, :, None] - np.arange(limit + 1.0), 0.0)
    miss, hit = np.maximum(choices - hits, 0.0) / choices, hits / choices
    state = np.zeros((len(reach), limit + 1))
    state[:, 0] = 1.0
    for i in range(k):
        gain = state * hit[i]
        state *= miss[i]
        state[:, 1:] += gain[:, :-1]
    share = state.sum(axis=1)
    result: Floats = np.log(share)
    few = np.flatnonzero(share < LEAST)
    if len(few):
        result[few] = _small_log_share(reach[few], limit)
    return result


@np.errstate(divide="ignore")
def _small_log_share(reach: Indices, limit: int) -> Floats:
    """The same in logarithms throughout."""
    state, k, c = np.full((len(reach), limit + 1), -np.inf), reach.shape[1], np.arange(limit + 1)
    state[:, 0] = 0.0
    for i, n in enumerate(reach.T):
        choices, hits = (n - i)[:, None], np.maximum(np.minimum(n, k)[:, None] - c, 0)
        after = state + np.log(np.maximum(choices - hits, 0) / choices)
        after[:, 1:] = np.logaddexp(after[:, 1:], (state + np.log(hits / choices))[:, :-1])
        state = after
    return np.asarray(np.logaddexp.reduce(state, axis=1))
