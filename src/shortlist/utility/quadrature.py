"""Integrals over noise for many candidates at once.

A crowd: many scores seen from one stretch of levels z, carried by few weighted sites.

Every law of this room is built from sums over the items, ``sum_i h(z - s_i)``, with ``h`` smooth except where the
noise has a kink. Equal scores are one value with a multiplicity. Beyond that, seen from the levels [z0, z1],

- items that surely stay below z0 are dropped, and items that surely exceed z1 are only counted;
- a cell full of other items is replaced by its Chebyshev points t with weights ``W_t = sum_i L_t(s_i)``, L_t the
  Lagrange polynomials: ``sum_i h(s_i) = sum_t W_t h(t)`` up to the error of interpolating h in the cell.

No cell reaches a place s = z - kink: cells next to such a place are as wide as they are far from it. A cell is
replaced only if it holds many items, because h may be the logarithm of a characteristic function, whose zeros come
near the real line; what many items share is negligible there.

Where to integrate over the level z, with which nodes, and when to stop refining.

Noises without kinks have analytic integrands that vanish at both ends: the trapezoidal rule converges
geometrically. The others are cut at *every* kink s_i + kink inside the range, and Gauss-Legendre is used between
the cuts: a panel much shorter than the features of the integrand needs only few nodes.

A crowd seen from a level, tilted so that a wanted number of its items is expected above.

At the level z an item exceeds with chance p = S(z - s) and stays below with chance o = F(z - s). Under the tilt r it
exceeds with chance ``pi = p r / (o + p r)``. Tilting turns the coefficient of w^m in ``prod (o + p w)`` into e^Lambda
times the chance that m items exceed, ``Lambda = sum ln(o + p r) - m ln r``; that chance is not small if m is about
what is expected. The complement o is always F itself, never 1 - p.

Levels that separate: all of one crowd above z, all of another below it.

The law of the largest noisy score of a crowd, and the chance that one crowd stays entirely above another, need no
counting: with S_A(z) = prod_A S(z - s) and F_B(z) = prod_B F(z - s) they are integrals of S_A dF_B.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from shortlist._arrays import Floats, Indices, Mask
from shortlist.exact.noise import Noise

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
    items, which are above every level in question.

    ``drop_below`` and ``count_above`` allow to decide far items without looking at them, each at a total variation
    distance of at most DECIDED_CHANCE. The first is off for a crowd that is to exceed, so that ln S_A stays accurate
    however small S_A is; the second for one that is to stay below.
    """

    values: Floats
    weights: Floats
    sure: float = 0.0
    drop_below: bool = True
    count_above: bool = True


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


def crowd_of(values: Floats, counts: Floats, **decided: bool) -> Crowd:
    """The crowd of these increasing distinct values, as far as there are items at them."""
    return Crowd(values[counts > 0], counts[counts > 0], **decided)


def round_crowd(crowd: Crowd, *, up: bool) -> Crowd:
    """The crowd with its values rounded to quarters, or beyond 64 to 8 bits: few of them are left.

    Rounding up can only raise noisy scores, rounding down only lower them.
    """
    _, octaves = np.frexp(crowd.values / 64.0)
    step = np.ldexp(0.25, np.maximum(octaves, 0))
    values, place = np.unique((np.ceil if up else np.floor)(crowd.values / step) * step, return_inverse=True)
    weights = np.bincount(place, crowd.weights, minlength=values.size).astype(np.float64)
    return Crowd(values, weights, crowd.sure)


def gather(crowd: Crowd, levels: Levels, noise: Noise, refinement: int) -> Gathering:
    """The crowd as seen from ``levels``, on cells of 12 Chebyshev points and 4 more at each refinement."""
    order = 12 + 4 * refinement
    low, high = slice_in_doubt(crowd, levels, noise)
    values, weights = crowd.values[low:high], crowd.weights[low:high]
    start, stop, first, last = _cells(values, weights, levels, noise, order)

    members = last - first
    cell = np.repeat(np.arange(members.size), members)
    before = np.cumsum(members) - members
    celled = np.arange(cell.size) + (first - before)[cell]
    middle, half = (start + stop) / 2, (stop - start) / 2
    points, polynomials = _from_chebyshev(order)
    places = (values[celled] - middle[cell]) / half[cell]
    lagrange = np.polynomial.chebyshev.chebvander(places, order - 1) @ polynomials
    carried = np.add.reduceat(lagrange * weights[celled, None], before, axis=0)

    singles = np.delete(np.arange(values.size), celled)
    sites = np.concatenate([values[singles], (middle[:, None] + half[:, None] * points).ravel()])
    in_order = np.argsort(sites, kind="stable")
    place = np.empty_like(in_order)
    place[in_order] = np.arange(sites.size)
    return Gathering(
        replace(
            crowd,
            values=sites[in_order],
            weights=np.concatenate([weights[singles], carried.ravel()])[in_order],
            sure=crowd.sure + float(crowd.weights[high:].sum()),
        ),
        _size=crowd.values.size,
        _sure=slice(high, None),
        _singles=low + singles,
        _single_sites=place[: singles.size],
        _celled=low + celled,
        _celled_sites=place[singles.size + cell[:, None] * order + np.arange(order)],
        _lagrange=lagrange,
    )


