"""Exact success probabilities of races: one winner, and the k best."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Mask, Values
from shortlist.exact.noise import EXPONENTIAL, GUMBEL, Noise
from shortlist.exact.reals import Contest, kth_largest
from shortlist.scores import Scores
from shortlist.utility import Quality, distribution, quality_by, ranks_within
from shortlist.utility.quadrature import (
    Block,
    Crowd,
    Gathering,
    Levels,
    Tilted,
    by_blocks,
    by_nodes,
    crowd_of,
    find_range,
    highest_density,
    log_all,
    log_bounds,
    refine,
    round_crowd,
    separation_range,
    tilt,
)

if TYPE_CHECKING:
    from shortlist.mechanisms.gaps import ExponentialWithGap
    from shortlist.mechanisms.race import NoisyMax, NoisyRace
    from shortlist.mechanisms.values import MeasuredSet

Complexes: TypeAlias = NDArray[np.complex128]

_LEFT_OUT = -36.0
"""Angles whose characteristic function is below e^-36 are left out."""

_RARE = 0.02
"""Up to this pi (or 1 - pi), ln b and 1/b are taken from some terms of their power series."""

_TERMS = 11
"""How many: an item adds an error of 1e-16."""


@dataclass(frozen=True, slots=True)
class Circle:
    """The upper half of M equally spaced angles, those that carry weight, and the share of each in the mean."""

    angles: Floats
    shares: Floats
    size: int


def circle(tilted: Tilted, weights: Floats, refinement: int, *, whole_law: bool) -> Circle:
    """Angles enough for one coefficient near the mean, or for the whole law of the count around it.

    Aliases lie M (for the whole law M/2) away from the mean. So far out a count of variance V has probability below
    2 exp(-a^2 / (2 (V + a/3))); a = 8.2 sqrt V + 24 makes that 1e-15. More angles than items are never needed. An angle
    carries at most exp(-2 V sin^2(theta/2)). One circle serves all rows.
    """
    variance = tilted.spread @ weights
    wider = 8.0 * refinement
    far = 8.2 * np.sqrt(max(float(variance.max()), 0.0)) + 24.0 + wider
    away = min(far, float(np.abs(weights).sum()) + 2.0)
    half = int(np.ceil(away if whole_law else away / 2))
    size = 2 * half + 1
    angles = 2.0 * np.pi * np.arange(half + 1) / size
    carrying = -2.0 * float(variance.min()) * np.sin(angles / 2) ** 2 >= _LEFT_OUT
    shares = np.where(angles > 0, 2.0, 1.0) / size
    return Circle(angles[carrying], shares[carrying], size)


@dataclass(frozen=True, slots=True)
class Spectrum:
    """A tilted crowd at some angles: e^{i shift theta} prod b^weight, and sum weight (f / q) with q = o + p w.

    To leave one item out again it keeps which sites were taken one by one (``near``), the two parts of their 1/b,
    and which were taken by power sums, on either side.
    """

    product: Complexes
    densities: Complexes
    near: Indices
    real: Floats
    imaginary: Floats
    below: Indices
    above: Indices


def spectrum(tilted: Tilted, weights: Floats, shift: Floats | float, angles: Floats) -> Spectrum:
    """The spectrum of sites with these weights; ``shift`` is the number of sure items minus the power of w wanted."""
    always, ever = tilted.major.all(axis=0), tilted.major.any(axis=0)
    rare = (tilted.rest <= _RARE).all(axis=0) & (always == ever)
    near, below, above = (np.flatnonzero(mask) for mask in (~rare, rare & ~ever, rare & ever))

    logs, densities, real, imaginary = _one_by_one(tilted.among(near), weights[near], angles)
    logs_below, densities_below = _power_sums(tilted.among(below), weights[below], angles)
    logs_above, densities_above = _power_sums(tilted.among(above), weights[above], angles)
    turns = tilted.major @ weights + shift
    product = np.exp(logs + logs_below + logs_above.conj() + 1j * angles * turns[:, None])
    densities = densities + densities_below + np.exp(-1j * angles) * densities_above.conj()
    return Spectrum(product, densities, near, real, imaginary, below, above)


def _one_by_one(tilted: Tilted, weights: Floats, angles: Floats) -> tuple[Complexes, Complexes, Floats, Floats]:
    """sum weight ln b (without i theta for each item with pi > 1/2), sum weight density / b, and 1/b in two parts."""
    versine, sine = 2.0 * np.sin(angles / 2)[:, None] ** 2, np.sin(angles)[:, None]
    rest, chance = tilted.rest[:, None, :], tilted.chance[:, None, :]
    square = 1.0 - (2.0 * tilted.spread[:, None, :]) * versine
    argument = np.arctan(rest * sine / (1.0 - rest * versine))
    signed = np.where(tilted.major, -weights, weights)
    logs = np.log(square) @ (0.5 * weights) + 1j * np.einsum("zjm,zm->zj", argument, signed)
    real = (1.0 - chance * versine) / square
    imaginary = chance * (-sine) / square
    weighted = tilted.density * weights
    densities = np.einsum("zjm,zm->zj", real, weighted) + 1j * np.einsum("zjm,zm->zj", imaginary, weighted)
    return logs, densities, real, imaginary


def _power_sums(tilted: Tilted, weights: Floats, angles: Floats) -> tuple[Complexes, Complexes]:
    """sum weight ln(1 + rest e) and sum weight density / (1 + rest e), with e = e^{i theta} - 1.

    For sites with pi > 1/2 the conjugates are what is wanted: b = e^{i theta} (1 + rest conj(e)).
    """
    terms = _TERMS
    powers: Complexes = np.vander(np.exp(1j * angles) - 1.0, terms, increasing=True).T
    weighted = tilted.density * weights
    logs, inverses = np.zeros((2, tilted.rest.shape[0], terms))
    inverses[:, 0] = weighted.sum(axis=1)
    power, factor = tilted.rest.copy(), -tilted.rest
    for n in range(1, terms):  # power is (-1)^(n+1) rest^n
        logs[:, n] = power @ weights
        logs[:, n] /= n
        inverses[:, n] = np.einsum("zm,zm->z", power, weighted)
        power *= factor
    inverses[:, 1:] *= -1.0
    return logs @ powers, inverses @ powers


def with_one_above(tilted: Tilted, transform: Spectrum, angles: Floats, factor: Floats) -> Floats:
    """Per row and site, [w^m] prod q (p w / q)(sum f/q - f/q): one item of the site above, another item at the level.

    ``factor`` (rows x angles) is whatever multiplies the terms of the Fourier sum.
    """
    second = transform.product * factor * np.exp(1j * angles)
    first = second * transform.densities
    result = np.zeros_like(tilted.rest)

    def put(sites: Indices, once: Floats, twice: Floats) -> None:
        part = tilted.among(sites)
        result[:, sites] = part.chance * (once - part.density * twice)

    put(
        transform.near,
        _real_sum(first, transform.real, transform.imaginary),
        _real_sum(second, transform.real**2 - transform.imaginary**2, 2.0 * transform.real * transform.imaginary),
    )
    forth, back, terms = np.exp(1j * angles), np.exp(-1j * angles), _TERMS
    for sites, turn, direction in ((transform.below, np.ones_like(forth), forth), (transform.above, back, back)):
        powers = np.vander(1.0 - direction, terms, increasing=True)
        once = ((first * turn) @ powers).real
        twice = ((second * turn**2) @ powers).real * np.arange(1, terms + 1)
        put(sites, _polynomial(once, tilted.rest[:, sites]), _polynomial(twice, tilted.rest[:, sites]))
    return result


def _real_sum(factor: Complexes, real: Floats, imaginary: Floats) -> Floats:
    return np.einsum("zj,zjm->zm", factor.real, real) - np.einsum("zj,zjm->zm", factor.imag, imaginary)


def _polynomial(coefficients: Floats, x: Floats) -> Floats:
    """Row by row, sum_n coefficients[:, n] x^n."""
    result = np.zeros_like(x)
    for column in coefficients.T[::-1]:
        result = result * x + column[:, None]
    return result


_AT_A_TIME = 9_000
"""Nodes x sites taken together, so that what belongs to them stays in the processor's cache."""


