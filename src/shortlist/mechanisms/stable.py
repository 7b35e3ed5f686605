"""Large gaps and stable sets: an answer only where the scores leave no doubt."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Literal, Protocol, Unpack

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.accounting.checks import number, up
from shortlist.errors import bad_type, bad_value
from shortlist.exact.noise import GAUSSIAN, GUMBEL, Noise
from shortlist.exact.reals import floor_to_float, to_float
from shortlist.exact.thresholds import GaussianTest, LaplaceTest, OptimalTest, StabilityTest, quantile_above, rate_below
from shortlist.mechanisms.base import (
    LEAST_DELTA,
    MISSING,
    Budget,
    Budgeted,
    DeltaBudget,
    Draws,
    Outcome,
    check_budget,
    check_counts,
    check_draws,
    check_k,
    check_known_candidates,
    check_limit,
    check_small_delta,
    check_source,
    described,
    largest_counts,
    part_of,
    plain_budget,
    record_of,
    sort_counts,
)
from shortlist.mechanisms.race import OneshotTopK, epsilon_of_a_round
from shortlist.mechanisms.sets import CanonicalTopK
from shortlist.mechanisms.unknown_domain import MOST_CLASSES, CanonicalLimitedDomain
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, Guarantee, PureDP, ThinnedRange, calibrate, compose
from shortlist.release import Extras
from shortlist.sampling.entropy import Source
from shortlist.sampling.stable import passes, passes_many, rational_winners
from shortlist.scores import QuestionOptions, Scores
from shortlist.utility.quality import Quality
from shortlist.utility.race import winner_probabilities

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
    budget: Guarantee = MISSING
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
            raise bad_type("$delta= goes with sigma=; otherwise write $budget=ApproxDP(1.0, 1e-6)")
        else:
            self._pay(check_budget(epsilon, self.budget))

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
        how = "rise" if scores._negated else "fall off"
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
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[QuestionOptions]
    ) -> Indices:
        """Independent ranks, for study and audit of public scores."""
        scores, source = self._validate_public(scores, question), check_source(rng)
        return gap_ranks(self, scores, source, check_draws(draws))

    def probabilities(self, scores: object, **question: Unpack[QuestionOptions]) -> Floats:
        """P[the rank is j], for j = 1, 2, .. up to the last: exact, to 1e-12, and they sum to 1."""
        return rank_chances(gap_aims(self, self._validate_public(scores, question)), self._noise)

    def success_probability(self, scores: object, **question: Unpack[QuestionOptions]) -> float:
        """P[the rank is one with the largest u(j) + r(j)], ties counting as equal: exact, to 1e-12."""
        aims = gap_aims(self, self._validate_public(scores, question))
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
        return min(self.whole.epsilon_at(delta), self.one.epsilon_at(floor_to_float(left / self.ranks)))

    def budget(self, epsilon: float | None, delta: float | None, budget: Guarantee | None) -> Budget:
        """The cost, or the least epsilon at `delta`; a budget that is given must allow it."""
        if epsilon is not None or (delta is not None and budget is not None):
            raise bad_type("the noise says what it costs: leave $epsilon= and $budget= out; $delta=1e-6 may be given")
        if budget is not None:
            if not isinstance(budget, ZCDP | ApproxDP):
                raise TypeError("with noise given by its deviation budget must be ZCDP(..) or ApproxDP(..)")
            allowed = plain_budget(budget)
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
        raise bad_value("limit is needed: the cost of Gaussian noise grows with the number of ranks; write $limit=40")
    each = 1 / Fraction(sigma) ** 2
    return NoiseCost(cost_of_noise(limit * each / 2 + test, delta), cost_of_noise(2 * each + test), limit)


def cost_of_noise(rho: Fraction, delta: float = 0.0) -> ZCDP:
    """rho of Gaussian noise, rounded up, or the reason why there is none."""
    if math.isinf(cost := up(rho)):
        raise ValueError("sigma is too small, its noise protects nobody: write sigma=50.0, for example")
    return ZCDP(cost, delta)


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
    return winner_probabilities(np.array([-np.inf if one is None else to_float(one - top) for one in aims]), noise)


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
        return sort_counts(scores._sequence, size)
    known: list[int] = largest_counts(scores._sequence, size)[1].tolist()
    return known


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
        object.__setattr__(mechanism, "regularizer", regularizer)
        object.__setattr__(mechanism, "limit", len(regularizer))
    if mechanism.limit is not None:
        object.__setattr__(mechanism, "limit", check_limit(mechanism.limit, least))


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


def are_general(scores: Scores) -> bool:
    """Whether a public list has other scores than whole-number counts under add/remove: from public facts."""
    counts = scores.monotone and scores.largest_sensitivity == 1 and not isinstance(scores.sensitivity, tuple | list)
    numbers = scores._numbers if scores._names is None else scores._names.scores
    whole = numbers.dtype.kind != "f" and not scores._negated  # negated counts are none
    return scores.public and not (counts and whole and scores.neighbours == "add-remove")


def ranked_gaps(scores: Scores, most: int) -> tuple[Indices, list[int]]:
    """(positions, largest score first; the gap behind each rank from 1 on, in whole range sensitivities).

    Counts are followed by zeros: an absent label counts 0, and beyond the data there is no set. Of general scores the
    gap behind the last one is not there: nobody is next.
    """
    if not are_general(scores):
        positions, counts = largest_counts(scores._sequence, most + 1)
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


NEVER = 1e-15
"""What is less likely adds nothing that is seen."""


@dataclass(frozen=True, slots=True)
class StableLaw:
    """For every rank: its top set by positions, P[the rank is chosen], P[its set passes | it is chosen]."""

    ways: tuple[tuple[list[int], float, float], ...]

    @classmethod
    def of(cls, scores: Scores, ranks: Mapping[int, float], test: StabilityTest) -> StableLaw:
        """From the chances of the ranks."""
        positions, gaps = ranked_gaps(scores, max(ranks))
        chances = {gap: float(test.chance(gap).mid()) if gap > 0 else 0.0 for gap in set(gaps)}
        passing = {j: chances[gaps[min(j, len(gaps)) - 1]] for j in ranks}
        return cls(tuple((positions[:j].tolist(), chance, passing[j]) for j, chance in ranks.items()))

    @property
    def named(self) -> float:
        """P[some set is named]."""
        return min(1.0, sum(chosen * passes for _, chosen, passes in self.ways))

    def sets(self) -> dict[tuple[int, ...] | None, float]:
        """P[each set], and None for no set."""
        sets: dict[tuple[int, ...] | None, float] = {
            tuple(sorted(members)): chosen * passes for members, chosen, passes in self.ways if chosen * passes
        }
        return {**sets, None: 1.0 - self.named}

    def filled(self, right: Callable[[list[int]], float]) -> float:
        """P[a true top k], where `right` says how likely it is after each set, and after none."""
        total = (1.0 - self.named) * right([])
        ways = ((members, chosen * passes) for members, chosen, passes in self.ways)
        return min(1.0, total + sum(chance * right(members) for members, chance in ways if chance > NEVER))


TestName = Literal["gaussian", "laplace", "optimal"]

FAILED = "the test did not pass: no set is named"


@dataclass(frozen=True, slots=True)
class Parts:
    """What a budget pays for, each part rounded so that together they fit."""

    gap: float | None
    """epsilon of `LargeGap`; None if k is fixed or the noise is Gaussian."""
    test: StabilityTest
    cost: Guarantee
    """What the test costs, with Gaussian noise on the gaps if there is any."""
    fill: float | None
    """epsilon of the round that fills up; None if there is none."""
    fill_delta: float
    peeling: Guarantee | None = None
    """What filling up by rounds of the exponential mechanism costs, however many there are; None without them."""

    def charge(self) -> Guarantee:
        rounds = [] if self.gap is None else [BoundedRange(self.gap)]
        filled = [] if self.fill is None else [ThinnedRange(self.fill, 1, self.fill_delta)]
        return compose(*rounds, self.cost, *filled, *([] if self.peeling is None else [self.peeling]))


class Filling(Protocol):
    """A mechanism that chooses what a set is filled up with."""

    def _draw(self, scores: Scores, source: Source, /) -> Outcome: ...

    def success_probability(self, scores: object, /) -> float: ...


@described
class StableTopK(Budgeted[DeltaBudget]):
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
    budget: Guarantee = MISSING
    regularizer: Regularizer | None = None
    limit: int | None = None
    test: TestName | None = None
    fill: bool | Literal["peeling"] = False
    split: float | None = None
    sigma_1: float | None = None
    sigma: float | None = None
    delta_t: float | None = None

    proof: ClassVar[str] = "docs/mechanisms/stable.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None, delta: float | None) -> None:
        if self.k is not None:
            object.__setattr__(self, "k", check_k(self.k))
        by_noise = any(one is not None for one in (self.sigma_1, self.sigma, self.delta_t))
        if not by_noise:
            self._pay(check_small_delta(epsilon, delta, self.budget))
        store_ranks(self, self.k or 1)
        if by_noise:
            if self.fill or self.split is not None or self.test not in (None, "gaussian"):
                raise ValueError("fill, split and other tests need a budget: leave them out, or leave the noise out")
            noise = check_deviations(self.k, self.sigma_1, self.sigma, self.delta_t)
            for name, value in zip(("sigma_1", "sigma", "delta_t"), noise, strict=True):
                object.__setattr__(self, name, value)
            self._pay(self._cost.budget(epsilon, delta, self.budget))  # type: ignore[arg-type]
            object.__setattr__(self, "test", "gaussian")
            return
        if not (isinstance(self.fill, bool) or self.fill == "peeling") or (self.fill and self.k is None):
            raise bad_value('fill must be True, False or "peeling", and needs a fixed k: write $k=10, fill=True')
        zcdp = isinstance(self.budget, ZCDP)
        if self.test not in (None, "gaussian") and (zcdp or self.test not in ("laplace", "optimal")):
            names = '"gaussian"' if zcdp else '"optimal", "laplace" or "gaussian"'
            raise ValueError(f"test must be {names} for this budget")
        object.__setattr__(self, "test", self.test or ("gaussian" if zcdp else "optimal"))
        if self.split is not None:
            number("split", self.split, above=True, below=1.0)
            if zcdp or self.test != "gaussian":
                raise bad_value("$split is for the Gaussian test under (epsilon, delta): leave it out here")

    def __repr__(self) -> str:
        """The noise stands in it where it was given, so that older records read as they did."""
        words = ["k", "budget", "regularizer", "limit", "test", "fill", "split"]
        return record_of(self, words if self.sigma is None else [*words, "sigma_1", "sigma", "delta_t"])

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
        assert self.sigma is not None
        assert self.delta_t is not None
        return noise_cost(self.sigma_1, self.limit, 1 / (2 * Fraction(self.sigma) ** 2), self.delta_t)

    @property
    def ordered(self) -> bool:
        return False

    @property
    def _parts(self) -> Parts:
        assert self.test is not None
        if self.sigma is not None and self.delta_t is not None:
            test = GaussianTest(1 / Fraction(self.sigma), quantile_above(self.delta_t))
            return Parts(None, test, self._cost.whole, None, self.delta_t)
        return _shared(self.guarantee, self.test, self.k is None or bool(self.fill), self.fill, self.split)

    @property
    def _noise(self) -> Noise:
        return GUMBEL if self.sigma_1 is None else GAUSSIAN

    def _scale(self, scores: Scores) -> Fraction:
        """2 R / e, or R sigma_1 for Gaussian noise, of the noise on the gaps, if they decide."""
        if self.sigma_1 is not None:
            return scores.range_sensitivity * Fraction(self.sigma_1)
        gap = self._parts.gap
        assert gap is not None
        return 2 * scores.range_sensitivity / Fraction(gap)

    def _check(self, scores: Scores) -> None:
        if not are_general(scores):
            check_counts(scores)
        elif self.k is not None and self.k >= scores._choosable:
            raise bad_value(f"$k={self.k} must be less than the {scores._choosable} candidates; choose a smaller k")
        if self.k is not None and scores.public:
            check_known_candidates(scores, self.k)
        if self.k is None or self.fill:
            offsets(self.regularizer, last_rank(scores, self.limit))
        if self.fill == "peeling" and not scores.public:
            raise ValueError('fill="peeling" names items of the list at hand, which must be public: write fill=True')
        if self.fill and not scores.public and 2 * (self.k or 0) ** 2 > MOST_CLASSES:
            raise bad_value(f"$k={self.k} is too large to be filled up without a public list: leave fill= out")

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        if self.k is not None and not self.fill:
            stable = self._tested(scores, self.k, source)
            return Outcome(None, notes=(FAILED,)) if stable is None else Outcome(stable)
        j = int(gap_ranks(self, scores, source, 1)[0])
        stable = self._tested(scores, j, source)
        if not self.fill:
            return Outcome(stable, Extras(k=j), (f"the data chose k = {j}", *([FAILED] if stable is None else [])))
        indices, used = self._filled(scores, stable or [], source)
        return Outcome(indices, Extras(k=j, used=used))

    def _tested(self, scores: Scores, j: int, source: Source) -> list[int] | None:
        """The positions of the top j, if they pass."""
        positions, gaps = ranked_gaps(scores, j)
        if not passes(self._parts.test, gaps[min(j, len(gaps)) - 1], source):
            return None
        return [int(i) for i in positions[:j]]

    def _filled(self, scores: Scores, stable: list[int], source: Source) -> tuple[list[int], str]:
        """(k positions, or fewer in an unknown domain; which way it went)."""
        assert self.k is not None
        if len(stable) == self.k:
            return stable, "stable"
        filling, left = self._round_of(scores, stable)
        more = filling._draw(left, source).indices or []
        if len(stable) > self.k:
            return [stable[i] for i in more], "chosen inside the stable set"
        others = np.setdiff1d(np.arange(scores._size), stable).tolist() if scores.public else range(scores._size)
        return [*stable, *(others[i] for i in more)], "stable and filled up" if stable else "filled up"

    def _round_of(self, scores: Scores, stable: list[int]) -> tuple[Filling, Scores]:
        """The round that makes k labels of a stable set, and the scores it chooses from."""
        assert self.k is not None
        if len(stable) > self.k:
            return self._filling(self.k, public=True), some_of(scores, stable)
        filling = self._filling(self.k - len(stable), public=scores.public)
        if scores.public:
            return filling, some_of(scores, np.setdiff1d(np.arange(scores._size), stable).tolist())
        counts = np.array(scores._numbers, np.int64)
        counts[stable] = 0  # they are public by now; a count of 0 is an absent label
        return filling, Scores(counts, labels=range(len(counts)), monotone=True)

    def _filling(self, size: int, *, public: bool) -> Filling:
        """The round that chooses `size` labels, out of a public list or of what is there."""
        parts = self._parts
        if parts.peeling is not None:
            return OneshotTopK(k=size, budget=parts.peeling, noise="gumbel")
        assert parts.fill is not None
        if public:
            return CanonicalTopK(k=size, epsilon=parts.fill, noise="gumbel")
        return CanonicalLimitedDomain(k=size, epsilon=parts.fill, delta=parts.fill_delta)

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[QuestionOptions]
    ) -> Draws:
        """Independent draws, for study and audit of public scores: sets, sorted, as wide as the largest could be.

        `chosen` has two columns: the rank (0 if k is given and nothing was chosen), and whether its set has passed.
        """
        scores, source, number = self._validate_public(scores, question), check_source(rng), check_draws(draws)
        test = self._parts.test
        if self.k is not None and not self.fill:
            sets = tested_sets(scores, np.full(number, min(self.k, scores._size + 1)), self.k, test, source)
            return replace(sets, chosen=sets.chosen * np.array([0, 1]))
        ranks = gap_ranks(self, scores, source, number)
        sets = tested_sets(scores, ranks, last_rank(scores, self.limit), test, source)
        if self.k is None:
            return sets
        rows = np.full((number, self.k), -1, np.int64)
        for row, stable in zip(rows, sets.indices, strict=True):
            filled, _ = self._filled(scores, stable[stable >= 0].tolist(), source)
            row[: len(filled)] = sorted(filled)
        return Draws(rows, None, sets.chosen)

    def probabilities(self, scores: object, **question: Unpack[QuestionOptions]) -> dict[tuple[int, ...] | None, float]:
        """P[each set that may be named], by its positions, and None for no set: exact, to 1e-12; without fill."""
        if self.fill:
            raise ValueError("the chances of all sets are known without fill; ask for success_probability")
        return self._law(self._validate_public(scores, question)).sets()

    def success_probability(self, scores: object, **question: Unpack[QuestionOptions]) -> float:
        """P[a true top k is released], ties counting as equal: exact, to 1e-12, and with fill to 1e-8.

        Where the gaps decide how many, P[a set is named]: it is a true top j, whatever its size j is.
        """
        scores = self._validate_public(scores, question)
        law = self._law(scores)
        return law.filled(lambda stable: self._filled_right(scores, stable)) if self.fill else law.named

    def quality(self, scores: object, **question: Unpack[QuestionOptions]) -> Quality:
        """P[top], P[great], P[good] and the expected recall (Definition 118) for a fixed k without fill.

        They are all equal, for what is named is the top k.
        """
        if self.k is None or self.fill:
            raise ValueError("quality is known for a fixed k without fill; success_probability is known for all")
        right = self.success_probability(scores, **question)
        return Quality(top=right, great=right, good=right, recall=right)

    def _law(self, scores: Scores) -> StableLaw:
        if self.k is not None and not self.fill:
            return StableLaw.of(scores, {self.k: 1.0}, self._parts.test)
        chances = rank_chances(gap_aims(self, scores), self._noise).tolist()
        return StableLaw.of(scores, dict(enumerate(chances, 1)), self._parts.test)

    def _filled_right(self, scores: Scores, stable: list[int]) -> float:
        """P[the k labels are a true top k | this set has passed, or none]."""
        assert self.k is not None
        if len(stable) == self.k:
            return 1.0
        filling, left = self._round_of(scores, stable)
        return filling.success_probability(left)


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
    return of_gaps, number("sigma", sigma, above=True), number("delta_t", delta_t, least=LEAST_DELTA, below=0.5)


def tested_sets(scores: Scores, ranks: Indices, most: int, test: StabilityTest, source: Source) -> Draws:
    """The top-j set for each rank j, up to `most`, if it passes its test. `chosen`: the rank, and whether it passed."""
    positions, behind = ranked_gaps(scores, most)
    gaps = np.array(behind)
    passed = passes_many(test, gaps[np.minimum(ranks, len(gaps)) - 1], source)
    rows = np.full((len(ranks), min(most, scores._size)), -1, np.int64)
    for j in np.unique(ranks[passed]).tolist():
        rows[passed & (ranks == j), :j] = np.sort(positions[:j])
    return Draws(rows, None, np.column_stack([ranks, passed]))


@lru_cache
def _shared(
    budget: DeltaBudget, test: TestName, chooses: bool, fills: bool | Literal["peeling"], split: float | None
) -> Parts:
    """The parts of a budget: halves for choosing and testing, and before that half for filling up."""
    peels = fills == "peeling"
    delta = part_of(budget.delta, Fraction(1, 2)) if fills else budget.delta
    if peels:  # the exponential mechanism needs none of it
        delta = budget.delta
    if isinstance(budget, ApproxDP) and test != "gaussian":
        whole = Fraction(budget.epsilon) / (2 if fills else 1)
        gap = floor_to_float(whole / 2) if chooses else None
        own = floor_to_float(whole / 2 if chooses else whole)
        exact = Fraction(own), Fraction(delta)
        coin = OptimalTest(*exact) if test == "optimal" else LaplaceTest(*exact)
        if peels:
            return Parts(gap, coin, ApproxDP(own, delta), None, 0.0, PureDP(floor_to_float(whole)))
        return Parts(gap, coin, ApproxDP(own, delta), floor_to_float(whole) if fills else None, delta)
    rho = budget.rho if isinstance(budget, ZCDP) else None
    if isinstance(budget, ApproxDP):
        share = Fraction(1, 2) if split is None else Fraction(split)
        rho = calibrate(ZCDP, ApproxDP(budget.epsilon, part_of(budget.delta, share)))
        delta = part_of(delta, 1 - share)
    assert rho is not None
    stable = rho / 2 if fills else rho
    for_test = stable / 2 if chooses else stable
    gap = epsilon_of_a_round(1, ZCDP(stable / 2)) if chooses else None
    rate = rate_below(for_test, 1)
    testing, cost = GaussianTest(rate, quantile_above(delta)), ZCDP(up(rate**2 / 2), delta)
    if peels:
        return Parts(gap, testing, cost, None, 0.0, ZCDP(rho / 2))
    fill = epsilon_of_a_round(1, ZCDP(rho / 2)) if fills else None
    return Parts(gap, testing, cost, fill, delta)
