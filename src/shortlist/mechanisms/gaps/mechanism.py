"""Top-k with gaps: the k largest noisy scores in order, and by how much each is ahead of the next.

With Laplace noise (Theorem 80) and with exponential noise (Theorem 81).
"""

from __future__ import annotations

from dataclasses import InitVar
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import ClassVar, Unpack

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.accounting.checks import number
from shortlist.estimates import ChainedGaps, best_linear
from shortlist.exact.margins import refined_margin
from shortlist.exact.noise_distributions import EXPONENTIAL, LAPLACE, Noise
from shortlist.exact.partial_reals import rounded
from shortlist.extras import Extras
from shortlist.mechanisms import utility
from shortlist.mechanisms.booking import record_of
from shortlist.mechanisms.checks import (
    check_known_candidates,
    checked_draws,
    checked_k,
    checked_pure,
    checked_source,
    checked_work,
)
from shortlist.mechanisms.contract import UNSAID, Budgeted, Draws, Outcome, described
from shortlist.mechanisms.oneshot.law import OneshotLaw
from shortlist.privacy import Guarantee, PureDP
from shortlist.sampling.additive import add_noise, add_noise_to_rows
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import Work, race
from shortlist.sampling.race_batch import Field, Rows
from shortlist.scores import Scores, ScoreWords

DEVIATIONS = {EXPONENTIAL.name: 1.0, LAPLACE.name: sqrt(2.0)}
"""The standard deviation of the noises of scale 1 whose gaps may be released."""

CLEAR_ORDER = (
    "each value is made of a new noisy measurement and the leads, and its margin is that of this noise where the order "
    "was clear; where it was close, or many candidates stood close behind, values are off by more and more often: for "
    "margins that always hold leave gaps=True out"
)


@described
class TopKWithGaps(Budgeted[PureDP]):
    """The k largest of x_i + N_i in order, each with its lead over the next; N_i is noise of scale k R / epsilon.

    Promise: epsilon-DP for items, order and all k gaps; the gaps are free. The last gap is the lead over the best
    loser, who is not named, so k + 1 candidates are needed. Pure budgets only: a gap has no bounded range.

    Parameters
    ----------
    k
        How many items, fewer than there are candidates.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`.
    scale
        Short for the epsilon at which the noise has that scale, in units of the range sensitivity: epsilon = k / scale.
    noise
        `"exponential"` (half the variance) or `"laplace"`.
    work
        `"adaptive"` is fast; `"fixed"` draws noise for every candidate, whatever the scores are.

    Examples
    --------
    >>> release = TopKWithGaps(k=2, epsilon=1.0).release([9000, 5000, 20, 7], monotone=True)
    >>> release.indices, len(release.gaps)
    ([0, 1], 2)
    """

    k: int
    epsilon: InitVar[float | None] = None
    scale: InitVar[float | None] = None
    budget: Guarantee = UNSAID
    noise: str = "exponential"
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/top-k-with-gaps.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None, scale: float | None) -> None:
        _store(self, "top-k with gaps", epsilon, scale)

    @property
    def name(self) -> str:
        return f"top-{self.k} with gaps and {self.noise} noise"

    @property
    def ordered(self) -> bool:
        return True

    def _check(self, scores: Scores) -> None:
        _check_loser(scores, self.k)

    def _scale(self, scores: Scores) -> Fraction:
        return selection_scale(scores, self.k, Fraction(self.guarantee.epsilon))

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        scale = self._scale(scores)
        indices, gaps = winners_with_gaps(scores, self.k, scale, checked_gap_noise(self.noise), source, self.work)
        return Outcome(indices, Extras(gaps=gaps, evidence=ChainedGaps(DEVIATIONS[self.noise] * rounded(scale))))

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Draws:
        """The positions and gaps of independent draws, one row each, for study and audit of public scores."""
        scores = self._studied(scores, question)
        field = Field(scores.values, self.k + 1, self._scale(scores), checked_gap_noise(self.noise))
        races = field.races(checked_draws(draws), checked_source(rng))
        return Draws.of_rows((rows.indices[:, : self.k], rows.gaps()) for rows in races)

    probabilities = utility.probabilities
    success_probability = utility.success_probability
    quality = utility.quality
    inclusion_probabilities = utility.inclusion_probabilities

    def _law(self, scores: Scores) -> OneshotLaw:
        """That of one-shot top-k: gaps and values change nothing of who is released."""
        return OneshotLaw.of(scores.values, self.k, self._scale(scores), checked_gap_noise(self.noise))


