"""Find the candidates that can win without drawing noise for the others.

Survival-bit skipping: the top k of d noisy scores from one pass over the scores and a few hundred words.

Fix a threshold t (in noise units above the centre) by any rule that does not look at the noise. A candidate
at position g can finish above t only if its survival uniform U is at most S(t - g) <= 2^-j, that is if the
first j bits of U are zero: an event of probability 2^-j, independent for all candidates, found by geometric
skips without a random bit per candidate. Whole blocks share the level j of their maximum; blocks near the top
are opened into small ones and then into candidates with a level each (level 0: drawn in full). What is not
hit finishes at or below t. So if k hits surely finish above t, the top k of the hits is the top k of all.

Otherwise the rest is revealed *conditionally*: a candidate that was not hit at level j has U above 2^-j, so
its word is drawn again while its first j bits are zero. The hits keep their bits. Any t gives the exact law.

How many leading zero bits a candidate needs to pass a threshold: its level. Nothing here draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Values, Words
from shortlist.exact.noise_distributions import LN2, Noise
from shortlist.exact.partial_reals import failures_before_success
from shortlist.exact.score_intervals import Contest
from shortlist.sampling.entropy import Source

CHUNK = 1 << 15
SOME = 1 << 13
"""So many hits at a time are turned into numbers: what is computed on the way stays near."""


@dataclass(frozen=True, slots=True)
class Hits:
    """Candidates whose leading bits are all zero, with 64 further bits of their uniforms."""

    index: Indices
    words: Words
    level: Indices


@dataclass(frozen=True, slots=True)
class Batch:
    """Groups of candidates, all of one size and at one distance from each other, that are tested at one level."""

    level: int
    length: int
    starts: Indices
    stride: int = 1

    @property
    def trials(self) -> int:
        """How many candidates are tested."""
        return len(self.starts) * self.length

    def words_for(self, first: int) -> int:
        """How many words a test of them needs, but for a small chance, if this is the first of them."""
        return words_for(self.trials, self.level, first)

    def places(self, first: int, words: Words, source: Source) -> Indices:
        """Who is hit, counted through all groups: from so many words and more, if they do not suffice."""
        return np.arange(self.trials) if not self.level else places_of(self.trials, self.level, first, words, source)

    def members(self, places: Indices) -> Indices:
        """The candidates at these places, counted through all groups."""
        group = places // self.length
        index: Indices = self.starts[group] + (places - group * self.length) * self.stride
        return index

    def put_level(self, tested: NDArray[np.int8]) -> None:
        """Write the level to all candidates of the batch: group by group, or by what has the same place in each."""
        if len(self.starts) < self.length:
            for start in self.starts.tolist():
                tested[start : start + self.length * self.stride : self.stride] = self.level
        else:
            for offset in range(self.length):
                tested[self.starts + offset * self.stride] = self.level


@dataclass(frozen=True, slots=True)
class SkipPlan:
    """A contest, its threshold, and the level at which each candidate is tested."""

    contest: Contest
    threshold: float
    batches: tuple[Batch, ...]
    """Every candidate is in exactly one of them."""

    def draw(self, source: Source) -> Hits:
        """Test every candidate once, batch by batch."""
        firsts = source.words(len(self.batches)).tolist()
        needed = [batch.words_for(first) for batch, first in zip(self.batches, firsts, strict=True)]
        words = source.words(sum(needed))
        index, level, start = [_NONE], [_NONE], 0
        for batch, first, count in zip(self.batches, firsts, needed, strict=True):
            own = words[start : start + count]
            index.append(batch.members(batch.places(first, own, source)))
            level.append(np.full(len(index[-1]), batch.level))
            start += count
        hit = np.concatenate(index)
        return Hits(hit, source.words(len(hit)), np.concatenate(level))

    def reveal(self, hits: Hits, source: Source) -> Iterator[tuple[Indices, Words, Indices]]:
        """Every candidate in turn, in chunks of (index, words, level): the hits as they are, the rest given
        that they were not hit."""
        d = len(self.contest.values)
        tested = np.empty(d, np.int8)
        for batch in self.batches:
            batch.put_level(tested)
        order = np.argsort(hits.index)
        hit_index = hits.index[order]
        for start in range(0, d, CHUNK):
            index = np.arange(start, min(start + CHUNK, d))
            words = _not_hit(tested[start : start + CHUNK].astype(np.int64), source)
            level = np.zeros(len(index), np.int64)
            here = order[slice(*np.searchsorted(hit_index, [start, start + CHUNK]))]
            words[hits.index[here] - start] = hits.words[here]
            level[hits.index[here] - start] = hits.level[here]
            yield index, words, level


def _not_hit(level: Indices, source: Source) -> Words:
    """Uniform words of which none has its first `level` bits all zero (level 0: no condition)."""
    shift = np.where(level > 0, 64 - level, 0).astype(np.uint64)
    words = source.words(len(level)).copy()
    again = np.flatnonzero((level > 0) & (words >> shift == 0))
    while len(again):
        words[again] = source.words(len(again))
        again = again[words[again] >> shift[again] == 0]
    return words


_NONE = np.empty(0, np.int64)


def successes(trials: int, level: int, first: int, source: Source) -> Indices:
    """The positions of the successes in `trials` independent trials of probability 2^-level, exactly.

    The number of failures before the next success is floor(ln U / ln(1 - 2^-level)); `first` is the first word of U.
    """
    if level == 0:
        return np.arange(trials)
    return places_of(trials, level, first, source.words(words_for(trials, level, first)), source)


def words_for(trials: int, level: int, first: int) -> int:
    """How many words such trials need, seldom more; none where the first tells that there is no success."""
    if level == 0 or first + 1 + (trials << (64 - level)) <= 1 << 64:
        return 0  # U <= 1 - trials 2^-level <= (1 - 2^-level)^trials: no success
    return enough_words(trials, level)


def places_of(trials: int, level: int, first: int, words: Words, source: Source) -> Indices:
    """The successes, from `first` in place of the first of these words; from more, where they do not suffice."""
    hits, start = [_NONE], 0
    if len(words):
        words = np.append(np.uint64(first), words[1:])
    while len(words) and start < trials:
        some, words = words[:SOME], words[SOME:]
        position = start - 1 + np.cumsum(_failures(some, level, trials - start, source) + 1)
        hits.append(position[: np.searchsorted(position, trials)])
        start = int(position[-1]) + 1
        if start < trials and not len(words):
            words = source.words(enough_words(trials - start, level))
    return np.concatenate(hits)


def enough_words(trials: int, level: int) -> int:
    """How many words to draw at once for such trials: seldom too few."""
    expected = trials * 2.0**-level
    return int(expected + 5 * math.sqrt(expected) + 4)


def _failures(words: Words, level: int, most: int, source: Source) -> Indices:
    """floor(ln U / ln(1 - 2^-level)), cut at `most`; exact arithmetic where a float cannot tell."""
    v = np.maximum(words.astype(np.float64), 0.5)
    ratio = (np.log(v) - 64 * LN2) / math.log1p(-(2.0**-level))
    error = failure_error(v, ratio, level)
    count = np.floor(np.clip(ratio, 0, most))
    unclear = (np.floor(ratio - error) != np.floor(ratio + error)) & (ratio - error < most)
    for i in np.flatnonzero(unclear):
        count[i] = min(failures_before_success(int(words[i]), level, source), most)
    return count.astype(np.int64)


def failure_error(v: Floats, ratio: Floats, level: int) -> Floats:
    """Bound on the error of `ratio`: rounding, and what the part of U not drawn can change."""
    error: Floats = ratio * 2.0**-40 + (2.0 / v + 2.0**-40) * 2.0 ** (level + 1)
    return error


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
