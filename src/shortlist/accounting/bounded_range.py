"""Bounded range: tight Renyi curve, one round, and many adaptive rounds (Theorem 16, 17, 29).

All losses of one epsilon-bounded-range round lie in a window [t - epsilon, t], 0 <= t <= epsilon; the
extreme laws put mass on its two ends only, and the adversary chooses t, in every round anew and knowing the
loss so far.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting.privacy_curves import ULP, Pair, Profile, symmetric, two_point, two_point_renyi
from shortlist.accounting.range_recursion import FINEST, recursion
from shortlist.accounting.tight_zcdp import range_rho

WIDEST = 16.0
"""The recursion is not tried for windows wider than this: there is nothing to gain."""
TINY = 1e-220
NATS = 8.0
"""Recursions for deltas that differ by less may be the same."""
LONGEST_BLOCK = 300
"""So many rounds at most are followed by the recursion; more are charged as a product of blocks."""


def worst_window(epsilon: float, orders: Floats) -> Floats:
    """epsilon - t for the window [t - epsilon, t] of greatest Renyi divergence.

    e^{epsilon - t} = a / (a-1) * (1 - e^{-(a-1) epsilon}) / (1 - e^{-a epsilon}), the stationary point
    (Theorem 16).
    """
    less = orders - 1
    missing = np.exp(-less * epsilon) * math.expm1(-epsilon) / np.expm1(-orders * epsilon)
    under: Floats = np.log1p(1 / less) + np.log1p(-np.minimum(missing, 1 - ULP))
    return np.clip(under, 0.0, epsilon)


def range_renyi(epsilon: float, orders: Floats) -> Floats:
    """The greatest D_a under bounded range epsilon, at most min(a rho, epsilon) (Theorem 164); rounded up."""
    under = worst_window(epsilon, orders)
    chance = np.clip(np.expm1(-under) / math.expm1(-epsilon), 0.0, 1.0)
    tight = two_point_renyi(chance, epsilon - under, -under, orders)
    simple = np.minimum(orders * range_rho(epsilon) * (1 + 4 * ULP), epsilon)
    cancels = (orders * epsilon < 1e-3) | (orders < 1 + 1e-6)  # there the tight one loses its digits
    return np.where(cancels, simple, np.minimum(tight, simple))


def one_round(epsilon: float) -> Profile:
    """The best window for each x, t = (x + epsilon)/2: (1 - e^{(x-epsilon)/2})^2 / (1 - e^{-epsilon}).

    No single window attains it everywhere, but as a supremum of profiles it is itself the profile of a
    dominating pair. Rounded up.
    """

    def half(x: Floats) -> Floats:
        rise = np.expm1(np.minimum(x - epsilon, 0.0) / 2)
        return rise * (rise / -math.expm1(-epsilon)) * (1 + 16 * ULP)  # the square alone may underflow

    return symmetric(half)


def worst_law(epsilon: float, order: float) -> Profile:
    """Nearly the law of greatest D_order under bounded range epsilon; losses are multiples of epsilon/16."""
    parts = round(16 * float(worst_window(epsilon, np.array([order]))[0]) / epsilon)
    under = min(max(parts, 1), 15) * epsilon / 16
    return two_point(epsilon - under, -under)


def blocks(epsilon: float, rounds: int, small: float = 0.0) -> Pair:
    """A pair whose power dominates `rounds` adaptive rounds: blocks, each with the recursion's profile.

    Where no block length divides `rounds`, the last block is rounded up. Profiles below `small`, of all blocks
    together, are not told apart.
    """
    length = min(range(LONGEST_BLOCK, 2 * LONGEST_BLOCK // 3, -1), key=lambda size: -(-rounds // size) * size)
    length = min(length, rounds)
    times = -(-rounds // length)
    return Pair(many_rounds(epsilon, length, small / times), times, length * epsilon)


def many_rounds(epsilon: float, rounds: int, small: float = 0.0, finest: int = FINEST) -> Profile:
    """V_rounds of the recursion, by chords in e^x between its grid points; rounded up, but where it is below `small`
    not by little."""
    if rounds == 1:
        return one_round(epsilon)
    if epsilon < TINY:  # too small for a grid; together they are (rounds epsilon)-DP, hence of twice that range
        return one_round(2 * rounds * epsilon)
    step, values = recursion(epsilon, rounds, NATS * math.ceil(-math.log(small) / NATS) if small else math.inf, finest)

    def half(x: Floats) -> Floats:
        place = np.minimum(x / step, len(values) - 1.0)
        cell = np.minimum(place.astype(np.int64), len(values) - 2)
        share = np.expm1((place - cell) * step) / math.expm1(step)
        share = np.clip(share - 1e-9, 0.0, 1.0)
        chord: Floats = values[cell] + share * (values[cell + 1] - values[cell])
        return chord

    return symmetric(half)
