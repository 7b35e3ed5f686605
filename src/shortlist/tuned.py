"""The best of a random number of private runs: distributions of the number, and what it costs.

A distribution of the number K of runs, with f(x) = E x^K, says of itself

- `mean`, f'(1); `none`, f(0): the chance that nothing is run; `most`: the largest number, None if there is no bound;
- `log_slope(x)`, `hit_probability(d)` and `log_moment(t)`: ln f'(x), 1 - f(1 - d), ln f(e^t), right to a few last bits;
- `factor(odds)`: max f'(s)/f'(s') over all (s, s') that e^epsilon = odds allows, where there is a closed form;
- `ladder()`: (least k, ratio of the chances of k + 1 and k, inverse of the least k's chance), for an exact draw.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting import curves
from shortlist.accounting.compose import pure_total, renyi_total, rho_total, thinning_total
from shortlist.accounting.curves import ULP, Curves, Profile, Renyi, up
from shortlist.accounting.guarantees import Guarantee, count, number
from shortlist.bounds import whole_profile
from shortlist.exact.reals import ball, exactly
from shortlist.exact.search import bisect, neighbours
from shortlist.release_io import GUARANTEES, WHOLE, Codec, list_of, one_of, pair, record
from shortlist.sampling.entropy import WordStream

if TYPE_CHECKING:
    from flint import arb


BITS = 192
"""Of the balls in which pure costs are computed; they are rounded up at the end."""
MOST_RUNS = 1_000_000
"""The largest mean: nobody waits for more runs."""
LEAST_ETA = 1e-6
"""Between this and 0 the formulas lose digits, and nothing is gained."""
LARGEST_ETA = 1e3


@dataclass(frozen=True, slots=True)
class NegativeBinomial:
    """At least one run; P[K = k] is proportional to (1 - gamma)^k prod_{0 < l < k} (l + eta)/(l + 1).

    eta = 1 is the geometric law, eta = 0 the logarithmic one, which costs least among the usual ones. Of `mean` and
    `gamma` give one; what is kept, drawn by and charged for is gamma, exactly.

    Parameters
    ----------
    mean
        The mean number of runs, above 1; gamma is the float that comes nearest to it.
    eta
        Above -1. Larger ones try more of the grid at the same mean, and cost more.
    gamma
        Between 0 and 1; smaller means more runs.

    Examples
    --------
    >>> NegativeBinomial(mean=10, eta=1)
    NegativeBinomial(gamma=0.1, eta=1.0)
    """

    gamma: float
    eta: float
    none: ClassVar[float] = 0.0
    most: ClassVar[int | None] = None

    def __init__(self, mean: float | None = None, eta: float = 0.0, gamma: float | None = None) -> None:
        shape = number("eta", eta, least=-1.0, above=True, below=LARGEST_ETA)
        if shape and abs(shape) < LEAST_ETA:
            raise ValueError(f"eta must be 0 or at least {LEAST_ETA:g} away from it: write eta=0")
        if (mean is None) == (gamma is None):
            raise TypeError("give either mean= or gamma=, for example NegativeBinomial(mean=10, eta=0)")
        rate = 0.0 if gamma is None else number("gamma", gamma, above=True, below=1.0)
        if mean is not None:
            rate = _gamma_of(number("mean", mean, least=1.0, above=True, below=MOST_RUNS), shape)
        if _mean_of(rate, shape) > MOST_RUNS:
            raise ValueError(f"gamma must leave a mean of at most {MOST_RUNS:,} runs: write gamma=0.01, for example")
        object.__setattr__(self, "gamma", rate)
        object.__setattr__(self, "eta", shape)

    @property
    def mean(self) -> float:
        return _mean_of(self.gamma, self.eta)

    def log_slope(self, x: Floats) -> Floats:
        """ln m + (eta + 1) ln(gamma / (1 - (1 - gamma) `x`))."""
        far: Floats = np.log1p((1 - self.gamma) / self.gamma * (1 - x))
        return math.log(self.mean) - (1 + self.eta) * far

    def hit_probability(self, d: Floats) -> Floats:
        """Return 1 - f(1 - `d`), the probability that an event of probability d is among the runs."""
        far = np.log1p((1 - self.gamma) / self.gamma * d)
        return self._share(-far)

    def log_moment(self, t: Floats) -> Floats:
        """ln f(e^`t`) for t >= 0; infinite where the series does not converge."""
        reached = (1 - self.gamma) / self.gamma * np.expm1(np.minimum(t, 700.0))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values: Floats = np.log1p(-self._share(-np.log1p(-np.minimum(reached, 1.0))))
        return np.where(reached < 1 - 1e-9, values, math.inf)

    def _share(self, power: Floats) -> Floats:
        """(1 - e^{eta power}) / (1 - gamma^eta), and its limit at eta = 0: power / ln gamma."""
        if not self.eta:
            return power / math.log(self.gamma)
        with np.errstate(over="ignore"):
            return np.expm1(self.eta * power) / math.expm1(self.eta * math.log(self.gamma))

    def factor(self, odds: arb) -> arb:
        """max f'(s)/f'(s') where e^epsilon is `odds`, in closed form."""
        gamma = ball(Fraction(self.gamma))
        return ((odds + gamma) / (1 + gamma * odds)) ** ball(1 + Fraction(self.eta))

    def ladder(self) -> Ladder:
        """(least k, ratio of the chances of k + 1 and k, inverse of the least k's chance)."""
        rest, eta = 1 - Fraction(self.gamma), Fraction(self.eta)

        def total() -> arb:
            gamma = ball(Fraction(self.gamma))
            if not eta:
                return -gamma.log() / ball(rest)
            return (gamma ** ball(-eta) - 1) / ball(rest * eta)

        return 1, lambda k: rest * (k + eta) / (k + 1), total


def _mean_of(gamma: float, eta: float) -> float:
    """eta (1 - gamma) / (gamma (1 - gamma^eta)), and (1/gamma - 1) / ln(1/gamma) at eta = 0."""
    log = math.log1p(gamma - 1) if gamma > 0.5 else math.log(gamma)
    return (1 - gamma) / gamma * (eta / -math.expm1(eta * log) if eta else -1 / log)


def _gamma_of(mean: float, eta: float) -> float:
    """The largest gamma whose mean is not below the one asked for; the mean falls in gamma."""
    low = next(low for low in (0.5**n for n in range(1, 1100)) if _mean_of(low, eta) >= mean)
    low, high = bisect(lambda gamma: _mean_of(gamma, eta) < mean, low, 1 - 2.0**-53, neighbours)
    return min(low, high, key=lambda gamma: abs(_mean_of(gamma, eta) - mean))


@dataclass(frozen=True, slots=True)
class Poisson:
    """K is Poisson: none at all with probability e^-mean.

    Parameters
    ----------
    mean
        The mean number of runs, above 0.

    Examples
    --------
    >>> round(Poisson(10).hit_probability(np.array(0.05)).item(), 6)
    0.393469
    """

    mean: float
    most: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", number("mean", self.mean, above=True, below=MOST_RUNS))

    @property
    def none(self) -> float:
        return math.exp(-self.mean)

    def log_slope(self, x: Floats) -> Floats:
        """ln f'(`x`) for x from 0 to 1."""
        return math.log(self.mean) - self.mean * (1 - x)

    def hit_probability(self, d: Floats) -> Floats:
        """Return 1 - f(1 - `d`), the probability that an event of probability d is among the runs."""
        return -np.expm1(-self.mean * d)

    def log_moment(self, t: Floats) -> Floats:
        """ln f(e^`t`) for t >= 0; infinite where the series does not converge."""
        return np.where(t <= 700.0, self.mean * np.expm1(np.minimum(t, 700.0)), math.inf)

    def factor(self, odds: arb) -> arb:
        """max f'(s)/f'(s') where e^epsilon is `odds`, in closed form."""
        return (ball(Fraction(self.mean)) * (odds - 1) / (odds + 1)).exp()

    def ladder(self) -> Ladder:
        """(least k, ratio of the chances of k + 1 and k, inverse of the least k's chance)."""
        mean = Fraction(self.mean)
        return 0, lambda k: mean / (k + 1), lambda: ball(mean).exp()


@dataclass(frozen=True, slots=True)
class Binomial:
    """K of n runs count, each with probability p, on its own. With p = 1 there are n runs, and nothing is gained.

    Parameters
    ----------
    n
        The largest number of runs, at least 1.
    p
        Above 0, at most 1.

    Examples
    --------
    >>> Binomial(20, 0.5).mean
    10.0
    """

    n: int
    p: float

    def __post_init__(self) -> None:
        runs = count("n", self.n)
        if runs > MOST_RUNS:
            raise ValueError(f"n must be at most {MOST_RUNS:,} runs: write n=20, for example")
        object.__setattr__(self, "n", runs)
        object.__setattr__(self, "p", number("p", self.p, above=True, below=math.nextafter(1.0, 2.0)))

    @property
    def mean(self) -> float:
        return self.n * self.p

    @property
    def none(self) -> float:
        return math.exp(self.n * math.log1p(-self.p)) if self.p < 1 else 0.0

    @property
    def most(self) -> int | None:
        return self.n

    def log_slope(self, x: Floats) -> Floats:
        """ln f'(`x`) for x from 0 to 1."""
        with np.errstate(divide="ignore", invalid="ignore"):
            values: Floats = math.log(self.mean) + (self.n - 1) * np.log1p(-self.p * (1 - x))
        return np.where(np.isnan(values), math.log(self.mean), values)  # of one run f' is p everywhere

    def hit_probability(self, d: Floats) -> Floats:
        """Return 1 - f(1 - `d`), the probability that an event of probability d is among the runs."""
        with np.errstate(divide="ignore"):
            values: Floats = -np.expm1(self.n * np.log1p(-self.p * d))
        return values

    def log_moment(self, t: Floats) -> Floats:
        """ln f(e^`t`) for t >= 0; beyond e^700, where floats end, by e^t p + 1 - p <= e^t."""
        return np.where(t <= 700.0, self.n * np.log1p(self.p * np.expm1(np.minimum(t, 700.0))), self.n * t)

    def factor(self, odds: arb) -> arb:
        """max f'(s)/f'(s') where e^epsilon is `odds`, in closed form."""
        rest = ball(1 - Fraction(self.p))
        return ((rest + odds) / (1 + rest * odds)) ** (self.n - 1)

    def ladder(self) -> Ladder:
        """(least k, ratio of the chances of k + 1 and k, inverse of the least k's chance)."""
        p, n = Fraction(self.p), self.n
        if p == 1:
            return n, lambda k: Fraction(0), lambda: ball(Fraction(1))
        return 0, lambda k: (n - k) * p / ((k + 1) * (1 - p)), lambda: ball(1 / (1 - p)) ** n


def pure_cost(runs: RunLaw, epsilon: float) -> float | None:
    """epsilon + ln max f'(s)/f'(s') in closed form (Theorem 235), rounded up; None where there is none."""
    from flint import ctx

    if isinstance(runs, Capped):
        return None
    with ctx.workprec(BITS):
        exact = ball(Fraction(epsilon))
        whole = (exact + runs.factor(exact.exp()).log()).upper()
        return up(exactly(whole)) if whole.is_finite() else math.inf


LARGEST_CAP = 10_000
"""All chances up to the cap are added up, for every point of a curve."""


@dataclass(frozen=True, slots=True)
class Capped:
    """`runs` given that there are at most `cap` of them: K is drawn from P[K = k | K <= cap].

    Parameters
    ----------
    runs
        `NegativeBinomial`, `Poisson` or `Binomial`.
    cap
        The largest number of runs, public; from 1 to 10,000.

    Examples
    --------
    >>> round(Capped(NegativeBinomial(mean=10), 50).mean, 7)
    7.7005165
    """

    runs: NegativeBinomial | Poisson | Binomial
    cap: int

    def __post_init__(self) -> None:
        if not isinstance(self.runs, NegativeBinomial | Poisson | Binomial):
            raise TypeError("runs must be NegativeBinomial(..), Poisson(..) or Binomial(..)")
        cap = count("cap", self.cap)
        if cap > LARGEST_CAP:
            raise ValueError(f"cap must be at most {LARGEST_CAP:,}: write cap=50, for example, or leave it out")
        if cap < self.runs.ladder()[0]:
            raise ValueError("cap must leave a number of runs that is possible: Binomial(n, 1.0) has n runs always")
        object.__setattr__(self, "cap", cap)

    @property
    def mean(self) -> float:
        chances = _chances(self)
        return float(np.arange(len(chances)) @ chances)

    @property
    def none(self) -> float:
        return float(_chances(self)[0])

    @property
    def most(self) -> int:
        return self.cap if self.runs.most is None else min(self.cap, self.runs.most)

    def log_slope(self, x: Floats) -> Floats:
        """ln f'(`x`) for x from 0 to 1."""
        chances = _chances(self)
        with np.errstate(divide="ignore"):
            values: Floats = np.log(np.polyval((np.arange(len(chances)) * chances)[:0:-1], x))
        return values

    def hit_probability(self, d: Floats) -> Floats:
        """Return 1 - f(1 - `d`), the probability that an event of probability d is among the runs."""
        with np.errstate(divide="ignore"):
            log_rest = np.log1p(-d)
        total = np.zeros(np.shape(d))
        for k, chance in enumerate(_chances(self)[1:], 1):
            total -= chance * np.expm1(k * log_rest)
        return total

    def log_moment(self, t: Floats) -> Floats:
        """ln f(e^`t`) for t >= 0; infinite where the series does not converge."""
        chances = _chances(self)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            small, large = np.zeros(np.shape(t)), np.full(np.shape(t), -math.inf)
            for k, chance in enumerate(chances):
                small = small + chance * np.expm1(k * t)
                large = np.logaddexp(large, math.log(chance) + k * t) if chance else large
            return np.where(len(chances) * t < 1.0, np.log1p(small), large)

    def ladder(self) -> Ladder:
        """(least k, ratio of the chances of k + 1 and k, inverse of the least k's chance)."""
        (first, ratio, _), last = self.runs.ladder(), self.most
        return first, lambda k: ratio(k) if k < last else Fraction(0), lambda: sum(_weights(self), ball(Fraction(0)))


@lru_cache(64)
def _chances(capped: Capped) -> Floats:
    """P[K = k] for k = 0, 1, .., each right to a few units of its last bit."""
    from flint import ctx

    with ctx.workprec(128):
        exact = _weights(capped)
        whole = sum(exact, ball(Fraction(0)))
        return np.array([0.0] * capped.runs.ladder()[0] + [float((one / whole).mid()) for one in exact])


def _weights(capped: Capped) -> list[arb]:
    """The chances of all numbers from the least to the largest, over that of the least."""
    first, ratio, _ = capped.runs.ladder()
    ratios = (ball(ratio(k)) for k in range(first, capped.most))
    return list(accumulate(ratios, operator.mul, initial=ball(Fraction(1))))


FARTHEST = 60.0
"""The largest epsilon whose constraint is looked at."""
SLACK = 1e-10
"""By how much, relatively, tangents of Renyi balls are raised: their own rounding is a thousandth of it."""
STEPS = 56
"""Halvings of a logit: from 80 wide to below the last bit."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """The largest of many lines slope x + height for x >= 0: those that are largest somewhere, the steepest first."""

    slopes: Floats
    heights: Floats

    @classmethod
    def of(cls, slopes: Floats, heights: Floats) -> Envelope:
        order = np.lexsort((-heights, -slopes))
        slopes, heights = slopes[order], heights[order]
        if math.isinf(slopes[0]):
            return cls(np.array([math.inf]), np.array([0.0]))
        better = np.append(True, heights[1:] > np.maximum.accumulate(heights)[:-1])
        slopes, heights = slopes[better], heights[better]
        while True:  # a point that is not above the chord of its neighbours is above no chord
            fall, rise = -np.diff(slopes), np.diff(heights)
            above = np.ones(len(slopes), bool)
            above[1:-1] = rise[:-1] * (fall[:-1] + fall[1:]) > (rise[:-1] + rise[1:]) * fall[:-1]
            if above.all():
                return cls(slopes, heights)
            slopes, heights = slopes[above], heights[above]

    def at(self, x: Floats) -> Floats:
        """The largest line at each x, and of the lines beside it: where two cross, rounding hides which is larger."""
        turns = np.diff(self.heights) / -np.diff(self.slopes)  # falling: there a line and the next are equally large
        place = len(turns) - np.searchsorted(turns[::-1], x)
        beside = (np.clip(place + step, 0, len(turns)) for step in (-1, 0, 1))
        return np.max([x * self.slopes[one] + self.heights[one] for one in beside], axis=0)


def half_planes(profile: Profile, pure: float, renyi: Renyi | None) -> tuple[Floats, Floats]:
    """(c, d) of half planes s <= c + d s' that hold all chances (s, s') of tests: from a profile of both orders, and
    from Renyi divergences of both orders where there are any."""
    top = min(pure, FARTHEST)
    epsilons = np.unique(np.concatenate([np.linspace(0.0, top, 200), np.geomspace(1e-3 * top, top, 100)]))
    delta = np.clip(profile(epsilons), 0.0, 1.0)
    # s <= e^epsilon s' + delta, and 1 - s' <= e^epsilon (1 - s) + delta
    c, d = [delta, 1 - np.exp(-epsilons) * (1 - delta) + 1e-15], [np.exp(epsilons) * (1 + 1e-15), np.exp(-epsilons)]
    more_c, more_d = (np.zeros(0), np.zeros(0)) if renyi is None else _tangents(renyi)
    return np.concatenate([*c, more_c]), np.concatenate([*d, more_d])


@dataclass(frozen=True, slots=True)
class Region:
    """The chances (s, s') that tests may have. Every half plane holds, so none can be a wrong one."""

    bound: Envelope
    """Of -s."""

    @classmethod
    def of(cls, c: Floats, d: Floats) -> Region:
        usable = np.isfinite(c) & np.isfinite(d)
        return cls(Envelope.of(-d[usable], -c[usable]))

    def largest(self, other: Floats) -> Floats:
        """The largest s for each s', rounded up; never above 1."""
        return np.minimum(-self.bound.at(other), 1.0)


@np.errstate(all="ignore")
def _tangents(renyi: Renyi) -> tuple[Floats, Floats]:
    """Tangents of the sets {D_a(s, s') <= D_a and D_a(s', s) <= D_a}, s and s' as coins, at some s'.

    Each order's set is convex, because s^a s'^(1-a) is; its linearisation at any point contains it.
    """
    orders = 1 + np.geomspace(1e-2, 1e3, 60)
    divergence = renyi(orders)
    usable = np.isfinite(divergence)
    less, divergence = (orders - 1)[usable, None], divergence[usable, None]
    if not less.size:
        return np.zeros(0), np.zeros(0)
    start = np.concatenate([np.geomspace(1e-12, 0.02, 60)[:-1], np.linspace(0.02, 0.98, 120)])
    ends = np.log(start) - np.log1p(-start)
    ends = np.concatenate([ends, -np.log(np.geomspace(1e-12, 0.02, 60)[:-1])])

    def logs(z: Floats) -> tuple[Floats, Floats]:
        """ln s and ln(1 - s) of s = 1 / (1 + e^-z)."""
        return -np.logaddexp(0.0, -z), -np.logaddexp(0.0, z)

    def terms(z: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """ln of the four terms over e^((a-1) D_a): of s against s', and of s' against s."""
        (one, rest), (other, others) = logs(z), logs(ends)
        scale = less * divergence
        return (
            (1 + less) * one - less * other - scale,
            (1 + less) * rest - less * others - scale,
            (1 + less) * other - less * one - scale,
            (1 + less) * others - less * rest - scale,
        )

    def excess(z: Floats) -> Floats:
        first, second, third, fourth = terms(z)
        return np.stack([np.logaddexp(first, second), np.logaddexp(third, fourth)]) / less

    low, high = ends, ends + 80.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        inside = excess(middle).max(axis=(0, 1)) <= 0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    values = excess(high)
    flat = values.reshape(-1, len(ends))
    best = flat.argmax(axis=0)
    swapped, order = best // len(less), best % len(less)
    at = np.arange(len(ends))
    first, second, third, fourth = (np.exp(one[order, at]) for one in terms(high))
    a = 1 + less[order, 0]
    e_one, e_two = np.where(swapped, third, first), np.where(swapped, fourth, second)
    (log_s, log_t), (log_x, log_y) = logs(high), logs(ends)
    by_s = e_one * np.exp(-log_s) - e_two * np.exp(-log_t)
    by_x = e_one * np.exp(-log_x) - e_two * np.exp(-log_y)
    slope = by_x / by_s * np.where(swapped, a / (a - 1), (a - 1) / a)
    value = (e_one + e_two - 1) / by_s * np.where(swapped, 1 / (1 - a), 1 / a)
    s, x = np.exp(log_s), np.exp(log_x)
    c = s - value - slope * x
    good = np.isfinite(c) & np.isfinite(slope) & (slope > 0)
    return (c + SLACK * s)[good], (slope * (1 + SLACK))[good]


CLOSE = 1e-10
"""How sharply the largest ratio of slopes is sought."""
MOST_CELLS = 40_000
NOISE = 1e-12
"""Relative rounding of slopes, moments and chances of a number of runs; many times what it is."""


@dataclass(frozen=True, slots=True)
class Base:
    """One run, by what tuning needs of it; computed once for all numbers of runs."""

    pure: float
    """Infinite if there is none, or a delta beside it."""
    rho: float
    renyi: Renyi | None
    """None where nothing but the profile holds: with a thinning of its own, or without any finite order."""
    profile: Profile
    region: Region


@lru_cache(32)
def base_of(guarantee: Guarantee) -> Base:
    """What the guarantee of one run says."""
    charges = guarantee.curves()
    thinned = thinning_total(charges) > 0
    profile, renyi = whole_profile(charges), None if thinned else renyi_total(charges)
    if renyi is not None and not np.isfinite(renyi(1 + curves.COARSE)).any():
        renyi = None
    pure, rho = (math.inf, math.inf) if thinned else (pure_total(charges), rho_total(charges))
    where = Region.of(*half_planes(profile, pure, renyi if math.isinf(pure) else None))
    return Base(pure, rho, renyi, profile, where)


@lru_cache(256)
def best_curves(guarantee: Guarantee, runs: RunLaw) -> Curves:
    """The best of `runs` runs that promise `guarantee` each; every number rounded up."""
    base = base_of(guarantee)
    ratios = _Ratios.of(base.region, runs)
    pure, r = math.inf, ratios.largest
    if base.pure < math.inf:
        closed = pure_cost(runs, base.pure)
        r = r if closed is None else min(r, closed - base.pure + 4 * ULP * closed)
        pure = up(Fraction(base.pure) + Fraction(r)) if closed is None else closed
        if runs.most is not None:
            pure = min(pure, up(Fraction(base.pure) * runs.most))
    renyi = _renyi(base, runs, ratios, pure)
    rho = _rho(base, runs, ratios, renyi) if base.rho < math.inf else math.inf
    if pure < math.inf:
        rho = min(rho, curves.pure_rho(pure))
    least = min(1.0, float(runs.hit_probability(np.ones(()))) * (1 + NOISE))
    bounds: list[Profile] = [lambda x: np.full(x.shape, least)]
    if r < math.inf:
        bounds.append(lambda x: runs.hit_probability(np.clip(base.profile(x - r), 0.0, 1.0)) * (1 + NOISE))
    if base.renyi is not None:
        bounds.append(curves.renyi_profile(renyi))
    if pure < math.inf:
        bounds.append(curves.two_point(pure, -pure))  # randomised response dominates all that is pure

    @np.errstate(all="ignore")
    def half(x: Floats) -> Floats:
        return np.where(x >= pure, 0.0, np.min([bound(x) for bound in bounds], axis=0))

    why_not = "" if base.pure < math.inf else "one run leaves rare losses of any size, and so does the best of many"
    if base.renyi is None:
        why_not = "one run has a delta of its own, and of the best of many only a profile is known then"
    return Curves(
        renyi=renyi,
        pairs=(curves.symmetric(half),),
        witness=lambda order: (curves.gaussian(0.0),),
        pure=pure,
        rho=rho,
        joint=base.renyi is not None,
        why_not=why_not,
    )


@dataclass(frozen=True, slots=True)
class _Ratios:
    """Slopes at the pairs (s, s') that tests may have: `largest` is max ln f'(s)/f'(s'), rounded up.

    On a cell of s' the slope at its largest s stands above the slope at its smallest s', for f' rises.
    """

    largest: float
    gains: Envelope

    @classmethod
    def of(cls, where: Region, runs: RunLaw) -> _Ratios:
        small = np.geomspace(1e-13, 0.5, 12_000)
        ends = np.unique(np.concatenate([[0.0, 1.0], small, 1 - small, np.linspace(0.0, 1.0, 20_001)]))
        above, below = _slopes(where, runs, ends[:-1], ends[1:])
        with np.errstate(invalid="ignore"):
            gains = above - below
        largest = _sharpen(where, runs, ends[:-1], ends[1:], gains)
        return cls(largest, Envelope.of(np.where(np.isnan(gains), math.inf, gains), below))

    def most(self, orders: Floats) -> Floats:
        """max over the region of a ln f'(s) - (a-1) ln f'(s'), for each order a; rounded up."""
        bound = self.gains.at(orders)
        return bound + NOISE * np.abs(bound)


def _slopes(where: Region, runs: RunLaw, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """(ln f' at the largest s of each cell, ln f' at its smallest s'), rounded apart."""
    above, below = runs.log_slope(where.largest(high)), runs.log_slope(low)
    with np.errstate(invalid="ignore"):
        return above + NOISE * (1 + np.abs(above)), below - NOISE * (1 + np.abs(below))


def _sharpen(where: Region, runs: RunLaw, low: Floats, high: Floats, gains: Floats) -> float:
    """The largest gain, the cells that may hold it cut ever finer; those that are left whole count as they are."""
    settled = 0.0
    for _ in range(12):
        largest = math.inf if np.isnan(gains).any() else float(np.max(gains, initial=-math.inf))
        sure = (
            math.inf if math.isinf(largest) else float(np.max(runs.log_slope(where.largest(low)) - runs.log_slope(low)))
        )
        keep = gains > sure + CLOSE
        if not keep.any() or 8 * int(keep.sum()) > MOST_CELLS:
            return max(largest, settled)
        settled = max(settled, float(np.max(gains[~keep], initial=0.0)))
        cuts = low[keep, None] + (high - low)[keep, None] * np.linspace(0.0, 1.0, 9)
        cuts[:, -1] = high[keep]
        low, high = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
        gains = np.subtract(*_slopes(where, runs, low, high))
    return max(float(gains.max()), settled)


def _renyi(base: Base, runs: RunLaw, ratios: _Ratios, pure: float) -> Renyi:
    """The better of the weighted moment and of plain composition, at this order or any larger one."""
    one_run = base.renyi
    if one_run is None:
        return lambda orders: np.full(orders.shape, math.inf)
    rho = curves.pure_rho(pure) if pure < math.inf else math.inf
    nothing = math.log(runs.none) if runs.none else -math.inf

    def at(orders: Floats) -> Floats:
        less = orders - 1
        with np.errstate(all="ignore"):
            moment = less * one_run(orders)
            weighted = np.logaddexp(nothing, moment + ratios.most(orders))
            weighted = (weighted + 1e-13 * (1 + np.abs(weighted))) / less
            plain = runs.log_moment(moment * (1 + NOISE)) * (1 + NOISE) / less
            bounded = np.minimum(orders * rho * (1 + 4 * ULP), pure)
        return np.fmin(np.fmin(np.where(np.isnan(weighted), math.inf, weighted), plain), bounded)

    grid = 1 + curves.COARSE
    later = np.minimum.accumulate(at(grid)[::-1])[::-1]
    later = np.append(later, math.inf)

    def renyi(orders: Floats) -> Floats:
        bound: Floats = np.minimum(at(orders), later[np.searchsorted(grid, orders)])
        return np.maximum(bound, 0.0)

    return renyi


def _rho(base: Base, runs: RunLaw, ratios: _Ratios, renyi: Renyi) -> float:
    """sup D_a / a: on cells of orders, and beyond them by rho of one run and the largest ratio of slopes."""
    orders = 1 + np.geomspace(1e-6, 1e8, 30_000)
    bound = renyi(orders)
    cells_of_orders = np.append(bound[0], bound[1:] / orders[:-1])
    last = float(orders[-1])
    tail = base.rho + (last * ratios.largest + abs(math.log(runs.mean)) + 1) / (last * (last - 1))
    whole = max(float(np.max(cells_of_orders)), tail) * (1 + NOISE)
    return whole if runs.most is None else min(whole, up(Fraction(base.rho) * runs.most))


RunLaw = NegativeBinomial | Poisson | Binomial | Capped

Ladder = tuple[int, Callable[[int], Fraction], Callable[[], "arb"]]
"""(least k, ratio of the probabilities of k + 1 and k, inverse of the least k's probability)."""


def draw_number(runs: RunLaw, stream: WordStream) -> int:
    """Draw the number of runs, exactly: the least k with w_1 + .. + w_k > U Z, in balls around U."""
    from flint import ctx

    uniform = stream.uniform()
    while True:
        with ctx.workprec(64 + uniform.bits):
            number = _least(runs.ladder(), runs.most, uniform.ball())
        if number is not None:
            return number
        uniform.refine()


def _least(ladder: Ladder, most: int | None, uniform: arb) -> int | None:
    """Return the least k whose sum is above U Z, or None where the bits that are known do not tell."""
    k, ratio, total = ladder
    aim, weight, whole = uniform * total(), ball(Fraction(1)), ball(Fraction(1))
    while k != most and not whole > aim:
        if not whole < aim:
            return None
        weight = weight * ball(ratio(k))
        whole = whole + weight
        k += 1
    return k


def whole_shares(weights: Sequence[Fraction]) -> list[int]:
    """Return running sums of whole numbers that are in proportion to the weights, exactly."""
    scale = math.lcm(*(weight.denominator for weight in weights))
    return list(accumulate(int(weight * scale) for weight in weights))


def draw_place(sums: Sequence[int], stream: WordStream) -> int:
    """Draw a place, in proportion to the steps of running sums."""
    return bisect_right(sums, stream.below(sums[-1]))


@dataclass(frozen=True, slots=True)
class Mixed(Guarantee):
    """One of several, chosen by public weights that know nothing of the data, and told which.

    epsilon is the largest of the parts; profiles and Renyi moments are their weighted means (Lemma 233).

    Parameters
    ----------
    parts
        Pairs of a guarantee and its weight, a whole number above 0.

    Examples
    --------
    >>> from shortlist.privacy import PureDP
    >>> Mixed(((PureDP(0.5), 1), (PureDP(1.0), 3))).as_pure()
    PureDP(epsilon=1.0)
    """

    parts: tuple[tuple[Guarantee, int], ...]

    def __post_init__(self) -> None:
        parts = tuple((part, weight) for part, weight in self.parts)
        if not parts or not all(isinstance(part, Guarantee) for part, _ in parts):
            raise TypeError("parts must be guarantees with weights: write ((PureDP(0.5), 1), (PureDP(1.0), 3))")
        if not all(type(weight) is int and weight > 0 for _, weight in parts):
            raise ValueError("parts must have weights that are whole numbers above 0")
        object.__setattr__(self, "parts", parts)

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        return ((_curves_of_mixture(self), 1),)


@lru_cache(64)
def _curves_of_mixture(mixed: Mixed) -> Curves:
    whole = sum(weight for _, weight in mixed.parts)
    shares = [Fraction(weight, whole) for _, weight in mixed.parts]
    charges = [part.curves() for part, _ in mixed.parts]
    profiles, moments = [whole_profile(one) for one in charges], [renyi_total(one) for one in charges]
    logs = [math.log(share) for share in shares]
    floats = [float(share) * (1 + ULP) for share in shares]

    def profile(x: Floats) -> Floats:
        total = sum((share * one(x) for share, one in zip(floats, profiles, strict=True)), np.zeros(x.shape))
        return np.minimum(total * (1 + 4 * len(floats) * ULP), 1.0)

    def renyi(orders: Floats) -> Floats:
        less = orders - 1
        with np.errstate(all="ignore"):
            each = [log + less * moment(orders) for log, moment in zip(logs, moments, strict=True)]
            total: Floats = np.logaddexp.reduce(each)
            largest = np.max([moment(orders) for moment in moments], axis=0)
        return np.minimum((total + 8 * len(logs) * ULP * (1 + np.abs(total))) / less, largest)

    thinned = sum(share * Fraction(thinning_total(one)) for share, one in zip(shares, charges, strict=True))
    return Curves(
        renyi=renyi,
        pairs=(profile,),
        witness=lambda order: (curves.gaussian(0.0),),
        delta=min(1.0, up(Fraction(thinned))),
        pure=max(map(pure_total, charges)),
        rho=max(map(rho_total, charges)),
        joint=True,
        why_not="; ".join(dict.fromkeys(part.why_not() for part, _ in mixed.parts if part.why_not())),
    )


@dataclass(frozen=True, slots=True)
class Tuned(Guarantee):
    """The best of `runs` runs that promise `base` each, their number never told (Theorem 234, 235, 236, 237).

    A pure `base` gives epsilon + max ln f'(s)/f'(s'), f the generating function of the number of runs and (s, s') the
    chances that a test may have: for the negative binomial law epsilon + (1 + eta) ln[(e^epsilon + gamma) / (1 +
    gamma e^epsilon)]. Renyi curves and profiles follow from the same ratio. A `base` with a delta of its own gives a
    profile alone.

    Parameters
    ----------
    base
        What one run promises for its candidate, output and score together, failures included.
    runs
        `NegativeBinomial`, `Poisson` or `Binomial`, or `Capped`: the law of the number of runs.

    Examples
    --------
    >>> from shortlist.privacy import PureDP
    >>> Tuned(PureDP(1.0), NegativeBinomial(mean=10, eta=0)).as_pure()
    PureDP(epsilon=1.9392357593486378)
    """

    base: Guarantee
    runs: RunLaw

    def __post_init__(self) -> None:
        if not isinstance(self.base, Guarantee):
            raise TypeError("base must be a guarantee, what one run promises: write Tuned(PureDP(0.5), Poisson(10))")
        if not isinstance(self.runs, RunLaw):
            raise TypeError("runs must be NegativeBinomial(..), Poisson(..), Binomial(..) or Capped(..)")

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        return ((best_curves(self.base, self.runs), 1),)


RUNS: dict[type, Codec] = {kind: record(kind) for kind in (NegativeBinomial, Poisson, Binomial)}
RUNS[Capped] = record(Capped, runs=one_of("a number of runs", dict(RUNS)))
MIXED = {Mixed: record(Mixed, parts=list_of(pair(one_of("a guarantee", dict(GUARANTEES)), WHOLE), tuple))}
TUNED = record(Tuned, base=one_of("a guarantee", GUARANTEES | MIXED), runs=one_of("a number of runs", RUNS))
GUARANTEE = one_of("a guarantee", MIXED | {Tuned: TUNED})
"""How guarantees of tuning are written as JSON and read back."""
