"""Answers over a threshold: the sparse vector technique, and hybrids with a noisy maximum."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import InitVar, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from threading import RLock
from typing import ClassVar, Literal, NoReturn, Self, Unpack

import numpy as np

from shortlist._arrays import check_flag
from shortlist._runtime import set_fields, this_process
from shortlist.accounting.curves import up
from shortlist.accounting.guarantees import number
from shortlist.errors import bad_type, bad_value
from shortlist.exact.noise import EXPONENTIAL, LAPLACE, Noise
from shortlist.exact.reals import NoisyScore, nearest_float, to_float
from shortlist.ledger.filter import Currency, relation_of
from shortlist.ledger.ledger import Reservation
from shortlist.mechanisms import base, utility
from shortlist.mechanisms.utility import estimates
from shortlist.privacy import ExPost, Guarantee, Ledger, PureDP
from shortlist.release import Extras
from shortlist.sampling import race
from shortlist.sampling.entropy import Source
from shortlist.sampling.thresholds import Barrier, Branch, Questions, Rules, Test, add_pure_noise, passing
from shortlist.scores import Number, QuestionOptions, Scores, Sensitivity, as_scores

__all__ = ["HybridSparseVector", "HybridTopK", "SparseVector"]

NOTE = "in the order of the questions; gaps are to the threshold, noise included; lower_bound(confidence) has a caveat"
MEASURED = (
    "each value is a fresh measurement, and its margin holds whatever was above; refine(values, variance=error**2) "
    "adds what the gaps say, but is too high on average for items that were above because of their noise"
)
MIXED = "answers must be all whole numbers or all floats; convert them, for example with float()"
KINDS: dict[str, Noise] = {"exponential": EXPONENTIAL, "laplace": LAPLACE, "geometric": EXPONENTIAL}


class Stream:
    """Answers in order; made by `SparseVector.stream`.

    It holds the noise of its threshold, so it cannot be copied, pickled or used in a forked child. When the budget for
    "above" is used up, when its values end or fail, or by `close` (or leaving a `with` block), it stops: the noise is
    forgotten, no further question is answered, and a ledger takes back what was not used. `cost` stays readable.
    """

    __slots__ = ("_barrier", "_kind", "_lock", "_process", "_questions", "_reservation", "_rules", "_spent", "_values")

    def __init__(
        self,
        rules: Rules,
        values: Iterator[int | float],
        source: Source,
        reservation: Reservation | None = None,
    ) -> None:
        self._values = values
        self._rules = rules
        self._barrier: Barrier | None = rules.barrier(source)
        self._questions = [(branch, Questions(self._barrier, branch.test)) for branch in rules.branches]
        self._spent: Fraction | None = None
        self._kind: type | None = int if rules.whole else None
        self._reservation = reservation
        self._lock = RLock()  # a caller's generator may close its own stream
        self._process = this_process()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> estimates.Answer:
        if self._barrier is None:
            raise StopIteration
        self._check_process()
        try:
            value = next(self._values)
        except BaseException:  # the end of the values, or their failure
            self.close()
            raise
        return self.ask(value)

    def ask(self, value: int | float) -> estimates.Answer:
        """The answer to one question.

        Raises
        ------
        TypeError, ValueError
            before it is used, for what is no finite number, or of another kind than those before.
        RuntimeError
            if the stream has stopped, or belongs to another process.
        """
        self._check_process()
        with self._lock:
            if self._barrier is None:
                raise RuntimeError("this stream has stopped and answers no further question; start another one")
            question = self._check(value)
            try:
                return self._answer(question, self._barrier)
            except BaseException:  # interrupted: charge for the answer that was not given
                self._charge(self._rules.each)
                self._stop()
                raise

    def _answer(self, value: int | float, barrier: Barrier) -> estimates.Answer:
        self._charge(Fraction(0))
        for branch, questions in self._questions:
            draw = questions.ask(value)
            if draw is not None:
                answer = _answer(branch, barrier.gap(value, branch.test, draw))
                if self._rules.stops(self._charge(branch.cost)):
                    self._stop()
                return answer
        return estimates.BELOW

    def _charge(self, cost: Fraction) -> Fraction:
        self._spent = cost + (self._spent or 0)
        return self._spent

    def _check(self, value: object) -> int | float:
        number: object = value.item() if isinstance(value, np.generic) else value
        kind = type(number)
        if not isinstance(number, int | float) or kind not in (int, float):
            raise TypeError("answers must be whole numbers or floats, one at a time")
        if self._kind not in (None, kind):
            raise TypeError("geometric noise is for whole numbers: give integers" if self._rules.whole else MIXED)
        if kind is float and not -math.inf < number < math.inf:
            raise ValueError("answers must be finite: neither NaN nor an infinity; decide beforehand what those mean")
        self._kind = kind
        # clamped to 64 bits, which moves no answer further than one user moves it: to refuse it would tell of it
        return max(-(2**63), min(number, 2**63 - 1)) if kind is int else number

    def _check_process(self) -> None:
        if self._process is not this_process():
            raise RuntimeError("this stream belongs to the process that was forked: its noise must not be used twice")

    def close(self) -> None:
        """Stop: forget the threshold's noise, and give back to the ledger what was not used."""
        self._check_process()
        with self._lock:
            self._stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _stop(self) -> None:
        """With the lock held, so that no answer is under way."""
        self._barrier = None
        self._questions = []
        self._values = iter(())
        reservation, self._reservation = self._reservation, None
        if reservation is not None:
            base.refund(reservation, self.kept)

    @property
    def stopped(self) -> bool:
        """Whether it has stopped."""
        return self._barrier is None

    @property
    def kept(self) -> ExPost:
        """What the answers so far have cost, for a ledger that reserved epsilon."""
        spent = self._spent
        return ex_post(self._rules.epsilon, Fraction(0) if spent is None else self._rules.first + spent)

    @property
    def cost(self) -> float:
        """e0 + the costs of the answers, rounded up; 0 before the first question."""
        return self.kept.cost

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a stream holds the noise of its threshold: it cannot be copied or pickled")

    def __repr__(self) -> str:
        return f"<Stream, {'stopped' if self.stopped else 'open'}, cost {self.cost:.6g}>"


