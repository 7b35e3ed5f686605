"""The guarantee of the best of a random number of private runs, and of one of several chosen by public weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting.accountant import pure_total, renyi_total, rho_total, thinning_total
from shortlist.accounting.capped_runs import Capped
from shortlist.accounting.checked_numbers import up
from shortlist.accounting.guarantees import Guarantee, stored
from shortlist.accounting.privacy_curves import ULP, Curves, gaussian
from shortlist.accounting.run_numbers import Binomial, NegativeBinomial, Poisson
from shortlist.accounting.tuned_curves import Base, base_of, tuned
from shortlist.accounting.whole_profile import whole_profile

RunLaw = NegativeBinomial | Poisson | Binomial | Capped


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
            raise TypeError(
                "parts must be guarantees, each with its weight: write ((PureDP(0.5), 1), (PureDP(1.0), 3))"
            )
        if not all(type(weight) is int and weight > 0 for _, weight in parts):
            raise ValueError("parts must have weights that are whole numbers above 0")
        stored(self, parts=parts)

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        return ((_mixed_curves(self), 1),)


@lru_cache(64)
def _mixed_curves(mixed: Mixed) -> Curves:
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
        bounded: Floats = np.minimum((total + 8 * len(logs) * ULP * (1 + np.abs(total))) / less, largest)
        return bounded

    delta = min(
        1.0, up(sum((s * Fraction(thinning_total(c)) for s, c in zip(shares, charges, strict=True)), Fraction(0)))
    )
    return Curves(
        renyi=renyi,
        pairs=(profile,),
        witness=lambda order: (gaussian(0.0),),
        delta=delta,
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
        return ((_tuned_curves(self.base, self.runs), 1),)


@lru_cache(32)
def _base(base: Guarantee) -> Base:
    return base_of(base.curves())


@lru_cache(256)
def _tuned_curves(base: Guarantee, runs: RunLaw) -> Curves:
    return tuned(_base(base), runs)
