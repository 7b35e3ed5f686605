"""Exact success probabilities of sparse vectors and hybrids."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist._arrays import Floats, Indices, Mask
from shortlist.exact.noise import EXPONENTIAL, Noise
from shortlist.exact.reals import Contest, to_float
from shortlist.sampling.thresholds import Rules
from shortlist.scores import Scores
from shortlist.utility import Quality, quadrature, ranks_within
from shortlist.utility.race import ERROR, apart, line_law, line_levels, set_probabilities

if TYPE_CHECKING:
    from shortlist.mechanisms.threshold import HybridSparseVector, HybridTopK, SparseVector

Counted = tuple[Floats, Floats]
"""Per level, the chances of 0, 1, .. items above; and those with one more item at the level, times its density."""
OneItem = tuple[Floats, Floats, Floats]


@dataclass(frozen=True, slots=True)
class LineRace:
    """Items at s_i + N_i and a line at `start` + N_0 / rate; the first k that are ahead of the line are named."""

    s: Floats
    """Scores above the threshold, in units of the items' noise; -inf is an item that is never named."""
    k: int
    noise: Noise
    rate: float = 1.0
    start: float = 0.0
    """Where the line stands without its noise: at the threshold, unless noises are centred."""

    def numbers(self) -> Floats:
        """P[n items are named], n = 0..k: exact, to 1e-9."""
        able = np.sort(self._able)

        def density(z: Floats, levels: quadrature.Levels) -> Floats:
            number, _ = self._counts(z, *_near(able, levels, self.noise), self.k - 1)
            return np.exp(line_law(z, self.noise, self.rate)[1])[:, None] * number

        fewer = self._integral(density)
        return np.append(fewer, max(0.0, 1.0 - float(fewer.sum())))

    def success(self) -> float:
        """P[the names are a true answer]: the k best of those above the threshold, all of them if they are fewer.

        Equal scores count as equal, and whoever is exactly at the threshold may be named or not.
        """
        able, threshold = self._able, -self.start
        return self._chance(able > threshold, able < threshold) if self.target_size < self.k else self.best()

    def best(self) -> float:
        """P[the names are a true top k], whatever the threshold is."""
        able = self._able
        if len(able) < self.k:
            return 0.0
        kth = np.sort(able)[len(able) - self.k]
        return self._chance(able > kth, able < kth, self.k)

    @property
    def target_size(self) -> int:
        """How many names a true answer has: those above the threshold, k at most."""
        return min(self.k, int(np.count_nonzero(self._able > -self.start)))

    def within(self, head: int, reach: int) -> float:
        """P[ranks 1 to head are all named and none beyond reach is], head <= k <= reach."""
        if head > len(self._able):
            return 0.0
        rank = np.argsort(np.argsort(-self._able, kind="stable"))
        return self._chance(rank < head, rank >= reach)

    def inclusion(self) -> Floats:
        """P[item i is named], for every item: exact, to 1e-9."""
        able = self._able
        values, place = np.unique(able, return_inverse=True)
        counts = np.bincount(place, minlength=len(values))

        def density(z: Floats, levels: quadrature.Levels) -> Floats:
            return self._inclusion_density(z, values, counts, levels)

        result = np.zeros(len(self.s))
        if len(able):
            result[self.s > -np.inf] = np.clip(self._integral(density, len(values) * self.k)[place], 0.0, 1.0)
        return result

    def quality(self) -> Quality:
        """P[right], and P[great], P[good] and the expected recall of as many names as are wanted (Definition 118).

        A shorter or longer list is great or good by the same words: its head is named, and nobody beyond its reach.
        Where nobody is wanted all four are P[right].
        """
        right, size = self.success(), self.target_size
        if not size:
            return Quality(right, right, right, right)
        allowed = int(np.count_nonzero(self._able >= -self.start)) if size < self.k else 0  # so a right list is great
        pairs = ranks_within(np.sort(self._able)[::-1], size)
        great, good = (self.within(head, max(reach, allowed)) for head, reach in pairs)
        return Quality(right, great, good, self.recall(size))

    def recall(self, size: int) -> float:
        """The expected share of the `size` best that is named; an item is correct if it scores at least as the last."""
        best = np.sort(self._able)[::-1][:size]
        if not len(best):
            return 0.0
        return min(1.0, float(self.inclusion()[self.s - self.start >= best[-1]].sum()) / size)

    def sets(self) -> dict[tuple[int, ...], float]:
        """P[each set is named], by positions, where there are few."""
        return set_probabilities(self.s - self.start, self.k, self.noise, self.rate)

    @property
    def _able(self) -> Floats:
        """Scores above the line; its own start is 0 here."""
        return self.s[self.s > -np.inf] - self.start

    def _chance(self, heads: Mask, tail: Mask, fewest: int = 0) -> float:
        """P[every head is named, nobody of the tail, and at least so many items in all]."""
        able, noise, leading = self._able, self.noise, int(np.count_nonzero(heads))
        everyone = _crowd(able[heads], drop_below=False), _crowd(able[tail], count_above=False)
        middle, room, lowest = np.sort(able[~(heads | tail)]), self.k - leading, max(0, fewest - leading)

        def density(z: Floats, levels: quadrature.Levels) -> Floats:
            ahead, behind = (quadrature.gather(one, levels, noise, 2).crowd for one in everyone)
            log_line, log_density = line_law(z, noise, self.rate)
            inside = quadrature.log_all(ahead, noise.log_survival, z)
            below = quadrature.log_all(behind, noise.log_cdf, z)
            number, ending = self._counts(z, *_near(middle, levels, noise), room)
            by_line = np.exp(log_density + inside + below) * number[:, lowest:].sum(axis=1)
            by_tail = quadrature.highest_density(behind, noise, z, inside + log_line) @ behind.weights * number[:, room]
            total: Floats = by_line + by_tail + np.exp(inside + below + log_line) * ending[:, room]
            return total[:, None]

        return float(np.clip(self._integral(density)[0], 0.0, 1.0))

    def _counts(self, z: Floats, values: Floats, sure: int, most: int) -> Counted:
        """[w^n] prod q and [w^n] prod q sum f/q at the levels, n = 0..most; q(w) = F + S w of each item, w if sure."""
        number, ending = np.zeros((2, z.size, most + 1))
        if sure > most:
            return number, ending
        number[:, sure] = 1.0
        counted = number, ending
        for value in values.tolist():
            counted = _with(counted, self._one(z, value), 1)
        return counted

    def _one(self, z: Floats, value: float) -> OneItem:
        """P[above], P[below] and the density of an item of that value, one row per level."""
        x = (z - value)[:, None]
        return np.exp(self.noise.log_survival(x)), np.exp(self.noise.log_cdf(x)), np.exp(self.noise.log_density(x))

    def _inclusion_density(self, z: Floats, values: Floats, counts: Indices, levels: quadrature.Levels) -> Floats:
        """Per level and distinct value, the density that the list ends there and an item of that value is above.

        The others are those of smaller values, those of larger ones, and the rest of its own.
        """
        low, high = quadrature.slice_in_doubt(quadrature.Crowd(values, counts.astype(float)), levels, self.noise)
        sure, most, result = int(counts[high:].sum()), self.k - 1, np.zeros((z.size, len(values)))
        log_line, log_density = line_law(z, self.noise, self.rate)
        by_line, by_item = np.exp(log_density)[:, None], np.exp(log_line)[:, None]
        laws = [self._one(z, value) for value in values[low:high].tolist()]
        before = [self._counts(z, np.zeros(0), 0, most)]
        for law, count in zip(laws, counts[low:high].tolist(), strict=True):
            before.append(_with(before[-1], law, count))
        after = self._counts(z, np.zeros(0), max(0, sure - 1), most)
        if sure:
            result[:, high:] = _ends(before[-1], after, by_line, by_item)[:, None]
            after = self._counts(z, np.zeros(0), sure, most)
        for n in reversed(range(len(laws))):
            law, count = laws[n], int(counts[low + n])
            others = _with(after, law, count - 1)
            result[:, low + n] = law[0][:, 0] * _ends(before[n], others, by_line, by_item)
            after = _with(others, law, 1)
        return result

    def _integral(self, density: Callable[[Floats, quadrature.Levels], Floats], width: int = 1) -> Floats:
        """Over all levels at which a list may end."""
        levels = line_levels(self._able, self.k, self.noise, self.rate)
        evaluate = quadrature.by_nodes([self._able, np.zeros(1)], levels, self.noise, density, width)
        return quadrature.refine(evaluate, lambda old, new: apart(old, new) <= ERROR)


