"""Guarded top-k: canonical top-k that cannot collapse, the default for a set under every budget (Theorem 73).

Below a critical epsilon the C(d, k) junk sets outweigh the true ones, and canonical top-k returns noise. A guard, whose
score is the weight of the junk, prevents that: it takes part in the race with heavier noise, or under zCDP it is asked
first (`switch.py`). Where it wins, one-shot top-k follows with what is left of the budget (`budgets.py`).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import InitVar, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from shortlist._arrays import Indices, Runs, Values
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.ranked_subsets import Tallied, positions_of, ranked, runs_of
from shortlist.extras import Extras
from shortlist.mechanisms import utility
from shortlist.mechanisms.canonical.mechanism import CanonicalLaw, CanonicalTopK, counted_of
from shortlist.mechanisms.checks import (
    Budget,
    check_known_candidates,
    checked_budget,
    checked_draws,
    checked_k,
    checked_source,
)
from shortlist.mechanisms.contract import UNSAID, Budgeted, Draws, Outcome, described
from shortlist.mechanisms.guarded.budgets import SLOPE, one_shot_of, rate_of, whole_of
from shortlist.mechanisms.guarded.law import Utility, negated
from shortlist.mechanisms.guarded.sampler import Guard, guarded
from shortlist.mechanisms.guarded.switch import Switch, switched
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, PureDP
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import race
from shortlist.sampling.race_rows import winners_in_rows
from shortlist.scores import Scores, ScoreWords

if TYPE_CHECKING:
    pass

TAU = Fraction(2)
SWITCH_TAU = Fraction(16)

JUNK_LEVELS: dict[type, tuple[tuple[int, ...], tuple[Fraction, ...]]] = {
    PureDP: ((32, 320), (Fraction(2, 5), Fraction(1, 2), Fraction(3, 5))),
    ApproxDP: ((32,), (Fraction(2, 5), Fraction(3, 5))),
    ZCDP: ((12, 40), (Fraction(9, 20), Fraction(3, 4), Fraction(9, 10))),
}
"""By the kind of budget: (the k from which the next rho holds, rho). Sets with an expected recall below rho are junk.

The better one-shot is under such a budget, the larger is rho: fewer sets are better than what it returns.
"""

MOST_TILTED = 30
"""The largest k with g = 3/5 (`gamma_of`): it finds more items, on average and where canonical top-k nearly collapses.