def threshold_range(crowd: Crowd, k: int, noise: Noise) -> Levels:
    """Levels that hold the (k+1)-th largest noisy score up to a mass of e^-41 on each side.

    It lies above z if at least k + 1 items exceed z: Chernoff's bound with scores rounded in the safe direction.
    """
    up, down = (round_crowd(crowd, up=one) for one in (True, False))
    return find_range(
        lambda levels: log_bounds(down, noise, levels, k, side=-1),
        lambda levels: log_bounds(up, noise, levels, k + 1, side=1),
    )


def correct_in(correct: Crowd, others: Crowd, block: Block, k: int, noise: Noise, refinement: int) -> Floats:
    """The part of Int (alpha'_c beta_{k-c} + alpha_c beta'_{k-c}) dz that a block adds, c = 0..k.

    alpha_c = [w^c] prod q and alpha'_c = [w^c] prod q sum f/q over the correct items, beta likewise over the others.
    """
    everyone = Crowd(
        np.concatenate([correct.values, others.values]),
        np.concatenate([correct.weights, others.weights]),
        correct.sure + others.sure,
    )
    first, second = np.split(np.arange(everyone.values.size), [correct.values.size])
    result = np.zeros(k + 1)
    for rows in rows_at_a_time(block.nodes.size, everyone.values.size):
        tilted = tilt(everyone, noise, block.nodes[rows], k + 0.5)
        scale = block.weights[rows] * np.exp(tilted.log_scale(everyone, k))
        middle = np.clip(np.rint(tilted.chance[:, first] @ correct.weights + correct.sure), 0, k)
        alpha, alpha_density = _laws_around(tilted.among(first), correct, middle, refinement)
        beta, beta_density = (
            law[:, ::-1] for law in _laws_around(tilted.among(second), others, k - middle, refinement)
        )
        half = min(alpha.shape[1], beta.shape[1]) // 2
        alpha, alpha_density, beta, beta_density = (
            law[:, law.shape[1] // 2 - half : law.shape[1] // 2 + half + 1]
            for law in (alpha, alpha_density, beta, beta_density)
        )
        terms = scale[:, None] * (alpha_density * beta + alpha * beta_density)
        number = middle.astype(np.int64)[:, None] + np.arange(-half, half + 1)
        possible = (number >= 0) & (number <= k)
        result += np.bincount(number[possible], terms[possible], minlength=k + 1)
    return result


def _laws_around(tilted: Tilted, crowd: Crowd, centre: Floats, refinement: int) -> tuple[Floats, Floats]:
    """The tilted coefficients of prod q and of prod q sum f/q, M of them around each row's centre."""
    around = circle(tilted, crowd.weights, refinement, whole_law=True)
    transform = spectrum(tilted, crowd.weights, crowd.sure - centre, around.angles)
    law = np.fft.irfft(transform.product.conj(), around.size)
    density = np.fft.irfft((transform.product * transform.densities).conj(), around.size)
    return np.fft.fftshift(law, axes=1), np.fft.fftshift(density, axes=1)


def inclusion_in(crowd: Crowd, block: Block, k: int, noise: Noise, refinement: int) -> tuple[Floats, float]:
    """The part of Int [w^(k-1)] prod q (p_i / q_i) (sum f/q - f_i / q_i) dz that a block adds.

    For an item at each site of the crowd, and for an item that surely exceeds: that is the mass of the block.
    """
    at_sites, mass = np.zeros(crowd.values.size), 0.0
    for rows in rows_at_a_time(block.nodes.size, crowd.values.size):
        tilted = tilt(crowd, noise, block.nodes[rows], k + 0.5)
        around = circle(tilted, crowd.weights, refinement, whole_law=False)
        transform = spectrum(tilted, crowd.weights, crowd.sure - k, around.angles)
        factor = around.shares * (block.weights[rows] * np.exp(tilted.log_scale(crowd, k)))[:, None]
        at_sites += with_one_above(tilted, transform, around.angles, factor).sum(axis=0)
        mass += float((transform.product * transform.densities * factor).real.sum())
    return at_sites, mass


def coefficients(crowd: Crowd, block: Block, number: int, noise: Noise, refinement: int) -> tuple[Floats, Floats]:
    """[w^number] prod q and [w^number] prod q sum f/q at the nodes of a block."""
    result = np.zeros((2, block.nodes.size))
    most = float(crowd.weights.sum() + crowd.sure)
    for rows in rows_at_a_time(block.nodes.size, crowd.values.size):
        tilted = tilt(crowd, noise, block.nodes[rows], min(max(number, 0.5), most - 0.5))
        around = circle(tilted, crowd.weights, refinement, whole_law=False)
        transform = spectrum(tilted, crowd.weights, crowd.sure - number, around.angles)
        terms = transform.product * around.shares * np.exp(tilted.log_scale(crowd, number))[:, None]
        result[:, rows] = terms.real.sum(axis=1), (terms * transform.densities).real.sum(axis=1)
    return result[0], result[1]


def rows_at_a_time(nodes: int, sites: int) -> Iterator[slice]:
    """The nodes, some at a time."""
    size = max(1, _AT_A_TIME // max(1, sites))
    return (slice(start, start + size) for start in range(0, nodes, size))


_FAR = 1e300


@dataclass(frozen=True, slots=True)
class Items:
    """Distinct values in increasing order, relative to one of them, with the number of items at each."""

    values: Floats
    counts: Floats
    _eligible: Mask
    _relative: Floats
    """Of all that can be chosen, in the caller's order."""

    @property
    def size(self) -> int:
        """How many items can be chosen at all."""
        return self._relative.size

    @property
    def crowd(self) -> Crowd:
        """All of them."""
        return crowd_of(self.values, self.counts)

    def best(self, number: int) -> Floats:
        """At each value, how many of the ``number`` best items are there (ties in the caller's order)."""
        better = self.counts[::-1].cumsum()[::-1] - self.counts
        return np.clip(number - better, 0.0, self.counts)

    def per_item(self, at_values: Floats) -> Floats:
        """A function of the values as a function of the items, 0 for those that cannot be chosen."""
        result = np.zeros(self._eligible.size)
        result[self._eligible] = at_values[np.searchsorted(self.values, self._relative)]
        return result


def items_of(s: Floats, reference_rank: int) -> Items:
    """The items of the scaled scores ``s``, relative to the one of this rank (from 1; at most their number).

    Differences are exact where they are small, so that nothing is lost near the reference.
    """
    eligible = s > -np.inf
    scores = s[eligible]
    with np.errstate(over="ignore"):
        relative = np.clip(scores - np.sort(scores)[-min(reference_rank, scores.size)], -_FAR, _FAR)
    values, counts = np.unique(relative, return_counts=True)
    return Items(values, counts.astype(np.float64), eligible, relative)


MOST_SETS = 100_000
"""Of more sets nobody reads a list."""
ERROR = 1e-10
"""Doubling the nodes a last time changed no chance by more: their own errors are far smaller."""

LOWEST_LOG = -1e5
"""ln 0 for our purposes."""


def apart(old: Floats, new: Floats) -> float:
    """The largest difference."""
    return float(np.abs(new - old).max())


def set_probabilities(s: Floats, k: int, noise: Noise, line: float | None = None) -> dict[tuple[int, ...], float]:
    """P[the items returned are these], by their positions in ``s``: exact, to 1e-9.

    Parameters
    ----------
    s
        Scores in noise units, one per item, above the line if there is one; -inf is an item that is never chosen.
    k
        How many items are returned; with a line, at most so many.
    noise
        Any noise kind that is smooth between its kinks.
    line
        The noise of the line is that of an item, divided by this rate. None: there is no line.

    Raises
    ------
    ValueError
        if there are more than 100,000 sets.

    Examples
    --------
    >>> from shortlist.exact.noise import EXPONENTIAL
    >>> {one: round(p, 4) for one, p in set_probabilities(np.array([1.5, 1.0, 0.0]), 1, EXPONENTIAL).items()}
    {(0,): 0.6303, (1,): 0.2807, (2,): 0.089}
    """
    able = np.flatnonzero(s > -np.inf)
    d = len(able)
    sizes = [k] if line is None else range(min(k, d) + 1)
    if sum(math.comb(d, size) for size in sizes) > MOST_SETS:
        raise ValueError(f"there are more than {MOST_SETS:,} sets; ask for quality or inclusion_probabilities instead")
    if line is None and k == d:
        return {tuple(able.tolist()): 1.0}
    sets = list(chain.from_iterable(combinations(range(d), size) for size in sizes))
    values = s[able] if line is not None else s[able] - np.sort(s[able])[d - 1 - k]
    levels = line_levels(values, k, noise, line) if line is not None else _loser_levels(values, k, noise)
    inside = np.array([[float(i in one) for i in range(d)] for one in map(frozenset, sets)])
    full = np.array([len(one) == k for one in sets])

    def density(z: Floats, _: Levels) -> Floats:
        """Per set, the density that it is above the level, all others below, and the list ends there."""
        x = z[:, None] - values
        above = np.maximum(noise.log_survival(x), LOWEST_LOG)
        below = np.maximum(noise.log_cdf(x), LOWEST_LOG)
        by_loser = np.exp(np.minimum(noise.log_density(x) - below, 700.0)) @ (1.0 - inside).T * full
        together = above @ inside.T + below @ (1.0 - inside).T
        if line is not None:
            log_line, log_density = line_law(z, noise, line)
            by_loser = by_loser + np.exp(np.minimum(log_density - log_line, 700.0))[:, None]
            together = together + log_line[:, None]
        return np.asarray(np.exp(together) * by_loser)

    evaluate = by_nodes([values, np.zeros(0 if line is None else 1)], levels, noise, density, len(sets))
    chances = refine(evaluate, lambda old, new: apart(old, new) <= ERROR and abs(new.sum() - 1.0) <= 10 * ERROR)
    named = (tuple(able[list(one)].tolist()) for one in sets)
    return dict(zip(named, np.clip(chances, 0.0, 1.0).tolist(), strict=True))


def line_law(z: Floats, noise: Noise, rate: float) -> tuple[Floats, Floats]:
    """ln of the distribution function and of the density of a line at 0 with noise divided by ``rate``."""
    return np.maximum(noise.log_cdf(rate * z), LOWEST_LOG), noise.log_density(rate * z) + math.log(rate)


def line_levels(values: Floats, k: int, noise: Noise, rate: float) -> Levels:
    """Levels outside of which no list ends, to a mass of e^-41 on each side: at the line, or at the best loser."""
    low, high = find_range(lambda z: noise.log_cdf(rate * z), lambda z: noise.log_survival(rate * z))
    if k >= len(values):
        return low, high
    reference = float(np.sort(values)[len(values) - 1 - k])
    return low, max(high, reference + _loser_levels(values - reference, k, noise)[1])


def _loser_levels(values: Floats, k: int, noise: Noise) -> Levels:
    return threshold_range(items_of(values, k + 1).crowd, k, noise)


_SETTLED = 1e-10
"""Change accepted between two rules, the second with twice the nodes: its own error is about the square."""

_WHOLE = 1e-12
"""How far from 1 the probabilities may sum, and as much again for every 10000 items: rounding errors add up."""


def winner_probabilities(s: Floats, noise: Noise) -> Floats:
    """P[i has the largest s_i + N_i] for every i, with independent noise N_i: exact to 1e-12, and summing to 1.

    Gumbel: e^{s_i} / sum_j e^{s_j}. Exponential, with p_j = e^{s_j - max s}: the permute-and-flip law
    ``p_i Int_0^1 prod_{j != i} (1 - p_j t) dt``. Otherwise ``Int f(z - s_i) prod_{j != i} F(z - s_j) dz``.

    Parameters
    ----------
    s
        Scores in noise units, one per item; -inf is an item that is never chosen.
    noise
        Any noise kind that is smooth between its kinks.

    Raises
    ------
    ValueError
        If s has a NaN, a +inf, or no finite score.
    ArithmeticError
        If the accuracy was not reached, which smooth noise does not do.

    Examples
    --------
    >>> winner_probabilities(np.array([1.5, 1.0, 0.0]), EXPONENTIAL).round(4).tolist()
    [0.6303, 0.2807, 0.089]
    """
    items = items_of(s, 1)
    if noise is GUMBEL:
        odds = np.exp(items.values)
        return items.per_item(odds / (odds @ items.counts))
    if noise is EXPONENTIAL:
        return items.per_item(permute_and_flip(items.values, items.counts))
    return items.per_item(_by_level(items, noise))


def permute_and_flip(values: Floats, counts: Floats) -> Floats:
    """p_i Int_0^1 prod_{j != i} (1 - p_j t) dt per value, by Gauss-Legendre and never by coefficients.

    Values are those of classes of so many items, at most 0; one at least is 0. Up to d = 32 one rule of 16 nodes is
    exact. Beyond, the product is below e^-45 from t = 45 / sum p on, and behaves like e^(-t sum p) before: 16 nodes on
    each of 4 panels leave less than 1e-15.
    """
    chance = np.exp(values)
    panels, last = (1, 1.0) if counts.sum() <= 32 else (4, min(1.0, 45.0 / float(chance @ counts)))
    node, weight = np.polynomial.legendre.leggauss(16)
    result = np.zeros_like(chance)
    for panel in range(panels):
        for t, share in zip((2 * panel + 1 + node) * last / (2 * panels), weight * last / (2 * panels), strict=True):
            log_product = np.log1p(-chance * t) @ counts
            result += share * np.exp(log_product) * chance / (1.0 - chance * t)
    return result


def _by_level(items: Items, noise: Noise) -> Floats:
    """Int f(z - s_i) prod_{j != i} F(z - s_j) dz per value."""
    crowd, nobody = crowd_of(items.values, items.counts, count_above=False), crowd_of(items.values, 0.0 * items.counts)
    levels, whole = separation_range(nobody, crowd, noise), _WHOLE * (1.0 + items.size / 10_000)

    def part(block: Block, _: int, seen: Sequence[Gathering]) -> Floats:
        densities = highest_density(seen[0].crowd, noise, block.nodes, np.log(block.weights))
        return np.append(seen[0].spread(densities.sum(axis=0), 0.0), 0.0)

    def is_settled(old: Floats, new: Floats) -> bool:
        total = abs(float(new @ items.counts) - 1.0)
        return apart(old * items.counts, new * items.counts) <= _SETTLED and total <= whole

    return np.maximum(refine(by_blocks([crowd], levels, noise, part, spread=True), is_settled), 0.0)


ONESHOT_LAW_ERROR = 1e-9
"""Doubling the nodes a last time changed the value by at most this, so that its own error is far smaller."""

SMALLEST = 1e-290
"""Chances below this are sums of numbers that floats hold with few digits: nothing is relative to them."""


@dataclass(frozen=True, slots=True)
class OneshotDistribution:
    """The k largest s_i + N_i: how likely which of them are released."""

    s: Floats
    k: int
    noise: Noise

    @classmethod
    def of(cls, values: Values, k: int, scale: Fraction, noise: Noise) -> OneshotDistribution:
        """That of exact scores under noise of that scale: s is how far each is above the k-th largest."""
        contest = Contest(values, k, scale, noise, kth_largest(values, k))
        return cls(np.where(values == -np.inf, -np.inf, contest.positions(values)), k, noise)

    @property
    def _items(self) -> Items:
        return items_of(self.s, self.k + 1)

    def winners(self) -> Floats:
        """Return P[candidate i wins], of one winner."""
        return winner_probabilities(self.s, self.noise)

    def sets(self) -> dict[tuple[int, ...], float]:
        """P[each set is returned], where there are few."""
        return set_probabilities(self.s, self.k, self.noise)

    def success(self) -> float:
        """P[the set returned is right: its scores are the k largest scores], ties counting as equal.

        With A the items above the k-th largest score, T those at it, B those below, and v = k - |A|, it is
        ``C(|T|, v) Int S_A S_T^v d[F_T^(|T|-v) F_B]``. ERROR is relative here: tiny values are exact too.
        """
        items, noise = self._items, self.noise
        if self.k == items.size:
            return 1.0
        inside = items.best(self.k)
        lowest = np.flatnonzero(inside)[0]
        log_sets = math.log(math.comb(int(items.counts[lowest]), int(inside[lowest])))
        winners = crowd_of(items.values, inside, drop_below=False)
        losers = crowd_of(items.values, items.counts - inside, count_above=False)

        def part(block: Block, _: int, seen: Sequence[Gathering]) -> float:
            above, below = (one.crowd for one in seen)
            log_factor = log_sets + log_all(above, noise.log_survival, block.nodes) + np.log(block.weights)
            return float((highest_density(below, noise, block.nodes, log_factor) @ below.weights).sum())

        evaluate = by_blocks([winners, losers], separation_range(winners, losers, noise), noise, part)
        chance = refine(evaluate, lambda old, new: apart(old, new) <= ONESHOT_LAW_ERROR * max(new[0], SMALLEST))
        return min(1.0, float(chance[0]))

    def number_correct(self, rank: int | None = None) -> Floats:
        """P[c of the items returned are correct], c = 0..k: those that score at least the k-th largest.

        Or the largest of another rank, if it is given.

        With alpha_c = [w^c] prod_A q and alpha'_c = [w^c] prod_A q sum_A f/q over the correct items A, and beta
        likewise over the others, it is ``Int (alpha'_c beta_{k-c} + alpha_c beta'_{k-c}) dz``. Its sum is an error
        meter that costs nothing: nodes are added until it is 1 to within ERROR.
        """
        items, k, noise = self._items, self.k, self.noise
        if k == items.size:
            return np.concatenate([np.zeros(k), [1.0]])
        inside = items.best(k if rank is None else rank)
        correct = crowd_of(items.values, np.where(inside > 0, items.counts, 0.0))
        others = crowd_of(items.values, np.where(inside > 0, 0.0, items.counts))

        def part(block: Block, refinement: int, seen: Sequence[Gathering]) -> Floats:
            return correct_in(seen[0].crowd, seen[1].crowd, block, k, noise, refinement)

        def is_settled(old: Floats, new: Floats) -> bool:
            return max(apart(old, new), abs(float(new.sum()) - 1.0)) <= ONESHOT_LAW_ERROR

        evaluate = by_blocks([correct, others], threshold_range(items.crowd, k, noise), noise, part)
        return np.maximum(refine(evaluate, is_settled), 0.0)

    def inclusion(self) -> Floats:
        """P[i is among the k items returned] for every i; they sum to k.

        ``Int [w^(k-1)] prod_j q_j (p_i / q_i) (sum_j f_j / q_j - f_i / q_i) dz``. Nodes are added until the sum is k to
        within k ERROR.
        """
        items, k, noise = self._items, self.k, self.noise
        if k == items.size:
            return items.per_item(np.ones_like(items.values))

        def part(block: Block, refinement: int, seen: Sequence[Gathering]) -> Floats:
            at_sites, mass = inclusion_in(seen[0].crowd, block, k, noise, refinement)
            return np.append(seen[0].spread(at_sites, mass), mass)

        def is_settled(old: Floats, new: Floats) -> bool:
            return max(apart(old, new), abs(float(new @ items.counts) / k - 1.0)) <= ONESHOT_LAW_ERROR

        evaluate = by_blocks([items.crowd], threshold_range(items.crowd, k, noise), noise, part, spread=True)
        return items.per_item(np.clip(refine(evaluate, is_settled), 0.0, 1.0))

    def within(self, head: int, reach: int) -> float:
        """P[ranks 1 to ``head`` are all returned and no rank beyond ``reach`` is], for 0 <= head <= k <= reach.

        With A the ranks up to head, B those beyond reach, T those between, and m = k - head, it is
        ``Int S_A F_B {(sum_B f/F) [w^m] prod_T q + [w^m] prod_T q sum_T f/q} dz``.
        """
        items, k, noise = self._items, self.k, self.noise
        if k == items.size:
            return 1.0
        first, last = items.best(head), items.best(reach)
        heads, middle = crowd_of(items.values, first, drop_below=False), crowd_of(items.values, last - first)
        tail = crowd_of(items.values, items.counts - last, count_above=False)

        def part(block: Block, refinement: int, seen: Sequence[Gathering]) -> float:
            above, between, below = (one.crowd for one in seen)
            log_factor = log_all(above, noise.log_survival, block.nodes) + np.log(block.weights)
            loser_below = highest_density(below, noise, block.nodes, log_factor) @ below.weights
            loser_between = np.exp(log_factor + log_all(below, noise.log_cdf, block.nodes))
            count, density = coefficients(between, block, k - head, noise, refinement)
            return float(loser_below @ count + loser_between @ density)

        evaluate = by_blocks([heads, middle, tail], threshold_range(items.crowd, k, noise), noise, part)
        return float(np.clip(refine(evaluate, lambda old, new: apart(old, new) <= ONESHOT_LAW_ERROR)[0], 0.0, 1.0))

    def quality(self) -> Quality:
        """P[right], P[great], P[good] and the expected recall, E[number correct] / k, of the set returned."""
        great, good = ranks_within(np.sort(self.s)[::-1], self.k)
        return quality_by(
            self.success,
            lambda: self.within(*great),
            lambda: self.within(*good),
            lambda: min(1.0, float(self.number_correct() @ np.arange(self.k + 1)) / self.k),
        )


@dataclass(frozen=True, slots=True)
class WinnerDistribution:
    """One winner, by the chance of every candidate."""

    chances: Floats
    right: Mask
    """Who has the largest score."""

    def winners(self) -> Floats:
        return self.chances

    def success(self) -> float:
        return float(self.chances[self.right].sum())

    def quality(self) -> Quality:
        """Of one item all four are equal."""
        right = self.success()
        return Quality(top=right, great=right, good=right, recall=right)


def noisy_race(mechanism: NoisyRace[Any], scores: Scores) -> OneshotDistribution:
    """Return the distribution of who is released: gaps and values change nothing of it."""
    return OneshotDistribution.of(scores.values, mechanism._winners, mechanism._scale(scores), mechanism._kind)


def noisy_max(mechanism: NoisyMax, scores: Scores) -> OneshotDistribution | WinnerDistribution:
    """Return the distribution of the winner; with a prior, of scores that are ahead by the logarithms of weights."""
    if mechanism.prior is None:
        return noisy_race(mechanism, scores)
    chances = winner_probabilities(mechanism.positions(scores), GUMBEL)
    return WinnerDistribution(chances, scores.values == scores.values.max())


def exponential_with_gap(mechanism: ExponentialWithGap, scores: Scores) -> WinnerDistribution:
    """Return the distribution of the winner; a winner that was given wins."""
    if mechanism.winner is None:
        chances = noisy_race(mechanism, scores).winners()
    else:
        chances = np.zeros(len(scores))
        chances[mechanism._place(scores)] = 1.0
    return WinnerDistribution(chances, scores.values == scores.values.max())


def measured_set(mechanism: MeasuredSet, scores: Scores) -> Any:
    """Return the distribution of the set: measuring changes nothing of who is named."""
    return distribution(mechanism._parts(scores.public).selection, scores)


DISTRIBUTIONS: dict[str, Any] = {
    "MeasuredSet": measured_set,
    "NoisyRace": noisy_race,
    "NoisyMax": noisy_max,
    "ExponentialWithGap": exponential_with_gap,
}
