"""Top-k over an unknown domain: limited domain, and canonical top-k with a threshold."""

from __future__ import annotations

import math
from dataclasses import InitVar
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Unpack

import numpy as np

from shortlist._arrays import Floats, Indices, Runs, Values, sort_rows
from shortlist.accounting.checks import number, up
from shortlist.accounting.curves import range_rho
from shortlist.errors import bad_value
from shortlist.exact.noise import EXPONENTIAL, GUMBEL, Noise
from shortlist.exact.reals import to_float
from shortlist.exact.thresholds import canonical_offset, dummies, exponential_offset
from shortlist.ledger.filter import Currency
from shortlist.mechanisms.base import (
    MISSING,
    Budgeted,
    DeltaBudget,
    Listing,
    Outcome,
    bar_in_words,
    check_counts,
    check_delta_budget,
    check_draws,
    check_k,
    check_limit,
    check_noise,
    check_small_delta,
    check_source,
    described,
    listing,
    part_of,
)
from shortlist.mechanisms.race import (
    epsilon_of_a_round,
    plain_epsilon_of_a_round,
    renyi_epsilon_of_a_round,
)
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, Guarantee, PureDP, ThinnedRange
from shortlist.release import Extras
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import LINE, Field, Runner, best_of, how_many_above, pad_rows, race
from shortlist.sampling.unknown_domain import LimitedSets
from shortlist.scores import QuestionOptions, Scores
from shortlist.utility.quality import Quality, ranks_within
from shortlist.utility.unknown_domain import (
    BarredRace,
    ExponentialBar,
    Reached,
    canonical_limited_domain,
    set_chances,
    working_list,
)

SHARES = (Fraction(0), Fraction(1, 64), *(Fraction(n, 20) for n in (1, 2, 3, 5, 7, 9, 10, 12)))
"""Shares of delta for the conversion, among which the best is taken: by public numbers alone. At 0 rounds add up."""

LOWER = 1 - 1e-3
"""A bar that is lower by less than this is not worth another calibration."""

SPARE = 1e-7
"""By how much e stays below what is calibrated where rounds are converted, so that their charge fits as well."""

NEAR = 1.005
"""Shares whose quick height is within this of the lowest are tried, if that is by zCDP: it misleads by less than 1%."""


@lru_cache
def gumbel_rates(k: int, limit: int, budget: DeltaBudget, split: float | None) -> tuple[float, float]:
    """(e, delta of the bar): delta is split where the bar c + 1 + ln(M) / e stands lowest, or where `split` says."""
    if isinstance(budget, ZCDP):
        return epsilon_of_a_round(k, ZCDP(budget.rho)), budget.delta
    return _rates_at(k, budget, share_for_rounds(k, limit, budget) if split is None else Fraction(split))


@lru_cache
def share_for_rounds(k: int, limit: int, budget: ApproxDP) -> Fraction:
    """The share of delta, of SHARES, whose calibrated bar is lowest, or nearly: it converts the rounds.

    Another share is better if an e that would lower the bar fits its part of the budget: one look at the privacy
    curve, where finding the e itself takes several.
    """
    (quick, first), *others = quick_heights(k, limit, budget)
    chosen, e, bar = first, epsilon_of_a_round(k, _for_rounds(budget, first)), part_of(budget.delta, 1 - first)
    for height, share in others:
        rest = part_of(budget.delta, 1 - share)
        lowest = math.log(dummies(limit, Fraction(bar))) / e
        if not rest or not lowest or (first and height > NEAR * quick):
            continue
        rate, rounds = math.log(dummies(limit, Fraction(rest))) / (LOWER * lowest), _for_rounds(budget, share)
        if rounds.excess(BoundedRange(rate).repeat(k)) <= 0:
            chosen, e, bar = share, epsilon_of_a_round(k, rounds), rest
    return chosen


def _rates_at(k: int, budget: ApproxDP, share: Fraction) -> tuple[float, float]:
    """e and the delta of the bar, both rounded down, if that share of delta converts the rounds.

    e is less by SPARE where rounds are converted: a ledger adds the bar's delta to their curve, and rounds that up.
    """
    rounds = _for_rounds(budget, share)
    e = epsilon_of_a_round(k, rounds)
    return e if isinstance(rounds, PureDP) else e * (1 - SPARE), part_of(budget.delta, 1 - share)


