"""Privacy curves: delta by epsilon of a dominating pair, its Renyi divergence, and bounded range.

Pairs of laws are known by their profiles: delta as a function of epsilon on the whole line. Renyi divergences convert
to epsilon and delta by the best order. Bounded range has both, for one round and for many adaptive ones.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from shortlist._arrays import Floats, Indices, Mask
from shortlist._runtime import IMPORTS
from shortlist.exact.reals import ball, exactly
from shortlist.exact.search import bisect, neighbours

if TYPE_CHECKING:
    from flint import arb


def up(exact: Fraction) -> float:
    """The least float that is not below `exact`."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def sum_up(terms: list[tuple[float, int]]) -> float:
    """The sum of value * count, rounded up; infinite as soon as one value is."""
    if any(math.isinf(value) for value, _ in terms):
        return math.inf
    return up(sum((Fraction(value) * times for value, times in terms), Fraction(0)))


Profile: TypeAlias = Callable[[Floats], Floats]
Renyi: TypeAlias = Callable[[Floats], Floats]

ULP = 2.0**-52


@dataclass(frozen=True, slots=True)
class Pair:
    """A dominating pair by its profile, `times` times; `bound` is on the size of its finite losses."""

    profile: Profile
    times: int = 1
    bound: float = math.inf


@dataclass(frozen=True, slots=True)
class Curves:
    """Upper bounds for one application, and a law that attains or nearly attains them.

    Parameters
    ----------
    renyi : Renyi divergence of the orders given, rounded up, of what is left after the common thinning of
        mass `delta`.
    pairs : pairs, by their profiles on the whole line, whose product dominates one application; rounded up.
    witness : for a Renyi order, pairs whose product some mechanism with this guarantee has: whence the
        lower bounds.
    delta : mass of the common thinning (Definition 19).
    pure : bound on the privacy loss of what is left, infinite if there is none.
    rho : zCDP of what is left, infinite if there is none.
    joint : whether many applications are better charged by the sum of their Renyi curves than by the
        product of their pairs.
    by_renyi : whether its pair says no more than its Renyi curve and its thinning do.
    blocks : for a number of adaptive applications, and a delta below which nothing matters, a pair whose power
        dominates them all together.
    why_not : why there is no pure, or no zCDP, guarantee.
    """

    renyi: Renyi
    pairs: tuple[Profile, ...]
    witness: Callable[[float], tuple[Profile, ...]]
    delta: float = 0.0
    pure: float = math.inf
    rho: float = math.inf
    joint: bool = False
    by_renyi: bool = False
    blocks: Callable[[int, float], Pair] | None = None
    why_not: str = ""


def whole(right: Profile, left: Profile) -> Profile:
    """`right` for x >= 0 and, with `left` the other order's, H_{-x}(P, Q) = 1 - e^{-x} + e^{-x} H_x(Q, P)."""

    def profile(x: Floats) -> Floats:
        ahead = x >= 0
        if x.ndim == 1 and ahead.all():  # as nearly always: of nothing the other half is not asked
            return right(x)
        delta = np.empty(x.shape)
        delta[ahead] = right(x[ahead])
        below = x[~ahead]
        delta[~ahead] = -np.expm1(below) + np.exp(below) * left(-below)
        return delta

    return profile


def symmetric(half: Profile) -> Profile:
    """The profile that is `half` for x >= 0, for both orders."""
    return whole(half, half)


def thin(delta: float, rest_of: Profile) -> Profile:
    """With probability `delta` everything is revealed: delta + (1 - delta) H; rounded up."""

    def profile(x: Floats) -> Floats:
        rest = rest_of(x)
        return np.where(rest > 0, (delta + (1 - delta) * rest) * (1 + 2 * ULP), delta)

    return profile if delta else rest_of


def two_point(high: float, low: float) -> Profile:
    """Losses `high` > 0 > `low` only: randomised response is `low = -high`. Rounded up.

    P(high) = (1 - e^low) / (1 - e^{low - high}), for the Q masses must sum to one too.
    """
    chance = math.expm1(low) / math.expm1(low - high) * (1 + 4 * ULP)

    def profile(x: Floats) -> Floats:
        between = chance * -np.expm1(np.minimum(x - high, 0.0))
        return np.where(x >= low, between, -np.expm1(np.minimum(x, low)))

    return profile


