"""What the best of a random number of runs promises, by three routes: pure, Renyi, profile (Theorem 235, 236, 237)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting.accountant import Charges, pure_total, renyi_total, rho_total, thinning_total
from shortlist.accounting.checked_numbers import up
from shortlist.accounting.privacy_curves import ULP, Curves, Profile, Renyi, gaussian, symmetric, two_point
from shortlist.accounting.region_of_tests import Region, cells, log_or_none, near, region
from shortlist.accounting.renyi import COARSE, renyi_profile
from shortlist.accounting.run_numbers import RunNumber, pure_cost
from shortlist.accounting.tight_zcdp import pure_rho
from shortlist.accounting.whole_profile import whole_profile

CLOSE = 1e-10
"""How sharply the largest ratio of slopes is sought."""
MOST_CELLS = 40_000
NOISE = 1e-12
"""Relative rounding of slopes, moments and chances of a number of runs; many times what it is."""


@dataclass(frozen=True, slots=True)
class Base:
    """One run, by what tuning needs of it; computed once for all numbers of runs."""

    pure: float
    """Infinite if there is none, or a delta beside it."""
    rho: float
    renyi: Renyi | None
    """None where nothing but the profile holds: with a thinning of its own, or without any finite order."""
    profile: Profile
    region: Region


def base_of(charges: Charges) -> Base:
    """What the charges of one run say together."""
    thinned = thinning_total(charges) > 0
    profile, renyi = whole_profile(charges), None if thinned else renyi_total(charges)
    if renyi is not None and not np.isfinite(renyi(1 + COARSE)).any():
        renyi = None
    pure = math.inf if thinned else pure_total(charges)
    rho = math.inf if thinned else rho_total(charges)
    return Base(pure, rho, renyi, profile, region(profile, pure, renyi if math.isinf(pure) else None))


def tuned(base: Base, runs: RunNumber) -> Curves:
    """The best of `runs` runs of `base`; every number rounded up."""
    ratios = _Ratios.of(base.region, runs)
    pure, r = math.inf, ratios.largest
    if base.pure < math.inf:
        closed = pure_cost(runs, base.pure)
        r = r if closed is None else min(r, closed - base.pure + 4 * ULP * closed)
        pure = up(Fraction(base.pure) + Fraction(r)) if closed is None else closed
        if runs.most is not None:
            pure = min(pure, up(Fraction(base.pure) * runs.most))
    renyi = _renyi(base, runs, ratios, pure)
    rho = _rho(base, runs, ratios, renyi) if base.rho < math.inf else math.inf
    if pure < math.inf:
        rho = min(rho, pure_rho(pure))
    by_renyi = None if base.renyi is None else renyi_profile(renyi)
    by_pure = two_point(pure, -pure) if pure < math.inf else None  # randomised response dominates all that is pure

    def half(x: Floats) -> Floats:
        bound = runs.missed(np.clip(base.profile(x - r), 0.0, 1.0)) * (1 + NOISE) if r < math.inf else np.ones(x.shape)
        if by_renyi is not None:
            with np.errstate(all="ignore"):
                bound = np.minimum(bound, by_renyi(x))
        if by_pure is not None:
            bound = np.minimum(bound, by_pure(x))
        return np.where(x >= pure, 0.0, np.minimum(bound, runs.missed(np.ones(())) * (1 + NOISE)))

    return Curves(
        renyi=renyi,
        pairs=(symmetric(half),),
        witness=lambda order: (gaussian(0.0),),
        pure=pure,
        rho=rho,
        joint=base.renyi is not None,
        why_not=_why_not(base),
    )


def _why_not(base: Base) -> str:
    if base.renyi is None:
        return "one run has a delta of its own, and of the best of many only a profile is known then"
    return "" if base.pure < math.inf else "one run leaves rare losses of any size, and so does the best of many"


@dataclass(frozen=True, slots=True)
class _Ratios:
    """Slopes at the pairs (s, s') that tests may have: `largest` is max ln f'(s)/f'(s'), rounded up.

    On a cell of s' the slope at its largest s stands above the slope at its smallest s', for f' rises. Of all cells
    only those are kept that are largest in gain a + base for some a >= 1.
    """

    largest: float
    gains: Floats
    bases: Floats

    @classmethod
    def of(cls, where: Region, runs: RunNumber) -> _Ratios:
        points = cells()
        low, high = points[:-1], points[1:]
        above, below = _slopes(where, runs, low, high)
        with np.errstate(invalid="ignore"):
            gains = above - below
        largest = _sharpened(where, runs, (low, high), gains)
        return cls(largest, *_hull(np.where(np.isnan(gains), math.inf, gains), below))

    def most(self, orders: Floats) -> Floats:
        """max over the region of a ln f'(s) - (a-1) ln f'(s'), for each order a; rounded up."""
        turns = np.diff(self.bases) / -np.diff(self.gains)  # falling: there a point and the next are equally large
        at = len(turns) - np.searchsorted(turns[::-1], orders)
        bound: Floats = orders * self.gains[at] + self.bases[at]
        return bound + NOISE * np.abs(bound)


def _slopes(where: Region, runs: RunNumber, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """(ln f' at the largest s of each cell, ln f' at its smallest s'), rounded apart."""
    above, below = runs.log_slope(where.largest(high)), runs.log_slope(low)
    with np.errstate(invalid="ignore"):
        return above + NOISE * (1 + np.abs(above)), below - NOISE * (1 + np.abs(below))


def _sharpened(where: Region, runs: RunNumber, ends: tuple[Floats, Floats], gains: Floats) -> float:
    """The largest gain, the cells that may hold it cut ever finer; those that are left whole count as they are."""
    settled = 0.0
    for _ in range(12):
        largest = float(np.nanmax(gains, initial=-math.inf)) if not np.isnan(gains).any() else math.inf
        if math.isinf(largest):
            return largest
        reached = runs.log_slope(where.largest(ends[0])) - runs.log_slope(ends[0])
        sure = float(np.max(reached))
        keep = gains > sure + CLOSE
        if not keep.any() or 8 * int(keep.sum()) > MOST_CELLS:
            return max(largest, settled)
        settled = max(settled, float(np.max(gains[~keep], initial=0.0)))
        ends = near((ends[0][keep], ends[1][keep]), 8)
        above, below = _slopes(where, runs, *ends)
        gains = above - below
    return max(float(gains.max()), settled)


def _hull(gains: Floats, bases: Floats) -> tuple[Floats, Floats]:
    """The points that are largest in gain a + base for some a >= 1."""
    order = np.lexsort((-bases, -gains))
    gains, bases = gains[order], bases[order]
    if math.isinf(gains[0]):
        return np.array([math.inf]), np.array([0.0])
    better = np.append(True, bases[1:] > np.maximum.accumulate(bases)[:-1])
    gains, bases = gains[better], bases[better]
    while True:  # whoever is not above the chord of its neighbours is above no chord
        fall, rise = -np.diff(gains), np.diff(bases)
        above = np.ones(len(gains), bool)
        above[1:-1] = rise[:-1] * (fall[:-1] + fall[1:]) > (rise[:-1] + rise[1:]) * fall[:-1]
        if above.all():
            return gains, bases
        gains, bases = gains[above], bases[above]


def _renyi(base: Base, runs: RunNumber, ratios: _Ratios, pure: float) -> Renyi:
    """The better of the weighted moment and of plain composition, at this order or any larger one."""
    one_run = base.renyi
    if one_run is None:
        return lambda orders: np.full(orders.shape, math.inf)
    rho, nothing = pure_rho(pure) if pure < math.inf else math.inf, log_or_none(runs.none)

    def at(orders: Floats) -> Floats:
        less = orders - 1
        with np.errstate(all="ignore"):
            moment = less * one_run(orders)
            weighted = np.logaddexp(nothing, moment + ratios.most(orders))
            weighted = (weighted + 1e-13 * (1 + np.abs(weighted))) / less
            plain = runs.log_moment(moment * (1 + NOISE)) * (1 + NOISE) / less
            bounded = np.minimum(orders * rho * (1 + 4 * ULP), pure)
        return np.fmin(np.fmin(np.where(np.isnan(weighted), math.inf, weighted), plain), bounded)

    grid = 1 + COARSE
    later = np.minimum.accumulate(at(grid)[::-1])[::-1]
    later = np.append(later, math.inf)

    def renyi(orders: Floats) -> Floats:
        bound: Floats = np.minimum(at(orders), later[np.searchsorted(grid, orders)])
        return np.maximum(bound, 0.0)

    return renyi


def _rho(base: Base, runs: RunNumber, ratios: _Ratios, renyi: Renyi) -> float:
    """sup D_a / a: on cells of orders, and beyond them by rho of one run and the largest ratio of slopes."""
    orders = 1 + np.geomspace(1e-6, 1e8, 30_000)
    bound = renyi(orders)
    cells_of_orders = np.append(bound[0], bound[1:] / orders[:-1])
    last = float(orders[-1])
    tail = base.rho + (last * ratios.largest + abs(math.log(runs.mean)) + 1) / (last * (last - 1))
    whole = max(float(np.max(cells_of_orders)), tail) * (1 + NOISE)
    return whole if runs.most is None else min(whole, up(Fraction(base.rho) * runs.most))
