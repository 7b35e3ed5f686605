"""Joint top-k: the exponential mechanism over ordered sequences (Theorem 77), the strongest published competitor."""

from __future__ import annotations

from dataclasses import InitVar
from fractions import Fraction
from typing import ClassVar, Unpack

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.exact.quality import Quality
from shortlist.exact.sequence_classes import ladder
from shortlist.exact.sequence_laws import SequenceLaw, gumbel_law
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
from shortlist.smallest import question_of


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

    def _law(self, scores: object, question: ScoreWords) -> tuple[SequenceLaw, Indices]:
        """(the law of the level, the candidate at each rank), of public scores."""
        sequences, candidates = self._sequences(self._studied(scores, question))
        return gumbel_law(sequences.steps, sequences.rate), candidates

    def order_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[the released list is the true top k in order], ties counting as equal: exact, to 1e-9."""
        return self._law(scores, question)[0].in_order()

    def success_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[the released set is a true top k], ties counting as equal: exact, to 1e-9."""
        return self._law(scores, question)[0].success()

    def quality(self, scores: object, **question: Unpack[ScoreWords]) -> Quality:
        """P[top], P[great], P[good] and the expected recall of the released set (Definition 118): exact, to 1e-9."""
        return self._law(scores, question)[0].quality()

    def number_correct(self, scores: object, **question: Unpack[ScoreWords]) -> Floats:
        """P[c of the released items score at least the k-th largest], c = 0..k: exact, to 1e-9."""
        return self._law(scores, question)[0].number_correct()

    def inclusion_probabilities(self, scores: object, **question: Unpack[ScoreWords]) -> Floats:
        """P[candidate i is released], for every candidate: exact, to 1e-9."""
        law, candidates = self._law(scores, question)
        return law.inclusion(candidates, len(question_of(scores, question)))

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
