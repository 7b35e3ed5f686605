"""One exact draw of which keys are named, and of their noisy sums: labels far below the bar cost nothing.

Labels of one score are alike, and a label is named with its noise's survival uniform U below a chance that its score
decides. Where that chance is at most 2^-j, the first j bits of U must be zero: such labels are found by geometric
skips, all labels of one j together (`sampling.skipping`). A label that is found keeps its bits, and its noisy sum is a
function of the same U, so that it is named or not, and its value rounded, exactly as the real number says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Values, Words
from shortlist._runtime import IMPORTS
from shortlist.exact.key_bars import KeyBar
from shortlist.exact.key_ranking import SteppedNoise
from shortlist.exact.noise_distributions import GAUSSIAN
from shortlist.exact.partial_reals import ball
from shortlist.exact.truncated_geometric import Geometric
from shortlist.sampling.additive import whole_sums
from shortlist.sampling.entropy import Source
from shortlist.sampling.skipping import levels, round_down, successes

if TYPE_CHECKING:
    from flint import arb


DEVIATIONS = 9.0
"""Normal noise is larger with probability e^-43."""


LEVELS = np.array([0, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 26, 40])
ROUNDED = round_down(LEVELS)
"""Names are tested at these levels."""


class KeyNoise(SteppedNoise, Protocol):
    """Noise of which the chances are known, and that can be drawn."""

    def levels(self, scores: Values) -> NDArray[np.int8]:
        """j with P[named] <= 2^-j, for each score."""
        ...

    def sums(self, scores: Indices, words: Words, level: Indices, source: Source) -> Indices:
        """Noisy sums, in steps, of survival uniforms that begin with `level` zeros and these words."""
        ...

    def chance(self, score: int) -> arb:
        """P[named], a ball at the working precision."""
        ...

    def chances(self, scores: Values) -> Floats:
        """P[named] in floats."""
        ...


@dataclass(frozen=True, slots=True)
class GaussianKeys:
    """Gaussian noise; a score of `unit` is one person."""

    bar: KeyBar
    unit: int

    @property
    def step(self) -> int:
        return self.bar.step

    def levels(self, scores: Values) -> NDArray[np.int8]:
        sigma = float(self.bar.sigma)
        return levels(GAUSSIAN, scores / (self.unit * sigma), float(self.bar.reach) / sigma, ROUNDED)

    def sums(self, scores: Indices, words: Words, level: Indices, source: Source) -> Indices:
        per, scale = 1 / (self.unit * self.bar.grid), self.bar.sigma / self.bar.grid
        return whole_sums(scores, per, scale, GAUSSIAN, words, level, source)

    def chance(self, score: int) -> arb:
        from flint import arb

        return (ball((self.bar.reach - Fraction(score, self.unit)) / self.bar.sigma) / arb(2).sqrt()).erfc() / 2

    def chances(self, scores: Values) -> Floats:
        with IMPORTS:
            from scipy.special import ndtr

        chances: Floats = ndtr((scores / self.unit - float(self.bar.reach)) / float(self.bar.sigma))
        return chances

    @property
    def smooth(self) -> float:
        return float(self.bar.sigma / self.bar.grid)

    @property
    def far(self) -> float:
        return DEVIATIONS * self.smooth + 1

    def places(self, scores: Values) -> Floats:
        places: Floats = np.asarray(scores, np.float64) / float(self.unit * self.bar.grid)
        return places

    def reaches(self, scores: Values, steps: Floats) -> Floats:
        with IMPORTS:
            from scipy.special import ndtr

        chances: Floats = ndtr((np.subtract.outer(self.places(scores), steps) + 0.5) / self.smooth)
        return chances


@dataclass(frozen=True, slots=True)
class GeometricKeys:
    """Geometric noise cut at K; a label is named if its noisy count is above K."""

    noise: Geometric

    @property
    def step(self) -> int:
        assert self.noise.reach is not None
        return self.noise.reach + 1

    def levels(self, scores: Values) -> NDArray[np.int8]:
        with np.errstate(divide="ignore"):
            bits = -np.log2(self.chances(scores) * (1 + 1e-9))
        return np.clip(np.floor(bits), 0, LEVELS[-1]).astype(np.int8)

    def sums(self, scores: Indices, words: Words, level: Indices, source: Source) -> Indices:
        return self.noise.sums(scores, words, level, source)

    def chance(self, score: int) -> arb:
        return self.noise.chance_at_least(self.step - score)

    def chances(self, scores: Values) -> Floats:
        return self.noise.survival(self.step - np.asarray(scores, np.float64))

    @property
    def smooth(self) -> float:
        return 0.0

    @property
    def far(self) -> float:
        return float(self.step)

    def places(self, scores: Values) -> Floats:
        return np.asarray(scores, np.float64)

    def reaches(self, scores: Values, steps: Floats) -> Floats:
        return self.noise.survival(np.subtract.outer(-self.places(scores), -steps))


@dataclass(frozen=True, slots=True)
class NamedKeys:
    """Which labels were named: of each the draw it belongs to, its position, and its noisy sum in steps."""

    draw: Indices
    position: Indices
    sums: Indices


def named_keys(scores: Values, sizes: Indices, noise: KeyNoise, source: Source, draws: int = 1) -> NamedKeys:
    """Independent draws from labels of these distinct scores, decreasing, so many of each; none at 0 or below."""
    there = int(np.count_nonzero(scores > 0))
    scores, ends = np.asarray(scores[:there]), np.cumsum(sizes[:there])
    level = noise.levels(scores).astype(np.int64)
    cuts = [*np.flatnonzero(np.diff(level)) + 1, there] if there else []
    batches: list[tuple[Indices, Indices, Indices]] = []
    start = 0
    for cut in cuts:
        end, bits = int(ends[cut - 1]), int(level[cut - 1])
        hits = successes(draws * (end - start), bits, int(source.words(1)[0]), source)
        batches.append((hits // (end - start), start + hits % (end - start), np.full(len(hits), bits)))
        start = end
    return _above(batches, scores, ends, noise, source)


def _above(
    batches: Sequence[tuple[Indices, Indices, Indices]],
    scores: Values,
    ends: Indices,
    noise: KeyNoise,
    source: Source,
) -> NamedKeys:
    """Of the labels that may be named those that are, with their sums; sorted by draw."""
    none = np.empty(0, np.int64)
    draw, position, bits = (
        (np.concatenate([none, *part]) for part in zip(*batches, strict=True)) if batches else [none] * 3
    )
    score = scores[np.searchsorted(ends, position, side="right")].astype(np.int64)
    sums = noise.sums(score, source.words(len(position)), bits, source)
    above = np.flatnonzero(sums >= noise.step)
    above = above[np.lexsort((position[above], draw[above]))]
    return NamedKeys(draw[above], position[above], sums[above])