def _for_rounds(budget: ApproxDP, share: Fraction) -> ApproxDP | PureDP:
    converted = part_of(budget.delta, share)
    return ApproxDP(budget.epsilon, converted) if converted else PureDP(budget.epsilon)


def quick_heights(k: int, limit: int, budget: ApproxDP) -> list[tuple[float, Fraction]]:
    """(the height of the bar by zCDP or the plain sum, the share of delta for conversion), the lowest first."""

    def height(share: Fraction) -> float:
        e = plain_epsilon_of_a_round(k, ApproxDP(budget.epsilon, part_of(budget.delta, share)))
        return math.log(limit / ((1 - share) * budget.delta)) / e if e else math.inf

    return sorted((height(share), share) for share in SHARES)


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
    budget: Guarantee = MISSING
    limit: int | None = None
    noise: str | Noise = "gumbel"
    split: float | None = None

    proof: ClassVar[str] = "docs/mechanisms/limited-domain.md#proof"
    largest_only: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None, delta: float | None) -> None:
        object.__setattr__(self, "k", check_k(self.k))
        self._pay(check_delta_budget(epsilon, delta, self.budget))
        limit = default_limit(self.k) if self.limit is None else self.limit
        object.__setattr__(self, "limit", check_limit(limit, self.k))
        gumbel = _checked_kind(self.noise) == GUMBEL
        if self.split is not None:
            number("split", self.split, below=1.0)
            if not gumbel or isinstance(self.budget, ZCDP):
                raise bad_value("$split is for Gumbel noise under (epsilon, delta): leave it out here")
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
        return math.log(many) / self._rates[0] if many > 1 else to_float(above)

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
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[QuestionOptions]
    ) -> Indices:
        """The positions of independent draws, best first, one row each, for study and audit of public scores.

        -1 where the bar had ended the list.
        """
        scores, source, count = self._validate_public(scores, question), check_source(rng), check_draws(draws)
        candidates = listing(scores.values, self._limit)
        if not len(candidates.counts):
            return np.full((count, self.k), LINE)
        bar = self._noisy_bar(candidates)
        field = Field(candidates.counts, self.k + 1, bar.scale, _checked_kind(self.noise), bar)
        ranks = [pad_rows(rows.indices, rows.ahead(), self.k, LINE) for rows in field.races(count, source)]
        return np.append(candidates.positions, LINE)[np.concatenate(ranks)]

    def probabilities(self, scores: object, **question: Unpack[QuestionOptions]) -> dict[tuple[int, ...], float]:
        """P[each set of at most k labels], whatever its order: exact, to 1e-9, where there are at most 100,000 sets."""
        places = listing((scores := self._validate_public(scores, question)).values, self._limit).positions
        return {tuple(sorted(places[list(ranks)].tolist())): p for ranks, p in self._law(scores, {}).sets().items()}

    def success_probability(self, scores: object, **question: Unpack[QuestionOptions]) -> float:
        """P[the list names a true top k], ties counting as equal: exact, to 1e-9."""
        return self._law(scores, question).top()

    def quality(self, scores: object, **question: Unpack[QuestionOptions]) -> Quality:
        """P[top], P[great], P[good] and the expected recall of the labels named (Definition 118): exact, to 1e-9.

        A list that the bar ended is great or good by the same words: its head is named, and nobody beyond its reach.
        """
        law = self._law(scores := self._validate_public(scores, question), {})
        great, good = (law.within(*pair) for pair in ranks_within(np.sort(scores.values)[::-1], self.k))
        return Quality(top=law.top(), great=great, good=good, recall=law.recall())

    def inclusion_probabilities(self, scores: object, **question: Unpack[QuestionOptions]) -> Floats:
        """P[label i is named], for every label: exact, to 1e-9. 0 for those that are not listed."""
        scores = self._validate_public(scores, question)
        result = np.zeros(len(scores))
        result[listing(scores.values, self._limit).positions] = self._law(scores, {}).inclusion()
        return result

    def expected_recall(self, scores: object, **question: Unpack[QuestionOptions]) -> float:
        """The expected share of a true top k that is named: exact, to 1e-9."""
        return self._law(scores, question).recall()

    def _law(self, scores: object, question: QuestionOptions) -> BarredRace | ExponentialBar:
        counts, (e, delta) = self._validate_public(scores, question).values, self._rates
        if _checked_kind(self.noise) != GUMBEL:
            return ExponentialBar.of(counts, self.k, e, self._limit, self._bar[0])
        return BarredRace.of(counts, self.k, e, delta, self._limit)