def slice_in_doubt(crowd: Crowd, levels: Levels, noise: Noise) -> tuple[int, int]:
    """The slice of values that may fall on either side of some level."""
    weights, low, high = np.abs(crowd.weights), 0, crowd.values.size
    if crowd.drop_below:
        exceed = np.cumsum(weights * np.exp(noise.log_survival(levels[0] - crowd.values)))
        low = int(np.searchsorted(exceed, DECIDED_CHANCE))
    if crowd.count_above:
        fail = np.cumsum((weights * np.exp(noise.log_cdf(levels[1] - crowd.values)))[::-1])
        high -= int(np.searchsorted(fail, DECIDED_CHANCE))
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


@lru_cache
def _from_chebyshev(order: int) -> tuple[Floats, Floats]:
    """The Chebyshev points, and the Lagrange polynomials on them in terms of Chebyshev's; nobody changes them."""
    angle = (np.arange(order) + 0.5) * np.pi / order
    degree = np.arange(order)
    return np.cos(angle), np.cos(degree[:, None] * angle) * np.where(degree == 0, 1.0, 2.0)[:, None] / order


NEGLIGIBLE_LOG = -41.0
"""Ranges end where less than e^-41 (about 1e-18) of the mass lies beyond."""

_KINKS_PER_BLOCK = 32
_WIDEST_BLOCK = 2.0
_FEWEST_PANELS = 8
_FEWEST_NODES = 64
_REFINEMENTS = 6
_DOUBLED: Floats = np.array([0.0, 1.0, 3.0, 7.0, 15.0])
"""How many steps from where it begins the end of a range is sought at once."""
_LOOKS = 5
"""And at how many levels between two."""
_ROUNDS = 100
_CELLS = 1 << 22
"""About so many numbers are held at once."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some nodes and weights of a rule, and the levels between which they lie."""

    levels: Levels
    nodes: Floats
    weights: Floats


def find_range(below: Callable[[Floats], Floats], above: Callable[[Floats], Floats]) -> Levels:
    """Levels [a, b] with below(a) and above(b) at most NEGLIGIBLE_LOG, each end about 5% too far out.

    ``below(z)`` bounds the logarithm of the mass below z and increases; ``above`` is its mirror. Each is asked for
    several levels at once.
    """
    low, high = _outside(below, -1.0), _outside(above, 1.0)
    low_inside, high_inside = high, low
    for _ in range(_ROUNDS):
        margin = 0.05 * max(high_inside - low_inside, 0.0)
        if low_inside - low <= margin and high - high_inside <= margin:
            break
        low, low_inside = _between(below, low, low_inside, margin)
        high, high_inside = _between(above, high, high_inside, margin)
    return low, high


def _outside(mass: Callable[[Floats], Floats], end: float) -> float:
    """A level beyond which the mass is negligible: by steps that double."""
    step = 2.0 * end
    while True:
        levels: Floats = end + step * _DOUBLED
        enough = mass(levels) <= NEGLIGIBLE_LOG
        if enough.any():
            return float(levels[enough.argmax()])
        step *= float(_DOUBLED[-1]) + 1.0
        end, step = float(levels[-1]) + step, 2.0 * step


def _between(mass: Callable[[Floats], Floats], end: float, inside: float, margin: float) -> Levels:
    """The same, nearer to each other; as they are if they are near."""
    if abs(inside - end) <= margin:
        return end, inside
    levels = np.linspace(inside, end, _LOOKS + 2)
    enough = mass(levels[1:-1]) <= NEGLIGIBLE_LOG
    first = int(enough.argmax()) + 1 if enough.any() else _LOOKS + 1
    return float(levels[first]), float(levels[first - 1])


