"""Ordered lists of k items in one draw: joint, ordered canonical and guarded lists."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import InitVar, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from shortlist._arrays import Indices
from shortlist.exact.noise import EXPONENTIAL, GUMBEL, Noise
from shortlist.exact.reals import Uniform, ball
from shortlist.exact.sequences import Junk, Ladder, coarse_ladder, junk_of, ladder
from shortlist.exact.subsets import Order
from shortlist.mechanisms import base, utility
from shortlist.mechanisms.race import charge_of_rounds, epsilon_of_a_round
from shortlist.mechanisms.sets import (
    CANONICAL,
    ONE_SHOT,
    BestOf,
    Guarded,
    OneShot,
    one_shot_of,
    range_beside_switch,
    round_beside_switch,
)
from shortlist.privacy import ZCDP, Guarantee
from shortlist.sampling.entropy import Source, WordStream
from shortlist.sampling.sets import LIST_SLOPE as SLOPE
from shortlist.sampling.sets import ListSwitch, SequenceRace, Sequences, list_switch, sequence_envelope
from shortlist.sampling.subsets import GuardArrivalTime
from shortlist.scores import QuestionOptions, Scores

if TYPE_CHECKING:
    from flint import arb

__all__ = ["GuardedListTopK", "JointTopK", "OrderedCanonicalTopK"]


def _ladder(scores: Scores, k: int, rate: Fraction, *, gap: bool) -> tuple[Ladder, Indices | Order]:
    """Return the ladder of all lists, for one draw, and the candidates by rank: only the best are sorted."""
    steps = coarse_ladder(scores._numbers, k, rate, gap=gap)
    if steps is not None and steps.best is not None:
        return steps, steps.best.order
    return ladder(scores._numbers, k, gap=gap)


def _race_of(lists: ListGuard | Noise, steps: Ladder, rate: Fraction) -> SequenceRace | Sequences:
    """What draws a list, or says that there is none."""
    if lists == GUMBEL:
        return Sequences(steps, rate)
    return SequenceRace(sequence_envelope(steps, rate), lists.arrival if isinstance(lists, ListGuard) else None)


class BestList(BestOf):
    """The ordered list of k with the largest N_s - e loss(s) / (2 R): what such mechanisms share."""

    __slots__ = ()

    gap: ClassVar[bool]
    """Whether the right list leads by its least gap."""

    order_probability = utility.order_probability

    @property
    @abstractmethod
    def _kind(self) -> Noise:
        """The noise, Gumbel or exponential."""

    @property
    def charge(self) -> Guarantee:
        """With Gumbel noise bounded range, which says more than the budget; otherwise the budget."""
        return charge_of_rounds(1, self._kind.bounded_range, self.guarantee)

    def _rate(self, scores: Scores) -> Fraction:
        """e / (2 R), exactly: the loss moves by R either way."""
        return Fraction(epsilon_of_a_round(1, self.guarantee)) / (2 * scores.range_sensitivity)

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        steps, candidates = _ladder(scores, self.k, self._rate(scores), gap=self.gap)
        rate = self._rate(scores) * steps.unit
        places = _race_of(self._kind, steps, rate).draw(WordStream(source))
        return base.Outcome(candidates[np.array(places)].tolist())


@base.mechanism_class
class JointTopK(BestList):
    """A sequence s of k candidates with probability proportional to e^(-epsilon loss(s) / (2 R)).

    The loss is max_i (x_[i] - x_{s_i}): by how much the worst place misses. Promise: epsilon-DP and epsilon-bounded
    range for the ordered sequence. R is the range sensitivity of the scores; the loss moves by up to R either way,
    hence the 2.

    Parameters
    ----------
    k
        How many items.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`; `ZCDP(rho)` and `ApproxDP(epsilon, delta)` are taken too.

    Examples
    --------
    >>> JointTopK(k=2, epsilon=1.0).charge
    BoundedRange(epsilon=1.0)
    """

    k: int
    epsilon: InitVar[float | None] = None
    budget: Guarantee = base.MISSING

    proof: ClassVar[str] = "docs/mechanisms/joint.md#proof"
    title: ClassVar[str] = "joint top-{0.k}"
    gap: ClassVar[bool] = False
    _kind: ClassVar[Noise] = GUMBEL


@base.mechanism_class
class OrderedCanonicalTopK(BestList):
    """The list s of k candidates with the largest N_s - epsilon loss(s) / (2 R), with independent noise N_s of scale 1.

    The loss of a wrong list is max_i (x_[i] - x_{s_i}), by how much its worst place misses. That of a right one is
    minus the least gap x_[i] - x_[i+1], i = 1..k: 0 where scores tie, and then every order of them is right. It moves
    by up to R either way, R the range sensitivity of the scores.

    Promise: epsilon-DP for the ordered list; with Gumbel noise epsilon-bounded range, and then epsilon is the largest
    that fits a zCDP or (epsilon, delta) budget.

    Parameters
    ----------
    k
        How many items.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`; Gumbel noise also takes `ZCDP(rho)` and
        `ApproxDP(epsilon, delta)`.
    noise
        None is `"exponential"` for a pure budget and `"gumbel"` for any other; no other noise is known here.

    Examples
    --------
    >>> OrderedCanonicalTopK(k=2, epsilon=1.0).release([900, 20, 500, 7], monotone=True).items
    [0, 2]
    """

    k: int
    epsilon: InitVar[float | None] = None
    budget: Guarantee = base.MISSING
    noise: str | Noise | None = None

    proof: ClassVar[str] = "docs/mechanisms/ordered-canonical.md#proof"
    title: ClassVar[str] = "ordered canonical top-{0.k} with {0._kind.name} noise"
    gap: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None) -> None:
        BestList.__post_init__(self, epsilon)
        kind = self._kind
        if kind not in (GUMBEL, EXPONENTIAL):
            raise ValueError(f'{kind.name} noise has no exact draw of lists; write noise="exponential" or "gumbel"')
        base.check_noise_keeps(kind, self.guarantee)

    @property
    def _kind(self) -> Noise:
        return base.noise_for(self.noise, self.guarantee)


@base.mechanism_class
class GuardedListTopK(Guarded):
    """Ordered canonical top-k, and one-shot top-k where wrong lists would crowd it out, under every budget.

    Promise: the budget, for the ordered list together with the way it went (`release.used`).

    - `PureDP(epsilon)`, `ApproxDP(epsilon, delta)`: lists with exponential noise race with a guard, and no part of
      epsilon is set aside for that: the guard's noise has hazard a < 1, so its victory costs a epsilon and leaves
      (1 - a) epsilon for one-shot; a is 1/100. With a delta one-shot has all of it: Gumbel noise (peeling) where delta
      is worth that, by a public rule, and exponential noise elsewhere.
    - `ZCDP(rho)`: a choice of two by the weight of the junk takes 1/65 of rho, and ordered canonical top-k with
      Gumbel noise or peeling follows with the rest.

    With fewer than 2k candidates one-shot has the whole budget, and for one winner there is no guard.

    Parameters
    ----------
    k
        How many items.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`; `ApproxDP(epsilon, delta)` and `ZCDP(rho)` are others.

    Examples
    --------
    >>> GuardedListTopK(k=3, epsilon=1.0).release([900, 20, 500, 7, 400, 3, 1], monotone=True).items
    [0, 2, 4]
    """

    k: int
    epsilon: InitVar[float | None] = None
    budget: Guarantee = base.MISSING

    proof: ClassVar[str] = "docs/mechanisms/guarded-list.md#proof"
    title: ClassVar[str] = "guarded list of {0.k}"

    def _check(self, scores: Scores) -> None:
        base.check_known_candidates(scores, self.k)
        self._one_shot(scores._choosable)  # a budget that nothing fits is refused before it is charged

    def _rate(self, scores: Scores) -> Fraction:
        """e / (2 R), exactly, e the epsilon of lists."""
        budget, d = self.guarantee, scores._choosable
        if not isinstance(budget, ZCDP):
            return Fraction(budget.epsilon) / (2 * scores.range_sensitivity)
        e = range_beside_switch(budget, SLOPE) if self._is_guarded(d) else epsilon_of_a_round(1, budget)
        return Fraction(e) / (2 * scores.range_sensitivity)

    def _one_shot(self, d: int) -> tuple[Noise, Fraction]:
        """(noise, e of a round) of one-shot top-k: what is left where a guard or a switch had its look."""
        budget, guarded = self.guarantee, self._is_guarded(d)
        if isinstance(budget, ZCDP):
            rounds = round_beside_switch(budget, self.k, SLOPE) if guarded else epsilon_of_a_round(self.k, budget)
            return GUMBEL, Fraction(rounds)
        return one_shot_of(budget, self.k, SHARE if guarded else Fraction(0))

    def _is_guarded(self, d: int) -> bool:
        """Whether lists race beside a guard, which is public: one that sees no scores would guard nothing."""
        budget = self.guarantee
        return is_guarded(self.k, d) and (isinstance(budget, ZCDP) or budget.epsilon > 0)

    def _lists(self, scores: Scores, steps: Ladder) -> ListGuard | ListSwitch | Noise | None:
        """Who decides about lists: for one winner noise alone; None where one-shot is used without lists."""
        zcdp, d = isinstance(self.guarantee, ZCDP), scores._choosable
        if not self._is_guarded(d):
            return (GUMBEL if zcdp else EXPONENTIAL) if self.k == 1 else None
        rate = self._rate(scores) * steps.unit
        if zcdp:
            return list_switch(steps, rate)
        return ListGuard(junk_of(steps, rate, junk_size(self.k)), SHARE, tau_of(self.k, d))

    def _one_shot_scale(self, scores: Scores, d: int) -> Fraction:
        """R / e."""
        return scores.range_sensitivity / self._one_shot(d)[1]

    def _fallback(self, scores: Scores) -> OneShot:
        """One-shot top-k, if it comes to that."""
        d = scores._choosable
        return OneShot(self._one_shot(d)[0], self._one_shot_scale(scores, d))

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        steps, candidates = _ladder(scores, self.k, self._rate(scores), gap=True)
        lists, places, stream = self._lists(scores, steps), None, WordStream(source)
        if isinstance(lists, ListSwitch):
            places = lists.draw(stream)
        elif lists is not None:
            places = _race_of(lists, steps, self._rate(scores) * steps.unit).draw(stream)
        if places is not None:
            return base.Outcome(candidates[np.array(places)].tolist(), CANONICAL)
        return base.Outcome(self._fallback(scores).draw(scores._numbers, self.k, source).tolist(), ONE_SHOT)

    def least_order_probability(self, scores: object, **question: Unpack[QuestionOptions]) -> float:
        """P[no guard, and the list is the true top k in order]: exact, to 1e-8; one-shot may be right too."""
        return utility.distribution(self, scores, question).race.in_order()


@dataclass(frozen=True, slots=True)
class ListGuard:
    """A guard of rate a, tau nats above the weight of the junk: it arrives at e^-v U^(1/a)."""

    junk: Junk
    a: Fraction
    tau: Fraction

    def arrival(self, clock: Uniform) -> GuardArrivalTime:
        """When the guard arrives."""
        low, high = self.junk.low + float(self.tau), self.junk.high + float(self.tau)
        return GuardArrivalTime(low, high, self.exact, self.a, clock)

    def exact(self) -> arb:
        """v at the working precision."""
        return self.junk.exact() + ball(self.tau)


def crowd_of(k: int, d: int) -> float:
    """H, the logarithm of the number of lists of k of d."""
    return math.lgamma(d + 1) - math.lgamma(d - k + 1)


SHARE = Fraction(1, 100)
"""a, the hazard of the guard's noise: so much of epsilon is gone where the guard wins (Definition 191)."""


def tau_of(k: int, d: int) -> Fraction:
    """How far the guard is above the junk: a public constant (Definition 191)."""
    return 2 + Fraction(math.floor(8 * math.log(max(crowd_of(k, d), 1.0))), 16)


def junk_size(k: int) -> int:
    """A list that holds so many of the k best, or fewer, is junk: a public constant (Definition 191).

    A long list that misses a tenth of the best is no better than one-shot's.
    """
    rho = Fraction(3, 5) if k < 20 else Fraction(4, 5) if k < 64 else Fraction(9, 10)
    return math.ceil(rho * k) - 1


def is_guarded(k: int, d: int) -> bool:
    """Whether lists race beside a guard; of fewer than 2k candidates one-shot top-k takes all of epsilon at once."""
    return k > 1 and d >= 2 * k
