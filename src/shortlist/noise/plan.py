"""Planning a skip: block maxima, the centre, the threshold, and the levels. Nothing here draws.

The plan is a function of the scores alone, so that a poor plan costs time and never exactness. One plan
serves any number of independent draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Values
from shortlist.noise.contest import Contest
from shortlist.noise.kinds import LN2, Noise
from shortlist.noise.skipping import LEVELS, Plan, Runs

OPEN = 5
"""Blocks at this level or below are opened, first into small blocks, then into candidates."""

SMALL = 32

SLACK = 2.0**-30
"""By how much levels are rounded down beyond every float error: it costs nothing."""

_ROUND_DOWN = LEVELS[np.searchsorted(LEVELS, np.arange(LEVELS[-1] + 1), side="right") - 1].astype(np.int8)


def make_plan(
    values: Values, k: int, scale: Fraction, noise: Noise, block: int, threshold: float | None = None
) -> Plan:
    """The plan of one contest. `threshold` overrides the choice, for tests that force the rare paths."""
    whole = len(values) // block
    blocks = values[: whole * block].reshape(whole, block)
    peaks: Values = blocks.max(axis=1)
    contest = Contest(values, k, scale, noise, _kth_largest(blocks, peaks, values[whole * block :], k))
    heights = contest.positions(peaks)
    return lay_out(contest, heights, block, choose_threshold(contest, heights) if threshold is None else threshold)


def lay_out(contest: Contest, heights: Floats, block: int, threshold: float) -> Plan:
    """The levels at which all candidates are tested against a threshold; `heights` are those of the block maxima."""
    values, noise, whole = contest.values, contest.noise, len(heights)
    blocks = values[: whole * block].reshape(whole, block)
    level = levels(noise, heights, threshold)
    hot = np.flatnonzero(level <= OPEN)
    small_peaks: Values = blocks[hot].reshape(-1, SMALL).max(axis=1)
    small_starts = (hot[:, None] * block + np.arange(0, block, SMALL)).ravel()
    small_level = levels(noise, contest.positions(small_peaks), threshold)
    singles = (small_starts[small_level <= OPEN][:, None] + np.arange(SMALL)).ravel()
    singles = np.append(singles, np.arange(whole * block, len(values)))  # the rest is no whole block
    single_level = levels(noise, contest.positions(values[singles]), threshold)
    return Plan(
        contest,
        threshold,
        (
            *_by_level(np.arange(0, whole * block, block), block, level, above=OPEN),
            *_by_level(small_starts, SMALL, small_level, above=OPEN),
            *_by_level(singles, 1, single_level, above=-1),
        ),
    )


def _by_level(starts: Indices, length: int, level: NDArray[np.int8], above: int) -> Iterator[Runs]:
    order = np.argsort(level, kind="stable")
    counts = np.bincount(level)
    ends = np.cumsum(counts)
    for j in np.flatnonzero(counts):
        if j > above:
            yield Runs(int(j), length, starts[order[ends[j] - counts[j] : ends[j]]])


def block_size(d: int, k: int) -> int | None:
    """A block of 32 to 2048 scores with at least 16 k blocks, or None where drawing in full is as fast."""
    if d >= 64 * k * 2048:
        return 2048
    for block in (1024, 512, 256, 128, 64, SMALL):
        if d >= 16 * k * block:
            return block
    return None


def _kth_largest(blocks: Values, peaks: Values, rest: Values, k: int) -> int | float:
    """The k-th largest score. It stands in the rest or in one of the k blocks with the largest maxima."""
    best = np.argpartition(peaks, len(peaks) - k)[len(peaks) - k :]
    inside, bar = blocks[best], peaks[best].min()
    top = np.append(inside[inside >= bar], rest[rest >= bar])
    kth: int | float = np.partition(top, len(top) - k)[len(top) - k].item()
    return kth


def levels(noise: Noise, heights: Floats, threshold: float) -> NDArray[np.int8]:
    """The largest j in LEVELS with P(height + N > threshold) <= 2^-j, rounded down with slack."""
    distance = threshold - heights
    decay = noise.decay(distance - SLACK * (1 + abs(threshold) + np.abs(heights)))
    bits = np.clip(decay * ((1 - SLACK) / LN2) - SLACK, 0, LEVELS[-1])
    return _ROUND_DOWN[bits.astype(np.int8)]


def choose_threshold(contest: Contest, heights: Floats) -> float:
    """The highest threshold that, by what is known, more than enough candidates will pass.

    Known are the block maxima (a sure lower bound on how many pass) and a fixed sample of the scores, counted half.
    Heights and thresholds lie on one grid of half units, heights rounded down to it.
    """
    values, k, noise = contest.values, contest.k, contest.noise
    enough = k + 5 * math.sqrt(k) + 8
    sample = contest.positions(values[_scattered(len(values))])
    each = len(values) / len(sample)
    by_blocks, by_sample = _histogram(heights), _histogram(sample) * (0.5 * each)
    if (by_sample @ _WEIGHT) ** 2 < 16 * each * (by_sample @ _WEIGHT**2):
        by_sample[:] = 0  # a few large scores dominate the sample: it says nothing about the rest
    surely_passed, chance = _passing(noise, k)
    passing = np.maximum(np.convolve(by_blocks, chance, "valid"), np.convolve(by_sample, chance, "valid"))
    crowded = np.flatnonzero(passing >= enough)
    return float(max(surely_passed, _GRID[crowded[-1]])) if len(crowded) else surely_passed


_GRID = np.arange(-100, 91) / 2
_WEIGHT = np.exp(np.minimum(np.arange(-100, 101) / 2, 0))


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
