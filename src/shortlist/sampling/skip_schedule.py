"""Planning a skip: maxima, the centre, the threshold, and the levels. Nothing here draws.

The plan is a function of the scores alone, so that a poor plan costs time and never exactness. One plan
serves any number of independent draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shortlist._arrays import Indices, Values
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.score_intervals import Contest, kth_largest
from shortlist.sampling.skip_levels import ByLevel, histogram, whole_levels
from shortlist.sampling.skip_threshold import GRID, choose_threshold, nearly_enough, passing, raised
from shortlist.sampling.skipping import SkipPlan

OPEN_BLOCK, OPEN_RUN, OPEN_SMALL = 10, 5, 0
"""Blocks at this level or below are tested run by run, runs small block by small block, and these one by one.

A test costs about as much as a hit. The maxima of runs are known; those of small blocks are read first.
"""

RUN, SMALL = 512, 32
"""So many scores are in a run, and in a small block."""

COPIED = 1 << 16
"""So many scores of opened runs are copied at a time."""

MANY = 1 << 13
"""So many hits are paid for without a second look at the threshold."""


def make_plan(
    values: Values, k: int, scale: Fraction, noise: Noise, block: int, threshold: float | None = None
) -> SkipPlan:
    """The plan of one contest. `threshold` overrides the choice, for tests that force the rare paths."""
    maxima = Maxima.of(values, block)
    layout, centre = None, kth_largest(np.append(maxima.tops, values[maxima.rest :]), k)
    if centre > -math.inf:
        layout = Layout.of(Contest(values, k, scale, noise, centre), maxima, threshold)
    if layout is None or layout.is_crowded():
        centre = _kth_largest(values, maxima.peaks, maxima.run, k)
        layout = Layout.of(Contest(values, k, scale, noise, centre), maxima, threshold)
    return layout.plan()


def plan_of_all(values: Values, k: int, scale: Fraction, noise: Noise, threshold: float | None = None) -> SkipPlan:
    """The plan of a contest in which every candidate has a level of its own, for many draws; `threshold` as above."""
    contest = Contest(values, k, scale, noise, kth_largest(values, k))
    heights = contest.positions(values)
    if threshold is None:
        threshold, chance = passing(noise, k)
        crowd = np.convolve(histogram(heights + 0.25), chance, "valid")  # heights to the nearest half
        threshold = max([threshold, *GRID[crowd >= nearly_enough(k)].tolist()])
    one_by_one = ByLevel.of_levels(whole_levels(noise, heights, threshold))
    return SkipPlan(contest, threshold, tuple(one_by_one.batches(above=-1)))


@dataclass(frozen=True, slots=True)
class Maxima:
    """The largest score of each block and of each run."""

    block: int
    run: int
    """So many scores are in each; a block is a number of runs."""
    tops: Values
    """Of blocks."""
    peaks: Values
    """Of runs."""

    @classmethod
    def of(cls, values: Values, block: int) -> Maxima:
        run = min(block, RUN)
        peaks = block_maxima(values, run)
        return cls(block, run, peaks if block == run else block_maxima(peaks, block // run), peaks)

    @property
    def rest(self) -> int:
        """From here on there is no whole block."""
        return len(self.tops) * self.block

    def blocks(self, contest: Contest, threshold: float) -> ByLevel:
        """All blocks."""
        return ByLevel.of(contest, self.tops, threshold, np.arange(len(self.tops)) * self.block, self.block)

    def runs(self, contest: Contest, threshold: float, opened: Indices) -> ByLevel:
        """The runs of these blocks."""
        near = ((opened // self.run)[:, None] + np.arange(self.block // self.run)).ravel()
        return ByLevel.of(contest, self.peaks[near], threshold, near * self.run, self.run)

    def small(self, contest: Contest, threshold: float, opened: Indices) -> ByLevel:
        """The small blocks of these runs: every `run // SMALL`-th score of a run."""
        stride = self.run // SMALL
        largest = _column_maxima(contest.values, self.run, opened // self.run)
        starts = (opened[:, None] + np.arange(stride)).ravel()
        return ByLevel.of(contest, largest, threshold, starts, SMALL, stride)


@dataclass(frozen=True, slots=True)
class Layout:
    """The levels of blocks against a threshold, and of the parts of those that stand near it or above."""

    contest: Contest
    threshold: float
    blocks: ByLevel
    runs: ByLevel | None = None
    """Of blocks that are tested run by run; None if there are none."""
    small: ByLevel | None = None
    """Of runs that are tested part by part."""

    @classmethod
    def of(cls, contest: Contest, maxima: Maxima, threshold: float | None = None) -> Layout:
        """Against this threshold, or against one that fits the scores."""
        chosen = choose_threshold(contest, maxima.tops) if threshold is None else threshold
        blocks = maxima.blocks(contest, chosen)
        if threshold is None and blocks.hits(OPEN_RUN) >= MANY:
            chosen = raised(contest, maxima.peaks, maxima.run, chosen)
            blocks = maxima.blocks(contest, chosen)
        opened = blocks.up_to(OPEN_BLOCK)
        if not len(opened):
            return cls(contest, chosen, blocks)
        runs = maxima.runs(contest, chosen, opened)
        opened = runs.up_to(OPEN_RUN)
        return cls(contest, chosen, blocks, runs, maxima.small(contest, chosen, opened) if len(opened) else None)

    def is_crowded(self) -> bool:
        """Whether the best scores crowd into few blocks, so that the centre lies far below the k-th of them."""
        return self.small is not None and self.small.high >= 2 * self.contest.k

    def plan(self) -> SkipPlan:
        """Every candidate in a group of its own level, its small block's, its run's or its block's."""
        contest, rest = self.contest, len(self.blocks.starts) * self.blocks.length
        batches, singles = [*self.blocks.batches(above=OPEN_BLOCK)], np.arange(rest, len(contest.values))
        if self.runs is not None:
            batches += self.runs.batches(above=OPEN_RUN)
        if self.small is not None:
            batches += self.small.batches(above=OPEN_SMALL)
            opened = self.small.up_to(OPEN_SMALL)[:, None] + np.arange(SMALL) * self.small.stride
            singles = np.append(opened.ravel(), singles)
        if len(singles):
            one_by_one = ByLevel.of(contest, contest.values[singles], self.threshold, singles, 1)
            batches += one_by_one.batches(above=-1)
        return SkipPlan(contest, self.threshold, tuple(batches))


