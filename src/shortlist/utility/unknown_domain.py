"""Exact success probabilities of top-k over an unknown domain."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist._arrays import Floats, Indices, Mask, Values
from shortlist.exact.noise import GUMBEL
from shortlist.exact.reals import to_float
from shortlist.exact.subsets import log_choose
from shortlist.exact.thresholds import dummies
from shortlist.mechanisms.base import listing
from shortlist.scores import Scores
from shortlist.utility import Quality, quality_by, ranks_within
from shortlist.utility.quadrature import Crowd, tilt
from shortlist.utility.race import MOST_SETS, circle, rows_at_a_time, spectrum
from shortlist.utility.threshold import LineRace

if TYPE_CHECKING:
    from shortlist.mechanisms.unknown_domain import CanonicalLimitedDomain, LimitedDomainTopK

STEP = 0.25
"""Of the trapezoidal rule over ln t: its error for such integrands is below e^(-pi^2 / STEP), 1e-17."""

CERTAIN = 42.0
"""A chance of e^-42 is none."""

LATE = math.log(1e-15)
"""Whoever has rung with less chance by the end does not count."""

FEW_PAIRS = 5_000
"""With so many pairs of a label and a place, or fewer, labels are counted one by one."""

FEWEST = 200
"""Levels are looked at together as if there were so many labels: one circle of angles serves them all."""

CERTAIN_GAP = 100.0
"""Noise of scale 1 closes it with a chance below e^-99."""


def _close_gaps(above: Floats) -> Floats:
    """Return rates above the bar with no gap wider than `CERTAIN_GAP`: what is further ahead wins surely."""
    with_bar = np.append(above, 0.0)
    order = np.argsort(-with_bar, kind="stable")
    gaps = np.minimum(-np.diff(with_bar[order], prepend=with_bar[order[0]]), CERTAIN_GAP)
    places = np.empty(len(with_bar))
    places[order] = -np.cumsum(gaps)
    return np.asarray(places[:-1] - places[-1])


def working_list(counts: Values, limit: int) -> tuple[Floats, float]:
    """(the counts above c, largest first; c), c being the count at rank limit + 1, or 0; none is below 0."""
    x = np.sort(np.maximum(np.asarray(counts, np.float64), 0.0))[::-1]
    bar = float(x[limit]) if len(x) > limit else 0.0
    return x[:limit][x[:limit] > bar], bar


@dataclass(frozen=True, slots=True)
class BarredRace:
    """LimitedDomainTopK with Gumbel noise: labels ring at rates e^{e h}, the bar at M e^{e (c + 1)}.

    M = ceil(L (1 - delta) / delta). A label is named if it rings before the bar and among the first k.
    """

    log_rate: Floats
    """ln of the listed labels' rates relative to the k-th, largest first."""
    log_bar: float
    k: int

    @classmethod
    def of(cls, counts: Values, k: int, e: float, delta: float, limit: int) -> BarredRace:
        listed, c = working_list(counts, limit)
        kth = float(listed[min(k, len(listed)) - 1]) if len(listed) else c
        log_bar = e * (c + 1 - kth) + math.log(dummies(limit, Fraction(delta)))
        # whoever is so far above the k-th and the bar rings before them, whatever its rate
        return cls(np.minimum(e * (listed - kth), max(log_bar, 0.0) + CERTAIN), log_bar, k)

    def top(self) -> float:
        """P[all of a true top k ring first] = n0 Int W e^{-W t} prod_{i<=k} (1 - e^{-w_i t}) dt, W the others' rate."""
        if len(self.log_rate) < self.k:
            return 0.0
        others = float(np.logaddexp.reduce(np.append(self.log_rate[self.k :], self.log_bar)))
        v = np.arange(-CERTAIN, 4.5, STEP)  # ln of when the first of the others rings, in units of its mean
        log_time = np.minimum(self.log_rate[: self.k, None] + (v - others), 40.0)
        rung = np.log(-np.expm1(-np.exp(np.maximum(log_time, -30.0))))  # ln(1 - e^{-e^x})
        ring = np.where(log_time < -30.0, log_time, rung).sum(axis=0)
        first = min(1.0, float(np.exp(ring + v - np.exp(v)).sum()) * STEP)
        return min(1.0, first * math.exp(right_sets(self.log_rate, self.k)))

    def recall(self) -> float:
        """E[correct labels named] / k."""
        if not len(self.log_rate):
            return 0.0
        return min(1.0, _correct(self.log_rate, correct_labels(self.log_rate, self.k), self.k, self.log_bar) / self.k)


