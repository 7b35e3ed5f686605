"""What a release promises, as values.

Every guarantee answers the same questions, from the curves it returns. Numbers are rounded so that they
never understate the loss: epsilon, delta, rho and Renyi divergence up, trade-off down. `epsilon_bounds` and
`delta_bounds` add the number that no accountant could go below.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np

from shortlist.accounting import accountant, families
from shortlist.accounting.checked_numbers import count, number
from shortlist.accounting.dp_events import dp_event, pld
from shortlist.accounting.group_distance import delta_of_group, not_proved, scaled_up
from shortlist.accounting.privacy_curves import Curves


class Guarantee(ABC):
    """What every guarantee can be asked. A family says only what its curves are.

    Raises
    ------
    ValueError
        by every constructor and question, for a number out of its range.

    Examples
    --------
    >>> from shortlist.privacy import PureDP
    >>> PureDP(0.1).repeat(3).compose(PureDP(0.5)).delta_at(epsilon=0.9)
    0.0
    """

    __slots__ = ()

    @abstractmethod
    def curves(self) -> tuple[tuple[Curves, int], ...]:
        """The bounds from which all answers are computed, and how often each is charged."""

    @property
    def charges(self) -> tuple[tuple[Guarantee, int], ...]:
        """Which guarantees are composed here, and how often each."""
        return ((self, 1),)

    def _sum(self, whole: Composition) -> Guarantee:
        """`whole`, a composition of this family alone, as a member of the family if it is one."""
        return whole

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon proved at `delta`, rounded up; infinite if there is none."""
        return accountant.epsilon_upper(self.curves(), number("delta", delta, below=1.0))

    def epsilon_bounds(self, delta: float) -> tuple[float, float]:
        """(lower, upper): some mechanism with this guarantee needs more than lower, none more than upper."""
        upper = self.epsilon_at(delta)
        return min(accountant.epsilon_lower(self.curves(), float(delta), upper), upper), upper

    def delta_at(self, epsilon: float) -> float:
        """The least delta proved at `epsilon`, rounded up."""
        return accountant.delta_upper(self.curves(), number("epsilon", epsilon))

    def delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """(lower, upper): some mechanism with this guarantee needs more than lower, none more than upper."""
        upper = self.delta_at(epsilon)
        return min(accountant.delta_lower(self.curves(), float(epsilon)), upper), upper

    def rdp(self, alpha: float) -> float:
        """Renyi divergence of order `alpha`, rounded up; infinite where it is not bounded."""
        order = number("alpha", alpha, least=1.0, above=True)
        charges = self.curves()
        return (
            math.inf
            if accountant.thinning_total(charges)
            else float(accountant.renyi_total(charges)(np.array([order]))[0])
        )

    def tradeoff(self, alpha: float) -> float:
        """The least type II error of any test between neighbours with type I error `alpha`, rounded down."""
        return accountant.tradeoff_lower(self.curves(), number("alpha", alpha, below=math.nextafter(1.0, 2.0)))

    def as_pure(self) -> PureDP | None:
        """The pure guarantee that follows, epsilon rounded up, or None."""
        charges = self.curves()
        epsilon = accountant.pure_total(charges)
        return None if accountant.thinning_total(charges) or not 0 < epsilon < math.inf else PureDP(epsilon)

    def as_zcdp(self) -> ZCDP | None:
        """The zCDP guarantee that follows, rho and the thinned mass delta rounded up, or None."""
        charges = self.curves()
        rho, delta = accountant.rho_total(charges), accountant.thinning_total(charges)
        return ZCDP(rho, delta) if rho < math.inf and delta < 1 else None

    def as_approx(self, delta: float) -> ApproxDP:
        """The (epsilon, delta) guarantee at a delta chosen beforehand, epsilon rounded up.

        Raises
        ------
        ValueError
            if no epsilon is proved at this delta.
        """
        epsilon = self.epsilon_at(delta)
        if math.isinf(epsilon):
            raise ValueError(f"no epsilon is proved at delta={delta:g}: {self.why_not() or 'write a larger delta'}")
        return ApproxDP(epsilon, delta)

    def why_not(self) -> str:
        """Why no pure, or no zCDP, guarantee follows."""
        return "; ".join(dict.fromkeys(curves.why_not for curves, _ in self.curves() if curves.why_not))

    def compose(self, other: Guarantee) -> Guarantee:
        """This and the `other`, in any order, the later one asked after seeing the earlier; fixed in advance which."""
        return compose(self, other)

    def repeat(self, n: int) -> Guarantee:
        """The same `n` times, each chosen after seeing those before it; n fixed in advance."""
        times = count("n", n)
        return _compose((each, many * times) for each, many in self.charges)

    def for_group(self, size: int) -> Self:
        """What `size` people together are promised, whose rows all change: a guarantee of the same kind, rounded up.

        epsilon grows `size` times, rho its square, and delta to delta (1 + e^epsilon + .. + e^((size - 1) epsilon)).

        Raises
        ------
        ValueError
            if nothing is promised to so many, or nothing is proved of this kind: it says what to write.
        """
        return self if count("size", size) == 1 else cast(Self, self._of_group(int(size)))

    def _of_group(self, size: int) -> Guarantee:
        """For more than one."""
        zcdp = self.as_zcdp()
        raise not_proved(type(self).__name__, size, self.as_pure() is not None, zcdp is not None and not zcdp.delta)

    def to_dp_event(self) -> Any:
        """This guarantee for dp-accounting: zCDP events, sound under all of its neighbouring relations."""
        return dp_event(self)

    def to_pld(self, step: float = 1e-3) -> Any:
        """This guarantee for dp-accounting as a privacy loss distribution on multiples of `step`, rounded up."""
        return pld(self, step)