@described
class MeasuredTopK(Budgeted[PureDP]):
    """The k best, selected with one part of epsilon, then measured with the other, gaps and measurements combined.

    Promise: epsilon-DP. Selection is `TopKWithGaps(theta epsilon)`. Each winner's score is then measured with fresh
    Laplace noise of scale k Delta / ((1 - theta) epsilon): one person moves the k scores by at most k Delta in all.
    `values` are the best linear estimates from both (`gaps` come along); against the measurements alone their mean
    squared error is less by (k - 1) / (k (1 + lambda)), lambda = 1/2 for exponential noise, monotone scores and halves.
    That, and the margins, hold where the order is clear: the noise of a selected item tends to be large, the more so
    the more candidates stood close behind, and it is in the gaps. `MeasuredSet` has margins that hold always.

    Parameters
    ----------
    k
        How many items, fewer than there are candidates.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`, the only kind there is for it.
    noise
        Of the selection: `"exponential"` (half the variance) or `"laplace"`.
    theta
        The share of epsilon that selects, in (0, 1): half, unless said. None: from half on the one with the least
        variance of the values, to a thousandth; it is half for small k, and .772 for k = 100 counts.
    work
        `"adaptive"` is fast; `"fixed"` draws noise for every candidate, whatever the scores are.

    Examples
    --------
    >>> len(MeasuredTopK(k=2, epsilon=1.0).release([9000, 5000, 20, 7], monotone=True).values)
    2
    """

    k: int
    epsilon: InitVar[float | None] = None
    budget: Guarantee = UNSAID
    noise: str = "exponential"
    theta: float | None = 0.5
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/top-k-with-gaps.md#select-measure-refine"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None) -> None:
        _store(self, "measured top-k", epsilon)
        if self.theta is not None:
            number("theta", self.theta, above=True, below=1.0)

    def __repr__(self) -> str:
        """As of every mechanism; another share than half stands in it, so that older records read as they did."""
        words = ["k", "budget", "noise", *["theta"] * (self.theta != 0.5), "work"]
        return record_of(self, words)

    @property
    def name(self) -> str:
        return f"measured top-{self.k} with gaps and {self.noise} noise"

    @property
    def ordered(self) -> bool:
        return True

    def _check(self, scores: Scores) -> None:
        _check_loser(scores, self.k)

    def _scales(self, scores: Scores) -> tuple[Fraction, Fraction]:
        """Of the noise that selects, and of the noise that measures."""
        share, epsilon = Fraction(self.share(scores)), Fraction(self.guarantee.epsilon)
        selection = selection_scale(scores, self.k, share * epsilon)
        return selection, self.k * scores.largest_sensitivity / ((1 - share) * epsilon)

    def share(self, scores: Scores) -> float:
        """The share of epsilon that selects: a public number."""
        if self.theta is not None:
            return self.theta
        return least_variance_split(self.k, float(scores.range_sensitivity / scores.largest_sensitivity), self.noise)

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        selection, scale = self._scales(scores)
        noise = checked_gap_noise(self.noise)
        indices, gaps = winners_with_gaps(scores, self.k, selection, noise, source, self.work)
        measurements = [
            add_noise(scores._numbers[i].item(), scale=scale, noise=LAPLACE, source=source) for i in indices
        ]
        values = best_linear(measurements, gaps, self._ratio(scores))
        margins = [refined_margin(self.k, scale, selection, self.noise)] * self.k
        return Outcome(indices, Extras(values=values, margins=margins, gaps=gaps), (CLEAR_ORDER,))

    def _ratio(self, scores: Scores) -> float:
        """The variance of the noise that selects, in units of that which measures."""
        selection, scale = self._scales(scores)
        return float((selection / scale) ** 2 * Fraction(DEVIATIONS[self.noise]) ** 2 / 2)

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Draws:
        """The positions and reals of independent draws, one row each, for study and audit of public scores.

        The reals are the k gaps, then the k values: the estimate from gaps and measurements on their grids.
        """
        scores, source = self._studied(scores, question), checked_source(rng)
        selection, scale = self._scales(scores)
        numbers, ratio = scores.values, self._ratio(scores)

        def read(rows: Rows) -> tuple[Indices, Floats]:
            indices, gaps = rows.indices[:, : self.k], rows.gaps()
            measurements = add_noise_to_rows(numbers[indices], scale=scale, noise=LAPLACE, source=source)
            values = best_linear(list(measurements.T), list(gaps.T), ratio)
            return indices, np.column_stack([gaps, *values])

        field = Field(numbers, self.k + 1, selection, checked_gap_noise(self.noise))
        rows = Draws.of_rows(map(read, field.races(checked_draws(draws), source)))
        return rows.as_they_were(scores, first=self.k)

    probabilities = utility.probabilities
    success_probability = utility.success_probability
    quality = utility.quality
    inclusion_probabilities = utility.inclusion_probabilities

    def _law(self, scores: Scores) -> OneshotLaw:
        """That of one-shot top-k: gaps and values change nothing of who is released."""
        return OneshotLaw.of(scores.values, self.k, self._scales(scores)[0], checked_gap_noise(self.noise))