def _answer(branch: Branch, gap: float) -> estimates.Answer:
    """Return the answer "above" by this test."""
    return estimates.Answer(True, gap, up(branch.cost), branch.name, branch.law)


def ex_post(epsilon: Fraction, cost: Fraction) -> ExPost:
    """The cost rounded up, epsilon at most: an exact cost never exceeds it."""
    return ExPost(float(epsilon), min(up(cost), float(epsilon)))


@base.mechanism_class
class SparseVector(base.Budgeted[PureDP]):
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
    budget: Guarantee = base.MISSING
    adaptive: bool = False
    branches: Sequence[int] = ()
    deviations: float = 2.0
    noise: Literal["exponential", "laplace", "geometric"] = "exponential"
    theta: float | None = None
    sensitivity: Number | tuple[Number, Number] = 1.0
    monotone: bool = False
    measure: float | None = None

    proof: ClassVar[str] = "docs/mechanisms/sparse-vector.md#proof"
    later: ClassVar[tuple[tuple[str, ...], ...]] = (("branches", "deviations"), ("measure",))
    largest_only: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None) -> None:
        set_fields(
            self,
            threshold=base.check_threshold(self.threshold),
            k=base.check_k(self.k),
            budget=base.check_pure_budget("sparse vector with gaps", epsilon, self.budget),
            branches=_check_branches(self.branches),
        )
        check_flag("adaptive", self.adaptive)
        number("deviations", self.deviations)
        check_flag("monotone", self.monotone)
        self._moves  # noqa: B018 (it checks the sensitivity)
        if isinstance(self.sensitivity, Sequence):
            set_fields(self, sensitivity=tuple(self.sensitivity))
        if not isinstance(self.noise, str) or self.noise not in KINDS:
            raise ValueError(f"noise must be one of {', '.join(map(repr, KINDS))}")
        if self.noise == "geometric" and not isinstance(self.threshold, int):
            raise TypeError("geometric noise is for whole numbers: write a whole threshold, such as threshold=100")
        for share in ("theta", "measure"):
            if getattr(self, share) is not None:
                number(share, getattr(self, share), above=True, below=1.0)
        self.rules  # noqa: B018 (it checks that the numbers are not too extreme)

    @property
    def name(self) -> str:
        tests = f" and {len(self.branches) + 1} tests" if self.branches else ""
        measured = ", measured" if self.measure is not None else ""
        return f"{'adaptive ' * bool(self._wider)}sparse vector with {self.noise} noise{tests}{measured}"

    refundable: ClassVar[tuple[Currency, ...]] = ("pure",)

    @property
    @lru_cache  # noqa: B019 (of equal mechanisms they are the same)
    def rules(self) -> Rules:
        """The exact numbers behind the promise of answers and gaps: all of them public."""
        epsilon = (1 - Fraction(self.measure or 0)) * Fraction(self.guarantee.epsilon)
        largest, spread = self._moves.largest, self._moves.range
        wide = max(self._wider, default=1)
        share = Fraction(least_variance_share(wide * self.k * spread / largest) if self.theta is None else self.theta)
        first, each = share * epsilon, (1 - share) * epsilon / self.k
        below, branches = largest / first, []
        for part in [*(Fraction(1, times) for times in self._wider), Fraction(1)]:
            scale, deviations = spread / (part * each), self.deviations if part < 1 else 0
            centre, cut = centre_and_cut(self.noise, below, scale, Fraction(deviations))
            name = "middle" if part == 1 else (str(part) if self.branches else "top")
            law = gap_law(self.noise, self.threshold, below, scale, centre)
            branches.append(Branch(name, Test(KINDS[self.noise], scale, centre, cut), part * each, law))
        whole = self.noise == "geometric"
        return Rules(self.threshold, below, KINDS[self.noise], whole, epsilon, first, each, tuple(branches))

    @property
    def _wider(self) -> Sequence[int]:
        """How many times wider the noise of each cheaper test is."""
        return self.branches or ((2,) if self.adaptive else ())

    @property
    def _moves(self) -> Sensitivity:
        return Sensitivity.of(self.sensitivity, self.monotone, "add-remove")

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
        source, questions = base.check_source(rng), iter(() if values is None else values)
        base.check_ledger(ledger)
        terms, facts = (self.guarantee, self.charge), base.ledger_note("", secure=source.secure)
        if not isinstance(unit, str):
            raise bad_type('$unit must be text: write $unit="person", for example')
        if not (relation := relation_of(unit)):
            unit = f"{unit} (add-remove)"
        elif relation == "replace" and (self.monotone or isinstance(self.sensitivity, tuple | list)):
            raise bad_value('$unit must not end with "(replace)" if $monotone=True or the sensitivity is a pair')
        return Stream(self.rules, questions, source, self._reserve(ledger, terms, purpose, unit, facts))

    def _question(self, scores: object, question: QuestionOptions) -> Scores:
        if isinstance(scores, Scores):
            scores = as_scores(scores, **question)
            if (scores.largest_sensitivity, scores.range_sensitivity) != (self._moves.largest, self._moves.range):
                raise ValueError("sensitivity and monotone of the Scores differ from those of the mechanism")
            return scores
        if isinstance(scores, list | tuple) and len({isinstance(one, int | np.integer) for one in scores}) > 1:
            raise TypeError(MIXED)
        twice = ", ".join(question.keys() & {"sensitivity", "monotone"})
        if twice:
            raise TypeError(f"{twice}: already said by the mechanism; give it there")
        words: QuestionOptions = {**question, "sensitivity": self.sensitivity, "monotone": self.monotone}
        return as_scores(scores, **words)

    def _check(self, scores: Scores) -> None:
        base.check_known_candidates(scores, 1)
        if self.noise == "geometric" and scores._numbers.dtype.kind == "f":
            raise TypeError("geometric noise is for whole numbers: give integers")

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        """The law of `stream` over the same values, without drawing for those far below the threshold."""
        rules, values, epsilon = self.rules, scores._numbers, Fraction(self.guarantee.epsilon)
        barrier = rules.barrier(source)
        indices, gaps, branches, spent = [], [], [], Fraction(0)
        for index, place, draw in passing(values, barrier, [branch.test for branch in rules.branches]):
            branch = rules.branches[place]
            indices.append(index)
            gaps.append(barrier.gap(values[index].item(), branch.test, draw))
            branches.append(branch)
            spent += branch.cost
            if rules.stops(spent):
                break
        kept, measured, margins = rules.first + spent, list[float](), list[estimates.Margin]()
        if self.measure is not None and indices:
            scale, kept = self._measuring(len(indices), spent), epsilon  # all that was left pays for it
            measured = add_pure_noise(values[indices], scale=scale, source=source)
            margins = [estimates.pure_margin(scale, whole=values.dtype.kind != "f")] * len(indices)
        extras = Extras(
            gaps=gaps,
            answers=[_answer(branch, gap) for branch, gap in zip(branches, gaps, strict=True)],
            stopped=rules.stops(spent),
            kept=ex_post(epsilon, kept),
            evidence=estimates.ThresholdGaps(tuple(branch.law for branch in branches)),
        )
        if self.measure is None:
            return base.Outcome(indices, extras, (NOTE,))
        return base.Outcome(indices, replace(extras, values=measured, margins=margins), (NOTE, MEASURED))

    def _way(self, outcome: base.Outcome) -> list[int] | None:
        """The test that each answer passed, if there are several: 0 for the first and cheapest, 1 for the next."""
        names = [branch.name for branch in self.rules.branches]
        return [names.index(one.branch) for one in outcome.extras.answers or ()] if self._wider else None

    def _measuring(self, answers: int, spent: Fraction) -> Fraction:
        """The scale of the noise on each of so many answers "above", which cost `spent`: n Delta / what is left."""
        return answers * self._moves.largest / (Fraction(self.guarantee.epsilon) - self.rules.first - spent)

    def probabilities(self, scores: object, **question: Unpack[QuestionOptions]) -> dict[tuple[str, ...], float]:
        """P[each sequence of answers], gaps aside: exact, to 1e-9, where there are at most 100,000.

        An answer is "below", or the name of the test that was passed, as in `branch`; a run that stops ends its row.
        """
        return utility.probabilities(self, scores, **question)

    def success_probability(self, scores: object, **question: Unpack[QuestionOptions]) -> float:
        """P[every answer is right until the run stops], for public answers: exact, to 1e-9.

        Right is "above" for what is above the threshold, "below" for what is below; exactly at it either is right.
        """
        return utility.success_probability(self, scores, **question)


