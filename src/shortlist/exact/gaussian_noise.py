"""Gaussian noise of standard deviation 1, for one winner only.

It is not among the named kinds: its tail is lighter than that of every exponential, so no pure guarantee exists, no
list may be released under it, and its cost grows with the number of candidates (docs/mechanisms/noisy-max.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats, Indices, Words
from shortlist._imports import IMPORTS
from shortlist.exact.noise_distributions import LN2, RELATIVE_ERROR, Noise, dyadic, infinite, log_uniform

if TYPE_CHECKING:
    from flint import arb

HALF_LOG_TWO_PI = 0.5 * float(np.log(2.0 * np.pi))


def _log_survival(x: Floats) -> Floats:
    return _log_cdf(-x)


def _log_cdf(x: Floats) -> Floats:
    with IMPORTS:
        from scipy.special import log_ndtr

    result: Floats = log_ndtr(x)
    return result


def _log_density(x: Floats) -> Floats:
    return -0.5 * x * x - HALF_LOG_TWO_PI


def _decay(x: Floats) -> Floats:
    """S(x) <= e^(-x^2/2) / 2 for x >= 0."""
    return np.where(x < 0, 0.0, 0.5 * x * x + LN2)


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


GAUSSIAN = Noise("gaussian", _log_survival, _log_cdf, _log_density, _decay, _quantile, _exact_quantile)
