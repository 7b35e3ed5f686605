"""The contest: noisy scores as certified intervals, and the top k of them.

Everything is in noise units. Candidate i stands at g_i = (x_i - centre) / scale and finishes at g_i + Q(U_i).
A float computation gives each finish an interval that surely contains it; where intervals overlap, exact
arithmetic decides (`partial_reals`). The centre is any number near the winners, so that rounding is harmless there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise

import numpy as np

from shortlist._arrays import Floats, Indices, Values, Words
from shortlist.exact.noise_distributions import PLAIN, ROUGH, Noise
from shortlist.exact.partial_reals import Bits, Draw, NoisyScore, compare

POSITION_ROUNDING = 2.0**-50
"""Relative error of a position: one rounded difference, one rounded factor, one product."""

SHORT = 32
"""So many winners are compared one by one in less time than in arrays."""

EXACT_FLOATS = 2**52
"""A whole centre up to here, and whatever is near it, are floats as they are."""

FAR = 1e300
"""Positions are clamped here. What lies beyond has a one-sided interval."""


@dataclass(frozen=True, slots=True)
class Contest:
    """Scores, an exact scale, a noise kind, and how many winners are wanted."""

    values: Values
    k: int
    scale: Fraction
    noise: Noise
    centre: int | float
    _factor: float = field(init=False)
    _exponent: int = field(init=False)

    def __post_init__(self) -> None:
        factor, exponent = _inverse(self.scale)
        object.__setattr__(self, "_factor", factor)
        object.__setattr__(self, "_exponent", exponent)

    def positions(self, items: Values) -> Floats:
        """(items - centre) / scale to a relative error of POSITION_ROUNDING or to 1e-300, clamped to +-FAR."""
        difference, doublings = _subtract(items, self.centre)
        exponent = doublings + self._exponent
        with np.errstate(over="ignore", under="ignore"):
            if isinstance(exponent, int) and exponent == 0:
                result = difference * self._factor
            elif self._exponent > 0:  # scale up before the product, down after it: no bit is lost to underflow
                result = np.ldexp(difference, exponent) * self._factor
            else:
                result = np.ldexp(difference * self._factor, exponent)
        return np.minimum(np.maximum(result, -FAR), FAR)

    def intervals(self, items: Values, words: Words, level: Indices | int) -> tuple[Floats, Floats]:
        """(low, high) around each finish. A candidate at -inf never finishes: both ends are -inf."""
        g = self.positions(items)
        q, error = self.noise.quantile(words, level)
        z = g + q
        error = error + POSITION_ROUNDING * (np.abs(g) + np.abs(z)) + 1e-300
        low, high = z - error, z + error
        if max(-g.min(initial=0.0), g.max(initial=0.0)) >= FAR:
            low = np.where(g <= -FAR, -np.inf, low)
            high = np.where(g >= FAR, np.inf, high)
            if items.dtype.kind == "f":
                high = np.where(items == -np.inf, -np.inf, high)
        return low, high

    @np.errstate(all="ignore")
    def clear_winners(self, words: Words) -> Indices | None:
        """The positions of the k highest finishes, best first, from one word each, where few operations tell it.

        That is nearly always: None where two that matter are too close, or a word is extreme. Finishes z are good to
        2 ROUGH + 2^-48 |z|, by |g| <= |z| + 45, which grows slower than z: what is far enough below the next one that
        is left out is above all others too. Every error is at least that of `intervals`.
        """
        rough, k = self.noise.rough, self.k
        if rough is None or k > SHORT or self._exponent or not -EXACT_FLOATS <= self.centre <= EXACT_FLOATS:
            return None
        if np.minimum.reduce(words) < PLAIN or np.maximum.reduce(words) >= (1 << 64) - PLAIN:
            return None
        z = np.subtract(self.values, self.centre, dtype=np.float64)
        z *= self._factor
        z += rough(words)
        best, finishes = highest(z, self.k)
        for one, other in pairwise(finishes):
            error = 4 * ROUGH + 2.0**-47 * (abs(one) + abs(other)) if other > -math.inf else 0.0
            if not one - other > error:
                return None
        return np.array(best)

    def noisy_score(self, index: int, word: int, level: int, source: Bits) -> NoisyScore:
        """The same finish as an exact, lazily drawn number."""
        position = (Fraction(self.values[index].item()) - Fraction(self.centre)) / self.scale
        return NoisyScore(position, Draw(self.noise, word, 64 + level, source))


def _inverse(scale: Fraction) -> tuple[float, int]:
    """(factor, exponent): 1 / scale = factor * 2^exponent to 53 bits. The exponent is 0 unless the scale is extreme."""
    above, below = scale.as_integer_ratio()
    exponent = below.bit_length() - above.bit_length() + 1
    if abs(exponent) < 900:
        return below / above, 0
    return float(1 / (scale * Fraction(2) ** exponent)), exponent


def _subtract(items: Values, centre: int | float) -> tuple[Floats, Indices | int]:
    """(difference, doublings): items - centre = difference * 2^doublings to 52 bits, without overflow."""
    if items.dtype.kind == "f":
        x = items.astype(np.float64, copy=False)
        with np.errstate(over="ignore"):
            difference = x - centre
        lost = np.isinf(difference)
        if not lost.any():
            return difference, 0
        return np.where(lost, x / 2 - centre / 2, difference), lost.astype(np.int64)
    whole = items.astype(np.int64, copy=False)
    exact = whole - np.int64(centre)
    if not len(whole) or (whole.min().item() - centre >= -(2**63) and whole.max().item() - centre < 2**63):
        return exact.astype(np.float64), 0
    lost = ((whole ^ np.int64(centre)) & (whole ^ exact)) < 0  # the difference left 64 bits
    return np.where(lost, whole.astype(np.float64) - float(centre), exact.astype(np.float64)), 0


def kth_largest(values: Values, k: int) -> int | float:
    """The centre that keeps rounding harmless: a score far above it can then win only by itself."""
    d = len(values)
    if k == 1:
        top: int | float = np.maximum.reduce(values).item()
        return top
    parted = values.copy()
    parted.partition(d - k)
    kth: int | float = parted.item(d - k)
    return kth


def highest(z: Floats, k: int) -> tuple[list[int], list[float]]:
    """(where the k largest stand, the k + 1 largest, or all if there are no more), falling."""
    if k == 1:
        top = int(z.argmax())
        one, z[top] = float(z[top]), -np.inf
        return [top], [one, float(np.maximum.reduce(z))]
    wanted = min(k + 1, len(z))
    places = z.argpartition(len(z) - wanted)[len(z) - wanted :]
    best = sorted(zip(z[places].tolist(), places.tolist(), strict=True), reverse=True)
    return [place for _, place in best[:k]], [one for one, _ in best]


def clear_order(low: Floats, high: Floats, k: int) -> Indices | None:
    """The same as `ranking` where the intervals alone tell, which is nearly always; None where they do not."""
    if k == 1:
        order = np.array([low.argmax()])
    else:
        order = low.argpartition(len(low) - k)[len(low) - k :]
        order = order[(-low[order]).argsort()]
    below = high.copy()
    below[order] = -np.inf
    least, most = low[order], high[order]
    if not least[-1] > below.max() or (k > 1 and not (least[:-1] > most[1:]).all()):
        return None
    return order


def ranking(low: Floats, high: Floats, k: int, exact: Callable[[int], NoisyScore]) -> Indices:
    """The positions of the k highest finishes, best first.

    Candidates are cut into runs whose intervals are separated from all others; a run of several is sorted
    exactly. `exact(i)` gives the lazily drawn number behind interval i, the same one each time.
    """
    bar = np.partition(low, len(low) - k)[len(low) - k]
    order = np.flatnonzero((high >= bar) & (high > -np.inf))
    order = order[np.argsort(-high[order], kind="stable")]
    apart = np.minimum.accumulate(low[order]) > np.append(high[order][1:], -np.inf)
    apart[-1:] = True
    ends = np.flatnonzero(apart) + 1
    starts = np.append(0, ends[:-1])

    def lower(i: int, j: int) -> int:
        return compare(exact(j), exact(i))

    by_finish = cmp_to_key(lower)
    for run in np.flatnonzero((ends - starts > 1) & (starts < k)):
        members = slice(starts[run], ends[run])
        order[members] = sorted(order[members].tolist(), key=by_finish)
    return order[:k]