def _check_branches(branches: object) -> tuple[int, ...]:
    """Whole numbers, falling."""
    words = "branches must be whole numbers from 64 to 2, each smaller than the one before: write branches=(8, 4, 2)"
    if isinstance(branches, str | bytes) or not isinstance(branches, Sequence):
        raise TypeError(words)
    if not all(type(one) is int for one in branches):
        raise TypeError(words)
    if list(branches) != sorted({one for one in branches if 2 <= one <= estimates.WIDEST}, reverse=True):
        raise ValueError(words)
    return tuple(branches)


def least_variance_share(c: Fraction) -> float:
    """theta = 1 / (1 + c^(2/3)): the threshold's share with the least variance 1 / theta^2 + c^2 / (1 - theta)^2."""
    if c > 2**100:
        raise ValueError("k is too large for a threshold to get a share of epsilon; choose a smaller k or give theta=")
    return 1 / (1 + math.pow(c, 2 / 3))


def centre_and_cut(
    noise: estimates.GapNoise, below: Fraction, scale: Fraction, deviations: Fraction
) -> tuple[Fraction, Fraction]:
    """The difference of the noises' means and so many deviations of the question's; whole for geometric noise."""
    if noise == "geometric":
        mean, other = (estimates.geometric_mean(to_float(1 / one)) for one in (scale, below))
        if not mean * mean + other < math.inf:
            raise ValueError("epsilon is too small for geometric noise of a size that floats can hold")
        return Fraction(round(mean - other)), Fraction(math.ceil(deviations * math.sqrt(mean * (1 + mean))))
    if noise == "laplace":
        return Fraction(0), deviations * Fraction(math.sqrt(2)) * scale
    return scale - below, deviations * scale


