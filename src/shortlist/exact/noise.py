"""Noise distributions: the named ones, and piecewise ones of one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from shortlist._arrays import Floats, Indices, Words
from shortlist._runtime import IMPORTS

if TYPE_CHECKING:
    from flint import arb


ROUGH = 2.0**-32
PLAIN = 1 << 40
MOST = np.iinfo(np.int64).max
ONE = np.uint64(1)


def _halves(words: Words) -> Indices:
    """2^63 U, rounded down: with a sign, for such numbers become floats in half the time."""
    return (words >> ONE).view(np.int64)


def _rough_laplace(words: Words) -> Floats:
    half = _halves(words)
    less = np.minimum(half, MOST - half) * 2.0**-62
    return np.copysign(np.log(less), (1 << 62) - half)


RELATIVE_ERROR = 2.0**-40
"""Assumed accuracy of numpy's log and log1p and of each float operation (true: about 2^-52). The slack of
4096 is free: it only decides how rarely a comparison goes on to Arb."""

LN2 = float(np.log(2.0))


@dataclass(frozen=True, slots=True)
class Noise:
    """One noise kind of scale 1. Everything is a function of arrays; nothing here draws.

    Examples
    --------
    >>> noise_named("gumbel")
    <noise gumbel>
    """

    name: str
    log_survival: Callable[[Floats], Floats]
    """ln P(N > x)"""
    log_cdf: Callable[[Floats], Floats]
    """ln P(N <= x)"""
    log_density: Callable[[Floats], Floats]
    decay: Callable[[Floats], Floats]
    """A nondecreasing lower bound on -ln P(N > x): what skipping may rely on."""
    quantile: Callable[[Words, Indices | int], tuple[Floats, Floats]]
    """(q, e) with |q - Q(U)| <= e for every theta, from the words and levels of partially drawn uniforms."""
    exact_quantile: Callable[[int, int], arb]
    """An enclosure of Q(v / 2^bits), at flint's working precision, for integers 0 <= v <= 2^bits."""
    rough: Callable[[Words], Floats] | None = None
    """Q(U) plus a constant, in few operations: good to ROUGH for words that are PLAIN away from either end."""
    kinks: tuple[float, ...] = ()
    """Where the law is not smooth: quadrature cuts there."""
    bounded_range: bool = False
    """Whether a noisy maximum under this noise is a bounded-range mechanism (Theorem 52, 53)."""
    releases_order: bool = False
    """Whether the order of the winners may be released (Theorem 60)."""

    def __repr__(self) -> str:
        return f"<noise {self.name}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """A named kind is itself wherever it is read again: its law is that of the library which reads it."""
        return (noise_named, (self.name,)) if KINDS.get(self.name) is self else object.__reduce_ex__(self, protocol)


# The law, in logarithms


def _log1mexp(x: Floats) -> Floats:
    """ln(1 - e^-x) for x >= 0, accurate at both ends."""
    with np.errstate(divide="ignore"):
        result: Floats = np.where(x < LN2, np.log(-np.expm1(-x)), np.log1p(-np.exp(-np.maximum(x, LN2))))
    return result


def _gumbel_log_cdf(x: Floats) -> Floats:
    with np.errstate(over="ignore"):
        result: Floats = -np.exp(-x)
    return result


def _logistic_log_survival(x: Floats) -> Floats:
    return -np.logaddexp(0.0, x)


def _laplace_log_survival(x: Floats) -> Floats:
    return np.where(x < 0, np.log1p(-0.5 * np.exp(np.minimum(x, 0.0))), -x - LN2)


def _half_logistic_log_cdf(x: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        t = np.maximum(x, 0.0)
        result: Floats = np.log(-np.expm1(-t)) - np.log1p(np.exp(-t))
    return result


# Quantiles in floats, with an error bound


def log_uniform(words: Words, level: Indices | int) -> tuple[Floats, Floats]:
    """(ln U, error). The part not drawn adds less than 1/V."""
    v = np.maximum(words.astype(np.float64), 0.5)
    log = np.log(v) - LN2 * (64 + np.asarray(level, dtype=np.float64))
    return log, _unless_extreme(words, 2.0 / v + RELATIVE_ERROR * (100.0 + np.abs(log)))


def _log_complement(words: Words, level: Indices | int) -> tuple[Floats, Floats]:
    """(ln(1 - U), error). Above 1/2 the complement is taken from the bits, never from 1.0 - u."""
    v = words.astype(np.float64)
    u = np.ldexp(v, -64 - np.asarray(level))
    w = np.maximum((~words).astype(np.float64), 0.5)
    upper = (np.asarray(level) == 0) & (words >= np.uint64(1 << 63))
    log = np.where(upper, np.log(w) - 64 * LN2, np.log1p(-np.minimum(u, 0.5)))
    hidden = np.where(upper, 2.0 / w, 2.0 * u * (1.0 / np.maximum(v, 0.5) + RELATIVE_ERROR))
    return log, _unless_extreme(words, hidden + RELATIVE_ERROR * np.abs(log))


def _unless_extreme(words: Words, error: Floats) -> Floats:
    """Infinite error where a word is so near 0 or 1 that the part not drawn matters."""
    extreme = (words + np.uint64(4)) < np.uint64(8)
    if extreme.any():
        error = np.where(extreme, np.inf, error)
    return error


def _exponential_quantile(words: Words, level: Indices | int) -> tuple[Floats, Floats]:
    log, error = log_uniform(words, level)
    return -log, error


def _gumbel_quantile(words: Words, level: Indices | int) -> tuple[Floats, Floats]:
    log, error = _log_complement(words, level)
    y = np.maximum(-log, 2.0**-200)
    q = -np.log(y)
    return q, 2.0 * error / y + RELATIVE_ERROR * (1.0 + np.abs(q))


def _laplace_quantile(words: Words, level: Indices | int) -> tuple[Floats, Floats]:
    log_u, error_u = log_uniform(words, level)
    log_w, error_w = _log_complement(words, level)
    upper = log_u > -LN2
    return np.where(upper, log_w + LN2, -log_u - LN2), np.where(upper, error_w, error_u) + RELATIVE_ERROR


def _logistic_quantile(words: Words, level: Indices | int) -> tuple[Floats, Floats]:
    log_u, error_u = log_uniform(words, level)
    log_w, error_w = _log_complement(words, level)
    return log_w - log_u, error_u + error_w


def _half_logistic_quantile(words: Words, level: Indices | int) -> tuple[Floats, Floats]:
    log_u, error_u = log_uniform(words, level)
    u = np.ldexp(words.astype(np.float64), -64 - np.asarray(level))
    return np.log(2.0 - u) - log_u, 2.0 * error_u + 4.0 * RELATIVE_ERROR


# Quantiles in balls, at the working precision


def dyadic(v: int, bits: int) -> arb:
    """v / 2^bits as a ball."""
    from flint import arb, fmpq

    return arb(fmpq(v, 1 << bits))


def infinite(sign: int) -> arb:
    """Plus or minus infinity as a ball."""
    from flint import arb

    return arb("inf") if sign > 0 else arb("-inf")


def _gumbel_exact(v: int, bits: int) -> arb:
    rest = (1 << bits) - v
    return -(-dyadic(rest, bits).log()).log() if v and rest else infinite(1 if rest else -1)


def _laplace_exact(v: int, bits: int) -> arb:
    rest = (1 << bits) - v
    if v and rest:
        return -dyadic(2 * v, bits).log() if v <= rest else dyadic(2 * rest, bits).log()
    return infinite(1 if rest else -1)


def _logistic_exact(v: int, bits: int) -> arb:
    rest = (1 << bits) - v
    return (dyadic(rest, bits) / dyadic(v, bits)).log() if v and rest else infinite(1 if rest else -1)


EXPONENTIAL = Noise(
    "exponential",
    log_survival=lambda x: -np.maximum(x, 0.0),
    log_cdf=lambda x: _log1mexp(np.maximum(x, 0.0)),
    log_density=lambda x: np.where(x >= 0, -x, -np.inf),
    decay=lambda x: x,
    quantile=_exponential_quantile,
    exact_quantile=lambda v, bits: -dyadic(v, bits).log() if v else infinite(+1),
    rough=lambda words: -np.log(_halves(words)),
    kinks=(0.0,),
    releases_order=True,
)
GUMBEL = Noise(
    "gumbel",
    log_survival=lambda x: _log1mexp(-_gumbel_log_cdf(x)),
    log_cdf=_gumbel_log_cdf,
    log_density=lambda x: _gumbel_log_cdf(x) - x,
    decay=lambda x: x,
    quantile=_gumbel_quantile,
    exact_quantile=_gumbel_exact,
    rough=lambda words: -np.log(-np.log1p(_halves(words) * -(2.0**-63))),
    bounded_range=True,
    releases_order=True,
)
LAPLACE = Noise(
    "laplace",
    log_survival=_laplace_log_survival,
    log_cdf=lambda x: _laplace_log_survival(-x),
    log_density=lambda x: -np.abs(x) - LN2,
    decay=lambda x: x + LN2,
    quantile=_laplace_quantile,
    exact_quantile=_laplace_exact,
    rough=_rough_laplace,
    kinks=(0.0,),
    releases_order=True,
)
LOGISTIC = Noise(
    "logistic",
    log_survival=_logistic_log_survival,
    log_cdf=lambda x: _logistic_log_survival(-x),
    log_density=lambda x: _logistic_log_survival(x) + _logistic_log_survival(-x),
    decay=lambda x: x,
    quantile=_logistic_quantile,
    exact_quantile=_logistic_exact,
    rough=lambda words: np.log(MOST - _halves(words)) - np.log(_halves(words)),
    releases_order=True,
)
HALF_LOGISTIC = Noise(
    "half-logistic",
    log_survival=lambda x: LN2 + _logistic_log_survival(np.maximum(x, 0.0)),
    log_cdf=_half_logistic_log_cdf,
    log_density=lambda x: np.where(x >= 0, LN2 + LOGISTIC.log_density(x), -np.inf),
    decay=lambda x: x - LN2,  # S(x) <= 2 e^-x, and not e^-x
    quantile=_half_logistic_quantile,
    exact_quantile=lambda v, bits: (dyadic((2 << bits) - v, bits) / dyadic(v, bits)).log() if v else infinite(+1),
    rough=lambda words: np.log(2.0**64 - _halves(words)) - np.log(_halves(words)),
    kinks=(0.0,),
    releases_order=True,
)

KINDS = {kind.name: kind for kind in (EXPONENTIAL, GUMBEL, LAPLACE, LOGISTIC, HALF_LOGISTIC)}


def noise_named(name: str) -> Noise:
    """The noise kind of that name, or an error that lists the names."""
    try:
        return KINDS[name]
    except (KeyError, TypeError):
        raise ValueError(f"noise={name!r} is not known; write one of {', '.join(map(repr, KINDS))}") from None


HALF_LOG_TWO_PI = 0.5 * float(np.log(2.0 * np.pi))


def _log_cdf(x: Floats) -> Floats:
    with IMPORTS:
        from scipy.special import log_ndtr

    return log_ndtr(x)


def _quantile(words: Words, level: Indices | int) -> tuple[Floats, Floats]:
    """From the smaller of U and 1 - U: a relative error e of it moves the quantile by at most 2 e (S / f < 1.26)."""
    with IMPORTS:
        from scipy.special import ndtri_exp

    upper = (np.asarray(level) == 0) & (words >= np.uint64(1 << 63))
    log, error = log_uniform(np.where(upper, ~words, words), level)
    q = -ndtri_exp(np.minimum(log, -LN2))
    return np.where(upper, -q, q), 2.0 * error + RELATIVE_ERROR * (1.0 + np.abs(q))


def _exact_quantile(v: int, bits: int) -> arb:
    from flint import arb

    rest = (1 << bits) - v
    if not v or not rest:
        return infinite(1 if rest else -1)
    tail = arb(2).sqrt() * dyadic(2 * min(v, rest), bits).erfcinv()
    return tail if v <= rest else -tail


GAUSSIAN = Noise(
    "gaussian",
    log_survival=lambda x: _log_cdf(-x),
    log_cdf=_log_cdf,
    log_density=lambda x: -0.5 * x * x - HALF_LOG_TWO_PI,
    decay=lambda x: np.where(x < 0, 0.0, 0.5 * x * x + LN2),  # S(x) <= e^(-x^2/2) / 2 for x >= 0
    quantile=_quantile,
    exact_quantile=_exact_quantile,
)
