"""What several people together are promised: guarantees at group distance (Theorem 254)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting.checked_numbers import up
from shortlist.exact.partial_reals import ball, exactly

BITS = 128
SLACK = 1 + 2.0**-40
"""More than the rounding of what is computed here, whose orders and their ratios are not `NEAR` 1."""
NEAR = 1.01


def scaled_up(cost: float, factor: int) -> float:
    """cost * factor, rounded up; refused beyond all floats."""
    total = up(Fraction(cost) * factor)
    if total == float("inf"):
        raise ValueError("size is so large that nothing is promised: write size=10, for example")
    return total


def not_proved(kind: str, size: int, pure: bool, zcdp: bool) -> ValueError:
    """The refusal of a kind of guarantee: what of it may be asked of a group instead."""
    ways = ["as_pure()"] * pure + ["as_zcdp()"] * zcdp + ["as_approx(1e-6)"]
    written = " or ".join(f"guarantee.{way}.for_group({size})" for way in ways)
    return ValueError(f"what a group is promised is not proved for {kind} itself: write {written}")


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
