"""Hybrids of top-k and sparse vector: at most k winners above a threshold, paid by their number (Theorem 99)."""

from __future__ import annotations

from dataclasses import InitVar, replace
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Unpack

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.accounting.checks import number
from shortlist.estimates import ChainedGaps, EndedGaps, ThresholdGaps
from shortlist.exact.line_race import LineRace
from shortlist.exact.margins import laplace_margin
from shortlist.exact.noise_distributions import EXPONENTIAL
from shortlist.exact.partial_reals import nearest_float, rounded
from shortlist.extras import Extras
from shortlist.ledger.filter import Currency
from shortlist.mechanisms.checks import (
    check_known_candidates,
    checked_draws,
    checked_k,
    checked_pure,
    checked_source,
    checked_threshold,
    checked_work,
)
from shortlist.mechanisms.contract import UNSAID, Budgeted, Draws, Outcome, described
from shortlist.mechanisms.hybrids import law
from shortlist.mechanisms.sparse_vector.mechanism import gap_law, least_variance_share
from shortlist.mechanisms.sparse_vector.stream import ex_post
from shortlist.privacy import Guarantee, PureDP
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import Work, race
from shortlist.sampling.race_batch import LINE, ExactFinish, Field, Rows, Runner, difference, how_many_above, padded
from shortlist.scores import Scores, ScoreWords

ENDED = "the threshold ended the list: the last gap is the lead over the threshold, noise included"
ESTIMATED = (
    "values are the threshold and the lead over it, with margins of the noise as it was drawn; whoever is there "
    "because its noise was large is estimated too high"
)
FULL = "the list is full: the last gap is the lead over whoever came next, the threshold or a loser"


@described
class HybridTopK(Budgeted[PureDP]):
    """Top-k with gaps in which the threshold runs as well: the list ends where the threshold finishes, or after k.

    Promise: epsilon-DP. Items and threshold get exponential noise of scale k R / epsilon. A list of n items that the
    threshold ended has log ratios of at most (n + Delta / R) epsilon / k, a full one of at most epsilon: `cost`. That
    is a statement about one outcome; the mechanism is epsilon-DP and nothing less.

    Where the threshold ended the list the gaps give estimates, free: `values` with `margins`, `lower_bound`, and
    `refine` knows the threshold too (Theorem 253). Of a full list there are no values. With `largest=False` it is the
    smallest below the threshold that are released, with `upper_bound`.

    Parameters
    ----------
    threshold
        A public number; the list ends where it is reached.
    k
        How many items at most.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`, the only kind there is for it.
    work
        `"adaptive"` is fast; `"fixed"` draws noise for every candidate, whatever the scores are.

    Examples
    --------
    >>> release = HybridTopK(threshold=1000, k=3, epsilon=1.0).release([9000, 5000, 20, 7], monotone=True)
    >>> release.indices, release.stopped, round(release.cost, 6)
    ([0, 1], True, 1.0)
    """

    threshold: int | float
    k: int
    epsilon: InitVar[float | None] = None
    budget: Guarantee = UNSAID
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/hybrids.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None) -> None:
        _store(self, "hybrid top-k", epsilon)

    @property
    def name(self) -> str:
        return f"hybrid top-{self.k} with gaps and a threshold"

    @property
    def refundable(self) -> tuple[Currency, ...]:
        return ("pure",)

    @property
    def ordered(self) -> bool:
        return True

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, 1)

    def _scale(self, scores: Scores) -> Fraction:
        """k R / epsilon, exactly."""
        return self.k * scores.range_sensitivity / Fraction(self.guarantee.epsilon)

    def _line(self, scores: Scores) -> Runner:
        return Runner(Fraction(_threshold(self, scores)), self._scale(scores), EXPONENTIAL)

    def _cost(self, scores: Scores, count: int) -> Fraction:
        """What a list of so many items costs: the threshold ended it if they are fewer than k."""
        relative = scores.largest_sensitivity / scores.range_sensitivity
        return (count + relative if count < self.k else Fraction(self.k)) * Fraction(self.guarantee.epsilon) / self.k

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        scale = self._scale(scores)
        indices, finishes = _best(scores, self.k + 1, scale, source, self.work)
        line = self._line(scores).draw(source)
        above = how_many_above(finishes, line)
        stopped = above < self.k
        count = min(above, self.k)
        chain = [*finishes[:above], line, *finishes[above:]][: count + 1]
        gaps = [_lead(one, two) for one, two in pairwise(chain)]
        extras = Extras(
            gaps=gaps,
            stopped=stopped,
            kept=ex_post(Fraction(self.guarantee.epsilon), self._cost(scores, count)),
            evidence=ChainedGaps(rounded(scale)),
        )
        if not stopped:
            return Outcome(indices[:count], extras, notes=(FULL,))
        evidence = EndedGaps(gap_law("exponential", _threshold(self, scores), scale, scale, Fraction(0)))
        margins = [laplace_margin(scale)] * count
        extras = replace(extras, evidence=evidence, values=evidence.estimates(gaps), margins=margins)
        return Outcome(indices[:count], extras, notes=(ENDED, _estimated(scores)))

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Draws:
        """The positions and gaps of independent draws, one row each, for study and audit of public scores."""
        scores = self._studied(scores, question)
        field = Field(scores.values, self.k + 1, self._scale(scores), EXPONENTIAL, self._line(scores))
        races = field.races(checked_draws(draws), checked_source(rng))
        return Draws.of_rows(_cut(rows, rows.gaps(), self.k) for rows in races)

    probabilities = law.probabilities
    success_probability = law.success_probability
    quality = law.quality
    inclusion_probabilities = law.inclusion_probabilities
    number_released = law.number_released

    def _law(self, scores: Scores) -> LineRace:
        return law.race_of(scores, _threshold(self, scores), self.k, self._scale(scores), self._line(scores))


