"""The winner of an exponential mechanism whose candidates have public weights of their own (Theorem 241).

P[i] is in proportion to w_i e^(x_i / scale): a race in which candidate i starts ln(w_i) ahead of its score.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.exact.noise_distributions import GUMBEL
from shortlist.exact.partial_reals import NoisyScore, Real, ball
from shortlist.exact.score_intervals import POSITION_ROUNDING, Contest, kth_largest, ranking
from shortlist.mechanisms.checks import checked_draws, checked_source
from shortlist.mechanisms.contract import Outcome
from shortlist.mechanisms.oneshot.law import OneshotLaw
from shortlist.mechanisms.oneshot.mechanism import OneshotTopK
from shortlist.privacy import Guarantee
from shortlist.sampling.entropy import Source
from shortlist.scores import Scores

if TYPE_CHECKING:
    from flint import arb


class WeightedScore(NoisyScore):
    """A runner that starts ln(weight) ahead, exactly."""

    __slots__ = ("weight",)

    def __init__(self, runner: NoisyScore, weight: Fraction) -> None:
        super().__init__(runner.position, runner.draw, runner.scale)
        self.weight = weight

    def minus(self, other: NoisyScore) -> Real:
        """The difference of two."""
        plain, ratio = super().minus(other), self.weight / getattr(other, "weight", Fraction(1))

        def bounds() -> tuple[arb, arb]:
            low, high = plain.bounds()
            ahead = ball(ratio).log()
            return (low + ahead).lower(), (high + ahead).upper()

        return Real(bounds, plain.numbers, plain.magnitude)


@dataclass(frozen=True, slots=True)
class WeightedMax:
    """The candidate with the largest x_i + scale (ln w_i + N_i), N_i Gumbel noise: every candidate draws."""

    plain: OneshotTopK
    prior: tuple[Fraction, ...]

    @property
    def charge(self) -> Guarantee:
        """The charge of equal weights: public weights cost nothing."""
        return self.plain.charge

    def _check(self, scores: Scores) -> None:
        if not scores.numbered:
            raise ValueError(
                "prior= says one weight for each candidate in its order, and candidates counted from a table have "
                "none: leave prior= out"
            )
        self.plain._check(scores)
        if len(self.prior) != scores._size:
            raise ValueError(f"prior must have a weight for each of the {scores._size} candidates")

    def _scale(self, scores: Scores) -> Fraction:
        return self.plain._scale(scores)

    def _contest(self, scores: Scores) -> Contest:
        values = scores._numbers
        return Contest(values, 1, self._scale(scores), GUMBEL, kth_largest(values, 1))

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        return Outcome([self._winner(self._contest(scores), source)])

    def _winner(self, contest: Contest, source: Source) -> int:
        words = source.words(len(contest.values))
        with np.errstate(all="ignore"):
            low, high = contest.intervals(contest.values, words, 0)
            ahead = _logarithms(self.prior)
            low, high = low + ahead - _slack(low, ahead), high + ahead + _slack(high, ahead)

        @cache
        def exact(i: int) -> NoisyScore:
            return WeightedScore(contest.noisy_score(i, int(words[i]), 0, source), self.prior[i])

        return int(ranking(low, high, 1, exact)[0])

    def release_many(self, scores: Scores, *, draws: int, rng: Source | None) -> Indices:
        """The positions of independent winners, one row each."""
        contest, source = self._contest(scores), checked_source(rng)
        return np.array([[self._winner(contest, source)] for _ in range(checked_draws(draws))])

    def _law(self, scores: Scores) -> OneshotLaw:
        """That of scores which are ahead by the logarithms of their weights."""
        values = scores.values
        positions = self._contest(scores).positions(values) + _logarithms(self.prior)
        return OneshotLaw(np.where(values == -np.inf, -np.inf, positions), 1, GUMBEL)


def _slack(ends: Floats, ahead: Floats) -> Floats:
    """More than the rounding of ends + ahead and of the logarithms; ends that are infinite stay so."""
    return POSITION_ROUNDING * (np.abs(ahead) + np.where(np.isinf(ends), 0.0, np.abs(ends))) + 1e-300


@lru_cache(maxsize=8)
def _logarithms(prior: tuple[Fraction, ...]) -> Floats:
    """ln w_i to a relative error of POSITION_ROUNDING / 2, by ball arithmetic."""
    from flint import ctx

    with ctx.workprec(160):
        return np.array([float(ball(weight).log()) for weight in prior])
