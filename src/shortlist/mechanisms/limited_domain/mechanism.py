"""Top-k when the list of candidates comes from the data: an ordered list that ends at a noisy bar.

With Gumbel noise (Theorem 111) and with exponential noise (Theorem 112).
"""

from __future__ import annotations

import math
from dataclasses import InitVar
from fractions import Fraction
from typing import ClassVar, Unpack

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.accounting.checks import number, up
from shortlist.accounting.renyi import range_rho
from shortlist.exact.effort import is_rough, shared
from shortlist.exact.noise_distributions import EXPONENTIAL, GUMBEL, Noise
from shortlist.exact.partial_reals import rounded
from shortlist.exact.quality import Quality, ranks_within
from shortlist.exact.unknown_domain_thresholds import dummies, exponential_offset
from shortlist.extras import Extras
from shortlist.ledger.filter import Currency
from shortlist.mechanisms.checks import checked_draws, checked_k, checked_noise, checked_source
from shortlist.mechanisms.contract import UNSAID, Budgeted, Outcome, described
from shortlist.mechanisms.limited_domain.law import BarredRace, ExponentialBar
from shortlist.mechanisms.limited_domain.rates import SHARES, SPARE, gumbel_rates, quick_heights, share_for_rounds
from shortlist.mechanisms.oneshot.mechanism import (
    epsilon_of_a_round,
    renyi_epsilon_of_a_round,
)
from shortlist.mechanisms.unknown_domain import (
    DeltaBudget,
    Listing,
    bar_in_words,
    check_counts,
    checked_delta_budget,
    checked_limit,
    listing,
    part_of,
)
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, PureDP, ThinnedRange
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import race
from shortlist.sampling.race_batch import LINE, Field, Runner, best_of, how_many_above, padded
from shortlist.scores import Scores, ScoreWords


