"""Many runs of the same questions against thresholds of their own, at once, a row for each run: the law of
`noisy_threshold`.

Every run draws one word for its threshold and one for each test of each question. Float intervals decide most runs; a
run in which an answer or a gap stays undecided is done over exactly, with the same words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Mask, Values, Words
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.partial_reals import Draw, rounded
from shortlist.sampling.entropy import Source
from shortlist.sampling.grid import floors, step_for
from shortlist.sampling.noisy_threshold import COMPARISON_SLACK, Barrier, Test, scaled
from shortlist.sampling.skipping import CHUNK


@dataclass(frozen=True, slots=True)
class ManyRuns:
    """The questions, the threshold, the tests that a question may pass, and when a run stops."""

    values: Values
    threshold: int | float
    scale: Fraction
    noise: Noise
    whole: bool
    tests: tuple[Test, ...]
    weights: tuple[int, ...]
    """What passing each test costs."""
    enough: int
    """A run stops when its answers have cost so much."""
    step: Fraction = field(init=False)
    """Gaps are rounded down to its multiples."""

    def __post_init__(self) -> None:
        widest = max(self.scale, *(test.scale for test in self.tests))
        object.__setattr__(self, "step", Fraction(1) if self.whole else step_for(widest))

    def draw(self, source: Source, draws: int) -> tuple[Indices, Floats, Indices]:
        """(which questions pass, their gaps rounded down, the tests they passed): in order; -1 and NaN for no more."""
        questions = np.flatnonzero(self.values > -np.inf)  # the others never pass
        values = self.values[questions].tolist()
        shape = draws, min(len(values), self.enough)
        indices, gaps, tests = np.full(shape, -1, np.int64), np.full(shape, np.nan), np.full(shape, -1, np.int64)
        per_run = 1 + len(values) * len(self.tests)
        rows = max(1, CHUNK // per_run)
        offsets = self._offsets(values)
        for start in range(0, draws, rows):
            count = min(rows, draws - start)
            words = source.words(count * per_run).reshape(per_run, count)
            here = slice(start, start + count)
            some = _Some(self, values, words[0], words[1:].reshape(len(self.tests), len(values), count))
            some.answer(offsets, source, indices[here], gaps[here], tests[here])
        return np.where(indices < 0, -1, questions[indices]), gaps, tests

    def _offsets(self, values: list[int | float]) -> Floats:
        """The gaps without noise, one row for each test."""
        line = Fraction(self.threshold)
        exact = ([rounded(Fraction(value) - line - test.centre) for value in values] for test in self.tests)
        return np.array(list(exact))


@dataclass(frozen=True, slots=True)
class _Some:
    """Some of the runs, and their words: `line` has one for each run, `words` is tests x questions x runs."""

    runs: ManyRuns
    values: list[int | float]
    line: Words
    words: NDArray[np.uint64]

    @np.errstate(all="ignore")
    def answer(self, offsets: Floats, source: Source, indices: Indices, gaps: Floats, tests: Indices) -> None:
        """Write the answers of each run into its row."""
        runs = self.runs
        low, high = self._intervals(offsets)
        test, unsure, sure = self._first_passed(low, high)
        # sums go on behind the end of a run: where they may not fit into 64 bits they are Python's own
        fits = len(self.values) * max(runs.weights) < 2**63
        cost = np.cumsum(np.array([*runs.weights, 0], np.int64 if fits else object)[test], axis=0)
        live = np.vstack([np.ones((1, len(self.line)), np.bool_), (cost[:-1] < runs.enough).astype(np.bool_)])
        passed = live & (test >= 0)
        question, run = np.nonzero(passed)
        place, passed_test = (np.cumsum(passed, axis=0) - 1)[question, run], test[question, run]
        whole, clear = floors(low[passed_test, question, run], high[passed_test, question, run], runs.step)
        undecided = np.logical_or.reduce(live & unsure, axis=0)
        undecided[run[~clear]] = True
        indices[run, place] = question
        gaps[run, place] = whole * float(runs.step) + 0.0
        tests[run, place] = passed_test
        for one in np.flatnonzero(undecided):
            indices[one], gaps[one], tests[one] = -1, np.nan, -1
            for n, answer in enumerate(self._exactly(int(one), sure[:, :, one], source)):
                indices[one, n], gaps[one, n], tests[one, n] = answer

    def _intervals(self, offsets: Floats) -> tuple[Floats, Floats]:
        """Bounds on the gaps, each number widened by more than the sums may be off."""
        runs = self.runs
        line_low, line_high = scaled(*runs.noise.quantile(self.line, 0), runs.scale)
        if runs.whole:
            line_low, line_high = np.floor(line_low), np.floor(line_high)
        ends = [
            scaled(*test.noise.quantile(words, 0), test.scale)
            for test, words in zip(runs.tests, self.words, strict=True)
        ]
        room = COMPARISON_SLACK * np.abs(offsets)
        low = np.array([one for one, _ in ends]) + (offsets - room)[:, :, None]
        high = np.array([one for _, one in ends]) + (offsets + room)[:, :, None]
        low -= line_high + COMPARISON_SLACK * np.abs(line_high)
        high -= line_low - COMPARISON_SLACK * np.abs(line_low)
        return low, high

    def _first_passed(self, low: Floats, high: Floats) -> tuple[Indices, Mask, NDArray[np.int8]]:
        """(the first test that each question passes or -1, whether that is unsure, what is sure of each test)."""
        cuts = np.array([rounded(test.cut) for test in self.runs.tests])[:, None, None]
        room = COMPARISON_SLACK * np.abs(cuts)
        # what floats cannot hold tells nothing
        passes, fails = (low > cuts + room) & (low < np.inf), (high < cuts - room) & (high > -np.inf)
        first, unsure = np.full(passes.shape[1:], -1, np.int64), np.zeros(passes.shape[1:], np.bool_)
        for n in reversed(range(len(passes))):
            first = np.where(passes[n], n, np.where(fails[n], first, -1))
            unsure = ~passes[n] & (~fails[n] | unsure)
        return first, unsure, passes.astype(np.int8) - fails.astype(np.int8)

    def _exactly(self, run: int, sure: NDArray[np.int8], source: Source) -> Iterator[tuple[int, float, int]]:
        """(question, gap rounded down, test) of the answers of one run; `sure` is +1 or -1 where floats can tell."""
        runs, spent = self.runs, 0
        barrier = Barrier(runs.threshold, runs.scale, runs.noise, source, whole=runs.whole, first=int(self.line[run]))
        for question, value in enumerate(self.values):
            for n, test in enumerate(runs.tests):
                draw = Draw(test.noise, int(self.words[n, question, run]), 64, source)
                if sure[n, question] > 0 or (not sure[n, question] and barrier.passes(value, test, draw)):
                    yield question, rounded(barrier.steps(value, test, draw, runs.step) * runs.step), n
                    spent += runs.weights[n]
                    break
            if spent >= runs.enough:
                return
