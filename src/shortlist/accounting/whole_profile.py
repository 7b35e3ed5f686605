"""One profile for all charges together, as a function on the whole line: what further bounds are made from."""

from __future__ import annotations

import math

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting.accountant import Charges, plans, pure_total, renyi_total, thinning_total
from shortlist.accounting.convolution import Mixture, convolve
from shortlist.accounting.privacy_curves import ULP, Profile, symmetric
from shortlist.accounting.renyi import renyi_epsilon, renyi_profile

FARTHEST = 60.0
"""Losses beyond it are charged as at it."""
POINTS = 400
"""At how many epsilons a product of pairs is computed; between them its chords in e^x lie above it."""
SHARP = (1e-1, 1e-3, 1e-6, 1e-9, 1e-12)
"""Deltas near which one transform each is sharp."""


def whole_profile(charges: Charges) -> Profile:
    """delta at every x of the whole line, rounded up: the best of all routes that give one for an array of points."""
    routes = plans(charges)
    alone = [plan[0].profile for plan in routes if len(plan) == 1 and plan[0].times == 1]
    products = [plan for plan in routes if not (len(plan) == 1 and plan[0].times == 1)]
    if alone and not products:
        return lambda x: np.minimum(1.0, np.min([profile(x) for profile in alone], axis=0))
    pure, thinning, renyi = pure_total(charges), thinning_total(charges), renyi_total(charges)
    with np.errstate(all="ignore"):
        orders = [renyi_epsilon(renyi, delta)[1] for delta in SHARP]
        mixtures = [
            convolve(plan, order - 1, delta * 1e-9)
            for plan in products
            for order, delta in zip(orders, SHARP, strict=True)
        ]
        by_renyi = renyi_profile(renyi)
    top = min(pure, FARTHEST)
    x = np.unique(np.concatenate([np.linspace(0.0, top, POINTS // 2), np.geomspace(1e-4 * top, top, POINTS // 2)]))
    values = _least(mixtures, x)
    with np.errstate(all="ignore"):
        values = np.minimum(values, thinning + by_renyi(x))
    values = np.minimum.accumulate(values)

    def half(points: Floats) -> Floats:
        chord: Floats = np.interp(np.exp(np.minimum(points, top)), np.exp(x), values) * (1 + 64 * ULP)
        least = [profile(points) for profile in alone]
        return np.where(points >= pure, thinning, np.min([chord, *least, np.ones(points.shape)], axis=0))

    return symmetric(half)


def _least(mixtures: list[Mixture], x: Floats) -> Floats:
    return np.array([min((mixture.delta(float(one)) for mixture in mixtures), default=math.inf) for one in x])