def gap_law(
    noise: estimates.GapNoise, threshold: int | float, below: Fraction, scale: Fraction, centre: Fraction
) -> estimates.GapLaw:
    """What a gap says, in floats."""
    whole = to_float(centre) if noise == "geometric" else 0.0
    return estimates.GapLaw(noise, threshold, to_float(1 / scale), to_float(1 / below), whole)


ENDED = "the threshold ended the list: the last gap is the lead over the threshold, noise included"
ESTIMATED = (
    "values are the threshold and the lead over it, with margins of the noise as it was drawn; whoever is there "
    "because its noise was large is estimated too high"
)
FULL = "the list is full: the last gap is the lead over whoever came next, the threshold or a loser"


class _Hybrid(base.Budgeted[PureDP]):
    """At most k items of a public list in a noisy order, as far as a noisy threshold lets them."""

    __slots__ = ()

    threshold: int | float
    k: int
    work: race.Work

    proof: ClassVar[str] = "docs/mechanisms/hybrids.md#proof"
    exchangeable: ClassVar[bool] = True
    family: ClassVar[str]

    def __post_init__(self, epsilon: float | None) -> None:
        budget = base.check_pure_budget(self.family, epsilon, self.budget)
        set_fields(self, threshold=base.check_threshold(self.threshold), k=base.check_k(self.k), budget=budget)
        base.check_work(self.work)

    refundable: ClassVar[tuple[Currency, ...]] = ("pure",)

    def _check(self, scores: Scores) -> None:
        base.check_known_candidates(scores, 1)

    def _scales(self, scores: Scores) -> tuple[Fraction, Fraction]:
        """Return the scale of the threshold's noise, and that of each item's."""
        raise NotImplementedError

    def _level(self, scores: Scores) -> int | float:
        """Return the threshold, negated as the scores were: of the smallest, those below it are wanted."""
        return -self.threshold if scores._negated else self.threshold

    def _line(self, scores: Scores) -> race.Runner:
        """Return the threshold with its noise, which has the mean of an item's noise."""
        below, scale = self._scales(scores)
        return race.Runner(Fraction(self._level(scores)) + scale - below, below, EXPONENTIAL)

    def _lead_law(self, scores: Scores) -> estimates.GapLaw:
        """Return what the lead of an item over the threshold says."""
        return gap_law("exponential", self._level(scores), *self._scales(scores), Fraction(0))

    def _race(self, scores: Scores, most: int, source: Source) -> tuple[list[int], list[NoisyScore], NoisyScore]:
        """Return the `most` items with the largest noisy scores, or all, their finishes, and the threshold's."""
        finish = race.race(
            scores._numbers,
            k=min(most, scores._choosable),
            scale=self._scales(scores)[1],
            noise=EXPONENTIAL,
            source=source,
            work=self.work,
        )
        return [int(i) for i in finish.indices], finish.finishes(), self._line(scores).draw(source)

    def _cost(self, scores: Scores, count: int) -> Fraction:
        """Return what an outcome of this many items costs."""
        raise NotImplementedError

    def _ex_post(self, scores: Scores, count: int) -> ExPost:
        return ex_post(Fraction(self.guarantee.epsilon), self._cost(scores, count))

    probabilities = utility.probabilities
    quality = utility.quality
    inclusion_probabilities = utility.inclusion_probabilities
    number_released = utility.number_released

    def success_probability(self, scores: object, **question: Unpack[QuestionOptions]) -> float:
        """P[released are the k best of those above the threshold, or all of these if they are fewer]: exact, to 1e-9.

        Equal scores count as equal, and whoever is exactly at the threshold may be released or not.
        """
        return utility.success_probability(self, scores, **question)


