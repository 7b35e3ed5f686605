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
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Values, Words
from shortlist.exact.noise import LN2, Noise
from shortlist.exact.reals import Contest, failures_before_success, kth_largest
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

    def members(self, places: Indices) -> Indices:
        """The candidates at these places, counted through all groups."""
        group = places // self.length
        return self.starts[group] + (places - group * self.length) * self.stride

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
        needed = [words_for(one.trials, one.level, first) for one, first in zip(self.batches, firsts, strict=True)]
        words = source.words(sum(needed))
        index, level, start = [_NONE], [_NONE], 0
        for batch, first, count in zip(self.batches, firsts, needed, strict=True):
            own = words[start : start + count]
            index.append(batch.members(places_of(batch.trials, batch.level, first, own, source)))
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
    return places_of(trials, level, first, source.words(words_for(trials, level, first)), source)


def words_for(trials: int, level: int, first: int) -> int:
    """How many words such trials need, seldom more; none where the first tells that there is no success."""
    if level == 0 or first + 1 + (trials << (64 - level)) <= 1 << 64:
        return 0  # U <= 1 - trials 2^-level <= (1 - 2^-level)^trials: no success
    return enough_words(trials, level)


def places_of(trials: int, level: int, first: int, words: Words, source: Source) -> Indices:
    """The successes, from `first` in place of the first of these words; from more, where they do not suffice."""
    if level == 0:
        return np.arange(trials)
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
    return ratio * 2.0**-40 + (2.0 / v + 2.0**-40) * 2.0 ** (level + 1)


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
    distance = threshold - heights
    decay = noise.decay(distance - LEVEL_SLACK * (1 + abs(threshold) + np.abs(heights)))
    bits = np.clip(decay * ((1 - LEVEL_SLACK) / LN2) - LEVEL_SLACK, 0, LEVELS[-1])
    return rounded[bits.astype(np.int8)]


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
        counts = {at: count for at, count in enumerate(np.bincount(level).tolist()) if count}
        order = np.argsort(level, kind="stable")
        return cls(starts[order], counts, length, stride, int(np.count_nonzero(heights > 1.0)))

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


def count_heights(contest: Contest, scores: Values, size: int, groups: Indices) -> Indices:
    """How many of these scores stand at each height -50, -49.5, .., 50, in each of these groups of that size."""
    whole = len(scores) // size
    chosen = scores[: whole * size].reshape(whole, size)[groups]
    return np.stack([histogram(one) for one in contest.positions(chosen.ravel()).reshape(len(groups), size)])


def histogram(heights: Floats) -> Indices:
    """How many stand at each height -50, -49.5, .., 50. Those below -50 are too low to matter."""
    bins = np.clip(np.floor(2 * heights) + 101, 0, BINS).astype(np.int64)
    return np.bincount(bins, minlength=BINS + 1)[1:]


LOOKED = 32
"""So many high runs are looked into before many hits are paid for."""
HIGHER = 24
"""How many thresholds above are tried then, half a unit from one to the next."""

PLACES = 191
"""Thresholds -50, -49.5, .., 45."""

EIGHTHS = 400
"""Eighths of a unit in 50."""

GRID = np.arange(-100, PLACES - 100) / 2
"""Thresholds; heights are rounded down to the same grid of half units."""


def choose_threshold(contest: Contest, tops: Values) -> float:
    """The highest threshold that, by what is known, more than enough candidates will pass.

    Known are the maxima of blocks (`tops`, a sure lower bound on how many pass) and a fixed sample of the scores,
    counted half. No sum is rounded, whatever its order.
    """
    values, wanted = contest.values, enough(contest.k) * WHOLE
    places, each, chance, square = take_sample(len(values), contest.noise)
    by_tops, by_sample = histogram(contest.positions(tops)), histogram(contest.positions(values[places]))
    surely = np.convolve(by_tops, chance, "valid").astype(np.float64)
    some = np.convolve(by_sample, chance, "valid").astype(np.float64)
    broad = some * some >= BROAD * np.convolve(by_sample, square, "valid").astype(np.float64)
    enough_pass = GRID[(surely >= wanted) | (broad & (each * some >= wanted))]
    return max(passing(contest.noise, contest.k)[0], float(enough_pass.max(initial=-np.inf)))


