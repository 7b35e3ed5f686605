"""Guarantees: what a release promises, as values that convert, compose and compare.

Every guarantee answers the same questions, from the curves it returns: its dominating pair, its Renyi divergence, and
a distribution that attains them. Numbers are rounded so that they never understate the loss: epsilon, delta, rho and
Renyi divergence up, trade-off down. `epsilon_bounds` and `delta_bounds` add what no accountant could go below.

`for_group` is what several people together are promised (Theorem 254). `calibrate` finds the largest parameter that a
budget allows.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Protocol, Self, cast

import numpy as np

from shortlist._arrays import Floats
from shortlist._runtime import lazy_import, set_fields
from shortlist.accounting import compose as accountant
from shortlist.accounting import curves as bounded
from shortlist.accounting.curves import ULP, Curves, Profile, Renyi, gaussian, range_rho, renyi_profile, thin, up
from shortlist.errors import bad_type, bad_value
from shortlist.exact.search import find_crossing


def number(name: str, value: object, *, least: float = 0.0, above: bool = False, below: float = math.inf) -> float:
    """`value` as a float in [least, below), or in (least, below) if `above`; never NaN, never infinite.

    Raises
    ------
    ValueError
        names the argument, the numbers it may be, and one to write instead.
    """
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        try:
            as_float = float(value)
        except OverflowError:  # a whole number beyond all floats
            as_float = math.inf
        if (as_float > least if above else as_float >= least) and as_float < below:
            return as_float
    bound = "greater than" if above else "at least"
    room = f"{bound} {least:g}" + (f" and less than {below:g}" if below < math.inf else " and finite")
    example = "1e-6" if below == 1 else f"{least + 1:g}"
    raise bad_value(f"${name} must be a number {room}: write ${name}={example}, for example")


def count(name: str, value: object, most: int = 2**53, least: int = 1) -> int:
    """`value` as a whole number from `least` to `most`; a ValueError names the argument otherwise."""
    if not isinstance(value, bool):
        try:
            whole = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            whole = 0
        if least <= whole <= most:
            return whole
    last, example = "2^53" if most == 2**53 else most, max(least, 10)
    raise bad_value(f"${name} must be a whole number from {least} to {last}: write ${name}={example}, for example")


def flag(name: str, value: object) -> bool:
    """`value` as a truth value; a ValueError names the argument otherwise."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise bad_value(f"${name} must be True or False: write ${name}=True, for example")


def _several(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)


def approx(epsilon: float, delta: float) -> Curves:
    """(epsilon, delta)-DP: all is revealed with probability delta, otherwise randomised response.

    That pair dominates (Kairouz, Oh and Viswanath 2015), and its first half is a thinning common to both
    sides. Renyi: D_a = ln[(e^{a epsilon} + e^{(1-a) epsilon}) / (1 + e^epsilon)] / (a-1), at most a
    epsilon tanh(epsilon/2) (Theorem 164) and at most epsilon.
    """
    chance = np.array(1 / (1 + math.exp(-epsilon)))

    def renyi(orders: Floats) -> Floats:
        tight = bounded.two_point_renyi(chance, np.array(epsilon), np.array(-epsilon), orders)
        return np.minimum(np.minimum(tight, orders * rho * (1 + 1e-15)), epsilon)

    rho = bounded.pure_rho(epsilon)
    profile = thin(delta, bounded.two_point(epsilon, -epsilon) if epsilon else gaussian(0.0))
    return Curves(
        renyi=renyi,
        pairs=(profile,),
        witness=lambda order: (profile,),
        delta=delta,
        pure=epsilon,
        rho=rho,
        why_not=f"with probability {delta:g} an (epsilon, delta) release may reveal everything" if delta else "",
    )


def _by_renyi(curve: Renyi, law: Profile, delta: float, rho: float, why_not: str) -> Curves:
    """A guarantee known by its Renyi curve alone."""
    half = renyi_profile(curve)
    profile = bounded.symmetric(lambda x: np.minimum(delta + half(x), 1.0))
    return Curves(curve, (profile,), lambda order: (law,), delta, rho=rho, joint=True, by_renyi=True, why_not=why_not)