@described
class HybridSparseVector(Budgeted[PureDP]):
    """The items above a noisy threshold, the k largest at most, each with its gap to the threshold.

    Promise: epsilon-DP. The threshold gets centred exponential noise of scale Delta / e0, every item of scale R / e1;
    e0 = theta epsilon, e1 = (1 - theta) epsilon / k. An outcome of n items has log ratios of at most e0 + n e1: `cost`.
    That is a statement about one outcome; the mechanism is epsilon-DP and nothing less. The gaps give estimates,
    free: `values` with `margins`, `lower_bound` and `refine`. With `largest=False` it is the items below the threshold,
    the k smallest at most, with `upper_bound`.

    Parameters
    ----------
    threshold
        A public number.
    k
        How many items at most.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`, the only kind there is for it.
    theta
        The share of epsilon for the threshold, between 0 and 1; None is the best one for the noise of the gaps.
    work
        `"adaptive"` is fast; `"fixed"` draws noise for every candidate, whatever the scores are.

    Examples
    --------
    >>> release = HybridSparseVector(threshold=1000, k=3, epsilon=1.0).release([9000, 20, 5000, 7], monotone=True)
    >>> release.indices, release.cost < 1.0
    ([0, 2], True)
    """

    threshold: int | float
    k: int
    epsilon: InitVar[float | None] = None
    budget: Guarantee = UNSAID
    theta: float | None = None
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/hybrids.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None) -> None:
        _store(self, "hybrid sparse vector", epsilon)
        if self.theta is not None:
            number("theta", self.theta, above=True, below=1.0)

    @property
    def name(self) -> str:
        return f"hybrid sparse vector, at most {self.k}"

    @property
    def refundable(self) -> tuple[Currency, ...]:
        return ("pure",)

    @property
    def ordered(self) -> bool:
        return True

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, 1)

    def shares(self, scores: Scores) -> tuple[Fraction, Fraction]:
        """(e0, e1), exactly: what the threshold costs, and each item."""
        epsilon, relative = Fraction(self.guarantee.epsilon), scores.range_sensitivity / scores.largest_sensitivity
        share = Fraction(least_variance_share(self.k * relative) if self.theta is None else self.theta)
        return share * epsilon, (1 - share) * epsilon / self.k

    def _scales(self, scores: Scores) -> tuple[Fraction, Fraction]:
        """Of the threshold's noise, and of each item's."""
        first, each = self.shares(scores)
        return scores.largest_sensitivity / first, scores.range_sensitivity / each

    def _line(self, scores: Scores) -> Runner:
        """The threshold, noise centred on both sides."""
        below, scale = self._scales(scores)
        return Runner(Fraction(_threshold(self, scores)) + scale - below, below, EXPONENTIAL)

    def _cost(self, scores: Scores, count: int) -> Fraction:
        """What an outcome of so many items costs."""
        first, each = self.shares(scores)
        return first + count * each

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        below, scale = self._scales(scores)
        indices, finishes = _best(scores, self.k, scale, source, self.work)
        line = self._line(scores).draw(source)
        count = how_many_above(finishes, line)
        lead = gap_law("exponential", _threshold(self, scores), below, scale, Fraction(0))
        gaps, evidence = [_lead(one, line) for one in finishes[:count]], ThresholdGaps((lead,) * count)
        extras = Extras(
            gaps=gaps,
            values=evidence.estimates(gaps),
            margins=[lead.margin] * count,
            stopped=count < self.k,
            kept=ex_post(Fraction(self.guarantee.epsilon), self._cost(scores, count)),
            evidence=evidence,
        )
        return Outcome(indices[:count], extras, notes=(_estimated(scores),))

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Draws:
        """The positions and gaps of independent draws, one row each, for study and audit of public scores."""
        scores = self._studied(scores, question)
        field = Field(scores.values, self.k + 1, self._scales(scores)[1], EXPONENTIAL, self._line(scores))
        races = field.races(checked_draws(draws), checked_source(rng))
        return Draws.of_rows(_cut(rows, rows.leads(), self.k) for rows in races)

    probabilities = law.probabilities
    success_probability = law.success_probability
    quality = law.quality
    inclusion_probabilities = law.inclusion_probabilities
    number_released = law.number_released

    def _law(self, scores: Scores) -> LineRace:
        return law.race_of(scores, _threshold(self, scores), self.k, self._scales(scores)[1], self._line(scores))