def raise_threshold(contest: Contest, peaks: Values, run: int, threshold: float) -> float:
    """A higher threshold, where the maxima of runs (`peaks`) or what the highest of them hold tell of more candidates.

    That is asked where the threshold would cost many hits. How many pass by their maxima is a sure lower bound; how
    many do in all is told by LOOKED of the runs that stand high: by how many pass in each, or by how many times more
    pass than by its maximum. That is taken three standard errors lower, unless k surely pass but for a small chance.
    """
    chance, wanted = passing(contest.noise, contest.k)[1], enough(contest.k)
    place = int(np.searchsorted(GRID, threshold, side="right")) - 1
    higher = np.arange(place + 1, min(place + 1 + HIGHER, len(GRID)))
    heights, counts = eighths(contest, peaks)
    some = np.flatnonzero(counts[1:]) + 1  # the lowest pass none
    surely = np.exp(contest.noise.log_survival(GRID[higher][:, None] - (some - EIGHTHS) / 8)) @ counts[some]
    place = int(np.max(higher[surely >= wanted], initial=place))
    near = np.flatnonzero(heights >= np.int16(8 * (GRID[place] - NEAR) + EIGHTHS))
    if len(near) >= 2 * LOOKED:
        some = near[(np.arange(LOOKED) * 0.6180339887498949 % 1 * len(near)).astype(np.int64)]
        distance = (higher + BINS - 1)[:, None]
        passed = count_heights(contest, contest.values, run, some) @ chance[distance - np.arange(BINS)].T
        highest = heights[some].astype(np.int64) // 4
        with np.errstate(all="ignore"):
            each, each_error = _ratio(passed, np.ones_like(passed))
            times, times_error = _ratio(passed, chance[distance - highest].T)
            least = np.fmax((each - 3 * each_error) * len(near), (times - 3 * times_error) * surely)
        likely = (surely >= contest.k + 3 * math.sqrt(contest.k)) & (0.9 * times * surely >= wanted)
        place = int(np.max(higher[likely | (0.9 * least >= wanted)], initial=place))
    return max(threshold, float(GRID[place]))


def eighths(contest: Contest, scores: Values) -> tuple[NDArray[np.int16], Indices]:
    """(where these scores stand in eighths from -50 on, rounded down, and cut at 0 and 800; how many at each)."""
    places = np.clip(np.floor(8 * contest.positions(scores)), -EIGHTHS, EIGHTHS).astype(np.int16) + np.int16(EIGHTHS)
    return places, np.bincount(places, minlength=2 * EIGHTHS + 1)


def _ratio(passed: Floats, beside: Floats) -> tuple[Floats, Floats]:
    """(how many pass for each of those beside, in all rows together; its standard error)."""
    ratio = passed.sum(axis=0) / beside.sum(axis=0)
    return ratio, np.sqrt(((passed - ratio * beside) ** 2).sum(axis=0)) / beside.sum(axis=0)


NEAR = 7.0
"""Runs whose maximum is not further below a threshold stand high."""

WHOLE, BROAD = 2.0**30, 2.0**35
"""Chances are whole numbers of 2^-30; so many scores of a sample must tell the same: 32, in these units."""


def enough(k: int) -> float:
    """So many are expected to pass, so that k do but for a small chance."""
    return k + 5 * math.sqrt(k) + 8