def two_point_renyi(chance: Floats, high: Floats, low: Floats, orders: Floats) -> Floats:
    """ln E_P[e^{(a-1) L}] / (a-1) for P(L = high) = chance, otherwise L = low; rounded up."""
    less = orders - 1
    spread = less * (high - low)
    moment = chance * np.expm1(np.minimum(less * high, 50.0)) + (1 - chance) * np.expm1(less * low)
    with np.errstate(divide="ignore"):
        near = np.log1p(np.maximum(moment, 0.0))
        far = np.logaddexp(np.log(chance) + less * high, np.log1p(-chance) + less * low)
    value = np.where(spread < 1.0, near, far)
    return (value + 8 * ULP * (spread + np.abs(value) + less * np.maximum(high, -low))) / less


def gaussian(rho: float) -> Profile:
    """The Gaussian mechanism, D_a = a rho: Phi(s/2 - x/s) - e^x Phi(-s/2 - x/s), s^2 = 2 rho. Not rounded."""
    if rho == 0:
        return lambda x: -np.expm1(np.minimum(x, 0.0))
    shift = math.sqrt(2 * rho)

    def profile(x: Floats) -> Floats:
        with IMPORTS:
            from scipy.special import log_ndtr, ndtr

        ratio = x + log_ndtr(-shift / 2 - x / shift) - log_ndtr(shift / 2 - x / shift)
        return ndtr(shift / 2 - x / shift) * -np.expm1(np.minimum(ratio, 0.0))

    return profile


def _ahead(mu: float, k: int, x: Floats) -> Floats:
    """forward(x) for x >= 0, rounded up: the terms i = k-1, k-2, ..., and a bound for those left out."""
    with IMPORTS:
        from scipy.special import gammaincc

    rate = (k * mu + x) * math.exp(-mu) / -math.expm1(-mu)
    first = max(0, k - _width(k))
    total = _poisson_sum(np.arange(first, k), rate, -np.expm1(-mu * np.arange(k - first, 0, -1.0)))
    if first:
        total = total + gammaincc(first, rate) * (1 + 1e-9)
    return np.minimum(total, 1.0)


def _behind(mu: float, k: int, x: Floats) -> Floats:
    """backward(x) for x >= 0, rounded up."""
    with IMPORTS:
        from scipy.special import gammainc

    delta = np.zeros(x.shape)
    inside = x < k * mu
    rate = (k * mu - x[inside]) / -math.expm1(-mu) * (1 + 4 * ULP)
    last = k + _width(k)
    total = _poisson_sum(np.arange(k + 1, last + 1), rate, -np.expm1(-mu * np.arange(1.0, last - k + 1)))
    delta[inside] = np.minimum(total + gammainc(last + 1, rate) * (1 + 1e-9), 1.0)
    return delta


def _width(k: int) -> int:
    """How many Poisson terms to add one by one: past nine deviations a bound for the rest is as good."""
    return math.ceil(9 * math.sqrt(k)) + 40