def _crowd(values: Floats, **decided: bool) -> quadrature.Crowd:
    distinct, counts = np.unique(values, return_counts=True)
    return quadrature.Crowd(distinct, counts.astype(np.float64), **decided)


def _near(values: Floats, levels: quadrature.Levels, noise: Noise) -> tuple[Floats, int]:
    """(the increasing values that may be on either side of a level, how many are surely above all of them)."""
    low, high = quadrature.slice_in_doubt(quadrature.Crowd(values, np.ones(len(values))), levels, noise)
    return values[low:high], len(values) - high


def _one_more(number: Floats, above: Floats, below: Floats) -> Floats:
    """The chances of 0, 1, .. above with one more item; the axis before is that of the levels."""
    result = number * below
    result[:, 1:] += number[:, :-1] * above
    return result


def _with(counted: Counted, law: OneItem, times: int) -> Counted:
    """With so many more items of one value."""
    number, ending = counted
    above, below, density = law
    for _ in range(times):
        ending = _one_more(ending, above, below) + density * number
        number = _one_more(number, above, below)
    return number, ending


def _ends(first: Counted, second: Counted, by_line: Floats, by_item: Floats) -> Floats:
    """The density that the list ends, k - 1 others being above at most: at the line, or at the best loser."""
    number, ending = first
    others, other_ending = second
    fewer = (number * np.cumsum(others, axis=1)[:, ::-1]).sum(axis=1)
    full = (ending * others[:, ::-1] + number * other_ending[:, ::-1]).sum(axis=1)
    return by_line[:, 0] * fewer + by_item[:, 0] * full


