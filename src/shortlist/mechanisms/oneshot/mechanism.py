"""One-shot top-k: add noise once to every score and release the k largest, in order (Theorem 58, 60).

With Gumbel noise this has the law of k rounds of the exponential mechanism without replacement ("peeling").
"""

from __future__ import annotations

import math
from dataclasses import InitVar
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Unpack

import numpy as np

from shortlist._arrays import Indices
from shortlist.accounting.calibrate import FEW, largest_round
from shortlist.accounting.renyi import largest_range, range_renyi, renyi_epsilon
from shortlist.exact.crossing import crossing
from shortlist.exact.noise_distributions import Noise
from shortlist.mechanisms import utility
from shortlist.mechanisms.checks import (
    Budget,
    check_known_candidates,
    check_noise_keeps,
    checked_budget,
    checked_draws,
    checked_k,
    checked_noise,
    checked_source,
    checked_work,
)
from shortlist.mechanisms.contract import UNSAID, Budgeted, Outcome, described
from shortlist.mechanisms.oneshot.law import OneshotLaw
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, Guarantee, PureDP, calibrate
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import Work, race
from shortlist.sampling.race_batch import race_many
from shortlist.scores import Scores, ScoreWords

TINY = 1e-300
"""Below every epsilon that is told apart."""


@described
class OneshotTopK(Budgeted[Budget]):
    """The k largest of x_i + N_i, with independent noise N_i of scale R / e, e = epsilon / k for a pure budget.

    Promise: epsilon-DP for the ordered list, for every named noise; under custom noise (`piecewise_noise`) only
    the set is released. With Gumbel noise the list is k rounds of e-bounded range, and e is the largest that fits
    a zCDP or (epsilon, delta) budget by the tightest sound accountant. R is the range sensitivity of the scores.

    Parameters
    ----------
    k
        How many items.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`; Gumbel noise also takes `ZCDP(rho)` and
        `ApproxDP(epsilon, delta)`.
    scale
        Short for the epsilon at which the noise has that scale, in units of the range sensitivity: epsilon = k / scale.
    noise
        `"gumbel"`, `"exponential"`, `"laplace"`, `"logistic"`, `"half-logistic"`, or custom noise.
    work
        `"adaptive"` is fast; `"fixed"` draws noise for every candidate, whatever the scores are.

    Examples
    --------
    >>> OneshotTopK(k=2, epsilon=1.0).guarantee
    PureDP(epsilon=1.0)
    """

    k: int
    epsilon: InitVar[float | None] = None
    scale: InitVar[float | None] = None
    budget: Guarantee = UNSAID
    noise: str | Noise = "gumbel"
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/oneshot.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None, scale: float | None) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        self._pay(checked_budget(epsilon, self.budget, scale, self.k))
        checked_work(self.work)
        check_noise_keeps(checked_noise(self.noise), self.guarantee)
        if isinstance(self.guarantee, PureDP) and self.guarantee.epsilon / self.k == 0:
            raise ValueError("epsilon is too small to be shared by k rounds; choose a larger epsilon")

    @property
    def name(self) -> str:
        return f"one-shot top-{self.k} with {checked_noise(self.noise).name} noise"

    @property
    def charge(self) -> Guarantee:
        """With Gumbel noise k rounds of bounded range, which says more than the budget; otherwise the budget."""
        return charge_of_rounds(self.k, checked_noise(self.noise), self.guarantee)

    @property
    def ordered(self) -> bool:
        return checked_noise(self.noise).releases_order

    def _scale(self, scores: Scores) -> Fraction:
        """R / e, exactly."""
        return _scale(self.k, self.guarantee, scores.range_sensitivity)

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, self.k)

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        finish = race(
            scores._numbers,
            k=self.k,
            scale=self._scale(scores),
            noise=checked_noise(self.noise),
            source=source,
            work=self.work,
        )
        return Outcome(finish.indices.tolist())

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Indices:
        """The positions of independent draws, one row each, for study and audit of public scores."""
        scores = self._studied(scores, question)
        rows = race_many(
            scores.values,
            k=self.k,
            scale=self._scale(scores),
            noise=checked_noise(self.noise),
            source=checked_source(rng),
            draws=checked_draws(draws),
        )
        return rows if self.ordered else np.sort(rows, axis=1)

    probabilities = utility.probabilities
    success_probability = utility.success_probability
    quality = utility.quality
    number_correct = utility.number_correct
    inclusion_probabilities = utility.inclusion_probabilities

    def _law(self, scores: Scores) -> OneshotLaw:
        return OneshotLaw.of(scores.values, self.k, self._scale(scores), checked_noise(self.noise))


