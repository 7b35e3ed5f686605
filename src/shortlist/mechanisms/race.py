"""Noisy maxima: the winner of one race, and the k best of a one-shot race."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.accounting.checks import up
from shortlist.accounting.curves import largest_range, range_renyi, renyi_epsilon
from shortlist.errors import bad_value
from shortlist.exact.noise import GAUSSIAN, GUMBEL, Noise
from shortlist.exact.reals import (
    POSITION_ROUNDING,
    Contest,
    NoisyScore,
    Real,
    ball,
    exactly,
    floor_to_float,
    kth_largest,
    ranking,
)
from shortlist.exact.search import find_crossing
from shortlist.mechanisms import utility
from shortlist.mechanisms.base import (
    MISSING,
    Budget,
    Budgeted,
    Outcome,
    check_budget,
    check_draws,
    check_k,
    check_known_candidates,
    check_noise,
    check_noise_keeps,
    check_source,
    check_weights,
    check_work,
    described,
    part_of,
    record_of,
)
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, Guarantee, PureDP, RenyiDP, calibrate
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import Work, race, race_many
from shortlist.scores import Scores, ScoreWords

if TYPE_CHECKING:
    from flint import arb


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
    budget: Guarantee = MISSING
    noise: str | Noise = "gumbel"
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/oneshot.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None, scale: float | None) -> None:
        object.__setattr__(self, "k", check_k(self.k))
        self._pay(check_budget(epsilon, self.budget, scale, self.k))
        check_work(self.work)
        check_noise_keeps(check_noise(self.noise), self.guarantee)
        if isinstance(self.guarantee, PureDP) and self.guarantee.epsilon / self.k == 0:
            raise ValueError("epsilon is too small to be shared by k rounds; choose a larger epsilon")

    @property
    def name(self) -> str:
        return f"one-shot top-{self.k} with {check_noise(self.noise).name} noise"

    @property
    def charge(self) -> Guarantee:
        """With Gumbel noise k rounds of bounded range, which says more than the budget; otherwise the budget."""
        return charge_of_rounds(self.k, check_noise(self.noise), self.guarantee)

    @property
    def ordered(self) -> bool:
        return check_noise(self.noise).releases_order

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
            noise=check_noise(self.noise),
            source=source,
            work=self.work,
        )
        return Outcome(finish.indices.tolist())

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Indices:
        """The positions of independent draws, one row each, for study and audit of public scores."""
        scores = self._validate_public(scores, question)
        rows = race_many(
            scores.values,
            k=self.k,
            scale=self._scale(scores),
            noise=check_noise(self.noise),
            source=check_source(rng),
            draws=check_draws(draws),
        )
        return rows if self.ordered else np.sort(rows, axis=1)

    probabilities = utility.probabilities
    success_probability = utility.success_probability
    quality = utility.quality
    number_correct = utility.number_correct
    inclusion_probabilities = utility.inclusion_probabilities


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


@dataclass(frozen=True, slots=True)
class GaussianMax:
    """The candidate with the largest x_i + N(0, sigma^2), sigma = R / r, for m candidates.

    r is the largest with which the Gaussian mechanism of sensitivity r is (epsilon, delta / m)-DP: then the winner is
    (epsilon, delta)-DP. Under Renyi divergences it is the largest with a r^2 / 2 + ln(m) / (a - 1) within that of every
    order a (Theorem 55).
    """

    guarantee: ApproxDP | RenyiDP
    work: Work

    @property
    def charge(self) -> Guarantee:
        return self.guarantee

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, 1)
        self._scale(scores)  # refused here, where divergences are too small for so many candidates

    def _scale(self, scores: Scores) -> Fraction:
        """sigma, exactly; the number of candidates that may be chosen is public."""
        budget, m = self.guarantee, scores._choosable
        rate = renyi_rate(budget, m) if isinstance(budget, RenyiDP) else winner_rate(budget, m)
        return scores.range_sensitivity / Fraction(rate)

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        scale = self._scale(scores)
        finish = race(scores._numbers, k=1, scale=scale, noise=GAUSSIAN, source=source, work=self.work)
        return Outcome([int(finish.indices[0])])

    def release_many(self, scores: Scores, *, draws: int, rng: Source | None) -> Indices:
        """The positions of independent winners, one row each."""
        source, count = check_source(rng), check_draws(draws)
        return race_many(scores.values, k=1, scale=self._scale(scores), noise=GAUSSIAN, source=source, draws=count)


def gaussian_max(budget: Guarantee, work: Work) -> GaussianMax:
    """Or the reason why this budget has no Gaussian winner."""
    check_work(work)
    if isinstance(budget, RenyiDP):
        return GaussianMax(budget, work)
    if not isinstance(budget, ApproxDP) or not budget.delta or not budget.epsilon:
        raise bad_value(
            "gaussian noise keeps (epsilon, delta) and Renyi budgets only: write $budget=ApproxDP(1.0, 1e-6), or "
            'noise="gumbel"'
        )
    return GaussianMax(budget, work)


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
            raise ValueError(
                f"budget is too small for {m} candidates: at order a it needs more than ln({m}) / (a - 1); write "
                "higher orders, or larger divergences"
            )
        exact = min(exactly(square.sqrt().lower()) for square in squares)
    return floor_to_float(exact)


@lru_cache
def winner_rate(budget: ApproxDP, m: int) -> float:
    """r = R / sigma, rounded down: D_a <= a r^2/2 + ln(m) / (a-1) (Cor 9 of the paper) is what is converted here."""
    return calibrate(
        lambda r: ZCDP(up(Fraction(r) ** 2 / 2)), ApproxDP(budget.epsilon, part_of(budget.delta, Fraction(1, m)))
    )


class WeightedScore(NoisyScore):
    """A runner that starts ln(weight) ahead, exactly."""

    __slots__ = ("weight",)

    def __init__(self, runner: NoisyScore, weight: Fraction) -> None:
        super().__init__(runner.position, runner.draw, runner.scale)
        self.weight = weight

    def minus(self, other: NoisyScore) -> Real:
        """The difference of two."""
        plain, ratio = super().minus(other), self.weight / getattr(other, "weight", Fraction(1))

        def bounds() -> tuple[arb, arb]:
            low, high = plain.bounds()
            ahead = ball(ratio).log()
            return (low + ahead).lower(), (high + ahead).upper()

        return Real(bounds, plain.numbers, plain.magnitude)


@dataclass(frozen=True, slots=True)
class WeightedMax:
    """The candidate with the largest x_i + scale (ln w_i + N_i), N_i Gumbel noise: every candidate draws."""

    plain: OneshotTopK
    prior: tuple[Fraction, ...]

    @property
    def charge(self) -> Guarantee:
        """The charge of equal weights: public weights cost nothing."""
        return self.plain.charge

    def _check(self, scores: Scores) -> None:
        if not scores.numbered:
            raise ValueError(
                "prior= says one weight for each candidate in its order, and candidates counted from a table have "
                "none: leave prior= out"
            )
        self.plain._check(scores)
        if len(self.prior) != scores._size:
            raise ValueError(f"prior must have a weight for each of the {scores._size} candidates")

    def _scale(self, scores: Scores) -> Fraction:
        return self.plain._scale(scores)

    def _contest(self, scores: Scores) -> Contest:
        values = scores._numbers
        return Contest(values, 1, self._scale(scores), GUMBEL, kth_largest(values, 1))

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        return Outcome([self._winner(self._contest(scores), source)])

    def _winner(self, contest: Contest, source: Source) -> int:
        words = source.words(len(contest.values))
        with np.errstate(all="ignore"):
            low, high = contest.intervals(contest.values, words, 0)
            ahead = _logarithms(self.prior)
            low, high = low + ahead - _slack(low, ahead), high + ahead + _slack(high, ahead)

        @cache
        def exact(i: int) -> NoisyScore:
            return WeightedScore(contest.noisy_score(i, int(words[i]), 0, source), self.prior[i])

        return int(ranking(low, high, 1, exact)[0])

    def release_many(self, scores: Scores, *, draws: int, rng: Source | None) -> Indices:
        """The positions of independent winners, one row each."""
        contest, source = self._contest(scores), check_source(rng)
        return np.array([[self._winner(contest, source)] for _ in range(check_draws(draws))])

    def positions(self, scores: Scores) -> Floats:
        """Return public scores in units of the noise, ahead by the logarithms of their weights."""
        values = scores.values
        return np.where(values == -np.inf, -np.inf, self._contest(scores).positions(values) + _logarithms(self.prior))


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


@described
class NoisyMax(Budgeted[Budget | RenyiDP]):
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
    budget: Guarantee = MISSING
    noise: str | Noise = "exponential"
    work: Work = "adaptive"
    prior: Sequence[float | Fraction] | None = None

    proof: ClassVar[str] = "docs/mechanisms/noisy-max.md#proof"
    exchangeable: ClassVar[bool] = True

    _top_one: OneshotTopK | GaussianMax | WeightedMax = field(init=False, repr=False, compare=False)

    def __post_init__(self, epsilon: float | None, scale: float | None) -> None:
        if self.noise == "gaussian" and isinstance(self.budget, RenyiDP) and epsilon is scale is None:
            self._pay(RenyiDP(self.budget.orders, self.budget.epsilons))  # itself, and no class made of it
        else:
            self._pay(check_budget(epsilon, self.budget, scale))
        if self.prior is not None:
            object.__setattr__(self, "prior", tuple(check_weights("prior", self.prior)))
        object.__setattr__(self, "_top_one", self._as_top_one())

    def _as_top_one(self) -> OneshotTopK | GaussianMax | WeightedMax:
        if self.prior is not None and self.noise != "gumbel":
            raise ValueError('prior= needs Gumbel noise, which turns a weight into odds: write noise="gumbel"')
        if self.noise == "gaussian":
            return gaussian_max(self.budget, self.work)
        plain = OneshotTopK(k=1, budget=self.budget, noise=self.noise, work=self.work)
        return plain if self.prior is None else WeightedMax(plain, tuple(Fraction(weight) for weight in self.prior))

    def __repr__(self) -> str:
        """As of every mechanism; a prior stands in it where there is one, so that older records read as they did."""
        words = ("budget", "noise", "work") if self.prior is None else ("budget", "noise", "work", "prior")
        return record_of(self, words)

    @property
    def name(self) -> str:
        noise = "gaussian" if self.noise == "gaussian" else check_noise(self.noise).name
        return NAMES.get(noise, f"noisy max with {noise} noise") + " with a prior" * (self.prior is not None)

    @property
    def is_permutation_invariant(self) -> bool:
        return self.prior is None

    @property
    def charge(self) -> Guarantee:
        return self._top_one.charge

    @property
    def ordered(self) -> bool:
        return True

    def _check(self, scores: Scores) -> None:
        self._top_one._check(scores)

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        return self._top_one._draw(scores, source)

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Indices:
        """The positions of independent winners, for study and audit of public scores."""
        return self._top_one.release_many(self._validate_public(scores, question), draws=draws, rng=rng)[:, 0]

    probabilities = utility.winner_probabilities
    success_probability = utility.success_probability
    quality = utility.quality
