"""Which pairs of chances a test may have under two neighbours: an outer polygon, from profiles and Renyi divergences.

With s = P(test) and s' = Q(test) over all tests, randomised ones too, the pairs (s, s') form a convex set; each
constraint kept here is a half plane s <= c + d s' that contains it, so leaving some out only makes it larger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting.privacy_curves import Profile, Renyi

FARTHEST = 60.0
"""The largest epsilon whose constraint is looked at."""
SLACK = 1e-10
"""By how much, relatively, tangents of Renyi balls are raised: their own rounding is a thousandth of it."""
STEPS = 56
"""Halvings of a logit: from 80 wide to below the last bit."""


@dataclass(frozen=True, slots=True)
class Region:
    """The half planes s <= c + d s'."""

    c: Floats
    d: Floats
    envelope: tuple[Floats, Floats, Floats] = field(init=False, repr=False, compare=False)
    """Those of them that are lowest somewhere, the steepest first, and where each gives way to the next."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "envelope", _lowest(self.c, self.d))

    def largest(self, other: Floats) -> Floats:
        """The largest s for each s', rounded up; never above 1. Every half plane holds, so none can be a wrong one."""
        c, d, turns = self.envelope
        at, values = np.searchsorted(turns, other), np.ones(other.shape)
        for one in (np.maximum(at - 1, 0), at, np.minimum(at + 1, len(c) - 1)):
            np.minimum(values, c[one] + d[one] * other, out=values)
        return values


def _lowest(c: Floats, d: Floats) -> tuple[Floats, Floats, Floats]:
    usable = np.isfinite(c) & np.isfinite(d)
    c, d = c[usable], d[usable]
    order = np.lexsort((c, -d))
    lines: list[tuple[float, float]] = []
    turns: list[float] = []
    for one, slope in zip(c[order].tolist(), d[order].tolist(), strict=True):
        if lines and slope == lines[-1][1]:
            continue
        while lines:
            turn = (one - lines[-1][0]) / (lines[-1][1] - slope)
            if not turns or turn > turns[-1]:
                turns.append(turn)
                break
            lines.pop()
            turns.pop()
        lines.append((one, slope))
    bounds = np.array(lines)
    return bounds[:, 0], bounds[:, 1], np.array(turns)


def region(profile: Profile, pure: float, renyi: Renyi | None) -> Region:
    """The region from a profile of both orders, and from Renyi divergences of both orders where there are any."""
    top = min(pure, FARTHEST)
    epsilons = np.unique(np.concatenate([np.linspace(0.0, top, 200), np.geomspace(1e-3 * top, top, 100)]))
    delta = np.clip(profile(epsilons), 0.0, 1.0)
    # s <= e^epsilon s' + delta, and 1 - s' <= e^epsilon (1 - s) + delta
    c, d = [delta, 1 - np.exp(-epsilons) * (1 - delta) + 1e-15], [np.exp(epsilons) * (1 + 1e-15), np.exp(-epsilons)]
    if renyi is not None:
        with np.errstate(all="ignore"):
            more_c, more_d = _tangents(renyi)
        c.append(more_c)
        d.append(more_d)
    return Region(np.concatenate(c), np.concatenate(d))


def _tangents(renyi: Renyi) -> tuple[Floats, Floats]:
    """Tangents of the sets {D_a(s, s') <= D_a and D_a(s', s) <= D_a}, s and s' as coins, at some s'.

    Each order's set is convex, because s^a s'^(1-a) is; its linearisation at any point contains it.
    """
    orders = 1 + np.geomspace(1e-2, 1e3, 60)
    divergence = renyi(orders)
    usable = np.isfinite(divergence)
    less, divergence = (orders - 1)[usable, None], divergence[usable, None]
    if not less.size:
        return np.zeros(0), np.zeros(0)
    start = np.concatenate([np.geomspace(1e-12, 0.02, 60)[:-1], np.linspace(0.02, 0.98, 120)])
    ends = np.log(start) - np.log1p(-start)
    ends = np.concatenate([ends, -np.log(np.geomspace(1e-12, 0.02, 60)[:-1])])

    def logs(z: Floats) -> tuple[Floats, Floats]:
        """ln s and ln(1 - s) of s = 1 / (1 + e^-z)."""
        return -np.logaddexp(0.0, -z), -np.logaddexp(0.0, z)

    def terms(z: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """ln of the four terms over e^((a-1) D_a): of s against s', and of s' against s."""
        (one, rest), (other, others) = logs(z), logs(ends)
        scale = less * divergence
        return (
            (1 + less) * one - less * other - scale,
            (1 + less) * rest - less * others - scale,
            (1 + less) * other - less * one - scale,
            (1 + less) * others - less * rest - scale,
        )

    def excess(z: Floats) -> Floats:
        first, second, third, fourth = terms(z)
        values: Floats = np.stack([np.logaddexp(first, second), np.logaddexp(third, fourth)]) / less
        return values

    low, high = ends, ends + 80.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        inside = excess(middle).max(axis=(0, 1)) <= 0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    values = excess(high)
    flat = values.reshape(-1, len(ends))
    best = flat.argmax(axis=0)
    swapped, order = best // len(less), best % len(less)
    at = np.arange(len(ends))
    first, second, third, fourth = (np.exp(one[order, at]) for one in terms(high))
    a = 1 + less[order, 0]
    e_one, e_two = np.where(swapped, third, first), np.where(swapped, fourth, second)
    (log_s, log_t), (log_x, log_y) = logs(high), logs(ends)
    by_s = e_one * np.exp(-log_s) - e_two * np.exp(-log_t)
    by_x = e_one * np.exp(-log_x) - e_two * np.exp(-log_y)
    slope = by_x / by_s * np.where(swapped, a / (a - 1), (a - 1) / a)
    value = (e_one + e_two - 1) / by_s * np.where(swapped, 1 / (1 - a), 1 / a)
    s, x = np.exp(log_s), np.exp(log_x)
    c = s - value - slope * x
    good = np.isfinite(c) & np.isfinite(slope) & (slope > 0)
    return (c + SLACK * s)[good], (slope * (1 + SLACK))[good]


def cells() -> Floats:
    """Ends of the cells of s': geometric towards 0 and towards 1."""
    small = np.geomspace(1e-13, 0.5, 12_000)
    values: Floats = np.unique(np.concatenate([[0.0, 1.0], small, 1 - small, np.linspace(0.0, 1.0, 20_001)]))
    return values


def near(ends: tuple[Floats, Floats], parts: int) -> tuple[Floats, Floats]:
    """Every cell cut into so many."""
    low, high = ends
    cuts = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, parts + 1)
    cuts[:, -1] = high
    return cuts[:, :-1].ravel(), cuts[:, 1:].ravel()


def log_or_none(chance: float) -> float:
    """ln of a chance, -inf of none."""
    return math.log(chance) if chance > 0 else -math.inf
