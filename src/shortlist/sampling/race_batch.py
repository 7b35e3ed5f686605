"""Many races at once, one row each: who came first, and by how much.

Every runner draws in every row, and the rows are decided by float intervals; the few that floats cannot decide go
through exact arithmetic on the same words. Large fields are run one race after another, by skipping.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Mask, Values
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.score_intervals import kth_largest, ranking
from shortlist.sampling.entropy import Source
from shortlist.sampling.grid import Grid, Noisy, Runners
from shortlist.sampling.race import SKIP_FROM, Finish, prepare
from shortlist.sampling.skipping import CHUNK
from shortlist.sampling.threshold_runner import Finish as Exact
from shortlist.sampling.threshold_runner import Runner, how_many_above

T = TypeVar("T", np.int64, np.float64)

LINE = -1
"""The line among the candidates' indices."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Some races, one row each: the k that came first."""

    finishes: Noisy
    names: Indices
    """Whose finish stands in which column; that of the line stands in the last one."""
    first: Indices
    """The columns of the k, best first."""

    @property
    def indices(self) -> Indices:
        """The candidates that came first, best first, and LINE where the line did."""
        return self.names[self.first]

    def values(self) -> Floats:
        """Their noisy scores, rounded down to the grid."""
        return self.finishes.values(self.first)

    def gaps(self) -> Floats:
        """The k - 1 leads over the next, rounded down to the grid."""
        ones, others = self.first[:, :-1], self.first[:, 1:]
        return self.finishes.leads(ones, others, np.ones(ones.shape, np.bool_))

    def leads(self) -> Floats:
        """The leads over the line, rounded down to the grid; NaN for those behind it."""
        return self.finishes.leads(self.first, np.full_like(self.first, len(self.names) - 1), self.ahead())

    def ahead(self) -> Mask:
        """Who is ahead of the line."""
        return ~np.logical_or.accumulate(self.indices == LINE, axis=1)


@dataclass(frozen=True, slots=True)
class Field:
    """Who runs: candidates under one noise, and perhaps a line; and how many finishes count, the line's among them.

    Candidates at -inf never finish; one at least must be above. Where fewer than k can finish, all of them count.
    """

    values: Values
    k: int
    scale: Fraction
    noise: Noise
    line: Runner | None = None
    grid: Grid = field(init=False)
    _there: Indices = field(init=False)

    def __post_init__(self) -> None:
        there = np.flatnonzero(self.values > -np.inf)
        scales = [self.scale] if self.line is None else [self.scale, self.line.scale]
        centre = kth_largest(self.values, min(self.k, len(there)))
        object.__setattr__(self, "_there", there)
        object.__setattr__(self, "k", min(self.k, len(there) + len(scales) - 1))
        object.__setattr__(self, "grid", Grid.around(centre, max(scales)))

    def races(self, draws: int, source: Source) -> Iterator[Rows]:
        """So many independent races, some at a time."""
        return (self._one_by_one if len(self.values) >= SKIP_FROM else self._together)(draws, source)

    def _together(self, draws: int, source: Source) -> Iterator[Rows]:
        """Every runner draws in every row."""
        names = self._there
        lineup = [Runner(Fraction(score), self.scale, self.noise) for score in self.values[names].tolist()]
        if self.line is not None:
            names, lineup = np.append(names, LINE), [*lineup, self.line]
        runners = Runners(self.grid, lineup)
        rows, everyone = max(1, CHUNK // len(names)), np.arange(len(names))[None]
        for start in range(0, draws, rows):
            finishes = runners.run(everyone, min(rows, draws - start), source)
            yield Rows(finishes, names, _first(finishes, self.k))

    def _one_by_one(self, draws: int, source: Source) -> Iterator[Rows]:
        """Races by skipping, which know their winners only: as exact numbers."""
        run = prepare(self.values, k=min(self.k, len(self._there)), scale=self.scale, noise=self.noise)
        for _ in range(draws):
            finish = run(source)
            yield self._alone(finish) if self.line is None else self._with_line(finish, self.line.draw(source))

    def _alone(self, finish: Finish) -> Rows:
        return Rows(Noisy.unseen(self.grid, self.k, finish.finishes), finish.indices, np.arange(self.k)[None])

    def _with_line(self, finish: Finish, line: Exact) -> Rows:
        winners, names = finish.finishes(), np.append(finish.indices, LINE)
        first = np.insert(np.arange(len(winners)), how_many_above(winners, line), len(winners))[: self.k]
        return Rows(Noisy.unseen(self.grid, len(names), lambda: [*winners, line]), names, first[None])


def padded(table: NDArray[T], where: Mask, width: int, nothing: int | float) -> NDArray[T]:
    """The entries at the start of each row `where` they count, in so many columns; nothing elsewhere."""
    rows = np.full((len(table), width), nothing, table.dtype)
    columns = min(width, table.shape[1])
    np.copyto(rows[:, :columns], table[:, :columns], where=where[:, :columns])
    return rows


@np.errstate(all="ignore")
def _first(finishes: Noisy, k: int) -> Indices:
    """The columns of the k largest numbers of each row, best first."""
    low, high = finishes.low, finishes.high
    order = np.argsort(-high, axis=1)[:, : k + 1]
    lowest = np.minimum.accumulate(np.take_along_axis(low, order[:, :k], axis=1), axis=1)
    next_high = np.take_along_axis(high, order[:, 1:], axis=1)
    undecided = (lowest[:, : next_high.shape[1]] <= next_high).any(axis=1)
    for row in np.flatnonzero(undecided).tolist():
        order[row, :k] = ranking(low[row], high[row], k, partial(finishes.exact, row))
    return order[:, :k]


def race_many(values: Values, *, k: int, scale: Fraction, noise: Noise, source: Source, draws: int) -> Indices:
    """The winners of that many independent races (none, perhaps), one row each, best first."""
    winners = (rows.indices for rows in Field(values, k, scale, noise).races(draws, source))
    return np.concatenate([np.empty((0, k), np.int64), *winners])
