"""How far released numbers may be from the truth: margins, estimates from gaps, and lower confidence bounds.

Everything here is a function of released numbers and of public constants, and costs nothing. Nothing here knows how an
item came to be selected: an item that was selected *because* its noise was large is estimated too high. Noise on whole
numbers has steps, so a half width is the least one whose exact coverage is at least 95%.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting.guarantees import number
from shortlist.exact.geometric import Geometric
from shortlist.exact.reals import ball, floor_to_float, to_float
from shortlist.exact.search import bisect, halvings, whole_numbers, within_ratio

if TYPE_CHECKING:
    from flint import arb

    from shortlist.release import Release

HALF, COVERAGE = Fraction(1, 2), Fraction(19, 20)
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


@lru_cache
def gaussian_margin(sigma: Fraction, grid: Fraction | None = None) -> Margin:
    """Return the margin of Gaussian noise, or of its sum with a multiple of the grid, rounded to the grid."""
    if grid is None:
        return Margin(to_float(sigma), math.nextafter(NORMAL * to_float(sigma), math.inf))
    ratio = sigma / grid
    half = _least_steps(
        lambda steps: (ball((steps + HALF) / ratio) / ball(Fraction(2)).sqrt()).erfc(), NORMAL * to_float(ratio)
    )
    return Margin(to_float(grid) * math.sqrt(_variance_on_grid(to_float(ratio))), to_float(half * grid))


def _variance_on_grid(sigma: float) -> float:
    """Return the variance of Gaussian noise that is rounded to whole numbers."""
    if sigma >= FINE:
        return sigma * sigma + 1 / 12
    sigma = max(sigma, LEAST)
    far = math.ceil(40 * sigma) + 2
    tails = [math.erfc((n - 0.5) / (sigma * math.sqrt(2))) for n in range(1, far + 1)]  # P[|N| >= n - 1/2]
    return math.fsum((2 * n - 1) * tail for n, tail in enumerate(tails, 1))


@lru_cache
def geometric_margin(noise: Geometric) -> Margin:
    """Return the margin of two-sided geometric noise."""
    near = math.log(20) / max(to_float(noise.epsilon), LEAST)
    half = _least_steps(lambda steps: 2 * noise.chance_at_least(steps + 1), near)
    return Margin(math.sqrt(noise.variance()), to_float(Fraction(half)))


def _least_steps(outside: Callable[[int], arb], near: float) -> int:
    """Return the least whole half width that at most 5% is outside of; it is near this number."""

    def covers(steps: int) -> bool:
        from flint import ctx

        with ctx.workprec(128):
            return bool(outside(steps) <= ball(1 - COVERAGE))

    low, high = -1, max(1, math.ceil(min(near, FARTHEST)) + 1)
    while not covers(high):
        low, high = high, 2 * high
    return bisect(covers, low, high, whole_numbers)[1]


def laplace_margin(scale: Fraction) -> Margin:
    """Return the margin of Laplace noise: P[|N| > h] = e^(-h / scale)."""
    return Margin(math.sqrt(2) * to_float(scale), math.nextafter(math.log(20) * to_float(scale), math.inf))


def pure_margin(scale: Fraction, *, whole: bool) -> Margin:
    """Return that of whole numbers with two-sided geometric noise of that scale, or of floats with Laplace noise."""
    return geometric_margin(Geometric(1 / scale)) if whole else laplace_margin(scale)


@lru_cache
def whole_laplace_margin(scale: Fraction) -> Margin:
    """Return that of a whole number plus Laplace noise, rounded: P[|error| > h] = e^(-(h + 1/2) / scale)."""
    wide = to_float(scale)
    if wide > 2.0**60:  # rounding is lost beside that
        return laplace_margin(scale)
    rate = 1 / max(wide, LEAST)
    variance = math.exp(-0.5 * rate) * (1 + math.exp(-rate)) / math.expm1(-rate) ** 2
    half = _least_steps(lambda steps: (-ball((steps + HALF) / scale)).exp(), math.log(20) * wide)
    return Margin(math.sqrt(variance), float(half))


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
    return Margin(math.sqrt(variance) * to_float(scale), half * to_float(scale))


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


Real = TypeVar("Real", float, Floats)
GapNoise = Literal["exponential", "laplace", "geometric"]
WIDEST = 64
"""How many times wider the noise of a cheaper test may be."""
BRANCHES = ("top", "middle", "below", *(f"1/{times}" for times in range(2, WIDEST + 1)))
"""Which test an answer passed: the only one or the last ("middle"), the cheaper of two ("top"), or one by its cost."""

CAVEAT = (
    "the confidence is that of a question fixed beforehand, reported or not; given that it was reported above, the "
    "bound holds less often, and for a score far below the threshold never"
)


CERTAINLY = 1e-9
"""The least confidence that is worth asking for."""
COVERED = float(COVERAGE) + 1e-12
"""What an interval of a margin covers, and a little for rounding."""


@dataclass(frozen=True, slots=True)
class LowerBound:
    """score >= `value` with this confidence, in the sense of the `caveat`."""

    value: float
    confidence: float
    caveat: str = CAVEAT


@dataclass(frozen=True, slots=True)
class UpperBound(LowerBound):
    """score <= `value` with this confidence, in the sense of the `caveat`."""

    caveat: str = CAVEAT.replace("above", "below").replace("far below", "far above")


@dataclass(frozen=True, slots=True)
class ChainedGaps:
    """Gaps between consecutive noisy scores, each score with independent noise of one deviation."""

    deviation: float

    def refine(self, gaps: list[float], measurements: list[float], variance: float) -> list[float]:
        """The best linear unbiased estimates of the k scores."""
        ratio = self.deviation / math.sqrt(variance)
        return best_linear(measurements, gaps, ratio * ratio)


def best_linear(measurements: list[Real], gaps: list[Real], ratio: float) -> list[Real]:
    """The best linear unbiased estimate in O(k) (Theorem 84).

    lambda = `ratio` = Var(gap noise) / Var(measurement noise).

    Of numbers, or of arrays of them: then every entry is an estimate of its own.

    beta_i = (sum alpha + lambda k alpha_i + p - k p_{i-1}) / ((1 + lambda) k), p_i = g_1 + .. + g_i and
    p = sum_{i<k} (k - i) g_i. The gap after the last item, to a loser that nobody measures, is not used.

    Examples
    --------
    >>> best_linear([10, 8, 7, 3], [1.5, 0.5, 4], 1.0)
    [9.6875, 7.9375, 7.1875, 3.1875]
    """
    k = len(measurements)
    if not k:
        return []
    below: list[Any] = [0.0]
    for gap in gaps[: k - 1]:
        below.append(below[-1] + gap)
    middle = (sum(measurements) + sum(below)) / k  # the best estimate of the first score, were the gaps exact
    share = 1 / (1 + ratio)
    return [share * (middle - fall) + (1 - share) * one for one, fall in zip(measurements, below, strict=True)]


def best_linear_above(measurements: list[Real], estimates: list[Real], ratio: float) -> list[Real]:
    """The best linear unbiased estimate where the gaps end at a known threshold (Theorem 253).

    Each of the n estimates has the noise of its own score and, less, that of the threshold, all of one variance;
    lambda = `ratio` = that variance / Var(measurement noise). With b_i = estimate_i - sum / (n + 1) + lambda alpha_i,

    beta_i = (b_i + sum b / (1 + lambda (n + 1))) / (1 + lambda).

    Examples
    --------
    >>> best_linear_above([12.0, 8.0], [10.0, 9.0], 1.0)
    [11.125, 8.625]
    """
    many = len(measurements) + 1
    if many == 1:
        return []
    middle = sum(estimates) / many
    parts = [one - middle + ratio * reading for one, reading in zip(estimates, measurements, strict=True)]
    common = sum(parts) / (1 + ratio * many)
    return [(part + common) / (1 + ratio) for part in parts]


@dataclass(frozen=True, slots=True)
class GapLaw:
    """One gap to a noisy threshold: gap = score - threshold + (query noise) - (threshold noise) - centre.

    Noise is exponential, Laplace, or geometric (the floor of exponential noise), of rates `query_rate` (a) and
    `threshold_rate` (b). Exponential noise is centred; geometric noise only by the whole number `centre`, so that its
    gaps stay whole.
    """

    noise: GapNoise
    threshold: int | float
    query_rate: float
    threshold_rate: float
    centre: float = 0.0

    @property
    def variance(self) -> float:
        """Var(gap)."""
        return sum(_variance(self.noise, rate) for rate in (self.query_rate, self.threshold_rate))

    @property
    def margin(self) -> Margin:
        """Of the estimate of a question fixed beforehand: its standard error, and half of its 95% interval.

        The half width is rounded up, and whole steps wide for geometric noise.
        """
        shift = self.estimate(0) - self.threshold  # where the noise of the gap has its mean, less what is centred

        def covers(half: float) -> bool:
            below = math.nextafter(-shift - half, -math.inf) if self.noise == "geometric" else -shift - half
            return self.exceedance(below) - self.exceedance(half - shift) >= COVERED

        return Margin(math.sqrt(self.variance), _least(covers, 1 / self.query_rate + 1 / self.threshold_rate))

    def estimate(self, gap: float) -> float:
        """The unbiased estimate of the score, were the question fixed beforehand."""
        if self.noise != "geometric":
            return self.threshold + gap
        mean = geometric_mean(self.query_rate) - geometric_mean(self.threshold_rate)
        return self.threshold + gap + self.centre - mean

    def combine(self, gap: float, measurement: float, variance: float) -> float:
        """The inverse-variance combination of the estimate with a later measurement."""
        weight = self.variance / (self.variance + variance)
        return weight * measurement + (1 - weight) * self.estimate(gap)

    def exceedance(self, t: float) -> float:
        """P(gap - (score - threshold) > t), of a question fixed beforehand (Proposition 97)."""
        a, b = self.query_rate, self.threshold_rate
        if self.noise == "laplace":
            return _laplace_exceedance(a, b, t)
        if self.noise == "exponential":
            u = t + 1 / a - 1 / b
            return b / (a + b) * math.exp(-a * u) if u >= 0 else 1 - a / (a + b) * math.exp(b * u)
        u = math.floor(t + self.centre)
        both = -math.expm1(-a - b)
        return (
            math.exp(-a * (u + 1)) * -math.expm1(-b) / both if u >= -1 else 1 + math.exp(b * u) * math.expm1(-a) / both
        )

    def lower_bound(self, gap: float, confidence: float) -> LowerBound:
        """threshold + gap - t with the least t (rounded up) that is exceeded with probability 1 - confidence."""
        sure = number("confidence", confidence, least=CERTAINLY, below=1.0)
        t = _least(lambda t: self.exceedance(t) <= 1 - sure, 1 / self.query_rate + 1 / self.threshold_rate)
        if self.noise == "geometric":
            t = math.ceil(t)
        if abs(self.threshold) == math.inf or not (math.isfinite(gap) and math.isfinite(t)):
            return LowerBound(-math.inf, sure)
        return LowerBound(floor_to_float(Fraction(self.threshold) + Fraction(gap) - Fraction(t)), sure)


class LineGaps(ABC):
    """Gaps from which each score's lead over a threshold follows."""

    __slots__ = ()

    @abstractmethod
    def _leads(self, gaps: list[float]) -> list[tuple[GapLaw, float]]:
        """Return each score's lead over the threshold, and how it is distributed."""

    def estimates(self, gaps: list[float]) -> list[float]:
        """Return an estimate of each score: the threshold and its lead."""
        return [law.estimate(lead) for law, lead in self._leads(gaps)]

    def lower_bound(self, gaps: list[float], confidence: float) -> list[LowerBound]:
        """Return one bound for each: each holds with that confidence, all together with less."""
        return [law.lower_bound(lead, confidence) for law, lead in self._leads(gaps)]


