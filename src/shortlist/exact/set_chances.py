"""Probabilities of sets under one-shot noise.

How many of a crowd exceed a level: coefficients of prod_i (o_i + p_i w), by a Fourier sum on a tilted circle.

On the circle ``w = r e^{i theta}``, with pi the tilted chances and e^Lambda the scale of `saddlepoint`,

    [w^m] prod (o + p w) = e^Lambda (1/M) sum_theta e^{-i m theta} prod b(theta),   b = 1 + pi (e^{i theta} - 1).

M is odd: with an even M the angle of 180 degrees is its own mirror and must not be counted twice. Sites where pi is
near 0 or 1 enter through power sums, the others one by one.

At the level of the best loser: where it lies, and what it adds to each law of one-shot top-k.

The best loser is the (k+1)-th largest noisy score. If it stands at z, k items exceed z, and the integrands below are
coefficients of w^k in products of q(w) = o + p w, with p, o and f the survival function, distribution function and
density of the noise at z - s_i. The tilt aims at k + 1/2 items, which lies strictly between what surely and what
possibly exceeds z whenever the integrand is not 0.

Scaled scores as distinct values with multiplicities, which is all that the laws depend on.

P[each set of winners], one by one: every set is one integral over the level at which the list ends (Theorem 125).

Without a line the list ends at the best loser. With a line, which runs along with noise of its own, it ends there or
after k items, whichever comes first (Proposition 263): then smaller sets are possible too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Mask
from shortlist.exact.effort import among, is_rough
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.quadrature import (
    Block,
    Crowd,
    Levels,
    Tilted,
    blocks,
    crowd_of,
    find_range,
    gather,
    log_bounds,
    refined,
    rounded,
    tilt,
)

Complexes: TypeAlias = NDArray[np.complex128]

_LEFT_OUT = -36.0
"""Angles whose characteristic function is below e^-36 are left out."""

_RARE = 0.02
"""Up to this pi (or 1 - pi), ln b and 1/b are taken from some terms of their power series."""

_TERMS, _ROUGH_TERMS = 11, 8
"""How many: an item adds an error of 1e-16, and of 1e-12 where a rough law is enough."""


@dataclass(frozen=True, slots=True)
class Circle:
    """The upper half of M equally spaced angles, those that carry weight, and the share of each in the mean."""

    angles: Floats
    shares: Floats
    size: int


def circle(tilted: Tilted, weights: Floats, refinement: int, *, whole_law: bool) -> Circle:
    """Angles enough for one coefficient near the mean, or for the whole law of the count around it.

    Aliases lie M (for the whole law M/2) away from the mean. So far out a count of variance V has probability below
    2 exp(-a^2 / (2 (V + a/3))); a = 8.2 sqrt V + 24 makes that 1e-15, in a search a = 7 sqrt V + 16 makes it 1e-10, and
    where a rough law is enough a = 5.8 sqrt V + 12 makes it 1e-7. More angles than items are never needed. An angle
    carries at most exp(-2 V sin^2(theta/2)). One circle serves all rows.
    """
    variance = tilted.spread @ weights
    wider = 8.0 * refinement
    deviations, more, left_out = among((8.2, 24.0 + wider, _LEFT_OUT), (7.0, 16.0 + wider, -26.0), (5.8, 12.0, -18.0))
    far = deviations * np.sqrt(max(float(variance.max()), 0.0)) + more
    away = min(far, float(np.abs(weights).sum()) + 2.0)
    half = int(np.ceil(away if whole_law else away / 2))
    size = 2 * half + 1
    angles = 2.0 * np.pi * np.arange(half + 1) / size
    carrying = -2.0 * float(variance.min()) * np.sin(angles / 2) ** 2 >= left_out
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
    terms = _terms()
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


def _terms() -> int:
    return _ROUGH_TERMS if is_rough() else _TERMS


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
    forth, back, terms = np.exp(1j * angles), np.exp(-1j * angles), _terms()
    for sites, turn, direction in ((transform.below, np.ones_like(forth), forth), (transform.above, back, back)):
        powers = np.vander(1.0 - direction, terms, increasing=True)
        once = ((first * turn) @ powers).real
        twice = ((second * turn**2) @ powers).real * np.arange(1, terms + 1)
        put(sites, _polynomial(once, tilted.rest[:, sites]), _polynomial(twice, tilted.rest[:, sites]))
    return result


def _real_sum(factor: Complexes, real: Floats, imaginary: Floats) -> Floats:
    result: Floats = np.einsum("zj,zjm->zm", factor.real, real) - np.einsum("zj,zjm->zm", factor.imag, imaginary)
    return result


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

    It lies above z if at least k + 1 items exceed z: Chernoff's bound, first with scores rounded to quarters in the
    safe direction, then with all of them, which is worth its time where the law is to be exact.
    """
    outer = _range(rounded(crowd, up=True), rounded(crowd, up=False), k, noise, (-1.0, 1.0))
    if is_rough():
        return outer
    near = gather(crowd, outer, noise, 0).crowd
    return _range(near, near, k, noise, outer)


