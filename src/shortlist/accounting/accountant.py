"""The one place where guarantees are composed.

A list of charges fixed in advance, whatever the order in which they are made and however each is chosen
after the results of those before it, has every bound that follows; the answer is the best of them.

- *sum*: epsilons of pure guarantees add up, deltas of common thinnings are paid beside them.
- *Renyi*: divergences add up at every order; the best order is taken at the end.
- *product*: dominating pairs multiply. Guarantees that are a set of laws rather than one pair (bounded
  range, zCDP, Renyi) may be put together as one pair that covers all their applications, if everything else
  is a product of pairs: the worst order makes the pairs first, because the mean of a maximum is at least
  the maximum of the means (docs/accounting.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting.checked_numbers import sum_up
from shortlist.accounting.convolution import convolve
from shortlist.accounting.privacy_curves import Curves, Pair, Profile, Renyi, symmetric
from shortlist.accounting.renyi import renyi_delta, renyi_epsilon, renyi_profile
from shortlist.exact.crossing import crossing

LEAST = 5e-324
"""The smallest float: below the pure epsilon no delta is 0."""

CLOSE = 1e-11
"""Relative width to which an epsilon is sought."""

Charges: TypeAlias = Sequence[tuple[Curves, int]]


def pure_total(charges: Charges) -> float:
    """The sum of the bounds on the loss, rounded up; infinite if one has none."""
    return sum_up([(curves.pure, times) for curves, times in charges])


def rho_total(charges: Charges) -> float:
    """The sum of the rhos, rounded up; infinite if one has none."""
    return sum_up([(curves.rho, times) for curves, times in charges])


def thinning_total(charges: Charges) -> float:
    """1 - prod (1 - delta): the mass of the joint thinning, rounded up."""
    log_rest = sum(times * math.log1p(-curves.delta) for curves, times in charges)
    return min(sum_up([(curves.delta, times) for curves, times in charges]), -math.expm1(log_rest) * (1 + 1e-14), 1.0)


def renyi_total(charges: Charges) -> Renyi:
    """The sum of the Renyi curves, rounded up."""

    def renyi(orders: Floats) -> Floats:
        total = np.zeros(orders.shape)
        for curves, times in charges:
            total = total + times * curves.renyi(orders)
        return total * (1 + 1e-15 * len(charges))

    return renyi


@np.errstate(all="ignore")
def delta_upper(charges: Charges, epsilon: float) -> float:
    """The least delta that any route proves at `epsilon`, rounded up."""
    thinning = thinning_total(charges)
    if epsilon >= pure_total(charges):
        return thinning
    by_renyi, order = renyi_delta(renyi_total(charges), epsilon)
    delta = min(1.0, thinning + by_renyi)
    return max(min([delta, *(curve(epsilon) for curve in _upper_curves(charges, order, delta))]), LEAST)


@np.errstate(all="ignore")
def delta_lower(charges: Charges, epsilon: float) -> float:
    """A delta that some mechanisms with these guarantees need at `epsilon`, rounded down."""
    by_renyi, order = renyi_delta(renyi_total(charges), epsilon)
    return _lower_curve(charges, order, min(1.0, by_renyi + thinning_total(charges)))(epsilon)


@np.errstate(all="ignore")
def epsilon_upper(charges: Charges, delta: float) -> float:
    """The least epsilon that any route proves at `delta`, rounded up; infinite if none proves any."""
    thinning = thinning_total(charges)
    epsilon = pure_total(charges) if thinning <= delta else math.inf
    if delta == 0:
        return epsilon
    order = 2.0
    if delta > thinning:
        by_renyi, order = renyi_epsilon(renyi_total(charges), delta - thinning)
        epsilon = min(epsilon, by_renyi)
    for curve in _upper_curves(charges, order, delta):
        epsilon = _last_above(curve, delta, epsilon)
    return epsilon


@np.errstate(all="ignore")
def epsilon_lower(charges: Charges, delta: float, ceiling: float) -> float:
    """An epsilon below which some mechanisms with these guarantees need more than `delta`, rounded down.

    `ceiling` is their `epsilon_upper` at `delta`.
    """
    if delta == 0:
        return ceiling if math.isfinite(ceiling) else 0.0
    rest = delta - thinning_total(charges)
    order = renyi_epsilon(renyi_total(charges), rest)[1] if rest > 0 else 2.0
    return _last_above(_lower_curve(charges, order, delta), delta, ceiling, inside=True)


@np.errstate(all="ignore")
def tradeoff_lower(charges: Charges, alpha: float) -> float:
    """The least type II error of any test of type I error `alpha` between neighbours, rounded down.

    Each point (epsilon, delta) of the profile forbids all below two lines: 1 - delta - e^epsilon alpha and
    e^{-epsilon} (1 - delta - alpha).
    """
    small = max(alpha / 4, 1e-9)
    curves = [
        curve
        for target in {small, max((1 - alpha) / 4, 1e-9), 0.05}
        for curve in _upper_curves(charges, renyi_epsilon(renyi_total(charges), target)[1], target, renyi=True)
    ]
    pure, thinning = pure_total(charges), thinning_total(charges)

    def line(x: float) -> float:
        delta = thinning if x >= pure else min(1.0, *(curve(x) for curve in curves))
        return max(1 - delta - math.exp(x) * alpha, math.exp(-x) * (1 - delta - alpha)) - 1e-14

    low, high = 0.0, min(pure if math.isfinite(pure) else epsilon_upper(charges, small / 1e3), 600.0)
    best = 0.0
    for _ in range(12):
        points = np.linspace(low, high, 17)
        heights = [line(float(x)) for x in points]
        top = int(np.argmax(heights))
        best = max(best, heights[top])
        low, high = float(points[max(top - 1, 0)]), float(points[min(top + 1, 16)])
    return best


def plans(charges: Charges, small: float = 0.0, *, renyi: bool = True) -> list[list[Pair]]:
    """Ways to cover all charges by a product of pairs, sharp where a delta is above `small`.

    Without one that says no more than the Renyi sum, where `renyi` is False.
    """
    apart = [pair for charge in charges if not charge[0].joint for pair in _pairs_of(charge)]
    joint = [charge for charge in charges if charge[0].joint]
    if not joint:
        return [apart]
    covers = [[*apart, _together(joint)]] if renyi or apart or not _by_renyi(joint) else []
    in_blocks = [(charge, charge[0].blocks) for charge in joint if charge[0].blocks is not None]
    if in_blocks:
        largest, blocks = max(in_blocks, key=lambda item: item[0][1] * item[0][0].pure ** 2)
        others = [pair for charge in joint if charge is not largest for pair in _pairs_of(charge)]
        covers.append([*apart, *others, blocks(largest[1], small)])
    return covers


def _pairs_of(charge: tuple[Curves, int]) -> list[Pair]:
    curves, times = charge
    return [Pair(profile, times, curves.pure) for profile in curves.pairs]


def _by_renyi(joint: Charges) -> bool:
    """Whether the one pair for all of them says no more than the sum of their Renyi curves."""
    return len(joint) > 1 or joint[0][1] > 1 or joint[0][0].by_renyi


def _together(joint: Charges) -> Pair:
    """One pair for all applications of guarantees with Renyi curves."""
    if len(joint) == 1 and joint[0][1] == 1:
        return _pairs_of(joint[0])[0]
    thinning, pure = thinning_total(joint), pure_total(joint)
    half = renyi_profile(renyi_total(joint))
    return Pair(symmetric(lambda x: np.where(x >= pure, thinning, np.minimum(thinning + half(x), 1.0))), 1, pure)


def _upper_curves(
    charges: Charges, order: float, delta: float, *, renyi: bool = False
) -> list[Callable[[float], float]]:
    """For each plan, delta as a function of epsilon: exact for one pair, sharp near `delta` for a product.

    Without that of the Renyi sum alone, unless `renyi` says so: most look at it themselves.
    """
    return [
        _value_of(plan[0].profile)
        if len(plan) == 1 and plan[0].times == 1
        else convolve(plan, order - 1, _small(delta)).delta
        for plan in plans(charges, _small(delta), renyi=renyi)
    ]


def _lower_curve(charges: Charges, order: float, delta: float) -> Callable[[float], float]:
    """The same for laws that have these guarantees, from below."""
    pairs = [Pair(profile, times, curves.pure) for curves, times in charges for profile in curves.witness(order)]
    if len(pairs) == 1 and pairs[0].times == 1:
        exact = _value_of(pairs[0].profile)
        return lambda x: exact(x) * (1 - 1e-9)
    return convolve(pairs, order - 1, _small(delta), from_below=True).delta_lower


@np.errstate(all="ignore")
def epsilon_of(profile: Profile, delta: float, ceiling: float) -> float:
    """Where one profile crosses `delta`, rounded up, or the ceiling."""
    return _last_above(_value_of(profile), delta, ceiling)


def _value_of(profile: Profile) -> Callable[[float], float]:
    return lambda x: min(1.0, float(profile(np.array([x]))[0]))


def _small(delta: float) -> float:
    """Mass that may be cut off where a delta of this size is sought."""
    return max(delta * 1e-9, 1e-300)


SHARES = (0.999, 0.995, 0.99, 0.98, 0.97, 0.95, 0.92, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.3, 0.1)
"""Where a lower curve is looked at whose rounding hides it at 0."""


def _last_above(curve: Callable[[float], float], delta: float, ceiling: float, *, inside: bool = False) -> float:
    """Where the falling `curve` crosses `delta`, or `ceiling`: a point beyond, or before it if `inside`."""

    def excess(x: float) -> float:
        return math.log(max(curve(x), 1e-320)) - math.log(delta)

    low, high = (0.0, excess(0.0)), (1.0, excess(1.0))
    if low[1] <= 0:
        points = (share * ceiling for share in SHARES) if inside and math.isfinite(ceiling) else ()
        return next((x for x in points if excess(x) > 0), 0.0)
    while high[1] > 0:
        if high[0] >= min(ceiling, 1e6):
            return high[0] if inside else ceiling
        farther = min(2 * high[0], ceiling)
        low, high = high, (farther, excess(farther))
    near, far = crossing(excess, low, high, CLOSE * high[0])
    return near if inside else min(far, ceiling)
