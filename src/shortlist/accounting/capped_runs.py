"""A number of runs given that it is at most a public cap: sums in place of closed forms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting.checked_numbers import count
from shortlist.accounting.run_numbers import Binomial, NegativeBinomial, Poisson
from shortlist.exact.partial_reals import ball

if TYPE_CHECKING:
    from flint import arb

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
