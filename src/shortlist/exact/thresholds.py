"""Thresholds of partition selection and of top-k over an unknown domain, and the test of stable sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats
from shortlist._runtime import IMPORTS
from shortlist.exact.reals import ball, exactly
from shortlist.exact.search import bisect, whole_numbers, within_ratio

if TYPE_CHECKING:
    from flint import arb


MOST, LARGEST_MOST = 64, 4096
"""How many labels of a person count if nobody says, and the most that may be said."""
UNIT = 1 << 20
"""Weighted columns are whole numbers of 1/UNIT."""
WEIGHTED_GRID = Fraction(1, 16)
"""Noisy weighted sums are rounded to it, noisy counts to whole people."""
MARGIN = Fraction(2001, 2000)
"""By so much sigma is more than one Gaussian release would need: room for the bar at the same delta."""
MEASURED = Fraction(1, 4)
"""The share of mu^2, or of rho, that measures the counts of what was named."""
NEAR = 0.99
"""A (t, j) whose loss is above so much of delta in floats is checked in balls."""
SLIGHT = 1e-3
"""Below it the Gaussian profile is computed without a difference."""
HIGHEST_BAR = 2.0**50
"""Noisy sums must be whole numbers of 64 bits, and so near to one another that floats tell them apart."""
PRECISIONS = (128, 256, 512, 1024)


def weight(t: int) -> int:
    """w_t, what each of t labels of one person weighs, in units of 1/UNIT: t w_t^2 <= UNIT^2.

    >>> [weight(t) for t in (1, 2, 3, 64)]
    [1048576, 741455, 605395, 131072]
    """
    return math.isqrt((UNIT * UNIT) // t)


@dataclass(frozen=True, slots=True)
class Cap:
    """At most `most` labels a person, each of weight 1, or of weight 1/sqrt(t) where the person keeps t."""

    most: int
    weighted: bool

    @property
    def grid(self) -> Fraction:
        """Noisy sums are multiples of it."""
        return WEIGHTED_GRID if self.weighted else Fraction(1)

    @property
    def unit(self) -> int:
        """A score of so much is one person."""
        return UNIT if self.weighted else 1

    @property
    def squares(self) -> int:
        """The most that the squares of one person's weights add up to."""
        return 1 if self.weighted else self.most

    def shift(self, t: int) -> Fraction:
        """w_t, in people."""
        return Fraction(weight(t), UNIT) if self.weighted else Fraction(1)

    def numbers(self) -> Iterator[int]:
        """The t that may be worst: all, but where every label weighs 1 more labels only add to the loss."""
        return iter(range(1, self.most + 1) if self.weighted else (self.most,))


@dataclass(frozen=True, slots=True)
class KeyBar:
    """Noise of deviation `sigma`, sums rounded to `grid`, and named if the rounded sum is at least `step` grid steps.

    All in people. `measured` is the deviation, for one label a person, of the counts that are measured afterwards.
    """

    sigma: Fraction
    grid: Fraction
    step: int
    measured: Fraction | None = None

    @property
    def bar(self) -> Fraction:
        """The least sum that is released."""
        return self.grid * self.step

    @property
    def reach(self) -> Fraction:
        """What a sum must reach with its noise, before it is rounded."""
        return self.bar - self.grid / 2

    @property
    def rate(self) -> Fraction:
        """nu^2: 0 where nothing is measured."""
        return Fraction(0) if self.measured is None else 1 / self.measured**2


@lru_cache
def pair_bar(epsilon: float, delta: float, cap: Cap, measures: bool = False) -> KeyBar:
    """The noise and the bar for one (epsilon, delta), all of delta in both; the loss of every (t, j) was checked."""
    mu = gaussian_rate(epsilon, delta) / float(MARGIN)
    raised = Fraction(1)
    while True:
        share = MEASURED if measures else Fraction(0)
        sigma = raised * Fraction(math.sqrt(cap.squares / (1.0 - float(share))) / mu)
        measured = raised * Fraction(1 / (mu * math.sqrt(float(share)))) if measures else None
        step = _first_bar(sigma, measured, epsilon, delta, cap)
        for more in range(8):
            bar = KeyBar(sigma, cap.grid, step + more, measured)
            if (failed := worst_pair(bar, epsilon, delta, cap)) is None:
                return bar
            if failed[1] == 0:  # no bar helps where no label is new
                break
        raised *= Fraction(1001, 1000)


