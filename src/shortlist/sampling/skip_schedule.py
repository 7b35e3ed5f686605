"""Planning a skip: block maxima, the centre, the threshold, and the levels. Nothing here draws.

The plan is a function of the scores alone, so that a poor plan costs time and never exactness. One plan
serves any number of independent draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Values
from shortlist._scan import RUN, Rule, column_maxima, height_counts, run_maxima, score_levels, sorted_by_level
from shortlist.exact.noise_distributions import LN2, SHIFTS, Noise
from shortlist.exact.score_intervals import Contest, kth_largest
from shortlist.sampling.skipping import LEVELS, Batch, SkipPlan

OPEN = 5
"""Blocks at this level or below are opened, first into small blocks, then into candidates."""

SMALL = 32

COPIED = 1 << 16
"""So many scores of opened blocks are copied at a time."""

LOOKED = 32
"""So many high blocks are looked into before many hits are paid for."""
HIGHER = 24
"""How many thresholds above are tried then, half a unit from one to the next."""
MANY = 1 << 14
"""So many hits, or as many scores in opened blocks times 32, are paid for without a look."""

LEVEL_SLACK = 2.0**-30
"""By how much levels are rounded down beyond every float error: it costs nothing."""

_ROUND_DOWN = LEVELS[np.searchsorted(LEVELS, np.arange(LEVELS[-1] + 1), side="right") - 1].astype(np.int8)


def make_plan(
    values: Values,
    k: int,
    scale: Fraction,
    noise: Noise,
    block: int,
    threshold: float | None = None,
    seen: Values | None = None,
) -> SkipPlan:
    """The plan of one contest. `threshold` overrides the choice, for tests that force the rare paths.

    `seen` are the maxima of runs of `RUN` scores, where a look at the same scores has found them.
    """
    whole = len(values) // block
    peaks = block_maxima(values, block, seen)

    def seen_from(centre: int | float) -> Layout:
        contest = Contest(values, k, scale, noise, centre)
        heights = contest.positions(peaks)
        if threshold is not None:
            return Layout.of(contest, heights, block, threshold)
        chosen = choose_threshold(contest, heights)
        return Layout.of(contest, heights, block, raised(contest, heights, block, chosen))

    centre = kth_largest(np.append(peaks, values[whole * block :]), k)
    layout = seen_from(centre) if centre > -math.inf else None
    if layout is None or layout.is_crowded():
        layout = seen_from(_kth_largest(values, peaks, block, k))
    return layout.plan()


def plan_of_all(values: Values, k: int, scale: Fraction, noise: Noise, threshold: float | None = None) -> SkipPlan:
    """The plan of a contest in which every candidate has a level of its own, for many draws; `threshold` as above."""
    contest = Contest(values, k, scale, noise, kth_largest(values, k))
    heights = contest.positions(values)
    if threshold is None:
        threshold, chance = _passing(noise, k)
        passing = np.convolve(_histogram(heights + 0.25), chance, "valid")  # heights to the nearest half
        threshold = max([threshold, *_GRID[passing >= _enough(k)].tolist()])
    level = whole_levels(noise, heights, threshold)
    return SkipPlan(contest, threshold, tuple(_by_level(np.arange(len(values)), 1, level, above=-1)))


@dataclass(frozen=True, slots=True)
class Layout:
    """The levels of blocks against a threshold, and the small blocks of those that stand near it or above."""

    contest: Contest
    threshold: float
    block: int
    level: NDArray[np.int8]
    """Of each block."""
    starts: Indices
    """Of the small blocks: every `block // SMALL`-th score of a block."""
    small_level: NDArray[np.int8]
    """Of each small block."""
    high: int
    """How many small blocks hold a score more than one unit above the centre."""

    @classmethod
    def of(cls, contest: Contest, heights: Floats, block: int, threshold: float) -> Layout:
        """`heights` are those of the block maxima."""
        level = levels(contest.noise, heights, threshold)
        hot = np.flatnonzero(level <= OPEN)
        starts = (hot[:, None] * block + np.arange(block // SMALL)).ravel()
        small_level, high = levels_of(contest, _column_maxima(contest.values, block, hot), threshold)
        return cls(contest, threshold, block, level, starts, small_level, high)

    def is_crowded(self) -> bool:
        """Whether the best scores crowd into few blocks, so that the centre lies far below the k-th of them."""
        return self.high >= self.contest.k

    def plan(self) -> SkipPlan:
        """Every candidate in a run of its own level, its small block's or its block's."""
        contest, whole = self.contest, len(self.level) * self.block
        stride = self.block // SMALL
        singles = (self.starts[self.small_level <= OPEN][:, None] + np.arange(SMALL) * stride).ravel()
        singles = np.append(singles, np.arange(whole, len(contest.values)))  # the rest is no whole block
        level, _ = levels_of(contest, contest.values, self.threshold, singles)
        return SkipPlan(
            contest,
            self.threshold,
            (
                *_by_level(np.arange(0, whole, self.block), self.block, self.level, above=OPEN),
                *_by_level(self.starts, SMALL, self.small_level, above=OPEN, stride=stride),
                *_by_level(singles, 1, level, above=-1),
            ),
        )


def block_maxima(values: Values, block: int, seen: Values | None = None) -> Values:
    """The maximum of each whole block; from those of shorter runs, where they were seen."""
    whole = len(values) // block
    if seen is not None and block % RUN == 0:
        runs = block // RUN
        maxima: Values = seen[: whole * runs].reshape(whole, runs).max(axis=1)
        return maxima
    compiled = run_maxima(values[: whole * block], block)
    return values[: whole * block].reshape(whole, block).max(axis=1) if compiled is None else compiled


def _column_maxima(values: Values, block: int, hot: Indices) -> Values:
    """The maximum of each column of these blocks, as rows of `block // SMALL`: that is faster than short rows are.

    A few blocks at a time, so that what is copied stays small and near.
    """
    columns, whole = block // SMALL, len(values) // block
    compiled = column_maxima(values, block, columns, hot)
    if compiled is not None:
        return compiled
    blocks = values[: whole * block].reshape(whole, SMALL, columns)
    some = max(1, COPIED // block)
    parts = [blocks[hot[i : i + some]].max(axis=1).ravel() for i in range(0, len(hot), some)]
    return np.concatenate(parts) if parts else np.empty(0, blocks.dtype)


def _by_level(starts: Indices, length: int, level: NDArray[np.int8], *, above: int, stride: int = 1) -> Iterator[Batch]:
    ordered, counts = sorted_by_level(starts, level) or (starts[np.argsort(level, kind="stable")], np.bincount(level))
    ends = np.cumsum(counts)
    for j in np.flatnonzero(counts):
        if j > above:
            yield Batch(int(j), length, ordered[ends[j] - counts[j] : ends[j]], stride)


def block_size(d: int, k: int) -> int | None:
    """At least 16 k blocks of 32 to 1024 scores, or 32 k larger ones; None where drawing in full is as fast."""
    for block in (4096, 2048):
        if d >= 32 * k * block:
            return block
    for block in (1024, 512, 256, 128, 64, SMALL):
        if d >= 16 * k * block:
            return block
    return None


def _kth_largest(values: Values, peaks: Values, block: int, k: int) -> int | float:
    """The k-th largest score. It stands in the rest or in one of the k blocks with the largest maxima."""
    best = np.argpartition(peaks, len(peaks) - k)[len(peaks) - k :]
    blocks, top = values[: len(peaks) * block].reshape(-1, block), values[len(peaks) * block :]
    some = max(1, COPIED // block)
    for i in range(0, k, some):
        scores = np.append(top, blocks[best[i : i + some]])
        top = np.partition(scores, len(scores) - k)[len(scores) - k :] if len(scores) > k else scores
    return kth_largest(top, k)


def levels(noise: Noise, heights: Floats, threshold: float) -> NDArray[np.int8]:
    """The largest j in LEVELS with P(height + N > threshold) <= 2^-j, rounded down with slack."""
    return _ROUND_DOWN[whole_levels(noise, heights, threshold)]


def whole_levels(noise: Noise, heights: Floats, threshold: float) -> NDArray[np.int8]:
    """The same for any whole j up to the last of LEVELS."""
    distance = threshold - heights
    decay = noise.decay(distance - LEVEL_SLACK * (1 + abs(threshold) + np.abs(heights)))
    bits = np.clip(decay * ((1 - LEVEL_SLACK) / LN2) - LEVEL_SLACK, 0, LEVELS[-1])
    return bits.astype(np.int8)


def levels_of(
    contest: Contest, items: Values, threshold: float, index: Indices | None = None
) -> tuple[NDArray[np.int8], int]:
    """The levels of these scores, or of those at `index`; and how many stand more than one unit above the centre."""
    rule = _rule(contest, threshold)
    compiled = None if rule is None else score_levels(items, index, rule, 1.0)
    if compiled is not None:
        return compiled
    heights = contest.positions(items if index is None else items[index])
    return levels(contest.noise, heights, threshold), int(np.count_nonzero(heights > 1.0))


def _rule(contest: Contest, threshold: float = 0.0) -> Rule | None:
    """What `levels` and `positions` compute, for the compiled passes; None where they compute more than that."""
    tail, factor = SHIFTS.get(contest.noise.decay), contest.factor
    if tail is None or factor is None:
        return None
    centre, whole = (contest.centre, 0) if contest.values.dtype.kind == "f" else (0.0, contest.centre)
    bits = (1 - LEVEL_SLACK) / LN2
    rounded = _ROUND_DOWN.ctypes.data
    return Rule(factor, threshold, tail, LEVEL_SLACK, bits, float(LEVELS[-1]), whole, centre, rounded)


def choose_threshold(contest: Contest, heights: Floats) -> float:
    """The highest threshold that, by what is known, more than enough candidates will pass.

    Known are the block maxima (a sure lower bound on how many pass) and a fixed sample of the scores, counted half.
    Heights and thresholds lie on one grid of half units, heights rounded down to it.
    """
    values, k, noise = contest.values, contest.k, contest.noise
    enough = _enough(k)
    sample = contest.positions(values[_scattered(len(values))])
    each = len(values) / len(sample)
    by_blocks, by_sample = _histogram(heights), _histogram(sample)
    surely_passed, chance = _passing(noise, k)
    blocks, some = np.convolve(by_blocks, chance, "valid"), np.convolve(by_sample, chance, "valid")
    broad = some**2 >= 32 * np.convolve(by_sample, chance**2, "valid")  # not by a few large scores in the sample
    crowded = np.flatnonzero((blocks >= enough) | (broad & (0.5 * each * some >= enough)))
    return float(max(surely_passed, _GRID[crowded[-1]])) if len(crowded) else surely_passed


def raised(contest: Contest, heights: Floats, block: int, threshold: float) -> float:
    """A higher threshold, where the highest blocks hold more than their maxima and a thin sample tell.

    That is looked at where the threshold would cost many hits or open many blocks: in LOOKED of the blocks that stand
    highest. What all of them hold is taken three standard errors lower than those say.
    """
    level = levels(contest.noise, heights, threshold)
    near = np.flatnonzero(level <= max(OPEN, int(level.min())))
    cost = block * float(np.exp2(-np.maximum(level, OPEN).astype(np.float64)).sum())
    if len(near) < 2 * LOOKED or cost < MANY:
        return threshold
    some = near[(np.arange(LOOKED) * 0.6180339887498949 % 1 * len(near)).astype(np.int64)]
    held = _held(contest, block, some)
    chance, reach = _passing(contest.noise, contest.k)[1], held.shape[1]
    higher = np.flatnonzero(threshold < _GRID)[:HIGHER]
    passing = held @ np.stack([chance[place : place + reach][::-1] for place in higher], axis=1)
    total = passing.sum(axis=0)
    with np.errstate(all="ignore"):
        error = np.sqrt(np.maximum((passing**2).sum(axis=0) / total**2 - 1 / LOOKED, 0.0))
    sure = 0.9 * (1 - 3 * error) * total * (len(near) / LOOKED)
    crowded = np.flatnonzero((error < 0.25) & (sure >= _enough(contest.k)))
    return float(_GRID[higher[crowded[-1]]]) if len(crowded) else threshold


def _held(contest: Contest, block: int, blocks: Indices) -> Floats:
    """How many scores of each of these blocks stand at each height."""
    rule = _rule(contest)
    compiled = None if rule is None else height_counts(contest.values, block, blocks, rule)
    if compiled is not None:
        return compiled
    whole = len(contest.values) // block
    scores = contest.values[: whole * block].reshape(whole, block)[blocks]
    return np.stack([_histogram(one) for one in contest.positions(scores.ravel()).reshape(len(blocks), block)])


_GRID = np.arange(-100, 91) / 2


def _enough(k: int) -> float:
    """So many are expected to pass, so that k do but for a small chance."""
    return k + 5 * math.sqrt(k) + 8


@lru_cache(maxsize=4)
def _scattered(d: int) -> Indices:
    """Some 2,048 positions, eight neighbours at a time, spread by the golden ratio: no period of the data fits it."""
    starts = np.arange(256) * 0.6180339887498949 % 1 * (d - 7)
    return (starts.astype(np.int64)[:, None] + np.arange(8)).ravel()


@lru_cache
def _passing(noise: Noise, k: int) -> tuple[float, Floats]:
    """(what k draws of noise all pass but for a chance of 1e-5, the chance to pass each distance)."""
    almost_one = np.array([2**64 - 1 - int(2.0**64 * 1e-5 / k)], np.uint64)
    distance = np.arange(-200, 191) / 2
    return float(noise.quantile(almost_one, 0)[0][0]), np.exp(noise.log_survival(distance))


def _histogram(heights: Floats) -> Floats:
    """How many stand at each height -50, -49.5, .., 50. Those below -50 are too low to matter."""
    bins = np.clip(np.floor(2 * heights) + 101, 0, 201).astype(np.int64)
    return np.bincount(bins, minlength=202)[1:].astype(np.float64)
