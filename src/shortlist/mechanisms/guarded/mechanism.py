"""Guarded top-k: canonical top-k that cannot collapse, the default for a set under a pure budget (Theorem 73).

Below a critical epsilon the C(d, k) junk sets outweigh the true ones, and canonical top-k returns noise. Here one more
candidate takes part in its race, the guard, whose score is the weight of the junk and whose noise is heavier. If a set
wins, it is canonical top-k at the full epsilon; if the guard wins, one-shot top-k follows with what is left.
"""

from __future__ import annotations

import math
from dataclasses import InitVar, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from shortlist._arrays import Floats, Indices, Values
from shortlist._runs import Runs
from shortlist.exact.noise_distributions import EXPONENTIAL
from shortlist.exact.ranked_subsets import ranked
from shortlist.extras import Extras
from shortlist.mechanisms.canonical.mechanism import NOTHING, CanonicalTopK
from shortlist.mechanisms.checks import (
    check_known_candidates,
    checked_budget,
    checked_draws,
    checked_k,
    checked_source,
)
from shortlist.mechanisms.contract import UNSAID, Budgeted, Draws, Outcome, described
from shortlist.mechanisms.guarded.law import Utility, negated
from shortlist.mechanisms.guarded.sampler import Guard, guarded
from shortlist.privacy import Guarantee, PureDP
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import race
from shortlist.sampling.race_batch import race_many
from shortlist.scores import Scores, ScoreWords

if TYPE_CHECKING:
    from shortlist.exact.quality import Quality

TAU = Fraction(2)

CANONICAL, ONE_SHOT = Extras(used="canonical"), Extras(used="one-shot")
"""Which way it went."""