BELOW = "below"
MOST_PATTERNS = 100_000
"""Of more nobody reads a list."""
_TERMS = 4096
"""Of the sum over whole numbers, so many at a time."""
_LAST = 42
"""What lies beyond so many scales has a chance of e^-42."""


@dataclass(frozen=True, slots=True)
class AnswerDistribution:
    """The questions in their order, and the rules of the run."""

    rules: Rules
    questions: Sequence[int | float]

    def success(self) -> float:
        """P[every answer is right until the run stops]: "above" above the threshold, "below" below it; at it, any."""
        rules, weights, enough = self.rules, self.rules.weights, self.rules.enough

        def conditional(z: Floats) -> Floats:
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
            return (done + spent.sum(axis=0))[:, None]

        return float(np.clip(self._mean(conditional)[0], 0.0, 1.0))

    def sets(self) -> dict[tuple[str, ...], float]:
        """P[each sequence of answers]: "below", or the name of the test that was passed; cut where the run stops."""
        names = [names for names, _ in islice(self._walk(np.zeros(1)), MOST_PATTERNS + 1)]
        if len(names) > MOST_PATTERNS:
            raise ValueError(f"there are more than {MOST_PATTERNS:,} sequences of answers: ask fewer questions")

        def conditional(z: Floats) -> Floats:
            return np.column_stack([chance for _, chance in self._walk(z)])

        chances = np.clip(self._mean(conditional), 0.0, 1.0)
        return dict(zip(names, chances.tolist(), strict=True))

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
        return [(to_float((lead - test.centre - test.cut) / unit), to_float(test.scale / unit)) for test in tests]

    @property
    def _unit(self) -> Fraction:
        """The least scale of all, or 1 for whole numbers."""
        rules = self.rules
        if rules.whole:
            return Fraction(1)
        return min(rules.threshold_scale, *(branch.test.scale for branch in rules.branches))

    def _mean(self, conditional: Callable[[Floats], Floats]) -> Floats:
        """Over the noise of the threshold."""
        if self.rules.whole:
            return self._sum(conditional)
        noise, width = self.rules.noise, to_float(self.rules.threshold_scale / self._unit)
        levels = quadrature.find_range(lambda z: noise.log_cdf(z / width), lambda z: noise.log_survival(z / width))
        places = [place for question in set(self.questions) for place, _ in self._places(question)]

        def density(z: Floats, _: quadrature.Levels) -> Floats:
            return (np.exp(noise.log_density(z / width)) / width)[:, None] * conditional(z)

        evaluate = quadrature.by_nodes([np.array([0.0, *places])], levels, noise, density)
        return quadrature.refine(evaluate, lambda old, new: apart(old, new) <= ERROR)

    def _sum(self, conditional: Callable[[Floats], Floats]) -> Floats:
        """Over 0, 1, 2, ..: the floor of exponential noise."""
        scale = to_float(self.rules.threshold_scale)
        total: Floats = np.zeros(1)
        for start in range(0, math.ceil(_LAST * scale) + 1, _TERMS):
            z: Floats = np.arange(start, start + _TERMS, dtype=np.float64)
            total = total + (np.exp(-z / scale) * -math.expm1(-1.0 / scale)) @ conditional(z)
        return total


def sparse_vector(mechanism: SparseVector, scores: Scores) -> AnswerDistribution:
    """Return the distribution of the answers."""
    return AnswerDistribution(mechanism.rules, scores.values.tolist())


def hybrid(mechanism: HybridTopK | HybridSparseVector, scores: Scores) -> LineRace:
    """Return the race of the items, in units of their noise above the threshold, with the line."""
    values, threshold, line = scores.values, mechanism._level(scores), mechanism._line(scores)
    scale = mechanism._scales(scores)[1]
    places = Contest(values, 1, scale, EXPONENTIAL, threshold).positions(values)
    start = to_float((line.centre - Fraction(threshold)) / scale)
    s = np.where(values == -np.inf, -np.inf, places)
    return LineRace(s, mechanism.k, EXPONENTIAL, to_float(scale / line.scale), start)


DISTRIBUTIONS: dict[str, Any] = {"SparseVector": sparse_vector, "HybridTopK": hybrid, "HybridSparseVector": hybrid}