def block_maxima(values: Values, block: int) -> Values:
    """The maximum of each whole block, which `reduceat` finds in about half the time of `max(axis=1)`."""
    whole = len(values) // block * block
    largest: Values = np.maximum.reduceat(values[:whole], np.arange(0, whole, block))
    return largest


def _column_maxima(values: Values, run: int, hot: Indices) -> Values:
    """The maximum of each column of these runs, as rows of `run // SMALL`: that is faster than short rows are.

    A few runs at a time, so that what is copied stays small and near.
    """
    columns, whole = run // SMALL, len(values) // run
    runs = values[: whole * run].reshape(whole, SMALL, columns)
    some = max(1, COPIED // run)
    parts = [runs[hot[i : i + some]].max(axis=1).ravel() for i in range(0, len(hot), some)]
    return np.concatenate(parts) if parts else np.empty(0, runs.dtype)


def block_size(d: int, k: int) -> int | None:
    """At least 16 k blocks of 32 to 1024 scores, or 32 k larger ones; None where drawing in full is as fast."""
    for block in (4096, 2048):
        if d >= 32 * k * block:
            return block
    for block in (1024, 512, 256, 128, 64, SMALL):
        if d >= 16 * k * block:
            return block
    return None


def _kth_largest(values: Values, peaks: Values, run: int, k: int) -> int | float:
    """The k-th largest score. It stands in the rest or in one of the k runs with the largest maxima."""
    best = np.argpartition(peaks, len(peaks) - k)[len(peaks) - k :]
    runs, top = values[: len(peaks) * run].reshape(-1, run), values[len(peaks) * run :]
    some = max(1, COPIED // run)
    for i in range(0, k, some):
        scores = np.append(top, runs[best[i : i + some]])
        top = np.partition(scores, len(scores) - k)[len(scores) - k :] if len(scores) > k else scores
    return kth_largest(top, k)
