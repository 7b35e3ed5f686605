"""Large gaps and stable sets: an answer only where the scores leave no doubt."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Literal, Unpack

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist._runtime import present, set_fields
from shortlist.accounting.curves import up
from shortlist.accounting.guarantees import number
from shortlist.errors import bad_type, bad_value
from shortlist.exact.noise import GAUSSIAN, GUMBEL, Noise
from shortlist.exact.reals import floor_to_float
from shortlist.exact.thresholds import GaussianTest, LaplaceTest, OptimalTest, StabilityTest, quantile_above, rate_below
from shortlist.mechanisms import base, utility
from shortlist.mechanisms.race import OneshotTopK, epsilon_of_a_round
from shortlist.mechanisms.sets import CanonicalTopK
from shortlist.mechanisms.unknown_domain import MOST_CLASSES, CanonicalLimitedDomain
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, Guarantee, PureDP, ThinnedRange, calibrate, compose
from shortlist.release import Extras
from shortlist.sampling.entropy import Source
from shortlist.sampling.stable import passes, rational_winners
from shortlist.scores import QuestionOptions, Scores

__all__ = ["LargeGap", "StableTopK"]

Regularizer = Sequence[float] | Callable[[int], float]
"""r(1), r(2), ..: public numbers, added to the gaps; -inf for a rank that may never be chosen."""

UNKNOWN_LIMIT = 1000
"""How many ranks are candidates if the list of candidates is not public and no limit is given."""


class _ByGaps(base.Budgeted[base.Paid]):
    """A rank j is chosen by its gap u(j) = h_(j) - h_(j+1): the largest u(j) + r(j) with noise."""

    __slots__ = ()

    regularizer: Regularizer | None
    limit: int | None

    exchangeable: ClassVar[bool] = True

    @property
    def _noise(self) -> tuple[Noise, Fraction]:
        """The noise on the gaps, and its scale in units of R."""
        raise NotImplementedError

    def _scale(self, scores: Scores) -> Fraction:
        """2 R / e, or R sigma for Gaussian noise, exactly."""
        return scores.range_sensitivity * self._noise[1]

    def _gaps(self, scores: Scores) -> tuple[Sequence[int | Fraction], list[Fraction | None]]:
        """Return the largest scores in decreasing order, one more than there are ranks, and r of each rank."""
        limit = last_rank(scores, self.limit)
        return largest(scores, limit + 1), offsets(self.regularizer, limit)

    def _ranks(self, scores: Scores, source: Source, draws: int) -> Indices:
        """Draw independent ranks."""
        return large_gaps(*self._gaps(scores), self._scale(scores), source, draws, self._noise[0])


@base.mechanism_class
class LargeGap(_ByGaps[base.Budget]):
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
    budget: Guarantee = base.MISSING
    regularizer: Regularizer | None = None
    limit: int | None = None
    sigma: float | None = None

    proof: ClassVar[str] = "docs/mechanisms/large-gap.md#proof"
    later: ClassVar[tuple[tuple[str, ...], ...]] = (("sigma",),)

    def __post_init__(self, epsilon: float | None, delta: float | None) -> None:
        store_ranks(self, 1)
        if self.sigma is not None:
            sigma = number("sigma", self.sigma, above=True)
            cost = noise_cost(sigma, self.limit)
            set_fields(self, sigma=sigma, budget=cost.budget(epsilon, delta, self.budget))
        elif delta is not None:
            raise bad_type("$delta= goes with sigma=; otherwise write $budget=ApproxDP(1.0, 1e-6)")
        else:
            set_fields(self, budget=base.check_budget(epsilon, self.budget))

    @property
    def name(self) -> str:
        return "large gap" if self.sigma is None else "large gap with gaussian noise"

    @property
    def charge(self) -> Guarantee:
        if self.sigma is not None:
            return noise_cost(self.sigma, self.limit).charge(self.guarantee)
        return BoundedRange(epsilon_of_a_round(1, self.guarantee))

    @property
    def _noise(self) -> tuple[Noise, Fraction]:
        if self.sigma is not None:
            return GAUSSIAN, Fraction(self.sigma)
        return GUMBEL, 2 / Fraction(epsilon_of_a_round(1, self.guarantee))

    def _check(self, scores: Scores) -> None:
        if not scores.public:
            base.check_counts(scores)
        offsets(self.regularizer, last_rank(scores, self.limit))

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        k = int(self._ranks(scores, source, 1)[0])
        how = "rise" if scores._negated else "fall off"
        return base.Outcome([], Extras(k=k), (f"k = {k}: the scores {how} behind rank {k}",))

    def _draw_many(self, scores: Scores, draws: int, source: Source) -> Indices:
        return self._ranks(scores, source, draws)

    def probabilities(self, scores: object, **question: Unpack[QuestionOptions]) -> Floats:
        """P[the rank is j], for j = 1, 2, .. up to the last: exact, to 1e-12, and they sum to 1."""
        return utility.winner_probabilities(self, scores, **question)

    def success_probability(self, scores: object, **question: Unpack[QuestionOptions]) -> float:
        """P[the rank is one with the largest u(j) + r(j)], ties counting as equal: exact, to 1e-12."""
        return utility.success_probability(self, scores, **question)


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
        return min(self.whole.epsilon_at(delta), self.one.epsilon_at(floor_to_float(left / self.ranks)))

    def budget(self, epsilon: float | None, delta: float | None, budget: Guarantee | None) -> base.Budget:
        """The cost, or the least epsilon at `delta`; a budget that is given must allow it."""
        if epsilon is not None or (delta is not None and budget is not None):
            raise bad_type("the noise says what it costs: leave $epsilon= and $budget= out; $delta=1e-6 may be given")
        if budget is not None:
            if not isinstance(budget, ZCDP | ApproxDP):
                raise TypeError("with noise given by its deviation budget must be ZCDP(..) or ApproxDP(..)")
            allowed = base.plain_budget(budget)
            by_ranks = isinstance(allowed, ApproxDP) and self.epsilon_at(allowed.delta) <= allowed.epsilon
            if not by_ranks and allowed.excess(self.whole) > 0:
                raise bad_value(f"this noise costs {self.whole}, more than {allowed}: leave $budget= out, or add noise")
            return allowed
        if delta is None:
            return self.whole
        least = self.epsilon_at(number("delta", delta, above=True, below=1.0))
        if math.isinf(least):
            raise bad_value(f"$delta must be greater than that of the test, {self.whole.delta:g}: write $delta=1e-6")
        return ApproxDP(least, float(delta))

    def charge(self, budget: base.Budget) -> Guarantee:
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
        raise bad_value("limit is needed: the cost of Gaussian noise grows with the number of ranks; write $limit=40")
    each = 1 / Fraction(sigma) ** 2
    return NoiseCost(cost_of_noise(limit * each / 2 + test, delta), cost_of_noise(2 * each + test), limit)


def cost_of_noise(rho: Fraction, delta: float = 0.0) -> ZCDP:
    """rho of Gaussian noise, rounded up, or the reason why there is none."""
    if math.isinf(cost := up(rho)):
        raise ValueError("sigma is too small, its noise protects nobody: write sigma=50.0, for example")
    return ZCDP(cost, delta)


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
    return 1 + np.array(ranks)[winners]


def largest(scores: Scores, size: int) -> list[int] | list[Fraction]:
    """Return the largest scores in decreasing order, exactly.

    Of an unknown domain they are counts, followed by zeros, since an absent label counts 0.
    """
    values = scores._numbers
    if values.dtype.kind == "f":
        return sorted((Fraction(value) for value in values[values > -np.inf].tolist()), reverse=True)[:size]
    if not scores.public:
        return base.sort_counts(scores._sequence, size)
    return base.largest_counts(scores._sequence, size)[1].tolist()


def last_rank(scores: Scores, limit: int | None) -> int:
    """The number of ranks to choose from: public."""
    if not scores.public:
        return UNKNOWN_LIMIT if limit is None else limit
    able = scores._choosable
    if able < 2:
        raise bad_value("$scores must be at least two: with one candidate there is no gap to find")
    if limit is not None and limit >= able:
        raise bad_value(f"$limit={limit} must be less than the {able} candidates that may be chosen")
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
        set_fields(mechanism, regularizer=regularizer, limit=len(regularizer))
    if mechanism.limit is not None:
        set_fields(mechanism, limit=base.check_limit(mechanism.limit, least))


def offsets(regularizer: Regularizer | None, limit: int) -> list[Fraction | None]:
    """r(1), .., r(limit) exactly; None where it is -inf."""
    if regularizer is None:
        return [Fraction(0)] * limit
    values = [regularizer(j) for j in range(1, limit + 1)] if callable(regularizer) else regularizer
    shifts: list[Fraction | None] = []
    for value in values:
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, bool) or not isinstance(plain, int | float | Fraction):
            raise TypeError("regularizer must give numbers, for example regularizer=lambda j: -0.1 * j")
        if not plain < math.inf:
            raise ValueError("regularizer must give finite numbers, or -inf for a rank that may never be chosen")
        shifts.append(None if plain == -math.inf else Fraction(plain))
    if len(shifts) != limit:
        raise ValueError("regularizer must have one number for each rank: as many as limit")
    if all(one is None for one in shifts):
        raise ValueError("regularizer must leave at least one rank that may be chosen")
    return shifts


def are_general(scores: Scores) -> bool:
    """Whether a public list has other scores than whole-number counts under add/remove: from public facts."""
    counts = scores.monotone and scores.largest_sensitivity == 1 and not isinstance(scores.sensitivity, tuple | list)
    numbers = scores._numbers if scores._names is None else scores._names.scores
    whole = numbers.dtype.kind != "f" and not scores._negated  # negated counts are none
    return scores.public and not (counts and whole and scores.neighbours == "add-remove")


def rank_gaps(scores: Scores, most: int) -> tuple[Indices, list[int]]:
    """(positions, largest score first; the gap behind each rank from 1 on, in whole range sensitivities).

    Counts are followed by zeros: an absent label counts 0, and beyond the data there is no set. Of general scores the
    gap behind the last one is not there: nobody is next.
    """
    if not are_general(scores):
        positions, counts = base.largest_counts(scores._sequence, most + 1)
        values = [*(counts if scores.public else np.maximum(counts, 0)).tolist(), 0, 0]
        return positions, [here - behind for here, behind in pairwise(values)]
    numbers = scores._numbers
    able = np.flatnonzero(numbers > -np.inf) if numbers.dtype.kind == "f" else np.arange(len(numbers))
    positions = able[np.argsort(numbers[able], kind="stable")[::-1][: most + 1]]
    ranking = [Fraction(value) for value in largest(scores, most + 1)]
    return positions, [int((here - behind) // scores.range_sensitivity) for here, behind in pairwise(ranking)]


def some_of(scores: Scores, positions: list[int]) -> Scores:
    """The question about these candidates of a public list alone."""
    numbers, neighbours = scores._numbers[positions], scores.neighbours
    return Scores(numbers, sensitivity=scores.sensitivity, monotone=scores.monotone, neighbours=neighbours)


TestName = Literal["gaussian", "laplace", "optimal"]

FILLED_UP = "filled up"
FAILED = "the test did not pass: no set is named"


@dataclass(frozen=True, slots=True)
class Parts:
    """What a budget pays for, each part rounded so that together they fit."""

    gap: float | None
    """epsilon of `LargeGap`; None if k is fixed or the noise is Gaussian."""
    test: StabilityTest
    cost: Guarantee
    """What the test costs, with Gaussian noise on the gaps if there is any."""
    fill: ThinnedRange | PureDP | ZCDP | None = None
    """What filling up costs: by one round, or by rounds of the exponential mechanism, however many there are."""

    def charge(self) -> Guarantee:
        rounds = [] if self.gap is None else [BoundedRange(self.gap)]
        return compose(*rounds, self.cost, *([] if self.fill is None else [self.fill]))


@base.mechanism_class
class StableTopK(_ByGaps[base.DeltaBudget]):
    """The true top-j set where it is stable; None (no name at all) where its test does not pass.

    With k = None, j is chosen by `LargeGap`. The test passes with a probability that depends on the gap q behind rank j
    alone, and is at most delta where one person could change the set (q <= 1); a tie never passes. Three tests:
    "gaussian" for `ZCDP(rho, delta)`, "optimal" and "laplace" for `ApproxDP(epsilon, delta)`.

    Promise: delta-approximate rho-zCDP or (epsilon, delta)-DP, with or without a public list of candidates. Half goes
    to choosing j, half to the test; with k fixed all goes to the test; with `fill` half goes to filling up, and half
    of delta with it. Of a public list any scores are taken, not counts alone: then gaps are counted in whole range
    sensitivities, q = floor(gap / R) (Theorem 256).

    `sigma_1`, `sigma` and `delta_t` in place of a budget give the noise itself, as the paper's experiments do: Gaussian
    noise of deviation R sigma_1 on the gaps, and the Gaussian test of deviation sigma that fails with probability
    delta_t. It is delta_t-approximate (limit / (2 sigma_1^2) + 1 / (2 sigma^2))-zCDP (Theorem 270).

    Parameters
    ----------
    k
        How many labels; None lets the gaps decide.
    epsilon, delta, budget
        `epsilon=1.0, delta=1e-6` is short for `budget=ApproxDP(1.0, 1e-6)`; `ZCDP(rho, delta)` is taken too.
    regularizer, limit
        As in `LargeGap`: which ranks are preferred, and the last one. Public.
    test
        None: "gaussian" for a zCDP budget, "optimal" otherwise.
    fill
        For fixed k: let `LargeGap` choose j, then fill up to k outside the stable set, or choose k inside it, by a
        canonical round that is sound for the domain. Then at most k labels come back, and never None. `"peeling"` is
        the paper's way for a public list: rounds of the exponential mechanism, one for each label, within the same half
        of the budget. It usually finds fewer of the largest than one canonical round.
    split
        The share of delta kept for conversion by the Gaussian test under (epsilon, delta). Half, if None.
    sigma_1, sigma, delta_t
        Deviations in units of R, and the delta of the test. `sigma_1` is for k = None, and needs `limit`, because its
        cost grows with the number of ranks. `delta=1e-6` states the least (epsilon, delta) that is proved.

    Raises
    ------
    ValueError, TypeError
        naming the argument; without a public list, for scores that are not whole-number counts under add/remove,
        before they are looked at.

    Examples
    --------
    >>> counts = {"ada": 900, "bob": 880, "cy": 20, "di": 10}
    >>> release = StableTopK(epsilon=1.0, delta=1e-6).release(counts, monotone=True)
    >>> release.items, release.k
    (['ada', 'bob'], 2)
    >>> StableTopK(sigma_1=50.0, sigma=60.0, delta_t=1e-9, limit=4).guarantee
    ZCDP(rho=0.000938888888888889, delta=1e-09)
    """

    k: int | None = None
    epsilon: InitVar[float | None] = None
    delta: InitVar[float | None] = None
    budget: Guarantee = base.MISSING
    regularizer: Regularizer | None = None
    limit: int | None = None
    test: TestName | None = None
    fill: bool | Literal["peeling"] = False
    split: float | None = None
    sigma_1: float | None = None
    sigma: float | None = None
    delta_t: float | None = None

    proof: ClassVar[str] = "docs/mechanisms/stable.md#proof"
    ordered: ClassVar[bool] = False
    later: ClassVar[tuple[tuple[str, ...], ...]] = (("sigma_1", "sigma", "delta_t"),)

    def __post_init__(self, epsilon: float | None, delta: float | None) -> None:
        if self.k is not None:
            set_fields(self, k=base.check_k(self.k))
        by_noise = any(one is not None for one in (self.sigma_1, self.sigma, self.delta_t))
        if not by_noise:
            set_fields(self, budget=base.check_delta_budget(epsilon, delta, self.budget, below=0.5))
        store_ranks(self, self.k or 1)
        if by_noise:
            if self.fill or self.split is not None or self.test not in (None, "gaussian"):
                raise ValueError("fill, split and other tests need a budget: leave them out, or leave the noise out")
            noise = check_deviations(self.k, self.sigma_1, self.sigma, self.delta_t)
            set_fields(self, test="gaussian", **dict(zip(("sigma_1", "sigma", "delta_t"), noise, strict=True)))
            set_fields(self, budget=self._cost.budget(epsilon, delta, self.budget))
            return
        if not (isinstance(self.fill, bool) or self.fill == "peeling") or (self.fill and self.k is None):
            raise bad_value('fill must be True, False or "peeling", and needs a fixed k: write $k=10, fill=True')
        zcdp = isinstance(self.budget, ZCDP)
        if self.test not in (None, "gaussian") and (zcdp or self.test not in ("laplace", "optimal")):
            names = '"gaussian"' if zcdp else '"optimal", "laplace" or "gaussian"'
            raise ValueError(f"test must be {names} for this budget")
        set_fields(self, test=self.test or ("gaussian" if zcdp else "optimal"))
        if self.split is not None:
            number("split", self.split, above=True, below=1.0)
            if zcdp or self.test != "gaussian":
                raise bad_value("$split is for the Gaussian test under (epsilon, delta): leave it out here")

    @property
    def name(self) -> str:
        how = "adaptive" if self.k is None else f"top-{self.k}"
        noise = " by gaussian noise" if self.sigma_1 is not None else ""
        filled = ", filled up by peeling," if self.fill == "peeling" else ", filled up," * self.fill
        return f"stable {how}{noise}{filled} with the {self.test} test"

    @property
    def charge(self) -> Guarantee:
        return self._parts.charge() if self.sigma is None else self._cost.charge(self.guarantee)

    @property
    def _cost(self) -> NoiseCost:
        test = 1 / (2 * Fraction(present(self.sigma)) ** 2)
        return noise_cost(self.sigma_1, self.limit, test, present(self.delta_t))

    @property
    def _parts(self) -> Parts:
        if self.sigma is not None and self.delta_t is not None:
            test = GaussianTest(1 / Fraction(self.sigma), quantile_above(self.delta_t))
            return Parts(None, test, self._cost.whole)
        return _share(self.guarantee, present(self.test), self.k is None or bool(self.fill), self.fill, self.split)

    @property
    def _noise(self) -> tuple[Noise, Fraction]:
        if self.sigma_1 is not None:
            return GAUSSIAN, Fraction(self.sigma_1)
        return GUMBEL, 2 / Fraction(present(self._parts.gap))

    def _check(self, scores: Scores) -> None:
        if not are_general(scores):
            base.check_counts(scores)
        elif self.k is not None and self.k >= scores._choosable:
            raise bad_value(f"$k={self.k} must be less than the {scores._choosable} candidates; choose a smaller k")
        if self.k is not None and scores.public:
            base.check_known_candidates(scores, self.k)
        if self.k is None or self.fill:
            offsets(self.regularizer, last_rank(scores, self.limit))
        if self.fill == "peeling" and not scores.public:
            raise ValueError('fill="peeling" names items of the list at hand, which must be public: write fill=True')
        if self.fill and not scores.public and 2 * (self.k or 0) ** 2 > MOST_CLASSES:
            raise bad_value(f"$k={self.k} is too large to be filled up without a public list: leave fill= out")

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        if self.k is not None and not self.fill:
            ranks, most = np.array([min(self.k, scores._size + 1)]), self.k
        else:
            ranks, most = self._ranks(scores, source, 1), last_rank(scores, self.limit)
        sets = stable_sets(scores, ranks, most, self._parts.test, source)
        (j, passed), stable = present(sets.chosen)[0].tolist(), [i for i in sets.indices[0].tolist() if i >= 0]
        if self.fill:
            indices, used = self._fill_up(scores, stable, source)
            return base.Outcome(indices, Extras(k=j, used=used))
        failed = () if passed else (FAILED,)
        if self.k is not None:
            return base.Outcome(stable if passed else None, notes=failed)
        return base.Outcome(stable if passed else None, Extras(k=j), (f"the data chose k = {j}", *failed))

    def _way(self, outcome: base.Outcome) -> list[int]:
        """The rank, 0 where k is given; and whether its set has passed."""
        return [outcome.extras.k or 0, int(outcome.indices is not None and outcome.extras.used != FILLED_UP)]

    def _fill_up(self, scores: Scores, stable: list[int], source: Source) -> tuple[list[int], str]:
        """(k positions, or fewer in an unknown domain; which way it went)."""
        if len(stable) == self.k:
            return stable, "stable"
        filling, left = self._round_of(scores, stable)
        more = filling._draw(left, source).indices or []
        if len(stable) > present(self.k):
            return [stable[i] for i in more], "chosen inside the stable set"
        others = np.setdiff1d(np.arange(scores._size), stable).tolist() if scores.public else range(scores._size)
        return [*stable, *(others[i] for i in more)], "stable and filled up" if stable else FILLED_UP

    def _round_of(self, scores: Scores, stable: list[int]) -> tuple[base.Mechanism, Scores]:
        """The round that makes k labels of a stable set, and the scores it chooses from."""
        k = present(self.k)
        if len(stable) > k:
            return self._filling(k, public=True), some_of(scores, stable)
        filling = self._filling(k - len(stable), public=scores.public)
        if scores.public:
            return filling, some_of(scores, np.setdiff1d(np.arange(scores._size), stable).tolist())
        counts = np.array(scores._numbers, np.int64)
        counts[stable] = 0  # they are public by now; a count of 0 is an absent label
        return filling, Scores(counts, labels=range(len(counts)), monotone=True)

    def _filling(self, size: int, *, public: bool) -> base.Mechanism:
        """The round that chooses `size` labels, out of a public list or of what is there."""
        cost = present(self._parts.fill)
        if not isinstance(cost, ThinnedRange):
            return OneshotTopK(k=size, budget=cost, noise="gumbel")
        if public:
            return CanonicalTopK(k=size, epsilon=cost.epsilon, noise="gumbel")
        return CanonicalLimitedDomain(k=size, epsilon=cost.epsilon, delta=cost.delta)

    def probabilities(self, scores: object, **question: Unpack[QuestionOptions]) -> dict[tuple[int, ...] | None, float]:
        """P[each set that may be named], by its positions, and None for no set: exact, to 1e-12; without fill."""
        return utility.probabilities(self, scores, **question)

    def success_probability(self, scores: object, **question: Unpack[QuestionOptions]) -> float:
        """P[a true top k is released], ties counting as equal: exact, to 1e-12, and with fill to 1e-8.

        Where the gaps decide how many, P[a set is named]: it is a true top j, whatever its size j is.
        """
        return utility.success_probability(self, scores, **question)

    quality = utility.quality


def check_deviations(
    k: int | None, sigma_1: float | None, sigma: float | None, delta_t: float | None
) -> tuple[float | None, float, float]:
    """(sigma_1, sigma, delta_t), or the reason why they do not go together."""
    if sigma is None or delta_t is None or (sigma_1 is None) != (k is not None):
        raise bad_type(
            "noise is given by sigma= and delta_t=, and by sigma_1= where the gaps decide how many: write "
            "sigma_1=50.0, sigma=60.0, delta_t=1e-9, $limit=40, or $k=10, sigma=60.0, delta_t=1e-9"
        )
    of_gaps = None if sigma_1 is None else number("sigma_1", sigma_1, above=True)
    return of_gaps, number("sigma", sigma, above=True), number("delta_t", delta_t, least=base.LEAST_DELTA, below=0.5)


def stable_sets(scores: Scores, ranks: Indices, most: int, test: StabilityTest, source: Source) -> base.Draws:
    """Test the top-j set of each rank j, up to `most`: its members, largest score first; j, and whether it passed."""
    positions, behind = rank_gaps(scores, int(ranks.max()))
    gaps = np.array(behind)
    passed = passes(test, gaps[np.minimum(ranks, len(gaps)) - 1], source)
    rows = np.full((len(ranks), min(most, scores._size)), -1, np.int64)
    for j in np.unique(ranks[passed]).tolist():
        rows[passed & (ranks == j), :j] = positions[:j]
    return base.Draws(rows, None, np.column_stack([ranks, passed]))


@lru_cache
def _share(
    budget: base.DeltaBudget, test: TestName, chooses: bool, fills: bool | Literal["peeling"], split: float | None
) -> Parts:
    """The parts of a budget: halves for choosing and testing, and before that half for filling up."""
    peels = fills == "peeling"  # the exponential mechanism needs no delta
    delta = base.part_of(budget.delta, Fraction(1, 2)) if fills and not peels else budget.delta
    if isinstance(budget, ApproxDP) and test != "gaussian":
        whole = Fraction(budget.epsilon) / (2 if fills else 1)
        own = floor_to_float(whole / 2 if chooses else whole)
        coin = (OptimalTest if test == "optimal" else LaplaceTest)(Fraction(own), Fraction(delta))
        half: PureDP | ZCDP = PureDP(floor_to_float(whole))
        parts = Parts(own if chooses else None, coin, ApproxDP(own, delta))
    else:
        if isinstance(budget, ApproxDP):
            share = Fraction(1, 2) if split is None else Fraction(split)
            rho = calibrate(ZCDP, ApproxDP(budget.epsilon, base.part_of(budget.delta, share)))
            delta = base.part_of(delta, 1 - share)
        else:
            rho = budget.rho
        half = ZCDP(rho / 2)
        stable = rho / 2 if fills else rho
        for_test = stable / 2 if chooses else stable
        rate = rate_below(for_test, 1)
        gap = epsilon_of_a_round(1, ZCDP(for_test)) if chooses else None
        parts = Parts(gap, GaussianTest(rate, quantile_above(delta)), ZCDP(up(rate**2 / 2), delta))
    if not fills:
        return parts
    return replace(parts, fill=half if peels else ThinnedRange(epsilon_of_a_round(1, half), 1, delta))