def _poisson_sum(counts: Indices, rate: Floats, weights: Floats) -> Floats:
    """sum_i weights_i P(Poisson(rate) = i), every weight in [0, 1]; rounded up."""
    with IMPORTS:
        from scipy.special import gammaln

    rows = np.maximum(rate.reshape(-1), 1e-300)
    sums = np.empty(rows.size)
    shape = gammaln(counts + 1.0)
    for block in np.array_split(np.arange(rows.size), max(1, rows.size * counts.size // 2**20)):
        column = rows[block][:, None]
        sums[block] = np.exp(counts * np.log(column) - column - shape) @ weights
    size = 1 + rows + counts[-1] * np.abs(np.log(rows)) + shape[-1]
    rounded: Floats = sums * (1 + 4 * ULP * size) + 5e-324
    return rounded.reshape(rate.shape)


def forward(mu: float, k: int) -> Profile:
    """The pair (moved, unmoved) on the whole line; rounded up."""
    return whole(lambda x: _ahead(mu, k, x), lambda x: _behind(mu, k, x))


def backward(mu: float, k: int) -> Profile:
    """The pair (unmoved, moved) on the whole line; rounded up."""
    return whole(lambda x: _behind(mu, k, x), lambda x: _ahead(mu, k, x))


def either(mu: float, k: int) -> Profile:
    """The least profile that covers both orders: k values moved in one direction, which is not known."""
    return symmetric(lambda x: np.maximum(_ahead(mu, k, x), _behind(mu, k, x)))


def forward_renyi(mu: float, orders: Floats) -> Floats:
    """D_a of the pair (moved, unmoved): -ln(...)/(a-1), infinite from a = 1 / (1 - e^{-mu}) on; rounded up.

    With l = e^{-mu}: ln(l^a / (a l + 1 - a)) / (a - 1), that is (-a mu - ln(1 - a (1 - l))) / (a - 1).
    """
    inside = orders * -math.expm1(-mu) * (1 + 4 * ULP)  # near the limit order its rounding is the whole value
    with np.errstate(divide="ignore", invalid="ignore"):
        value = -orders * mu - np.log1p(-inside)
    slack = 8 * ULP * (orders * mu + np.abs(value))
    return np.where(inside < 1, (np.maximum(value, 0.0) + slack) / (orders - 1), math.inf)


def backward_renyi(mu: float, orders: Floats) -> Floats:
    """D_a of the pair (unmoved, moved): ((a-1) mu - ln(1 + (a-1)(1 - e^{-mu}))) / (a-1); rounded up."""
    less = orders - 1
    value = less * mu - np.log1p(less * -math.expm1(-mu))
    return (np.maximum(value, 0.0) + 8 * ULP * less * mu) / less


WIDEST = (1e-6, 1e10)
"""Least and greatest order searched, less one."""
COARSE = np.geomspace(*WIDEST, 257)
"""Where every search begins."""
FINE = 33
"""How many orders are tried between two neighbours of the best."""


def log_delta(divergence: Floats, less: Floats, epsilon: Floats | float) -> Floats:
    """ln delta for D_a <= divergence at the orders 1 + less; rounded up."""
    order = 1 + less
    shape = -np.log(less) - order * np.log1p(1 / less)
    with np.errstate(over="ignore", invalid="ignore"):  # beyond floats it is infinite or nothing, and no order to take
        terms = less * (divergence - epsilon)
        return terms + shape + 4 * ULP * (1 + less * (divergence + np.abs(epsilon)) + np.abs(shape))


def epsilon_from(divergence: Floats, less: Floats, delta: float) -> Floats:
    """epsilon for D_a <= divergence at the orders 1 + less; rounded up."""
    tail = (math.log(delta) + np.log1p(less)) / less
    shape = -np.log1p(1 / less)
    return divergence + shape - tail + 4 * ULP * (1 + divergence + np.abs(shape) + np.abs(tail))


def _search(cost: Callable[[Floats], Floats]) -> tuple[float, float]:
    """The least cost over the orders 1 + less, and its `less`: a grid, then three finer ones around the best."""
    less = COARSE
    for finer in range(4):
        costs = cost(less)
        best = int(np.argmin(np.where(np.isnan(costs), math.inf, costs)))
        if finer == 3:
            break
        less = np.geomspace(less[max(best - 1, 0)], less[min(best + 1, len(less) - 1)], FINE)
    return float(costs[best]), float(less[best])


def renyi_delta(renyi: Renyi, epsilon: float) -> tuple[float, float]:
    """The least delta over all orders, rounded up, and the order it was found at."""
    value, less = _search(lambda grid: log_delta(renyi(1 + grid), grid, epsilon))
    return min(1.0, math.exp(min(value, 0.0)) * (1 + 4 * ULP)), 1 + less


def renyi_epsilon(renyi: Renyi, delta: float) -> tuple[float, float]:
    """The least epsilon over all orders, rounded up and never below 0, and the order it was found at."""
    value, less = _search(lambda grid: epsilon_from(renyi(1 + grid), grid, delta))
    return max(0.0, value), 1 + less


def renyi_profile(renyi: Renyi) -> Profile:
    """delta at x >= 0: the best order for a single x, a grid of orders for many. Its hull is a bound too."""
    less = np.geomspace(1e-4, 1e7, 400)
    fixed = log_delta(renyi(1 + less), less, 0.0)
    usable = np.isfinite(fixed)
    fixed, rates = fixed[usable], less[usable] * (1 - 8 * ULP)

    def half(x: Floats) -> Floats:
        if x.size == 1:
            return np.full(x.shape, renyi_delta(renyi, float(x.flat[0]))[0])
        if not x.size:
            return x
        delta = np.ones(x.size)
        for block in np.array_split(np.arange(x.size), x.size // 512 + 1):
            delta[block] = np.exp((fixed - rates * x.flat[block][:, None]).min(axis=1, initial=0.0))
        return delta.reshape(x.shape) * (1 + 4 * ULP)

    return half


SMALL = 2.0**-8
"""Below it three terms of the series, which are never too small (Lemma 165), are within 1e-19 of the value."""
BITS = 128
"""From there on Arb's balls: some 20 bits cancel, a hundred are left."""

LARGEST = sys.float_info.max


@lru_cache(1024)
def range_rho(epsilon: float) -> float:
    """x - 1 - ln x with x = epsilon / (1 - e^-epsilon), for epsilon-bounded range; rounded up.

    >>> range_rho(1.0)  # an eighth would do too
    0.12330156148224454
    """
    if epsilon < SMALL:
        return _series(epsilon, (3240, 45, 1), 25920)  # z/8 - z^2/576 + z^3/25920

    def value(wide: arb) -> arb:
        x = wide / -(-wide).expm1()
        return x - 1 - x.log()

    return _round_up(value, epsilon)


@lru_cache(1024)
def pure_rho(epsilon: float) -> float:
    """epsilon tanh(epsilon / 2), for epsilon-DP, that of randomised response; rounded up.

    >>> pure_rho(1.0)  # a half would do too
    0.4621171572600098
    """
    if epsilon < SMALL:
        return _series(epsilon, (120, 10, 1), 240)  # z/2 - z^2/24 + z^3/240
    return _round_up(lambda exact: exact * (exact / 2).tanh(), epsilon)


@lru_cache(1024)
def largest_range(rho: float, rounds: int = 1) -> float:
    """The largest epsilon of which `rounds` rounds of bounded range cost at most rho; rounded down, 0 if there is none.

    >>> largest_range(0.5)  # sqrt(8 rho) = 2 would do too
    2.055967111261563
    """

    def costs_more(epsilon: float) -> bool:
        return rounds * Fraction(range_rho(epsilon)) > Fraction(rho)

    low = math.sqrt(8) * math.sqrt(rho / rounds) * (1 - 1e-14)  # (Theorem 15)
    if costs_more(low):
        low = 0.0  # among the smallest floats
    high = 2 * low or 1.0
    while not costs_more(high):
        if high == LARGEST:
            return high
        low, high = high, min(2 * high, LARGEST)
    return bisect(costs_more, low, high, neighbours)[0]


def _series(epsilon: float, terms: tuple[int, int, int], common: int) -> float:
    """(first z - second z^2 + third z^3) / common of the exact z = epsilon^2; rounded up.

    In whole numbers, since fractions would be reduced at each step.
    """
    top, bottom = (whole * whole for whole in epsilon.as_integer_ratio())
    first, second, third = terms
    top, bottom = top * (bottom * (bottom * first - top * second) + top * top * third), bottom**3 * common
    nearest = top / bottom
    whole, parts = nearest.as_integer_ratio()
    return nearest if whole * bottom >= top * parts else math.nextafter(nearest, math.inf)


def _round_up(value: Callable[[arb], arb], epsilon: float) -> float:
    """The value, which is below epsilon; rounded up."""
    from flint import ctx

    with ctx.workprec(BITS):
        return min(up(exactly(value(ball(Fraction(epsilon))).upper())), epsilon)


WORK = 1.2e7
"""Steps to an epsilon, times points, times rounds: sets the grid, hence the time and the slack."""
FINEST, COARSEST = 256, 6
"""Steps to an epsilon, at most and at least."""
WIDE = 9.0
"""So many epsilon sqrt(rounds) above the mean V is below e^-162, and replaced by its value there."""
LEAST = 1e-300
"""A positive V is never kept below this: floats lose their digits there."""
ROUNDING = 2.0**12 * ULP
"""Each round is rounded up by this: far more than its arithmetic and what `CLEAR` leaves are off."""
ERROR = 2.0**16 * ULP
"""What rounding, of all rounds together, can do to a step^2 and b step^2, relative to V."""
CLEAR = 2.0**30 * ULP
"""Where a step^2 min(1, b/a)^2 exceeds so much of V, h is known to a part in ten thousand, the maximum to ROUNDING."""
NEAR = 1 / 64
"""A cell is looked into if its maximum lies within so many steps of it."""
Chords = tuple[Floats, Floats, Floats, Floats, Floats, Indices]
"""Of some cells: V at the start and its slope, both also an epsilon further on, ln(b/a) / 2, and their numbers."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid of `cells` steps to an epsilon, and what every round needs of it."""

    epsilon: float
    cells: int
    step: float
    odds: float
    """1 / (e^epsilon - 1)."""
    high: Floats
    """A(n step), n = 0 .. cells."""
    more: float
    """e^epsilon / (e^epsilon - 1)."""
    below: tuple[Floats, Floats]
    """1 - e^x and e^x at x = -epsilon .. -step."""
    numbers: Indices
    """0, 1, 2, .., as many as there are points."""

    @classmethod
    def of(cls, epsilon: float, cells: int, top: int) -> Grid:
        step, odds = epsilon / cells, 1 / math.expm1(epsilon)
        n, x = np.arange(cells + 1), -step * np.arange(cells, 0, -1)
        high = np.exp(n * step) * np.expm1((cells - n) * step) * odds
        below = -np.expm1(x), np.exp(x)
        return cls(epsilon, cells, step, odds, high, math.exp(epsilon) * odds, below, np.arange(top + 2 * cells + 1))


@lru_cache(maxsize=64)
@np.errstate(all="ignore")
def recursion(epsilon: float, rounds: int, nats: float = math.inf, finest: int = FINEST) -> tuple[float, Floats]:
    """Grid step and V(0), V(step), V(2 step), ... after `rounds` rounds; rounded up.

    Beyond its top V is replaced by its value there (V decreases); below zero it follows by symmetry (the mirror image
    of a window is a window).

    Parameters
    ----------
    epsilon
        The range of a round.
    rounds
        How many.
    nats
        Where V is below e^-nats it need not be told apart. By Hoeffding's inequality V is at most e^{-2 s^2 / rounds}
        from s epsilons above rounds epsilon^2 / 8 on.
    finest
        Steps to an epsilon, at most: fewer take less time and leave more slack.
    """
    reach = min(rounds * epsilon, rounds * epsilon**2 / 8 + WIDE * epsilon * math.sqrt(rounds))
    cells = min(max(int(math.sqrt(WORK * epsilon / (rounds * reach))), COARSEST), finest)
    reach = min(reach, rounds * epsilon**2 / 8 + epsilon * math.sqrt(rounds * nats / 2))
    top = math.ceil(reach / (epsilon / cells))
    grid = Grid.of(epsilon, cells, top)
    values = np.zeros(1)  # V_0; V_j is nothing from j epsilon on, and only what is not nothing is kept
    for done in range(1, rounds + 1):
        size = min(done * cells, top) + 1
        wide = np.zeros(size + 2 * cells)  # from -epsilon to epsilon above the last point
        wide[cells : cells + values.size] = values
        wide[cells + top :] = values[-1]
        wide[:cells] = grid.below[0] + grid.below[1] * wide[2 * cells : cells : -1]
        values = one_more(wide, grid)
        inside = values[:-1] if done * cells <= top else values
        np.maximum(inside, LEAST, out=inside)
    return grid.step, np.append(values, np.zeros(top + 1 - values.size))


def one_more(values: Floats, grid: Grid) -> Floats:
    """V_j at 0, step, ..., top from V_{j-1} at -epsilon, ..., top + epsilon; rounded up."""
    cells, step, odds = grid.cells, grid.step, grid.odds
    last = min(int(np.count_nonzero(values > LEAST)), values.size - cells - 1)
    slopes = values[1:] - values[:-1]
    slopes *= 1 / math.expm1(step)
    starts, far_starts, slope, far_slope = values[:last], values[cells:][:last], slopes[:last], slopes[cells:][:last]
    a = odds * (far_slope - slope) - slope
    bend = (odds * (starts - far_starts) + slope) / a  # b/a - 1
    log_bend = np.log1p(bend)
    least = np.minimum(bend, 0.0) + 1.0
    a *= step
    a *= step
    best, short = values.copy(), None  # t = 0 and t = epsilon give V(x)
    if not ((least > 0) & (a * least * least >= CLEAR * starts)).all():
        unknown, beyond, short = _doubts(a, a * least, starts, grid)
        log_bend[unknown] = 0.0
        _on_the_grid(best, values, beyond, grid)
    h = log_bend * (-1 / step)
    first = np.ceil(h - NEAR)
    np.clip(first, 1.0, cells - 1.0, out=first)
    log_bend *= 0.5
    chords = (starts, slope, far_starts, far_slope, log_bend, grid.numbers[:last])
    _inside(best, first, chords, short, grid)
    _inside(best, first + 1.0, chords, short, grid)
    third = np.flatnonzero(first - h <= NEAR)
    if third.size:
        some = starts[third], slope[third], far_starts[third], far_slope[third], log_bend[third], third
        _inside(best, np.minimum(first[third] + 2.0, cells), some, None if short is None else short[third], grid)
    best = best[cells : values.size - cells]
    best *= 1 + ROUNDING
    return np.minimum(best, 1.0, out=best)


def _inside(best: Floats, n: Floats, chords: Chords, short: Floats | None, grid: Grid) -> None:
    """Raises `best` by what is reached in each cell for the x that is n steps above its start, 1 <= n <= cells.

    At w = sqrt(e^{n step} b/a), or at the end of the cell that is nearest to it: there is a t for every one. `short` is
    by how much that may fall short of the maximum.
    """
    starts, slope, far_starts, far_slope, half_bend, cell = chords
    log_w = n * (grid.step / 2) + half_bend
    np.clip(log_w, 0.0, grid.step, out=log_w)
    more = np.expm1(log_w, out=log_w)
    steps = n.astype(np.int64)
    high = grid.high.take(steps) + grid.more * more  # A(t) w, of positive terms: 1 - B would lose its digits
    reached, far = starts + slope * more, far_starts + far_slope * more
    more += 1.0
    high /= more
    reached -= far
    reached *= high
    reached += far
    if short is not None:
        reached += short
    steps += cell
    np.maximum.at(best, steps, reached)


def _doubts(a: Floats, least: Floats, starts: Floats, grid: Grid) -> tuple[Mask, Floats, Floats]:
    """For each cell: whether its h is not known, by how much its maxima then may exceed its ends, or else fall short.

    `a` and `least` are a step^2 and min(a, b) step^2. A maximum at w exceeds what is d away from it in ln w by
    a w (2 cosh d - 2), at most a e^{3/2 step} d^2, and the nearer end is step / 2 away. A cell with b/a <
    e^{-epsilon - 2 step} has no maximum inside for any t.
    """
    doubt = ERROR * starts
    off = doubt / np.maximum(least, 5e-324)
    most = (np.abs(a) + doubt) * math.exp(1.5 * grid.step)
    unknown = ~((off <= NEAR) & (a > doubt))
    nowhere = least + doubt < (a - doubt) * math.exp(-grid.epsilon - 2 * grid.step)
    beyond = np.where(unknown & ~nowhere, most / 4, 0.0)
    return unknown, beyond, np.where(unknown, 0.0, most * off * off / 4)


def _on_the_grid(best: Floats, values: Floats, beyond: Floats, grid: Grid) -> None:
    """Raises `best` by all t on the grid, and by how much the cells on either side may go beyond."""
    cells, points = grid.cells, values.size - 2 * grid.cells
    beside = np.zeros(values.size)
    beside[: beyond.size] = beyond
    beside[1 : beyond.size + 1] = np.maximum(beside[1 : beyond.size + 1], beyond)
    inside, near, far = best[cells : cells + points], np.empty(points), np.empty(points)
    for back in range(cells + 1):
        low = min(math.expm1(back * grid.step) * grid.odds, 1.0)
        np.multiply(values[cells - back :][:points], 1 - low, out=near)
        np.multiply(values[2 * cells - back :][:points], low, out=far)
        near += far
        near += beside[cells - back :][:points]
        np.maximum(inside, near, out=inside)


BOUNDED_RANGE_WIDEST = 16.0
"""The recursion is not tried for windows wider than this: there is nothing to gain."""
TINY = 1e-220
NATS = 8.0
"""Recursions for deltas that differ by less may be the same."""
LONGEST_BLOCK = 300
"""So many rounds at most are followed by the recursion; more are charged as a product of blocks."""


def worst_window(epsilon: float, orders: Floats) -> Floats:
    """epsilon - t for the window [t - epsilon, t] of greatest Renyi divergence.

    e^{epsilon - t} = a / (a-1) * (1 - e^{-(a-1) epsilon}) / (1 - e^{-a epsilon}), the stationary point
    (Theorem 16).
    """
    less = orders - 1
    missing = np.exp(-less * epsilon) * math.expm1(-epsilon) / np.expm1(-orders * epsilon)
    under: Floats = np.log1p(1 / less) + np.log1p(-np.minimum(missing, 1 - ULP))
    return np.clip(under, 0.0, epsilon)


def range_renyi(epsilon: float, orders: Floats) -> Floats:
    """The greatest D_a under bounded range epsilon, at most min(a rho, epsilon) (Theorem 164); rounded up."""
    under = worst_window(epsilon, orders)
    chance = np.clip(np.expm1(-under) / math.expm1(-epsilon), 0.0, 1.0)
    tight = two_point_renyi(chance, epsilon - under, -under, orders)
    simple = np.minimum(orders * range_rho(epsilon) * (1 + 4 * ULP), epsilon)
    cancels = (orders * epsilon < 1e-3) | (orders < 1 + 1e-6)  # there the tight one loses its digits
    return np.where(cancels, simple, np.minimum(tight, simple))


def one_round(epsilon: float) -> Profile:
    """The best window for each x, t = (x + epsilon)/2: (1 - e^{(x-epsilon)/2})^2 / (1 - e^{-epsilon}).

    No single window attains it everywhere, but as a supremum of profiles it is itself the profile of a
    dominating pair. Rounded up.
    """

    def half(x: Floats) -> Floats:
        rise = np.expm1(np.minimum(x - epsilon, 0.0) / 2)
        return rise * (rise / -math.expm1(-epsilon)) * (1 + 16 * ULP)  # the square alone may underflow

    return symmetric(half)


def worst_law(epsilon: float, order: float) -> Profile:
    """Nearly the law of greatest D_order under bounded range epsilon; losses are multiples of epsilon/16."""
    parts = round(16 * float(worst_window(epsilon, np.array([order]))[0]) / epsilon)
    under = min(max(parts, 1), 15) * epsilon / 16
    return two_point(epsilon - under, -under)


def blocks(epsilon: float, rounds: int, small: float = 0.0) -> Pair:
    """A pair whose power dominates `rounds` adaptive rounds: blocks, each with the recursion's profile.

    Where no block length divides `rounds`, the last block is rounded up. Profiles below `small`, of all blocks
    together, are not told apart.
    """
    length = min(range(LONGEST_BLOCK, 2 * LONGEST_BLOCK // 3, -1), key=lambda size: -(-rounds // size) * size)
    length = min(length, rounds)
    times = -(-rounds // length)
    return Pair(many_rounds(epsilon, length, small / times), times, length * epsilon)


def many_rounds(epsilon: float, rounds: int, small: float = 0.0, finest: int = FINEST) -> Profile:
    """V_rounds of the recursion, by chords in e^x between its grid points; rounded up, but where it is below `small`
    not by little."""
    if rounds == 1:
        return one_round(epsilon)
    if epsilon < TINY:  # too small for a grid; together they are (rounds epsilon)-DP, hence of twice that range
        return one_round(2 * rounds * epsilon)
    step, values = recursion(epsilon, rounds, NATS * math.ceil(-math.log(small) / NATS) if small else math.inf, finest)

    def half(x: Floats) -> Floats:
        place = np.minimum(x / step, len(values) - 1.0)
        cell = np.minimum(place.astype(np.int64), len(values) - 2)
        share = np.expm1((place - cell) * step) / math.expm1(step)
        share = np.clip(share - 1e-9, 0.0, 1.0)
        return values[cell] + share * (values[cell + 1] - values[cell])

    return symmetric(half)
