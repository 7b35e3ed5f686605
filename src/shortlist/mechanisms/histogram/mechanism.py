"""A noisy histogram of capped counts: the k largest in order, with values, at one price for every k (Theorem 196)."""

from __future__ import annotations

from dataclasses import InitVar
from fractions import Fraction
from typing import ClassVar, Unpack

import numpy as np

from shortlist._arrays import Runs
from shortlist.exact.margins import gaussian_margin, whole_laplace_margin
from shortlist.exact.noise_distributions import LAPLACE
from shortlist.exact.partial_reals import floor_of, total
from shortlist.extras import Extras
from shortlist.mechanisms import utility
from shortlist.mechanisms.checks import (
    Budget,
    check_known_candidates,
    checked_budget,
    checked_draws,
    checked_k,
    checked_source,
    checked_work,
)
from shortlist.mechanisms.contract import UNSAID, Budgeted, Draws, Outcome, described
from shortlist.mechanisms.histogram.law import RoundedNoise, histogram_noise
from shortlist.mechanisms.oneshot.law import OneshotLaw
from shortlist.privacy import ApproxDP, Guarantee, PureDP
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import Work, race
from shortlist.sampling.race_batch import Field
from shortlist.scores import Scores, ScoreWords

HALF, ONE = Fraction(1, 2), Fraction(1)


@described
class NoisyHistogram(Budgeted[Budget]):
    """Noise on every count, the k largest released in order with their values: whole numbers, one price for every k.

    Promise: the budget, for scores of which one person, added, moves `most` at most, all in one direction and each by
    Delta at most. Pure: Laplace noise of scale m Delta / epsilon. zCDP: Gaussian noise of variance m Delta^2 / (2 rho).
    (epsilon, delta): the narrower of that Laplace noise and of Gaussian noise of deviation sqrt(m) Delta / mu, by the
    exact Gaussian profile. Sums are exact reals; their order and their nearest whole numbers are released.

    Parameters
    ----------
    k
        How many items. The noise does not depend on it.
    most
        How many candidates one person counts for, at most: `count(..., most=3)` makes it so. For numbers of your own it
        is your word, as their sensitivity is.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`.
    work
        `"adaptive"` is fast; `"fixed"` draws noise for every candidate, whatever the scores are.

    Examples
    --------
    >>> release = NoisyHistogram(k=2, most=1, epsilon=1.0).release([9000, 20, 5000, 7], monotone=True)
    >>> release.indices, len(release.values)
    ([0, 2], 2)
    """

    k: int
    most: int
    epsilon: InitVar[float | None] = None
    budget: Guarantee = UNSAID
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/noisy-histogram.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        object.__setattr__(self, "most", checked_cap(self.most))
        checked_work(self.work)
        self._pay(checked_budget(epsilon, self.budget))

    @property
    def name(self) -> str:
        return f"noisy histogram, the {self.k} largest, at most {self.most} a person"

    @property
    def charge(self) -> Guarantee:
        """The budget; where Laplace noise was the narrower, its epsilon alone."""
        if isinstance(self.guarantee, ApproxDP) and histogram_noise(self.guarantee, self.most, ONE).noise is LAPLACE:
            return PureDP(self.guarantee.epsilon)
        return self.guarantee

    @property
    def ordered(self) -> bool:
        return True

    def noise(self, scores: Scores) -> RoundedNoise:
        """The noise on each count: a public law, from which margins follow."""
        return histogram_noise(self.guarantee, self.most, scores.largest_sensitivity)

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, self.k)
        if scores.neighbours != "add-remove":
            raise ValueError('a cap bounds what adding a person does: write neighbours="add-remove"')
        if scores.from_table and (scores.most is None or scores.most > self.most):
            raise ValueError(
                f"these scores were counted without a cap of {self.most} items a person: "
                f"count with most={self.most}, or choose another mechanism"
            )
        numbers = scores._sequence
        if (numbers.values if isinstance(numbers, Runs) else numbers).dtype.kind == "f":
            raise TypeError("a histogram is of whole numbers: give counts as integers, not as floats")

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        noisy = self.noise(scores)
        finish = race(scores._numbers, k=self.k, scale=noisy.scale, noise=noisy.noise, source=source, work=self.work)
        values = [float(floor_of(total(score + HALF, [term]))) for score, term in finish.finishes()]
        one = whole_laplace_margin(noisy.scale) if noisy.noise is LAPLACE else gaussian_margin(noisy.scale, ONE)
        extras = Extras(values=values, margins=[one] * len(values))
        return Outcome([int(i) for i in finish.indices], extras, (self._note(scores),))

    def _note(self, scores: Scores) -> str:
        way = "low" if scores._turned else "high"
        return f"whoever is on the list because its noise was {way} is shown too {way}"

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Draws:
        """The positions and values of independent draws, one row each, for study and audit of public scores."""
        scores = self._studied(scores, question)
        noisy = self.noise(scores)
        races = Field(scores.values, self.k, noisy.scale, noisy.noise).races(checked_draws(draws), checked_source(rng))
        return Draws.of_rows((rows.indices, np.floor(rows.values() + 0.5)) for rows in races).as_they_were(scores)

    success_probability = utility.success_probability
    quality = utility.quality
    inclusion_probabilities = utility.inclusion_probabilities

    def _law(self, scores: Scores) -> OneshotLaw:
        """That of one-shot top-k: values change nothing of who is released."""
        noisy = self.noise(scores)
        return OneshotLaw.of(scores.values, self.k, noisy.scale, noisy.noise)


def checked_cap(most: object) -> int:
    """A whole number of candidates that one person counts for."""
    try:
        return checked_k(most)
    except TypeError:
        raise TypeError("most must be a whole number, for example most=3") from None
    except ValueError:
        raise ValueError("most must be at least 1") from None
