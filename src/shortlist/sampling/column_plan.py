"""A plan by columns, and its hits: one request for words, and one compiled pass from them to the winners.

How many words there are follows from the plan. A batch takes enough of them for its skips, but for a small chance; then
each hit takes one of as many again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from shortlist._arrays import Indices, Values, Words
from shortlist._scan import TALL
from shortlist._scan_columns import column_winners
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.rough_noise import KINDS
from shortlist.exact.score_intervals import Contest
from shortlist.sampling.entropy import Source
from shortlist.sampling.skip_columns import OWN_LEVELS, Layout, Maxima, open_plan
from shortlist.sampling.skip_levels import rule_of
from shortlist.sampling.skipping import Batch, Hits, Opened, SkipPlan, enough_words

_LEVELS: list[int] = OWN_LEVELS.tolist()


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """A contest in which opened columns are tested at their own levels, and everybody else at one."""

    contest: Contest
    maxima: Maxima
    layout: Layout
    batches: list[tuple[int, int, int, int]] = field(init=False)
    """Each as (level, number of trials, number of words, start): first everybody, then the columns that start there
    among the opened ones, last what is no whole block, at -1: at the level of everybody, or in full."""

    def __post_init__(self) -> None:
        layout, rest, start = self.layout, self.contest.values[self.maxima.rest :], 0
        shared = _LEVELS[len(layout.counts)]
        tests = [(shared, self.maxima.rest, 0)]
        for level, count in zip(_LEVELS, layout.counts, strict=False):
            if count:
                tests.append((level, count * TALL, start))
            start += count
        if len(rest):
            tests.append((shared if rest.max() < layout.cut else 0, len(rest), -1))
        batches = [
            (level, trials, enough_words(trials, level) if level else 0, start) for level, trials, start in tests
        ]
        object.__setattr__(self, "batches", batches)

    @classmethod
    def of(
        cls, values: Values, k: int, scale: Fraction, noise: Noise, threshold: float | None = None
    ) -> ColumnPlan | None:
        """The plan of one contest; None where it does not fit. `threshold` is for tests that force the rare paths."""
        parts = open_plan(values, k, scale, noise, threshold)
        return None if parts is None else cls(*parts)

    @property
    def skips(self) -> int:
        """So many words are for skips."""
        return sum(words for _, _, words, _ in self.batches)

    @property
    def hits(self) -> int:
        """So many are hit at most, but where skips need more words."""
        return sum(words or trials for _, trials, words, _ in self.batches)

    def clear_winners(self, words: Words) -> tuple[Indices, Words, Indices] | None:
        """(who wins, by which words, at which levels), best first, where a compiled pass tells it."""
        contest, layout, skips = self.contest, self.layout, self.skips
        kind = None if contest.noise.rough is None else KINDS.get(contest.noise.rough)
        rule = rule_of(contest, layout.threshold)
        if kind is None or rule is None:
            return None
        both = words[:skips], words[skips:]
        columns, batches = self.maxima.columns, self.batches
        return column_winners(contest.values, columns, batches, layout.cut, layout.opened, both, contest.k, kind, rule)

    def drawn(self, words: Words, source: Source) -> Hits:
        """Who is hit by these words; by more, where they do not suffice."""
        needed = [count for _, _, count, _ in self.batches]
        firsts = words[np.minimum(np.cumsum(needed) - needed, len(words) - 1)]
        index, level = self.plan().places_by(firsts, words[: sum(needed)], needed, source)
        fresh = words[sum(needed) :][: len(index)]
        return Hits(index, np.append(fresh, source.words(len(index) - len(fresh))), level)

    def plan(self) -> SkipPlan:
        """The same as a plan of groups, one by one."""
        contest, maxima, layout = self.contest, self.maxima, self.layout
        of_columns = layout.opened.astype(np.int64)
        starts = of_columns // maxima.width * maxima.block + of_columns % maxima.width
        batches = [Batch(self.batches[0][0], maxima.rest, np.zeros(1, np.int64), opened=self.opened())]
        for level, trials, _, start in self.batches[1:]:
            if start < 0:
                batches.append(Batch(level, trials, np.array([maxima.rest])))
            else:
                batches.append(Batch(level, TALL, starts[start : start + trials // TALL], maxima.width))
        return SkipPlan(contest, layout.threshold, tuple(batches))

    def opened(self) -> Opened:
        """The columns that are tested on their own."""
        return Opened(self.maxima.columns, self.layout.cut, self.maxima.width)
