"""The winner among all k-subsets under any noise: one draw for every group of subsets of equal loss.

The largest of N independent noises Q(U) is Q(V) with V the least of N uniforms: V = 1 - e^(-E / N) with E exponential.
Groups are the classes of `exact.subset_classes`, tied scores joined. Floats bound every finish Q(V) - loss; those that
may be the largest are compared exactly. All groups are drawn, so the work is in proportion to k times the number of
different scores; Gumbel and exponential noise have better ways (`subset_rejection`, `subset_draw_exponential`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats, Indices, Values, Words
from shortlist._runs import Runs
from shortlist.exact.binomials import log_run
from shortlist.exact.noise_distributions import LN2, Noise, log_uniform
from shortlist.exact.partial_reals import Uniform, ball, formula, is_positive
from shortlist.exact.subset_classes import LOSS_ROUNDING, Classes
from shortlist.sampling.subset_rejection import Loss, binomial_prefix_sum, position
from shortlist.sampling.uniforms import WordStream

if TYPE_CHECKING:
    from flint import arb

BLOCK = 1 << 16
"""Groups drawn at a time."""

NARROW = 2.0**-45
"""By how much the floats of V may be off, relatively."""


@dataclass(frozen=True, slots=True)
class Groups:
    """All groups: row r of the classes, and the runs of equal scores from `first` to `last`."""

    classes: Classes
    first: Indices
    last: Indices
    exact_loss: Loss
    noise: Noise
    step: float = 0.0
    """Losses are rounded up to multiples of it, `exact_loss` too; 0 for losses as they are."""

    def draw(self, stream: WordStream) -> tuple[int, int] | None:
        """Class (i, j) of the winner, or None for the top k."""
        rivals: list[tuple[float, _Finish]] = []
        bar = -math.inf
        for row, run, words in self._drawn(stream):
            low, high = self._bounds(row, run, words)
            bar = max(bar, float(low.max()))
            for n in np.flatnonzero(high >= bar):
                finish = self._finish(int(row[n]), int(run[n]), Uniform(stream.word, int(words[n])))
                rivals.append((float(high[n]), finish))
        best, *others = [finish for high, finish in rivals if high >= bar]
        for other in others:
            if is_positive(formula(_above(other, best), [other.least, best.least])):
                best = other
        return best.group and (best.group[0], position(*best.group, stream))

    def _drawn(self, stream: WordStream) -> Iterator[tuple[Indices, Indices, Words]]:
        """Rows, runs and words, block by block; the top k is the last group, run -1 of row 0."""
        runs = len(self.first)
        count = len(self.classes.i) * runs
        for start in range(0, count + 1, BLOCK):
            group = np.arange(start, min(start + BLOCK, count + 1))
            row, run = np.divmod(group, runs)
            if group[-1] == count:
                row[-1], run[-1] = 0, -1
            yield row, run, stream.words(len(group))

    def _bounds(self, row: Indices, run: Indices, words: Words) -> tuple[Floats, Floats]:
        """(low, high) around the finish of each group."""
        top = run < 0
        first, last = self.first[run], self.last[run]
        fewest, most = (np.where(top, 0.0, bound) for bound in log_run(self.classes.i[row], first, last))
        loss = np.where(top, 0.0, self.classes.rise[row] + self.classes.fall[first])
        log, error = log_uniform(words, 0)
        with np.errstate(all="ignore"):
            shortest, longest = np.log(np.maximum(-log - error, 0.0)) - most, np.log(-log + error) - fewest
            q_low, e_low = self.noise.quantile(*_as_words(longest, up=True))
            q_high, e_high = self.noise.quantile(*_as_words(shortest, up=False))
            low = q_low - e_low - self._rounded(loss, 1.0 + LOSS_ROUNDING)
            high = q_high + e_high - self._rounded(loss, 1.0 - LOSS_ROUNDING)
        unknown = ~np.isfinite(shortest) | ~np.isfinite(longest)
        return np.where(unknown | np.isnan(low), -np.inf, low), np.where(unknown | np.isnan(high), np.inf, high)

    def _rounded(self, loss: Floats, off: float) -> Floats:
        """Bound the loss from the side of `off`, which is 1 give or take what floats are off."""
        near = loss * off
        return near if not self.step else np.ceil(near / self.step * off) * self.step * off

    def _finish(self, row: int, run: int, least: Uniform) -> _Finish:
        if run < 0:
            return _Finish(self, None, least)
        return _Finish(self, (int(self.classes.i[row]), int(self.first[run]), int(self.last[run])), least)


@dataclass(frozen=True, slots=True)
class _Finish:
    """Q(V) - loss of one group, lazily: (i, first, last), or None for the top k."""

    groups: Groups
    group: tuple[int, int, int] | None
    least: Uniform

    def ball(self) -> arb:
        from flint import arb

        size, loss = arb(1), arb(0)
        bits = self.least.bits
        if self.group is not None:
            i, first, last = self.group
            count = binomial_prefix_sum(i, last) - binomial_prefix_sum(i, first - 1)
            size, loss = arb(count), ball(self.groups.exact_loss(i, first))
            bits += int(count).bit_length()
        v = -(self.least.ball().log() / size).expm1() * arb(2) ** bits
        below, above = v.lower().floor().unique_fmpz(), v.upper().ceil().unique_fmpz()
        if below is None or above is None:
            return arb("nan")
        quantile = self.groups.noise.exact_quantile
        limit = 1 << bits
        ends = quantile(min(max(int(above), 0), limit), bits), quantile(min(max(int(below), 0), limit), bits)
        return ends[0].union(ends[1]) - loss


def _above(one: _Finish, other: _Finish) -> Callable[[], arb]:
    return lambda: one.ball() - other.ball()


def _as_words(log_wait: Floats, *, up: bool) -> tuple[Words, Indices]:
    """Word and level of V = 1 - exp(-e^log_wait), moved up or down by more than the floats are off."""
    with np.errstate(all="ignore"):
        log = np.where(log_wait < -40.0, log_wait, np.log(-np.expm1(-np.exp(log_wait))))
    log = np.where(np.isfinite(log), log, 0.0)
    level = np.maximum(np.floor(-log / LN2), 0.0)
    share = np.exp(log + level * LN2) * (1.0 + (NARROW if up else -NARROW) * (1.0 + level))
    near_one = share >= 1.0 - NARROW  # the greatest word: whoever reads it knows nothing of U
    words = np.where(near_one, 0.0, share * 2.0**64).astype(np.uint64)
    return np.where(near_one, np.uint64(2**64 - 1), words), level.astype(np.int64)


def runs_of(scores: Values | Runs) -> tuple[Indices, Indices]:
    """(first, last) of the runs of equal scores."""
    if isinstance(scores, Runs):
        return scores.starts_and_length[:-1], scores.ends - 1
    edges = np.flatnonzero(scores[1:] != scores[:-1]) + 1
    return np.append(0, edges), np.append(edges, len(scores)) - 1
