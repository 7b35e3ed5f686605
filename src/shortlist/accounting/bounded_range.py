"""Bounded range: tight Renyi curve, one round, and many adaptive rounds (Theorem 16, 17, 29).

All losses of one epsilon-bounded-range round lie in a window [t - epsilon, t], 0 <= t <= epsilon; the
extreme laws put mass on its two ends only, and the adversary chooses t, in every round anew and knowing the
loss so far.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting.privacy_curves import ULP, Pair, Profile, symmetric, two_point, two_point_renyi
from shortlist.accounting.tight_zcdp import range_rho

WIDEST = 30.0
"""The recursion is not tried for windows wider than this: there is nothing to gain."""
TINY = 1e-290
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


WORK = 1.2e7
"""Cells visited by one recursion: sets its grid, hence its time (a twentieth of a second) and its slack."""
ROUGH = 7.5e5
"""The same where a number within a few parts in a hundred is enough, from above as well."""


def blocks(epsilon: float, rounds: int, work: float = WORK) -> Pair:
    """A pair whose power dominates `rounds` adaptive rounds: blocks, each with the recursion's profile.

    Where no block length divides `rounds`, the last block is rounded up.
    """
    length = min(range(LONGEST_BLOCK, 2 * LONGEST_BLOCK // 3, -1), key=lambda size: -(-rounds // size) * size)
    length = min(length, rounds)
    times = -(-rounds // length)
    return Pair(many_rounds(epsilon, length, work), times, length * epsilon)


def many_rounds(epsilon: float, rounds: int, work: float = WORK) -> Profile:
    """V_rounds of the recursion, by chords in e^x between its grid points; rounded up."""
    if rounds == 1:
        return one_round(epsilon)
    if epsilon < TINY:  # too small for a grid; together they are (rounds epsilon)-DP, hence of twice that range
        return one_round(2 * rounds * epsilon)
    step, values = _recursion(epsilon, rounds, work)

    def half(x: Floats) -> Floats:
        place = np.minimum(x / step, len(values) - 1.0)
        cell = np.minimum(place.astype(np.int64), len(values) - 2)
        share = np.expm1((place - cell) * step) / math.expm1(step)
        share = np.clip(share - 1e-9, 0.0, 1.0)
        chord: Floats = values[cell] + share * (values[cell + 1] - values[cell])
        return chord

    return symmetric(half)


@lru_cache(maxsize=64)
def _recursion(epsilon: float, rounds: int, work: float) -> tuple[float, Floats]:
    """Grid step and V(0), V(step), V(2 step), ... after `rounds` rounds; rounded up.

    V_0(x) = (1 - e^x)_+ and V_j(x) = max_t A(t) V_{j-1}(x - t) + B(t) V_{j-1}(x - t + epsilon), with A(t) =
    P(loss = t) and B(t) = P(loss = t - epsilon) = (e^t - 1) / (e^epsilon - 1). V is kept on a grid that
    divides epsilon. Beyond its top V is replaced by its value there (V decreases); below zero it follows by
    symmetry (the mirror image of a window is a window).
    """
    reach = min(rounds * epsilon, rounds * epsilon**2 / 8 + 9 * epsilon * math.sqrt(rounds))
    cells = min(max(int(math.sqrt(work * epsilon / (rounds * reach))), 6), 256)
    step = epsilon / cells
    top = math.ceil(reach / step)
    below = -step * np.arange(cells, 0, -1)
    values = np.zeros(1)  # V_0; V_j is nothing from j epsilon on, and only what is not nothing is kept
    for done in range(1, rounds + 1):
        size = min(done * cells, top) + 1
        above = np.zeros(size + cells)
        above[: values.size] = values
        above[top:] = values[-1]
        mirrored = -np.expm1(below) + np.exp(below) * above[cells:0:-1]
        values = _one_more(np.concatenate([mirrored, above]), cells, epsilon)
    return step, np.append(values, np.zeros(top + 1 - values.size))


def _one_more(values: Floats, cells: int, epsilon: float) -> Floats:
    """V_j at 0, step, ..., top from V_{j-1} at -epsilon, ..., top + epsilon.

    Between grid points V is replaced by its chord in e^x, which lies above it because V is convex in e^x.
    Let x - t be in the cell that starts `back + 1` steps below x, and w = e^{x-t} relative to its start.
    Both values of V are then linear in w and B is r/w - 1 over e^epsilon - 1, so the objective is constant
    - a w - b/w with a, b >= 0: its maximum over the cell is at sqrt(b/a), or at an end. The maximum over t
    is exact for the chords; each round adds their error, of second order and upwards.

    All t on the grid are tried for every x. Off the grid, a cell has its maximum inside for at most two x.
    """
    step = epsilon / cells
    odds = 1 / math.expm1(epsilon)
    points = len(values) - 2 * cells
    best = values[cells : cells + points].copy()  # t = 0
    near, far = np.empty(points), np.empty(points)
    for back in range(1, cells + 1):
        low = min(math.expm1(back * step) * odds, 1.0)
        np.multiply(values[cells - back :][:points], 1 - low, out=near)
        np.multiply(values[2 * cells - back :][:points], low, out=far)
        near += far
        np.maximum(best, near, out=best)
    _inside_cells(best, values, cells, epsilon)
    return np.minimum(best * (1 + 64 * ULP), 1.0)


def _inside_cells(best: Floats, values: Floats, cells: int, epsilon: float) -> None:
    """Raises `best` by what is reached between grid points: w = sqrt(b/a) is inside a cell for at most two x."""
    step, odds = epsilon / cells, 1 / math.expm1(epsilon)
    slopes = np.diff(values) / math.expm1(step)
    starts, far_starts, slope, far_slope = values[:-1][:-cells], values[:-1][cells:], slopes[:-cells], slopes[cells:]
    with np.errstate(divide="ignore", invalid="ignore"):
        a = odds * (far_slope - slope) - slope
        if epsilon < 0.5:  # ln(b/a) in the form that keeps its digits
            log_bend = np.log1p((odds * (starts - far_starts) + slope) / a)
        else:
            log_bend = np.log(odds * (starts - slope - far_starts + far_slope) / a)
    inside = np.flatnonzero((log_bend < 2 * step) & (log_bend > -(epsilon + step)))
    if not inside.size:
        return
    some = slice(int(inside[0]), int(inside[-1]) + 1)  # nearly all between are inside too
    starts, far_starts, slope, far_slope = starts[some], far_starts[some], slope[some], far_slope[some]
    log_bend = np.clip(np.nan_to_num(log_bend[some]), -2 * epsilon, 2 * epsilon)
    first = np.floor(log_bend / -step)
    for back in (first, first + 1):
        rise = (back + 1) * step
        log_w = np.clip((rise + log_bend) / 2, 0.0, step)
        low, more = np.expm1(rise - log_w) * odds, np.expm1(log_w)
        np.minimum(low, 1.0, out=low)
        reached = (1 - low) * (starts + slope * more) + low * (far_starts + far_slope * more)
        place = np.arange(some.start - cells + 1, some.stop - cells + 1) + back.astype(np.int64)
        there = (back >= 0) & (back < cells) & (place >= 0) & (place < best.size)
        np.maximum.at(best, place[there], reached[there])
