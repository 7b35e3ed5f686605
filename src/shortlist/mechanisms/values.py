"""Selected items with noisy values: a noisy histogram, and items that are measured after they are selected."""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shortlist._arrays import Runs, Values
from shortlist._runtime import present, set_fields
from shortlist.errors import bad_value
from shortlist.exact.noise import GAUSSIAN, LAPLACE, Noise
from shortlist.exact.reals import floor_of, floor_to_float
from shortlist.exact.search import bisect
from shortlist.exact.thresholds import certify_rate, gaussian_rate, keeps
from shortlist.mechanisms import base, utility
from shortlist.mechanisms.partition import NamesChoice, choice_of, list_of, offers_choice
from shortlist.mechanisms.race import NoisyRace
from shortlist.mechanisms.sets import GuardedTopK
from shortlist.mechanisms.unknown_domain import GAMMA, LimitedDomainTopK
from shortlist.mechanisms.utility import estimates
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, PureDP
from shortlist.release import Extras
from shortlist.sampling.entropy import Source, WordStream, shuffle
from shortlist.sampling.race import Work
from shortlist.sampling.thresholds import add_noise, add_pure_noise, add_whole_noise
from shortlist.scores import Scores

if TYPE_CHECKING:
    pass

__all__ = ["MeasuredSet", "NoisyHistogram"]

HALF, ONE = Fraction(1, 2), Fraction(1)


@base.mechanism_class
class NoisyHistogram(NoisyRace[base.Budget]):
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
    budget: Guarantee = base.MISSING
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/noisy-histogram.md#proof"
    title: ClassVar[str] = "noisy histogram, the {0.k} largest, at most {0.most} a person"

    inclusion_probabilities = utility.inclusion_probabilities

    def __post_init__(self, epsilon: float | None) -> None:
        base.check_work(self.work)
        most = base.check_whole("most", self.most, "$most=3")
        set_fields(self, k=base.check_k(self.k), most=most, budget=base.check_budget(epsilon, self.budget))

    @property
    def charge(self) -> Guarantee:
        """The budget; where Laplace noise was the narrower, its epsilon alone."""
        if isinstance(self.guarantee, ApproxDP) and self._kind is LAPLACE:
            return PureDP(self.guarantee.epsilon)
        return self.guarantee

    def noise(self, scores: Scores) -> RoundedNoise:
        """The noise on each count: a public law, from which margins follow."""
        return histogram_noise(self.guarantee, self.most, scores.largest_sensitivity)

    @property
    def _kind(self) -> Noise:
        return histogram_noise(self.guarantee, self.most, ONE).noise

    def _scale(self, scores: Scores) -> Fraction:
        return self.noise(scores).scale

    def _check(self, scores: Scores) -> None:
        base.check_known_candidates(scores, self.k)
        if scores.neighbours != "add-remove":
            raise ValueError('a cap bounds what adding a person does: write neighbours="add-remove"')
        if scores.from_table and (scores.most is None or scores.most > self.most):
            raise bad_value(f"these scores were counted without a cap of {self.most} items: write $most={self.most}")
        numbers = scores._sequence
        if (numbers.values if isinstance(numbers, Runs) else numbers).dtype.kind == "f":
            raise TypeError("a histogram is of whole numbers: give counts as integers, not as floats")

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        noisy, finish = self.noise(scores), self._race(scores, source)
        values = [float(floor_of(one.number(HALF))) for one in finish.finishes()]
        laplace, scale = noisy.noise is LAPLACE, noisy.scale
        one = estimates.whole_laplace_margin(scale) if laplace else estimates.gaussian_margin(scale, ONE)
        extras, way = Extras(values=values, margins=[one] * len(values)), "low" if scores._negated else "high"
        note = f"whoever is on the list because its noise was {way} is shown too {way}"
        return base.Outcome(finish.indices.tolist(), extras, (note,))


