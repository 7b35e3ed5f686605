"""How far a released number may be from the truth: its standard error, and an interval with a sure coverage.

Noise on whole numbers has steps, so a half width is the least one whose exact coverage is at least 95%.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from shortlist._arrays import Floats
from shortlist.exact.geometric import Geometric
from shortlist.exact.reals import ball
from shortlist.exact.search import bisect, whole_numbers, within_ratio

COVERAGE = Fraction(19, 20)
NORMAL = 1.959963984540055
"""z with P[|N(0, 1)| <= z] >= 95%, rounded up."""
LEAST, FARTHEST = 1e-300, 1e300
"""Smaller and larger numbers of public noise are taken for these where floats would run out."""
FINE = 64
"""With noise of so many steps of its grid, rounding adds a twelfth of a squared step to its variance, to 1e-12."""


@dataclass(frozen=True, slots=True)
class Margin:
    """Of a released number: its standard error, and half of the smallest symmetric interval around it whose exact
    coverage is at least 95%.

    It is a function of public numbers alone. The coverage is that of the noise: where a number was released *because*
    it was large, it is too high more often. In a list by value that holds of its first rows, and of the last the
    opposite: the coverage is that of a name, wherever it stands, not that of a rank, nor of all names at once.

    Examples
    --------
    >>> import shortlist as sl
    >>> release = sl.top_k([9000, 5000, 20, 7], 2, epsilon=1.0, monotone=True, values=True)
    >>> [margin.half_width < 20 for margin in release.margins]
    [True, True]
    """

    error: float
    half_width: float

    def __post_init__(self) -> None:
        if not (self.error >= 0 and self.half_width >= 0):
            raise ValueError("error and half_width must not be negative")


def as_float(exact: Fraction) -> float:
    """The nearest float; infinite where there is none."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf


@lru_cache
def gaussian_margin(sigma: Fraction, grid: Fraction | None = None) -> Margin:
    """The margin of Gaussian noise, or of its sum with a multiple of the grid, rounded to the grid."""
    if grid is None:
        return Margin(as_float(sigma), math.nextafter(NORMAL * as_float(sigma), math.inf))
    ratio = sigma / grid

    def covers(steps: int) -> bool:
        from flint import arb, ctx

        with ctx.workprec(128):
            outside = (ball((steps + Fraction(1, 2)) / ratio) / arb(2).sqrt()).erfc()
            return bool(outside <= ball(1 - COVERAGE))

    half = _least(covers, NORMAL * as_float(ratio))
    return Margin(as_float(grid) * math.sqrt(_variance_on_grid(as_float(ratio))), as_float(half * grid))


def _variance_on_grid(sigma: float) -> float:
    """The variance of Gaussian noise that is rounded to whole numbers."""
    if sigma >= FINE:
        return sigma * sigma + 1 / 12
    sigma = max(sigma, LEAST)
    far = math.ceil(40 * sigma) + 2
    tails = [math.erfc((n - 0.5) / (sigma * math.sqrt(2))) for n in range(1, far + 1)]  # P[|N| >= n - 1/2]
    return math.fsum((2 * n - 1) * tail for n, tail in enumerate(tails, 1))


@lru_cache
def geometric_margin(noise: Geometric) -> Margin:
    """The margin of two-sided geometric noise."""

    def covers(steps: int) -> bool:
        from flint import ctx

        with ctx.workprec(128):
            return bool(2 * noise.chance_at_least(steps + 1) <= ball(1 - COVERAGE))

    near = math.log(20) / max(as_float(noise.epsilon), LEAST)
    return Margin(math.sqrt(noise.variance()), as_float(Fraction(_least(covers, near))))


def _least(covers: Callable[[int], bool], near: float) -> int:
    """The least whole number from which on the interval covers enough; it is near this one."""
    low, high = -1, max(1, math.ceil(min(near, FARTHEST)) + 1)
    while not covers(high):
        low, high = high, 2 * high
    return bisect(covers, low, high, whole_numbers)[1]


def laplace_margin(scale: Fraction) -> Margin:
    """The margin of Laplace noise: P[|N| > h] = e^(-h / scale)."""
    return Margin(math.sqrt(2) * as_float(scale), math.nextafter(math.log(20) * as_float(scale), math.inf))