Checks = Mapping[str, Callable[[str, object], object]]
POSITIVE, BELOW_ONE = partial(number, above=True), partial(number, below=1.0)


def _beyond(name: str) -> Callable[..., Any]:
    """Return a function of `shortlist.bounds`, which no charge needs."""
    return lazy_import("shortlist.bounds", name)


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
    _checks: ClassVar[Checks] = {}
    """How each parameter is checked, and what is stored of it."""

    def __post_init__(self) -> None:
        for name, check in self._checks.items():
            object.__setattr__(self, name, check(name, getattr(self, name)))

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
        return min(_beyond("epsilon_lower")(self.curves(), float(delta), upper), upper), upper

    def delta_at(self, epsilon: float) -> float:
        """The least delta proved at `epsilon`, rounded up."""
        return accountant.delta_upper(self.curves(), number("epsilon", epsilon))

    def delta_bounds(self, epsilon: float) -> tuple[float, float]:
        """(lower, upper): some mechanism with this guarantee needs more than lower, none more than upper."""
        upper = self.delta_at(epsilon)
        return min(_beyond("delta_lower")(self.curves(), float(epsilon)), upper), upper

    def rdp(self, alpha: float) -> float:
        """Renyi divergence of order `alpha`, rounded up; infinite where it is not bounded."""
        order = number("alpha", alpha, least=1.0, above=True)
        charges = self.curves()
        if accountant.thinning_total(charges):
            return math.inf
        return float(accountant.renyi_total(charges)(np.array([order]))[0])

    def tradeoff(self, alpha: float) -> float:
        """The least type II error of any test between neighbours with type I error `alpha`, rounded down."""
        return float(_beyond("tradeoff_lower")(self.curves(), number("alpha", alpha, below=math.nextafter(1.0, 2.0))))

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
            raise bad_value(f"no epsilon is proved at $delta={delta:g}: {self.why_not() or 'write a larger delta'}")
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
        return self if count("size", size) == 1 else cast(Self, _beyond("of_group")(self, int(size)))

    def to_dp_event(self) -> Any:
        """This guarantee for dp-accounting: zCDP events, sound under all of its neighbouring relations."""
        return lazy_import("shortlist.compat.dp_accounting", "dp_event")(self)

    def to_pld(self, step: float = 1e-3) -> Any:
        """This guarantee for dp-accounting as a privacy loss distribution on multiples of `step`, rounded up."""
        return lazy_import("shortlist.compat.dp_accounting", "pld")(self, step)


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

    _checks: ClassVar[Checks] = {"epsilon": POSITIVE}

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        return ((approx(self.epsilon, 0.0), 1),)

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

    _checks: ClassVar[Checks] = {"epsilon": number, "delta": BELOW_ONE}

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        return ((approx(self.epsilon, self.delta), 1),)

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

    _checks: ClassVar[Checks] = {"rho": number, "delta": BELOW_ONE}

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        law = thin(self.delta, gaussian(self.rho))  # that of the Gaussian mechanism

        @np.errstate(over="ignore")  # beyond all floats is infinite, and infinite is right
        def divergences(orders: Floats) -> Floats:
            return orders * self.rho

        curves = _by_renyi(divergences, law, self.delta, self.rho, "a zCDP bound leaves rare losses of any size")
        return ((curves if self.rho else replace(curves, pairs=(law,), pure=0.0, by_renyi=False), 1),)

    def _sum(self, whole: Composition) -> Guarantee:
        return whole.as_zcdp() or whole

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


ABSURD_EPSILON = 30.0
"""Above it an epsilon promises nothing that anybody would notice."""
TINY_DELTA = 1e-6
"""The delta at which guarantees without an epsilon are told as one."""