def _checked_kind(noise: str | Noise) -> Noise:
    kind = check_noise(noise)
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
    best = (added.offset, 0.0, budget.delta)
    for share in SHARES[1:]:
        converted, bar = part_of(budget.delta, share), part_of(budget.delta, 1 - share)
        e = renyi_epsilon_of_a_round(k, ApproxDP(budget.epsilon, converted)) if bar else 0.0
        best = min(best, (math.log(limit / bar) / e, e, bar)) if e else best
    _, e, bar = best
    rho = k * range_rho(e) * (1 - SPARE)  # less than that of these rounds: what fits a rho is rounded
    return LimitedDomainTopK(k=k, budget=ZCDP(rho, bar), limit=limit) if rho else added


def default_limit(k: int) -> int:
    """How many rows a list looks at, if nobody says: a public number, many enough for k names and their bar."""
    return max(1000, 10 * k)


GAMMA = Fraction(17, 20)

MOST_CLASSES = 1 << 24
"""k times limit at most: so many classes of sets may have to be weighed."""


@described
class CanonicalLimitedDomain(Budgeted[DeltaBudget]):
    """A set y of at most k labels of the working list T, with probability proportional to e^(epsilon u(y)).

    T = {i : count_i > c}, c the count of row limit + 1; B = c + 1 + t is the bar, t >= ln(N (1 - delta) / delta) /
    (gamma epsilon), N = sum_{j=1..k} C(limit, j). u(y) = gamma m(y) - (1 - gamma) M(y) with m(y) the least count in y
    (and B, if y has fewer than k labels) and M(y) the largest count of T outside y, or B.

    Promise: one round of epsilon-bounded range after a thinning of mass delta, hence (epsilon, delta)-DP and
    delta-approximate zCDP with a rho a little below epsilon^2/8, for the set and every k. No list of candidates is
    needed, and no cap on how many a person holds. Fewer than k come back where fewer clear the bar.

    Parameters
    ----------
    k
        How many labels at most.
    epsilon, delta, budget
        `epsilon=1.0, delta=1e-6` is short for `budget=ApproxDP(1.0, 1e-6)`; `ZCDP(rho, delta)` is taken too.
    limit
        How many rows may be looked at: a public number, 2 k if None.
    gamma
        How much the worst label inside counts, in (0, 1].

    Raises
    ------
    ValueError, TypeError
        naming the argument; for scores that are not whole-number counts under add/remove, before they are looked at.

    Examples
    --------
    >>> mechanism = CanonicalLimitedDomain(k=2, epsilon=1.0, delta=1e-6)
    >>> mechanism.release({"ada": 900, "bob": 500, "cy": 20}, monotone=True).items
    ['ada', 'bob']
    """

    k: int
    epsilon: InitVar[float | None] = None
    delta: InitVar[float | None] = None
    budget: Guarantee = MISSING
    limit: int | None = None
    gamma: float | Fraction = GAMMA

    proof: ClassVar[str] = "docs/mechanisms/canonical-limited-domain.md#proof"
    largest_only: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None, delta: float | None) -> None:
        object.__setattr__(self, "k", check_k(self.k))
        self._pay(check_small_delta(epsilon, delta, self.budget))
        limit = check_limit(2 * self.k if self.limit is None else self.limit, self.k)
        object.__setattr__(self, "limit", limit)
        object.__setattr__(self, "gamma", _checked_gamma(self.gamma))
        if self.k * limit > MOST_CLASSES:
            raise ValueError(
                f"k times limit must be at most {MOST_CLASSES:,}: choose a smaller limit, or LimitedDomainTopK"
            )

    @property
    def name(self) -> str:
        return f"canonical top-{self.k} of a limited domain"

    @property
    def charge(self) -> ThinnedRange:
        return ThinnedRange(self._round, 1, self.guarantee.delta)

    @property
    def ordered(self) -> bool:
        return False

    @property
    def _round(self) -> float:
        """The bounded range of the one round: epsilon, or that of the rho, rounded down."""
        budget = self.guarantee
        return epsilon_of_a_round(1, ZCDP(budget.rho)) if isinstance(budget, ZCDP) else budget.epsilon

    @property
    def offset(self) -> Fraction:
        """t: how far the bar stands above c + 1, in users. Public, rounded up."""
        assert self.limit is not None
        inner = Fraction(self.gamma) * Fraction(self._round)
        return canonical_offset(self.k, self.limit, inner, Fraction(self.guarantee.delta))

    def _check(self, scores: Scores) -> None:
        check_counts(scores)

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        positions, sets = self._prepared(scores._sequence)
        places = [int(positions[rank]) for rank in sets.draw(source)]
        assert self.limit is not None
        few = f"a name must stand about {bar_in_words(1 + to_float(self.offset), self.limit + 1)}"
        return Outcome(places, notes=(few,) * (len(places) < self.k))

    def _prepared(self, counts: Values | Runs) -> tuple[Values, LimitedSets]:
        """(the positions of the ranks, the law over sets of ranks)."""
        assert self.limit is not None
        rows = listing(counts, self.limit)
        gamma, rate = Fraction(self.gamma), Fraction(self._round)
        bar = rows.beyond + 1 + self.offset
        return rows.positions, LimitedSets(rows.counts, bar, self.k, self.limit, gamma * rate, (1 - gamma) * rate)

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[QuestionOptions]
    ) -> Indices:
        """The positions of independent draws, one sorted row each, for study and audit of public scores.

        A row with fewer than k labels ends in -1.
        """
        scores, source = self._validate_public(scores, question), check_source(rng)
        positions, sets = self._prepared(scores.values)
        lists = sets.draw_many(source, check_draws(draws))
        ranks = np.array([one + [-1] * (self.k - len(one)) for one in lists])
        return sort_rows(np.append(positions, -1)[ranks])

    def probabilities(self, scores: object, **question: Unpack[QuestionOptions]) -> dict[tuple[int, ...], float]:
        """P[each set of at most k labels], by their positions: exact, to 1e-12, where there are at most 100,000."""
        counts, limit = self._validate_public(scores, question).values, self.limit
        assert limit is not None
        places, (listed, c) = listing(counts, limit).positions, working_list(counts, limit)
        chances = set_chances(listed, c + 1 + float(self.offset), self.k, self._round, float(self.gamma))
        return {tuple(sorted(places[list(ranks)].tolist())): chance for ranks, chance in chances.items()}

    def success_probability(self, scores: object, **question: Unpack[QuestionOptions]) -> float:
        """P[the set is a true top k], ties counting as equal: exact, to 1e-9."""
        return self._reached(scores, question).top

    def expected_recall(self, scores: object, **question: Unpack[QuestionOptions]) -> float:
        """The expected share of a true top k that is in the set: exact, to 1e-9."""
        return self._reached(scores, question).recall

    def quality(self, scores: object, **question: Unpack[QuestionOptions]) -> Quality:
        """P[top], P[great], P[good] and the expected recall of the set (Definition 118): exact, to 1e-9.

        A set of fewer than k labels is great or good by the same words: it holds the head, and nobody beyond its reach.
        """
        reached = self._reached(scores, question)
        return Quality(reached.top, reached.great, reached.good, reached.recall)

    def _reached(self, scores: object, question: QuestionOptions) -> Reached:
        assert self.limit is not None
        counts, delta = self._validate_public(scores, question).values, self.guarantee.delta
        return canonical_limited_domain(counts, self.k, self._round, delta, self.limit, float(self.gamma))


def _checked_gamma(gamma: object) -> float | Fraction:
    if isinstance(gamma, int | float | Fraction) and not isinstance(gamma, bool) and 0 < gamma <= 1:
        return gamma
    raise ValueError("gamma must be a number above 0 and at most 1, for example gamma=0.85")