@dataclass(frozen=True, slots=True)
class EndedGaps(LineGaps):
    """Gaps between consecutive noisy scores, the last of them the threshold's own; exponential noise of one scale.

    The gaps after an item add up to its lead over the threshold, of which `law` tells.
    """

    law: GapLaw

    def _leads(self, gaps: list[float]) -> list[tuple[GapLaw, float]]:
        return [(self.law, math.fsum(gaps[i:])) for i in range(len(gaps))]

    def refine(self, gaps: list[float], measurements: list[float], variance: float) -> list[float]:
        """Return the best linear unbiased estimates from measurements, gaps and the threshold, which is known."""
        return best_linear_above(measurements, self.estimates(gaps), self.law.variance / 2 / variance)


@dataclass(frozen=True, slots=True)
class ThresholdGaps(LineGaps):
    """Gaps to one noisy threshold, each with its distribution."""

    laws: tuple[GapLaw, ...]

    def _leads(self, gaps: list[float]) -> list[tuple[GapLaw, float]]:
        return list(zip(self.laws, gaps, strict=True))

    def refine(self, gaps: list[float], measurements: list[float], variance: float) -> list[float]:
        """Return each measurement combined with its own gap, weighted by inverse variances."""
        return [law.combine(gap, one, variance) for law, gap, one in zip(self.laws, gaps, measurements, strict=True)]