def _correct(log_rate: Floats, correct: int, k: int, log_bar: float) -> float:
    """Int e^{-w_bar t} sum_{i correct} w_i e^{-w_i t} P[fewer than k others have rung] dt, over v = ln t.

    At first that chance is one.
    """
    v, mean = _times(log_rate, correct, k, log_bar)
    with np.errstate(divide="ignore"):
        early = int(np.count_nonzero((mean < k) & (k * np.log(k / mean) - k + mean >= CERTAIN)))
    x = np.exp(np.minimum(np.add.outer(log_rate[:correct], v[:early]), 40.0))
    ringing = np.concatenate([(x * np.exp(-x)).sum(axis=0), _ringing(log_rate, correct, k, v[early:])])
    return float(ringing @ np.exp(-np.exp(np.minimum(log_bar + v, 40.0)))) * STEP


def _ringing(log_rate: Floats, correct: int, k: int, v: Floats) -> Floats:
    """The density at each v that a correct one rings now, fewer than k others having rung."""
    if not len(v):
        return np.zeros(0)
    rates = log_rate[: correct + int(np.count_nonzero(log_rate[correct:] + v[-1] >= LATE))]
    if len(rates) * k <= FEW_PAIRS:
        return _ringing_one_by_one(rates, correct, k, v)
    return _ringing_at_once(rates, correct, k, v)


def _ringing_one_by_one(rates: Floats, correct: int, k: int, v: Floats) -> Floats:
    """By two polynomials in the number that have rung: all of them, and all but one correct one that rings now."""
    x = np.exp(np.minimum(np.add.outer(rates, v), 40.0))
    still, rung = np.exp(-x), -np.expm1(-x)
    everyone, without_one = np.zeros((2, k, len(v)))
    everyone[0] = 1.0
    for i, first in enumerate(np.searchsorted(v, -CERTAIN - rates).tolist()):  # before, it has surely not rung
        stays, rings, most = still[i, first:], rung[i, first:], min(i + 1, k)
        _count_one_more(without_one[:most, first:], stays, rings)
        if i < correct:
            without_one[:most, first:] += (x[i, first:] * stays) * everyone[:most, first:]
            _count_one_more(everyone[: most + 1, first:], stays, rings)
    return without_one.sum(axis=0)


def _ringing_at_once(rates: Floats, correct: int, k: int, v: Floats) -> Floats:
    """By the law of the number that have rung: who has by t exceeds the level -ln t under Gumbel noise.

    Nothing is tilted: a small chance is known to a part of the whole, which is what is asked for.
    """
    values, counts = np.unique(rates, return_counts=True)
    crowd, result = Crowd(values, counts.astype(np.float64)), np.zeros(len(v))
    for rows in rows_at_a_time(len(v), max(len(values), FEWEST)):
        seen = tilt(crowd, GUMBEL, -v[rows], None)
        seen.density[:, values < rates[correct - 1]] = 0.0
        around, centre = circle(seen, crowd.weights, 0, whole_law=True), np.rint(seen.chance @ crowd.weights)
        transform = spectrum(seen, crowd.weights, -centre, around.angles)
        density = np.fft.fftshift(np.fft.irfft((transform.product * transform.densities).conj(), around.size), axes=1)
        fewer = np.arange(around.size) - around.size // 2 + centre[:, None] < k
        result[rows] = np.where(fewer, density, 0.0).sum(axis=1)
    return result


def _count_one_more(rung_so_far: Floats, still: Floats, rung: Floats) -> None:
    """From the chances of 0, 1, .. having rung to those with one more item, in place."""
    gain = rung_so_far[:-1] * rung
    rung_so_far *= still
    rung_so_far[1:] += gain


def _times(log_rate: Floats, correct: int, k: int, log_bar: float) -> tuple[Floats, Floats]:
    """The v = ln t that matter: somebody correct may ring, the bar has not, and not many more than k items have.

    And how many have rung on average, m. That number is a sum of independent chances: it is below k with a chance of
    at most e^{-(m - k)^2 / 2 m}, which is less than e^-CERTAIN where m exceeds k + sqrt(2 CERTAIN k) + 2 CERTAIN, and
    for m < k it reaches k with a chance of at most e^{-(k ln(k/m) - k + m)} (Chernoff).
    """
    first = -float(np.logaddexp.reduce(log_rate[:correct])) - CERTAIN
    v = np.arange(first, 4.5 - min(max(log_bar, 0.0), float(log_rate[0]) + CERTAIN), STEP)
    with np.errstate(over="ignore"):
        mean = -np.expm1(-np.exp(np.add.outer(v, log_rate))).sum(axis=1)
    matter = mean <= k + math.sqrt(2 * CERTAIN * k) + 2 * CERTAIN
    return v[matter], mean[matter]


