"""Canonical top-k: one noisy maximum over all sets of k candidates (Definition 62, Theorem 63).

A set is scored by its worst member against the best candidate left out; one person moves that by little for every k.
"""

from __future__ import annotations

import math
from dataclasses import InitVar
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import ClassVar, Literal, Unpack

import numpy as np

from shortlist._arrays import Indices, Runs, Values
from shortlist.exact.noise_distributions import EXPONENTIAL, GUMBEL, Noise
from shortlist.exact.partial_reals import rounded
from shortlist.exact.ranked_subsets import Ranking, Tallied, positions_of, ranked, runs_of, tallied
from shortlist.mechanisms import utility
from shortlist.mechanisms.canonical.law import EveryoneLaw, SubsetLaw
from shortlist.mechanisms.canonical.sampler import SubsetRace, prepare_rounded, prepare_subsets, rounded_up
from shortlist.mechanisms.checks import (
    Budget,
    check_known_candidates,
    check_noise_keeps,
    checked_budget,
    checked_draws,
    checked_k,
    checked_source,
    noise_for,
)
from shortlist.mechanisms.contract import UNSAID, Budgeted, Outcome, described
from shortlist.mechanisms.noisy_max.law import winner_probabilities
from shortlist.mechanisms.oneshot.mechanism import charge_of_rounds, epsilon_of_a_round
from shortlist.privacy import ApproxDP, Guarantee
from shortlist.sampling.entropy import Source
from shortlist.scores import Scores, ScoreWords

Loss = Literal["gap-aware", "paper", "rounded"]
CanonicalLaw = EveryoneLaw | SubsetLaw

MOST_SETS = 100_000
MOST_CLASSES = 1 << 26
"""k (d - k) at most, for noise under which every class is drawn."""

NOTHING = ApproxDP(0.0, 0.0)
"""What it costs to release all candidates, who are public: the output does not depend on anybody."""


