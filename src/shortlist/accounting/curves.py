"""Privacy curves: delta by epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist._runtime import IMPORTS

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


def thinned(delta: float, rest_of: Profile) -> Profile:
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
