"""Noisy max: add noise to every score and release who is on top (Theorem 51).

Exponential noise is permute-and-flip, the best known for a pure budget; Gumbel noise is the exponential mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Unpack

from shortlist._arrays import Floats, Indices
from shortlist.exact.noise_distributions import Noise
from shortlist.mechanisms.booking import record_of
from shortlist.mechanisms.checks import Budget, checked_budget, checked_noise, checked_weights
from shortlist.mechanisms.contract import UNSAID, Budgeted, Outcome, described
from shortlist.mechanisms.noisy_max.gaussian import GaussianMax, gaussian_max
from shortlist.mechanisms.noisy_max.law import winner_probabilities
from shortlist.mechanisms.noisy_max.prior import WeightedMax
from shortlist.mechanisms.oneshot.mechanism import OneshotTopK
from shortlist.privacy import Guarantee, RenyiDP
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import Work
from shortlist.scores import Scores, ScoreWords

if TYPE_CHECKING:
    from shortlist.exact.quality import Quality

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
    budget: Guarantee = UNSAID
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
            self._pay(checked_budget(epsilon, self.budget, scale))
        if self.prior is not None:
            object.__setattr__(self, "prior", tuple(checked_weights("prior", self.prior)))
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
        noise = "gaussian" if self.noise == "gaussian" else checked_noise(self.noise).name
        return NAMES.get(noise, f"noisy max with {noise} noise") + " with a prior" * (self.prior is not None)

    @property
    def treats_alike(self) -> bool:
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
        return self._top_one.release_many(self._studied(scores, question), draws=draws, rng=rng)[:, 0]

    def probabilities(self, scores: object, **question: Unpack[ScoreWords]) -> Floats:
        """P[candidate i wins], for every candidate: exact, and they sum to 1."""
        law = self._top_one._law(self._studied(scores, question))
        return winner_probabilities(law.s, law.noise)

    def success_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[the winner has the largest score]: exact, to 1e-9."""
        scores = self._studied(scores, question)
        if self.prior is None:
            return self._top_one._law(scores).success()
        return float(self.probabilities(scores)[scores.values == scores.values.max()].sum())

    def quality(self, scores: object, **question: Unpack[ScoreWords]) -> Quality:
        """P[top], P[great], P[good] and the expected recall of the winner (Definition 118): exact, to 1e-9."""
        if self.prior is not None:
            raise ValueError("the quality of a winner with prior= is its success_probability; read that")
        return self._top_one._law(self._studied(scores, question)).quality()
