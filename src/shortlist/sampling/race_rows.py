"""Many races at once of which only the set of winners is wanted: most candidates draw no noise (Theorem 267).

The hits of all rows are found level by level, by skips through rows and candidates together. A row with k hits surely
above the threshold and a clear k-th is decided by floats; any other is decided by the race of its own hits.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shortlist._arrays import Indices, Values
from shortlist._scan import KINDS, sorted_by_row
from shortlist.exact.noise_distributions import Noise
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import race_of_hits
from shortlist.sampling.skip_levels import rule_of
from shortlist.sampling.skip_schedule import plan_of_all
from shortlist.sampling.skipping import Batch, Hits, SkipPlan

ROWS, HITS = 1 << 12, 1 << 17
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
    hits, ends = _hits(plan, rows, source)
    rule = rule_of(plan.contest, plan.threshold)
    if rule is None:
        return _by_intervals(plan, hits, np.diff(ends, prepend=0), source)
    sets, clear = plan.contest.clear_rows((hits.index, hits.level, hits.words), ends, rule)
    if not clear.all():
        its, counts = np.repeat(~clear, np.diff(ends, prepend=0)), np.diff(ends, prepend=0)[~clear]
        sets[~clear] = _by_intervals(plan, Hits(hits.index[its], hits.words[its], hits.level[its]), counts, source)
    return sets


def _by_intervals(plan: SkipPlan, hits: Hits, counts: Indices, source: Source) -> Indices:
    """The winners of rows with so many of these hits each: by floats, or by the race of a row's own hits."""
    contest, k, rows = plan.contest, plan.contest.k, len(counts)
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
    for one in np.flatnonzero(~(enough & (least > next_high))).tolist():
        its = slice(starts[one], starts[one] + counts[one])
        sets[one] = race_of_hits(plan, Hits(hits.index[its], hits.words[its], hits.level[its]), source).indices
    return sets


def _hits(plan: SkipPlan, rows: int, source: Source) -> tuple[Hits, Indices]:
    """(the hits of all rows, row by row; where those of each row end)."""
    sizes = np.bincount([batch.level for batch in plan.batches], [len(batch.starts) for batch in plan.batches], KINDS)
    sizes, starts = sizes.astype(np.int64), np.concatenate([batch.starts for batch in plan.batches])
    one = np.zeros(1, np.int64)
    through = SkipPlan(
        plan.contest, plan.threshold, tuple(Batch(at.level, rows * len(at.starts), one) for at in plan.batches)
    )
    place, level = through.places(source)
    compiled = sorted_by_row((place, level), sizes, starts, rows)
    if compiled is None:
        owner, member = np.divmod(place, sizes[level])
        by = np.argsort(owner.astype(np.int16), kind="stable")
        index = starts[(np.cumsum(sizes) - sizes)[level] + member]
        compiled = index[by], level[by], np.cumsum(np.bincount(owner, minlength=rows))
    index, level, ends = compiled
    return Hits(index, source.words(len(index)), level), ends