def as_epsilon(guarantee: Guarantee) -> float:
    """Return the epsilon that tells how much is promised; of guarantees without one, that at a tiny delta."""
    if isinstance(guarantee, PureDP | ApproxDP):
        return guarantee.epsilon
    return guarantee.epsilon_at(TINY_DELTA + getattr(guarantee, "delta", 0.0))


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


@dataclass(frozen=True, slots=True)
class RenyiDP(Guarantee):
    """Renyi divergence at most `epsilons[i]` at order `orders[i]`; one number each for a single order.

    Parameters
    ----------
    orders
        Above 1 and rising, or a single one.
    epsilons
        A divergence for each order, at least 0.

    Examples
    --------
    >>> RenyiDP(orders=2.0, epsilons=0.5)
    RenyiDP(orders=(2.0,), epsilons=(0.5,))
    """

    orders: tuple[float, ...]
    epsilons: tuple[float, ...]

    def __init__(self, orders: float | Sequence[float], epsilons: float | Sequence[float]) -> None:
        places, costs = _several(orders), _several(epsilons)
        if not places or len(places) != len(costs):
            raise ValueError("orders and epsilons must be equally many: write RenyiDP([2, 8], epsilons=[0.1, 0.3])")
        known: dict[float, float] = {}
        for order, cost in zip(places, costs, strict=True):
            known[number("orders", order, least=1.0, above=True)] = number("epsilons", cost)
        if len(known) < len(places):
            raise ValueError("orders must differ from one another: write each order once, with its least epsilon")
        ascending = sorted(known)
        set_fields(self, orders=tuple(ascending), epsilons=tuple(map(known.__getitem__, ascending)))

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        orders, epsilons = np.array(self.orders), np.array(self.epsilons)
        falling = np.minimum.accumulate(epsilons[::-1])[::-1]
        places, heights = np.append(1.0, orders), np.append(0.0, (orders - 1) * falling)

        def curve(at: Floats) -> Floats:  # between the orders (a-1) D_a, convex and 0 at a = 1, is below its chord
            inside = np.interp(at, places, heights) / (at - 1) * (1 + 1e-15)
            return np.where(at <= places[-1], inside, math.inf)

        rho = float((falling / orders).min()) * (1 - 1e-15)
        why_not = f"Renyi divergence up to order {self.orders[-1]:g} says nothing of higher orders"
        return ((_by_renyi(curve, gaussian(rho), 0.0, math.inf, why_not), 1),)


@dataclass(frozen=True, slots=True)
class BoundedRange(Guarantee):
    """epsilon-bounded range: all log ratios of the outcomes lie in one window of width epsilon (Definition 13).

    Implies PureDP(epsilon), and zCDP with rho = x - 1 - ln x, x = epsilon / (1 - e^-epsilon), a little below
    epsilon^2/8 (Theorem 164). Gumbel selection has it; permute-and-flip has not.

    Parameters
    ----------
    epsilon
        The width of the window, above 0.

    Examples
    --------
    >>> BoundedRange(0.5).as_zcdp()
    ZCDP(rho=0.03114209226115588, delta=0.0)
    """

    epsilon: float

    _checks: ClassVar[Checks] = {"epsilon": POSITIVE}

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        epsilon = self.epsilon
        curves = Curves(
            renyi=partial(bounded.range_renyi, epsilon),
            pairs=(bounded.one_round(epsilon),),
            witness=lambda order: (bounded.worst_law(epsilon, order),),
            pure=epsilon,
            rho=range_rho(epsilon),
            joint=True,
            blocks=partial(bounded.blocks, epsilon) if epsilon < bounded.BOUNDED_RANGE_WIDEST else None,
        )
        return ((curves, 1),)


