"""Top-k over an unknown domain: limited domain, and canonical top-k with a threshold."""

from __future__ import annotations

import math
from dataclasses import InitVar
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from shortlist._runtime import present, set_fields
from shortlist.accounting.curves import range_rho, up
from shortlist.accounting.guarantees import number
from shortlist.errors import bad_value
from shortlist.exact.noise import EXPONENTIAL, GUMBEL, Noise
from shortlist.exact.reals import to_float
from shortlist.exact.thresholds import canonical_offset, dummies, exponential_offset
from shortlist.ledger.filter import Currency
from shortlist.mechanisms import base, utility
from shortlist.mechanisms.race import epsilon_of_a_round, plain_epsilon_of_a_round, renyi_epsilon_of_a_round
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, Guarantee, PureDP, ThinnedRange
from shortlist.release import Extras
from shortlist.sampling import race
from shortlist.sampling.entropy import Source, WordStream
from shortlist.sampling.unknown_domain import LimitedSets
from shortlist.scores import Scores

__all__ = ["CanonicalLimitedDomain", "LimitedDomainTopK"]

SHARES = (Fraction(0), Fraction(1, 64), *(Fraction(n, 20) for n in (1, 2, 3, 5, 7, 9, 10, 12)))
"""Shares of delta for the conversion, among which the best is taken: by public numbers alone. At 0 rounds add up."""

LOWER = 1 - 1e-3
"""A bar that is lower by less than this is not worth another calibration."""

SPARE = 1e-7
"""By how much e stays below what is calibrated where rounds are converted, so that their charge fits as well."""

NEAR = 1.005
"""Shares whose quick height is within this of the lowest are tried, if that is by zCDP: it misleads by less than 1%."""


@lru_cache
def gumbel_rates(k: int, limit: int, budget: base.DeltaBudget, split: float | None) -> tuple[float, float]:
    """(e, delta of the bar): delta is split where the bar c + 1 + ln(M) / e stands lowest, or where `split` says."""
    if isinstance(budget, ZCDP):
        return epsilon_of_a_round(k, ZCDP(budget.rho)), budget.delta
    # e is less by SPARE where rounds are converted: a ledger adds the bar's delta to their curve, and rounds that up
    share = share_for_rounds(k, limit, budget) if split is None else Fraction(split)
    rounds = _for_rounds(budget, share)
    e = epsilon_of_a_round(k, rounds)
    return e if isinstance(rounds, PureDP) else e * (1 - SPARE), base.part_of(budget.delta, 1 - share)


@lru_cache
def share_for_rounds(k: int, limit: int, budget: ApproxDP) -> Fraction:
    """The share of delta, of SHARES, whose calibrated bar is lowest, or nearly: it converts the rounds.

    Another share is better if an e that would lower the bar fits its part of the budget: one look at the privacy
    curve, where finding the e itself takes several.
    """
    (quick, first), *others = quick_heights(k, limit, budget)
    chosen, e, bar = first, epsilon_of_a_round(k, _for_rounds(budget, first)), base.part_of(budget.delta, 1 - first)
    for height, share in others:
        rest = base.part_of(budget.delta, 1 - share)
        lowest = math.log(dummies(limit, Fraction(bar))) / e
        if not rest or not lowest or (first and height > NEAR * quick):
            continue
        rate, rounds = math.log(dummies(limit, Fraction(rest))) / (LOWER * lowest), _for_rounds(budget, share)
        if rounds.excess(BoundedRange(rate).repeat(k)) <= 0:
            chosen, e, bar = share, epsilon_of_a_round(k, rounds), rest
    return chosen


def _for_rounds(budget: ApproxDP, share: Fraction) -> ApproxDP | PureDP:
    converted = base.part_of(budget.delta, share)
    return ApproxDP(budget.epsilon, converted) if converted else PureDP(budget.epsilon)


