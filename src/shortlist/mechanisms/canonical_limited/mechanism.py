"""Canonical top-k when the list of candidates comes from the data: a set in one round (Theorem 115)."""

from __future__ import annotations

from dataclasses import InitVar
from fractions import Fraction
from typing import ClassVar, Unpack

import numpy as np

from shortlist._arrays import Indices, Runs, Values, sorted_rows
from shortlist.exact.partial_reals import rounded
from shortlist.exact.quality import Quality
from shortlist.exact.unknown_domain_thresholds import canonical_offset
from shortlist.mechanisms.canonical_limited.law import Reached, canonical_limited_domain, set_chances
from shortlist.mechanisms.canonical_limited.sampler import LimitedSets
from shortlist.mechanisms.checks import checked_draws, checked_k, checked_source
from shortlist.mechanisms.contract import UNSAID, Budgeted, Outcome, described
from shortlist.mechanisms.limited_domain.law import working_list
from shortlist.mechanisms.oneshot.mechanism import epsilon_of_a_round
from shortlist.mechanisms.unknown_domain import (
    DeltaBudget,
    bar_in_words,
    check_counts,
    checked_limit,
    checked_small_delta,
    listing,
)
from shortlist.privacy import ZCDP, Guarantee, ThinnedRange
from shortlist.sampling.entropy import Source
from shortlist.scores import Scores, ScoreWords

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
    budget: Guarantee = UNSAID
    limit: int | None = None
    gamma: float | Fraction = GAMMA

    proof: ClassVar[str] = "docs/mechanisms/canonical-limited-domain.md#proof"
    largest_only: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None, delta: float | None) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        self._pay(checked_small_delta(epsilon, delta, self.budget))
        limit = checked_limit(2 * self.k if self.limit is None else self.limit, self.k)
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
        few = f"a name must stand about {bar_in_words(1 + rounded(self.offset), self.limit + 1)}"
        return Outcome(places, notes=(few,) * (len(places) < self.k))

    def _prepared(self, counts: Values | Runs) -> tuple[Values, LimitedSets]:
        """(the positions of the ranks, the law over sets of ranks)."""
        assert self.limit is not None
        rows = listing(counts, self.limit)
        gamma, rate = Fraction(self.gamma), Fraction(self._round)
        bar = rows.beyond + 1 + self.offset
        return rows.positions, LimitedSets(rows.counts, bar, self.k, self.limit, gamma * rate, (1 - gamma) * rate)

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Indices:
        """The positions of independent draws, one sorted row each, for study and audit of public scores.

        A row with fewer than k labels ends in -1.
        """
        scores, source = self._studied(scores, question), checked_source(rng)
        positions, sets = self._prepared(scores.values)
        lists = sets.draw_many(source, checked_draws(draws))
        ranks = np.array([one + [-1] * (self.k - len(one)) for one in lists])
        return sorted_rows(np.append(positions, -1)[ranks])

    def probabilities(self, scores: object, **question: Unpack[ScoreWords]) -> dict[tuple[int, ...], float]:
        """P[each set of at most k labels], by their positions: exact, to 1e-12, where there are at most 100,000."""
        counts, limit = self._studied(scores, question).values, self.limit
        assert limit is not None
        places, (listed, c) = listing(counts, limit).positions, working_list(counts, limit)
        chances = set_chances(listed, c + 1 + float(self.offset), self.k, self._round, float(self.gamma))
        return {tuple(sorted(places[list(ranks)].tolist())): chance for ranks, chance in chances.items()}

    def success_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[the set is a true top k], ties counting as equal: exact, to 1e-9."""
        return self._reached(scores, question).top

    def expected_recall(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """The expected share of a true top k that is in the set: exact, to 1e-9."""
        return self._reached(scores, question).recall

    def quality(self, scores: object, **question: Unpack[ScoreWords]) -> Quality:
        """P[top], P[great], P[good] and the expected recall of the set (Definition 118): exact, to 1e-9.

        A set of fewer than k labels is great or good by the same words: it holds the head, and nobody beyond its reach.
        """
        reached = self._reached(scores, question)
        return Quality(reached.top, reached.great, reached.good, reached.recall)

    def _reached(self, scores: object, question: ScoreWords) -> Reached:
        assert self.limit is not None
        counts, delta = self._studied(scores, question).values, self.guarantee.delta
        return canonical_limited_domain(counts, self.k, self._round, delta, self.limit, float(self.gamma))


def _checked_gamma(gamma: object) -> float | Fraction:
    if isinstance(gamma, int | float | Fraction) and not isinstance(gamma, bool) and 0 < gamma <= 1:
        return gamma
    raise ValueError("gamma must be a number above 0 and at most 1, for example gamma=0.85")
