"""How many? The rank behind which the scores fall off: a noisy maximum over gaps (Theorem 100, 270)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol, Unpack

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.accounting.checks import number, up
from shortlist.exact.noise_distributions import GAUSSIAN, GUMBEL, Noise
from shortlist.exact.partial_reals import rounded, rounded_down
from shortlist.extras import Extras
from shortlist.mechanisms.booking import record_of
from shortlist.mechanisms.checks import Budget, checked_budget, checked_draws, checked_source, plain_budget
from shortlist.mechanisms.contract import UNSAID, Budgeted, Outcome, described
from shortlist.mechanisms.large_gap.sampler import rational_winners
from shortlist.mechanisms.noisy_max.law import winner_probabilities
from shortlist.mechanisms.oneshot.mechanism import epsilon_of_a_round
from shortlist.mechanisms.unknown_domain import check_counts, checked_limit, largest_counts, sorted_counts
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, Guarantee
from shortlist.sampling.entropy import Source
from shortlist.scores import Scores, ScoreWords

Regularizer = Sequence[float] | Callable[[int], float]
"""r(1), r(2), ..: public numbers, added to the gaps; -inf for a rank that may never be chosen."""

UNKNOWN_LIMIT = 1000
"""How many ranks are candidates if the list of candidates is not public and no limit is given."""


@described
class LargeGap(Budgeted[Budget]):
    """The rank j with the largest u(j) + r(j) + Gumbel(2 R / epsilon), u(j) = h_(j) - h_(j+1), h_(1) >= h_(2) >= ..

    Promise: epsilon-DP and epsilon-bounded range for the rank, whether or not the list of candidates is public: the
    candidates are the ranks 1 .. limit. R is the range sensitivity of the scores; a gap moves by up to R either way.

    With `sigma` the noise is Gaussian, of standard deviation R sigma. Its cost grows with the number of ranks: it is
    limit / (2 sigma^2)-zCDP. Gumbel noise of the same deviation costs less.

    Parameters
    ----------
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`; `ZCDP(rho)` and `ApproxDP(epsilon, delta)` are taken too.
    regularizer
        r: a list with one number for each rank from 1 on, or a function of the rank; public. None: 0.
    limit
        The last rank: a public number. None: all ranks but the last of a public list, otherwise 1000.
    delta, sigma
        `sigma` is the deviation of Gaussian noise in units of R, in place of a budget; it needs `limit`. The guarantee
        is then the zCDP above or, with `delta=1e-6`, the least (epsilon, delta) proved.

    Examples
    --------
    >>> LargeGap(epsilon=1.0).release([900, 880, 870, 20, 10, 5], monotone=True).k
    3
    >>> LargeGap(sigma=50.0, limit=4).guarantee
    ZCDP(rho=0.0008, delta=0.0)
    """

    epsilon: InitVar[float | None] = None
    delta: InitVar[float | None] = None
    budget: Guarantee = UNSAID
    regularizer: Regularizer | None = None
    limit: int | None = None
    sigma: float | None = None

    proof: ClassVar[str] = "docs/mechanisms/large-gap.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None, delta: float | None) -> None:
        store_ranks(self, 1)
        if self.sigma is not None:
            object.__setattr__(self, "sigma", number("sigma", self.sigma, above=True))
            self._pay(self._cost.budget(epsilon, delta, self.budget))
        elif delta is not None:
            raise TypeError("delta= goes with sigma=; otherwise write budget=ApproxDP(1.0, 1e-6)")
        else:
            self._pay(checked_budget(epsilon, self.budget))

    def __repr__(self) -> str:
        """The noise stands in it where it was given, so that older records read as they did."""
        return record_of(self, ["budget", "regularizer", "limit", *(["sigma"] if self.sigma else [])])

    @property
    def name(self) -> str:
        return "large gap" if self.sigma is None else "large gap with gaussian noise"

    @property
    def charge(self) -> Guarantee:
        if self.sigma is not None:
            return self._cost.charge(self.guarantee)
        return BoundedRange(epsilon_of_a_round(1, self.guarantee))

    @property
    def _cost(self) -> NoiseCost:
        assert self.sigma is not None
        return noise_cost(self.sigma, self.limit)

    @property
    def ordered(self) -> bool:
        return True

    def _check(self, scores: Scores) -> None:
        if not scores.public:
            check_counts(scores)
        offsets(self.regularizer, last_rank(scores, self.limit))

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        k = int(gap_ranks(self, scores, source, 1)[0])
        how = "rise" if scores._turned else "fall off"
        return Outcome([], Extras(k=k), (f"k = {k}: the scores {how} behind rank {k}",))

    @property
    def _noise(self) -> Noise:
        return GUMBEL if self.sigma is None else GAUSSIAN

    def _scale(self, scores: Scores) -> Fraction:
        """2 R / e, or R sigma for Gaussian noise, exactly."""
        if self.sigma is not None:
            return scores.range_sensitivity * Fraction(self.sigma)
        return 2 * scores.range_sensitivity / Fraction(epsilon_of_a_round(1, self.guarantee))

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Indices:
        """Independent ranks, for study and audit of public scores."""
        scores, source = self._studied(scores, question), checked_source(rng)
        return gap_ranks(self, scores, source, checked_draws(draws))

    def probabilities(self, scores: object, **question: Unpack[ScoreWords]) -> Floats:
        """P[the rank is j], for j = 1, 2, .. up to the last: exact, to 1e-12, and they sum to 1."""
        return rank_chances(gap_aims(self, self._studied(scores, question)), self._noise)

    def success_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[the rank is one with the largest u(j) + r(j)], ties counting as equal: exact, to 1e-12."""
        aims = gap_aims(self, self._studied(scores, question))
        best = max(one for one in aims if one is not None)
        return float(rank_chances(aims, self._noise)[[one == best for one in aims]].sum())


class ByGaps(Protocol):
    """A mechanism that chooses a rank by its gap."""

    @property
    def regularizer(self) -> Regularizer | None: ...

    @property
    def limit(self) -> int | None: ...

    @property
    def _noise(self) -> Noise: ...

    def _scale(self, scores: Scores, /) -> Fraction: ...


@dataclass(frozen=True, slots=True)
class NoiseCost:
    """What Gaussian noise on the gaps costs, together with a Gaussian test of one of them (Theorem 270)."""

    whole: ZCDP
    """With the noise of all gaps taken as one Gaussian vector; delta is that of the test."""
    one: ZCDP
    """With the noise of a single gap, which moves by 2 R against all others: multiply delta by the number of ranks."""
    ranks: int

    def epsilon_at(self, delta: float) -> float:
        """The least epsilon proved at this delta, rounded up; infinite if there is none."""
        left = Fraction(delta) - Fraction(self.whole.delta)
        if left <= 0:
            return math.inf
        return min(self.whole.epsilon_at(delta), self.one.epsilon_at(rounded_down(left / self.ranks)))

    def budget(self, epsilon: float | None, delta: float | None, budget: Guarantee | None) -> Budget:
        """The cost, or the least epsilon at `delta`; a budget that is given must allow it."""
        if epsilon is not None or (delta is not None and budget is not None):
            raise TypeError("the noise says what it costs: leave epsilon= and budget= out; delta=1e-6 may be given")
        if budget is not None:
            if not isinstance(budget, ZCDP | ApproxDP):
                raise TypeError("with noise given by its deviation budget must be ZCDP(..) or ApproxDP(..)")
            allowed = plain_budget(budget)
            by_ranks = isinstance(allowed, ApproxDP) and self.epsilon_at(allowed.delta) <= allowed.epsilon
            if not by_ranks and allowed.excess(self.whole) > 0:
                raise ValueError(f"this noise costs {self.whole}, more than {allowed}: leave budget= out, or add noise")
            return allowed
        if delta is None:
            return self.whole
        least = self.epsilon_at(number("delta", delta, above=True, below=1.0))
        if math.isinf(least):
            raise ValueError(f"delta must be greater than that of the test, {self.whole.delta:g}: write delta=1e-6")
        return ApproxDP(least, float(delta))

    def charge(self, budget: Budget) -> Guarantee:
        """The zCDP cost where it fits the budget, which says more; otherwise the budget."""
        return self.whole if budget.excess(self.whole) <= 0 else budget


def noise_cost(
    sigma: float | Fraction | None, limit: int | None, test: Fraction = Fraction(0), delta: float = 0.0
) -> NoiseCost:
    """The cost of noise of that deviation on the gaps of so many ranks (None: no noise), and of a test of rho `test`.

    Deviations are in units of R, of which a gap moves by at most 1 either way.
    """
    if sigma is None:
        return NoiseCost(cost_of_noise(test, delta), cost_of_noise(test), 1)
    if limit is None:
        raise ValueError("limit is needed: the cost of Gaussian noise grows with the number of ranks; write limit=40")
    each = 1 / Fraction(sigma) ** 2
    return NoiseCost(cost_of_noise(limit * each / 2 + test, delta), cost_of_noise(2 * each + test), limit)


def cost_of_noise(rho: Fraction, delta: float = 0.0) -> ZCDP:
    """rho of Gaussian noise, rounded up, or the reason why there is none."""
    if math.isinf(rounded := up(rho)):
        raise ValueError("sigma is too small, its noise protects nobody: write sigma=50.0, for example")
    return ZCDP(rounded, delta)


def gap_ranks(mechanism: ByGaps, scores: Scores, source: Source, draws: int) -> Indices:
    """Independent ranks with the largest noisy gap."""
    limit = last_rank(scores, mechanism.limit)
    ranking, shifts = largest(scores, limit + 1), offsets(mechanism.regularizer, limit)
    return large_gaps(ranking, shifts, mechanism._scale(scores), source, draws, mechanism._noise)


def gap_aims(mechanism: ByGaps, scores: Scores) -> list[Fraction | None]:
    """(u(j) + r(j)) / scale of every rank, exactly; None for a rank that is never chosen."""
    limit, scale = last_rank(scores, mechanism.limit), mechanism._scale(scores)
    ranking, shifts = largest(scores, limit + 1), offsets(mechanism.regularizer, limit)
    return [None if r is None else (ranking[j] - ranking[j + 1] + r) / scale for j, r in enumerate(shifts)]


def rank_chances(aims: Sequence[Fraction | None], noise: Noise) -> Floats:
    """P[rank j has the largest aim + noise], from 1 on: exact, to 1e-12."""
    top = max(one for one in aims if one is not None)
    return winner_probabilities(np.array([-np.inf if one is None else rounded(one - top) for one in aims]), noise)


def large_gaps(
    sorted_scores: Sequence[int | Fraction],
    shifts: Sequence[Fraction | None],
    scale: Fraction,
    source: Source,
    draws: int,
    noise: Noise = GUMBEL,
) -> Indices:
    """Independent ranks (from 1) with the largest gap + shift + scale * noise; None is never chosen.

    `sorted_scores` are in decreasing order, one more than there are ranks; equal histograms give equal laws.
    """
    ranks = [j for j, one in enumerate(shifts) if one is not None]
    scores = [sorted_scores[j] - sorted_scores[j + 1] + (shifts[j] or 0) for j in ranks]
    winners = rational_winners(scores, scale=scale, source=source, draws=draws, noise=noise)
    picks: Indices = 1 + np.array(ranks)[winners]
    return picks


def largest(scores: Scores, size: int) -> list[int] | list[Fraction]:
    """Return the largest scores in decreasing order, exactly.

    Of an unknown domain they are counts, followed by zeros, since an absent label counts 0.
    """
    values = scores._numbers
    if values.dtype.kind == "f":
        return sorted((Fraction(value) for value in values[values > -np.inf].tolist()), reverse=True)[:size]
    if not scores.public:
        return sorted_counts(scores._sequence, size)
    known: list[int] = largest_counts(scores._sequence, size)[1].tolist()
    return known


def last_rank(scores: Scores, limit: int | None) -> int:
    """The number of ranks to choose from: public."""
    if not scores.public:
        return UNKNOWN_LIMIT if limit is None else limit
    able = scores._choosable
    if able < 2:
        raise ValueError("scores must be at least two: with one candidate there is no gap to find")
    if limit is not None and limit >= able:
        raise ValueError(f"limit={limit} must be less than the {able} candidates that may be chosen")
    return able - 1 if limit is None else limit


def store_ranks(mechanism: Any, least: int) -> None:
    """Check limit and regularizer against one another; a list of numbers says how many ranks there are."""
    regularizer = mechanism.regularizer
    if regularizer is not None and not callable(regularizer):
        if isinstance(regularizer, str | bytes) or not isinstance(regularizer, Sequence | np.ndarray):
            raise TypeError("regularizer must be a list of numbers, one for each rank, or a function of the rank")
        regularizer = tuple(regularizer)
        if mechanism.limit not in (None, len(regularizer)):
            raise ValueError("regularizer must have one number for each rank: as many as limit")
        offsets(regularizer, len(regularizer))
        object.__setattr__(mechanism, "regularizer", regularizer)
        object.__setattr__(mechanism, "limit", len(regularizer))
    if mechanism.limit is not None:
        object.__setattr__(mechanism, "limit", checked_limit(mechanism.limit, least))


def offsets(regularizer: Regularizer | None, limit: int) -> list[Fraction | None]:
    """r(1), .., r(limit) exactly; None where it is -inf."""
    if regularizer is None:
        return [Fraction(0)] * limit
    values = [regularizer(j) for j in range(1, limit + 1)] if callable(regularizer) else regularizer
    shifts = [_offset(one) for one in values]
    if len(shifts) != limit:
        raise ValueError("regularizer must have one number for each rank: as many as limit")
    if all(one is None for one in shifts):
        raise ValueError("regularizer must leave at least one rank that may be chosen")
    return shifts


def _offset(value: object) -> Fraction | None:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float | Fraction):
        raise TypeError("regularizer must give numbers, for example regularizer=lambda j: -0.1 * j")
    if plain == -math.inf:
        return None
    if not math.isfinite(plain):
        raise ValueError("regularizer must give finite numbers, or -inf for a rank that may never be chosen")
    return Fraction(plain)