def _first_bar(sigma: Fraction, measured: Fraction | None, epsilon: float, delta: float, cap: Cap) -> int:
    """The least bar that may do: that of new labels alone, or by floats where counts are measured too."""
    lowest = _least_step(sigma, delta, cap)
    if measured is None:
        return lowest

    def holds(step: int) -> bool:
        bar = KeyBar(sigma, cap.grid, step, measured)
        return all(float(loss.max()) <= delta for _, loss in losses(bar, epsilon, cap))

    if holds(lowest):
        return lowest
    high = 2 * lowest
    if not holds(high):  # new labels do not matter there: the noise is too little
        return high
    return bisect(holds, lowest, high, whole_numbers)[1]


@lru_cache
def zcdp_bar(rho: float, delta: float, cap: Cap, measures: bool = False) -> KeyBar:
    """The noise of rho-zCDP, and the bar that new labels pass with probability at most delta, however many."""
    share = MEASURED if measures else Fraction(0)
    sigma = 1 / rate_below((1 - share) * Fraction(rho), cap.squares)
    measured = 1 / rate_below(share * Fraction(rho), 1) if measures else None
    step = _least_step(sigma, delta, cap)
    while not _silent(KeyBar(sigma, cap.grid, step), delta, cap):
        step += 1
    return KeyBar(sigma, cap.grid, step, measured)


def rate_below(rho: float | Fraction, squares: int) -> Fraction:
    """The largest float r, or nearly, with squares r^2 / 2 <= rho."""
    r = math.sqrt(2 * float(rho) / squares)
    while squares * Fraction(r) ** 2 / 2 > Fraction(rho):
        r = math.nextafter(r, 0.0)
    return Fraction(r)


def _least_step(sigma: Fraction, delta: float, cap: Cap) -> int:
    """The least whole number of steps whose half below is not below the bar of new labels.

    Refused where it stands so high that floats could not tell sums apart: from public numbers.
    """
    if not (bar := bar_of(float(sigma), delta, cap)) <= HIGHEST_BAR:
        raise ValueError("the budget is too small for any table: write a larger epsilon (or rho), or a larger delta")
    return math.ceil(Fraction(bar) / cap.grid + Fraction(1, 2))


def bar_of(sigma: float, delta: float, cap: Cap) -> float:
    """max_t w_t + sigma z_t, z_t = Phi^-1((1 - delta)^(1/t)): t new labels pass it with probability delta at most.

    >>> round(bar_of(0.5, 0.01, Cap(64, weighted=True)), 6), round(bar_of(1.0, 0.01, Cap(64, weighted=True)), 6)
    (2.163174, 3.728428)
    """
    with IMPORTS:
        from scipy.special import ndtri

    tails = ((t, -math.expm1(math.log1p(-delta) / t)) for t in cap.numbers())
    return max(float(cap.shift(t)) - sigma * float(ndtri(tail)) for t, tail in tails)


@lru_cache
def gaussian_rate(epsilon: float, delta: float) -> float:
    """mu: the largest with which Gaussian noise of deviation 1 on what moves by mu is (epsilon, delta)-DP, nearly.

    >>> round(1 / gaussian_rate(1.0, 1e-6), 6)
    4.224679
    """

    def too_much(mu: float) -> bool:
        return float(gaussian_profile(np.array([epsilon]), np.array([mu]))[0]) > delta

    low, high = 1e-12, 1.0
    while not too_much(high):
        low, high = high, 2 * high
    while too_much(low):
        low /= 1e6
        if not low:
            raise ValueError("the budget is too small: choose a larger epsilon or delta")
    return bisect(too_much, low, high, within_ratio(1e-12))[0]


