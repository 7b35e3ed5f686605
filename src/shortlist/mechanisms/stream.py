"""A live run of the sparse vector: one question at a time, one threshold noise, and an end."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from threading import RLock
from typing import NoReturn, Self

import numpy as np

from shortlist._runtime import this_process
from shortlist.accounting.checks import up
from shortlist.estimates import BELOW, Answer, GapLaw
from shortlist.exact.noise import Noise
from shortlist.ledger.ledger import Reservation
from shortlist.mechanisms.base import refund
from shortlist.privacy import ExPost
from shortlist.sampling.entropy import Source
from shortlist.sampling.thresholds import Barrier, Questions, Test


@dataclass(frozen=True, slots=True)
class Branch:
    """One test of a question: its name, what "above" costs there, and what the gap says."""

    name: str
    test: Test
    cost: Fraction
    law: GapLaw

    def answer(self, gap: float) -> Answer:
        """The answer "above" by this test."""
        return Answer(True, gap, up(self.cost), self.name, self.law)


@dataclass(frozen=True, slots=True)
class Rules:
    """The exact numbers of a run. `first` (e0) pays for the threshold, `each` (e1) for the dearest answer "above"."""

    threshold: int | float
    threshold_scale: Fraction
    noise: Noise
    whole: bool
    epsilon: Fraction
    first: Fraction
    each: Fraction
    branches: tuple[Branch, ...]

    def stops(self, spent: Fraction) -> bool:
        """Whether another answer "above" might not be paid for, after `spent` on those given."""
        return self.first + spent + self.each > self.epsilon

    @property
    def weights(self) -> tuple[int, ...]:
        """What "above" costs in each branch, in the largest units that make whole numbers of all of them."""
        return tuple(int(branch.cost / self._unit) for branch in self.branches)

    @property
    def _unit(self) -> Fraction:
        parts = [branch.cost / self.each for branch in self.branches]
        return self.each / math.lcm(*(part.denominator for part in parts))

    @property
    def enough(self) -> int:
        """The run stops when it has spent so many units."""
        return math.floor((self.epsilon - self.first - self.each) / self._unit) + 1


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
        self._barrier: Barrier | None = Barrier(
            rules.threshold, rules.threshold_scale, rules.noise, source, whole=rules.whole
        )
        self._questions = [(branch, Questions(self._barrier, branch.test)) for branch in rules.branches]
        self._spent: Fraction | None = None
        self._kind: type | None = int if rules.whole else None
        self._reservation = reservation
        self._lock = RLock()  # a caller's generator may close its own stream
        self._process = this_process()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Answer:
        if self._barrier is None:
            raise StopIteration
        self._check_process()
        try:
            value = next(self._values)
        except BaseException:  # the end of the values, or their failure
            self.close()
            raise
        return self.ask(value)

    def ask(self, value: int | float) -> Answer:
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
            question = self._checked(value)
            try:
                return self._answer(question, self._barrier)
            except BaseException:  # interrupted: charge for the answer that was not given
                self._charge(self._rules.each)
                self._stop()
                raise

    def _answer(self, value: int | float, barrier: Barrier) -> Answer:
        if self._spent is None:
            self._spent = Fraction(0)
        for branch, questions in self._questions:
            draw = questions.ask(value)
            if draw is not None:
                answer = branch.answer(barrier.gap(value, branch.test, draw))
                if self._rules.stops(self._charge(branch.cost)):
                    self._stop()
                return answer
        return BELOW

    def _charge(self, cost: Fraction) -> Fraction:
        self._spent = cost + (self._spent or 0)
        return self._spent

    def _checked(self, value: object) -> int | float:
        number: object = value.item() if isinstance(value, np.generic) else value
        kind = type(number)
        if not isinstance(number, int | float) or kind not in (int, float):
            raise TypeError("answers must be whole numbers or floats, one at a time")
        if self._kind not in (None, kind):
            raise TypeError(
                "geometric noise is for whole numbers: give integers"
                if self._rules.whole
                else "answers must be all whole numbers or all floats; convert them, for example with float()"
            )
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
            refund(reservation, self.kept)

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

    def __getstate__(self) -> NoReturn:
        self.__reduce_ex__(None)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a stream holds the noise of its threshold: it cannot be copied or pickled")

    def __repr__(self) -> str:
        return f"<Stream, {'stopped' if self.stopped else 'open'}, cost {self.cost:.6g}>"


def ex_post(epsilon: Fraction, cost: Fraction) -> ExPost:
    """The cost rounded up, epsilon at most: an exact cost never exceeds it."""
    return ExPost(float(epsilon), min(up(cost), float(epsilon)))