@dataclass(frozen=True, slots=True)
class ThinnedRange(Guarantee):
    """`rounds` adaptive rounds of epsilon-bounded range, after one common thinning of mass `delta` (Definition 19).

    The two laws are at least s P and s Q as measures, with s the same function of the outcome for both, P and Q laws of
    `rounds` rounds of bounded range, and at most `delta` is missing on either side. So H_x <= delta + V_rounds(x) for
    every x, (rounds epsilon, delta)-DP and delta-approximate zCDP, `rounds` times that of one: what the limited domain
    promises. s may depend on the outcome, so it is not the composition of `delta` with the rounds, which claims delta H
    less.

    Parameters
    ----------
    epsilon
        The width of the window in each round, above 0.
    rounds
        How many rounds, at least 1.
    delta
        The mass that may be missing, at least 0 and below 1.

    Examples
    --------
    >>> ThinnedRange(epsilon=0.25, rounds=4, delta=1e-6).as_approx(1e-6)
    ApproxDP(epsilon=1.0, delta=1e-06)
    """

    epsilon: float
    rounds: int = 1
    delta: float = 0.0

    _checks: ClassVar[Checks] = {"epsilon": POSITIVE, "rounds": count, "delta": BELOW_ONE}

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        epsilon, rounds, delta = self.epsilon, self.rounds, self.delta
        pure = up(Fraction(epsilon) * rounds)

        def renyi(orders: Floats) -> Floats:
            return rounds * bounded.range_renyi(epsilon, orders) * (1 + 1e-15)

        by_renyi = renyi_profile(renyi)
        in_blocks = bounded.blocks(epsilon, rounds) if epsilon < bounded.BOUNDED_RANGE_WIDEST else None

        def half(x: Floats) -> Floats:
            rest = by_renyi(x)
            if in_blocks is not None and in_blocks.times == 1:
                rest = np.minimum(rest, in_blocks.profile(x))
            return np.where(x >= pure, delta, np.minimum((delta + rest) * (1 + 64 * ULP), 1.0))

        law = thin(delta, gaussian(0.0))
        rho = up(Fraction(range_rho(epsilon)) * rounds)
        return ((Curves(renyi, (bounded.symmetric(half),), lambda order: (law,), delta, pure, rho, joint=True), 1),)


@dataclass(frozen=True, slots=True)
class GumbelDP(Guarantee):
    """k Gumbel values of shift mu = sensitivity / scale, with their indices, which come free (Theorem 90, 91).

    With `monotone=True` all k move in one direction, that of the scores. Two such releases need not share
    theirs (counts and negated counts do not), so `compose` and `repeat` assume nothing about it; if you
    know that they do, write GumbelDP(mu, k=their sum). `monotone=False` is the two-clock promise: scores
    may move both ways.

    Parameters
    ----------
    mu
        Sensitivity over scale, above 0; larger tells more.
    k
        How many values.
    monotone
        Whether one person moves all scores the same way.

    Examples
    --------
    >>> GumbelDP(mu=0.1, k=10).as_pure() is None
    True
    """

    mu: float
    k: int = 1
    monotone: bool = True

    _checks: ClassVar[Checks] = {"mu": POSITIVE, "k": count, "monotone": flag}

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        mu, k, monotone = self.mu, self.k, self.monotone
        ahead, behind = bounded.forward(mu, k), bounded.backward(mu, k)

        def curve(orders: Floats) -> Floats:
            join = np.maximum if monotone else np.add
            return k * join(bounded.forward_renyi(mu, orders), bounded.backward_renyi(mu, orders)) * (1 + 1e-15)

        curves = Curves(
            renyi=curve,
            pairs=(bounded.either(mu, k),) if monotone else (ahead, behind),
            witness=lambda order: (ahead,) if monotone else (ahead, behind),
            why_not=(
                "the loss of a Gumbel value has an exponential tail: its Renyi divergence is infinite from order "
                f"{-1 / math.expm1(-mu):.6g} on, so no pure and no zCDP guarantee exists; ask for ApproxDP"
            ),
        )
        return ((curves, 1),)