@dataclass(frozen=True, slots=True)
class RoundedNoise:
    """The noise on each count: Laplace or Gaussian noise of that scale, the sum rounded to the nearest whole number.

    Its law on whole errors is P[error >= z] = P[scale N >= z - 1/2], so P[|error| <= h] = 1 - 2 P[scale N >= h + 1/2].
    """

    noise: Noise
    scale: Fraction

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, before it is rounded."""
        return float(self.scale) * (math.sqrt(2.0) if self.noise is LAPLACE else 1.0)


WIDE_EPSILON = 2.0**40
"""Laplace noise is far narrower than Gaussian noise from this epsilon on, whatever the cap."""


@lru_cache
def histogram_noise(budget: base.Budget, most: int, sensitivity: Fraction) -> RoundedNoise:
    """For scores of which one person moves `most` at most, each by the sensitivity at most.

    Laplace noise of scale m Delta / epsilon, or Gaussian noise of deviation sqrt(m) Delta / mu; of the two that an
    (epsilon, delta) budget allows, the one with the smaller deviation.
    """
    if isinstance(budget, PureDP):
        return RoundedNoise(LAPLACE, most * sensitivity / Fraction(budget.epsilon))
    if isinstance(budget, ZCDP):
        return RoundedNoise(GAUSSIAN, sensitivity * root_above(most / (2 * Fraction(budget.rho))))
    narrow = [RoundedNoise(LAPLACE, most * sensitivity / Fraction(budget.epsilon))] if budget.epsilon else []
    if budget.delta and budget.epsilon < WIDE_EPSILON:
        narrow.append(RoundedNoise(GAUSSIAN, sensitivity * root_above(Fraction(most)) / _rate(budget)))
    return min(narrow, key=lambda one: one.deviation)


def root_above(square: Fraction) -> Fraction:
    """A float no smaller than the root, and hardly larger."""
    root = math.sqrt(square)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return Fraction(root)


@lru_cache
def _rate(budget: ApproxDP) -> Fraction:
    """mu, rounded down: Gaussian noise of deviation 1 on what moves by mu is certainly within the budget."""

    def too_much(mu: float) -> bool:
        return not keeps(Fraction(budget.epsilon), budget.delta, Fraction(mu))

    low, high = 0.0, 1.0
    while not too_much(high):
        low, high = high, 2 * high
    return Fraction(bisect(too_much, low, high, _between)[0])


def _between(low: float, high: float) -> float | None:
    """Halves until the points differ by at most 2^-40 of the smaller."""
    return (low + high) / 2 if high - low > low * 2.0**-40 else None


NamesFromData = NamesChoice | LimitedDomainTopK
Selection = GuardedTopK | NamesFromData
FEW = 8
"""Up to so many items, noise whose size grows with their number is less than noise that grows with its root."""
QUARTER, THIRD, MEASURED_HALF = Fraction(1, 4), Fraction(1, 3), Fraction(1, 2)
"""The shares that measure: of rho; of epsilon at most, for names from the data; and of epsilon, for a public list."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a budget pays for: who is selected, and the measurement of one number under each of two kinds of noise."""

    selection: Selection
    epsilon: Fraction | None
    """What all measurements together cost, where their noise is geometric or Laplace; None: Gaussian."""
    deviation: Fraction | None
    """The deviation of Gaussian noise on one number that one person moves by 1."""

    def noise(self, number: int, sensitivity: Fraction) -> Fraction:
        """The scale of the noise on each of so many numbers that one person may all move."""
        if self.epsilon is not None:
            return number * sensitivity / self.epsilon
        one = present(self.deviation) * sensitivity
        scale = Fraction(math.sqrt(number)) * one
        while scale**2 < number * one**2:
            scale *= 1 + Fraction(1, 1 << 50)
        return scale


