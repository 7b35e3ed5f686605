"""Top-k with noisy values: Gumbel noise once, the k largest noisy scores released with their items (Theorem 90, 91).

In E = e^(-value / gamma) the noisy scores are exponential clocks: which one rings first and when are independent, so
for monotone scores the items come free with the values.
"""

from __future__ import annotations

from dataclasses import InitVar
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Unpack

from shortlist.exact.noise_distributions import GUMBEL
from shortlist.exact.partial_reals import rounded
from shortlist.extras import Extras
from shortlist.mechanisms import utility
from shortlist.mechanisms.checks import (
    check_known_candidates,
    checked_draws,
    checked_k,
    checked_source,
    checked_work,
    plain_budget,
)
from shortlist.mechanisms.contract import UNSAID, Budgeted, Draws, Outcome, described
from shortlist.mechanisms.oneshot.law import OneshotLaw
from shortlist.privacy import ApproxDP, Guarantee, GumbelDP, calibrate
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import Work, race
from shortlist.sampling.race_batch import Field
from shortlist.scores import Scores, ScoreWords

EULER = 0.5772156649015329
"""The mean of Gumbel noise of scale 1."""

NOTE = (
    "values are noisy and say nothing about the item beside them: together they describe the soft maximum of all "
    "scores, of which soft_max is the unbiased estimate"
)


@described
class GumbelTopKValues(Budgeted[ApproxDP | GumbelDP]):
    """The k largest of x_i + N_i with their values, N_i independent Gumbel noise of scale gamma.

    Promise: (epsilon, delta)-DP, by the exact Gumbel-DP profile with mu = Delta / gamma for monotone scores and by the
    two-clock profile otherwise. No pure and no zCDP guarantee exists for a Gumbel value.

    The values are exact reals, correctly rounded. The largest is centred at the soft maximum
    gamma ln sum_i e^(x_i / gamma), 0.5772 gamma above it, whichever item won; `soft_max` corrects for that.
    `largest=False` is report noisy min: the k smallest of x_i - N_i, and `soft_min`.

    Parameters
    ----------
    k
        How many items, each with its value.
    mu, budget
        `ApproxDP(epsilon, delta)`, to which the noise is calibrated; or `mu=0.1`, sensitivity over scale, short for
        `budget=GumbelDP(0.1, k, monotone=False)`: that is the promise, and for monotone scores the finer one.
    work
        `"adaptive"` is fast; `"fixed"` draws noise for every candidate, whatever the scores are.

    Examples
    --------
    >>> GumbelTopKValues(k=10, budget=ApproxDP(1.0, 1e-5)).guarantee
    ApproxDP(epsilon=1.0, delta=1e-05)
    """

    k: int
    mu: InitVar[float | None] = None
    budget: ApproxDP | GumbelDP = UNSAID
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/gumbel-values.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, mu: float | None) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        checked_work(self.work)
        if mu is not None:
            if self.budget is not None:
                raise TypeError("mu= says what it costs: leave budget= out, or leave mu= out")
            self._pay(GumbelDP(mu, self.k, monotone=False))
        elif isinstance(self.budget, GumbelDP):
            if self.budget.k != self.k:
                raise ValueError(f"budget is for k={self.budget.k} values: write GumbelDP(mu, k={self.k}), or mu=")
            self._pay(GumbelDP(self.budget.mu, self.k, monotone=False))
        elif not isinstance(self.budget, ApproxDP):
            raise TypeError(
                "a Gumbel value has no pure and no zCDP guarantee (its loss has an exponential tail); "
                "write budget=ApproxDP(epsilon, delta)"
            )
        else:
            self._pay(plain_budget(self.budget))

    @property
    def name(self) -> str:
        return f"Gumbel top-{self.k} with values"

    @property
    def ordered(self) -> bool:
        return True

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, self.k)

    def scale(self, scores: Scores) -> Fraction:
        """gamma = Delta / mu, a public number: it depends on the sensitivity and not on the values."""
        budget = self.budget
        mu = budget.mu if isinstance(budget, GumbelDP) else largest_mu(self.k, budget, scores.monotone)
        return scores.largest_sensitivity / Fraction(mu)

    def _terms(self, scores: Scores) -> tuple[Guarantee, Guarantee]:
        if not isinstance(self.budget, GumbelDP):
            return self.guarantee, self.charge
        promise = GumbelDP(self.budget.mu, self.k, scores.monotone)
        return promise, promise

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        scale = self.scale(scores)
        finish = race(scores._numbers, k=self.k, scale=scale, noise=GUMBEL, source=source, work=self.work)
        values = finish.values()
        soft_max = values[0] - rounded(Fraction(EULER) * scale)
        note = NOTE.replace("max", "min") if scores._turned else NOTE
        return Outcome([int(i) for i in finish.indices], Extras(values=values, soft_max=soft_max), (note,))

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Draws:
        """The positions and values of independent draws, one row each, for study and audit of public scores."""
        scores = self._studied(scores, question)
        field = Field(scores.values, self.k, self.scale(scores), GUMBEL)
        races = field.races(checked_draws(draws), checked_source(rng))
        return Draws.of_rows((rows.indices, rows.values()) for rows in races).as_they_were(scores)

    probabilities = utility.probabilities
    success_probability = utility.success_probability
    quality = utility.quality
    inclusion_probabilities = utility.inclusion_probabilities

    def _law(self, scores: Scores) -> OneshotLaw:
        """That of one-shot top-k: values change nothing of who is released."""
        return OneshotLaw.of(scores.values, self.k, self.scale(scores), GUMBEL)


@lru_cache
def largest_mu(k: int, budget: ApproxDP, monotone: bool) -> float:
    """The largest mu = Delta / gamma whose profile fits the budget, rounded down."""
    return calibrate(lambda mu: GumbelDP(mu, k, monotone), budget)
