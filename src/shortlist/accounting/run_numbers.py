"""Distributions of the random number of runs, and what each costs.

Laws of a random number of runs K, by their generating functions f(x) = E x^K: all that tuning is charged by.

Every K is drawn before the first run and without a look at the data. `f` rises, and so does its slope f', for its
coefficients are chances.

A number of runs given that it is at most a public cap: sums in place of closed forms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting.checked_numbers import count, number, up
from shortlist.exact.crossing import narrowed, neighbours
from shortlist.exact.partial_reals import ball, exactly

if TYPE_CHECKING:
    from flint import arb

BITS = 192
"""Of the balls in which pure costs are computed; they are rounded up at the end."""
MOST_RUNS = 1_000_000
"""The largest mean: nobody waits for more runs."""
LEAST_ETA = 1e-6
"""Between this and 0 the formulas lose digits, and nothing is gained."""
LARGEST_ETA = 1e3


class RunNumber(Protocol):
    """What a law of the number of runs says of itself. Functions of arrays are floats, right to a few last bits."""

    @property
    def mean(self) -> float:
        """E K, the slope f'(1)."""
        ...

    @property
    def none(self) -> float:
        """f(0): the chance that nothing is run at all."""
        ...

    @property
    def most(self) -> int | None:
        """The largest number of runs; None if there is no bound."""
        ...

    def log_slope(self, x: Floats) -> Floats:
        """ln f'(x) for x from 0 to 1."""
        ...

    def missed(self, d: Floats) -> Floats:
        """1 - f(1 - d) for d from 0 to 1: how likely an event of chance d is among the runs."""
        ...

    def log_moment(self, t: Floats) -> Floats:
        """ln f(e^t) for t >= 0; infinite where the series does not converge."""
        ...

    def factor(self, odds: arb) -> arb | None:
        """max f'(s)/f'(s') over all (s, s') that e^epsilon = `odds` allows, in closed form where there is one."""
        ...

    def ladder(self) -> tuple[int, Callable[[int], Fraction], Callable[[], arb]]:
        """(least k, ratio of the chances of k + 1 and k, inverse of the least k's chance): for an exact draw."""
        ...


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

    def __init__(self, mean: float | None = None, eta: float = 0.0, gamma: float | None = None) -> None:
        shape = number("eta", eta, least=-1.0, above=True, below=LARGEST_ETA)
        if shape and abs(shape) < LEAST_ETA:
            raise ValueError(f"eta must be 0 or at least {LEAST_ETA:g} away from it: write eta=0")
        if (mean is None) == (gamma is None):
            raise TypeError("give either mean= or gamma=, for example NegativeBinomial(mean=10, eta=0)")
        if mean is None:
            rate = number("gamma", gamma, above=True, below=1.0)
        else:
            rate = _gamma_of(number("mean", mean, least=1.0, above=True, below=MOST_RUNS), shape)
        if _mean_of(rate, shape) > MOST_RUNS:
            raise ValueError(f"gamma must leave a mean of at most {MOST_RUNS:,} runs: write gamma=0.01, for example")
        object.__setattr__(self, "gamma", rate)
        object.__setattr__(self, "eta", shape)

    @property
    def mean(self) -> float:
        return _mean_of(self.gamma, self.eta)

    @property
    def none(self) -> float:
        return 0.0

    @property
    def most(self) -> int | None:
        return None

    def log_slope(self, x: Floats) -> Floats:
        """ln m + (eta + 1) ln(gamma / (1 - (1 - gamma) `x`))."""
        far: Floats = np.log1p((1 - self.gamma) / self.gamma * (1 - x))
        return math.log(self.mean) - (1 + self.eta) * far

    def missed(self, d: Floats) -> Floats:
        """1 - f(1 - `d`): how likely an event of chance d is among the runs."""
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
            values: Floats = np.expm1(self.eta * power) / math.expm1(self.eta * math.log(self.gamma))
        return values

    def factor(self, odds: arb) -> arb | None:
        """max f'(s)/f'(s') where e^epsilon is `odds`, in closed form; None if there is none."""
        gamma = ball(Fraction(self.gamma))
        ratio: arb = ((odds + gamma) / (1 + gamma * odds)) ** ball(1 + Fraction(self.eta))
        return ratio

    def ladder(self) -> tuple[int, Callable[[int], Fraction], Callable[[], arb]]:
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
    low, high = narrowed(lambda gamma: _mean_of(gamma, eta) < mean, low, 1 - 2.0**-53, neighbours)
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
    >>> round(Poisson(10).missed(np.array(0.05)).item(), 6)
    0.393469
    """

    mean: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", number("mean", self.mean, above=True, below=MOST_RUNS))

    @property
    def none(self) -> float:
        return math.exp(-self.mean)

    @property
    def most(self) -> int | None:
        return None

    def log_slope(self, x: Floats) -> Floats:
        """ln f'(`x`) for x from 0 to 1."""
        return math.log(self.mean) - self.mean * (1 - x)

    def missed(self, d: Floats) -> Floats:
        """1 - f(1 - `d`): how likely an event of chance d is among the runs."""
        values: Floats = -np.expm1(-self.mean * d)
        return values

    def log_moment(self, t: Floats) -> Floats:
        """ln f(e^`t`) for t >= 0; infinite where the series does not converge."""
        values: Floats = self.mean * np.expm1(np.minimum(t, 700.0))
        return np.where(t <= 700.0, values, math.inf)

    def factor(self, odds: arb) -> arb | None:
        """max f'(s)/f'(s') where e^epsilon is `odds`, in closed form; None if there is none."""
        ratio: arb = (ball(Fraction(self.mean)) * (odds - 1) / (odds + 1)).exp()
        return ratio

    def ladder(self) -> tuple[int, Callable[[int], Fraction], Callable[[], arb]]:
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

    def missed(self, d: Floats) -> Floats:
        """1 - f(1 - `d`): how likely an event of chance d is among the runs."""
        with np.errstate(divide="ignore"):
            values: Floats = -np.expm1(self.n * np.log1p(-self.p * d))
        return values

    def log_moment(self, t: Floats) -> Floats:
        """ln f(e^`t`) for t >= 0; beyond e^700, where floats end, by e^t p + 1 - p <= e^t."""
        values: Floats = self.n * np.log1p(self.p * np.expm1(np.minimum(t, 700.0)))
        return np.where(t <= 700.0, values, self.n * t)

    def factor(self, odds: arb) -> arb | None:
        """max f'(s)/f'(s') where e^epsilon is `odds`, in closed form; None if there is none."""
        rest = ball(1 - Fraction(self.p))
        ratio: arb = ((rest + odds) / (1 + rest * odds)) ** (self.n - 1)
        return ratio

    def ladder(self) -> tuple[int, Callable[[int], Fraction], Callable[[], arb]]:
        """(least k, ratio of the chances of k + 1 and k, inverse of the least k's chance)."""
        p, n = Fraction(self.p), self.n
        if p == 1:
            return n, lambda k: Fraction(0), lambda: ball(Fraction(1))
        return 0, lambda k: (n - k) * p / ((k + 1) * (1 - p)), lambda: ball(1 / (1 - p)) ** n