@dataclass(frozen=True, slots=True)
class ExPost(Guarantee):
    """epsilon-DP before the outcome was seen; the outcome that came has log ratios of at most `cost`
    (Definition 22).

    It is charged as PureDP(epsilon) everywhere. A filter on the sum of epsilons, which had reserved
    epsilon, may take back `unused`: there the log ratio of a transcript is at most the sum of its outcomes'
    costs. No other currency may: zCDP, Renyi and (epsilon, delta) bounds average over outcomes, and the one
    that came says nothing of the rest.

    Parameters
    ----------
    epsilon
        What was promised before, above 0.
    cost
        The most that the log ratio of this outcome can be, from 0 to epsilon.

    Examples
    --------
    >>> ExPost(epsilon=1.0, cost=0.25).unused()
    0.75
    """

    epsilon: float
    cost: float

    _checks: ClassVar[Checks] = {"epsilon": POSITIVE, "cost": number}

    def __post_init__(self) -> None:
        Guarantee.__post_init__(self)
        if self.cost > self.epsilon:
            raise ValueError("cost must be at most epsilon: an outcome cannot cost more than the worst one")

    def curves(self) -> tuple[tuple[Curves, int], ...]:
        return ((approx(self.epsilon, 0.0), 1),)

    def unused(self, currency: type[Guarantee] = PureDP) -> float:
        """What a filter that adds up epsilons (the only `currency` that may) may take back, rounded down.

        Raises
        ------
        ValueError
            for any other currency, with the reason.
        """
        if currency is not PureDP:
            raise ValueError("an unused epsilon comes back in PureDP only: other currencies average over outcomes")
        return -up(Fraction(self.cost) - Fraction(self.epsilon))


class Budget(Protocol):
    """PureDP, ZCDP and ApproxDP: guarantees that can say whether another one is within them.

    Examples
    --------
    >>> from shortlist.privacy import PureDP
    >>> PureDP(1.0).excess(PureDP(0.5)) < 0 < PureDP(1.0).excess(PureDP(2.0))
    True
    """

    def excess(self, guarantee: Guarantee) -> float:
        """How far `guarantee` is beyond this budget, as a logarithm: it fits if that is not positive."""
        ...


LARGEST = 700.0
"""Parameters are sought between e^-700 and e^700."""


def calibrate(guarantee_of: Callable[[float], Guarantee], budget: Budget, *, near: float = 1.0) -> float:
    """The largest parameter whose guarantee fits `budget`; rounded down, so that noise is rounded up.

    Parameters
    ----------
    guarantee_of
        From an epsilon per round, a mu, or any parameter that costs more the larger it is, to what it promises.
    budget
        PureDP, ZCDP or ApproxDP.
    near
        Where to begin; the nearer, the faster.

    Returns
    -------
    float
        x with budget.excess(guarantee_of(x)) <= 0, checked; no number above x (1 + 1e-9) has it.

    Raises
    ------
    ValueError
        if no parameter fits, with the reason.

    Examples
    --------
    >>> from shortlist.privacy import ApproxDP, GumbelDP
    >>> scale = 1 / calibrate(lambda mu: GumbelDP(mu, k=10), ApproxDP(epsilon=1.0, delta=1e-5))
    >>> round(scale, 4)
    16.7012
    """

    if not hasattr(budget, "excess"):
        raise bad_type("$budget must be PureDP(..), ZCDP(..) or ApproxDP(..)")

    def excess(log_x: float) -> float:
        return min(max(budget.excess(guarantee_of(math.exp(log_x))), -50.0), 50.0)

    first = min(max(math.log(number("near", near, above=True)), -LARGEST / 2), LARGEST / 2)
    start = (first, excess(first))
    down, step = start[1] > 0, 0.01
    while abs(start[0]) < LARGEST:
        step = min(max(min(abs(start[1]), 5.0), 1.5 * step), LARGEST - abs(start[0]))
        next_x = start[0] - step if down else start[0] + step
        end = (next_x, excess(next_x))
        if (end[1] > 0) != down:
            low, high = (end, start) if down else (start, end)
            return math.exp(find_crossing(excess, low, high, 1e-10)[0])
        start = end
    if not down:
        raise ValueError(f"every parameter fits the budget {budget}: there is no largest one")
    raise ValueError(f"no parameter fits the budget {budget}: {guarantee_of(1.0).why_not() or 'write a larger budget'}")
