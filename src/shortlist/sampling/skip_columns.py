"""Planning a skip of integers of 8 or 16 bits, which are read so fast that all else counts. Nothing here draws.

Either none of them is read, or one pass finds the largest of each column of 64. Then all share one level, but for the
columns that stand too high for it: these are opened, and tested at levels of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Values
from shortlist._scan import FINE, TALL, Sampled
from shortlist._scan_columns import WIDE, block_columns, open_columns
from shortlist.exact.noise_distributions import LN2, SHIFTS, Noise
from shortlist.exact.score_intervals import Contest, kth_largest
from shortlist.sampling.skip_levels import LEVEL_SLACK, levels, round_down, rule_of
from shortlist.sampling.skip_threshold import WHOLE, choose_threshold, enough, passing, sampled
from shortlist.sampling.skipping import Batch, SkipPlan

NARROW, UNREAD = 50, 11
"""Scores of a type that spans at most so many units of noise are not read, if all of them are at this level or above:
then the hits cost less than a reading does."""

BLOCKS = 32
"""There are at least so many blocks for each winner."""

OWN_LEVELS = np.array([*range(15), 16, 20, 26, 40])
_ROUNDED = round_down(OWN_LEVELS)
_ROUNDED_AT = _ROUNDED.ctypes.data

HIT = 4.0
"""A hit costs as much as so many columns that are opened."""
MANY = 1 << 13
"""So many hits, or columns for them, are paid for without a second look at the threshold."""

BELOW, ABOVE, HIGHER = 16, 8, 8
"""Half units around a threshold in which columns are counted, and by how many it may be raised."""
SPARSE, BANDS = 16, 4
"""One in so many blocks tells roughly how far that is; then so many half units are looked at below what is opened."""


def is_short(values: Values) -> bool:
    """Whether these are integers of 8 or 16 bits."""
    return values.itemsize <= 2 and values.dtype.kind in "iu"


def unread_plan(
    values: Values, k: int, scale: Fraction, noise: Noise, threshold: float | None = None
) -> SkipPlan | None:
    """The plan in which all scores count as the largest number of their type: it reads a fixed sample of them alone.

    None where that costs more than reading them: only of integers of 8 or 16 bits, under wide noise, it may cost less.
    `threshold` overrides the choice, for tests that force the rare paths.
    """
    if not is_short(values) or (256**values.itemsize - 1) * scale.denominator > NARROW * scale.numerator:
        return None
    contest = Contest(values, k, scale, noise, np.iinfo(values.dtype).max)
    chosen = choose_threshold(contest, values[:0]) if threshold is None else threshold
    level = int(levels(noise, np.zeros(1), chosen)[0])
    if level < UNREAD and threshold is None:
        return None
    return SkipPlan(contest, chosen, (Batch(level, len(values), np.zeros(1, np.int64)),))


def open_plan(
    values: Values, k: int, scale: Fraction, noise: Noise, threshold: float | None = None
) -> tuple[Contest, Maxima, Layout] | None:
    """What a plan by the largest scores of columns is made of; None where it does not fit. `threshold` as above."""
    if not is_short(values) or len(values) < BLOCKS * k * TALL * (WIDE // values.itemsize) or noise.decay not in SHIFTS:
        return None
    maxima = Maxima.of(values, k)
    contest = Contest(values, k, scale, noise, maxima.centre)
    if contest.factor is None:
        return None
    layout = Layout.of(contest, maxima, threshold, 2 * k)
    if layout is None:  # the best crowd into few blocks: the centre is far below them
        contest = Contest(values, k, scale, noise, maxima.kth_largest(values, k))
        layout = Layout.of(contest, maxima, threshold, len(values))
    assert layout is not None
    return contest, maxima, layout


@dataclass(frozen=True, slots=True)
class Maxima:
    """The largest score of each column and of each block, in which so many columns stand side by side."""

    columns: Values
    tops: Values
    centre: int | float
    """The k-th largest of blocks."""
    width: int

    @classmethod
    def of(cls, values: Values, k: int) -> Maxima:
        width = WIDE // values.itemsize
        compiled = block_columns(values, k)
        if compiled is None:
            whole = len(values) // (TALL * width)
            columns = values[: whole * TALL * width].reshape(whole, TALL, width).max(axis=1)
            tops = columns.max(axis=1)
            return cls(columns.ravel(), tops, kth_largest(tops, k), width)
        return cls(*compiled, width)

    @property
    def block(self) -> int:
        """So many scores are in a block."""
        return TALL * self.width

    @property
    def rest(self) -> int:
        """From here on there is no whole block."""
        return len(self.tops) * self.block

    def kth_largest(self, values: Values, k: int) -> int | float:
        """The k-th largest score. It stands in the rest or in one of the k blocks with the largest maxima."""
        best = np.argpartition(self.tops, len(self.tops) - k)[len(self.tops) - k :]
        high = values[: self.rest].reshape(-1, self.block)[best]
        return kth_largest(np.append(high.ravel(), values[self.rest :]), k)


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns are opened, against a threshold."""

    threshold: float
    cut: int
    """These are at or above this score; whoever is below it may be tested at the level that all others share."""
    counts: list[int]
    """How many have so many cuts above them: the last cut is that of the level which all others share."""
    opened: NDArray[np.int32]
    """Which ones, in that order."""

    @classmethod
    def of(cls, contest: Contest, maxima: Maxima, threshold: float | None, crowd: int) -> Layout | None:
        """Against this threshold, or one that fits the scores; None if so many columns are above the centre."""
        rule, scale, sample = rule_of(contest, threshold or 0.0), float(contest.scale), _sample(contest)
        assert rule is not None
        rule.rounded = _ROUNDED_AT
        wanted, surely = enough(contest.k) * WHOLE if threshold is None else 0.0, passing(contest.noise, contest.k)[0]
        both = maxima.columns, maxima.tops
        compiled = open_columns(contest.values, both, rule, scale, crowd, sample, wanted, surely, HIT * MANY)
        if compiled is not None:
            return None if compiled == "crowded" else cls(*compiled)
        if int(_at_least(maxima.columns, _scores(contest, np.ceil([scale])))[0]) >= crowd:
            return None
        chosen = choose_threshold(contest, maxima.tops) if threshold is None else threshold
        cuts, trials = level_cuts(contest, chosen), maxima.rest
        lower, cost = cheapest(_at_least(maxima.tops, cuts), trials, maxima.block, maxima.width)
        if threshold is None and cost >= HIT * MANY:
            least = listed_from(contest, maxima, chosen)
            chosen = raised(contest, maxima.columns, least, chosen)
            cuts = level_cuts(contest, chosen)
            cuts = cuts[: max(1, np.count_nonzero(cuts >= least))]
            lower, _ = cheapest(_at_least(maxima.columns, cuts), trials, TALL, 1)
        above = np.zeros(len(maxima.columns), np.int8)
        for cut in cuts[:lower].tolist():
            above += maxima.columns < cut
        opened = np.flatnonzero(above < lower)
        by = opened[np.argsort(above[opened], kind="stable")].astype(np.int32)
        return cls(chosen, int(cuts[lower - 1]), np.bincount(above[opened], minlength=lower).tolist(), by)


