"""Races that release more than their winners: gaps, and values with Gumbel noise."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import InitVar
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import ClassVar

import numpy as np

from shortlist._arrays import Floats
from shortlist._runtime import set_fields
from shortlist.accounting.guarantees import number
from shortlist.errors import bad_type, bad_value
from shortlist.exact.noise import EXPONENTIAL, GUMBEL, LAPLACE, Noise
from shortlist.exact.reals import to_float
from shortlist.mechanisms import base, utility
from shortlist.mechanisms.race import NoisyRace
from shortlist.mechanisms.utility import estimates
from shortlist.privacy import ApproxDP, Guarantee, GumbelDP, PureDP, calibrate
from shortlist.release import Extras, type_key
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import Work
from shortlist.sampling.stable import lead_of
from shortlist.sampling.thresholds import add_noise
from shortlist.scores import Scores

__all__ = ["ExponentialWithGap", "GumbelTopKValues", "MeasuredTopK", "TopKWithGaps"]

DEVIATIONS = {EXPONENTIAL.name: 1.0, LAPLACE.name: sqrt(2.0)}
"""The standard deviation of the noises of scale 1 whose gaps may be released."""

CLEAR_ORDER = (
    "each value is made of a new noisy measurement and the leads, and its margin is that of this noise where the order "
    "was clear; where it was close, or many candidates stood close behind, values are off by more and more often: for "
    "margins that always hold leave gaps=True out"
)


class GapRace(NoisyRace[PureDP]):
    """A race of which the gaps are released: pure budgets alone, and noise whose gaps are proved."""

    __slots__ = ()

    k: int
    noise: str

    losers: ClassVar[int] = 1

    probabilities = utility.probabilities
    inclusion_probabilities = utility.inclusion_probabilities

    def _check_words(self, what: str, epsilon: float | None, scale: float | None = None) -> None:
        set_fields(self, k=base.check_k(self.k))
        set_fields(self, budget=base.check_pure_budget(what, epsilon, self.budget, scale, self.k))
        check_gap_noise(self.noise)
        base.check_work(self.work)

    @property
    def _kind(self) -> Noise:
        return check_gap_noise(self.noise)


@base.mechanism_class
class TopKWithGaps(GapRace):
    """The k largest of x_i + N_i in order, each with its lead over the next; N_i is noise of scale k R / epsilon.

    Promise: epsilon-DP for items, order and all k gaps; the gaps are free. The last gap is the lead over the best
    loser, who is not named, so k + 1 candidates are needed. Pure budgets only: a gap has no bounded range.

    Parameters
    ----------
    k
        How many items, fewer than there are candidates.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`.
    scale
        Short for the epsilon at which the noise has that scale, in units of the range sensitivity: epsilon = k / scale.
    noise
        `"exponential"` (half the variance) or `"laplace"`.
    work
        `"adaptive"` is fast; `"fixed"` draws noise for every candidate, whatever the scores are.

    Examples
    --------
    >>> release = TopKWithGaps(k=2, epsilon=1.0).release([9000, 5000, 20, 7], monotone=True)
    >>> release.indices, len(release.gaps)
    ([0, 1], 2)
    """

    k: int
    epsilon: InitVar[float | None] = None
    scale: InitVar[float | None] = None
    budget: Guarantee = base.MISSING
    noise: str = "exponential"
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/top-k-with-gaps.md#proof"
    title: ClassVar[str] = "top-{0.k} with gaps and {0.noise} noise"

    def __post_init__(self, epsilon: float | None, scale: float | None) -> None:
        self._check_words("top-k with gaps", epsilon, scale)

    def _scale(self, scores: Scores) -> Fraction:
        return selection_scale(scores, self.k, Fraction(self.guarantee.epsilon))

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        finish, scale = self._race(scores, source), self._scale(scores)
        extras = Extras(gaps=finish.gaps(), evidence=estimates.ChainedGaps(DEVIATIONS[self.noise] * to_float(scale)))
        return base.Outcome(finish.indices[: self.k].tolist(), extras)


@base.mechanism_class
class MeasuredTopK(GapRace):
    """The k best, selected with one part of epsilon, then measured with the other, gaps and measurements combined.

    Promise: epsilon-DP. Selection is `TopKWithGaps(theta epsilon)`. Each winner's score is then measured with fresh
    Laplace noise of scale k Delta / ((1 - theta) epsilon): one person moves the k scores by at most k Delta in all.
    `values` are the best linear estimates from both (`gaps` come along); against the measurements alone their mean
    squared error is less by (k - 1) / (k (1 + lambda)), lambda = 1/2 for exponential noise, monotone scores and halves.
    That, and the margins, hold where the order is clear: the noise of a selected item tends to be large, the more so
    the more candidates stood close behind, and it is in the gaps. `MeasuredSet` has margins that hold always.

    Parameters
    ----------
    k
        How many items, fewer than there are candidates.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`, the only kind there is for it.
    noise
        Of the selection: `"exponential"` (half the variance) or `"laplace"`.
    theta
        The share of epsilon that selects, in (0, 1): half, unless said. None: from half on the one with the least
        variance of the values, to a thousandth; it is half for small k, and .772 for k = 100 counts.
    work
        `"adaptive"` is fast; `"fixed"` draws noise for every candidate, whatever the scores are.

    Examples
    --------
    >>> len(MeasuredTopK(k=2, epsilon=1.0).release([9000, 5000, 20, 7], monotone=True).values)
    2
    """

    k: int
    epsilon: InitVar[float | None] = None
    budget: Guarantee = base.MISSING
    noise: str = "exponential"
    theta: float | None = 0.5
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/top-k-with-gaps.md#select-measure-refine"
    title: ClassVar[str] = "measured top-{0.k} with gaps and {0.noise} noise"
    later: ClassVar[tuple[tuple[str, ...], ...]] = (("theta",),)

    def __post_init__(self, epsilon: float | None) -> None:
        self._check_words("measured top-k", epsilon)
        if self.theta is not None:
            number("theta", self.theta, above=True, below=1.0)

    def _scale(self, scores: Scores) -> Fraction:
        return self._scales(scores)[0]

    def _scales(self, scores: Scores) -> tuple[Fraction, Fraction]:
        """Of the noise that selects, and of the noise that measures."""
        share, epsilon = Fraction(self.share(scores)), Fraction(self.guarantee.epsilon)
        selection = selection_scale(scores, self.k, share * epsilon)
        return selection, self.k * scores.largest_sensitivity / ((1 - share) * epsilon)

    def share(self, scores: Scores) -> float:
        """The share of epsilon that selects: a public number."""
        if self.theta is not None:
            return self.theta
        return least_variance_split(self.k, float(scores.range_sensitivity / scores.largest_sensitivity), self.noise)

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        selection, scale = self._scales(scores)
        finish = self._race(scores, source)
        indices, gaps = finish.indices[: self.k].tolist(), finish.gaps()
        measurements = [
            add_noise(scores._numbers[i].item(), scale=scale, noise=LAPLACE, source=source) for i in indices
        ]
        ratio = (selection / scale) ** 2 * Fraction(DEVIATIONS[self.noise]) ** 2 / 2  # of the variances
        values = estimates.best_linear(measurements, gaps, float(ratio))
        margins = [estimates.margin_with_gaps(self.k, scale, selection, self.noise)] * self.k
        return base.Outcome(indices, Extras(values=values, margins=margins, gaps=gaps), (CLEAR_ORDER,))


def check_gap_noise(noise: object) -> Noise:
    """A noise by its name, if gaps under it are proved."""
    if not isinstance(noise, str) or noise not in DEVIATIONS:
        raise ValueError('noise must be "exponential" or "laplace": for other noise no gap to the best loser is proved')
    return base.check_noise(noise)


def selection_scale(scores: Scores, k: int, epsilon: Fraction) -> Fraction:
    """k R / epsilon, exactly."""
    return k * scores.range_sensitivity / epsilon


@lru_cache
def least_variance_split(k: int, relative: float, noise: str) -> float:
    """From half on the share theta of the selection with the least variance of the refined values (Proposition 259).

    (1 + lambda k) / ((1 - theta)^2 (1 + lambda)), lambda = (R / Delta)^2 ((1 - theta) / theta)^2 / 2, or without the 2
    for Laplace noise; to a thousandth.
    """
    theta: Floats = np.arange(500, 1000) / 1000
    ratio = (DEVIATIONS[noise] * relative * (1 - theta) / theta) ** 2 / 2
    return float(theta[np.argmin((1 + ratio * k) / ((1 - theta) ** 2 * (1 + ratio)))])


NOTE = (
    "p_value: were some other candidate's score at least the winner's, a lead as large as this one would have at most "
    "this probability, given the winner"
)


GIVEN = (
    "the winner was given: this charge pays for its draw too, if that was by the exponential mechanism with this "
    "epsilon from these scores"
)


@base.mechanism_class
class ExponentialWithGap(NoisyRace[PureDP]):
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
    budget: Guarantee = base.MISSING
    winner: Hashable = None
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/exponential-with-gap.md#proof"
    later: ClassVar[tuple[tuple[str, ...], ...]] = (("winner",),)
    losers: ClassVar[int] = 1
    _kind: ClassVar[Noise] = GUMBEL

    probabilities = utility.winner_probabilities

    def __post_init__(self, epsilon: float | None, scale: float | None) -> None:
        budget = base.check_pure_budget("the exponential mechanism with gap", epsilon, self.budget, scale)
        set_fields(self, budget=budget)
        base.check_work(self.work)

    @property
    def name(self) -> str:
        return "exponential mechanism with gap" if self.winner is None else "gap of a given winner"

    @property
    def is_permutation_invariant(self) -> bool:
        return self.winner is None

    def _check(self, scores: Scores) -> None:
        NoisyRace._check(self, scores)
        if self.winner is not None:
            self._place(scores)

    def _place(self, scores: Scores) -> int:
        """The position of the winner that is given; from public facts."""
        labels = range(scores._size) if scores._labels is None else scores._labels
        place = next((i for i, label in enumerate(labels) if type_key((label,)) == type_key((self.winner,))), None)
        if place is None:
            raise ValueError("winner must be one of the candidates: a label, or a position where there are no labels")
        if scores._numbers[place] == -np.inf:
            raise ValueError("winner is a candidate that may never be chosen (its score is -inf)")
        return place

    def _scale(self, scores: Scores) -> Fraction:
        """R / epsilon, exactly."""
        return scores.range_sensitivity / Fraction(self.guarantee.epsilon)

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        scale = self._scale(scores)
        if self.winner is not None:
            place = self._place(scores)
            gap = lead_of(scores._numbers, place, scale, source)
            return base.Outcome([place], Extras(gaps=[gap], p_value=p_value_of(gap, scale)), (NOTE, GIVEN))
        finish = self._race(scores, source)
        gaps = finish.gaps()
        return base.Outcome([int(finish.indices[0])], Extras(gaps=gaps, p_value=p_value_of(gaps[0], scale)), (NOTE,))


def p_value_of(gap: float, scale: Fraction) -> float:
    """2 / (1 + e^(gap / scale)), rounded up: the largest P(a gap so large | this winner) if it is not the only best."""
    tail = math.exp(-to_float(Fraction(gap) / scale)) if gap < math.inf else 0.0
    return min(1.0, max(2 * tail / (1 + tail) * (1 + 2.0**-40), math.nextafter(0.0, 1.0)))


EULER = 0.5772156649015329
"""The mean of Gumbel noise of scale 1."""

GUMBEL_VALUES_NOTE = (
    "values are noisy and say nothing about the item beside them: together they describe the soft maximum of all "
    "scores, of which soft_max is the unbiased estimate"
)


@base.mechanism_class
class GumbelTopKValues(NoisyRace[ApproxDP | GumbelDP]):
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
    budget: ApproxDP | GumbelDP = base.MISSING
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/gumbel-values.md#proof"
    title: ClassVar[str] = "Gumbel top-{0.k} with values"

    _kind: ClassVar[Noise] = GUMBEL

    probabilities = utility.probabilities
    inclusion_probabilities = utility.inclusion_probabilities

    def __post_init__(self, mu: float | None) -> None:
        k, budget = base.check_k(self.k), self.budget
        base.check_work(self.work)
        if mu is not None:
            if budget is not None:
                raise bad_type("mu= says what it costs: leave $budget= out, or leave mu= out")
            budget = GumbelDP(mu, k, monotone=False)
        elif isinstance(budget, GumbelDP):
            if budget.k != k:
                raise bad_value(f"$budget is for $k={budget.k} values: write GumbelDP(mu, k={k}), or mu=")
            budget = GumbelDP(budget.mu, k, monotone=False)
        elif isinstance(budget, ApproxDP):
            budget = base.plain_budget(budget)
        else:
            raise bad_type("a Gumbel value has no pure and no zCDP guarantee: write $budget=ApproxDP(epsilon, delta)")
        set_fields(self, k=k, budget=budget)

    def scale(self, scores: Scores) -> Fraction:
        """gamma = Delta / mu, a public number: it depends on the sensitivity and not on the values."""
        budget = self.budget
        mu = budget.mu if isinstance(budget, GumbelDP) else largest_mu(self.k, budget, scores.monotone)
        return scores.largest_sensitivity / Fraction(mu)

    def _scale(self, scores: Scores) -> Fraction:
        return self.scale(scores)

    def _privacy_cost(self, scores: Scores) -> tuple[Guarantee, Guarantee]:
        if not isinstance(self.budget, GumbelDP):
            return self.guarantee, self.charge
        promise = GumbelDP(self.budget.mu, self.k, scores.monotone)
        return promise, promise

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        finish = self._race(scores, source)
        values = finish.values()
        soft_max = values[0] - to_float(Fraction(EULER) * self.scale(scores))
        note = GUMBEL_VALUES_NOTE.replace("max", "min") if scores._negated else GUMBEL_VALUES_NOTE
        return base.Outcome(finish.indices.tolist(), Extras(values=values, soft_max=soft_max), (note,))


@lru_cache
def largest_mu(k: int, budget: ApproxDP, monotone: bool) -> float:
    """The largest mu = Delta / gamma whose profile fits the budget, rounded down."""
    return calibrate(lambda mu: GumbelDP(mu, k, monotone), budget)
