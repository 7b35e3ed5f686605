"""How heavy the junk among ordered lists is: the largest ln N_J(t) - rate t over all losses t (Definition 191).

N_J(t) counts the sequences of ranks that lose at most t and hold at most so many of the k best. It is a step function
with the rungs of N; cells of losses are cut until none can hold a larger value than is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats, Indices, Values
from shortlist.exact.effort import shared
from shortlist.exact.partial_reals import ball
from shortlist.exact.sequence_classes import Ladder, rungs, times
from shortlist.exact.sequence_laws import CHUNK

if TYPE_CHECKING:
    from flint import arb

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
        return _searched(self.steps, self.rate, self.limit, self.start, self.end, 0.0)

    def exact(self) -> arb:
        """At the working precision."""
        from flint import arb

        best: arb | None = None
        for start, end in zip(self.finer.start.tolist(), self.finer.end.tolist(), strict=True):
            losses = rungs(self.steps, start, end - 1)
            for loss, reach in zip(losses.tolist(), self.steps.reach(losses).tolist(), strict=True):
                count = junk_count(reach, self.limit)
                if count:
                    value = arb(count).log() - ball(self.rate * (loss - self.steps.first))
                    best = value if best is None else best.max(value)
        assert best is not None, "junk was found in floats alone"
        return best


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
    return _searched(steps, rate, limit, start, np.append(start[1:], start[-1:] + 1), COARSE)


def _searched(steps: Ladder, rate: Fraction, limit: int, start: Values, end: Values, tolerance: float) -> Junk:
    """The search in these cells, until the bounds are that close.

    A cell that could not reach the best value if all its lists were junk is left out before its junk is counted.
    """
    best = -np.inf
    while True:
        here, high = times(start - steps.first, rate), steps.reach(end - 1)
        viable = steps.log_counts(high) - here >= best - 2.0 * _slack(best)
        start, end, here, high = start[viable], end[viable], here[viable], high[viable]
        low = steps.reach(start)
        losses, reach = np.concatenate([start, end - 1]), np.concatenate([low, high])
        values, bounds = _known_logs(steps, losses, reach, limit).reshape(2, -1) - here
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


def _known_logs(steps: Ladder, losses: Values, reach: Indices, limit: int) -> Floats:
    """`_logs` at these losses, which no rate changes: a search over rates counts the junk of a loss once."""
    known: dict[int, float] = shared(steps.scores, "junk", (steps.k, limit), dict)
    places = losses.tolist()
    new = [row for row, loss in enumerate(places) if loss not in known]
    if new:
        known |= zip([places[row] for row in new], _logs(steps, reach[new], limit).tolist(), strict=True)
    return np.array([known[loss] for loss in places])


def _logs(steps: Ladder, reach: Indices, limit: int) -> Floats:
    """ln N_J for each row, to a relative error of SURE / 2 or far less; -inf where there is no junk."""
    size = max(16, CHUNK // (steps.k * (limit + 1)))
    parts = [_log_share(reach[i : i + size], limit) for i in range(0, len(reach), size)]
    logs: Floats = steps.log_counts(reach) + np.concatenate([np.zeros(0), *parts])
    return logs


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