def blocks(values: Sequence[Floats], levels: Levels, noise: Noise, refinement: int) -> Iterator[Block]:
    """A rule for integrals over ``levels``, in blocks into which few kinks of items at any of ``values`` fall.

    Every refinement doubles the nodes.
    """
    if not noise.kinks:
        yield from _trapezoidal(levels, refinement)
        return
    low, high = levels
    widest = min(1.0, (high - low) / 14)
    cuts = _cuts(np.concatenate(values), levels, noise)
    edges = np.concatenate([_split(start, stop, widest) for start, stop in pairwise(cuts)] + [[high]])
    passed = np.searchsorted(cuts, edges)
    first = 0
    while first < edges.size - 1:
        full = np.searchsorted(passed, passed[first] + _KINKS_PER_BLOCK)
        wide = np.searchsorted(edges, edges[first] + _WIDEST_BLOCK, side="right") - 1
        last = int(np.clip(min(full, max(wide, first + _FEWEST_PANELS)), first + 1, edges.size - 1))
        yield _gauss(edges[first : last + 1], widest, refinement)
        first = last


def _cuts(values: Floats, levels: Levels, noise: Noise) -> Floats:
    """The ends of the range and the kinks between them, those closer than rounding taken as one."""
    at = (values[:, None] + np.asarray(noise.kinks)).ravel()
    at = np.unique(at[(at > levels[0]) & (at < levels[1])])
    cuts = np.concatenate([[levels[0]], at, [levels[1]]])
    apart = np.diff(cuts) > 1e-14 * min(1.0, levels[1] - levels[0]) + 4 * np.spacing(np.abs(cuts[:-1]))
    return np.concatenate([cuts[:-1][apart], [levels[1]]])


def _split(start: float, stop: float, widest: float) -> Floats:
    """The left edges of panels from start to stop: even, or, over a very long way, growing away from both ends."""
    length = stop - start
    if length <= 64 * widest:
        return np.linspace(start, stop, max(1, int(np.ceil(length / widest))), endpoint=False)
    distance = [0.0]
    while distance[-1] < length / 2:
        distance.append(distance[-1] + max(widest, distance[-1] / 8))
    near = np.minimum(distance, length / 2)
    return np.unique(np.concatenate([start + near, stop - near[1:]]))


def _gauss(edges: Floats, widest: float, refinement: int) -> Block:
    """Six nodes (doubled at each refinement) on the widest panels, fewer on short ones."""
    width = np.diff(edges)
    digits = 0.84 + np.log10(np.maximum(widest / width, 1.0))
    count = np.ceil(5.0 / digits).astype(np.int64) * 2**refinement
    rules = [legendre(int(n)) for n in count]
    nodes = [start + size * node for start, size, (node, _) in zip(edges[:-1], width, rules, strict=True)]
    weights = [size * weight for size, (_, weight) in zip(width, rules, strict=True)]
    return Block((float(edges[0]), float(edges[-1])), np.concatenate(nodes), np.concatenate(weights))


@cache
def legendre(n: int) -> tuple[Floats, Floats]:
    """Gauss-Legendre with n nodes on [0, 1]."""
    node, weight = np.polynomial.legendre.leggauss(n)
    return (node + 1) / 2, weight / 2


def _trapezoidal(levels: Levels, refinement: int) -> Iterator[Block]:
    low, high = levels
    count = int(np.ceil((high - low) / min(0.3, (high - low) / 32))) * 2**refinement
    node = np.linspace(low, high, count + 1)
    step = (high - low) / count
    size = max(_FEWEST_NODES, int(_WIDEST_BLOCK / step))
    for first in range(0, node.size, size):
        part = node[first : first + size]
        yield Block((float(part[0]), float(part[-1])), part, np.full(part.size, step))


def by_blocks(
    crowds: Sequence[Crowd],
    levels: Levels,
    noise: Noise,
    part: Callable[[Block, int, Sequence[Gathering]], Any],
    *,
    spread: bool = False,
) -> Callable[[int], Floats]:
    """The integral over the levels at any refinement, of what each block adds with the crowds as it sees them.

    With ``spread`` a part has a number for each value of the only crowd, and one for what is surely above.
    """

    def evaluate(refinement: int) -> Floats:
        near = [gather(crowd, levels, noise, refinement) for crowd in crowds]
        total = np.zeros(1)
        for block in blocks([one.crowd.values for one in near], levels, noise, refinement):
            seen = [gather(one.crowd, block.levels, noise, refinement) for one in near]
            total = total + part(block, refinement, seen)
        return near[0].spread(total[:-1], float(total[-1])) if spread else total

    return evaluate