@lru_cache
def certify_rate(epsilon: Fraction, delta: float) -> Fraction:
    """mu rounded down, with the profile at epsilon certainly at most delta."""
    mu, less = Fraction(gaussian_rate(float(epsilon), delta) * (1 - 1e-9)), Fraction(1, 10**9)
    while not keeps(epsilon, delta, mu):  # floats may be far off where delta is nearly none: the steps grow
        mu, less = mu * (1 - less), min(2 * less, Fraction(1, 2))
    return mu


def keeps(epsilon: Fraction, delta: float, mu: Fraction) -> bool:
    """Whether Gaussian noise of deviation 1 on what moves by mu is certainly (epsilon, delta)-DP."""
    return _within(lambda: [_profile_ball(ball(epsilon), ball(mu))], delta)


def gaussian_profile(x: Floats, mu: Floats) -> Floats:
    """Phi(mu/2 - x/mu) - e^x Phi(-mu/2 - x/mu) in floats, for any real x and mu >= 0. Not rounded.

    For a small mu, where the difference cancels, it is (1 - e^x)_+ + e^(x/2) int_0^mu phi(x/m) e^(-m^2/8) dm. (The
    derivative in mu is phi(mu/2 - x/mu).) Without e^(-m^2/8) the integral is mu phi(z) (1 - z Phi(-z)/phi(z)),
    z = |x|/mu, and too large by one part in 10^7 at most.
    """
    with IMPORTS:
        from scipy.special import erfcx, log_ndtr, ndtr

    still = -np.expm1(np.minimum(x, 0.0))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = x + log_ndtr(-mu / 2 - x / mu) - log_ndtr(mu / 2 - x / mu)
        profile = ndtr(mu / 2 - x / mu) * -np.expm1(np.minimum(ratio, 0.0))
        z = np.abs(x) / mu
        beside = np.exp(x / 2 - z * z / 2) * (1 - math.sqrt(math.pi / 2) * z * erfcx(z / math.sqrt(2)))
        slight = still + mu / math.sqrt(2 * math.pi) * np.maximum(beside, 0.0)
        profile = np.where(mu < SLIGHT, slight, profile)
    return np.where(np.isnan(profile) | (mu <= 0), still, profile)


def losses(bar: KeyBar, epsilon: float, cap: Cap) -> Iterator[tuple[int, Floats]]:
    """(t, what a person with j = 0 .. t new labels shows at most, the larger of both directions), in floats."""
    with IMPORTS:
        from scipy.special import ndtr

    sigma, rate = float(bar.sigma), float(bar.rate)
    for t in cap.numbers():
        w = float(cap.shift(t))
        j = np.arange(t + 1.0)
        silent = j * math.log1p(-float(ndtr((w - float(bar.reach)) / sigma)))
        mu = np.sqrt(w * w * (t - j) / sigma**2 + rate)
        ahead = -np.expm1(silent) + np.exp(silent) * gaussian_profile(epsilon - silent, mu)
        yield t, np.maximum(ahead, gaussian_profile(epsilon + silent, mu))


def worst_pair(bar: KeyBar, epsilon: float, delta: float, cap: Cap) -> tuple[int, int] | None:
    """None if every loss is certainly at most delta; otherwise a (t, j) of which that is not certain."""
    for t, loss in losses(bar, epsilon, cap):
        for j in np.flatnonzero(~(loss <= NEAR * delta)).tolist():
            if not _within(partial(_loss_balls, bar, epsilon, cap, t, j), delta):
                return t, j
    return None