@lru_cache(maxsize=16)
def take_sample(d: int, noise: Noise) -> tuple[Indices, float, Indices, Indices]:
    """(positions, how many candidates each of them stands for, chances of noise to pass each distance, their squares).

    Some 2,048 positions, eight neighbours at a time, spread by the golden ratio: no period of the data fits it. They
    are counted half. Distances are in half units, chances and their squares whole numbers of 2^-30, rounded down.
    """
    starts = np.arange(256) * 0.6180339887498949 % 1 * (d - 7)
    places = (starts.astype(np.int64)[:, None] + np.arange(8)).ravel()
    chance = passing(noise, 1)[1]
    whole, square = (np.floor(one * WHOLE).astype(np.int64) for one in (chance, chance**2))
    return places, 0.5 * (d / len(places)), whole, square


@lru_cache
def passing(noise: Noise, k: int) -> tuple[float, Floats]:
    """(what k draws of noise all pass but for a chance of 1e-5, the chance to pass each distance)."""
    almost_one = np.array([2**64 - 1 - int(2.0**64 * 1e-5 / k)], np.uint64)
    distance = np.arange(-200, PLACES) / 2
    return float(noise.quantile(almost_one, 0)[0][0]), np.exp(noise.log_survival(distance))


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
    layout, centre = None, kth_largest(np.append(maxima.tops, values[len(maxima.tops) * block :]), k)
    if centre > -math.inf:
        layout = Layout.of(Contest(values, k, scale, noise, centre), maxima, threshold)
    if layout is None or layout.is_crowded():
        centre = _kth_largest(values, maxima.peaks, maxima.run, k)
        layout = Layout.of(Contest(values, k, scale, noise, centre), maxima, threshold)
    return layout.plan()


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
    tiers: tuple[ByLevel, ...]
    """Blocks; runs, if some blocks are tested run by run; small blocks, if some of these are tested part by part."""

    @classmethod
    def of(cls, contest: Contest, maxima: Maxima, threshold: float | None = None) -> Layout:
        """Against this threshold, or against one that fits the scores."""
        chosen = choose_threshold(contest, maxima.tops) if threshold is None else threshold
        blocks = maxima.blocks(contest, chosen)
        if threshold is None and blocks.hits(OPEN_RUN) >= MANY:
            chosen = raise_threshold(contest, maxima.peaks, maxima.run, chosen)
            blocks = maxima.blocks(contest, chosen)
        tiers = [blocks]
        for level, finer in ((OPEN_BLOCK, maxima.runs), (OPEN_RUN, maxima.small)):
            opened = tiers[-1].up_to(level)
            if not len(opened):
                break
            tiers.append(finer(contest, chosen, opened))
        return cls(contest, chosen, tuple(tiers))

    def is_crowded(self) -> bool:
        """Whether the best scores crowd into few blocks, so that the centre lies far below the k-th of them."""
        return len(self.tiers) == 3 and self.tiers[2].high >= 2 * self.contest.k

    def plan(self) -> SkipPlan:
        """Every candidate in a group of its own level, its small block's, its run's or its block's."""
        contest, rest = self.contest, len(self.tiers[0].starts) * self.tiers[0].length
        batches: list[Batch] = []
        singles = np.arange(rest, len(contest.values))
        for tier, above in zip(self.tiers, (OPEN_BLOCK, OPEN_RUN, OPEN_SMALL), strict=False):
            batches += tier.batches(above)
        for small in self.tiers[2:]:
            opened = small.up_to(OPEN_SMALL)[:, None] + np.arange(SMALL) * small.stride
            singles = np.append(opened.ravel(), singles)
        if len(singles):
            batches += ByLevel.of(contest, contest.values[singles], self.threshold, singles, 1).batches(above=-1)
        return SkipPlan(contest, self.threshold, tuple(batches))


def block_maxima(values: Values, block: int) -> Values:
    """The maximum of each whole block, which `reduceat` finds in about half the time of `max(axis=1)`."""
    whole = len(values) // block * block
    return np.maximum.reduceat(values[:whole], np.arange(0, whole, block))


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
    for block in (4096, 2048, 1024, 512, 256, 128, 64, SMALL):
        if d >= (32 if block > 1024 else 16) * k * block:
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
