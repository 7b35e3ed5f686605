"""Noise in few operations, for races that need no more: Q(U) plus a constant, the same for all words, to ROUGH.

That holds for words from PLAIN on that are below 2^64 - PLAIN. U and 1 - U are then at least 2^-24, so that neither the
part that is not drawn, nor the last bit, nor the rounding of U to a float (2^-53) changes a logarithm of them by 2^-34.
"""

from __future__ import annotations

import numpy as np

from shortlist._arrays import Floats, Indices, Words

ROUGH = 2.0**-32
PLAIN = 1 << 40
MOST = np.iinfo(np.int64).max
ONE = np.uint64(1)


def _halves(words: Words) -> Indices:
    """2^63 U, rounded down: with a sign, for such numbers become floats in half the time."""
    return (words >> ONE).view(np.int64)


def exponential(words: Words) -> Floats:
    """-ln U"""
    return -np.log(_halves(words))


def gumbel(words: Words) -> Floats:
    """-ln(-ln(1 - U))"""
    q: Floats = -np.log(-np.log1p(_halves(words) * -(2.0**-63)))
    return q


def laplace(words: Words) -> Floats:
    """-ln 2U up to 1/2, ln 2(1 - U) above"""
    half = _halves(words)
    less = np.minimum(half, MOST - half) * 2.0**-62
    q: Floats = np.copysign(np.log(less), (1 << 62) - half)
    return q


def logistic(words: Words) -> Floats:
    """ln(1 - U) - ln U"""
    half = _halves(words)
    q: Floats = np.log(MOST - half) - np.log(half)
    return q


def half_logistic(words: Words) -> Floats:
    """ln(2 - U) - ln U"""
    half = _halves(words)
    q: Floats = np.log(2.0**64 - half) - np.log(half)
    return q
