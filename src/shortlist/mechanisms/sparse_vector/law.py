"""The exact law of the answers of a sparse vector, gaps aside: an integral over its threshold (Proposition 264).

Given that noise all tests are independent; with geometric noise the integral is a sum over whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shortlist._arrays import Floats
from shortlist.exact.partial_reals import rounded
from shortlist.exact.quadrature import Block, blocks, find_range, refined
from shortlist.exact.set_chances import ERROR
from shortlist.mechanisms.sparse_vector.stream import Rules

BELOW = "below"
MOST_PATTERNS = 100_000
"""Of more nobody reads a list."""
_TERMS = 4096
"""Of the sum over whole numbers, so many at a time."""
_LAST = 42
"""What lies beyond so many scales has a chance of e^-42."""


@dataclass(frozen=True, slots=True)
class AnswerLaw:
    """The questions in their order, and the rules of the run."""

    rules: Rules
    questions: Sequence[int | float]

    def right(self) -> float:
        """P[every answer is right until the run stops]: "above" above the threshold, "below" below it; at it, any."""
        rules, weights, enough = self.rules, self.rules.weights, self.rules.enough

        def given(z: Floats) -> Floats:
            """Over what was spent, in units, as long as the run is open."""
            spent: Floats = np.zeros((enough, z.size))
            spent[0], done = 1.0, np.zeros(z.size)
            for question in self.questions:
                above, below = self._answers(question, z)
                after = spent * below if question <= rules.threshold else np.zeros_like(spent)
                for chance, cost in zip(above, weights, strict=True) if question >= rules.threshold else ():
                    after[cost:] += spent[: max(0, enough - cost)] * chance
                    done = done + spent[max(0, enough - cost) :].sum(axis=0) * chance
                spent = after
            result: Floats = (done + spent.sum(axis=0))[:, None]
            return result

        return float(np.clip(self._mean(given)[0], 0.0, 1.0))

    def patterns(self) -> dict[tuple[str, ...], float]:
        """P[each sequence of answers]: "below", or the name of the test that was passed; cut where the run stops."""
        if self._number() > MOST_PATTERNS:
            raise ValueError(f"there are more than {MOST_PATTERNS:,} sequences of answers: ask fewer questions")
        names = [names for names, _ in self._walk(np.zeros(1))]

        def given(z: Floats) -> Floats:
            return np.column_stack([chance for _, chance in self._walk(z)])

        chances = np.clip(self._mean(given), 0.0, 1.0)
        return dict(zip(names, chances.tolist(), strict=True))

    def _number(self) -> int:
        """How many sequences there are."""
        open_, ended = {0: 1}, 0
        for _ in self.questions:
            after = dict(open_)
            for spent, ways in open_.items():
                for cost in self.rules.weights:
                    if spent + cost >= self.rules.enough:
                        ended += ways
                    else:
                        after[spent + cost] = after.get(spent + cost, 0) + ways
            open_ = after
        return ended + sum(open_.values())

    def _walk(self, z: Floats) -> Iterator[tuple[tuple[str, ...], Floats]]:
        """Every sequence of answers, with its chance given the noise of the threshold."""
        laws = [self._answers(question, z) for question in self.questions]
        names, weights = [branch.name for branch in self.rules.branches], self.rules.weights
        waiting: list[tuple[tuple[str, ...], int, Floats]] = [((), 0, np.ones(z.size))]
        while waiting:
            before, spent, chance = waiting.pop()
            if len(before) == len(laws) or spent >= self.rules.enough:
                yield before, chance
                continue
            above, below = laws[len(before)]
            for name, cost, passed in zip(names, weights, above, strict=True):
                waiting.append(((*before, name), spent + cost, chance * passed))
            waiting.append(((*before, BELOW), spent, chance * below))

    def _answers(self, question: int | float, z: Floats) -> tuple[list[Floats], Floats]:
        """P[each test is the one that is passed] and P[none is], given the noise of the threshold."""
        above, below = [], np.ones(z.size)
        for place, width in self._places(question):
            passes = np.exp(self.rules.noise.log_survival((z - place) / width))
            above.append(below * passes)
            below = below * (1.0 - passes)
        return above, below

    def _places(self, question: int | float) -> list[tuple[float, float]]:
        """(the noise of the threshold above which each test needs luck, how wide its noise is), in units."""
        unit, tests = self._unit, [branch.test for branch in self.rules.branches]
        if question == -math.inf:
            return [(-math.inf, 1.0)] * len(tests)
        lead = Fraction(question) - Fraction(self.rules.threshold)
        return [(rounded((lead - test.centre - test.cut) / unit), rounded(test.scale / unit)) for test in tests]

    @property
    def _unit(self) -> Fraction:
        """The least scale of all, or 1 for whole numbers."""
        rules = self.rules
        if rules.whole:
            return Fraction(1)
        return min(rules.threshold_scale, *(branch.test.scale for branch in rules.branches))

    def _mean(self, given: Callable[[Floats], Floats]) -> Floats:
        """Over the noise of the threshold."""
        if self.rules.whole:
            return self._sum(given)

        def evaluate(refinement: int) -> Floats:
            total: Floats = np.zeros(1)
            for block in self._blocks(refinement):
                density = np.exp(self.rules.noise.log_density(block.nodes / width)) / width
                total = total + (block.weights * density) @ given(block.nodes)
            return total

        width = rounded(self.rules.threshold_scale / self._unit)
        return refined(evaluate, lambda old, new: float(np.abs(new - old).max()) <= ERROR)

    def _blocks(self, refinement: int) -> Iterator[Block]:
        noise, width = self.rules.noise, rounded(self.rules.threshold_scale / self._unit)
        levels = find_range(lambda z: noise.log_cdf(z / width), lambda z: noise.log_survival(z / width), (-1.0, 1.0))
        places = [place for question in set(self.questions) for place, _ in self._places(question)]
        return blocks([np.array([0.0, *places])], levels, noise, refinement)

    def _sum(self, given: Callable[[Floats], Floats]) -> Floats:
        """Over 0, 1, 2, ..: the floor of exponential noise."""
        scale = rounded(self.rules.threshold_scale)
        total: Floats = np.zeros(1)
        for start in range(0, math.ceil(_LAST * scale) + 1, _TERMS):
            z: Floats = np.arange(start, start + _TERMS, dtype=np.float64)
            total = total + (np.exp(-z / scale) * -math.expm1(-1.0 / scale)) @ given(z)
        return total
