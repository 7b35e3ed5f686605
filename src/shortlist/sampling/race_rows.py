"""Many races at once of which only the set of winners is wanted: most candidates draw no noise (Theorem 267).

The hits of all rows are found level by level, by skips through rows and candidates together. A row with k hits surely
above the threshold and a clear k-th is decided by floats; any other is decided by the race of its own hits, when all
words of hits are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shortlist._arrays import Indices, Values
from shortlist.exact.noise_distributions import Noise
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import race_of_hits
from shortlist.sampling.skip_schedule import plan_of_all
from shortlist.sampling.skipping import LEVELS, Batch, Hits, SkipPlan

ROWS, HITS = 1 << 12, 1 << 17
"""Rows at a time, and about so many hits."""


def winners_in_rows(values: Values, *, k: int, scale: Fraction, noise: Noise, source: Source, draws: int) -> Indices:
    """The winners of that many independent races (none, perhaps), one row each, in no order; all values are finite."""
    plan = plan_of_all(values, k, scale, noise)
    expected = sum(len(batch.starts) * 2.0**-batch.level for batch in plan.batches)
    step = max(1, min(ROWS, int(HITS / expected)))
    parts = [min(step, draws - start) for start in range(0, draws, step)]
    told = [_tell(plan, rows, _hits(plan, rows, source)) for rows in parts]
    return np.concatenate([np.empty((0, k), np.int64), *(one.decided(plan, source) for one in told)])


@dataclass(frozen=True, slots=True)
class _Told:
    """Winners of rows, but for those that are still open: their hits."""

    sets: Indices
    open: list[tuple[int, Hits]]

    def decided(self, plan: SkipPlan, source: Source) -> Indices:
        """The winners of all rows: the open ones are raced on their own hits, and may draw more words."""
        for row, hits in self.open:
            self.sets[row] = race_of_hits(plan, hits, source).indices
        return self.sets


@np.errstate(all="ignore")
def _tell(plan: SkipPlan, rows: int, drawn: Hits) -> _Told:
    """The winners of rows, as far as floats tell them; hits come level by level, counted through rows and members."""
    hits, ends = _by_row(plan, rows, drawn)
    contest, k, counts = plan.contest, plan.contest.k, np.diff(ends, prepend=0)
    low, high = contest.intervals(contest.values[hits.index], hits.words, hits.level)
    starts, row = np.cumsum(counts) - counts, np.repeat(np.arange(rows), counts)
    table = np.full((2, rows, max(int(counts.max()), k + 1)), -np.inf)
    column = np.arange(len(row)) - starts[row]
    table[0, row, column], table[1, row, column] = low, high
    best = np.argpartition(table[1], -(k + 1), axis=1)[:, -(k + 1) :]
    ends = np.take_along_axis(table, best[None], axis=2)
    last = ends[1].argmin(axis=1)  # of k + 1, the one that does not win, by the upper ends
    next_high = np.take_along_axis(ends[1], last[:, None], axis=1)[:, 0]
    np.put_along_axis(ends[0], last[:, None], np.inf, axis=1)
    least = ends[0].min(axis=1)
    enough = (table[0] > plan.threshold).sum(axis=1) >= k
    winners = best[np.arange(k + 1) != last[:, None]].reshape(rows, k)
    sets: Indices = np.append(hits.index, 0)[np.minimum(starts[:, None] + winners, len(row))]  # there may be no hit
    still = np.flatnonzero(~(enough & (least > next_high))).tolist()
    parts = [slice(starts[one], starts[one] + counts[one]) for one in still]
    own = [Hits(hits.index[its], hits.words[its], hits.level[its]) for its in parts]
    return _Told(sets, list(zip(still, own, strict=True)))


@np.errstate(all="ignore")
def _hits(plan: SkipPlan, rows: int, source: Source) -> Hits:
    """The hits of all rows, level by level, as places counted through rows and members; their words go row by row."""
    one = np.zeros(1, np.int64)
    batches = tuple(Batch(at.level, rows * len(at.starts), one) for at in plan.batches)
    return SkipPlan(plan.contest, plan.threshold, batches).draw(source)


def _by_row(plan: SkipPlan, rows: int, drawn: Hits) -> tuple[Hits, Indices]:
    """(the hits of all rows, row by row; where those of each row end). The words stay where they are."""
    sizes = np.zeros(LEVELS[-1] + 1, np.int64)
    for batch in plan.batches:
        sizes[batch.level] = len(batch.starts)
    starts = np.concatenate([batch.starts for batch in plan.batches])
    owner, member = np.divmod(drawn.index, sizes[drawn.level])
    by = np.argsort(owner.astype(np.int16), kind="stable")
    index = starts[(np.cumsum(sizes) - sizes)[drawn.level] + member]
    return Hits(index[by], drawn.words, drawn.level[by]), np.cumsum(np.bincount(owner, minlength=rows))