Under zCDP it would lose some.
"""

CANONICAL, ONE_SHOT = Extras(used="canonical"), Extras(used="one-shot")
"""Which way it went."""


@described
class GuardedTopK(Budgeted[Budget]):
    """Canonical top-k, and one-shot top-k where wrong sets would crowd out the right one, under every budget.

    Promise: the budget, for the set together with the way it went (`release.used`).

    - `PureDP(epsilon)`, `ApproxDP(epsilon, delta)`: sets with exponential noise at the whole of epsilon race with a
      guard whose noise has hazard a < 1. Its victory costs a epsilon, and one-shot follows with (1 - a) epsilon and all
      of delta: Gumbel noise (peeling) where delta is worth that, by a public rule, and exponential noise elsewhere.
    - `ZCDP(rho)`: a choice of two by the weight of the junk takes 1/17 of rho, and canonical top-k with Gumbel noise or
      peeling follows with the rest.

    The worst score inside a set of 3 to 30 weighs gamma = 3/5 (see `CanonicalTopK`), in larger ones and under zCDP 1/2.
    With min(k, d - k) <= 2 there is no guard: it is `CanonicalTopK`.

    Parameters
    ----------
    k
        How many items.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`; `ApproxDP(epsilon, delta)` and `ZCDP(rho)` are others.

    Examples
    --------
    >>> GuardedTopK(k=3, epsilon=1.0).release([900, 20, 500, 7, 400, 3, 1], monotone=True).items
    [0, 2, 4]
    """

    k: int
    epsilon: InitVar[float | None] = None
    budget: Guarantee = UNSAID

    proof: ClassVar[str] = "docs/mechanisms/guarded.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        self._pay(checked_budget(epsilon, self.budget))

    @property
    def name(self) -> str:
        return f"guarded top-{self.k}"

    @property
    def ordered(self) -> bool:
        return False

    @property
    def charge(self) -> Guarantee:
        """The budget, whichever way it goes."""
        return whole_of(self.guarantee)

    @property
    def _canonical(self) -> CanonicalTopK:
        return canonical_of(self.k, self.budget)

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, self.k)
        public = self._guarding(scores)
        if public is not None:
            self._one_shot(scores, public.k, public.d)  # a budget that nothing fits is refused before it is booked

    def _terms(self, scores: Scores) -> tuple[Guarantee, Guarantee]:
        return self._canonical._terms(scores) if self._guarding(scores) is None else (self.guarantee, self.charge)

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        counted = counted_of(scores) if self.k > 2 else None
        if counted is not None and self.k <= scores._choosable // 2:
            return self._draw_by_runs(scores, counted, source)
        run = self._prepared(scores)
        if run is None:
            return replace(self._canonical._draw(scores, source), extras=CANONICAL)
        picked, used = run.draw(source)
        return Outcome(picked.tolist(), used)

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Draws:
        """Independent draws, one sorted row each, for study and audit of public scores.

        `chosen` has one column, the way each went: 1 for one-shot and 0 for canonical.
        """
        scores, source = self._studied(scores, question), checked_source(rng)
        run = self._prepared(scores)
        if run is None:
            rows = self._canonical.release_many(scores, draws=draws, rng=rng)
            return Draws(rows, None, np.zeros((len(rows), 1), np.int64))
        return run.draw_many(source, checked_draws(draws))

    success_probability = utility.success_probability
    quality = utility.quality
    number_correct = utility.number_correct
    inclusion_probabilities = utility.inclusion_probabilities

    def guard_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[the guard wins, so that one-shot top-k is used]: exact, to 1e-8."""
        scores = self._studied(scores, question)
        run = self._prepared(scores)
        return 0.0 if run is None else Utility(run, len(scores)).guard

    def _law(self, scores: Scores) -> Utility | CanonicalLaw:
        run = self._prepared(scores)
        return self._canonical._law(scores) if run is None else Utility(run, len(scores))

    def _guarding(self, scores: Scores) -> Guarding | None:
        """What is public of the guard; None if there is none."""
        budget, d = self.guarantee, scores._choosable
        k = min(self.k, d - self.k)
        looks = isinstance(budget, ZCDP) or budget.epsilon > 0  # a guard that sees no scores would guard nothing
        junk = junk_of(k, d, rho_of(k, budget)) if looks else None
        return None if junk is None else Guarding(k, d, junk)

    def _prepared(self, scores: Scores) -> GuardedRace | None:
        """Whatever depends on the scores alone, done once; None if there is no guard."""
        public = self._guarding(scores)
        return None if public is None else self._followed(scores, public, self._one_shot(scores, public.k, public.d))

    def _followed(self, scores: Scores, public: Guarding, fallback: OneShot) -> GuardedRace:
        """`_prepared` where there is a guard, with this one-shot to follow if it wins."""
        values, mirrored = scores._numbers, 2 * self.k > public.d
        chosen = np.flatnonzero(values > -np.inf)
        finite = negated(values[chosen]) if mirrored else values[chosen]
        return GuardedRace(chosen, finite, self._chooser(scores, finite, public), fallback, mirrored)

    def _draw_by_runs(self, scores: Scores, counted: Runs | Tallied, source: Source) -> Outcome:
        """`_draw` for candidates held in a table or counted, in a time that grows with their distinct scores alone."""
        public = self._guarding(scores)
        if public is None:
            return replace(self._canonical._draw(scores, source), extras=CANONICAL)
        places = self._chooser(scores, runs_of(counted), public).draw(source)
        if places is not None:
            return Outcome(positions_of(counted, places).tolist(), CANONICAL)
        fallback = self._one_shot(scores, public.k, public.d)
        return Outcome(fallback.draw(scores._numbers, public.k, source).tolist(), ONE_SHOT)

    def _chooser(self, scores: Scores, values: Values | Runs, public: Guarding) -> Guard | Switch:
        """Who gives a set, or none if one-shot is to follow."""
        ranking = ranked(values, public.k, self._rate(scores), gamma_of(public.k, self.guarantee), gap_aware=True)
        if isinstance(self.budget, ZCDP):
            return switched(ranking, SLOPE, SWITCH_TAU, public.junk)
        return guarded(ranking, share_of(public.k, public.d), TAU, public.junk)

    def _rate(self, scores: Scores) -> Fraction:
        """e / R, e the epsilon of the sets."""
        return rate_of(self.guarantee) / scores.range_sensitivity

    def _one_shot(self, scores: Scores, k: int, d: int) -> OneShot:
        """What follows where the guard wins, with what is left of the budget: k of d are drawn."""
        noise, e = one_shot_of(self.guarantee, k, share_of(k, d))
        return OneShot(noise, scores.range_sensitivity / e)


@dataclass(frozen=True, slots=True)
class OneShot:
    """One-shot top-k, as it follows."""

    noise: Noise
    scale: Fraction
    """R / e, e the epsilon of a round."""

    def draw(self, values: Values, k: int, source: Source) -> Indices:
        """The winners: their order is not released."""
        return race(values, k=k, scale=self.scale, noise=self.noise, source=source).indices


@dataclass(frozen=True, slots=True)
class Guarding:
    """What is public of a guard: it depends on how many candidates there are, not on their scores."""

    k: int
    """How many are drawn: the losers, where they are fewer."""
    d: int
    """How many may be chosen."""
    junk: Indices
    """From which j on class (i, j) is junk, for every i."""


@dataclass(frozen=True, slots=True)
class GuardedRace:
    """A guarded race that can be run again and again."""

    chosen: Indices
    """The candidates above -inf."""
    finite: Values
    """Their scores; negated if the losers are drawn instead of the winners."""
    guard: Guard | Switch
    fallback: OneShot
    mirrored: bool

    def draw(self, source: Source) -> tuple[Indices, Extras]:
        """(the set, in no order that says anything; which way it went)."""
        places, k = self.guard.draw(source), self.guard.ranking.k
        used = ONE_SHOT if places is None else CANONICAL
        if places is None:
            places = self.fallback.draw(self.finite, k, source)
        picked = np.zeros(len(self.chosen), np.bool_)
        picked[places] = True
        return self.chosen[~picked if self.mirrored else picked], used

    def draw_many(self, source: Source, draws: int) -> Draws:
        """Independent draws: sorted rows, and 1 where one-shot was used."""
        rows, one_shot = self.guard.draw_many(source, draws)
        winners = winners_in_rows(
            self.finite,
            k=self.guard.ranking.k,
            scale=self.fallback.scale,
            noise=self.fallback.noise,
            source=source,
            draws=int(one_shot.sum()),
        )
        rows[one_shot] = np.sort(winners, axis=1)
        if self.mirrored:
            picked = np.ones((draws, len(self.chosen)), np.bool_)
            np.put_along_axis(picked, rows, False, axis=1)
            rows = np.nonzero(picked)[1].reshape(draws, -1)
        return Draws(self.chosen[rows], None, one_shot[:, None].astype(np.int64))


@lru_cache
def canonical_of(k: int, budget: Guarantee) -> CanonicalTopK:
    """What it is without a guard: remembered, for it is public."""
    return CanonicalTopK(k=k, budget=budget)


@lru_cache
def share_of(k: int, d: int) -> Fraction:
    """a, the hazard of the guard's noise: a public constant (Definition 72)."""
    crowd = math.lgamma(d + 1) - math.lgamma(k + 1) - math.lgamma(d - k + 1)
    return Fraction(max(1, math.floor(256 * min(0.25, 1.2 / math.sqrt(crowd)))), 256)


def rho_of(k: int, budget: Budget) -> Fraction:
    """Sets with an expected recall below rho are junk: a public constant (Definition 72, 169, 171)."""
    starts, levels = JUNK_LEVELS[type(budget)]
    return levels[bisect_right(starts, k)]


def gamma_of(k: int, budget: Budget) -> Fraction:
    """g, the weight of the worst score inside a set, the best outside having 1 - g: a public rule (Definition 251)."""
    return Fraction(3, 5) if k <= MOST_TILTED and not isinstance(budget, ZCDP) else Fraction(1, 2)


@lru_cache
def junk_of(k: int, d: int, rho: Fraction) -> Indices | None:
    """`junk_from`, or None where no class is junk and a guard would have nothing to weigh; public, so remembered."""
    first = junk_from(k, d, rho) if k > 2 else None
    return None if first is None or not (first < d - k).any() else first


def junk_from(k: int, d: int, rho: Fraction) -> Indices:
    """From which j on class (i, j) is junk, for every i: i j > ((1 - rho) k - 1) (i + j); d - k if never."""
    limit = (1 - rho) * k - 1
    first = [math.floor(limit * i / (i - limit)) + 1 if i > limit else d - k for i in range(k)]
    return np.minimum(np.array(first, np.int64), d - k)
