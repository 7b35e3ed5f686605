"""Noisy maxima: the winner of one race, and the k best of a one-shot race."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import InitVar, replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist._runtime import set_fields
from shortlist.accounting.curves import largest_range, range_renyi, renyi_epsilon, up
from shortlist.errors import bad_value
from shortlist.exact.noise import GAUSSIAN, GUMBEL, Noise
from shortlist.exact.reals import (
    POSITION_ROUNDING,
    Contest,
    NoisyScore,
    ball,
    exactly,
    floor_to_float,
    kth_largest,
    ranking,
)
from shortlist.exact.search import find_crossing
from shortlist.mechanisms import base, utility
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, Guarantee, PureDP, RenyiDP, calibrate
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import Finish, Work, race, race_many
from shortlist.scores import Scores

if TYPE_CHECKING:
    pass

__all__ = ["NoisyMax", "OneshotTopK"]


TINY = 1e-300
"""Below every epsilon that is told apart."""


class NoisyRace(base.Budgeted[base.Paid]):
    """The largest of x_i + N_i, with independent noise N_i of one scale: what all races share.

    A race says its noise and its scale by public facts alone, and what it shows beside its winners.
    """

    __slots__ = ()

    work: Work

    exchangeable: ClassVar[bool] = True
    losers: ClassVar[int] = 0
    """How many of the best losers finish too, so that leads over them are known."""

    success_probability = utility.success_probability
    quality = utility.quality

    @property
    @abstractmethod
    def _kind(self) -> Noise:
        """The noise at scale 1."""

    @abstractmethod
    def _scale(self, scores: Scores) -> Fraction:
        """The scale of the noise, exactly."""

    @property
    def _winners(self) -> int:
        """How many are released."""
        return getattr(self, "k", 1)

    def _check(self, scores: Scores) -> None:
        base.check_known_candidates(scores, self._winners)
        if self._winners + self.losers > scores._choosable:
            raise bad_value(f"gaps of {self._winners} need {self._winners + 1} candidates: choose a smaller k")

    def _race(self, scores: Scores, source: Source) -> Finish:
        k, scale = self._winners + self.losers, self._scale(scores)
        return race(scores._numbers, k=k, scale=scale, noise=self._kind, source=source, work=self.work)

    def _race_many(self, scores: Scores, draws: int, source: Source) -> Indices:
        """The winners of independent races, one row each."""
        k, scale = self._winners, self._scale(scores)
        return race_many(scores.values, k=k, scale=scale, noise=self._kind, source=source, draws=draws)


@base.mechanism_class
class OneshotTopK(NoisyRace[base.Budget]):
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
    budget: Guarantee = base.MISSING
    noise: str | Noise = "gumbel"
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/oneshot.md#proof"
    title: ClassVar[str] = "one-shot top-{0.k} with {0._kind.name} noise"

    probabilities = utility.probabilities
    number_correct = utility.number_correct
    inclusion_probabilities = utility.inclusion_probabilities

    def __post_init__(self, epsilon: float | None, scale: float | None) -> None:
        set_fields(self, k=base.check_k(self.k), budget=base.check_budget(epsilon, self.budget, scale, self.k))
        check_rounds(self.k, self.noise, self.guarantee, self.work)

    @property
    def _kind(self) -> Noise:
        return base.check_noise(self.noise)

    @property
    def charge(self) -> Guarantee:
        """With Gumbel noise k rounds of bounded range, which says more than the budget; otherwise the budget."""
        return charge_of_rounds(self.k, self._kind.bounded_range, self.guarantee)

    @property
    def ordered(self) -> bool:
        return self._kind.releases_order

    def _scale(self, scores: Scores) -> Fraction:
        """R / e, exactly."""
        return scores.range_sensitivity / Fraction(epsilon_of_a_round(self.k, self.guarantee))

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        return base.Outcome(self._race(scores, source).indices.tolist())

    def _draw_many(self, scores: Scores, draws: int, source: Source) -> Indices:
        rows = self._race_many(scores, draws, source)
        return rows if self.ordered else np.sort(rows, axis=1)


def check_rounds(k: int, noise: str | Noise, budget: base.Budget, work: Work) -> None:
    """Refuse what k rounds with this noise cannot be drawn by, or paid with."""
    base.check_work(work)
    base.check_noise_keeps(base.check_noise(noise), budget)
    if isinstance(budget, PureDP) and budget.epsilon / k == 0:
        raise ValueError("epsilon is too small to be shared by k rounds; choose a larger epsilon")


@lru_cache
def charge_of_rounds(k: int, bounded_range: bool, budget: base.Budget) -> Guarantee:
    """k rounds of bounded range, where the noise has one, which says more than the budget; otherwise the budget."""
    return BoundedRange(epsilon_of_a_round(k, budget)).repeat(k) if bounded_range else budget


@lru_cache
def epsilon_of_a_round(k: int, budget: base.Budget) -> float:
    """e, rounded down: epsilon / k for a pure budget, otherwise the largest of which k rounds fit the budget."""
    if isinstance(budget, ZCDP):
        if e := largest_range(budget.rho, k):
            return e
        raise ValueError(f"no parameter fits the budget {budget}: write a larger budget")
    if isinstance(budget, ApproxDP):
        return calibrate(lambda e: BoundedRange(e).repeat(k), budget, near=plain_epsilon_of_a_round(k, budget) or 1.0)
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
    return math.exp(low[0] if high is None else find_crossing(excess, low, high, 1e-4)[0])


@lru_cache
def renyi_rate(budget: RenyiDP, m: int) -> float:
    """r = R / sigma, rounded down: the least of sqrt(2 (D_a - ln(m) / (a - 1)) / a) over the orders."""
    from flint import arb, ctx

    with ctx.workprec(128):
        squares = [
            2 * (arb(cost) - arb(m).log() / (arb(order) - 1)) / arb(order)
            for order, cost in zip(budget.orders, budget.epsilons, strict=True)
        ]
        if not all(square > 0 for square in squares):
            raise ValueError(f"budget is too small for {m} candidates: write higher orders, or larger divergences")
        exact = min(exactly(square.sqrt().lower()) for square in squares)
    return floor_to_float(exact)


@lru_cache
def winner_rate(budget: ApproxDP, m: int) -> float:
    """r = R / sigma, rounded down: D_a <= a r^2/2 + ln(m) / (a-1) (Cor 9 of the paper) is what is converted here."""
    return calibrate(
        lambda r: ZCDP(up(Fraction(r) ** 2 / 2)), ApproxDP(budget.epsilon, base.part_of(budget.delta, Fraction(1, m)))
    )


def _ahead(weight: Fraction) -> Noise:
    """Gumbel noise that is ln(weight) ahead: of it, only exact quantiles are known."""
    return replace(GUMBEL, exact_quantile=lambda v, bits: GUMBEL.exact_quantile(v, bits) + ball(weight).log())


def _slack(ends: Floats, ahead: Floats) -> Floats:
    """More than the rounding of ends + ahead and of the logarithms; ends that are infinite stay so."""
    return POSITION_ROUNDING * (np.abs(ahead) + np.where(np.isinf(ends), 0.0, np.abs(ends))) + 1e-300


@lru_cache(maxsize=8)
def _logarithms(prior: tuple[Fraction, ...]) -> Floats:
    """ln w_i to a relative error of POSITION_ROUNDING / 2, by ball arithmetic."""
    from flint import ctx

    with ctx.workprec(160):
        return np.array([float(ball(weight).log()) for weight in prior])


NAMES = {"exponential": "permute-and-flip", "gumbel": "exponential mechanism"}


@base.mechanism_class
class NoisyMax(NoisyRace[base.Budget | RenyiDP]):
    """The candidate with the largest x_i + N_i, with independent noise N_i of scale R / epsilon.

    Promise: epsilon-DP for every noise but Gaussian; with Gumbel noise also epsilon-bounded range. R is the range
    sensitivity of the scores: it is one-shot top-k with k = 1. With Gaussian noise (epsilon, delta)-DP: its standard
    deviation is that of a Gaussian mechanism of sensitivity R that is (epsilon, delta / m)-DP, m candidates; or Renyi
    divergences D_a, of which it takes a R^2 / (2 sigma^2) + ln(m) / (a - 1).

    Parameters
    ----------
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`; Gumbel noise also takes `ZCDP(rho)` and
        `ApproxDP(epsilon, delta)`.
    scale
        Short for the epsilon at which the noise has that scale, in units of the range sensitivity: epsilon = 1 / scale.
    noise
        `"exponential"`, `"gumbel"`, `"laplace"`, `"logistic"`, `"half-logistic"`, or custom noise; `"gaussian"` for
        `ApproxDP(epsilon, delta)` and `RenyiDP(orders, epsilons)`, at a cost that grows with the number of candidates.
    work
        `"adaptive"` is fast; `"fixed"` draws noise for every candidate, whatever the scores are.
    prior
        With `noise="gumbel"`: one public positive weight for each candidate, in order. P[i] is then in proportion to
        w_i e^(epsilon x_i / R), at the same price (Theorem 241). Every candidate draws.

    Examples
    --------
    >>> NoisyMax(epsilon=1.0).probabilities([3, 2, 0]).round(4).tolist()
    [0.6303, 0.2807, 0.089]
    """

    epsilon: InitVar[float | None] = None
    scale: InitVar[float | None] = None
    budget: Guarantee = base.MISSING
    noise: str | Noise = "exponential"
    work: Work = "adaptive"
    prior: Sequence[float | Fraction] | None = None

    proof: ClassVar[str] = "docs/mechanisms/noisy-max.md#proof"
    later: ClassVar[tuple[tuple[str, ...], ...]] = (("prior",),)

    probabilities = utility.winner_probabilities

    def __post_init__(self, epsilon: float | None, scale: float | None) -> None:
        if self._is_gaussian and isinstance(self.budget, RenyiDP) and epsilon is scale is None:
            # itself, and no class made of it
            set_fields(self, budget=RenyiDP(self.budget.orders, self.budget.epsilons))
        else:
            set_fields(self, budget=base.check_budget(epsilon, self.budget, scale))
        if self.prior is not None:
            set_fields(self, prior=base.check_weights("prior", self.prior))
            if self.noise != "gumbel":
                raise ValueError('prior= needs Gumbel noise, which turns a weight into odds: write noise="gumbel"')
        budget = self.guarantee
        if not self._is_gaussian:
            assert not isinstance(budget, RenyiDP), "only Gaussian noise takes it"
            return check_rounds(1, self.noise, budget, self.work)
        base.check_work(self.work)
        if not isinstance(budget, RenyiDP) and not (isinstance(budget, ApproxDP) and budget.delta and budget.epsilon):
            raise bad_value('gaussian noise needs $budget=ApproxDP(1.0, 1e-6) or RenyiDP(..); or write noise="gumbel"')

    @property
    def name(self) -> str:
        noise = self._kind.name
        return NAMES.get(noise, f"noisy max with {noise} noise") + " with a prior" * (self.prior is not None)

    @property
    def is_permutation_invariant(self) -> bool:
        return self.prior is None

    @property
    def _is_gaussian(self) -> bool:
        return self.noise == "gaussian"

    @property
    def _kind(self) -> Noise:
        return GAUSSIAN if self._is_gaussian else base.check_noise(self.noise)

    @property
    def charge(self) -> Guarantee:
        """Of Gumbel noise bounded range, which says more than the budget; public weights cost nothing."""
        budget = self.guarantee
        return budget if isinstance(budget, RenyiDP) else charge_of_rounds(1, self._kind.bounded_range, budget)

    def _scale(self, scores: Scores) -> Fraction:
        """R / e; or sigma, for Gaussian noise, by the number of candidates that may be chosen, which is public."""
        budget, m = self.guarantee, scores._choosable
        if isinstance(budget, RenyiDP):
            return scores.range_sensitivity / Fraction(renyi_rate(budget, m))
        if self._is_gaussian:
            assert isinstance(budget, ApproxDP), "no other budget was taken"
            return scores.range_sensitivity / Fraction(winner_rate(budget, m))
        return scores.range_sensitivity / Fraction(epsilon_of_a_round(1, budget))

    def _check(self, scores: Scores) -> None:
        if self.prior is not None and not scores.numbered:
            raise ValueError("prior= needs candidates in order, and those of a table have none: leave prior= out")
        base.check_known_candidates(scores, 1)
        if self._is_gaussian:
            self._scale(scores)  # refused here, where divergences are too small for so many candidates
        if self.prior is not None and len(self.prior) != scores._size:
            raise ValueError(f"prior must have a weight for each of the {scores._size} candidates")

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        if self.prior is not None:
            return base.Outcome([self._weighted_winner(self._contest(scores), source)])
        return base.Outcome(self._race(scores, source).indices.tolist())

    def _contest(self, scores: Scores) -> Contest:
        values = scores._numbers
        return Contest(values, 1, self._scale(scores), GUMBEL, kth_largest(values, 1))

    def _weighted_winner(self, contest: Contest, source: Source) -> int:
        """The candidate with the largest x_i + scale (ln w_i + N_i), N_i Gumbel noise: every candidate draws."""
        weights = base.check_weights("prior", self.prior)
        words = source.words(len(contest.values))
        with np.errstate(all="ignore"):
            low, high = contest.intervals(contest.values, words, 0)
            ahead = _logarithms(weights)
            low, high = low + ahead - _slack(low, ahead), high + ahead + _slack(high, ahead)

        @cache
        def exact(i: int) -> NoisyScore:
            return replace(contest, noise=_ahead(weights[i])).noisy_score(i, int(words[i]), 0, source)

        return int(ranking(low, high, 1, exact)[0])

    def positions(self, scores: Scores) -> Floats:
        """Return public scores in units of the noise, ahead by the logarithms of their weights."""
        values, ahead = scores.values, _logarithms(base.check_weights("prior", self.prior))
        return np.where(values == -np.inf, -np.inf, self._contest(scores).positions(values) + ahead)

    def _draw_many(self, scores: Scores, draws: int, source: Source) -> Indices:
        if self.prior is None:
            return self._race_many(scores, draws, source)[:, 0]
        contest = self._contest(scores)
        return np.array([self._weighted_winner(contest, source) for _ in range(draws)])
