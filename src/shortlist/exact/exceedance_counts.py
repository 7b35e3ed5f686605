"""How many of a crowd exceed a level: coefficients of prod_i (o_i + p_i w), by a Fourier sum on a tilted circle.

On the circle ``w = r e^{i theta}``, with pi the tilted chances and e^Lambda the scale of `saddlepoint`,

    [w^m] prod (o + p w) = e^Lambda (1/M) sum_theta e^{-i m theta} prod b(theta),   b = 1 + pi (e^{i theta} - 1).

M is odd: with an even M the angle of 180 degrees is its own mirror and must not be counted twice. Sites where pi is
near 0 or 1 enter through power sums, the others one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices
from shortlist.exact.effort import among, is_rough
from shortlist.exact.saddlepoint import Tilted

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