def quick_heights(k: int, limit: int, budget: ApproxDP) -> list[tuple[float, Fraction]]:
    """(the height of the bar by zCDP or the plain sum, the share of delta for conversion), the lowest first."""

    def height(share: Fraction) -> float:
        e = plain_epsilon_of_a_round(k, ApproxDP(budget.epsilon, base.part_of(budget.delta, share)))
        return math.log(limit / ((1 - share) * budget.delta)) / e if e else math.inf

    return sorted((height(share), share) for share in SHARES)


class _WorkingList(base.Budgeted[base.DeltaBudget]):
    """At most k labels of the working list T = {i : count_i > c}, c the count of row limit + 1."""

    __slots__ = ()

    k: int
    limit: int | None

    largest_only: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    probabilities = utility.probabilities
    success_probability = utility.success_probability
    quality = utility.quality
    expected_recall = utility.expected_recall

    @property
    def _limit(self) -> int:
        return present(self.limit)

    @property
    def offset(self) -> float | Fraction:
        """How far the bar stands above c + 1, in users: a public number."""
        raise NotImplementedError

    def _check(self, scores: Scores) -> None:
        base.check_counts(scores)

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        candidates = base.listing(scores._sequence, self._limit)
        places = [int(candidates.positions[rank]) for rank in self._ranks(candidates, source)]
        few = len(places) < self.k
        return base.Outcome(places, Extras(stopped=few if self.ordered else None), (self._describe_end(),) * few)

    def _ranks(self, candidates: base.Listing, source: Source) -> list[int]:
        """Draw the ranks (from 0) of the winners in the working list, best first."""
        raise NotImplementedError

    def _describe_bar(self) -> str:
        offset = to_float(self.offset) if isinstance(self.offset, Fraction) else self.offset
        return f"a name must stand about {base.bar_in_words(1 + offset, self._limit + 1)}"

    _describe_end = _describe_bar


@base.mechanism_class
class LimitedDomainTopK(_WorkingList):
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
    budget: Guarantee = base.MISSING
    limit: int | None = None
    noise: str | Noise = "gumbel"
    split: float | None = None

    proof: ClassVar[str] = "docs/mechanisms/limited-domain.md#proof"
    title: ClassVar[str] = "limited-domain top-{0.k} with {0._kind.name} noise"

    def __post_init__(self, epsilon: float | None, delta: float | None) -> None:
        k, budget = base.check_k(self.k), base.check_delta_budget(epsilon, delta, self.budget)
        limit = base.check_limit(default_limit(k) if self.limit is None else self.limit, k)
        set_fields(self, k=k, budget=budget, limit=limit)
        gumbel = self._kind == GUMBEL
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
    def _kind(self) -> Noise:
        kind = base.check_noise(self.noise)
        if kind not in (GUMBEL, EXPONENTIAL):
            raise ValueError('noise must be "gumbel" or "exponential" here: for others no lower bar is proved')
        return kind

    @property
    def charge(self) -> Guarantee:
        return self._cost(self.k)

    @property
    def refundable(self) -> tuple[Currency, ...]:
        """Rounds that were not run come back, as pure epsilon and (Gumbel noise) as rho; delta never does."""
        return ("pure", "zcdp") if self._kind == GUMBEL else ("pure",)

    @property
    def offset(self) -> float:
        """How far the bar stands above c + 1, in users: a public number."""
        above, many = self._bar
        return math.log(many) / self._rates[0] if many > 1 else to_float(above)

    @property
    def _rates(self) -> tuple[float, float]:
        """(e, the delta of the bar)."""
        if self._kind == GUMBEL:
            return gumbel_rates(self.k, self._limit, self.guarantee, self.split)
        budget = self.guarantee
        assert isinstance(budget, ApproxDP)
        return epsilon_of_a_round(self.k, PureDP(budget.epsilon)), budget.delta

    @property
    def _bar(self) -> tuple[Fraction, int]:
        """(t, M): it stands at c + 1 + t, with the largest of M noises."""
        e, delta = (Fraction(rate) for rate in self._rates)
        if self._kind == GUMBEL:
            return Fraction(0), dummies(self._limit, delta)
        return exponential_offset(self._limit, e, delta), 1

    def _cost(self, rounds: int) -> Guarantee:
        e, delta = self._rates
        if self._kind == GUMBEL:
            return ThinnedRange(e, rounds, delta)
        return ApproxDP(up(rounds * Fraction(e)), delta)

    def _final_charge(self, outcome: base.Outcome) -> Guarantee:
        return self._cost(min(len(present(outcome.indices)) + 1, self.k))

    def _describe_end(self) -> str:
        return f"the list ended at its bar: {self._describe_bar()}"

    def _ranks(self, candidates: base.Listing, source: Source) -> list[int]:
        """The ranks (from 0) of the winners in the working list, best first."""
        if not len(candidates.counts):
            return []
        offset, many = self._bar
        noise = race.best_of(many) if self._kind == GUMBEL else self._kind
        scale = 1 / Fraction(self._rates[0])
        bar = race.Runner(candidates.beyond + 1 + offset, scale, noise)
        k = min(self.k, len(candidates.counts))
        finish = race.race(candidates.counts, k=k, scale=scale, noise=self._kind, source=source)
        return [int(rank) for rank in finish.indices[: race.how_many_above(finish.finishes(), bar.draw(source))]]

    inclusion_probabilities = utility.inclusion_probabilities


