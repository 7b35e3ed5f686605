"""Planning a skip of integers of 8 or 16 bits, which are read so fast that all else counts. Nothing here draws.

Either none of them is read, or one pass finds the largest of each column of 64. Then all share one level, but for the
columns that stand too high for it: these are opened, and tested at levels of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shortlist._arrays import Floats, Indices, Values
from shortlist._scan import BINS, TALL, Opened
from shortlist._scan_columns import WIDE, block_columns, open_columns
from shortlist.exact.noise_distributions import LN2, SHIFTS, Noise
from shortlist.exact.score_intervals import Contest, kth_largest
from shortlist.sampling.skip_levels import LEVEL_SLACK, levels, round_down, rule_of
from shortlist.sampling.skip_threshold import WHOLE, choose_threshold, enough, sampled
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


def column_plan(
    values: Values, k: int, scale: Fraction, noise: Noise, threshold: float | None = None
) -> SkipPlan | None:
    """The plan by the largest scores of columns; None where it does not fit. `threshold` as above."""
    if not is_short(values) or len(values) < BLOCKS * k * TALL * (WIDE // values.itemsize) or noise.decay not in SHIFTS:
        return None
    maxima = Maxima.of(values)
    contest = Contest(values, k, scale, noise, kth_largest(maxima.tops, k))
    if contest.factor is None:
        return None
    layout = Layout.of(contest, maxima, threshold, 2 * k)
    if layout is None:  # the best crowd into few blocks: the centre is far below them
        contest = Contest(values, k, scale, noise, maxima.kth_largest(values, k))
        layout = Layout.of(contest, maxima, threshold, len(values))
    assert layout is not None
    return layout.plan(contest, maxima)


@dataclass(frozen=True, slots=True)
class Maxima:
    """The largest score of each column and of each block, in which so many columns stand side by side."""

    columns: Values
    tops: Values
    width: int

    @classmethod
    def of(cls, values: Values) -> Maxima:
        width = WIDE // values.itemsize
        compiled = block_columns(values)
        if compiled is None:
            whole = len(values) // (TALL * width)
            columns = values[: whole * TALL * width].reshape(whole, TALL, width).max(axis=1)
            compiled = columns.ravel(), columns.max(axis=1)
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
    opened: Opened
    cut: int
    """These are at or above this score; whoever is below it may be tested at the level that all others share."""
    counts: list[int]
    """How many have so many cuts above them: the last cut is that of the level which all others share."""
    starts: Indices
    """Where they start, in that order."""

    @classmethod
    def of(cls, contest: Contest, maxima: Maxima, threshold: float | None, crowd: int) -> Layout | None:
        """Against this threshold, or one that fits the scores; None if so many columns are above the centre."""
        chosen = choose_threshold(contest, maxima.tops) if threshold is None else threshold
        wanted, rule = enough(contest.k) * WHOLE if threshold is None else 0.0, rule_of(contest, chosen)
        assert rule is not None
        rule.rounded = _ROUNDED_AT
        chance, scale = sampled(len(contest.values), contest.noise).chance, float(contest.scale)
        compiled = open_columns(maxima.columns, maxima.tops, rule, scale, crowd, chance, wanted)
        if compiled is not None:
            return None if compiled == "crowded" else cls(*compiled)
        if int(_at_least(maxima.columns, _scores(contest, np.ceil([scale])))[0]) >= crowd:
            return None
        cuts, trials = level_cuts(contest, chosen), maxima.rest
        lower, cost = cheapest(_at_least(maxima.tops, cuts), trials, maxima.block, maxima.width)
        if threshold is None and cost >= HIT * MANY:
            chosen = raised(contest, maxima, chosen, chance)
            cuts = level_cuts(contest, chosen)
            lower, _ = cheapest(_at_least(maxima.columns, cuts), trials, TALL, 1)
        above = np.zeros(len(maxima.columns), np.int8)
        for cut in cuts[:lower].tolist():
            above += maxima.columns < cut
        opened = np.flatnonzero(above < lower)
        by = opened[np.argsort(above[opened], kind="stable")]
        starts = by // maxima.width * maxima.block + by % maxima.width
        counts = np.bincount(above[opened], minlength=lower).tolist()
        return cls(chosen, Opened(above, lower, maxima.width), int(cuts[lower - 1]), counts, starts)

    def plan(self, contest: Contest, maxima: Maxima) -> SkipPlan:
        """Opened columns at their own levels, everybody else at one; what is no whole block at that one, or in full."""
        lower, trials, start = self.opened.cuts, maxima.rest, 0
        batches = [Batch(OWN_LEVELS[lower].item(), trials, np.zeros(1, np.int64), opened=self.opened)]
        for level, count in zip(OWN_LEVELS[:lower].tolist(), self.counts, strict=True):
            if count:
                batches.append(Batch(level, TALL, self.starts[start : start + count], maxima.width))
            start += count
        rest = contest.values[trials:]
        if len(rest):
            level = batches[0].level if rest.max() < self.cut else 0
            batches.append(Batch(level, len(rest), np.array([trials])))
        return SkipPlan(contest, self.threshold, tuple(batches))


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


def raised(contest: Contest, maxima: Maxima, threshold: float, chance: Indices) -> float:
    """The highest threshold, in half units, that enough columns will pass by their largest scores alone, surely."""
    heights = threshold + np.arange(-BELOW, ABOVE) / 2
    reach = _at_least(maxima.columns, _scores(contest, np.ceil(heights * float(contest.scale))))
    held, last = reach - np.append(reach[1:], 0), BINS - 1 + BELOW
    passed = np.convolve(held, chance[last - len(held) + 1 : last + HIGHER + 1], "valid").astype(np.float64)
    return threshold + int(np.max(np.flatnonzero(passed >= enough(contest.k) * WHOLE), initial=0)) / 2


def _at_least(scores: Values, cuts: Indices) -> Indices:
    return np.array([np.count_nonzero(scores >= cut) for cut in cuts.tolist()])
