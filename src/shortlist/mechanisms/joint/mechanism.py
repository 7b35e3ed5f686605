"""Joint top-k: the exponential mechanism over ordered sequences (Theorem 77)."""

from __future__ import annotations

from dataclasses import InitVar
from fractions import Fraction
from typing import ClassVar, Unpack

import numpy as np

from shortlist._arrays import Indices
from shortlist.exact.sequence_classes import ladder
from shortlist.exact.sequence_laws import SequenceLaw, levels
from shortlist.mechanisms import utility
from shortlist.mechanisms.checks import (
    Budget,
    check_known_candidates,
    checked_budget,
    checked_draws,
    checked_k,
    checked_source,
)
from shortlist.mechanisms.contract import UNSAID, Budgeted, Outcome, described
from shortlist.mechanisms.oneshot.mechanism import epsilon_of_a_round
from shortlist.privacy import BoundedRange, Guarantee
from shortlist.sampling.entropy import Source
from shortlist.sampling.sequence_draw import Sequences
from shortlist.scores import Scores, ScoreWords


@described
class JointTopK(Budgeted[Budget]):
    """A sequence s of k candidates with probability proportional to e^(-epsilon loss(s) / (2 R)).

    The loss is max_i (x_[i] - x_{s_i}): by how much the worst place misses. Promise: epsilon-DP and epsilon-bounded
    range for the ordered sequence. R is the range sensitivity of the scores; the loss moves by up to R either way,
    hence the 2.

    Parameters
    ----------
    k
        How many items.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`; `ZCDP(rho)` and `ApproxDP(epsilon, delta)` are taken too.

    Examples
    --------
    >>> JointTopK(k=2, epsilon=1.0).charge
    BoundedRange(epsilon=1.0)
    """

    k: int
    epsilon: InitVar[float | None] = None
    budget: Guarantee = UNSAID

    proof: ClassVar[str] = "docs/mechanisms/joint.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        self._pay(checked_budget(epsilon, self.budget))

    @property
    def name(self) -> str:
        return f"joint top-{self.k}"

    @property
    def charge(self) -> Guarantee:
        return BoundedRange(epsilon_of_a_round(1, self.guarantee))

    @property
    def ordered(self) -> bool:
        return True

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, self.k)

    def _rate(self, scores: Scores) -> Fraction:
        """e / (2 R), exactly."""
        return Fraction(epsilon_of_a_round(1, self.guarantee)) / (2 * scores.range_sensitivity)

    def _sequences(self, scores: Scores) -> tuple[Sequences, Indices]:
        """(the law over sequences of ranks, the candidate at each rank)."""
        steps, candidates = ladder(scores._numbers, self.k)
        return Sequences(steps, self._rate(scores) * steps.unit), candidates

    def order_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[the released list is the true top k in order], ties counting as equal: exact, to 1e-9."""
        return self._law(self._studied(scores, question)).in_order()

    success_probability = utility.success_probability
    quality = utility.quality
    number_correct = utility.number_correct
    inclusion_probabilities = utility.inclusion_probabilities

    def _law(self, scores: Scores) -> SequenceLaw:
        sequences, candidates = self._sequences(scores)
        support = levels(sequences.steps, sequences.rate)
        return SequenceLaw(support, support.chances, candidates, len(scores))

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        sequences, candidates = self._sequences(scores)
        return Outcome([int(candidates[rank]) for rank in sequences.draw(source)])

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Indices:
        """The positions of independent draws, one row each, for study and audit of public scores."""
        sequences, candidates = self._sequences(self._studied(scores, question))
        source = checked_source(rng)
        rows: Indices = candidates[np.array(sequences.draw_many(source, checked_draws(draws)))]
        return rows