@base.mechanism_class
class HybridTopK(_Hybrid):
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
    budget: Guarantee = base.MISSING
    work: race.Work = "adaptive"

    family: ClassVar[str] = "hybrid top-k"
    title: ClassVar[str] = "hybrid top-{0.k} with gaps and a threshold"

    def _scales(self, scores: Scores) -> tuple[Fraction, Fraction]:
        """k R / epsilon for both, exactly."""
        scale = self.k * scores.range_sensitivity / Fraction(self.guarantee.epsilon)
        return scale, scale

    def _cost(self, scores: Scores, count: int) -> Fraction:
        """What a list of so many items costs: the threshold ended it if they are fewer than k."""
        relative = scores.largest_sensitivity / scores.range_sensitivity
        return (count + relative if count < self.k else Fraction(self.k)) * Fraction(self.guarantee.epsilon) / self.k

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        indices, finishes, line = self._race(scores, self.k + 1, source)
        above = race.how_many_above(finishes, line)
        count = min(above, self.k)
        chain = [*finishes[:above], line, *finishes[above:]][: count + 1]
        gaps = [nearest_float(one.minus(two)) for one, two in pairwise(chain)]
        scale, kept = self._scales(scores)[1], self._ex_post(scores, count)
        if above >= self.k:
            full = Extras(gaps=gaps, stopped=False, kept=kept, evidence=estimates.ChainedGaps(to_float(scale)))
            return base.Outcome(indices[:count], full, (FULL,))
        ended = estimates.EndedGaps(self._lead_law(scores))
        extras = Extras(
            gaps=gaps,
            values=ended.estimates(gaps),
            margins=[estimates.laplace_margin(scale)] * count,
            stopped=True,
            kept=kept,
            evidence=ended,
        )
        return base.Outcome(indices[:count], extras, (ENDED, _describe_estimates(scores)))