@base.mechanism_class
class MeasuredSet(base.Budgeted[PureDP | ZCDP | ApproxDP]):
    """At most k items, selected with one part of the budget, and a fresh noisy measurement of each with the other.

    Selection is `GuardedTopK`, as without values, or for candidates that come from the data `NamesChoice` without key
    sets (one name: `LimitedDomainTopK`). Then n numbers are measured, n as many as were selected: with geometric noise
    (Laplace, where scores are not whole) of scale n Delta / epsilon_v, or with Gaussian noise of deviation
    sqrt(n) Delta sigma, rounded to whole numbers where scores are whole. Which of them is decided by the public k and
    the budget.

    Promise: the budget, epsilon-DP, (epsilon, delta)-DP or delta-approximate rho-zCDP, for names, their order by value,
    and values.

    Parameters
    ----------
    k
        How many items at most.
    budget
        `PureDP(epsilon)`, `ApproxDP(epsilon, delta)` or `ZCDP(rho, delta)`; candidates that come from the data need a
        delta.
    limit
        For candidates that come from the data: how many rows may be looked at, a public number.

    Raises
    ------
    ValueError, TypeError
        naming the argument; for scores that the selection does not take, before they are looked at.

    Examples
    --------
    >>> release = MeasuredSet(k=2, budget=ZCDP(0.5)).release([9000, 5000, 20, 7], monotone=True)
    >>> release.items, len(release.values), len(release.margins)
    ([0, 1], 2, 2)
    """

    k: int
    budget: Guarantee
    limit: int | None = None

    proof: ClassVar[str] = "docs/mechanisms/measured.md#proof"
    title: ClassVar[str] = "measured top-{0.k}"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        set_fields(self, k=base.check_k(self.k), budget=base.check_budget(None, self.budget))
        if (self.guarantee.rho if isinstance(self.guarantee, ZCDP) else self.guarantee.epsilon) == 0:
            raise bad_value("the budget must be greater than 0, for example $budget=ApproxDP(1.0, 1e-6)")
        if self.limit is not None:
            set_fields(self, limit=base.check_limit(self.limit, self.k))

    @lru_cache  # noqa: B019 (of equal mechanisms it is the same, and to find it may take long)
    def _parts(self, public: bool) -> Parts:
        """The parts of the budget, each rounded so that together they fit."""
        budget = self.guarantee
        if isinstance(budget, ZCDP):
            names = floor_to_float((1 - QUARTER) * Fraction(budget.rho))
            rest = Fraction(budget.rho) - Fraction(names)
            return Parts(self._selection(ZCDP(names, budget.delta), public), None, 1 / _root_below(2 * rest))
        delta = getattr(budget, "delta", 0.0)
        share = MEASURED_HALF if public else min(THIRD, _least_error_share(self.k, delta))
        names = floor_to_float((1 - share) * Fraction(budget.epsilon))
        rest = Fraction(budget.epsilon) - Fraction(names)
        if isinstance(budget, PureDP):
            return Parts(self._selection(PureDP(names), public), rest, None)
        half = base.part_of(budget.delta, MEASURED_HALF)
        if self.k <= FEW or not half:  # the least of all deltas has no half
            return Parts(self._selection(ApproxDP(names, budget.delta), public), rest, None)
        rate = gaussian_rate(float(rest), half)  # nearly: it is certified where it is taken
        wide = self.k * rate * math.log(20) <= estimates.NORMAL * math.sqrt(self.k) * float(rest)
        if wide:  # the delta is too small
            return Parts(self._selection(ApproxDP(names, budget.delta), public), rest, None)
        return Parts(self._selection(ApproxDP(names, half), public), None, 1 / certify_rate(rest, half))

    def _selection(self, budget: PureDP | ZCDP | ApproxDP, public: bool) -> Selection:
        if public:
            return GuardedTopK(k=self.k, budget=budget)
        request = base.Request(self.k, budget, public=False, limit=self.limit)
        return choice_of(request) if offers_choice(request) else list_of(request)

    def _check(self, scores: Scores) -> None:
        if not scores.public and not getattr(self.budget, "delta", 0.0):
            raise bad_value("names that come from the data need a delta: write $budget=ApproxDP(1.0, 1e-6)")
        self._parts(scores.public).selection._check(scores)

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        parts = self._parts(scores.public)
        outcome = parts.selection._draw(scores, source)
        members = outcome.indices or []
        if not members:
            return base.Outcome([], replace(outcome.extras, values=[], margins=[]), outcome.notes)
        scale = parts.noise(len(members), scores.largest_sensitivity)
        values = self._noisy(scores._sequence[np.array(members)], parts, scale, source)
        order = sorted(shuffle(len(members), WordStream(source)), key=lambda i: -values[i])
        whole = scores._sequence[:1].dtype.kind != "f"
        margins = [self._margin(parts, scale, whole)] * len(members)
        extras = replace(outcome.extras, values=[values[i] for i in order], margins=margins)
        # that all were released and nothing spent is not so when measured
        notes = () if scores.public else outcome.notes
        return base.Outcome([members[i] for i in order], extras, notes)

    def _noisy(self, numbers: Values, parts: Parts, scale: Fraction, source: Source) -> list[float]:
        """Each number with fresh noise; whole ones stay whole."""
        if parts.epsilon is not None:
            return add_pure_noise(numbers, scale=scale, source=source)
        if numbers.dtype.kind == "f":
            return [add_noise(one, scale=scale, noise=GAUSSIAN, source=source) for one in numbers.tolist()]
        counts = numbers.astype(np.int64)
        return [float(n) for n in add_whole_noise(counts, scale=scale, noise=GAUSSIAN, source=source)]

    def _margin(self, parts: Parts, scale: Fraction, whole: bool) -> estimates.Margin:
        if parts.epsilon is None:
            return estimates.gaussian_margin(scale, Fraction(1) if whole else None)
        return estimates.pure_margin(scale, whole=whole)

    success_probability = utility.success_probability
    quality = utility.quality


def _least_error_share(k: int, delta: float) -> Fraction:
    """The share of epsilon that makes the sum of the bar and of the error least: sqrt C / (sqrt A + sqrt C).

    The bar of a set of labels from the data is about A / epsilon, the error of k counts C / epsilon.
    """
    sets = sum(math.comb(2 * k, j) for j in range(1, k + 1))
    bar = (math.log(sets) - math.log(delta)) / float(GAMMA)
    error = math.sqrt(2) * k
    return Fraction(math.sqrt(error) / (math.sqrt(bar) + math.sqrt(error)))


def _root_below(square: Fraction) -> Fraction:
    """The largest float, or nearly, whose square is not above."""
    r = math.sqrt(float(square))
    while Fraction(r) ** 2 > square:
        r = math.nextafter(r, 0.0)
    return Fraction(r)
