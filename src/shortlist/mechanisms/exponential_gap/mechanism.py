"""The exponential mechanism with its gap: the winner, its lead over the runner-up, and what that proves.

The law and its price (Theorem 86), the gap as a p-value (Theorem 87).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import InitVar
from fractions import Fraction
from typing import ClassVar, Unpack

import numpy as np

from shortlist._arrays import Floats
from shortlist.exact.noise_distributions import GUMBEL
from shortlist.exact.partial_reals import rounded
from shortlist.exact.quality import Quality
from shortlist.extras import Extras
from shortlist.labels import typed
from shortlist.mechanisms.booking import record_of
from shortlist.mechanisms.checks import (
    check_known_candidates,
    checked_draws,
    checked_pure,
    checked_source,
    checked_work,
)
from shortlist.mechanisms.contract import UNSAID, Budgeted, Draws, Outcome, described
from shortlist.mechanisms.exponential_gap.sampler import lead_of
from shortlist.mechanisms.noisy_max.law import winner_probabilities
from shortlist.mechanisms.oneshot.law import OneshotLaw
from shortlist.privacy import Guarantee, PureDP
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import Work, race
from shortlist.sampling.race_batch import Field
from shortlist.scores import Scores, ScoreWords

NOTE = (
    "p_value: were some other candidate's score at least the winner's, a lead as large as this one would have at most "
    "this probability, given the winner"
)


GIVEN = (
    "the winner was given: this charge pays for its draw too, if that was by the exponential mechanism with this "
    "epsilon from these scores"
)


@described
class ExponentialWithGap(Budgeted[PureDP]):
    """The largest of x_i + G_i and its lead over the second largest, G_i independent Gumbel noise of scale R / epsilon.

    Promise: epsilon-DP for the winner, drawn as by the exponential mechanism, with its gap. Pure budgets only: the
    gap destroys the bounded range that the winner alone has. `gap` is in the units of the scores; `p_value` is
    2 / (1 + e^g), g = epsilon gap / R, rounded up. At least two candidates are needed.

    With `winner=` it is given who won, drawn elsewhere, and the lead is drawn as it is given that winner. That is
    epsilon-DP whoever is named; and if the winner was drawn by the exponential mechanism with this epsilon from these
    scores, winner and lead together are epsilon-DP, so one charge pays for both (Theorem 258).

    Parameters
    ----------
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`, the only kind there is for it.
    scale
        Short for the epsilon at which the noise has that scale, in units of the range sensitivity: epsilon = 1 / scale.
    winner
        Of whom the lead is asked: a label, or a position where there are no labels. None draws the winner too.
    work
        `"adaptive"` is fast; `"fixed"` draws noise for every candidate, whatever the scores are.

    Examples
    --------
    >>> release = ExponentialWithGap(epsilon=1.0).release([900, 20, 500], monotone=True)
    >>> release.index, release.gap > 0, release.p_value < 1e-6
    (0, True, True)
    """

    epsilon: InitVar[float | None] = None
    scale: InitVar[float | None] = None
    budget: Guarantee = UNSAID
    winner: Hashable = None
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/exponential-with-gap.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None, scale: float | None) -> None:
        self._pay(checked_pure("the exponential mechanism with gap", epsilon, self.budget, scale))
        checked_work(self.work)

    def __repr__(self) -> str:
        """As of every mechanism; a winner stands in it where one is given, so that older records read as they did."""
        words = ("budget", "work") if self.winner is None else ("budget", "winner", "work")
        return record_of(self, words)

    @property
    def name(self) -> str:
        return "exponential mechanism with gap" if self.winner is None else "gap of a given winner"

    @property
    def treats_alike(self) -> bool:
        return self.winner is None

    @property
    def ordered(self) -> bool:
        return True

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, 1)
        try:
            check_known_candidates(scores, 2)
        except ValueError:
            raise ValueError("a gap needs two candidates; with one there is nothing to choose") from None
        if self.winner is not None:
            self._place(scores)

    def _place(self, scores: Scores) -> int:
        """The position of the winner that is given; from public facts."""
        labels = range(scores._size) if scores._labels is None else scores._labels
        place = next((i for i, label in enumerate(labels) if typed((label,)) == typed((self.winner,))), None)
        if place is None:
            raise ValueError("winner must be one of the candidates: a label, or a position where there are no labels")
        if scores._numbers[place] == -np.inf:
            raise ValueError("winner is a candidate that may never be chosen (its score is -inf)")
        return place

    def _scale(self, scores: Scores) -> Fraction:
        """R / epsilon, exactly."""
        return scores.range_sensitivity / Fraction(self.guarantee.epsilon)

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        scale = self._scale(scores)
        if self.winner is not None:
            place = self._place(scores)
            gap = lead_of(scores._numbers, place, scale, source)
            return Outcome([place], Extras(gaps=[gap], p_value=p_value_of(gap, scale)), (NOTE, GIVEN))
        finish = race(scores._numbers, k=2, scale=scale, noise=GUMBEL, source=source, work=self.work)
        gaps = finish.gaps()
        extras = Extras(gaps=gaps, p_value=p_value_of(gaps[0], scale))
        return Outcome([int(finish.indices[0])], extras, (NOTE,))

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Draws:
        """The winner and its gap in independent draws, one row each, for study and audit of public scores."""
        scores = self._studied(scores, question)
        if self.winner is not None:
            place, scale, source = self._place(scores), self._scale(scores), checked_source(rng)
            gaps = [[lead_of(scores.values, place, scale, source)] for _ in range(checked_draws(draws))]
            return Draws(np.full((len(gaps), 1), place), np.array(gaps))
        races = Field(scores.values, 2, self._scale(scores), GUMBEL).races(checked_draws(draws), checked_source(rng))
        return Draws.of_rows((rows.indices[:, :1], rows.gaps()) for rows in races)

    def probabilities(self, scores: object, **question: Unpack[ScoreWords]) -> Floats:
        """P[candidate i wins], for every candidate: exact, and they sum to 1; a winner that was given wins."""
        scores = self._studied(scores, question)
        if self.winner is not None:
            chances: Floats = np.zeros(len(scores))
            chances[self._place(scores)] = 1.0
            return chances
        law = OneshotLaw.of(scores.values, 1, self._scale(scores), GUMBEL)
        return winner_probabilities(law.s, law.noise)

    def success_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[the winner has the largest score]: exact, to 1e-9."""
        chances, values = self.probabilities(scores, **question), self._studied(scores, question).values
        return float(chances[values == values.max()].sum())

    def quality(self, scores: object, **question: Unpack[ScoreWords]) -> Quality:
        """P[top], P[great], P[good] and the expected recall of the winner (Definition 118): of one item all equal."""
        right = self.success_probability(scores, **question)
        return Quality(top=right, great=right, good=right, recall=right)


def p_value_of(gap: float, scale: Fraction) -> float:
    """2 / (1 + e^(gap / scale)), rounded up: the largest P(a gap so large | this winner) if it is not the only best."""
    tail = math.exp(-rounded(Fraction(gap) / scale)) if gap < math.inf else 0.0
    return min(1.0, max(2 * tail / (1 + tail) * (1 + 2.0**-40), math.nextafter(0.0, 1.0)))
