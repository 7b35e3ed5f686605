"""At the level of the best loser: where it lies, and what it adds to each law of one-shot top-k.

The best loser is the (k+1)-th largest noisy score. If it stands at z, k items exceed z, and the integrands below are
coefficients of w^k in products of q(w) = o + p w, with p, o and f the survival function, distribution function and
density of the noise at z - s_i. The tilt aims at k + 1/2 items, which lies strictly between what surely and what
possibly exceeds z whenever the integrand is not 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shortlist._arrays import Floats
from shortlist.exact.effort import is_rough
from shortlist.exact.exceedance_counts import circle, spectrum, with_one_above
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.quadrature import Block, find_range
from shortlist.exact.saddlepoint import Tilted, log_bounds, tilt
from shortlist.exact.weighted_scores import Crowd, Levels, gather, rounded

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
