"""One-shot top-k: add noise once to every score and release the k largest, in order (SPEC 2, 6).

With Gumbel noise this has the law of k rounds of the exponential mechanism without replacement ("peeling").
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.mechanisms.base import (
    Mechanism,
    check_known_candidates,
    check_studied,
    checked_budget,
    checked_draws,
    checked_k,
    checked_noise,
    checked_source,
    checked_work,
)
from shortlist.noise.contest import Contest
from shortlist.noise.entropy import Source
from shortlist.noise.kinds import Noise
from shortlist.noise.race import Work, race, race_many
from shortlist.privacy import BoundedRange, Guarantee, PureDP
from shortlist.scores import Scores, as_scores

if TYPE_CHECKING:
    from shortlist.laws.quality import Quality


@dataclass(frozen=True, slots=True, kw_only=True)
class OneshotTopK(Mechanism):
    """The k largest of x_i + N_i, with independent noise N_i of scale k R / epsilon.

    Promise: epsilon-DP for the ordered list, for every named noise; under custom noise (`piecewise_noise`) only
    the set is released. R is the range sensitivity of the scores.

    Parameters
    ----------
    k
        How many items.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`.
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
    epsilon: float | None = None
    budget: Guarantee | None = None
    noise: str | Noise = "gumbel"
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/oneshot.md#proof"

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        object.__setattr__(self, "budget", checked_budget(self.epsilon, self.budget))
        object.__setattr__(self, "epsilon", self.guarantee.epsilon)
        checked_noise(self.noise)
        checked_work(self.work)

    @property
    def name(self) -> str:
        return f"one-shot top-{self.k} with {checked_noise(self.noise).name} noise"

    @property
    def guarantee(self) -> PureDP:
        return checked_budget(None, self.budget)

    @property
    def charge(self) -> Guarantee:
        """One round of Gumbel noise has bounded range, which is more than pure DP says."""
        bounded = checked_noise(self.noise).bounded_range and self.k == 1
        return BoundedRange(self.guarantee.epsilon) if bounded else self.guarantee

    @property
    def ordered(self) -> bool:
        return checked_noise(self.noise).releases_order

    def _scale(self, scores: Scores) -> Fraction:
        """k R / epsilon, exactly."""
        return self.k * scores.range_sensitivity / Fraction(self.guarantee.epsilon)

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, self.k)

    def _draw(self, scores: Scores, source: Source) -> list[int]:
        finish = race(
            scores.values,
            k=self.k,
            scale=self._scale(scores),
            noise=checked_noise(self.noise),
            source=source,
            work=self.work,
        )
        return [int(i) for i in finish.indices]

    def release_many(self, scores: object, *, draws: int, rng: Source | None = None, **question: Any) -> Indices:
        """The positions of independent draws, one row each, for study and audit of public scores."""
        asked = self._studied(scores, question)
        rows = race_many(
            asked.values,
            k=self.k,
            scale=self._scale(asked),
            noise=checked_noise(self.noise),
            source=checked_source(rng),
            draws=checked_draws(draws),
        )
        return rows if self.ordered else np.sort(rows, axis=1)

    def success_probability(self, scores: object, **question: Any) -> float:
        """P[the released set is a true top k], ties counting as equal: exact, to 1e-9."""
        from shortlist.laws.oneshot import right_probability

        return right_probability(*self._race(scores, question))

    def quality(self, scores: object, **question: Any) -> Quality:
        """P[top], P[great], P[good] and the expected recall of the released set (SPEC 23): exact, to 1e-9."""
        from shortlist.laws.oneshot import quality

        return quality(*self._race(scores, question))

    def inclusion_probabilities(self, scores: object, **question: Any) -> Floats:
        """P[candidate i is released], for every candidate: exact, to 1e-9."""
        from shortlist.laws.oneshot import inclusion_probabilities

        return inclusion_probabilities(*self._race(scores, question))

    def _studied(self, scores: object, question: dict[str, Any]) -> Scores:
        asked = as_scores(scores, **question)
        check_studied(asked)
        self._check(asked)
        return asked

    def _race(self, scores: object, question: dict[str, Any]) -> tuple[Floats, int, Noise]:
        """(scores in noise units above the k-th largest, k, noise): what the exact laws are functions of."""
        asked = self._studied(scores, question)
        values, noise = asked.values, checked_noise(self.noise)
        centre = np.partition(values, len(values) - self.k)[len(values) - self.k].item()
        positions = Contest(values, self.k, self._scale(asked), noise, centre).positions(values)
        return np.where(values == -np.inf, -np.inf, positions), self.k, noise
