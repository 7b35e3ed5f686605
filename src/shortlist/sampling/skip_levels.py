"""How many leading zero bits a candidate needs to pass a threshold: its level. Nothing here draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Values
from shortlist.exact.noise_distributions import LN2, Noise
from shortlist.exact.score_intervals import Contest
from shortlist.sampling.skipping import Batch

LEVELS = np.array([0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 20, 26, 40])

LEVEL_SLACK = 2.0**-30
"""By how much levels are rounded down beyond every float error: it costs nothing."""

BINS = 201
"""Heights -50, -49.5, .., 50."""


def round_down(to: Indices) -> NDArray[np.int8]:
    """The largest of these levels that is not above j, for j = 0, 1, .. up to the last of them."""
    return to[np.searchsorted(to, np.arange(to[-1] + 1), side="right") - 1].astype(np.int8)


_ROUNDED = round_down(LEVELS)


def levels(noise: Noise, heights: Floats, threshold: float, rounded: NDArray[np.int8] = _ROUNDED) -> NDArray[np.int8]:
    """The largest j in LEVELS with P(height + N > threshold) <= 2^-j, rounded down with slack."""
    return rounded[whole_levels(noise, heights, threshold)]


def whole_levels(noise: Noise, heights: Floats, threshold: float) -> NDArray[np.int8]:
    """The same for any whole j up to the last of LEVELS."""
    distance = threshold - heights
    decay = noise.decay(distance - LEVEL_SLACK * (1 + abs(threshold) + np.abs(heights)))
    bits = np.clip(decay * ((1 - LEVEL_SLACK) / LN2) - LEVEL_SLACK, 0, LEVELS[-1])
    return bits.astype(np.int8)


@dataclass(frozen=True, slots=True)
class ByLevel:
    """Groups of candidates, all of one size and at one distance from each other, sorted by their levels."""

    starts: Indices
    counts: dict[int, int]
    """How many groups are at each level, where there are any; the levels rise."""
    length: int
    stride: int = 1
    high: int = 0
    """How many of them hold a score more than one unit above the centre."""

    @classmethod
    def of(
        cls, contest: Contest, largest: Values, threshold: float, starts: Indices, length: int, stride: int = 1
    ) -> ByLevel:
        """Of groups whose largest scores are these, and which start there."""
        heights = contest.positions(largest)
        level = levels(contest.noise, heights, threshold)
        return cls(*_sorted(starts, level), length, stride, int(np.count_nonzero(heights > 1.0)))

    @classmethod
    def of_levels(cls, level: NDArray[np.int8]) -> ByLevel:
        """Of candidates, one by one, at these levels."""
        return cls(*_sorted(np.arange(len(level)), level), 1)

    def up_to(self, level: int) -> Indices:
        """The groups at this level or below."""
        return self.starts[: sum(count for at, count in self.counts.items() if at <= level)]

    def hits(self, least: int) -> float:
        """How many candidates are hit, on the average, were all at this level or above it."""
        return self.length * sum(count * 2.0 ** -max(at, least) for at, count in self.counts.items())

    def batches(self, above: int) -> Iterator[Batch]:
        """Those above this level, one batch for each."""
        start = 0
        for level, count in self.counts.items():
            if level > above:
                yield Batch(level, self.length, self.starts[start : start + count], self.stride)
            start += count


def _sorted(starts: Indices, level: NDArray[np.int8]) -> tuple[Indices, dict[int, int]]:
    """(these, sorted by their levels; how many are at each level, where there are any)."""
    counts = {at: count for at, count in enumerate(np.bincount(level).tolist()) if count}
    return starts[np.argsort(level, kind="stable")], counts


def held(contest: Contest, scores: Values, size: int, groups: Indices) -> Indices:
    """How many of these scores stand at each height -50, -49.5, .., 50, in each of these groups of that size."""
    whole = len(scores) // size
    chosen = scores[: whole * size].reshape(whole, size)[groups]
    return np.stack([histogram(one) for one in contest.positions(chosen.ravel()).reshape(len(groups), size)])


def histogram(heights: Floats) -> Indices:
    """How many stand at each height -50, -49.5, .., 50. Those below -50 are too low to matter."""
    bins = np.clip(np.floor(2 * heights) + 101, 0, BINS).astype(np.int64)
    return np.bincount(bins, minlength=BINS + 1)[1:]
