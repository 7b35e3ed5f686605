"""The curves of each family of guarantees: its dominating pair, its Renyi divergence, and a law that
attains them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting import bounded_range
from shortlist.accounting import gumbel_curves as gumbel
from shortlist.accounting.checked_numbers import up
from shortlist.accounting.privacy_curves import (
    ULP,
    Curves,
    Profile,
    Renyi,
    gaussian,
    symmetric,
    thinned,
    two_point,
    two_point_renyi,
)
from shortlist.accounting.renyi import renyi_profile
from shortlist.accounting.tight_zcdp import pure_rho, range_rho


def approx(epsilon: float, delta: float) -> Curves:
    """(epsilon, delta)-DP: all is revealed with probability delta, otherwise randomised response.

    That pair dominates (Kairouz, Oh and Viswanath 2015), and its first half is a thinning common to both
    sides. Renyi: D_a = ln[(e^{a epsilon} + e^{(1-a) epsilon}) / (1 + e^epsilon)] / (a-1), at most a
    epsilon tanh(epsilon/2) (Theorem 164) and at most epsilon.
    """
    chance = np.array(1 / (1 + math.exp(-epsilon)))

    def renyi(orders: Floats) -> Floats:
        tight = two_point_renyi(chance, np.array(epsilon), np.array(-epsilon), orders)
        return np.minimum(np.minimum(tight, orders * rho * (1 + 1e-15)), epsilon)

    rho = pure_rho(epsilon)
    profile = thinned(delta, two_point(epsilon, -epsilon) if epsilon else gaussian(0.0))
    return Curves(
        renyi=renyi,
        pairs=(profile,),
        witness=lambda order: (profile,),
        delta=delta,
        pure=epsilon,
        rho=rho,
        why_not=f"with probability {delta:g} an (epsilon, delta) release may reveal everything" if delta else "",
    )


def zcdp(rho: float, delta: float) -> Curves:
    """D_a <= a rho at every order a after a common thinning of mass delta, as the Gaussian mechanism has."""
    law = thinned(delta, gaussian(rho))
    why_not = "a zCDP bound leaves rare losses of any size"

    def divergences(orders: Floats) -> Floats:
        with np.errstate(over="ignore"):  # beyond all floats is infinite, and infinite is right
            return orders * rho

    curves = _by_renyi(divergences, law, delta, rho, why_not)
    return curves if rho else replace(curves, pairs=(law,), pure=0.0, by_renyi=False)


def renyi(orders: tuple[float, ...], epsilons: tuple[float, ...]) -> Curves:
    """D_a at the given orders; between them (a-1) D_a, convex and 0 at a = 1, is below its chord."""
    falling = np.minimum.accumulate(np.array(epsilons)[::-1])[::-1]
    places = np.array([1.0, *orders])
    heights = np.array([0.0, *((np.array(orders) - 1) * falling)])

    def curve(at: Floats) -> Floats:
        inside = np.interp(at, places, heights) / (at - 1) * (1 + 1e-15)
        return np.where(at <= places[-1], inside, math.inf)

    rho = float((falling / np.array(orders)).min()) * (1 - 1e-15)
    why_not = f"Renyi divergence up to order {orders[-1]:g} says nothing of higher orders"
    return _by_renyi(curve, gaussian(rho), 0.0, math.inf, why_not)


def _by_renyi(curve: Renyi, law: Profile, delta: float, rho: float, why_not: str) -> Curves:
    """A guarantee known by its Renyi curve alone."""
    half = renyi_profile(curve)
    profile = symmetric(lambda x: np.minimum(delta + half(x), 1.0))
    return Curves(curve, (profile,), lambda order: (law,), delta, rho=rho, joint=True, by_renyi=True, why_not=why_not)


def ranged(epsilon: float) -> Curves:
    """epsilon-bounded range: zCDP by `range_rho` (Theorem 164), and tighter curves in `bounded_range`."""
    return Curves(
        renyi=lambda orders: bounded_range.range_renyi(epsilon, orders),
        pairs=(bounded_range.one_round(epsilon),),
        witness=lambda order: (bounded_range.worst_law(epsilon, order),),
        pure=epsilon,
        rho=range_rho(epsilon),
        joint=True,
        blocks=partial(bounded_range.blocks, epsilon) if epsilon < bounded_range.WIDEST else None,
    )


def thinned_rounds(epsilon: float, rounds: int, delta: float) -> Curves:
    """Adaptive rounds of epsilon-bounded range after one common thinning: delta beside the curves of the rounds."""
    pure = up(Fraction(epsilon) * rounds)

    def renyi(orders: Floats) -> Floats:
        return rounds * bounded_range.range_renyi(epsilon, orders) * (1 + 1e-15)

    by_renyi = renyi_profile(renyi)
    in_blocks = bounded_range.blocks(epsilon, rounds) if epsilon < bounded_range.WIDEST else None

    def half(x: Floats) -> Floats:
        rest = by_renyi(x)
        if in_blocks is not None and in_blocks.times == 1:
            rest = np.minimum(rest, in_blocks.profile(x))
        return np.where(x >= pure, delta, np.minimum((delta + rest) * (1 + 64 * ULP), 1.0))

    law = thinned(delta, gaussian(0.0))
    rho = up(Fraction(range_rho(epsilon)) * rounds)
    return Curves(renyi, (symmetric(half),), lambda order: (law,), delta, pure, rho, joint=True)


def gumbel_values(mu: float, k: int, monotone: bool) -> Curves:
    """k Gumbel values: one gamma clock if all scores move one way, else two that move apart (Theorem 90, 91)."""
    ahead, behind = gumbel.forward(mu, k), gumbel.backward(mu, k)

    def curve(orders: Floats) -> Floats:
        join = np.maximum if monotone else np.add
        return k * join(gumbel.forward_renyi(mu, orders), gumbel.backward_renyi(mu, orders)) * (1 + 1e-15)

    return Curves(
        renyi=curve,
        pairs=(gumbel.either(mu, k),) if monotone else (ahead, behind),
        witness=lambda order: (ahead,) if monotone else (ahead, behind),
        why_not=(
            "the loss of a Gumbel value has an exponential tail: its Renyi divergence is infinite from order "
            f"{-1 / math.expm1(-mu):.6g} on, so no pure and no zCDP guarantee exists; ask for ApproxDP"
        ),
    )