def _loss_balls(bar: KeyBar, epsilon: float, cap: Cap, t: int, j: int) -> list[arb]:
    w = cap.shift(t)
    silent = j * _log_silent(bar, w)
    mu = ball(w**2 * (t - j) / bar.sigma**2 + bar.rate).sqrt()
    e = ball(Fraction(epsilon))
    ahead = -silent.expm1() + silent.exp() * _profile_ball(e - silent, mu)
    return [ahead, _profile_ball(e + silent, mu)]


def _log_silent(bar: KeyBar, w: Fraction) -> arb:
    """ln P[a label of one person, who moves it by w, is not named]."""
    from flint import arb

    return (-(ball((bar.reach - w) / bar.sigma) / arb(2).sqrt()).erfc() / 2).log1p()


def _profile_ball(x: arb, mu: arb) -> arb:
    from flint import arb

    if mu.is_zero():
        still = -x.expm1()
        return arb(0) if still <= 0 else still.union(arb(0))
    root = arb(2).sqrt()
    return ((x / mu - mu / 2) / root).erfc() / 2 - x.exp() * ((x / mu + mu / 2) / root).erfc() / 2


def _silent(bar: KeyBar, delta: float, cap: Cap) -> bool:
    """Whether t new labels of one person are named with probability at most delta, for every t: certainly."""
    return _within(lambda: [-(t * _log_silent(bar, cap.shift(t))).expm1() for t in cap.numbers()], delta)


def _within(terms: Callable[[], list[arb]], delta: float) -> bool:
    """Whether all are certainly at most delta."""
    from flint import arb, ctx

    for precision in PRECISIONS:
        with ctx.workprec(precision):
            balls = terms()
            if all(one <= arb(delta) for one in balls):
                return True
            if any(one > arb(delta) for one in balls):
                return False
    return False


GRID = 1 << 20
"""Offsets are multiples of 1/GRID, so that every score is a short rational number."""

PRECISION = 256


def dummies(limit: int, delta: Fraction) -> int:
    """M = ceil(limit (1 - delta) / delta), so limit / (limit + M) <= delta: the bar is the best of M counts c + 1.

    >>> dummies(3, Fraction(1, 100))
    297
    """
    return math.ceil(limit * (1 - delta) / delta)