@described
class LimitedDomainTopK(Budgeted[DeltaBudget]):
    """The labels of the working list in the order of their noisy counts, cut before the noisy bar, at most k of them.

    T = {i : count_i > c}, c the count of row limit + 1. Noise of scale 1 / e on every label and on the bar, which
    stands at c + 1 + ln(M) / e, M = ceil(limit (1 - delta) / delta) (Gumbel), or c + 1 + t (exponential).

    Promise: k rounds of e-bounded range after one thinning of mass delta (Gumbel), so delta is paid once for all
    rounds; (k e, delta)-DP (exponential). e is the largest that fits the budget. The ordered list is released, and
    whether the bar ended it.

    Parameters
    ----------
    k
        How many labels at most.
    epsilon, delta, budget
        `epsilon=1.0, delta=1e-6` is short for `budget=ApproxDP(1.0, 1e-6)`; Gumbel noise also takes `ZCDP(rho, delta)`.
    limit
        How many rows may be looked at: a public number, max(1000, 10 k) if None.
    noise
        `"gumbel"`, or `"exponential"`: a lower bar for k <= 3 under (epsilon, delta).
    split
        The share of delta kept for converting the rounds, for Gumbel noise under (epsilon, delta). None: the best one.

    Raises
    ------
    ValueError, TypeError
        naming the argument; for scores that are not whole-number counts under add/remove, before they are looked at.

    Examples
    --------
    >>> mechanism = LimitedDomainTopK(k=2, epsilon=1.0, delta=1e-6)
    >>> mechanism.release({"ada": 900, "bob": 500, "cy": 20}, monotone=True).items
    ['ada', 'bob']
    """

    k: int
    epsilon: InitVar[float | None] = None
    delta: InitVar[float | None] = None
    budget: Guarantee = UNSAID
    limit: int | None = None
    noise: str | Noise = "gumbel"
    split: float | None = None

    proof: ClassVar[str] = "docs/mechanisms/limited-domain.md#proof"
    largest_only: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None, delta: float | None) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        self._pay(checked_delta_budget(epsilon, delta, self.budget))
        limit = default_limit(self.k) if self.limit is None else self.limit
        object.__setattr__(self, "limit", checked_limit(limit, self.k))
        gumbel = _checked_kind(self.noise) == GUMBEL
        if self.split is not None:
            number("split", self.split, below=1.0)
            if not gumbel or isinstance(self.budget, ZCDP):
                raise ValueError("split is for Gumbel noise under (epsilon, delta): leave it out here")
        guarantee = self.guarantee
        if (8 * guarantee.rho if isinstance(guarantee, ZCDP) else guarantee.epsilon) / self.k == 0:
            raise ValueError("the budget is too small to be shared by k rounds; choose a larger epsilon or rho")
        if not gumbel and isinstance(self.budget, ZCDP):
            raise ValueError('exponential noise keeps (epsilon, delta) budgets only; for ZCDP write noise="gumbel"')

    @property
    def name(self) -> str:
        return f"limited-domain top-{self.k} with {_checked_kind(self.noise).name} noise"

    @property
    def charge(self) -> Guarantee:
        return self._cost(self.k)

    @property
    def refundable(self) -> tuple[Currency, ...]:
        """Rounds that were not run come back, as pure epsilon and (Gumbel noise) as rho; delta never does."""
        return ("pure", "zcdp") if _checked_kind(self.noise) == GUMBEL else ("pure",)

    @property
    def ordered(self) -> bool:
        return True

    @property
    def offset(self) -> float:
        """How far the bar stands above c + 1, in users: a public number."""
        above, many = self._bar
        return math.log(many) / self._rates[0] if many > 1 else rounded(above)

    @property
    def likely_bar(self) -> float:
        """The part of delta that the bar nearly always gets under (epsilon, delta), by a quick estimate."""
        budget = self.guarantee
        assert isinstance(budget, ApproxDP)
        return part_of(budget.delta, 1 - quick_heights(self.k, self._limit, budget)[0][1])

    @property
    def bar_delta(self) -> float:
        """The part of delta that the bar gets under (epsilon, delta), as in `charge`, with no round calibrated."""
        budget = self.guarantee
        assert isinstance(budget, ApproxDP)
        return part_of(budget.delta, 1 - share_for_rounds(self.k, self._limit, budget))

    @property
    def _limit(self) -> int:
        assert self.limit is not None
        return self.limit

    @property
    def _rates(self) -> tuple[float, float]:
        """(e, the delta of the bar)."""
        if _checked_kind(self.noise) == GUMBEL:
            return gumbel_rates(self.k, self._limit, self.guarantee, self.split)
        budget = self.guarantee
        assert isinstance(budget, ApproxDP)
        return epsilon_of_a_round(self.k, PureDP(budget.epsilon)), budget.delta

    @property
    def _bar(self) -> tuple[Fraction, int]:
        """(t, M): it stands at c + 1 + t, with the largest of M noises."""
        e, delta = (Fraction(rate) for rate in self._rates)
        if _checked_kind(self.noise) == GUMBEL:
            return Fraction(0), dummies(self._limit, delta)
        return exponential_offset(self._limit, e, delta), 1

    def _cost(self, rounds: int) -> Guarantee:
        e, delta = self._rates
        if _checked_kind(self.noise) == GUMBEL:
            return ThinnedRange(e, rounds, delta)
        return ApproxDP(up(rounds * Fraction(e)), delta)

    def _kept(self, outcome: Outcome) -> Guarantee:
        assert outcome.indices is not None
        return self._cost(min(len(outcome.indices) + 1, self.k))

    def _check(self, scores: Scores) -> None:
        check_counts(scores)

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        candidates = listing(scores._sequence, self._limit)
        places = [int(candidates.positions[rank]) for rank in self._ranks(candidates, source)]
        stopped = len(places) < self.k
        ended = f"the list ended at its bar: a name must stand about {bar_in_words(1 + self.offset, self._limit + 1)}"
        return Outcome(places, Extras(stopped=stopped), (ended,) * stopped)

    def _ranks(self, candidates: Listing, source: Source) -> list[int]:
        """The ranks (from 0) of the winners in the working list, best first."""
        if not len(candidates.counts):
            return []
        kind, bar = _checked_kind(self.noise), self._noisy_bar(candidates)
        finish = race(
            candidates.counts, k=min(self.k, len(candidates.counts)), scale=bar.scale, noise=kind, source=source
        )
        return [int(rank) for rank in finish.indices[: how_many_above(finish.finishes(), bar.draw(source))]]

    def _noisy_bar(self, candidates: Listing) -> Runner:
        """The bar, under noise of the scale of all."""
        kind, (offset, many) = _checked_kind(self.noise), self._bar
        noise = best_of(many) if kind == GUMBEL else kind
        return Runner(candidates.beyond + 1 + offset, 1 / Fraction(self._rates[0]), noise)

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Indices:
        """The positions of independent draws, best first, one row each, for study and audit of public scores.

        -1 where the bar had ended the list.
        """
        scores, source, count = self._studied(scores, question), checked_source(rng), checked_draws(draws)
        candidates = listing(scores.values, self._limit)
        if not len(candidates.counts):
            return np.full((count, self.k), LINE)
        bar = self._noisy_bar(candidates)
        field = Field(candidates.counts, self.k + 1, bar.scale, _checked_kind(self.noise), bar)
        ranks = [padded(rows.indices, rows.ahead(), self.k, LINE) for rows in field.races(count, source)]
        return np.append(candidates.positions, LINE)[np.concatenate(ranks)]

    def probabilities(self, scores: object, **question: Unpack[ScoreWords]) -> dict[tuple[int, ...], float]:
        """P[each set of at most k labels], whatever its order: exact, to 1e-9, where there are at most 100,000 sets."""
        places = listing((scores := self._studied(scores, question)).values, self._limit).positions
        return {tuple(sorted(places[list(ranks)].tolist())): p for ranks, p in self._law(scores, {}).sets().items()}

    def success_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[the list names a true top k], ties counting as equal: exact, to 1e-9."""
        return self._law(scores, question).top()

    def quality(self, scores: object, **question: Unpack[ScoreWords]) -> Quality:
        """P[top], P[great], P[good] and the expected recall of the labels named (Definition 118): exact, to 1e-9.

        A list that the bar ended is great or good by the same words: its head is named, and nobody beyond its reach.
        """
        law = self._law(scores := self._studied(scores, question), {})
        great, good = (law.within(*pair) for pair in ranks_within(np.sort(scores.values)[::-1], self.k))
        return Quality(top=law.top(), great=great, good=good, recall=law.recall())

    def inclusion_probabilities(self, scores: object, **question: Unpack[ScoreWords]) -> Floats:
        """P[label i is named], for every label: exact, to 1e-9. 0 for those that are not listed."""
        scores = self._studied(scores, question)
        result = np.zeros(len(scores))
        result[listing(scores.values, self._limit).positions] = self._law(scores, {}).inclusion()
        return result

    def expected_recall(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """The expected share of a true top k that is named: exact, to 1e-9."""
        return self._law(scores, question).recall()

    def _law(self, scores: object, question: ScoreWords) -> BarredRace | ExponentialBar:
        counts, (e, delta) = self._studied(scores, question).values, self._rates
        if _checked_kind(self.noise) != GUMBEL:
            return ExponentialBar.of(counts, self.k, e, self._limit, self._bar[0])
        return BarredRace.of(counts, self.k, e, delta, self._limit)


def _checked_kind(noise: str | Noise) -> Noise:
    kind = checked_noise(noise)
    if kind not in (GUMBEL, EXPONENTIAL):
        raise ValueError('noise must be "gumbel" or "exponential" here: for others no lower bar is proved')
    return kind


def quick_list(k: int, limit: int, budget: DeltaBudget) -> LimitedDomainTopK:
    """A list with Gumbel noise within the budget that needs no long calibration; its bar stands up to 7% higher.

    Under (epsilon, delta) its rounds add up, or a share of delta converts their Renyi divergences, whichever has the
    lowest bar: by public numbers alone.
    """
    if isinstance(budget, ZCDP):
        return LimitedDomainTopK(k=k, budget=budget, limit=limit)
    added = LimitedDomainTopK(k=k, budget=budget, limit=limit, split=0.0)
    last: list[int] = shared(SHARES, "last share", (k, limit, budget.delta), list)
    places = range(1, len(SHARES))
    if last and is_rough():  # at another epsilon of a search it is nearly always the same, or the next
        places = range(max(1, last[0] - 1), min(last[0] + 2, len(SHARES)))
    best = (added.offset, 0.0, budget.delta, 0)
    for place in places:
        converted, bar = part_of(budget.delta, SHARES[place]), part_of(budget.delta, 1 - SHARES[place])
        e = renyi_epsilon_of_a_round(k, ApproxDP(budget.epsilon, converted)) if bar else 0.0
        best = min(best, (math.log(limit / bar) / e, e, bar, place)) if e else best
    _, e, bar, place = best
    last[:] = [place]
    rho = k * range_rho(e) * (1 - SPARE)  # less than that of these rounds: what fits a rho is rounded
    return LimitedDomainTopK(k=k, budget=ZCDP(rho, bar), limit=limit) if rho else added


def default_limit(k: int) -> int:
    """How many rows a list looks at, if nobody says: a public number, many enough for k names and their bar."""
    return max(1000, 10 * k)