def pure_cost(runs: RunNumber, epsilon: float) -> float | None:
    """epsilon + ln max f'(s)/f'(s') in closed form (Theorem 235), rounded up; None where there is none."""
    from flint import ctx

    with ctx.workprec(BITS):
        exact = ball(Fraction(epsilon))
        factor = runs.factor(exact.exp())
        if factor is None:
            return None
        whole = (exact + factor.log()).upper()
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
    def most(self) -> int | None:
        return len(_chances(self)) - 1

    def log_slope(self, x: Floats) -> Floats:
        """ln f'(`x`) for x from 0 to 1."""
        chances = _chances(self)
        total = np.zeros(np.shape(x))
        for k in range(len(chances) - 1, 0, -1):
            total = total * x + k * chances[k]
        with np.errstate(divide="ignore"):
            values: Floats = np.log(total)
        return values

    def missed(self, d: Floats) -> Floats:
        """1 - f(1 - `d`): how likely an event of chance d is among the runs."""
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
            values: Floats = np.where(len(chances) * t < 1.0, np.log1p(small), large)
        return values

    def factor(self, odds: arb) -> arb | None:
        """max f'(s)/f'(s') where e^epsilon is `odds`, in closed form; None if there is none."""
        return None

    def ladder(self) -> tuple[int, Callable[[int], Fraction], Callable[[], arb]]:
        """(least k, ratio of the chances of k + 1 and k, inverse of the least k's chance)."""
        first, ratio, _ = self.runs.ladder()
        last = len(_chances(self)) - 1

        def total() -> arb:
            weight = whole = ball(Fraction(1))
            for k in range(first, last):
                weight = weight * ball(ratio(k))
                whole = whole + weight
            return whole

        return first, lambda k: ratio(k) if k < last else Fraction(0), total


@lru_cache(64)
def _chances(capped: Capped) -> Floats:
    """P[K = k] for k = 0, 1, .., each right to a few units of its last bit."""
    from flint import ctx

    first, ratio, _ = capped.runs.ladder()
    weights = [0.0] * first
    last = capped.cap if capped.runs.most is None else min(capped.cap, capped.runs.most)
    with ctx.workprec(128):
        exact = [ball(Fraction(1))]
        for k in range(first, last):
            exact.append(exact[-1] * ball(ratio(k)))
        whole = sum(exact, ball(Fraction(0)))
        weights += [float((one / whole).mid()) for one in exact]
    return np.array(weights)