@base.mechanism_class
class HybridSparseVector(_Hybrid):
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
    budget: Guarantee = base.MISSING
    theta: float | None = None
    work: race.Work = "adaptive"

    family: ClassVar[str] = "hybrid sparse vector"
    title: ClassVar[str] = "hybrid sparse vector, at most {0.k}"

    def __post_init__(self, epsilon: float | None) -> None:
        _Hybrid.__post_init__(self, epsilon)
        if self.theta is not None:
            number("theta", self.theta, above=True, below=1.0)

    def shares(self, scores: Scores) -> tuple[Fraction, Fraction]:
        """(e0, e1), exactly: what the threshold costs, and each item."""
        epsilon, relative = Fraction(self.guarantee.epsilon), scores.range_sensitivity / scores.largest_sensitivity
        share = Fraction(least_variance_share(self.k * relative) if self.theta is None else self.theta)
        return share * epsilon, (1 - share) * epsilon / self.k

    def _scales(self, scores: Scores) -> tuple[Fraction, Fraction]:
        first, each = self.shares(scores)
        return scores.largest_sensitivity / first, scores.range_sensitivity / each

    def _cost(self, scores: Scores, count: int) -> Fraction:
        first, each = self.shares(scores)
        return first + count * each

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        indices, finishes, line = self._race(scores, self.k, source)
        count, lead = race.how_many_above(finishes, line), self._lead_law(scores)
        gaps = [nearest_float(one.minus(line)) for one in finishes[:count]]
        evidence = estimates.ThresholdGaps((lead,) * count)
        extras = Extras(
            gaps=gaps,
            values=evidence.estimates(gaps),
            margins=[lead.margin] * count,
            stopped=count < self.k,
            kept=self._ex_post(scores, count),
            evidence=evidence,
        )
        return base.Outcome(indices[:count], extras, (_describe_estimates(scores),))


def _describe_estimates(scores: Scores) -> str:
    if not scores._negated:
        return ESTIMATED
    return ESTIMATED.replace("and the lead", "less the lead").replace("was large", "was low").replace("high", "low")
