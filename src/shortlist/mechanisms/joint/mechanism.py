"""Joint top-k: the exponential mechanism over ordered sequences (Theorem 77), the strongest published competitor."""

from __future__ import annotations

from dataclasses import InitVar
from fractions import Fraction
from typing import ClassVar, Unpack

import numpy as np

from shortlist._arrays import Floats, Indices, Values
from shortlist.exact.quality import Quality, ranks_within
from shortlist.exact.sequence_classes import (
    MOST,
    MOST_FLOATS,
    Ladder,
    inclusion_of_ranks,
    ladder,
    number_correct,
    within,
)
from shortlist.mechanisms.checks import (
    Budget,
    check_known_candidates,
    checked_budget,
    checked_draws,
    checked_k,
    checked_source,
)
from shortlist.mechanisms.contract import UNSAID, Budgeted, Outcome, described
from shortlist.mechanisms.joint.sampler import Sequences
from shortlist.mechanisms.oneshot.mechanism import epsilon_of_a_round
from shortlist.privacy import BoundedRange, Guarantee
from shortlist.sampling.entropy import Source
from shortlist.scores import Scores, ScoreWords, as_scores


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
        most = MOST_FLOATS if scores._numbers.dtype.kind == "f" else MOST
        if self.k * scores._size > most:
            raise ValueError(
                f"joint top-k needs k times the number of candidates to be at most {most:,} for such scores"
            )

    def _rate(self, scores: Scores) -> Fraction:
        """e / (2 R), exactly."""
        return Fraction(epsilon_of_a_round(1, self.guarantee)) / (2 * scores.range_sensitivity)

    def _sequences(self, scores: Scores) -> tuple[Sequences, Indices]:
        """(the law over sequences of ranks, the candidate at each rank)."""
        whole, unit, chosen = _as_integers(scores._numbers)
        order = np.argsort(-whole, kind="stable")
        return Sequences(ladder(whole[order], self.k), self._rate(scores) * unit), chosen[order]

    def success_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[the released set is a true top k], ties counting as equal: exact, to 1e-9."""
        law, _ = self._sequences(self._studied(scores, question))
        better, enough = _ranks_about_k(law.ladder)
        return within(law.ladder, law.rate, better, enough)

    def quality(self, scores: object, **question: Unpack[ScoreWords]) -> Quality:
        """P[top], P[great], P[good] and the expected recall of the released set (Definition 118): exact, to 1e-9."""
        asked = self._studied(scores, question)
        law, _ = self._sequences(asked)
        better, enough = _ranks_about_k(law.ladder)
        words = ranks_within(np.sort(asked.values)[::-1], self.k)
        top, great, good = (within(law.ladder, law.rate, *ranks) for ranks in ((better, enough), *words))
        recall = float(number_correct(law.ladder, law.rate, enough) @ np.arange(self.k + 1)) / self.k
        return Quality(top=top, great=great, good=good, recall=recall)

    def number_correct(self, scores: object, **question: Unpack[ScoreWords]) -> Floats:
        """P[c of the released items score at least the k-th largest], c = 0..k: exact, to 1e-9."""
        law, _ = self._sequences(self._studied(scores, question))
        return number_correct(law.ladder, law.rate, _ranks_about_k(law.ladder)[1])

    def inclusion_probabilities(self, scores: object, **question: Unpack[ScoreWords]) -> Floats:
        """P[candidate i is released], for every candidate: exact, to 1e-9."""
        law, candidates = self._sequences(self._studied(scores, question))
        result = np.zeros(len(as_scores(scores, **question)))
        result[candidates] = inclusion_of_ranks(law.ladder, law.rate)
        return result

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


def _ranks_about_k(steps: Ladder) -> tuple[int, int]:
    """(how many candidates score above the k-th largest, how many at least as much)."""
    kth = steps.scores[steps.k - 1]
    return int(np.count_nonzero(steps.scores > kth)), int(np.count_nonzero(steps.scores >= kth))


def _as_integers(values: Values) -> tuple[Values, Fraction, Indices]:
    """(whole numbers, unit, positions): the scores above -inf are, up to a shift, the whole numbers times the unit.

    Exactly: floats are binary fractions. Numbers that 64 bits do not hold are Python integers in an object array.
    """
    if values.dtype.kind != "f" and int(values.max()) - int(values.min()) < 2**62:
        return values.astype(np.int64) - int(values.max()), Fraction(1), np.arange(len(values))
    chosen = np.flatnonzero(values > -np.inf)
    exact = [Fraction(value) for value in values[chosen].tolist()]
    unit = max(value.denominator for value in exact)
    whole = [int(value * unit) for value in exact]
    top = max(whole)
    dtype = np.int64 if top - min(whole) < 2**62 else object
    return np.array([value - top for value in whole], dtype), Fraction(1, unit), chosen