@described
class CanonicalTopK(Budgeted[Budget]):
    """The set y of k candidates with the largest (epsilon / R) u(y) + N_y, with independent noise N_y of scale 1.

    u(y) = gamma min(scores inside y) - (1 - gamma) max(scores outside y), the gap-aware loss with its sign turned. Its
    range sensitivity is R, that of the scores, for every k.

    Promise: epsilon-DP for the set; with Gumbel noise epsilon-bounded range, and then epsilon is the largest that fits
    a zCDP or (epsilon, delta) budget. If k is the number of candidates, all are released and nothing is spent.

    Parameters
    ----------
    k
        How many items.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`; Gumbel noise also takes `ZCDP(rho)` and
        `ApproxDP(epsilon, delta)`.
    gamma
        Between 0 (only the best candidate left out counts) and 1 (only the worst inside). None is a public rule: 1/2,
        but 0.9 for k = 2 and 1 for k = 1, and their complements if all but 2 or 1 are chosen.
    noise
        None is `"exponential"` for a pure budget and `"gumbel"` for any other.
    loss
        `"gap-aware"`; `"paper"`, where max(inside, outside) stands for the best score outside: never better; or
        `"rounded"`, the loss of the paper with gamma = 1/2, rounded up to whole users: better than `"gap-aware"` only
        if scores near rank k are closer than half of what one user moves them.

    Examples
    --------
    >>> CanonicalTopK(k=2, epsilon=1.0).release([900, 20, 500, 7], monotone=True).items
    [0, 2]
    """

    k: int
    epsilon: InitVar[float | None] = None
    budget: Guarantee = UNSAID
    gamma: float | Fraction | None = None
    noise: str | Noise | None = None
    loss: Loss = "gap-aware"

    proof: ClassVar[str] = "docs/mechanisms/canonical.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        self._pay(checked_budget(epsilon, self.budget))
        object.__setattr__(self, "gamma", _checked_gamma(self.gamma))
        if not isinstance(self.loss, str) or self.loss not in ("gap-aware", "paper", "rounded"):
            raise ValueError(
                'loss must be "gap-aware", "rounded" (for scores close together) or "paper" (never better)'
            )
        if self.loss == "rounded" and self.gamma not in (None, 0.5):
            raise ValueError('loss="rounded" is proved for gamma=0.5 alone: leave gamma= out')
        check_noise_keeps(self._kind, self.guarantee)

    @property
    def _kind(self) -> Noise:
        return noise_for(self.noise, self.guarantee)

    @property
    def name(self) -> str:
        words = {"paper": " and the loss of the paper", "rounded": " and the loss of the paper, rounded up"}
        return f"canonical top-{self.k} with {self._kind.name} noise{words.get(self.loss, '')}"

    @property
    def charge(self) -> Guarantee:
        """With Gumbel noise bounded range, which says more than the budget; otherwise the budget."""
        return charge_of_rounds(1, self._kind, self.guarantee)

    @property
    def ordered(self) -> bool:
        return False

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, self.k)
        if (
            (self._kind not in (GUMBEL, EXPONENTIAL) or self.loss == "rounded")
            and self.gamma != 1
            and self.k * (scores._size - self.k) > MOST_CLASSES
        ):
            slow = 'loss="rounded"' if self.loss == "rounded" else f"{self._kind.name} noise"
            raise ValueError(f'{slow} would take hours here; write noise="exponential" or "gumbel", loss="gap-aware"')

    def _terms(self, scores: Scores) -> tuple[Guarantee, Guarantee]:
        return (NOTHING, NOTHING) if self.k == scores._choosable else (self.guarantee, self.charge)

    def _rate(self, scores: Scores) -> Fraction:
        """e / R, exactly."""
        return _rate(self.guarantee, scores.range_sensitivity)

    def _weight(self, d: int) -> Fraction:
        """g, for k of d candidates."""
        if self.loss == "rounded":
            return Fraction(1, 2)
        return default_gamma(self.k, d) if self.gamma is None else Fraction(self.gamma)

    def _ranking(self, scores: Scores, values: Values | Runs | None = None) -> Ranking:
        values = scores._numbers if values is None else values
        gamma = self._weight(scores._choosable)
        return ranked(values, self.k, self._rate(scores), gamma, gap_aware=self.loss not in ("paper", "rounded"))

    def _step(self, scores: Scores) -> Fraction | None:
        """What losses are rounded up to multiples of, in units of the noise: that of one user (Lemma 274)."""
        return self._rate(scores) * scores.range_sensitivity / 2 if self.loss == "rounded" else None

    def _race(self, scores: Scores, values: Values | Runs | None = None) -> SubsetRace:
        step = self._step(scores)
        if step is not None:
            return prepare_rounded(self._ranking(scores, values), self._kind, step)
        return prepare_subsets(self._ranking(scores, values), self._kind)

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        if self.k == scores._choosable:
            everyone = np.flatnonzero(scores._numbers > -np.inf).tolist()
            return Outcome(everyone, notes=("all candidates were released: nothing was chosen and nothing spent",))
        counted = counted_of(scores)
        if counted is None:
            return Outcome(np.sort(self._race(scores).draw(source)).tolist())
        places = self._race(scores, runs_of(counted)).draw(source)
        return Outcome(np.sort(positions_of(counted, places)).tolist())

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Indices:
        """The positions of independent draws, one sorted row each, for study and audit of public scores."""
        scores, source, number = self._studied(scores, question), checked_source(rng), checked_draws(draws)
        if self.k == scores._choosable:
            return np.tile(np.flatnonzero(scores.values > -np.inf), (number, 1))
        return self._race(scores).draw_many(source, number)

    def probabilities(self, scores: object, **question: Unpack[ScoreWords]) -> dict[tuple[int, ...], float]:
        """P[each set of k candidates], by their positions: exact, to 1e-12, where there are at most 100,000 sets."""
        scores = self._studied(scores, question)
        d = scores._choosable
        if math.comb(d, self.k) > MOST_SETS:
            raise ValueError(
                f"there are more than {MOST_SETS:,} sets; ask for quality or inclusion_probabilities instead"
            )
        if d == self.k:
            return {tuple(np.flatnonzero(scores.values > -np.inf).tolist()): 1.0}
        ranking, step = self._ranking(scores), self._step(scores)
        loss_of = ranking.loss_of
        sets = list(combinations(range(d), self.k))
        losses = [loss_of(ranks) for ranks in sets]
        losses = losses if step is None else [rounded_up(loss, step) for loss in losses]
        chances = winner_probabilities(np.array([-rounded(loss) for loss in losses]), self._kind)
        positions = [tuple(sorted(ranking.order[list(ranks)].tolist())) for ranks in sets]
        return dict(sorted(zip(positions, chances.tolist(), strict=True)))

    def success_bounds(self, scores: object, **question: Unpack[ScoreWords]) -> tuple[float, float]:
        """Certified (lower, upper) bounds on P[the released set is a true top k], ties counting as equal."""
        return self._law(self._studied(scores, question)).success_bounds()

    success_probability = utility.success_probability  # the middle of the bounds
    quality = utility.quality
    number_correct = utility.number_correct
    inclusion_probabilities = utility.inclusion_probabilities

    def _law(self, scores: Scores) -> CanonicalLaw:
        if self.k == scores._choosable:
            return EveryoneLaw(scores.values > -np.inf)
        if self.loss == "rounded":
            raise ValueError(
                'exact utility is not known for loss="rounded"; where there are few sets, read .probabilities'
            )
        return SubsetLaw(self._ranking(scores), self._summed, len(scores))

    @property
    def _summed(self) -> Noise:
        """The noise, if the law of its winner is known in closed form."""
        if self._kind not in (GUMBEL, EXPONENTIAL):
            raise ValueError(
                f"exact utility is known for gumbel and exponential noise, not for {self._kind.name}; where there are "
                "few sets, .probabilities lists them all"
            )
        return self._kind


def counted_of(scores: Scores) -> Runs | Tallied | None:
    """The scores by their distinct numbers: of candidates held in a table, or of many integers. None otherwise."""
    runs = scores._runs
    return tallied(scores._numbers) if runs is None else runs


@lru_cache
def _rate(budget: Budget, range_sensitivity: Fraction) -> Fraction:
    return Fraction(epsilon_of_a_round(1, budget)) / range_sensitivity


@lru_cache
def default_gamma(k: int, d: int) -> Fraction:
    """The public rule for k of d candidates (Definition 62)."""
    fewer = min(k, d - k)
    gamma = {0: Fraction(1), 1: Fraction(1), 2: Fraction(9, 10)}.get(fewer, Fraction(1, 2))
    return 1 - gamma if 2 * k > d else gamma


def _checked_gamma(gamma: object) -> Fraction | float | None:
    """Numbers of numpy as Python's own, which are exact."""
    plain = gamma.item() if isinstance(gamma, np.integer | np.floating) else gamma
    if plain is None:
        return None
    if isinstance(plain, bool) or not isinstance(plain, int | float | Fraction) or not 0 <= plain <= 1:
        raise ValueError("gamma must be a number between 0 and 1, for example gamma=0.5, or None for the public rule")
    return plain