def pure_margin(scale: Fraction, *, whole: bool) -> Margin:
    """Of whole numbers with two-sided geometric noise of that scale, or of floats with Laplace noise."""
    return geometric_margin(Geometric(1 / scale)) if whole else laplace_margin(scale)


@lru_cache
def whole_laplace_margin(scale: Fraction) -> Margin:
    """Of a whole number plus Laplace noise, rounded to whole numbers: P[|error| > h] = e^(-(h + 1/2) / scale)."""

    def covers(steps: int) -> bool:
        from flint import ctx

        with ctx.workprec(128):
            return bool((-ball((steps + Fraction(1, 2)) / scale)).exp() <= ball(1 - COVERAGE))

    wide = as_float(scale)
    if wide > 2.0**60:  # rounding is lost beside that
        return laplace_margin(scale)
    rate = 1 / max(wide, LEAST)
    a = math.exp(-rate)
    variance = math.exp(-0.5 * rate) * (1 + a) / math.expm1(-rate) ** 2
    return Margin(math.sqrt(variance), float(_least(covers, math.log(20) * wide)))


@lru_cache
def margin_with_gaps(k: int, scale: Fraction, selection: Fraction, noise: str) -> Margin:
    """Of the best linear estimate from Laplace measurements of that scale and gaps (Theorem 84).

    With L_i the noise that measures, N_i that which selects (exponential or Laplace), r the ratio of their variances
    and s = 1 / (1 + r), the error is (1 - s) L_i + s mean(L) + s (N_i - mean(N)). Its coverage is an integral of its
    characteristic function, to 1e-9. It is the law of the noise as it was drawn, not given who won.
    """
    if k == 1:
        return laplace_margin(scale)
    width = float(selection / scale)
    squared = (1.0 if noise == "exponential" else 2.0) * width * width
    share = 1 / (1 + squared / 2)
    measuring = ((1 - share) + share / k, share / k)
    selecting = (share * (1 - 1 / k) * width, -share / k * width)
    t, real = _characteristic(k, measuring, selecting, noise)

    def covers(half: float) -> bool:
        with np.errstate(invalid="ignore"):
            wave = np.where(t > 0, np.sin(half * t) / np.maximum(t, 1e-300), half) * real
        step = t[1] - t[0]
        area = step / 3 * (wave[0] + wave[-1] + 4 * wave[1:-1:2].sum() + 2 * wave[2:-1:2].sum())
        return bool(2 / math.pi * area >= float(COVERAGE) + 1e-10)

    variance = 2 * (measuring[0] ** 2 + (k - 1) * measuring[1] ** 2)
    variance += squared / width**2 * (selecting[0] ** 2 + (k - 1) * selecting[1] ** 2)
    half = bisect(covers, 0.5 * math.sqrt(variance), 5 * math.sqrt(variance), within_ratio(1e-9))[1]
    return Margin(math.sqrt(variance) * as_float(scale), half * as_float(scale))


def _characteristic(
    k: int, measuring: tuple[float, float], selecting: tuple[float, float], noise: str
) -> tuple[Floats, Floats]:
    """(t, the real part of E[e^(i t error)]), from 0 to where nothing is left; units of the measuring scale."""

    def log_of(t: Floats) -> tuple[Floats, Floats]:
        size, angle = np.zeros(len(t)), np.zeros(len(t))
        for factor, times in zip(measuring, (1, k - 1), strict=True):
            size -= times * np.log1p((factor * t) ** 2)
        for factor, times in zip(selecting, (1, k - 1), strict=True):
            size -= times * np.log1p((factor * t) ** 2) * (0.5 if noise == "exponential" else 1.0)
            angle += times * np.arctan(factor * t) * (noise == "exponential")
        return size, angle

    end = 16.0
    while float(log_of(np.array([end]))[0][0]) > -30 and end < 4e3:
        end *= 2
    t = np.linspace(0.0, end, 2 * math.ceil(end / 0.02) + 1)
    size, angle = log_of(t)
    return t, np.exp(size) * np.cos(angle)