def level_cuts(contest: Contest, threshold: float) -> Indices:
    """For each level but the first: whoever is below this score may be tested at it (Theorem 45).

    That is P(N > threshold - height) <= 2^-level, by a margin of LEVEL_SLACK beyond every float error.
    """
    tail = SHIFTS[contest.noise.decay]
    decay = (OWN_LEVELS[1:] + LEVEL_SLACK) * (LN2 / (1 - LEVEL_SLACK))
    heights = threshold + tail - decay - LEVEL_SLACK * (3 + 2 * abs(threshold) + abs(tail) + decay)
    return _scores(contest, np.floor(heights * float(contest.scale)) + 1)


def _scores(contest: Contest, beyond: Floats) -> Indices:
    """Scores that are so far from the centre, in whole numbers; at most one more than the largest of the type."""
    bounds, centre = np.iinfo(contest.values.dtype), int(contest.centre)
    scores: Indices = np.clip(beyond, bounds.min - centre, bounds.max + 1 - centre).astype(np.int64) + centre
    return scores


def cheapest(above: Indices, trials: int, size: int, parts: int) -> tuple[int, float]:
    """(which level all share that are not opened, what that costs, about), if so many groups stand above each cut.

    A group has that size, and opens into so many columns.
    """
    best, least, opened, before = 0, math.inf, 0.0, 0
    for place, reach in enumerate(above.tolist()):
        level, lower = OWN_LEVELS[place + 1].item(), OWN_LEVELS[place].item()
        opened += (reach - before) * (parts + size * HIT * 2.0**-lower)
        before, cost = reach, opened + HIT * trials * 2.0**-level
        if cost < least:
            best, least = place + 1, cost
    return best, least


