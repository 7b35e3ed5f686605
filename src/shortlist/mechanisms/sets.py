"""Sets of k items: canonical top-k, and guarded top-k, the default for a set from public candidates."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import InitVar, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Literal, Unpack

import numpy as np

from shortlist._arrays import Indices, Runs, Values
from shortlist._runtime import set_fields
from shortlist.exact.noise import EXPONENTIAL, GUMBEL, Noise
from shortlist.exact.reals import floor_to_float
from shortlist.exact.subsets import Ranking, rank_scores
from shortlist.mechanisms import base, utility
from shortlist.mechanisms.race import charge_of_rounds, epsilon_of_a_round
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, Guarantee, PureDP, calibrate
from shortlist.release import Extras
from shortlist.sampling.entropy import Source, WordStream
from shortlist.sampling.race import race
from shortlist.sampling.sets import Guard, Switch, prepare_guard, prepare_subsets, prepare_switch
from shortlist.scores import QuestionOptions, Scores

__all__ = ["CanonicalTopK", "GuardedTopK"]

Loss = Literal["gap-aware", "paper", "rounded"]
QUICK = (GUMBEL, EXPONENTIAL)
"""Noise under which only the classes that matter are drawn."""
MOST_CLASSES = 1 << 26
"""k (d - k) at most, for noise under which every class is drawn."""

FAINT = 60.0
"""Sets that weigh e^-60 of the best one together hardly ever come out: their members are sorted only then."""

NOTHING = ApproxDP(0.0, 0.0)
"""What it costs to release all candidates, who are public: the output does not depend on anybody."""


class BestOf(base.Budgeted[base.Budget]):
    """k items at once, by a choice among all sets or lists of k candidates: what these mechanisms share."""

    __slots__ = ()

    k: int

    exchangeable: ClassVar[bool] = True

    success_probability = utility.success_probability
    quality = utility.quality
    number_correct = utility.number_correct
    inclusion_probabilities = utility.inclusion_probabilities

    def __post_init__(self, epsilon: float | None) -> None:
        set_fields(self, k=base.check_k(self.k), budget=base.check_budget(epsilon, self.budget))

    def _check(self, scores: Scores) -> None:
        base.check_known_candidates(scores, self.k)


class Guarded(BestOf):
    """What falls back to one-shot top-k, with a guard or a switch that looks at how many wrong outputs there are."""

    __slots__ = ()

    guard_probability = utility.guard_probability

    @property
    def charge(self) -> Guarantee:
        """The budget, whichever way it goes: never bounded range, which neither the guard nor the switch leaves."""
        return ZCDP(self.budget.rho) if isinstance(self.budget, ZCDP) else self.budget

    def _way(self, outcome: base.Outcome) -> list[int]:
        """1 for one-shot and 0 for canonical."""
        return [int(outcome.extras.used == ONE_SHOT.used)]


@base.mechanism_class
class CanonicalTopK(BestOf):
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
    budget: Guarantee = base.MISSING
    gamma: float | Fraction | None = None
    noise: str | Noise | None = None
    loss: Loss = "gap-aware"

    proof: ClassVar[str] = "docs/mechanisms/canonical.md#proof"

    probabilities = utility.probabilities

    def __post_init__(self, epsilon: float | None) -> None:
        BestOf.__post_init__(self, epsilon)
        set_fields(self, gamma=None if self.gamma is None else base.check_share("gamma", self.gamma))
        if not isinstance(self.loss, str) or self.loss not in ("gap-aware", "paper", "rounded"):
            raise ValueError('loss must be "gap-aware", "rounded" (for close scores) or "paper" (never better)')
        if self.loss == "rounded" and self.gamma not in (None, 0.5):
            raise ValueError('loss="rounded" is proved for gamma=0.5 alone: leave gamma= out')
        base.check_noise_keeps(self._kind, self.guarantee)

    @property
    def _kind(self) -> Noise:
        return base.noise_for(self.noise, self.guarantee)

    @property
    def name(self) -> str:
        words = {"paper": " and the loss of the paper", "rounded": " and the loss of the paper, rounded up"}
        return f"canonical top-{self.k} with {self._kind.name} noise{words.get(self.loss, '')}"

    @property
    def charge(self) -> Guarantee:
        """With Gumbel noise bounded range, which says more than the budget; otherwise the budget."""
        return charge_of_rounds(1, self._kind.bounded_range, self.guarantee)

    ordered: ClassVar[bool] = False

    def _check(self, scores: Scores) -> None:
        base.check_known_candidates(scores, self.k)
        every_class = (self._kind not in QUICK or self.loss == "rounded") and self.gamma != 1
        if every_class and self.k * (scores._size - self.k) > MOST_CLASSES:
            slow = 'loss="rounded"' if self.loss == "rounded" else f"{self._kind.name} noise"
            raise ValueError(f'{slow} would take hours here; write noise="exponential" or "gumbel", loss="gap-aware"')

    def _privacy_cost(self, scores: Scores) -> tuple[Guarantee, Guarantee]:
        return (NOTHING, NOTHING) if self.k == scores._choosable else (self.guarantee, self.charge)

    def _rate(self, scores: Scores) -> Fraction:
        """e / R, exactly."""
        return Fraction(epsilon_of_a_round(1, self.guarantee)) / scores.range_sensitivity

    def _weight(self, d: int) -> Fraction:
        """g, for k of d candidates."""
        if self.loss == "rounded":
            return Fraction(1, 2)
        return default_gamma(self.k, d) if self.gamma is None else Fraction(self.gamma)

    def _ranking(self, scores: Scores, values: Values | Runs | None = None, faint: float | None = None) -> Ranking:
        values, gap_aware = scores._numbers if values is None else values, self.loss not in ("paper", "rounded")
        gamma = self._weight(scores._choosable)
        return rank_scores(values, self.k, self._rate(scores), gamma, gap_aware=gap_aware, faint=faint)

    def _step(self, scores: Scores) -> Fraction | None:
        """What losses are rounded up to multiples of, in units of the noise: that of one user (Lemma 274)."""
        return self._rate(scores) * scores.range_sensitivity / 2 if self.loss == "rounded" else None

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        if self.k == scores._choosable:
            everyone = np.flatnonzero(scores._numbers > -np.inf).tolist()
            return base.Outcome(everyone, notes=("all candidates were released: nothing was chosen and nothing spent",))
        step = self._step(scores)
        ranking = self._ranking(scores, scores._runs, FAINT if step is None and self._kind in QUICK else None)
        places = prepare_subsets(ranking, self._kind, step)(WordStream(source))
        return base.Outcome(np.sort(places).tolist())

    def success_bounds(self, scores: object, **question: Unpack[QuestionOptions]) -> tuple[float, float]:
        """Certified (lower, upper) bounds on P[the released set is a true top k], ties counting as equal."""
        return utility.distribution(self, scores, question).success_bounds()


@lru_cache
def default_gamma(k: int, d: int) -> Fraction:
    """The public rule for k of d candidates (Definition 62)."""
    fewer = min(k, d - k)
    gamma = {0: Fraction(1), 1: Fraction(1), 2: Fraction(9, 10)}.get(fewer, Fraction(1, 2))
    return 1 - gamma if 2 * k > d else gamma


SLOPE = Fraction(1, 4)
"""t, how much of the lead the switch sees: it costs t^2 / (1 + t^2) of rho."""


def worth_delta(k: int) -> Fraction:
    """Gumbel noise needs about so many times the e of exponential noise for the same recall: a public rule."""
    return Fraction(7, 5) if k < 8 else Fraction(6, 5)


@lru_cache
def rate_of(budget: base.Budget) -> Fraction:
    """The epsilon that the sets are drawn with."""
    return Fraction(range_beside_switch(budget, SLOPE) if isinstance(budget, ZCDP) else budget.epsilon)


@lru_cache
def one_shot_of(budget: base.Budget, k: int, share: Fraction) -> tuple[Noise, Fraction]:
    """(noise of one-shot top-k, its e = R / scale) where the guard of hazard `share` has won: e is rounded down."""
    if isinstance(budget, ZCDP):
        return GUMBEL, Fraction(round_beside_switch(budget, k, SLOPE))
    left = (1 - share) * Fraction(budget.epsilon)
    plain = left / k
    if isinstance(budget, ApproxDP) and budget.delta:
        e = Fraction(epsilon_of_a_round(k, ApproxDP(floor_to_float(left), budget.delta)))
        if e >= worth_delta(k) * plain:
            return GUMBEL, e
    return EXPONENTIAL, plain


@lru_cache
def range_beside_switch(budget: ZCDP, slope: Fraction) -> float:
    """e, rounded down: one draw of e-bounded range after a switch of t e fits the budget, t its slope."""
    near = math.sqrt(8 * budget.rho) or 1.0
    return calibrate(lambda e: BoundedRange(e).compose(_switch(e, slope)), budget, near=near)


@lru_cache
def round_beside_switch(budget: ZCDP, k: int, slope: Fraction) -> float:
    """e of a round, rounded down: k rounds after the same switch fit the budget."""
    whole = range_beside_switch(budget, slope)
    switch = _switch(whole, slope)
    return calibrate(lambda e: BoundedRange(e).repeat(k).compose(switch), budget, near=whole / math.sqrt(k))


def _switch(e: float, slope: Fraction) -> BoundedRange:
    return BoundedRange(float(slope) * e)


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


@base.mechanism_class
class GuardedTopK(Guarded):
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
    budget: base.Budget = base.MISSING

    proof: ClassVar[str] = "docs/mechanisms/guarded.md#proof"
    title: ClassVar[str] = "guarded top-{0.k}"

    ordered: ClassVar[bool] = False

    @property
    def _canonical(self) -> CanonicalTopK:
        return CanonicalTopK(k=self.k, budget=self.budget)

    def _privacy_cost(self, scores: Scores) -> tuple[Guarantee, Guarantee]:
        public = self._guarding(scores)
        if public is None:
            return self._canonical._privacy_cost(scores)
        one_shot_of(self.budget, public.k, share_of(public.k, public.d))  # a budget that nothing fits is refused here
        return self.budget, self.charge

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        public = self._guarding(scores)
        if public is None:
            return replace(self._canonical._draw(scores, source), extras=CANONICAL)
        if self.k > public.d // 2 and (run := self._run(scores)):
            picked, used = run.draw(source)
            return base.Outcome(picked.tolist(), used)
        # noise of hazard a takes a guard 1/a times as far
        faint = FAINT if isinstance(self.budget, ZCDP) else float(10 / share_of(public.k, public.d))
        values = scores._numbers if scores._runs is None else scores._runs
        places = self._chooser(scores, values, public, faint).draw(WordStream(source))
        used = CANONICAL
        if places is None:
            used = ONE_SHOT
            places = self._one_shot(scores, public.k, public.d).draw(scores._numbers, public.k, source)
        return base.Outcome(np.sort(places).tolist(), used)

    def _guarding(self, scores: Scores) -> Guarding | None:
        """What is public of the guard; None if there is none."""
        return guarding_of(self.k, scores._choosable, self.budget)

    def _run(self, scores: Scores) -> GuardedRace | None:
        """Whatever depends on the scores alone, done once; None if there is no guard."""
        public = self._guarding(scores)
        if public is None:
            return None
        values, mirrored = scores._numbers, 2 * self.k > public.d
        chosen = np.flatnonzero(values > -np.inf)
        finite = negate(values[chosen]) if mirrored else values[chosen]
        fallback = self._one_shot(scores, public.k, public.d)
        return GuardedRace(chosen, finite, self._chooser(scores, finite, public), fallback, mirrored)

    def _chooser(
        self, scores: Scores, values: Values | Runs, public: Guarding, faint: float | None = None
    ) -> Guard | Switch:
        """Who gives a set, or none if one-shot is to follow."""
        gamma = gamma_of(public.k, self.budget)
        ranking = rank_scores(values, public.k, self._rate(scores), gamma, gap_aware=True, faint=faint)
        if isinstance(self.budget, ZCDP):
            return prepare_switch(ranking, SLOPE, SWITCH_TAU, public.junk)
        return prepare_guard(ranking, share_of(public.k, public.d), TAU, public.junk)

    def _rate(self, scores: Scores) -> Fraction:
        """e / R, e the epsilon of the sets."""
        return rate_of(self.budget) / scores.range_sensitivity

    def _one_shot(self, scores: Scores, k: int, d: int) -> OneShot:
        """What follows where the guard wins, with what is left of the budget: k of d are drawn."""
        noise, e = one_shot_of(self.budget, k, share_of(k, d))
        return OneShot(noise, scores.range_sensitivity / e)


def negate(values: Values) -> Values:
    """Scores in reverse, up to a shift that changes nothing; for integers without overflow."""
    return -values if values.dtype.kind == "f" else ~values


@dataclass(frozen=True, slots=True)
class OneShot:
    """One-shot top-k, as it follows."""

    noise: Noise
    scale: Fraction
    """R / e, e the epsilon of a round."""

    def draw(self, values: Values, k: int, source: Source) -> Indices:
        """The winners, best first."""
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
    """Their scores; negate if the losers are drawn instead of the winners."""
    guard: Guard | Switch
    fallback: OneShot
    mirrored: bool

    def draw(self, source: Source) -> tuple[Indices, Extras]:
        """(the set, in no order that says anything; which way it went)."""
        places, k = self.guard.draw(WordStream(source)), self.guard.ranking.k
        used = ONE_SHOT if places is None else CANONICAL
        if places is None:
            places = self.fallback.draw(self.finite, k, source)
        picked = np.zeros(len(self.chosen), np.bool_)
        picked[places] = True
        return self.chosen[~picked if self.mirrored else picked], used


@lru_cache
def share_of(k: int, d: int) -> Fraction:
    """a, the hazard of the guard's noise: a public constant (Definition 72)."""
    crowd = math.lgamma(d + 1) - math.lgamma(k + 1) - math.lgamma(d - k + 1)
    return Fraction(max(1, math.floor(256 * min(0.25, 1.2 / math.sqrt(crowd)))), 256)