def _store(
    mechanism: TopKWithGaps | MeasuredTopK, what: str, epsilon: float | None, scale: float | None = None
) -> None:
    object.__setattr__(mechanism, "k", checked_k(mechanism.k))
    mechanism._pay(checked_pure(what, epsilon, mechanism.budget, scale, mechanism.k))
    checked_gap_noise(mechanism.noise)
    checked_work(mechanism.work)


def checked_gap_noise(noise: object) -> Noise:
    """A noise by its name, if gaps under it are proved."""
    kinds = {EXPONENTIAL.name: EXPONENTIAL, LAPLACE.name: LAPLACE}
    if not isinstance(noise, str) or noise not in kinds:
        raise ValueError(
            'noise must be "exponential" or "laplace": for other noise, geometric noise with a fixed order of ties '
            "among it, the gap to the best loser is not covered by the proof. For whole gaps round gaps of exponential "
            "noise down"
        )
    return kinds[noise]


def selection_scale(scores: Scores, k: int, epsilon: Fraction) -> Fraction:
    """k R / epsilon, exactly."""
    return k * scores.range_sensitivity / epsilon


def winners_with_gaps(
    scores: Scores, k: int, scale: Fraction, noise: Noise, source: Source, work: Work
) -> tuple[list[int], list[float]]:
    """The k winners and their k gaps: a race of k + 1, whose last one stays unnamed."""
    finish = race(scores._numbers, k=k + 1, scale=scale, noise=noise, source=source, work=work)
    return [int(i) for i in finish.indices[:k]], finish.gaps()


def _check_loser(scores: Scores, k: int) -> None:
    """k winners and one loser must be there: the number of candidates is public."""
    check_known_candidates(scores, k)
    try:
        check_known_candidates(scores, k + 1)
    except ValueError:
        raise ValueError(
            f"k={k} gaps need {k + 1} candidates, the last gap being the lead over the best loser; choose a smaller k"
        ) from None


@lru_cache
def least_variance_split(k: int, relative: float, noise: str) -> float:
    """From half on the share theta of the selection with the least variance of the refined values (Proposition 259).

    (1 + lambda k) / ((1 - theta)^2 (1 + lambda)), lambda = (R / Delta)^2 ((1 - theta) / theta)^2 / 2, or without the 2
    for Laplace noise; to a thousandth.
    """
    theta: Floats = np.arange(500, 1000) / 1000
    ratio = (DEVIATIONS[noise] * relative * (1 - theta) / theta) ** 2 / 2
    return float(theta[np.argmin((1 + ratio * k) / ((1 - theta) ** 2 * (1 + ratio)))])