def quick_list(k: int, limit: int, budget: base.DeltaBudget) -> LimitedDomainTopK:
    """A list with Gumbel noise within the budget that needs no long calibration; its bar stands up to 7% higher.

    Under (epsilon, delta) its rounds add up, or a share of delta converts their Renyi divergences, whichever has the
    lowest bar: by public numbers alone.
    """
    if isinstance(budget, ZCDP):
        return LimitedDomainTopK(k=k, budget=budget, limit=limit)
    added = LimitedDomainTopK(k=k, budget=budget, limit=limit, split=0.0)
    best = (added.offset, 0.0, budget.delta)
    for share in SHARES[1:]:
        converted, bar = base.part_of(budget.delta, share), base.part_of(budget.delta, 1 - share)
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


@base.mechanism_class
class CanonicalLimitedDomain(_WorkingList):
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
    budget: Guarantee = base.MISSING
    limit: int | None = None
    gamma: float | Fraction = GAMMA

    proof: ClassVar[str] = "docs/mechanisms/canonical-limited-domain.md#proof"
    title: ClassVar[str] = "canonical top-{0.k} of a limited domain"

    def __post_init__(self, epsilon: float | None, delta: float | None) -> None:
        k, budget = base.check_k(self.k), base.check_delta_budget(epsilon, delta, self.budget, below=0.5)
        limit = base.check_limit(2 * k if self.limit is None else self.limit, k)
        set_fields(self, k=k, budget=budget, limit=limit, gamma=base.check_share("gamma", self.gamma, zero=False))
        if k * limit > MOST_CLASSES:
            raise ValueError(f"k times limit must be at most {MOST_CLASSES:,}: choose a smaller limit")

    @property
    def charge(self) -> ThinnedRange:
        return ThinnedRange(self._round, 1, self.guarantee.delta)

    ordered: ClassVar[bool] = False

    @property
    def _round(self) -> float:
        """The bounded range of the one round: epsilon, or that of the rho, rounded down."""
        budget = self.guarantee
        return epsilon_of_a_round(1, ZCDP(budget.rho)) if isinstance(budget, ZCDP) else budget.epsilon

    @property
    def offset(self) -> Fraction:
        """t: how far the bar stands above c + 1, in users. Public, rounded up."""
        inner = Fraction(self.gamma) * Fraction(self._round)
        return canonical_offset(self.k, self._limit, inner, Fraction(self.guarantee.delta))

    def _ranks(self, candidates: base.Listing, source: Source) -> list[int]:
        gamma, rate = Fraction(self.gamma), Fraction(self._round)
        bar = candidates.beyond + 1 + self.offset
        sets = LimitedSets(candidates.counts, bar, self.k, self._limit, gamma * rate, (1 - gamma) * rate)
        return sets.draw(WordStream(source))