def _store(mechanism: HybridTopK | HybridSparseVector, what: str, epsilon: float | None) -> None:
    object.__setattr__(mechanism, "threshold", checked_threshold(mechanism.threshold))
    object.__setattr__(mechanism, "k", checked_k(mechanism.k))
    mechanism._pay(checked_pure(what, epsilon, mechanism.budget))
    checked_work(mechanism.work)


def _threshold(mechanism: HybridTopK | HybridSparseVector, scores: Scores) -> int | float:
    """The public number, negated as the scores were: of the smallest, those below it are wanted."""
    return -mechanism.threshold if scores._turned else mechanism.threshold


def _estimated(scores: Scores) -> str:
    if not scores._turned:
        return ESTIMATED
    return ESTIMATED.replace("and the lead", "less the lead").replace("was large", "was low").replace("high", "low")


def _best(
    scores: Scores, most: int, scale: Fraction, source: Source, work: Work
) -> tuple[list[int], list[ExactFinish]]:
    """The largest noisy scores, `most` of them or all there are."""
    values = scores._numbers
    finish = race(values, k=min(most, scores._choosable), scale=scale, noise=EXPONENTIAL, source=source, work=work)
    return [int(i) for i in finish.indices], finish.finishes()


def _cut(rows: Rows, gaps: Floats, k: int) -> tuple[Indices, Floats]:
    """The k winners and their gaps, as far as the threshold lets them."""
    ahead = rows.ahead()
    return padded(rows.indices, ahead, k, LINE), padded(gaps, ahead, k, np.nan)


def _lead(one: ExactFinish, two: ExactFinish) -> float:
    return nearest_float(difference(one, two))