@dataclass(frozen=True, slots=True)
class PureDP(Guarantee):
    """epsilon-differential privacy: no person changes the probability of any outcome by more than a factor e^epsilon.

    Parameters
    ----------
    epsilon
        The largest log ratio of the two probabilities, above 0; smaller protects more.

    Examples
    --------
    >>> PureDP(0.5).delta_at(epsilon=0.5)
    0.0
    """

    epsilon: float

    def __post_init__(self) -> None:
        stored(self, epsilon=number("epsilon", self.epsilon, above=True))

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        return ((families.approx(self.epsilon, 0.0), 1),)

    def _of_group(self, size: int) -> PureDP:
        return PureDP(scaled_up(self.epsilon, size))

    def excess(self, guarantee: Guarantee) -> float:
        """ln(its epsilon / this one): `guarantee` fits if not positive; infinite if it is not pure."""
        pure = guarantee.as_pure()
        return math.inf if pure is None else _log_ratio(pure.epsilon, self.epsilon)


@dataclass(frozen=True, slots=True)
class ApproxDP(Guarantee):
    """(epsilon, delta)-differential privacy: P(S) <= e^epsilon Q(S) + delta for every set S of outcomes.

    Parameters
    ----------
    epsilon
        At least 0.
    delta
        What is allowed beyond it, at least 0 and below 1; small, such as 1e-6.

    Examples
    --------
    >>> ApproxDP(1.0, 1e-6).epsilon_at(delta=1e-6)
    1.0
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        stored(self, epsilon=number("epsilon", self.epsilon), delta=number("delta", self.delta, below=1.0))

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        return ((families.approx(self.epsilon, self.delta), 1),)

    def _of_group(self, size: int) -> ApproxDP:
        delta = delta_of_group(self.epsilon, self.delta, size)
        if delta >= 1:
            raise ValueError(f"size={size}: so many people are promised nothing, their delta is 1 or more")
        return ApproxDP(scaled_up(self.epsilon, size), delta)

    def excess(self, guarantee: Guarantee) -> float:
        """ln(its epsilon / this one), of the deltas if this is 0: `guarantee` fits if not positive."""
        if self.epsilon:
            return _log_ratio(guarantee.epsilon_at(self.delta), self.epsilon)
        return _log_ratio(guarantee.delta_at(0.0), self.delta)


@dataclass(frozen=True, slots=True)
class ZCDP(Guarantee):
    """rho-zCDP, D_alpha <= alpha rho, after a common thinning of mass `delta` (Definition 12, 19).

    Parameters
    ----------
    rho
        The slope of the bound, at least 0.
    delta
        The chance that a mechanism fails its own test, at least 0 and below 1; not that of a conversion.

    Examples
    --------
    >>> ZCDP(0.125).repeat(4)
    ZCDP(rho=0.5, delta=0.0)
    """

    rho: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        stored(self, rho=number("rho", self.rho), delta=number("delta", self.delta, below=1.0))

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        return ((families.zcdp(self.rho, self.delta), 1),)

    def _sum(self, whole: Composition) -> Guarantee:
        return whole.as_zcdp() or whole

    def _of_group(self, size: int) -> Guarantee:
        return Guarantee._of_group(self, size) if self.delta else ZCDP(scaled_up(self.rho, size * size))

    def excess(self, guarantee: Guarantee) -> float:
        """ln(its rho / this one): `guarantee` fits if not positive; infinite if not zCDP with this delta."""
        zcdp = guarantee.as_zcdp()
        return math.inf if zcdp is None or zcdp.delta > self.delta else _log_ratio(zcdp.rho, self.rho)


@dataclass(frozen=True, slots=True)
class Composition(Guarantee):
    """Several charges together, their kinds and numbers fixed in advance. Made by `compose` and `repeat`.

    Parameters
    ----------
    parts
        Pairs of a guarantee and how often it is charged, a whole number above 0.

    Examples
    --------
    >>> from shortlist.privacy import BoundedRange
    >>> BoundedRange(0.1).repeat(2)
    Composition(parts=((BoundedRange(epsilon=0.1), 2),))
    """

    parts: tuple[tuple[Guarantee, int], ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise ValueError("parts must not be empty; write compose(PureDP(0.5), BoundedRange(0.1)), for example")
        if not all(type(times) is int and times > 0 for _, times in self.parts):
            raise ValueError("parts must be guarantees with how often each is charged, a whole number above 0")

    @property
    def charges(self) -> tuple[tuple[Guarantee, int], ...]:
        return self.parts

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        return tuple((curves, many * times) for part, many in self.parts for curves, times in part.curves())


def compose(*guarantees: Guarantee) -> Guarantee:
    """All of them together; the best of all sound routes answers (docs/accounting.md).

    For charges whose kinds and numbers are fixed in advance. What is asked next may depend on earlier
    results, but not which guarantee it has: for that use a ledger, which is a filter.

    Parameters
    ----------
    guarantees
        One or more.

    Returns
    -------
    Guarantee
        A member of their family where that is exact (zCDP adds up), otherwise a `Composition`.

    Raises
    ------
    ValueError
        if there is none, or something else is among them.

    Examples
    --------
    >>> from shortlist.privacy import BoundedRange
    >>> compose(BoundedRange(0.1), PureDP(0.2), BoundedRange(0.1)).charges
    ((BoundedRange(epsilon=0.1), 2), (PureDP(epsilon=0.2), 1))
    """
    if not guarantees or not all(isinstance(each, Guarantee) for each in guarantees):
        raise ValueError("guarantees must be one or more: write compose(PureDP(0.5), BoundedRange(0.1)), for example")
    return _compose(charge for guarantee in guarantees for charge in guarantee.charges)


def _compose(charges: Iterable[tuple[Guarantee, int]]) -> Guarantee:
    """Equal guarantees are counted, not listed: the work does not depend on how often each was charged."""
    numbers: Counter[Guarantee] = Counter()
    for guarantee, times in charges:
        numbers[guarantee] += times
    parts = tuple(sorted(numbers.items(), key=lambda part: repr(part[0])))
    first, times = parts[0]
    if len(parts) == 1 and times == 1:
        return first
    whole = Composition(parts)
    return first._sum(whole) if len({type(part) for part, _ in parts}) == 1 else whole


def _log_ratio(cost: float, budget: float) -> float:
    """ln(cost / budget), exactly zero or below only if cost <= budget."""
    if cost <= budget:
        return math.log(cost / budget) if cost else -math.inf
    return max(math.log(cost / budget), 5e-324) if budget else math.inf


def stored(frozen: Guarantee, **fields: object) -> None:
    """Store checked fields in a frozen dataclass that is being made."""
    for name, value in fields.items():
        object.__setattr__(frozen, name, value)