def _range(upper: Crowd, lower: Crowd, k: int, noise: Noise, guess: Levels) -> Levels:
    return find_range(
        lambda levels: log_bounds(lower, noise, levels, k, side=-1),
        lambda levels: log_bounds(upper, noise, levels, k + 1, side=1),
        guess,
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
    for rows in _rows(block, everyone):
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


def included_in(crowd: Crowd, block: Block, k: int, noise: Noise, refinement: int) -> tuple[Floats, float]:
    """The part of Int [w^(k-1)] prod q (p_i / q_i) (sum f/q - f_i / q_i) dz that a block adds.

    For an item at each site of the crowd, and for an item that surely exceeds: that is the mass of the block.
    """
    at_sites, mass = np.zeros(crowd.values.size), 0.0
    for rows in _rows(block, crowd):
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
    for rows in _rows(block, crowd):
        tilted = tilt(crowd, noise, block.nodes[rows], min(max(number, 0.5), most - 0.5))
        around = circle(tilted, crowd.weights, refinement, whole_law=False)
        transform = spectrum(tilted, crowd.weights, crowd.sure - number, around.angles)
        terms = transform.product * around.shares * np.exp(tilted.log_scale(crowd, number))[:, None]
        result[:, rows] = terms.real.sum(axis=1), (terms * transform.densities).real.sum(axis=1)
    return result[0], result[1]


def _rows(block: Block, crowd: Crowd) -> Iterator[slice]:
    return rows_at_a_time(block.nodes.size, crowd.values.size)


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
    _scores: Floats
    """Of all that can be chosen, in the caller's order."""
    _reference: float

    @property
    def size(self) -> int:
        """How many items can be chosen at all."""
        return self._scores.size

    def best(self, number: int) -> Floats:
        """At each value, how many of the ``number`` best items are there (ties in the caller's order)."""
        better = self.counts[::-1].cumsum()[::-1] - self.counts
        return np.clip(number - better, 0.0, self.counts)

    def at_least(self, rank: int) -> Floats:
        """At each value, how many items score at least what the item of this rank (from 1) scores."""
        reached = self.counts[::-1].cumsum()[::-1] - self.counts < rank
        return np.where(reached, self.counts, 0.0)

    def per_item(self, at_values: Floats) -> Floats:
        """A function of the values as a function of the items, 0 for those that cannot be chosen."""
        result = np.zeros(self._eligible.size)
        result[self._eligible] = at_values[np.searchsorted(self.values, _relative(self._scores, self._reference))]
        return result


def items_of(s: Floats, reference_rank: int) -> Items:
    """The items of the scaled scores ``s``, relative to the one of this rank (from 1; at most their number).

    Differences are exact where they are small, so that nothing is lost near the reference.
    """
    eligible = s > -np.inf
    scores = s[eligible]
    rising = np.sort(scores)
    reference = float(rising[-min(reference_rank, scores.size)])
    rising = _relative(rising, reference)
    starts = np.flatnonzero(np.append(True, rising[1:] != rising[:-1]))
    counts = np.diff(np.append(starts, rising.size))
    return Items(rising[starts], counts.astype(np.float64), eligible, scores, reference)


def _relative(scores: Floats, reference: float) -> Floats:
    with np.errstate(over="ignore"):
        return np.clip(scores - reference, -_FAR, _FAR)


def checked_scores(s: Floats) -> Floats:
    """``s`` as a one-dimensional float64 array with at least one finite entry, no NaN and no +inf."""
    scores = np.asarray(s, dtype=np.float64)
    if scores.ndim != 1 or np.isnan(scores).any() or (scores == np.inf).any():
        raise ValueError("s must be a one-dimensional array of scaled scores, each finite or -inf")
    if not (scores > -np.inf).any():
        raise ValueError("s must contain at least one finite score")
    return scores


def checked_k(k: int, s: Floats) -> int:
    """``k`` as an integer from 1 to the number of finite scores."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= np.count_nonzero(s > -np.inf):
        raise ValueError("k must be an integer from 1 to the number of finite scores in s")
    return int(k)


MOST_SETS = 100_000
"""Of more sets nobody reads a list."""
ERROR = 1e-10
"""Doubling the nodes a last time changed no chance by more: their own errors are far smaller."""

LOWEST_LOG = -1e5
"""ln 0 for our purposes."""
_CELLS = 1 << 22


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
    >>> from shortlist.exact.noise_distributions import EXPONENTIAL
    >>> {one: round(p, 4) for one, p in set_probabilities(np.array([1.5, 1.0, 0.0]), 1, EXPONENTIAL).items()}
    {(0,): 0.6303, (1,): 0.2807, (2,): 0.089}
    """
    s = checked_scores(s)
    able = np.flatnonzero(s > -np.inf)
    d = len(able)
    sizes = [checked_k(k, s)] if line is None else list(range(min(k, d) + 1))
    if sum(math.comb(d, size) for size in sizes) > MOST_SETS:
        raise ValueError(f"there are more than {MOST_SETS:,} sets; ask for quality or inclusion_probabilities instead")
    if line is None and k == d:
        return {tuple(able.tolist()): 1.0}
    sets = list(chain.from_iterable(combinations(range(d), size) for size in sizes))
    values = s[able] if line is not None else s[able] - np.sort(s[able])[d - 1 - k]
    levels = line_levels(values, k, noise, line) if line is not None else _loser_levels(values, k, noise)
    inside = _indicator(sets, d)
    full = np.array([len(one) == k for one in sets])

    def evaluate(refinement: int) -> Floats:
        total = np.zeros(len(sets))
        for block in blocks([values, np.zeros(0 if line is None else 1)], levels, noise, refinement):
            size = max(1, _CELLS // len(sets))
            for start in range(0, block.nodes.size, size):
                rows = slice(start, start + size)
                total += block.weights[rows] @ _ending(block.nodes[rows], values, noise, line, inside, full)
        return total

    def settled(old: Floats, new: Floats) -> bool:
        return float(np.abs(new - old).max()) <= ERROR and abs(float(new.sum()) - 1.0) <= 10 * ERROR

    chances = np.clip(refined(evaluate, settled), 0.0, 1.0)
    named = (tuple(able[list(one)].tolist()) for one in sets)
    return dict(zip(named, chances.tolist(), strict=True))


def _ending(z: Floats, values: Floats, noise: Noise, line: float | None, inside: Floats, full: Floats) -> Floats:
    """Per level and set, the density that this set is above the level, all others below, and the list ends there."""
    x = z[:, None] - values
    above = np.maximum(noise.log_survival(x), LOWEST_LOG)
    below = np.maximum(noise.log_cdf(x), LOWEST_LOG)
    by_loser = np.exp(np.minimum(noise.log_density(x) - below, 700.0)) @ (1.0 - inside).T * full
    together = above @ inside.T + below @ (1.0 - inside).T
    if line is not None:
        log_line, log_density = line_law(z, noise, line)
        by_loser = by_loser + np.exp(np.minimum(log_density - log_line, 700.0))[:, None]
        together = together + log_line[:, None]
    result: Floats = np.exp(together) * by_loser
    return result


def line_law(z: Floats, noise: Noise, rate: float) -> tuple[Floats, Floats]:
    """ln of the distribution function and of the density of a line at 0 with noise divided by ``rate``."""
    return np.maximum(noise.log_cdf(rate * z), LOWEST_LOG), noise.log_density(rate * z) + math.log(rate)


def line_levels(values: Floats, k: int, noise: Noise, rate: float) -> Levels:
    """Levels outside of which no list ends, to a mass of e^-41 on each side: at the line, or at the best loser."""
    low, high = find_range(lambda z: noise.log_cdf(rate * z), lambda z: noise.log_survival(rate * z), (-1.0, 1.0))
    if k >= len(values):
        return low, high
    reference = float(np.sort(values)[len(values) - 1 - k])
    return low, max(high, reference + _loser_levels(values - reference, k, noise)[1])


def _loser_levels(values: Floats, k: int, noise: Noise) -> Levels:
    items = items_of(values, k + 1)
    return threshold_range(crowd_of(items.values, items.counts), k, noise)


def _indicator(sets: Iterable[tuple[int, ...]], d: int) -> Floats:
    """One row per set, 1 where an item is in it."""
    return np.array([[float(i in one) for i in range(d)] for one in map(frozenset, sets)])
