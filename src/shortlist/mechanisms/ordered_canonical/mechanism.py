"""Ordered canonical top-k: one noisy maximum over all lists of k, where the right list gets its gap (Theorem 187).

It is the joint mechanism with one change: the right list loses not 0 but minus the smallest lead that a place has on
the next. That costs no privacy, and for the exact order it needs about half the epsilon.
"""

from __future__ import annotations

from dataclasses import InitVar
from fractions import Fraction
from typing import ClassVar, Unpack

import numpy as np

from shortlist._arrays import Indices
from shortlist.exact.noise_distributions import EXPONENTIAL, GUMBEL, Noise
from shortlist.exact.sequence_classes import ladder
from shortlist.exact.sequence_laws import SequenceLaw, levels, race_chances
from shortlist.mechanisms import utility
from shortlist.mechanisms.checks import (
    Budget,
    check_known_candidates,
    check_noise_keeps,
    checked_budget,
    checked_draws,
    checked_k,
    checked_source,
    noise_for,
)
from shortlist.mechanisms.contract import UNSAID, Budgeted, Outcome, described
from shortlist.mechanisms.oneshot.mechanism import charge_of_rounds, epsilon_of_a_round
from shortlist.privacy import Guarantee
from shortlist.sampling.entropy import Source
from shortlist.sampling.sequence_draw import SequenceRace, Sequences, envelope_of
from shortlist.scores import Scores, ScoreWords


@described
class OrderedCanonicalTopK(Budgeted[Budget]):
    """The list s of k candidates with the largest N_s - epsilon loss(s) / (2 R), with independent noise N_s of scale 1.

    The loss of a wrong list is max_i (x_[i] - x_{s_i}), by how much its worst place misses. That of a right one is
    minus the least gap x_[i] - x_[i+1], i = 1..k: 0 where scores tie, and then every order of them is right. It moves
    by up to R either way, R the range sensitivity of the scores.

    Promise: epsilon-DP for the ordered list; with Gumbel noise epsilon-bounded range, and then epsilon is the largest
    that fits a zCDP or (epsilon, delta) budget.

    Parameters
    ----------
    k
        How many items.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`; Gumbel noise also takes `ZCDP(rho)` and
        `ApproxDP(epsilon, delta)`.
    noise
        None is `"exponential"` for a pure budget and `"gumbel"` for any other; no other noise is known here.

    Examples
    --------
    >>> OrderedCanonicalTopK(k=2, epsilon=1.0).release([900, 20, 500, 7], monotone=True).items
    [0, 2]
    """

    k: int
    epsilon: InitVar[float | None] = None
    budget: Guarantee = UNSAID
    noise: str | Noise | None = None

    proof: ClassVar[str] = "docs/mechanisms/ordered-canonical.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        self._pay(checked_budget(epsilon, self.budget))
        kind = self._kind
        if kind not in (GUMBEL, EXPONENTIAL):
            raise ValueError(f'{kind.name} noise has no exact draw of lists; write noise="exponential" or "gumbel"')
        check_noise_keeps(kind, self.guarantee)

    @property
    def _kind(self) -> Noise:
        return noise_for(self.noise, self.guarantee)

    @property
    def name(self) -> str:
        return f"ordered canonical top-{self.k} with {self._kind.name} noise"

    @property
    def charge(self) -> Guarantee:
        """With Gumbel noise bounded range, which says more than the budget; otherwise the budget."""
        return charge_of_rounds(1, self._kind, self.guarantee)

    @property
    def ordered(self) -> bool:
        return True

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, self.k)

    def _rate(self, scores: Scores) -> Fraction:
        """e / (2 R), exactly."""
        return Fraction(epsilon_of_a_round(1, self.guarantee)) / (2 * scores.range_sensitivity)

    def _race(self, scores: Scores) -> tuple[Sequences | SequenceRace, Indices]:
        """(the race of all lists of ranks, the candidate at each rank)."""
        steps, candidates = ladder(scores._numbers, self.k, gap=True)
        rate = self._rate(scores) * steps.unit
        return Sequences(steps, rate) if self._kind == GUMBEL else SequenceRace(envelope_of(steps, rate)), candidates

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        race, candidates = self._race(scores)
        return Outcome(candidates[race.draw(source)].tolist())

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Indices:
        """The positions of independent draws, one row each, for study and audit of public scores."""
        race, candidates = self._race(self._studied(scores, question))
        rows: Indices = candidates[np.array(race.draw_many(checked_source(rng), checked_draws(draws)))]
        return rows

    def order_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[the released list is the true top k in order], ties counting as equal: exact, to 1e-8."""
        return self._law(self._studied(scores, question)).in_order()

    success_probability = utility.success_probability
    quality = utility.quality
    number_correct = utility.number_correct
    inclusion_probabilities = utility.inclusion_probabilities

    def _law(self, scores: Scores) -> SequenceLaw:
        steps, candidates = ladder(scores._numbers, self.k, gap=True)
        support = levels(steps, self._rate(scores) * steps.unit)
        chances = support.chances if self._kind == GUMBEL else race_chances(support)
        return SequenceLaw(support, chances, candidates, len(scores))