Evidence = ChainedGaps | EndedGaps | ThresholdGaps


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. `gap` (above only) is by how much, noise included; `cost` is what this answer cost, rounded up."""

    above: bool
    gap: float | None
    cost: float
    branch: str
    _law: GapLaw | None = field(default=None, repr=False)

    @property
    def estimate(self) -> float:
        """The unbiased estimate of the true answer, of a question fixed beforehand: the threshold and the gap.

        It knows the noise and not the selection: given that the answer was "above", it is too high on average.
        """
        law, gap = self._above()
        return law.estimate(gap)

    @property
    def margin(self) -> Margin:
        """How far the estimate may be from the true answer, of a question fixed beforehand."""
        return self._above()[0].margin

    def lower_bound(self, confidence: float) -> LowerBound:
        """A lower confidence bound on the true answer; read its caveat."""
        law, gap = self._above()
        return law.lower_bound(gap, confidence)

    def refine(self, measurement: float, *, variance: float) -> float:
        """The gap's estimate combined with a later unbiased measurement, weighted by inverse variances.

        Costs nothing. It knows the noise and not the selection: given that the answer was "above", the gap's part is
        biased upwards.
        """
        law, gap = self._above()
        return law.combine(gap, measurement, number("variance", variance, above=True))

    def _above(self) -> tuple[GapLaw, float]:
        if self._law is None or self.gap is None:
            raise AttributeError('an answer "below" has no gap: nothing more is known of it')
        return self._law, self.gap


BELOW = Answer(above=False, gap=None, cost=0.0, branch="below")


def check_measurements(measurements: Iterable[float], k: int) -> list[float]:
    """k floats, one for each released item. Errors show no measurement."""
    try:
        readings: list[float] | None = [float(one) for one in measurements]
    except (TypeError, ValueError):
        readings = None
    if readings is None:  # outside of `except`: the other error may show a measurement
        raise TypeError("measurements must be numbers, one for each released item")
    if len(readings) != k:
        raise ValueError(f"measurements must be as many as the released items: {k} of them, in the order of items")
    return readings


def geometric_mean(rate: float) -> float:
    """The mean of floor(Exp(rate)) = geometric noise on {0, 1, ..}: (1 - p) / p with p = 1 - e^-rate."""
    return math.exp(-rate) / -math.expm1(-rate) if rate > 0 else math.inf


def _variance(noise: GapNoise, rate: float) -> float:
    if noise == "geometric":
        return geometric_mean(rate) * (1 + geometric_mean(rate))
    return (2 if noise == "laplace" else 1) * (1 / rate) * (1 / rate)


def _laplace_exceedance(a: float, b: float, t: float) -> float:
    """P(Lap(1/a) - Lap(1/b) > t)."""
    largest = max(a, b)
    a, b, t = a / largest, b / largest, t * largest  # squares of the rates neither overflow nor vanish
    if t < 0:
        return 1 - _laplace_exceedance(a, b, -t)
    if abs(a - b) < 1e-5 * b:  # the formula cancels there; take the slower rate for both, which exceeds more
        slow = min(a, b)
        return (2 + slow * t) * math.exp(-slow * t) / 4
    return (b * b * math.exp(-a * t) - a * a * math.exp(-b * t)) / (2 * (b - a) * (b + a))


def _least(true: Callable[[float], bool], unit: float) -> float:
    """The least t from which on `true` holds, rounded up: bisection between powers of two of the unit."""
    if not unit:  # noise too narrow for floats: nothing is said of it
        return math.inf
    low, high = -unit, unit
    while math.isfinite(high) and not true(high):
        low, high = high, 2 * high
    while math.isfinite(low) and true(low):
        low, high = 2 * low, low
    if not (math.isfinite(low) and math.isfinite(high)):
        return math.inf
    return bisect(true, low, high, halvings(60))[1]


def refine_release(release: Release, measurements: Iterable[float], variance: float) -> list[float]:
    """`Release.refine`: of the smallest, the gaps are leads of negated scores."""
    gaps, evidence = release._check_gaps("refine"), release.evidence
    if evidence is None:
        raise AttributeError("these gaps are no estimates of scores: there is nothing to refine")
    sign = -1 if release.largest is False else 1
    readings = [sign * one for one in check_measurements(measurements, len(gaps))]
    return [sign * one for one in evidence.refine(gaps, readings, number("variance", variance, above=True))]


def bound_release(release: Release, name: str, confidence: float) -> list[LowerBound] | list[UpperBound]:
    """`Release.lower_bound` of the largest, or `Release.upper_bound` of the smallest."""
    smallest = release.largest is False
    if smallest and name == "lower_bound":
        raise AttributeError("of the smallest the gaps bound the scores from above; read .upper_bound")
    if not smallest and name == "upper_bound":
        raise AttributeError("of the largest the gaps bound the scores from below; read .lower_bound")
    gaps, evidence = release._check_gaps(name), release.evidence
    if not isinstance(evidence, LineGaps):
        raise AttributeError("these gaps are not gaps to a known threshold: no bound on a score follows from them")
    bounds = evidence.lower_bound(gaps, confidence)
    return [UpperBound(0.0 - one.value, one.confidence) for one in bounds] if smallest else bounds