def correct_labels(listed: Floats, k: int) -> int:
    """How many are at least as large as the k-th, or all if there are fewer."""
    return int(np.count_nonzero(listed >= listed[k - 1])) if len(listed) >= k else len(listed)


def right_sets(listed: Floats, k: int) -> float:
    """ln of how many sets of k have the k largest counts: more than one if a tie crosses rank k."""
    if len(listed) < k or (correct := correct_labels(listed, k)) == k:
        return 0.0
    higher = int(np.count_nonzero(listed > listed[k - 1]))
    return math.log(math.comb(correct - higher, k - higher))


NONE = 60.0
"""A class whose chance is below e^-60 of another's has none."""

KEPT = 1 << 17
"""Classes of so many pairs of ranks are kept for the next question: a search asks often, for a noisy choice of five."""


@dataclass(frozen=True, slots=True)
class Classes:
    """Sets of at most k of n listed labels by (h, t): ranks 1..h are in, rank h + 1 is not, and t is the last one in.

    What does not depend on the counts, nor on the bar: the empty set first, then ranks 1..h alone, h = 1, 2, ..
    """

    h: Indices
    t: Indices
    full: Mask
    """Whether all k are there."""
    number: Floats
    """ln of how many sets there are."""
    right: Floats
    """How many of the first `correct` ranks are in, on average."""