@lru_cache
def exponential_offset(limit: int, e: Fraction, delta: Fraction) -> Fraction:
    """The least offset t on the grid with P[max of `limit` exponential noises > t + one more] <= delta, scale 1 / e.

    With x = e^(-e t) that chance is 1 - (1 - (1 - x)^(limit + 1)) / ((limit + 1) x), and at most limit x / 2.

    >>> float(exponential_offset(3, Fraction(1), Fraction(1, 100)))
    5.006169319152832
    """
    from flint import arb, ctx

    def fits(step: int) -> bool:
        x = (-ball(e * Fraction(step, GRID))).exp()
        chance = 1 + (arb(limit + 1) * (-x).log1p()).expm1() / ((limit + 1) * x)
        return bool(limit * x / 2 <= bound or chance <= bound)

    with ctx.workprec(PRECISION + 2 * limit.bit_length() + 2 * (delta.denominator // delta.numerator).bit_length()):
        bound = ball(delta)
        low, high = 0, GRID
        while not fits(high):
            low, high = high, 2 * high
        least = bisect(fits, low, high, whole_numbers)[1]
    return Fraction(least, GRID)


@lru_cache
def canonical_offset(k: int, limit: int, inner: Fraction, delta: Fraction) -> Fraction:
    """The least offset t on the grid, or the next, with t >= ln(N (1 - delta) / delta) / inner.

    N = sum_{j = 1 .. k} C(limit, j) is the number of sets that share what reaches the bar; `inner` is gamma epsilon.

    >>> float(canonical_offset(2, 3, Fraction(1), Fraction(1, 100)))
    6.386879920959473
    """
    from flint import ctx, fmpz

    sets = sum((fmpz.bin_uiui(limit, j) for j in range(1, k + 1)), fmpz(0))
    with ctx.workprec(PRECISION):
        offset = (ball(int(sets) * (1 - delta) / delta).log() / ball(inner) * GRID).upper()
        return Fraction(math.ceil(exactly(offset)), GRID)


@dataclass(frozen=True, slots=True)
class GaussianTest:
    """max(slack, q) + N(0, 1/rate^2) - z/rate > slack: passes with Phi((max(slack, q) - slack) rate - z).

    Moving q by one person's `slack` shifts the normal law by slack * rate: (slack rate)^2 / 2-zCDP. z is rounded up so
    that Phi(-z) <= delta.
    """

    rate: Fraction
    z: float
    slack: int = 1

    def chance(self, gap: int) -> arb:
        from flint import arb

        a = (max(self.slack, gap) - self.slack) * self.rate - Fraction(self.z)
        return (-ball(a) / arb(2).sqrt()).erfc() / 2


@dataclass(frozen=True, slots=True)
class LaplaceTest:
    """max(1, q) + Lap(1/epsilon) > 1 + ln(1/(2 delta)) / epsilon: (epsilon, delta)-DP, delta < 1/2."""

    epsilon: Fraction
    delta: Fraction

    def chance(self, gap: int) -> arb:
        low = ball(self.delta) * ball(self.epsilon * (max(1, gap) - 1)).exp()
        if low < 0.5:
            return low
        high = 1 - 1 / (4 * low)
        return high if low > 0.5 else low.union(high)


@dataclass(frozen=True, slots=True)
class OptimalTest:
    """pi(0) = 0, pi(q + 1) = min(e^epsilon pi(q) + delta, 1 - e^-epsilon (1 - pi(q) - delta), 1).

    The largest probabilities of passing that (epsilon, delta) allows to a test that is silent at a tie. In closed form:
    delta (e^(q epsilon) - 1) / (e^epsilon - 1) up to the first q = n above (1 - delta) / (e^epsilon + 1); from there
    1 - pi falls to w = -delta / (e^epsilon - 1) by a factor e^-epsilon each step, until it reaches 0.
    """

    epsilon: Fraction
    delta: Fraction

    def chance(self, gap: int) -> arb:
        from flint import arb

        turn = _turn(self.epsilon, self.delta)
        if gap <= turn:
            return self._rising(gap)
        floor = -ball(self.delta) / ball(self.epsilon).expm1()
        rest = floor + (1 - self._rising(turn) - floor) * (-ball(self.epsilon * (gap - turn))).exp()
        return arb(1) if rest < 0 else 1 - rest

    def _rising(self, gap: int) -> arb:
        return ball(self.delta) * ball(self.epsilon * gap).expm1() / ball(self.epsilon).expm1()


StabilityTest = GaussianTest | LaplaceTest | OptimalTest
"""Each has the probability of passing, `chance`, at each gap of at least 1."""


@lru_cache
def _turn(epsilon: Fraction, delta: Fraction) -> int:
    """The first q with pi(q) > (1 - delta) / (e^epsilon + 1), where the other branch takes over: certified.

    It is floor(x) + 1 with delta (e^(x epsilon) - 1) / (e^epsilon - 1) = (1 - delta) / (e^epsilon + 1); x is never
    whole, because e^epsilon is transcendental.
    """
    from flint import ctx

    precision = 128
    while True:
        with ctx.workprec(precision):
            rate = ball(epsilon)
            rise = ball((1 - delta) / delta) * rate.expm1() / (rate.exp() + 1)
            whole = (rise.log1p() / rate).floor().unique_fmpz()
        if whole is not None:
            return int(whole) + 1
        precision *= 2


@lru_cache
def quantile_above(delta: float) -> float:
    """z with Phi(-z) <= delta, the least float that is certified, or nearly."""
    from flint import arb, ctx

    with IMPORTS:
        from scipy.special import ndtri

    z = -float(ndtri(delta))
    with ctx.workprec(128):
        while not (arb(z) / arb(2).sqrt()).erfc() / 2 <= arb(delta):
            z = math.nextafter(z, math.inf)
    return z