def by_nodes(
    values: Sequence[Floats], levels: Levels, noise: Noise, density: Callable[[Floats, Levels], Floats], width: int = 1
) -> Callable[[int], Floats]:
    """The integral over the levels at any refinement, of a density with so many columns at some nodes of a block."""
    size = max(1, _CELLS // width)

    def evaluate(refinement: int) -> Floats:
        total: Floats = np.zeros(1)
        for block in blocks(values, levels, noise, refinement):
            for start in range(0, block.nodes.size, size):
                rows = slice(start, start + size)
                total = total + block.weights[rows] @ density(block.nodes[rows], block.levels)
        return total

    return evaluate


def refine(evaluate: Callable[[int], Floats], settled: Callable[[Floats, Floats], bool]) -> Floats:
    """evaluate(0), evaluate(1), ... until ``settled(previous, current)``; the last of them.

    Errors fall geometrically in the number of nodes, so doubling it about squares them: the value returned is far
    more accurate than the change that was accepted. Raises ArithmeticError rather than return a worse one.
    """
    previous = evaluate(0)
    for refinement in range(1, _REFINEMENTS):
        current = evaluate(refinement)
        if settled(previous, current):
            return current
        previous = current
    raise ArithmeticError("the law did not settle to its stated accuracy: is the noise smooth between its kinks?")


_LARGEST_LOG_TILT = 700.0

_FEW = 8
"""So many steps to a tilt are enough for a bound, which holds for every tilt."""


@dataclass(frozen=True, slots=True)
class Tilted:
    """A crowd at some levels (rows) under a tilt (ln r, one per row), site by site (columns).

    ``rest`` is min(pi, 1 - pi), ``major`` marks pi > 1/2, ``density`` is f / (o + p r), and ``log_products`` is
    sum ln(o + p r) minus one ln r for each item with pi > 1/2.
    """

    rest: Floats
    major: Mask
    density: Floats
    log_tilt: Floats
    log_products: Floats

    @property
    def chance(self) -> Floats:
        """pi: the chance of one item of each site to exceed the level, under the tilt."""
        return np.where(self.major, 1.0 - self.rest, self.rest)

    @property
    def spread(self) -> Floats:
        """pi (1 - pi): the variance of one item of each site."""
        return self.rest * (1.0 - self.rest)

    def log_scale(self, crowd: Crowd, number: int) -> Floats:
        """Lambda for the coefficient of w^number."""
        surplus = self.major @ crowd.weights + crowd.sure - number
        return self.log_products + self.log_tilt * surplus

    def among(self, sites: Indices) -> Tilted:
        """The same at some of the sites; log_products still that of all."""
        return Tilted(
            self.rest[:, sites], self.major[:, sites], self.density[:, sites], self.log_tilt, self.log_products
        )


def tilt(crowd: Crowd, noise: Noise, nodes: Floats, target: float | None) -> Tilted:
    """The crowd tilted so that about ``target`` items are expected above each node.

    Where that cannot be reached the tilt stops at e^+-700, and the coefficients come out as the zeros they are. None
    leaves the crowd as it is: what is small then stays small, and is known to a part of the whole.
    """
    x = nodes[:, None] - crowd.values
    log_p, log_o = noise.log_survival(x), noise.log_cdf(x)
    log_tilt = np.zeros(len(x)) if target is None else _solve(log_p - log_o, crowd.weights, target - crowd.sure)
    tilted = log_p - log_o + log_tilt[:, None]
    major = tilted > 0
    odds = np.exp(-np.abs(tilted))
    log_q = np.where(major, log_p, log_o) + np.log1p(odds)
    density = np.exp(noise.log_density(x) - log_q - np.where(major, log_tilt[:, None], 0.0))
    return Tilted(odds / (1.0 + odds), major, density, log_tilt, log_q @ crowd.weights)


def log_bounds(crowd: Crowd, noise: Noise, levels: Floats, number: int, *, side: int) -> Floats:
    """ln of Chernoff's bound on P[at least (side=1) or at most (side=-1) ``number`` items exceed each level]."""
    x = levels[:, None] - crowd.values
    log_p, log_o = noise.log_survival(x), noise.log_cdf(x)
    log_odds = log_p - log_o
    log_tilt = _solve(log_odds, crowd.weights, number - crowd.sure, _FEW)
    log_q = np.maximum(log_p + log_tilt[:, None], log_o) + np.log1p(np.exp(-np.abs(log_odds + log_tilt[:, None])))
    return np.where(log_tilt * side > 0, log_q @ crowd.weights + (crowd.sure - number) * log_tilt, 0.0)


def _solve(log_odds: Floats, weights: Floats, target: float, most: int = 100) -> Floats:
    """ln r per row, with sum weights / (1 + e^-(log_odds + ln r)) near ``target``: safeguarded Newton.

    A tenth of a standard deviation is near enough: the tilt decides the conditioning, not the result.
    """
    rows = log_odds.shape[0]
    low, high = np.full(rows, -_LARGEST_LOG_TILT), np.full(rows, _LARGEST_LOG_TILT)
    guess = np.zeros(rows)
    for _ in range(most):
        odds = -(log_odds + guess[:, None])
        np.minimum(np.maximum(odds, -_LARGEST_LOG_TILT, out=odds), _LARGEST_LOG_TILT, out=odds)
        chance = 1.0 / (1.0 + np.exp(odds, out=odds))
        excess = chance @ weights - target
        variance = np.maximum((chance * (1.0 - chance)) @ weights, 1e-300)
        if np.all((np.abs(excess) <= 0.01 + 0.1 * np.sqrt(variance)) | (high - low < 0.01)):
            break
        low, high = np.where(excess < 0, guess, low), np.where(excess > 0, guess, high)
        longest = 2.0 + np.abs(guess)
        newton = guess - np.minimum(np.maximum(excess / variance, -longest), longest)
        guess = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
    return guess


_LOWEST_LOG = -1e5
"""ln 0 for our purposes: weights of either sign can be applied to it."""


def log_all(crowd: Crowd, log_chance: Callable[[Floats], Floats], nodes: Floats) -> Floats:
    """ln S_A at the nodes with the noise's `log_survival`, ln F_B with its `log_cdf`."""
    return np.maximum(log_chance(nodes[:, None] - crowd.values), _LOWEST_LOG) @ crowd.weights


def highest_density(crowd: Crowd, noise: Noise, nodes: Floats, log_factor: Floats) -> Floats:
    """Per node and site, e^log_factor times the density that an item at the site is the highest, there."""
    x = nodes[:, None] - crowd.values
    logs = np.maximum(noise.log_cdf(x), _LOWEST_LOG)
    together = logs @ crowd.weights + log_factor
    return np.exp(noise.log_density(x) - logs + together[:, None])


def separation_range(above: Crowd, below: Crowd, noise: Noise) -> Levels:
    """The levels that matter, to e^-41 of the result, in the integral of S_A dF_B (which is 1 if A is empty).

    What lies below z adds at most F_B(z), what lies above at most S_A(z) sum_B S(z - s), and the result is at least
    S_A F_B at every level. With scores rounded to quarters so that the bounds hold.
    """
    (above_up, above_down), (below_up, below_down) = (
        [round_crowd(crowd, up=up) for up in (True, False)] for crowd in (above, below)
    )
    least = _least_log_chance(above_down, below_up, noise)

    def log_below(levels: Floats) -> Floats:
        return log_all(below_down, noise.log_cdf, levels) - least

    def log_above(levels: Floats) -> Floats:
        exceed = np.exp(noise.log_survival(levels[:, None] - below_up.values)) @ below_up.weights
        return log_all(above_up, noise.log_survival, levels) + np.log(np.clip(exceed, 1e-300, 1.0)) - least

    return find_range(log_below, log_above)


def _least_log_chance(above: Crowd, below: Crowd, noise: Noise) -> float:
    """ln of the largest S_A F_B found: near where the two are equal, and on a grid around it."""
    if not above.values.size:
        return 0.0

    def difference(levels: Floats) -> Floats:
        return log_all(below, noise.log_cdf, levels) - log_all(above, noise.log_survival, levels)

    grid = np.append(np.linspace(-1.0, 1.0, 33), np.linspace(*_sign_change(difference), 3))
    return float(np.max(log_all(below, noise.log_cdf, grid) + log_all(above, noise.log_survival, grid)))


def _sign_change(increasing: Callable[[Floats], Floats]) -> Levels:
    """Two levels, as near as 12 halvings bring them, between which the sign changes."""
    low, high = -1.0, 1.0
    while increasing(np.array([low])) > 0:
        low *= 2
    while increasing(np.array([high])) < 0:
        high *= 2
    for _ in range(2):
        grid = np.linspace(low, high, 65)
        place = int(np.append(increasing(grid[1:-1]) >= 0, True).argmax())
        low, high = float(grid[place]), float(grid[place + 1])
    return low, high
