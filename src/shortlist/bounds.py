"""What guarantees say beyond what a charge needs: bounds from below, trade-offs, whole profiles, and groups of people.

No release and no ledger reads these numbers. `epsilon_bounds`, `delta_bounds`, `tradeoff` and `for_group` of guarantees
do, and accountants that go on from a whole profile. `of_group` says what several people are promised (Theorem 254).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting import compose
from shortlist.accounting.compose import Charges, pure_total, renyi_total, thinning_total
from shortlist.accounting.curves import ULP, Pair, Profile, renyi_delta, renyi_epsilon, renyi_profile, symmetric, up
from shortlist.accounting.guarantees import ZCDP, ApproxDP, BoundedRange, ExPost, Guarantee, PureDP, RenyiDP
from shortlist.exact.reals import ball, exactly


@np.errstate(all="ignore")
def delta_lower(charges: Charges, epsilon: float) -> float:
    """A delta that some mechanisms with these guarantees need at `epsilon`, rounded down."""
    by_renyi, order = renyi_delta(renyi_total(charges), epsilon)
    return _lower_curve(charges, order, min(1.0, by_renyi + thinning_total(charges)))(epsilon)


@np.errstate(all="ignore")
def epsilon_lower(charges: Charges, delta: float, ceiling: float) -> float:
    """An epsilon below which some mechanisms with these guarantees need more than `delta`, rounded down.

    `ceiling` is their `epsilon_upper` at `delta`.
    """
    if delta == 0:
        return ceiling if math.isfinite(ceiling) else 0.0
    rest = delta - thinning_total(charges)
    order = renyi_epsilon(renyi_total(charges), rest)[1] if rest > 0 else 2.0
    return compose.last_above(_lower_curve(charges, order, delta), delta, ceiling, inside=True)


@np.errstate(all="ignore")
def tradeoff_lower(charges: Charges, alpha: float) -> float:
    """The least type II error of any test of type I error `alpha` between neighbours, rounded down.

    Each point (epsilon, delta) of the profile forbids all below two lines: 1 - delta - e^epsilon alpha and
    e^{-epsilon} (1 - delta - alpha).
    """
    small = max(alpha / 4, 1e-9)
    renyi, deltas = renyi_total(charges), {small, max((1 - alpha) / 4, 1e-9), 0.05}
    near = [(renyi_epsilon(renyi, delta)[1], delta) for delta in deltas]
    curves = [curve for order, delta in near for curve in compose.upper_curves(charges, order, delta, renyi=True)]
    pure, thinning = pure_total(charges), thinning_total(charges)

    def line(x: float) -> float:
        delta = thinning if x >= pure else min(1.0, *(curve(x) for curve in curves))
        return max(1 - delta - math.exp(x) * alpha, math.exp(-x) * (1 - delta - alpha)) - 1e-14

    low, high = 0.0, min(pure if math.isfinite(pure) else compose.epsilon_upper(charges, small / 1e3), 600.0)
    best = 0.0
    for _ in range(12):
        points = np.linspace(low, high, 17)
        heights = [line(float(x)) for x in points]
        top = int(np.argmax(heights))
        best = max(best, heights[top])
        low, high = float(points[max(top - 1, 0)]), float(points[min(top + 1, 16)])
    return best


def _lower_curve(charges: Charges, order: float, delta: float) -> Callable[[float], float]:
    """The same for laws that have these guarantees, from below."""
    pairs = [Pair(profile, times, curves.pure) for curves, times in charges for profile in curves.witness(order)]
    if len(pairs) == 1 and pairs[0].times == 1:
        exact = compose.value_of(pairs[0].profile)
        return lambda x: exact(x) * (1 - 1e-9)
    return compose.convolve(pairs, order - 1, compose.small_mass(delta), from_below=True).delta_lower


FARTHEST = 60.0
"""Losses beyond it are charged as at it."""


PROFILE_POINTS = 400
"""At how many epsilons a product of pairs is computed; between them its chords in e^x lie above it."""


SHARP = (1e-1, 1e-3, 1e-6, 1e-9, 1e-12)
"""Deltas near which one transform each is sharp."""


def whole_profile(charges: Charges) -> Profile:
    """delta at every x of the whole line, rounded up: the best of all routes that give one for an array of points."""
    routes = compose.plans(charges)
    alone = [plan[0].profile for plan in routes if len(plan) == 1 and plan[0].times == 1]
    products = [plan for plan in routes if not (len(plan) == 1 and plan[0].times == 1)]
    if alone and not products:
        return lambda x: np.minimum(1.0, np.min([profile(x) for profile in alone], axis=0))
    pure, thinning, renyi = pure_total(charges), thinning_total(charges), renyi_total(charges)
    with np.errstate(all="ignore"):
        near = [(renyi_epsilon(renyi, delta)[1], delta) for delta in SHARP]
        mixtures = [compose.convolve(plan, order - 1, delta * 1e-9) for plan in products for order, delta in near]
        by_renyi = renyi_profile(renyi)
    top, half_of_them = min(pure, FARTHEST), PROFILE_POINTS // 2
    x = np.unique([*np.linspace(0.0, top, half_of_them), *np.geomspace(1e-4 * top, top, half_of_them)])
    least = [min((mixture.delta(float(one)) for mixture in mixtures), default=math.inf) for one in x]
    with np.errstate(all="ignore"):
        values = np.minimum.accumulate(np.minimum(least, thinning + by_renyi(x)))

    def half(points: Floats) -> Floats:
        chord: Floats = np.interp(np.exp(np.minimum(points, top)), np.exp(x), values) * (1 + 64 * ULP)
        others = [profile(points) for profile in alone]
        return np.where(points >= pure, thinning, np.min([chord, *others, np.ones(points.shape)], axis=0))

    return symmetric(half)


SLACK = 1 + 2.0**-40
"""More than the rounding of what is computed here, whose orders and their ratios are not `NEAR` 1."""


NEAR = 1.01


def scale_up(cost: float, factor: int) -> float:
    """cost * factor, rounded up; refused beyond all floats."""
    total = up(Fraction(cost) * factor)
    if total == float("inf"):
        raise ValueError("size is so large that nothing is promised: write size=10, for example")
    return total


def delta_of_group(epsilon: float, delta: float, size: int) -> float:
    """delta (1 + e^epsilon + .. + e^((size - 1) epsilon)), rounded up; infinite from 1 on."""
    from flint import ctx

    if not epsilon or not delta:
        return up(Fraction(delta) * size)
    with ctx.workprec(BITS):
        each = ball(Fraction(epsilon))
        total = ball(Fraction(delta)) * (each * size).expm1() / each.expm1()
        return up(exactly(total.upper())) if total < 1 else float("inf")  # a fraction beyond is as long as epsilon


def renyi_of_group(
    orders: tuple[float, ...], epsilons: tuple[float, ...], size: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """(orders, divergences) of `size` people: one more at a time, by the triangle inequality; rounded up.

    D_a(P, R) <= (a - 1/p) / (a - 1) D_pa(P, Q) + D_b(Q, R), b = (a - 1/p) p / (p - 1), for every p > 1; here p is such
    that p a is one of the orders. Between orders (a - 1) D_a is below its chord. Orders for which nothing follows
    are left out; the last one is, with every person more.
    """
    places, heights = np.array(orders), np.array(epsilons)
    for _ in range(size - 1):
        bounds = [_one_more(a, np.array(orders), np.array(epsilons), places, heights) for a in places.tolist()]
        finite = [i for i, bound in enumerate(bounds) if np.isfinite(bound)]
        places, heights = places[finite], np.array([bounds[i] for i in finite])
        if not finite:
            break
    return tuple(places.tolist()), tuple(heights.tolist())


def _one_more(a: float, orders: Floats, epsilons: Floats, places: Floats, heights: Floats) -> float:
    """The least bound on D_a for one person more than `heights` are of."""
    above = orders >= a * NEAR
    if not above.any() or a < NEAR:
        return float("inf")
    p = orders[above] / a
    less = a - 1 / p
    rest = _chord(less * p / (p - 1) * SLACK, places, heights)
    return float(np.min(less / (a - 1) * epsilons[above] + rest)) * SLACK


def _chord(at: Floats, places: Floats, heights: Floats) -> Floats:
    """D at other orders, from above: by the chord of (a - 1) D_a, which is convex and 0 at 1; D grows with a."""
    known: Floats = np.interp(at, [1.0, *places], [0.0, *((places - 1) * heights)]) / (at - 1) * SLACK
    return np.where(at <= places[-1], known, np.inf)


BITS = 128


def of_group(guarantee: Guarantee, size: int) -> Guarantee:
    """Return what `size` people together are promised, a guarantee of the same kind; size is above 1."""
    match guarantee:
        case PureDP(epsilon) | BoundedRange(epsilon):
            return type(guarantee)(scale_up(epsilon, size))
        case ExPost(epsilon, cost):
            return ExPost(scale_up(epsilon, size), scale_up(cost, size))
        case ZCDP(rho, 0):
            return ZCDP(scale_up(rho, size * size))
        case ApproxDP(epsilon, delta):
            delta = delta_of_group(epsilon, delta, size)
            if delta >= 1:
                raise ValueError(f"size={size}: so many people are promised nothing, their delta is 1 or more")
            return ApproxDP(scale_up(epsilon, size), delta)
        case RenyiDP(orders, epsilons):
            orders, epsilons = renyi_of_group(orders, epsilons, size)
            if not orders:
                raise ValueError(
                    f"size={size}: divergences of a group at order a need those of one person at higher orders; write "
                    "more orders, for example RenyiDP(orders=[2, 4, 8, 16, 64], epsilons=[...])"
                )
            return RenyiDP(orders, epsilons)
    zcdp = guarantee.as_zcdp()
    ways = ["as_pure()"] * (guarantee.as_pure() is not None) + ["as_zcdp()"] * (zcdp is not None and not zcdp.delta)
    written = " or ".join(f"guarantee.{way}.for_group({size})" for way in (*ways, "as_approx(1e-6)"))
    kind = type(guarantee).__name__
    raise ValueError(f"what a group is promised is not proved for {kind} itself: write {written}")
