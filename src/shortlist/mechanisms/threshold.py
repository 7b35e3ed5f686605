"""Answers over a threshold: the sparse vector technique, and hybrids with a noisy maximum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, replace
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Literal, Unpack

import numpy as np

from shortlist._arrays import Floats, Indices, Values, checked_flag
from shortlist.accounting.checks import number
from shortlist.errors import bad_type, bad_value
from shortlist.estimates import (
    WIDEST,
    ChainedGaps,
    EndedGaps,
    GapLaw,
    GapNoise,
    ThresholdGaps,
    geometric_mean,
    laplace_margin,
    pure_margin,
)
from shortlist.exact.noise import EXPONENTIAL, LAPLACE, Noise
from shortlist.exact.reals import NoisyScore, nearest_float, to_float
from shortlist.ledger.filter import Currency, relation_of
from shortlist.mechanisms.base import (
    MISSING,
    Budgeted,
    Draws,
    Outcome,
    check_draws,
    check_k,
    check_known_candidates,
    check_ledger,
    check_pure_budget,
    check_source,
    check_threshold,
    check_work,
    described,
    ledger_note,
    record_of,
)
from shortlist.mechanisms.stream import Branch, Rules, Stream, ex_post
from shortlist.privacy import Guarantee, Ledger, PureDP
from shortlist.release import Extras
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import (
    LINE,
    Field,
    Rows,
    Runner,
    Work,
    how_many_above,
    pad_rows,
    race,
)
from shortlist.sampling.thresholds import Barrier, ManyRuns, Test, add_pure_noise, passing
from shortlist.scores import Number, Scores, ScoreWords, Sensitivity, as_scores
from shortlist.utility import threshold as laws
from shortlist.utility.threshold import AnswerLaw, LineRace

NOTE = "in the order of the questions; gaps are to the threshold, noise included; lower_bound(confidence) has a caveat"
MEASURED = (
    "each value is a fresh measurement, and its margin holds whatever was above; refine(values, variance=error**2) "
    "adds what the gaps say, but is too high on average for items that were above because of their noise"
)
KINDS: dict[str, Noise] = {"exponential": EXPONENTIAL, "laplace": LAPLACE, "geometric": EXPONENTIAL}


@described
class SparseVector(Budgeted[PureDP]):
    """Answers "above" or "below" to one question after the other, and stops when its budget for "above" is used up.

    Promise: epsilon-DP for the whole sequence of answers and gaps, however the questions were chosen. "Below" is free.
    The threshold gets noise of scale Delta / e0 once, every question fresh noise of scale R / e1, where e0 = theta
    epsilon and e1 = (1 - theta) epsilon / k. Adaptive: each question is first tested with twice the noise for being two
    deviations above, at half the cost; so between k and 2 k - 1 answers "above". With `branches=(8, 4, 2)` it is tested
    with 8, 4 and 2 times the noise first, for being so many `deviations` above, at 1/8, 1/4 and 1/2 of the cost.

    With `measure=0.5` that share of epsilon is kept back. Then `release` measures every answer "above" afresh, with all
    that is left: n answers with noise of scale n Delta / (epsilon - what they cost), geometric for whole numbers and
    Laplace for floats. These are `values`, with `margins` that hold given what was above (Theorem 272).

    What an outcome cost is e0 plus e1 (or its part) for each "above": `cost`, for a ledger that reserved epsilon.

    Parameters
    ----------
    threshold
        A finite number; a whole one with geometric noise.
    k
        How many answers "above" are paid for.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`.
    adaptive
        Whether to try a cheaper test first: that of `branches=(2,)`.
    branches, deviations
        How many times wider the noise of each cheaper test is, whole numbers from 64 to 2 and falling, in the order of
        the tests; and how many deviations above the threshold they ask for, one number of at least 0 for all. Public.
    noise
        `"exponential"` (the least variance), `"laplace"`, or `"geometric"` for whole numbers with whole gaps.
    theta
        The threshold's share of epsilon, in (0, 1). None: the one with the least variance of the gaps,
        1 / (1 + (c k)^(2/3)) with c = R / Delta, and 2 c in place of c if adaptive (b c for `branches` from b on).
    measure
        The share of epsilon that is kept for measurements, in (0, 1). None: gaps alone. A stream measures nothing.
    sensitivity, monotone
        As in `Scores`: the most one person moves one answer, and whether all of them move the same way.

    Examples
    --------
    >>> sv = SparseVector(threshold=100, k=2, epsilon=1.0, monotone=True)
    >>> [answer.above for answer in sv.stream([5000, 0, -5000, 9000, 8000])]
    [True, False, False, True]
    >>> release = SparseVector(threshold=100, k=2, epsilon=1.0, monotone=True, measure=0.5).release([5000, 0, 9000])
    >>> release.items, len(release.gaps), len(release.values), len(release.margins)
    ([0, 2], 2, 2, 2)
    """

    threshold: int | float
    k: int
    epsilon: InitVar[float | None] = None
    budget: Guarantee = MISSING
    adaptive: bool = False
    branches: Sequence[int] = ()
    deviations: float = 2.0
    noise: Literal["exponential", "laplace", "geometric"] = "exponential"
    theta: float | None = None
    sensitivity: Number | tuple[Number, Number] = 1.0
    monotone: bool = False
    measure: float | None = None

    proof: ClassVar[str] = "docs/mechanisms/sparse-vector.md#proof"
    largest_only: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None) -> None:
        object.__setattr__(self, "threshold", check_threshold(self.threshold))
        object.__setattr__(self, "k", check_k(self.k))
        self._pay(check_pure_budget("sparse vector with gaps", epsilon, self.budget))
        checked_flag("adaptive", self.adaptive)
        object.__setattr__(self, "branches", _checked_branches(self.branches))
        number("deviations", self.deviations)
        Sensitivity.of(self.sensitivity, checked_flag("monotone", self.monotone), "add-remove")
        if not isinstance(self.noise, str) or self.noise not in KINDS:
            raise ValueError(f"noise must be one of {', '.join(map(repr, KINDS))}")
        if self.noise == "geometric" and not isinstance(self.threshold, int):
            raise TypeError("geometric noise is for whole numbers: write a whole threshold, such as threshold=100")
        if self.theta is not None:
            number("theta", self.theta, above=True, below=1.0)
        if self.measure is not None:
            number("measure", self.measure, above=True, below=1.0)
        self.rules  # noqa: B018 (it checks that the numbers are not too extreme)

    @property
    def name(self) -> str:
        tests = f" and {len(self.branches) + 1} tests" if self.branches else ""
        measured = ", measured" if self.measure is not None else ""
        return f"{'adaptive ' * bool(self._wider)}sparse vector with {self.noise} noise{tests}{measured}"

    def __repr__(self) -> str:
        """As of every mechanism; other branches than two stand in it, so that older records read as they did."""
        words = ["threshold", "k", "budget", "adaptive", "noise", "theta", "sensitivity", "monotone"]
        words[4:4] = [] if not self.branches and self.deviations == 2 else ["branches", "deviations"]
        return record_of(self, [*words, *(["measure"] if self.measure is not None else [])])

    @property
    def refundable(self) -> tuple[Currency, ...]:
        return ("pure",)

    @property
    def ordered(self) -> bool:
        return True

    @property
    def rules(self) -> Rules:
        """The exact numbers behind the promise of answers and gaps: all of them public."""
        epsilon = (1 - Fraction(self.measure or 0)) * Fraction(self.guarantee.epsilon)
        moves = Sensitivity.of(self.sensitivity, self.monotone, "add-remove")
        largest, spread = moves.largest, moves.range
        wide = max(self._wider, default=1)
        share = Fraction(least_variance_share(wide * self.k * spread / largest) if self.theta is None else self.theta)
        first, each = share * epsilon, (1 - share) * epsilon / self.k
        parts = [*(Fraction(1, times) for times in self._wider), Fraction(1)]
        branches = tuple(self._branch(part, part * each, largest / first, spread / (part * each)) for part in parts)
        return Rules(self.threshold, largest / first, KINDS[self.noise], self._whole, epsilon, first, each, branches)

    @property
    def _wider(self) -> Sequence[int]:
        """How many times wider the noise of each cheaper test is."""
        return self.branches or ((2,) if self.adaptive else ())

    @property
    def _whole(self) -> bool:
        return self.noise == "geometric"

    def _branch(self, part: Fraction, cost: Fraction, below: Fraction, scale: Fraction) -> Branch:
        """One test of a question, with noise of that scale, against a threshold with noise of scale `below`."""
        centre, cut = centre_and_cut(self.noise, below, scale, Fraction(self.deviations if part < 1 else 0))
        law = gap_law(self.noise, self.threshold, below, scale, centre)
        name = "middle" if part == 1 else (str(part) if self.branches else "top")
        return Branch(name, Test(KINDS[self.noise], scale, centre, cut), cost, law)

    def stream(
        self,
        values: Iterable[int | float] | None = None,
        *,
        rng: Source | None = None,
        ledger: Ledger | None = None,
        purpose: str = "",
        unit: str = "user",
    ) -> Stream:
        """A run that answers online: iterate over it, or `ask` it one question after the other.

        It reads `values` one at a time, after the answer before was given, and never past the last answer it may
        give. Each run costs epsilon of its own: `ledger` books it here, before the first value is read, and takes back
        what was not used when the stream stops or is closed (never, if it is just left), noting `purpose` and `unit`.
        The neighboring relation is add-remove, unless `unit` ends with "(replace)".

        Raises
        ------
        BudgetExceeded
            if the ledger has no room: nothing is booked and nothing read.
        """
        if self.measure is not None:
            raise ValueError("measure is for release, which knows all its answers: leave it out for a stream")
        source, questions = check_source(rng), iter(() if values is None else values)
        check_ledger(ledger)
        terms, facts = (self.guarantee, self.charge), ledger_note("", secure=source.secure)
        if not isinstance(unit, str):
            raise bad_type('$unit must be text: write $unit="person", for example')
        if not (relation := relation_of(unit)):
            unit = f"{unit} (add-remove)"
        elif relation == "replace" and (self.monotone or isinstance(self.sensitivity, tuple | list)):
            raise bad_value(
                '$unit must not end with "(replace)" if $monotone=True or the sensitivity is a pair: both say what '
                "adding a user does"
            )
        return Stream(self.rules, questions, source, self._reserve(ledger, terms, purpose, unit, facts))

    def _asked(self, scores: object, question: ScoreWords) -> Scores:
        if isinstance(scores, Scores):
            scores = as_scores(scores, **question)
            ours = Sensitivity.of(self.sensitivity, self.monotone, "add-remove")
            if (scores.largest_sensitivity, scores.range_sensitivity) != (ours.largest, ours.range):
                raise ValueError(
                    "sensitivity and monotone of the Scores differ from those of the mechanism: say the same"
                )
            return scores
        if isinstance(scores, list | tuple) and len({isinstance(one, int | np.integer) for one in scores}) > 1:
            raise TypeError("answers must be all whole numbers or all floats; convert them, for example with float()")
        twice = ", ".join(question.keys() & {"sensitivity", "monotone"})
        if twice:
            raise TypeError(f"{twice}: already said by the mechanism; give it there")
        words: ScoreWords = {**question, "sensitivity": self.sensitivity, "monotone": self.monotone}
        return as_scores(scores, **words)

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, 1)
        if self._whole and scores._numbers.dtype.kind == "f":
            raise TypeError("geometric noise is for whole numbers: give integers")

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        """The law of `stream` over the same values, without drawing for those far below the threshold."""
        rules, values = self.rules, scores._numbers
        barrier = Barrier(rules.threshold, rules.threshold_scale, rules.noise, source, whole=rules.whole)
        indices, answers, laws, spent = [], [], [], Fraction(0)
        for index, place, draw in passing(values, barrier, [branch.test for branch in rules.branches]):
            branch = rules.branches[place]
            indices.append(index)
            answers.append(branch.answer(barrier.gap(values[index].item(), branch.test, draw)))
            laws.append(branch.law)
            spent += branch.cost
            if rules.stops(spent):
                break
        extras = Extras(
            gaps=[answer.gap for answer in answers if answer.gap is not None],
            answers=answers,
            stopped=rules.stops(spent),
            kept=ex_post(Fraction(self.guarantee.epsilon), rules.first + spent),
            evidence=ThresholdGaps(tuple(laws)),
        )
        if self.measure is None:
            return Outcome(indices, extras, (NOTE,))
        return Outcome(
            indices, self._measured(extras, values[np.array(indices, np.int64)], spent, source), (NOTE, MEASURED)
        )

    def _measured(self, extras: Extras, numbers: Values, spent: Fraction, source: Source) -> Extras:
        """With a fresh measurement of each of these numbers, at the price of all that is left."""
        if not len(numbers):
            return replace(extras, values=[], margins=[])
        scale, whole = self._measuring(len(numbers), spent), numbers.dtype.kind != "f"
        return replace(
            extras,
            values=add_pure_noise(numbers, scale=scale, source=source),
            margins=[pure_margin(scale, whole=whole)] * len(numbers),
            kept=ex_post(Fraction(self.guarantee.epsilon), Fraction(self.guarantee.epsilon)),
        )

    def _measuring(self, answers: int, spent: Fraction) -> Fraction:
        """The scale of the noise on each of so many answers "above", which cost `spent`: n Delta / what is left."""
        largest = Sensitivity.of(self.sensitivity, self.monotone, "add-remove").largest
        return answers * largest / (Fraction(self.guarantee.epsilon) - self.rules.first - spent)

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Draws:
        """Independent runs, for study and audit of public scores: what passed, the gaps, and each answer's branch.

        If adaptive, `chosen` is 0 for an answer by the first and cheapest test, 1 for one by the next, and so on. With
        `measure` the reals are as many gaps, then as many values.
        """
        scores, source = self._validate_public(scores, question), check_source(rng)
        rules = self.rules
        runs = ManyRuns(
            scores.values,
            rules.threshold,
            rules.threshold_scale,
            rules.noise,
            rules.whole,
            tuple(branch.test for branch in rules.branches),
            rules.weights,
            rules.enough,
        )
        indices, gaps, tests = runs.draw(source, check_draws(draws))
        reals = gaps if self.measure is None else self._measured_rows(scores.values, indices, gaps, tests, source)
        return Draws(indices, reals, tests if self._wider else None)

    def _measured_rows(self, numbers: Values, indices: Indices, gaps: Floats, tests: Indices, source: Source) -> Floats:
        """Gaps and values of many runs; those with as many answers at the same price are measured together."""
        rules, values = self.rules, np.full(gaps.shape, np.nan)
        weights = np.array(rules.weights)
        spent = np.where(indices >= 0, weights[np.maximum(tests, 0)], 0).sum(axis=1)
        sizes = np.count_nonzero(indices >= 0, axis=1)
        unit = rules.branches[-1].cost / rules.weights[-1]
        for n, units in {*zip(sizes.tolist(), spent.tolist(), strict=True)} - {(0, 0)}:
            rows = np.flatnonzero((sizes == n) & (spent == units))
            scale = self._measuring(n, units * unit)
            noisy = add_pure_noise(numbers[indices[rows, :n].ravel()], scale=scale, source=source)
            values[rows, :n] = np.array(noisy).reshape(len(rows), n)
        return np.column_stack([gaps, values])

    def probabilities(self, scores: object, **question: Unpack[ScoreWords]) -> dict[tuple[str, ...], float]:
        """P[each sequence of answers], gaps aside: exact, to 1e-9, where there are at most 100,000.

        An answer is "below", or the name of the test that was passed, as in `branch`; a run that stops ends its row.
        """
        return self._law(scores, question).patterns()

    def success_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[every answer is right until the run stops], for public answers: exact, to 1e-9.

        Right is "above" for what is above the threshold, "below" for what is below; exactly at it either is right.
        """
        return self._law(scores, question).right()

    def _law(self, scores: object, question: ScoreWords) -> AnswerLaw:
        return AnswerLaw(self.rules, self._validate_public(scores, question).values.tolist())


def _checked_branches(branches: object) -> tuple[int, ...]:
    """Whole numbers, falling."""
    words = "branches must be whole numbers from 64 to 2, each smaller than the one before: write branches=(8, 4, 2)"
    if isinstance(branches, str | bytes) or not isinstance(branches, Sequence):
        raise TypeError(words)
    if not all(type(one) is int for one in branches):
        raise TypeError(words)
    if list(branches) != sorted(set(branches), reverse=True) or not all(2 <= one <= WIDEST for one in branches):
        raise ValueError(words)
    return tuple(branches)


def least_variance_share(c: Fraction) -> float:
    """theta = 1 / (1 + c^(2/3)): the threshold's share with the least variance 1 / theta^2 + c^2 / (1 - theta)^2."""
    if c > 2**100:
        raise ValueError("k is too large for a threshold to get a share of epsilon; choose a smaller k or give theta=")
    return 1 / (1 + math.pow(c, 2 / 3))


def centre_and_cut(
    noise: GapNoise, below: Fraction, scale: Fraction, deviations: Fraction
) -> tuple[Fraction, Fraction]:
    """The difference of the noises' means and so many deviations of the question's; whole for geometric noise."""
    if noise == "geometric":
        mean, other = (geometric_mean(to_float(1 / one)) for one in (scale, below))
        if not mean * mean + other < math.inf:
            raise ValueError("epsilon is too small for geometric noise of a size that floats can hold")
        return Fraction(round(mean - other)), Fraction(math.ceil(deviations * math.sqrt(mean * (1 + mean))))
    if noise == "laplace":
        return Fraction(0), deviations * Fraction(math.sqrt(2)) * scale
    return scale - below, deviations * scale


def gap_law(noise: GapNoise, threshold: int | float, below: Fraction, scale: Fraction, centre: Fraction) -> GapLaw:
    """What a gap says, in floats."""
    whole = to_float(centre) if noise == "geometric" else 0.0
    return GapLaw(noise, threshold, to_float(1 / scale), to_float(1 / below), whole)


ENDED = "the threshold ended the list: the last gap is the lead over the threshold, noise included"
ESTIMATED = (
    "values are the threshold and the lead over it, with margins of the noise as it was drawn; whoever is there "
    "because its noise was large is estimated too high"
)
FULL = "the list is full: the last gap is the lead over whoever came next, the threshold or a loser"


@described
class HybridTopK(Budgeted[PureDP]):
    """Top-k with gaps in which the threshold runs as well: the list ends where the threshold finishes, or after k.

    Promise: epsilon-DP. Items and threshold get exponential noise of scale k R / epsilon. A list of n items that the
    threshold ended has log ratios of at most (n + Delta / R) epsilon / k, a full one of at most epsilon: `cost`. That
    is a statement about one outcome; the mechanism is epsilon-DP and nothing less.

    Where the threshold ended the list the gaps give estimates, free: `values` with `margins`, `lower_bound`, and
    `refine` knows the threshold too (Theorem 253). Of a full list there are no values. With `largest=False` it is the
    smallest below the threshold that are released, with `upper_bound`.

    Parameters
    ----------
    threshold
        A public number; the list ends where it is reached.
    k
        How many items at most.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`, the only kind there is for it.
    work
        `"adaptive"` is fast; `"fixed"` draws noise for every candidate, whatever the scores are.

    Examples
    --------
    >>> release = HybridTopK(threshold=1000, k=3, epsilon=1.0).release([9000, 5000, 20, 7], monotone=True)
    >>> release.indices, release.stopped, round(release.cost, 6)
    ([0, 1], True, 1.0)
    """

    threshold: int | float
    k: int
    epsilon: InitVar[float | None] = None
    budget: Guarantee = MISSING
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/hybrids.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None) -> None:
        _store(self, "hybrid top-k", epsilon)

    @property
    def name(self) -> str:
        return f"hybrid top-{self.k} with gaps and a threshold"

    @property
    def refundable(self) -> tuple[Currency, ...]:
        return ("pure",)

    @property
    def ordered(self) -> bool:
        return True

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, 1)

    def _scale(self, scores: Scores) -> Fraction:
        """k R / epsilon, exactly."""
        return self.k * scores.range_sensitivity / Fraction(self.guarantee.epsilon)

    def _line(self, scores: Scores) -> Runner:
        return Runner(Fraction(_threshold(self, scores)), self._scale(scores), EXPONENTIAL)

    def _cost(self, scores: Scores, count: int) -> Fraction:
        """What a list of so many items costs: the threshold ended it if they are fewer than k."""
        relative = scores.largest_sensitivity / scores.range_sensitivity
        return (count + relative if count < self.k else Fraction(self.k)) * Fraction(self.guarantee.epsilon) / self.k

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        scale = self._scale(scores)
        indices, finishes = _best(scores, self.k + 1, scale, source, self.work)
        line = self._line(scores).draw(source)
        above = how_many_above(finishes, line)
        stopped = above < self.k
        count = min(above, self.k)
        chain = [*finishes[:above], line, *finishes[above:]][: count + 1]
        gaps = [_lead(one, two) for one, two in pairwise(chain)]
        extras = Extras(
            gaps=gaps,
            stopped=stopped,
            kept=ex_post(Fraction(self.guarantee.epsilon), self._cost(scores, count)),
            evidence=ChainedGaps(to_float(scale)),
        )
        if not stopped:
            return Outcome(indices[:count], extras, notes=(FULL,))
        evidence = EndedGaps(gap_law("exponential", _threshold(self, scores), scale, scale, Fraction(0)))
        margins = [laplace_margin(scale)] * count
        extras = replace(extras, evidence=evidence, values=evidence.estimates(gaps), margins=margins)
        return Outcome(indices[:count], extras, notes=(ENDED, _estimated(scores)))

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Draws:
        """The positions and gaps of independent draws, one row each, for study and audit of public scores."""
        scores = self._validate_public(scores, question)
        field = Field(scores.values, self.k + 1, self._scale(scores), EXPONENTIAL, self._line(scores))
        races = field.races(check_draws(draws), check_source(rng))
        return Draws.of_rows(_cut(rows, rows.gaps(), self.k) for rows in races)

    probabilities = laws.probabilities
    success_probability = laws.success_probability
    quality = laws.quality
    inclusion_probabilities = laws.inclusion_probabilities
    number_released = laws.number_released

    def _law(self, scores: Scores) -> LineRace:
        return laws.race_of(scores, _threshold(self, scores), self.k, self._scale(scores), self._line(scores))


@described
class HybridSparseVector(Budgeted[PureDP]):
    """The items above a noisy threshold, the k largest at most, each with its gap to the threshold.

    Promise: epsilon-DP. The threshold gets centred exponential noise of scale Delta / e0, every item of scale R / e1;
    e0 = theta epsilon, e1 = (1 - theta) epsilon / k. An outcome of n items has log ratios of at most e0 + n e1: `cost`.
    That is a statement about one outcome; the mechanism is epsilon-DP and nothing less. The gaps give estimates,
    free: `values` with `margins`, `lower_bound` and `refine`. With `largest=False` it is the items below the threshold,
    the k smallest at most, with `upper_bound`.

    Parameters
    ----------
    threshold
        A public number.
    k
        How many items at most.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`, the only kind there is for it.
    theta
        The share of epsilon for the threshold, between 0 and 1; None is the best one for the noise of the gaps.
    work
        `"adaptive"` is fast; `"fixed"` draws noise for every candidate, whatever the scores are.

    Examples
    --------
    >>> release = HybridSparseVector(threshold=1000, k=3, epsilon=1.0).release([9000, 20, 5000, 7], monotone=True)
    >>> release.indices, release.cost < 1.0
    ([0, 2], True)
    """

    threshold: int | float
    k: int
    epsilon: InitVar[float | None] = None
    budget: Guarantee = MISSING
    theta: float | None = None
    work: Work = "adaptive"

    proof: ClassVar[str] = "docs/mechanisms/hybrids.md#proof"
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None) -> None:
        _store(self, "hybrid sparse vector", epsilon)
        if self.theta is not None:
            number("theta", self.theta, above=True, below=1.0)

    @property
    def name(self) -> str:
        return f"hybrid sparse vector, at most {self.k}"

    @property
    def refundable(self) -> tuple[Currency, ...]:
        return ("pure",)

    @property
    def ordered(self) -> bool:
        return True

    def _check(self, scores: Scores) -> None:
        check_known_candidates(scores, 1)

    def shares(self, scores: Scores) -> tuple[Fraction, Fraction]:
        """(e0, e1), exactly: what the threshold costs, and each item."""
        epsilon, relative = Fraction(self.guarantee.epsilon), scores.range_sensitivity / scores.largest_sensitivity
        share = Fraction(least_variance_share(self.k * relative) if self.theta is None else self.theta)
        return share * epsilon, (1 - share) * epsilon / self.k

    def _scales(self, scores: Scores) -> tuple[Fraction, Fraction]:
        """Of the threshold's noise, and of each item's."""
        first, each = self.shares(scores)
        return scores.largest_sensitivity / first, scores.range_sensitivity / each

    def _line(self, scores: Scores) -> Runner:
        """The threshold, noise centred on both sides."""
        below, scale = self._scales(scores)
        return Runner(Fraction(_threshold(self, scores)) + scale - below, below, EXPONENTIAL)

    def _cost(self, scores: Scores, count: int) -> Fraction:
        """What an outcome of so many items costs."""
        first, each = self.shares(scores)
        return first + count * each

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        below, scale = self._scales(scores)
        indices, finishes = _best(scores, self.k, scale, source, self.work)
        line = self._line(scores).draw(source)
        count = how_many_above(finishes, line)
        lead = gap_law("exponential", _threshold(self, scores), below, scale, Fraction(0))
        gaps, evidence = [_lead(one, line) for one in finishes[:count]], ThresholdGaps((lead,) * count)
        extras = Extras(
            gaps=gaps,
            values=evidence.estimates(gaps),
            margins=[lead.margin] * count,
            stopped=count < self.k,
            kept=ex_post(Fraction(self.guarantee.epsilon), self._cost(scores, count)),
            evidence=evidence,
        )
        return Outcome(indices[:count], extras, notes=(_estimated(scores),))

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Draws:
        """The positions and gaps of independent draws, one row each, for study and audit of public scores."""
        scores = self._validate_public(scores, question)
        field = Field(scores.values, self.k + 1, self._scales(scores)[1], EXPONENTIAL, self._line(scores))
        races = field.races(check_draws(draws), check_source(rng))
        return Draws.of_rows(_cut(rows, rows.leads(), self.k) for rows in races)

    probabilities = laws.probabilities
    success_probability = laws.success_probability
    quality = laws.quality
    inclusion_probabilities = laws.inclusion_probabilities
    number_released = laws.number_released

    def _law(self, scores: Scores) -> LineRace:
        return laws.race_of(scores, _threshold(self, scores), self.k, self._scales(scores)[1], self._line(scores))


def _store(mechanism: HybridTopK | HybridSparseVector, what: str, epsilon: float | None) -> None:
    object.__setattr__(mechanism, "threshold", check_threshold(mechanism.threshold))
    object.__setattr__(mechanism, "k", check_k(mechanism.k))
    mechanism._pay(check_pure_budget(what, epsilon, mechanism.budget))
    check_work(mechanism.work)


def _threshold(mechanism: HybridTopK | HybridSparseVector, scores: Scores) -> int | float:
    """The public number, negated as the scores were: of the smallest, those below it are wanted."""
    return -mechanism.threshold if scores._negated else mechanism.threshold


def _estimated(scores: Scores) -> str:
    if not scores._negated:
        return ESTIMATED
    return ESTIMATED.replace("and the lead", "less the lead").replace("was large", "was low").replace("high", "low")


def _best(scores: Scores, most: int, scale: Fraction, source: Source, work: Work) -> tuple[list[int], list[NoisyScore]]:
    """The largest noisy scores, `most` of them or all there are."""
    values = scores._numbers
    finish = race(values, k=min(most, scores._choosable), scale=scale, noise=EXPONENTIAL, source=source, work=work)
    return [int(i) for i in finish.indices], finish.finishes()


def _cut(rows: Rows, gaps: Floats, k: int) -> tuple[Indices, Floats]:
    """The k winners and their gaps, as far as the threshold lets them."""
    ahead = rows.ahead()
    return pad_rows(rows.indices, ahead, k, LINE), pad_rows(gaps, ahead, k, np.nan)


def _lead(one: NoisyScore, two: NoisyScore) -> float:
    return nearest_float(one.minus(two))
