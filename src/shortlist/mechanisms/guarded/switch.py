"""The switch: an exponential mechanism of two candidates that chooses between canonical and one-shot (Lemma 172).

With lead = ln(mass of all sets but the junk) - ln(mass of the junk), canonical top-k is chosen with probability
1 / (1 + e^-(t (lead - tau))). The lead is enclosed by cells in floats; where that is not enough to tell on which side a
partially drawn uniform lies, it is summed class by class in balls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Indices, Mask
from shortlist.exact.partial_reals import Uniform, around, ball, formula, is_positive
from shortlist.exact.ranked_subsets import Ranking
from shortlist.mechanisms.canonical.sampler import gumbel_class, members, proposals_of
from shortlist.mechanisms.guarded.rows import drawn
from shortlist.mechanisms.guarded.weights import Family
from shortlist.sampling.entropy import Source
from shortlist.sampling.subset_rejection import ERROR, Envelope, FewClasses
from shortlist.sampling.subset_rows import ROUNDING, Classes, Weights, in_proportion
from shortlist.sampling.uniforms import WordStream

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, slots=True)
class Switch:
    """Canonical top-k with Gumbel noise, unless the junk is too heavy."""

    ranking: Ranking
    envelope: Envelope | FewClasses
    slope: Fraction
    """t: how much of the lead it sees (`budgets.py`)."""
    tau: Fraction
    rest: Family
    junk: Family
    least: tuple[float, float]
    """(at most the log mass of the rest, at most that of the junk)."""
    low: float
    """At most t (lead - tau), the log odds of canonical top-k."""
    high: float
    """At least t (lead - tau)."""

    def draw(self, source: Source) -> Indices | None:
        """A subset, as positions among the caller's candidates, or None if one-shot is chosen."""
        return self._winner(WordStream(source))

    def draw_many(self, source: Source, draws: int) -> tuple[Indices, Mask]:
        """(independent draws, one row each; where one-shot is chosen, and there is no set)."""
        return drawn(self.ranking, draws, source, top=True, one=self._winner, rows=self.in_rows)

    def in_rows(self, weights: Weights, draws: int, source: Source) -> tuple[Classes, Mask]:
        """(classes, where one-shot is chosen): many draws at once (Lemma 172, Theorem 266)."""
        words = source.words(draws)
        least, most = (1.0 / (1.0 + math.exp(-min(max(odds, -700.0), 700.0))) for odds in (self.low, self.high))
        coin = words * 2.0**-64
        one_shot = coin > most + ROUNDING
        for row in np.flatnonzero(~one_shot & (coin >= least - ROUNDING)).tolist():
            coin_of_it = WordStream(source, given=[int(words[row])]).uniform()
            one_shot[row] = not is_below(coin_of_it, self.low, self.high, self.exact)
        classes = Classes(np.full(draws, -1), np.zeros(draws, np.int64))
        there = np.flatnonzero(~one_shot)
        drawn_there = in_proportion(weights, len(there), source)
        classes.i[there], classes.j[there] = drawn_there.i, drawn_there.j
        return classes, one_shot

    def _winner(self, stream: WordStream) -> Indices | None:
        if not is_below(Uniform(stream.word), self.low, self.high, self.exact):
            return None
        return self.ranking.positions(members(self.ranking, gumbel_class(self.envelope, stream), stream))

    def exact(self) -> arb:
        """The log odds of canonical top-k at the working precision."""
        lead = self.rest.exact(self.least[0]) - self.junk.exact(self.least[1])
        return ball(self.slope) * (lead - ball(self.tau))


def switched(ranking: Ranking, slope: Fraction, tau: Fraction, first: Indices) -> Switch:
    """The choice before a race of all k-subsets; `first` says from which j on row i is junk, and some class must be."""
    envelope = proposals_of(ranking)
    rest = Family.all_but_junk(ranking, envelope.classes, first)
    junk = Family.junk(ranking, envelope.classes, first)
    (least_rest, most_rest), (least_junk, most_junk) = rest.bounds(), junk.bounds()
    low, high = least_rest - most_junk - float(tau), most_rest - least_junk - float(tau)
    error = ERROR * (1.0 + abs(most_rest) + abs(most_junk))
    odds = float(slope) * (low - error), float(slope) * (high + error)
    return Switch(ranking, envelope, slope, tau, rest, junk, (least_rest, least_junk), *odds)


def is_below(coin: Uniform, low: float, high: float, exact: Callable[[], arb]) -> bool:
    """Whether the log odds of the coin are below a number, exactly: its bounds in floats tell most of the time."""
    quick = told(coin, low, high)
    if quick is not None:
        return quick

    def ahead() -> arb:
        odds = exact() if coin.bits > 128 else around(low, high)
        uniform = coin.ball()
        return odds - (uniform / (1 - uniform)).log()

    return is_positive(formula(ahead, [coin]))


def told(coin: Uniform, low: float, high: float) -> bool | None:
    """Whether canonical top-k is chosen, by the bounds and the bits that are drawn; None where they do not tell."""
    if coin.high < 1.0 and _log_odds(coin.high, +1.0) < low:
        return True
    return False if coin.low and _log_odds(coin.low, -1.0) > high else None


def _log_odds(uniform: float, sign: float) -> float:
    """ln(u / (1 - u)), moved by far more than the floats are off."""
    odds = math.log(uniform) - math.log1p(-uniform)
    return odds + sign * ERROR * (1.0 + abs(odds))