def rho_of(k: int, budget: base.Budget) -> Fraction:
    """Sets with an expected recall below rho are junk: a public constant (Definition 72, 169, 171)."""
    starts, levels = JUNK_LEVELS[type(budget)]
    return levels[bisect_right(starts, k)]


@lru_cache
def gamma_of(k: int, budget: base.Budget) -> Fraction:
    """g, the weight of the worst score inside a set, the best outside having 1 - g: a public rule (Definition 251)."""
    return Fraction(3, 5) if k <= MOST_TILTED and not isinstance(budget, ZCDP) else Fraction(1, 2)


@lru_cache
def guarding_of(k: int, d: int, budget: base.Budget) -> Guarding | None:
    """What is public of a guard for k of d; None where no class is junk, or where a guard would see no scores."""
    k = min(k, d - k)
    if k <= 2 or not (isinstance(budget, ZCDP) or budget.epsilon > 0):
        return None
    junk = junk_from(k, d, rho_of(k, budget))
    return Guarding(k, d, junk) if (junk < d - k).any() else None


def junk_from(k: int, d: int, rho: Fraction) -> Indices:
    """From which j on class (i, j) is junk, for every i: i j > ((1 - rho) k - 1) (i + j); d - k if never."""
    limit = (1 - rho) * k - 1
    first = [math.floor(limit * i / (i - limit)) + 1 if i > limit else d - k for i in range(k)]
    return np.minimum(np.array(first, np.int64), d - k)