def listed_from(contest: Contest, maxima: Maxima, threshold: float) -> int:
    """From which score on columns are looked at, were the threshold as high as a sample of the blocks says."""
    some, scale = maxima.columns.reshape(-1, maxima.width)[::SPARSE].ravel(), float(contest.scale)
    around, higher = np.arange(-BELOW, ABOVE), np.arange(1, HIGHER + 1)
    reach = _at_least(some, _scores(contest, np.ceil((threshold + around / 2) * scale)))
    chance = _sample(contest).fine[2 * FINE + 8 * (higher[:, None] - around)]
    passed = SPARSE * (chance @ (reach - np.append(reach[1:], 0))).astype(np.float64)
    more = int(np.max(higher[passed >= enough(contest.k) * WHOLE], initial=0))
    cuts = level_cuts(contest, threshold + more / 2)
    return int(cuts[cheapest(_at_least(some, cuts), len(some) * TALL, TALL, 1)[0] - 1])


def raised(contest: Contest, columns: Values, least: int, threshold: float) -> float:
    """The highest threshold, in sixteenths, that enough columns will pass by their largest scores alone, surely.

    Those at or above `least` count as what they are, those in some half units below it as the least that they can be.
    """
    half = math.ceil(min(float(contest.scale), 2**17) / 2)
    bands = np.maximum(least - half * np.arange(1, BANDS + 1), np.iinfo(columns.dtype).min)
    high, reach = columns[columns >= least], _at_least(columns, bands)
    held = np.bincount(_fine_places(contest, high), minlength=2 * FINE + 1)
    np.add.at(held, _fine_places(contest, bands), np.diff(reach, prepend=len(high)))
    start = math.floor(16 * threshold)
    higher = np.arange(start + 1, start + 1 + 8 * HIGHER)
    chance = _sample(contest).fine[3 * FINE + higher[:, None] - np.arange(len(held))]
    passed = (chance @ held).astype(np.float64)
    return max(threshold, float(np.max(higher[passed >= enough(contest.k) * WHOLE] / 16, initial=threshold)))


def _fine_places(contest: Contest, scores: Values) -> Indices:
    """The heights of these scores in sixteenths from -50 on, rounded so that none is too large; 0 below that."""
    inverse = contest.factor
    assert inverse is not None
    reach, factor = math.floor(min(50 / inverse, 2**17)), math.floor(min(2**24 * inverse, 2**30))
    far = scores.astype(np.int64) - int(contest.centre)
    near = np.clip(far, -reach, reach)
    return np.where(far < -reach, 0, (near * (factor + (near < 0)) >> 20) + FINE)


def _sample(contest: Contest) -> Sampled:
    return sampled(len(contest.values), contest.noise)


def _at_least(scores: Values, cuts: Indices) -> Indices:
    return np.array([np.count_nonzero(scores >= cut) for cut in cuts.tolist()])
