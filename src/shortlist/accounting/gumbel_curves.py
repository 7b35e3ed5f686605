"""Gumbel values: exact profiles (Theorem 88).

In E = e^{value/scale} a Gumbel value is an exponential clock, and k of them make a gamma variable of shape
k whose scale moves by e^mu between neighbours. The two orders of that pair have the profiles

    forward(x)  = E[(1 - e^{-mu (k - N)})_+],  N ~ Poisson((mu k + x) / (e^mu - 1))
    backward(x) = E[(1 - e^{-mu (N - k)})_+],  N ~ Poisson((mu k - x) / (1 - e^{-mu})),   0 for x >= mu k

which are the gamma tails written as sums of positive terms: put t = (mu k + x) / (1 - e^{-mu})
and expand Q(k, t e^{-mu}) - e^x Q(k, t) with Q(k, a) = sum_{i<k} e^{-a} a^i / i!; both factors e^{-a} agree
up to e^{-mu k}. Nothing cancels, so a delta of 1e-200 is as accurate as one of 0.1.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist._imports import IMPORTS
from shortlist.accounting.privacy_curves import ULP, Profile, symmetric, whole


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