@lru_cache(maxsize=5)
def classes_of(n: int, k: int, correct: int) -> Classes:
    """All classes; of the ranks between h + 1 and t any number up to the size allowed may be in."""
    size = min(k, n)
    alone = np.arange(size + 1)
    h, t = np.meshgrid(np.arange(min(k, max(n - 1, 0))), np.arange(2, n + 1), indexing="ij")
    h, t = h[t >= h + 2], t[t >= h + 2]
    binomials, sums = _tables(max(n, 1), k)
    parts = [(alone, alone, alone == k, np.zeros(size + 1), alone.astype(float))]
    for room, full in ((k - 1 - h, True), (k - 2 - h, False)):  # how many may be between, or must
        first, last, many = h[room >= 0], t[room >= 0], room[room >= 0]
        between = last - first - 2
        number = binomials[between, many] if full else sums[between, many]
        share = np.clip(np.minimum(correct, last - 1) - (first + 1), 0, None) / np.maximum(between, 1)
        right = first + (last <= correct) + share * _mean_between(between, many, full, sums)
        parts.append((first, last, np.full(len(first), full), number, right))
    return Classes(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _tables(n: int, k: int) -> tuple[Floats, Floats]:
    """(ln C(m, r), ln sum_{i<=r} C(m, i)) for m = 0..n, r = 0..k."""
    m, r = np.arange(n + 1)[:, None], np.arange(k + 1)[None, :]
    logs = np.where(r <= m, log_choose(np.minimum(r, m), np.maximum(m - r, 0)), -np.inf)
    return logs, np.logaddexp.accumulate(logs, axis=1)


def _mean_between(between: Indices, size: Indices, full: bool, sums: Floats) -> Floats:
    """How many of the ranks between are in, on average over the class: exactly `size`, or any number up to it."""
    if full:
        return size.astype(float)
    with np.errstate(divide="ignore"):  # sum_i i C(N, i) = N sum_i C(N - 1, i - 1)
        fewer = sums[np.maximum(between - 1, 0), np.maximum(size - 1, 0)]
        logs = np.log(between.astype(float)) + fewer - sums[between, size]
    return np.where(size > 0, np.exp(logs), 0.0)


def _by_position(positions: Indices, sets: dict[tuple[int, ...], float]) -> dict[tuple[int, ...], float]:
    """Return chances by sorted positions among the scores, from those by ranks in the working list."""
    return {tuple(sorted(positions[list(ranks)].tolist())): chance for ranks, chance in sets.items()}


@dataclass(frozen=True, slots=True)
class ListDistribution:
    """The list of `LimitedDomainTopK`: labels and the bar run one race (Proposition 263).

    A list that the bar ended is great or good by the same words: its head is named, and nobody beyond its reach.
    """

    counts: Values
    positions: Indices
    """Where the labels of the working list stand, largest first."""
    race: LineRace
    gumbel: BarredRace | None
    """With Gumbel noise, the same race by sums that are quicker, for searches."""

    def sets(self) -> dict[tuple[int, ...], float]:
        return _by_position(self.positions, self.race.sets() if len(self.positions) else {(): 1.0})

    def success(self) -> float:
        return self.race.best() if self.gumbel is None else self.gumbel.top()

    def quality(self) -> Quality:
        pairs = ranks_within(np.sort(self.counts)[::-1], self.race.k)
        great, good = (self.race.within(*pair) for pair in pairs)
        return Quality(self.success(), great, good, self.recall())

    def inclusion(self) -> Floats:
        result = np.zeros(len(self.counts))
        result[self.positions] = self.race.inclusion()
        return result

    def recall(self) -> float:
        """Return E[correct labels named] / k."""
        if self.gumbel is not None:
            return self.gumbel.recall()
        size = min(self.race.k, len(self.race.s))
        return self.race.recall(size) * size / self.race.k if size else 0.0


@dataclass(frozen=True, slots=True)
class SetDistribution:
    """The set of `CanonicalLimitedDomain`.

    A set of fewer than k labels is great or good by the same words: it holds the head, and nobody beyond its reach.
    """

    mechanism: CanonicalLimitedDomain
    scores: Scores

    def sets(self) -> dict[tuple[int, ...], float]:
        """P[each set], by positions: weights e^{eps (g m(y) - (1 - g) M(y))}.

        M is the largest count left out, the bar at least; m the smallest in it, and the bar at most if it has room.
        """
        listed, bar = self._listed()
        n, k, gamma = len(listed), self.mechanism.k, float(self.mechanism.gamma)
        if sum(math.comb(n, size) for size in range(min(k, n) + 1)) > MOST_SETS:
            raise ValueError(f"there are more than {MOST_SETS:,} sets; ask for quality instead")
        sets = [ranks for size in range(min(k, n) + 1) for ranks in combinations(range(n), size)]
        logs = []
        for ranks in sets:
            first_out = next((i for i in range(n) if i >= len(ranks) or ranks[i] != i), n)
            smallest = float(listed[ranks[-1]]) if ranks else bar
            inside = smallest if len(ranks) == k else min(smallest, bar)
            outside = max(float(listed[first_out]), bar) if first_out < n else bar
            logs.append(self.mechanism._round * (gamma * inside - (1 - gamma) * outside))
        chances = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
        positions = listing(self.scores.values, self.mechanism._limit).positions
        return _by_position(positions, dict(zip(sets, chances.tolist(), strict=True)))

    def success(self) -> float:
        return self.quality().top

    def recall(self) -> float:
        return self.quality().recall

    def quality(self) -> Quality:
        """The weights of all sets, summed class by class."""
        listed, bar = self._listed()
        n, k, gamma = len(listed), self.mechanism.k, float(self.mechanism.gamma)
        sets = (classes_of if n * k <= KEPT else classes_of.__wrapped__)(n, k, correct_labels(listed, k))
        above = np.append(np.maximum(listed, bar), bar)  # the largest count left out is that of rank h + 1, or the bar
        last = np.append(bar, listed)[sets.t]
        inside = np.where(sets.full, last, np.minimum(last, bar))
        places = gamma * inside - (1 - gamma) * above[sets.h]
        with np.errstate(over="ignore"):  # far below is below
            logs = self.mechanism._round * (places - places.max()) + sets.number
        some = np.flatnonzero(logs > logs.max() - NONE)
        chances = np.exp(logs[some] - logs.max())
        log_total = float(logs.max()) + math.log(float(chances.sum()))
        chances /= chances.sum()
        top = math.exp(min(float(logs[k]) - log_total + right_sets(listed, k), 0.0)) if n >= k else 0.0
        pairs = ranks_within(np.sort(self.scores.values)[::-1], k)

        def within(head: int, reach: int) -> float:
            return min(1.0, float(chances[(sets.h[some] >= head) & (sets.t[some] <= reach)].sum()))

        recall = min(1.0, float((chances * sets.right[some]).sum()) / k)  # not @, which starts threads that wait busily
        return quality_by(lambda: top, lambda: within(*pairs[0]), lambda: within(*pairs[1]), lambda: recall)

    def _listed(self) -> tuple[Floats, float]:
        """(the counts of the working list, where the bar stands)."""
        listed, c = working_list(self.scores.values, self.mechanism._limit)
        return listed, c + 1 + float(self.mechanism.offset)


def list_distribution(mechanism: LimitedDomainTopK, scores: Scores) -> ListDistribution:
    """Return the distribution of the list."""
    counts, limit, (e, delta), (above, many) = scores.values, mechanism._limit, mechanism._rates, mechanism._bar
    (listed, c), gumbel = working_list(counts, limit), mechanism._kind == GUMBEL
    s = _close_gaps(e * (listed - c - 1.0 - to_float(above)) - math.log(many))
    field = BarredRace.of(counts, mechanism.k, e, delta, limit) if gumbel else None
    positions = listing(counts, limit).positions
    return ListDistribution(counts, positions, LineRace(s, mechanism.k, mechanism._kind), field)


DISTRIBUTIONS: dict[str, Any] = {"LimitedDomainTopK": list_distribution, "CanonicalLimitedDomain": SetDistribution}
