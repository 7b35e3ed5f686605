"""A crowd: many scores seen from one stretch of levels z, carried by few weighted sites.

Every law of this room is built from sums over the items, ``sum_i h(z - s_i)``, with ``h`` smooth except where the
noise has a kink. Equal scores are one value with a multiplicity. Beyond that, seen from the levels [z0, z1],

- items that surely stay below z0 are dropped, and items that surely exceed z1 are only counted;
- a cell full of other items is replaced by its Chebyshev points t with weights ``W_t = sum_i L_t(s_i)``, L_t the
  Lagrange polynomials: ``sum_i h(s_i) = sum_t W_t h(t)`` up to the error of interpolating h in the cell.

No cell reaches a place s = z - kink: cells next to such a place are as wide as they are far from it. A cell is
replaced only if it holds many items, because h may be the logarithm of a characteristic function, whose zeros come
near the real line; what many items share is negligible there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.exact.effort import among, is_rough
from shortlist.exact.noise_distributions import Noise

DECIDED_CHANCE = 1e-18
"""Items whose chances to matter sum to less than this are decided without being looked at."""

FULL_CELL = 64.0
"""Items that a cell must hold to be replaced: their variance is then at least 15 where it counts, so that their
characteristic function is below e^-30 at the angles where its logarithm interpolates badly."""

_FARTHEST = 200
"""Cells are laid this many noise units around the levels; what lies beyond is kept item by item."""

_STEPS = np.concatenate([2.0 ** np.arange(-20, 0), np.arange(1.0, _FARTHEST)])
"""Distances from the nearest place s = z - kink at which one cell ends and the next begins."""

Levels: TypeAlias = tuple[float, float]
"""From one level to another."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """Values in increasing order, the weight of each (how many items it stands for), and the number of ``sure``
    items, which are above every level in question."""

    values: Floats
    weights: Floats
    sure: float = 0.0


@dataclass(frozen=True, slots=True)
class Gathering:
    """A crowd on its sites, and the way back: which sites speak for which of the values it was made of."""

    crowd: Crowd
    _size: int
    _sure: slice
    _singles: Indices
    _single_sites: Indices
    _celled: Indices
    _celled_sites: Indices
    _lagrange: Floats

    def spread(self, at_sites: Floats, when_sure: float) -> Floats:
        """From a function at the sites to the same function at the values gathered; 0 where they were dropped."""
        result = np.zeros(self._size)
        result[self._singles] = at_sites[self._single_sites]
        result[self._celled] = np.sum(self._lagrange * at_sites[self._celled_sites], axis=1)
        result[self._sure] = when_sure
        return result


def crowd_of(values: Floats, counts: Floats) -> Crowd:
    """The crowd of these increasing distinct values, as far as there are items at them."""
    return Crowd(values[counts > 0], counts[counts > 0])


def rounded(crowd: Crowd, *, up: bool) -> Crowd:
    """The crowd with its values rounded to quarters, or beyond 64 to 8 bits: few of them are left.

    Rounding up can only raise noisy scores, rounding down only lower them.
    """
    _, octaves = np.frexp(crowd.values / 64.0)
    step = np.ldexp(0.25, np.maximum(octaves, 0))
    values, place = np.unique((np.ceil if up else np.floor)(crowd.values / step) * step, return_inverse=True)
    weights = np.bincount(place, crowd.weights, minlength=values.size).astype(np.float64)
    return Crowd(values, weights, crowd.sure)


def gather(
    crowd: Crowd,
    levels: Levels,
    noise: Noise,
    refinement: int,
    *,
    drop_below: bool = True,
    count_above: bool = True,
) -> Gathering:
    """The crowd as seen from ``levels``, on cells of 12 Chebyshev points and 4 more at each refinement.

    ``drop_below`` and ``count_above`` allow to decide far items without looking at them, each at a total variation
    distance of at most DECIDED_CHANCE.
    """
    order = 7 if is_rough() else 12 + 4 * refinement
    low, high = _undecided(crowd, levels, noise, drop_below, count_above)
    values, weights = crowd.values[low:high], crowd.weights[low:high]
    start, stop, first, last = _cells(values, weights, levels, noise, order)

    members = last - first
    cell = np.repeat(np.arange(members.size), members)
    before = np.cumsum(members) - members
    celled = np.arange(cell.size) + (first - before)[cell]
    middle, half = (start + stop) / 2, (stop - start) / 2
    points, lagrange = _lagrange((values[celled] - middle[cell]) / half[cell], order)
    carried = np.add.reduceat(lagrange * weights[celled, None], before, axis=0)

    singles = np.delete(np.arange(values.size), celled)
    sites = np.concatenate([values[singles], (middle[:, None] + half[:, None] * points).ravel()])
    in_order = np.argsort(sites, kind="stable")
    place = np.empty_like(in_order)
    place[in_order] = np.arange(sites.size)
    return Gathering(
        Crowd(
            sites[in_order],
            np.concatenate([weights[singles], carried.ravel()])[in_order],
            crowd.sure + float(crowd.weights[high:].sum()),
        ),
        _size=crowd.values.size,
        _sure=slice(high, None),
        _singles=low + singles,
        _single_sites=place[: singles.size],
        _celled=low + celled,
        _celled_sites=place[singles.size + cell[:, None] * order + np.arange(order)],
        _lagrange=lagrange,
    )


def _undecided(crowd: Crowd, levels: Levels, noise: Noise, drop_below: bool, count_above: bool) -> tuple[int, int]:
    """The slice of values that may fall on either side of some level."""
    weights, least = np.abs(crowd.weights), among(DECIDED_CHANCE, 1e-13, 1e-9)
    low, high = 0, crowd.values.size
    if drop_below:
        exceed = np.cumsum(weights * np.exp(noise.log_survival(levels[0] - crowd.values)))
        low = int(np.searchsorted(exceed, least))
    if count_above:
        fail = np.cumsum((weights * np.exp(noise.log_cdf(levels[1] - crowd.values)))[::-1])
        high -= int(np.searchsorted(fail, least))
    return low, max(low, high)


def _cells(
    values: Floats, weights: Floats, levels: Levels, noise: Noise, order: int
) -> tuple[Floats, Floats, Indices, Indices]:
    """The cells worth replacing: their ends, and the slice of values in each."""
    if values.size <= 2 * order:
        return np.empty(0), np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64)
    zones = [(levels[0] - kink, levels[1] - kink) for kink in noise.kinks]
    edge: Floats = levels[0] + np.arange(-_FARTHEST, _FARTHEST, dtype=np.float64)
    if zones:
        edge = np.unique(np.concatenate([end for low, high in zones for end in (low - _STEPS, high + _STEPS)]))
    start, stop = edge[:-1], edge[1:]
    place = np.searchsorted(values, edge)
    first, last = place[:-1], place[1:]
    worth = (last - first > 2 * order) & (stop - start <= 1.0 + 1e-9)
    running = np.concatenate([[0.0], np.cumsum(weights)])
    worth &= running[last] - running[first] >= FULL_CELL
    for low, high in zones:
        worth &= np.maximum(low - stop, start - high) >= 0.999 * (stop - start)
    return start[worth], stop[worth], first[worth], last[worth]


def _lagrange(x: Floats, order: int) -> tuple[Floats, Floats]:
    """The Chebyshev points of [-1, 1], and the Lagrange polynomials on them at x, one column each."""
    points, to_lagrange = _from_chebyshev(order)
    return points, np.polynomial.chebyshev.chebvander(x, order - 1) @ to_lagrange


@lru_cache
def _from_chebyshev(order: int) -> tuple[Floats, Floats]:
    """The Chebyshev points, and the Lagrange polynomials on them in terms of Chebyshev's; nobody changes them."""
    angle = (np.arange(order) + 0.5) * np.pi / order
    degree = np.arange(order)
    return np.cos(angle), np.cos(degree[:, None] * angle) * np.where(degree == 0, 1.0, 2.0)[:, None] / order