def charge_of_rounds(k: int, noise: Noise, budget: Budget) -> Guarantee:
    """k rounds of bounded range, where the noise has one, which says more than the budget; otherwise the budget."""
    return _rounds(k, budget) if noise.bounded_range else budget


@lru_cache
def _rounds(k: int, budget: Budget) -> Guarantee:
    return BoundedRange(epsilon_of_a_round(k, budget)).repeat(k)


@lru_cache
def _scale(k: int, budget: Budget, range_sensitivity: Fraction) -> Fraction:
    return range_sensitivity / Fraction(epsilon_of_a_round(k, budget))


@lru_cache
def epsilon_of_a_round(k: int, budget: Budget) -> float:
    """e, rounded down: epsilon / k for a pure budget, otherwise the largest of which k rounds fit the budget."""
    if isinstance(budget, ZCDP):
        if e := largest_range(budget.rho, k):
            return e
        raise ValueError(f"no parameter fits the budget {budget}: write a larger budget")
    if isinstance(budget, ApproxDP):
        quick = quick_epsilon_of_a_round if k <= FEW else plain_epsilon_of_a_round
        return largest_round(k, budget, quick(k, budget) or 1.0)
    e = budget.epsilon / k
    return e if k * Fraction(e) <= Fraction(budget.epsilon) else math.nextafter(e, 0.0)


def quick_epsilon_of_a_round(k: int, budget: ZCDP | ApproxDP) -> float:
    """At most e, and not much less: k rounds of e^2 / 8 of zCDP, or their plain sum. 0 if neither says anything."""
    if isinstance(budget, ZCDP):
        return math.sqrt(8 * budget.rho / k)
    return max(math.sqrt(8 * rho_within(budget) / k), budget.epsilon / k)


def plain_epsilon_of_a_round(k: int, budget: ApproxDP) -> float:
    """At most e: k rounds of e^2 / 8 of zCDP, where rho + 2 sqrt(rho ln(1/delta)) = epsilon, or their plain sum."""
    log_delta = math.log(1 / budget.delta) if budget.delta else math.inf
    root = budget.epsilon / (math.sqrt(budget.epsilon + log_delta) + math.sqrt(log_delta))  # of rho
    return max(math.sqrt(8 / k) * root, budget.epsilon / k)


@lru_cache
def rho_within(budget: ApproxDP) -> float:
    """The largest rho that fits, nearly; 0 if none does."""
    try:
        return calibrate(ZCDP, budget)
    except ValueError:
        return 0.0


@lru_cache
def renyi_epsilon_of_a_round(k: int, budget: ApproxDP) -> float:
    """At most e, and less by 7% at most: k rounds fit by their Renyi divergences (Theorem 16). 0 if delta is."""
    if not budget.epsilon or not budget.delta:
        return 0.0

    def excess(log_e: float) -> float:
        e = math.exp(log_e)
        spent, _ = renyi_epsilon(lambda orders: k * range_renyi(e, orders) * (1 + 1e-15), budget.delta)
        return math.log(max(spent, TINY) / budget.epsilon)

    log_delta = math.log(1 / budget.delta)
    plain = math.sqrt(8 / k) * budget.epsilon / (math.sqrt(budget.epsilon + log_delta) + math.sqrt(log_delta))
    start = math.log(plain)  # k rounds of e^2/8 of zCDP: rho + 2 sqrt(rho ln(1/delta)) = epsilon
    ends = ((start + more, excess(start + more)) for more in (-1e-9, 0.25, 4.0))
    low = next(ends)
    if low[1] > 0:
        return 0.0
    high = next((end for end in ends if end[1] > 0), None)
    return math.exp(low[0] if high is None else crossing(excess, low, high, 1e-4)[0])
