"""Many races at once of which only the set of winners is wanted: most candidates draw no noise (Theorem 267).

The hits of all rows are found level by level, by skips through rows and candidates together. A row with k hits surely
above the threshold and a clear k-th is decided by floats; any other is decided by the race of its own hits.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shortlist._arrays import Indices, Values
from shortlist.exact.noise_distributions import Noise
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import race_of_hits
from shortlist.sampling.skip_schedule import plan_of_all
from shortlist.sampling.skipping import Hits, SkipPlan, successes

ROWS, HITS = 1 << 12, 1 << 18
"""Rows at a time, and about so many hits."""


def winners_in_rows(values: Values, *, k: int, scale: Fraction, noise: Noise, source: Source, draws: int) -> Indices:
    """The winners of that many independent races (none, perhaps), one row each, in no order; all values are finite."""
    plan = plan_of_all(values, k, scale, noise)
    expected = sum(len(batch.starts) * 2.0**-batch.level for batch in plan.batches)
    step = max(1, min(ROWS, int(HITS / expected)))
    rows = (_some(plan, min(step, draws - start), source) for start in range(0, draws, step))
    return np.concatenate([np.empty((0, k), np.int64), *rows])


@np.errstate(all="ignore")
def _some(plan: SkipPlan, rows: int, source: Source) -> Indices:
    contest, k = plan.contest, plan.contest.k
    row, hits = _hits(plan, rows, source)
    low, high = contest.intervals(contest.values[hits.index], hits.words, hits.level)
    counts = np.bincount(row, minlength=rows)
    starts = np.cumsum(counts) - counts
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
    for one in np.flatnonzero(~(enough & (least > next_high))).tolist():
        its = slice(starts[one], starts[one] + counts[one])
        sets[one] = race_of_hits(plan, Hits(hits.index[its], hits.words[its], hits.level[its]), source).indices
    return sets


def _hits(plan: SkipPlan, rows: int, source: Source) -> tuple[Indices, Hits]:
    """(whose hits they are, in order; the hits of all rows)."""
    row, index, level = [], [], []
    for batch, first in zip(plan.batches, source.words(len(plan.batches)).tolist(), strict=True):
        places = successes(rows * len(batch.starts), batch.level, first, source)
        owner, member = np.divmod(places, len(batch.starts))
        row.append(owner)
        index.append(batch.starts[member])
        level.append(np.full(len(places), batch.level))
    owners = np.concatenate(row)
    by = np.argsort(owners.astype(np.int16), kind="stable")
    words = source.words(len(by))
    return owners[by], Hits(np.concatenate(index)[by], words, np.concatenate(level)[by])