@described
class GuardedTopK(Budgeted[PureDP]):
    """Canonical top-k with exponential noise, and one-shot top-k where canonical would return junk.

    Promise: epsilon-DP for the set together with the way it went (`release.used`). No part of epsilon is set aside for
    the choice: the guard's noise has hazard a < 1, so its victory costs a epsilon and leaves (1 - a) epsilon for
    one-shot. With min(k, d - k) <= 2 there is no guard: it is canonical top-k.

    Parameters
    ----------
    k
        How many items.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`; other budgets are refused.

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
        budget = checked_budget(epsilon, self.budget)
        if not isinstance(budget, PureDP):
            raise ValueError(f"the guarded race keeps pure budgets only; for {budget} use CanonicalTopK")
        self._pay(budget)

    @property
    def name(self) -> str:
        return f"guarded top-{self.k}"

    @property
    def ordered(self) -> bool:
        return False

    @property
    def _canonical(self) -> CanonicalTopK:
        return CanonicalTopK(k=self.k, budget=self.budget)

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, self.k)

    def _terms(self, scores: Scores) -> tuple[Guarantee, Guarantee]:
        cost = NOTHING if self.k == scores._choosable else self.guarantee
        return cost, cost

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        runs = scores._runs
        if runs is not None and 2 < self.k <= len(runs) // 2:
            return self._draw_by_runs(scores, runs, source)
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
        asked, source = self._studied(scores, question), checked_source(rng)
        run = self._prepared(asked)
        if run is None:
            rows = self._canonical.release_many(asked, draws=draws, rng=rng)
            return Draws(rows, None, np.zeros((len(rows), 1), np.int64))
        return run.draw_many(source, checked_draws(draws))

    def success_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[the released set is a true top k], ties counting as equal: exact, to 1e-8."""
        asked = self._studied(scores, question)
        run = self._prepared(asked)
        return self._canonical.success_probability(asked) if run is None else Utility(run).success()

    def quality(self, scores: object, **question: Unpack[ScoreWords]) -> Quality:
        """P[top], P[great], P[good] and the expected recall of the released set (Definition 118): exact, to 1e-8."""
        asked = self._studied(scores, question)
        run = self._prepared(asked)
        return self._canonical.quality(asked) if run is None else Utility(run).quality()

    def number_correct(self, scores: object, **question: Unpack[ScoreWords]) -> Floats:
        """P[c of the released items score at least the k-th largest], c = 0..k: exact, to 1e-8."""
        asked = self._studied(scores, question)
        run = self._prepared(asked)
        return self._canonical.number_correct(asked) if run is None else Utility(run).number_correct()

    def inclusion_probabilities(self, scores: object, **question: Unpack[ScoreWords]) -> Floats:
        """P[candidate i is released], for every candidate: exact, to 1e-8."""
        asked = self._studied(scores, question)
        run = self._prepared(asked)
        return (
            self._canonical.inclusion_probabilities(asked)
            if run is None
            else Utility(run).inclusion_probabilities(len(asked))
        )

    def guard_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[the guard wins, so that one-shot top-k is used]: exact, to 1e-8."""
        run = self._prepared(self._studied(scores, question))
        return 0.0 if run is None else Utility(run).chances(run.guard.ranking)[1]

    def _prepared(self, scores: Scores) -> GuardedRace | None:
        """Whatever depends on the scores alone, done once; None if there is no guard, which is public."""
        values = scores._numbers
        chosen = np.flatnonzero(values > -np.inf)
        k, mirrored = min(self.k, len(chosen) - self.k), 2 * self.k > len(chosen)
        if k <= 2:
            return None
        junk = junk_from(k, len(chosen), rho_of(k))
        if not (junk < len(chosen) - k).any():
            return None
        kept = negated(values[chosen]) if mirrored else values[chosen]
        return GuardedRace(chosen, kept, *self._guard(scores, kept, k, junk), mirrored)

    def _draw_by_runs(self, scores: Scores, runs: Runs, source: Source) -> Outcome:
        """The same for candidates held in a table, at the cost of their distinct scores."""
        junk = junk_from(self.k, len(runs), rho_of(self.k))
        if not (junk < len(runs) - self.k).any():
            return replace(self._canonical._draw(scores, source), extras=CANONICAL)
        guard, scale = self._guard(scores, runs, self.k, junk)
        found = guard.draw(source)
        if found is not None:
            return Outcome(found.tolist(), CANONICAL)
        race_of_all = race(scores._numbers, k=self.k, scale=scale, noise=EXPONENTIAL, source=source)
        return Outcome(race_of_all.indices.tolist(), ONE_SHOT)

    def _guard(self, scores: Scores, kept: Values | Runs, k: int, junk: Indices) -> tuple[Guard, Fraction]:
        """(the guard, the scale of one-shot's noise if it wins)."""
        ranking = ranked(kept, k, self._rate(scores), Fraction(1, 2), gap_aware=True)
        return guarded(ranking, share_of(k, len(kept)), TAU, junk), self._one_shot_scale(scores, k, len(kept))

    def _rate(self, scores: Scores) -> Fraction:
        """epsilon / R."""
        return Fraction(self.guarantee.epsilon) / scores.range_sensitivity

    def _one_shot_scale(self, scores: Scores, k: int, d: int) -> Fraction:
        """The noise of one-shot top-k if the guard wins: what its look at the scores, a share a of epsilon, leaves."""
        return k / ((1 - share_of(k, d)) * self._rate(scores))


@dataclass(frozen=True, slots=True)
class GuardedRace:
    """A guarded race that can be run again and again."""

    chosen: Indices
    """The candidates above -inf."""
    kept: Values
    """Their scores; negated if the losers are drawn instead of the winners."""
    guard: Guard
    scale: Fraction
    """The noise of one-shot top-k, if it comes to that."""
    mirrored: bool

    def draw(self, source: Source) -> tuple[Indices, Extras]:
        """(the set, in no order that says anything; which way it went)."""
        found, k = self.guard.draw(source), self.guard.ranking.k
        used = ONE_SHOT if found is None else CANONICAL
        if found is None:
            found = race(self.kept, k=k, scale=self.scale, noise=EXPONENTIAL, source=source).indices
        picked = np.zeros(len(self.chosen), np.bool_)
        picked[found] = True
        return self.chosen[~picked if self.mirrored else picked], used

    def draw_many(self, source: Source, draws: int) -> Draws:
        """Independent draws: sorted rows, and 1 where one-shot was used."""
        found, k = self.guard.draw_many(source, draws), self.guard.ranking.k
        one_shot = np.array([one is None for one in found])
        rows = np.empty((draws, k), np.int64)
        rows[~one_shot] = np.array([one for one in found if one is not None], np.int64).reshape(-1, k)
        rows[one_shot] = race_many(
            self.kept, k=k, scale=self.scale, noise=EXPONENTIAL, source=source, draws=int(one_shot.sum())
        )
        if self.mirrored:
            picked = np.ones((draws, len(self.chosen)), np.bool_)
            np.put_along_axis(picked, rows, False, axis=1)
            rows = np.nonzero(picked)[1].reshape(draws, -1)
        return Draws(self.chosen[np.sort(rows, axis=1)], None, one_shot[:, None].astype(np.int64))


def share_of(k: int, d: int) -> Fraction:
    """a, the hazard of the guard's noise: a public constant (Definition 72)."""
    crowd = math.lgamma(d + 1) - math.lgamma(k + 1) - math.lgamma(d - k + 1)
    return Fraction(max(1, math.floor(256 * min(0.25, 1.2 / math.sqrt(crowd)))), 256)


def rho_of(k: int) -> Fraction:
    """Sets with an expected recall below rho are junk: a public constant (Definition 72)."""
    return Fraction(2, 5) if k < 32 else Fraction(1, 2) if k < 320 else Fraction(3, 5)


def junk_from(k: int, d: int, rho: Fraction) -> Indices:
    """From which j on class (i, j) is junk, for every i: i j > ((1 - rho) k - 1) (i + j); d - k if never."""
    limit = (1 - rho) * k - 1
    first = [math.floor(limit * i / (i - limit)) + 1 if i > limit else d - k for i in range(k)]
    return np.minimum(np.array(first, np.int64), d - k)
