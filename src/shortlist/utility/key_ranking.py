"""The k largest of noisy sums that reach a bar: how many are named, and how many of the right ones (Theorem 220).

Every label has a whole sum with its noise, v_j in steps of a grid, and those with v_j at least the bar are ranked,
equal ones in an order that is drawn. With U_j uniform v_j + U_j ranks in the same way, and is at least s + 1 - u, u in
[0, 1], with probability

    q_j(s, u) = P[v_j > s] + u P[v_j = s].

So label i is named with probability sum_{s >= bar} P[v_i = s] Int_0^1 P[fewer than k of the others are ahead] du, a
Poisson-binomial chance of the q_j. Where the noise is a smooth function of s, sums over many s are those of polynomials
through a few; everything else is added up as it stands.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist._arrays import Floats, Mask, Values
from shortlist.errors import bad_value
from shortlist.exact.search import bisect, whole_numbers
from shortlist.mechanisms.base import by_score, check_k
from shortlist.sampling.unknown_domain import KeyNoise
from shortlist.scores import Scores
from shortlist.utility import Quality, mix

if TYPE_CHECKING:
    from shortlist.mechanisms.partition import KeySet, NamesChoice

CERTAIN = 42.0
"""A chance of e^-42 is none."""
NODES = 10
"""Points of a polynomial over many steps."""
CHUNK = 96
"""Points that are worked on at once."""
SLIGHT = 2e-3
"""Labels that are ahead with at most this chance are taken together."""
POWERS = 5
NONE = 1e-14
"""Where fewer right labels are expected, nothing is looked at."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What is expected of the k largest: `names`, how many there are; `right`, how many of them are right ones; and
    `top`, the chance that there are k, all are right, and none is missing that must be there."""

    names: float
    right: float
    top: float


def rank_keys(scores: Values, right: Mask, must: Mask, k: int, noise: KeyNoise) -> Ranking:
    """Of labels with these scores, of which some are right, and of those some must be there: to 1e-9.

    Labels that score 0 are absent.
    """
    heard = (scores > 0) & (noise.places(scores) + noise.far >= noise.step)
    if not heard.any():
        return Ranking(0.0, 0.0, 0.0)
    order = np.argsort(-scores[heard], kind="stable")
    ranks = _Ranks(scores[heard][order], right[heard][order], must[heard][order], k, noise)
    low, high = ranks.span()
    named = float(noise.reaches(ranks.ours, np.array([high])).sum())  # whoever is so high is named
    top = 0.0
    nodes = np.concatenate([np.empty((3, 0)), *(ranks.nodes(low, high) if low < high else ())], axis=1)
    nodes = nodes[:, np.argsort(nodes[0], kind="stable")]
    for start in range(0, nodes.shape[1], CHUNK):
        more, all_right = ranks.within(*nodes[:, start : start + CHUNK])
        named, top = named + more, top + all_right
    return Ranking(ranks.names(), min(named, float(k)), 0.0 if must[~heard].any() else min(top, 1.0))


Nodes = Floats
"""Points with weights, in three rows: the step, the share of the ties that are ahead, the weight."""


class _Ranks:
    def __init__(self, scores: Values, right: Mask, must: Mask, k: int, noise: KeyNoise) -> None:
        self.scores, self.right, self.must, self.k, self.noise = scores, right, must, k, noise
        self.ours = scores[right]
        self.slope = max(1.0, math.sqrt(k) / 2)
        self.many = k + math.sqrt(2 * CERTAIN * k) + 2 * CERTAIN

    def span(self) -> tuple[int, int]:
        """Sums from step `low` on may be the k-th largest, and those from `high` on are larger.

        The number that reach a step is a sum of independent chances with mean m: it is below k with a chance of at most
        e^(-(m - k)^2 / 2 m), and k or more with one of at most e^(k - m - k ln(k / m)), where m < k.
        """
        bar, k = self.noise.step, self.k
        end = max(bar + 1, math.ceil(float(self.noise.places(self.scores).max()) + self.noise.far) + 1)

        def few(step: int) -> bool:
            return float(self._means(self.scores, [step])[0]) <= self.many

        def too_few(step: int) -> bool:
            m = float(self._means(self.scores, [step])[0])
            return m == 0.0 or (m < k and k * math.log(k / m) - k + m >= CERTAIN)

        low = bar if few(bar) else bisect(few, bar, end, whole_numbers)[0]  # of that step some are ahead
        high = low if too_few(low) else bisect(too_few, low, end, whole_numbers)[1]
        return low, high

    def nodes(self, low: int, high: int) -> Iterator[Nodes]:
        """Where right labels may be, in blocks in which the number ahead changes by little."""
        places, far = np.sort(self.noise.places(self.ours)), self.noise.far
        ends = [(max(low, math.floor(p - far)), min(high, math.ceil(p + far) + 1)) for p in places.tolist()]
        widest = max(1, int(self.noise.smooth / 2))
        blocks = [block for span in _merge(ends) for block in _cut(*span, widest)]
        while blocks:
            edges, bounds = np.unique(np.array(blocks), return_inverse=True)
            all_of_them, ours = (self._means(scores, edges) for scores in (self.scores, self.ours))
            wider: list[tuple[int, int]] = []
            for (start, stop), (i, j) in zip(blocks, bounds.reshape(-1, 2).tolist(), strict=True):
                ahead = float(all_of_them[i] - all_of_them[j])
                if ours[i] - ours[j] < NONE:
                    continue
                if stop - start > 1 and ahead > self.slope:
                    middle = (start + stop) // 2
                    wider += [(start, middle), (middle, stop)]
                else:
                    few = min(1.0, (self.many - float(all_of_them[j])) / ahead) if ahead > self.slope else 1.0
                    yield _block(start, stop, ahead, self.slope, few)
            blocks = wider

    def _means(self, scores: Values, steps: Any) -> Floats:
        """How many of these reach each step, on average."""
        parts = np.array_split(np.asarray(steps, np.float64), len(steps) // 64 + 1)
        return np.concatenate([self.noise.reaches(scores, part).sum(axis=0) for part in parts])

    def within(self, step: Floats, share: Floats, weight: Floats) -> tuple[float, float]:
        """(right labels that are named there, the chance that all k are right and the last of them is there)."""
        near, surely = self._near(step)
        k, ours = self.k - surely, self.right[near]
        if k <= 0:
            return 0.0, 0.0
        steps, which = np.unique(step, return_inverse=True)
        above = self.noise.reaches(self.scores[near], steps + 1)
        tied = np.maximum(self.noise.reaches(self.scores[near], steps) - above, 0.0)[:, which]
        ahead = np.clip(above[:, which] + share * tied, 0.0, 1.0)
        everyone, without_one = np.zeros((2, k, len(step)))
        everyone[0] = 1.0
        for q, t in zip(ahead[ours], tied[ours], strict=True):
            _one_more(without_one, q)
            without_one += t * everyone
            _one_more(everyone, q)
        others = ahead[~ours]
        top = float(self._all_right(near, ahead, tied) @ weight)
        slight = others.max(axis=1, initial=0.0) <= SLIGHT
        for q in others[~slight]:
            _one_more(without_one, q)
        fewer = np.cumsum(_crowd(others[slight], k), axis=0)[::-1]  # of the others, so that fewer than k are in all
        return float((without_one * fewer).sum(axis=0) @ weight), top

    def _all_right(self, near: slice, ahead: Floats, tied: Floats) -> Floats:
        """The density at each node that a right label is the k-th, all before it are right, and none is missing."""
        before, after = slice(0, near.start), slice(near.stop, None)
        if not self.right[before].all() or self.must[after].any():
            return np.zeros(ahead.shape[1])
        must, right = self.must[near], self.right[near]
        everyone, without_one = np.ones(ahead.shape[1]), np.zeros(ahead.shape[1])
        for q, t in zip(ahead[must], tied[must], strict=True):
            everyone, without_one = everyone * q, without_one * q + t * everyone
        more = self.k - int(self.must.sum()) - int((~self.must[before]).sum())  # of those that are right, and equal
        if more < 0:
            return np.zeros(ahead.shape[1])
        equal, without_equal = np.zeros((2, more + 1, ahead.shape[1]))
        equal[0] = 1.0
        for q, t in zip(ahead[right & ~must], tied[right & ~must], strict=True):
            _one_more(without_equal, q)
            without_equal += t * equal
            _one_more(equal, q)
        last = without_one * equal[more] + (everyone * without_equal[more - 1] if more else 0.0)
        none = np.exp(np.log1p(-np.minimum(ahead[~right], 1 - 1e-16)).sum(axis=0))
        return np.asarray(last * none)

    def _near(self, step: Floats) -> tuple[slice, int]:
        """(labels that may be ahead of some node and not of all, how many before them are ahead of all)."""
        first, last = float(step.min()), float(step.max()) + 1
        places = -self.noise.places(self.scores)
        surely = int(np.searchsorted(places, -(last + self.noise.far), side="left"))
        end = int(np.searchsorted(places, -(first - self.noise.far), side="right"))
        return slice(surely, max(surely, end)), surely

    def names(self) -> float:
        """E[min(k, how many reach the bar)] = k - sum_{r<k} (k - r) P[r of them do]."""
        k, q = self.k, self.noise.reaches(self.scores, np.array([self.noise.step]))
        if q.sum() >= self.many:
            return float(k)
        slight = q[:, 0] <= SLIGHT
        chances = _crowd(q[slight], k + 1)
        for one in q[~slight]:
            _one_more(chances, one)
        return float(k - np.arange(k, -1.0, -1.0) @ chances[:, 0])


def _merge(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The union of intervals that begin in increasing order."""
    union: list[tuple[int, int]] = []
    for start, stop in spans:
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(stop, union[-1][1]))
        elif start < stop:
            union.append((start, stop))
    return union


def _cut(start: int, stop: int, width: int) -> Iterator[tuple[int, int]]:
    """An interval in parts that are not wider."""
    parts = -(-(stop - start) // width)
    return pairwise(start + (stop - start) * n // parts for n in range(parts + 1))


def _block(start: int, stop: int, ahead: float, slope: float, few: float) -> Nodes:
    """Nodes for all steps of a block: each of them, or those of a polynomial; times nodes for the ties of a step.

    Of the ties of a single step only so `few` come in question as make a difference.
    """
    count = stop - start
    steps, weights = np.arange(start, stop, dtype=np.float64), np.ones(count)
    if count > NODES:
        places, weights = _summing(count)
        steps = start + places
    ties = few * ahead / count  # by so much the number ahead changes over [0, 1]
    x, w = _gauss(1 if ties < 5e-5 else 2 if ties < 0.01 else 3 if ties < 0.1 else 8)
    panels = max(1, math.ceil(ties / slope))
    shares = (np.arange(panels)[:, None] / panels + (x + 1) / (2 * panels)).ravel()
    parts = np.tile(w / (2 * panels), panels)
    step, share = np.meshgrid(steps, few * shares, indexing="ij")
    return np.stack([step.ravel(), share.ravel(), np.outer(weights, few * parts).ravel()])


@lru_cache(256)
def _summing(count: int) -> tuple[Floats, Floats]:
    """Chebyshev points among steps 0 .. count - 1, and weights that sum the polynomial through them over all steps."""
    half = (count - 1) / 2
    x = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
    moments = np.polynomial.chebyshev.chebvander(np.arange(count) / half - 1, NODES - 1).sum(axis=0)
    weights: Floats = np.linalg.solve(np.polynomial.chebyshev.chebvander(x, NODES - 1).T, moments)
    return half + half * x, weights


_gauss = lru_cache(np.polynomial.legendre.leggauss)


def _one_more(chances: Floats, q: Floats) -> None:
    """From the chances that 0, 1, .. are ahead to those with one more label, in place."""
    moved = chances[:-1] * q
    chances *= 1 - q
    chances[1:] += moved


def _crowd(q: Floats, size: int) -> Floats:
    """P[r of these labels are ahead], r < size, for labels of slight chances.

    The generating function prod (1 + q (w - 1)) is e to sum_p (-1)^(p+1) (sum q^p) (w - 1)^p / p; beyond p = POWERS
    the terms are below sum q (2 SLIGHT)^POWERS, 1e-12 of how many are ahead.
    """
    chances = np.zeros((size, q.shape[1]))
    chances[0] = 1.0
    if not len(q):
        return chances
    exponent = np.zeros((POWERS + 1, q.shape[1]))  # in powers of w
    power = np.ones_like(q)
    for p in range(1, POWERS + 1):
        power *= q
        total = power.sum(axis=0) * (-1) ** (p + 1) / p
        for r in range(p + 1):
            exponent[r] += total * math.comb(p, r) * (-1) ** (p - r)
    chances[0] = np.exp(exponent[0])
    for n in range(1, size):
        chances[n] = sum(r * exponent[r] * chances[n - r] for r in range(1, min(POWERS, n) + 1)) / n
    return chances


def naming_chances(mechanism: KeySet, sums: Values) -> Floats:
    """P[a label with this sum is named], for every sum; 0 at 0."""
    sums = np.asarray(sums)
    chances = sum(share * noise.reaches(sums, np.array([noise.step]))[:, 0] for share, noise in _sides(mechanism))
    return np.where(sums > 0, chances, 0.0)


def _sides(mechanism: KeySet) -> tuple[tuple[float, KeyNoise], ...]:
    """(how often, which noise): one, or the two sides of the coin."""
    coin = mechanism._coin
    less = 0.0 if coin is None else float(coin.chance().mid())
    return tuple(zip((1 - less, less), mechanism._noises(), strict=False))


@dataclass(frozen=True, slots=True)
class KeysDistribution:
    """The names of a key set, of public scores."""

    mechanism: KeySet
    scores: Scores

    def sums(self) -> Values:
        """Return the sum of every label, in the order of the scores; none is below 0."""
        weights = self.scores._weights
        if weights is None or not self.mechanism.weighted:
            return np.maximum(self.scores.values, 0)
        sums = np.zeros(len(self.scores.values), np.int64)
        sums[by_score(self.scores)] = np.repeat(weights.scores, weights.sizes)
        return sums

    def inclusion(self) -> Floats:
        if self.mechanism.k is not None:
            raise bad_value("exact chances are known without a limit: leave $k= out, or draw with release_many")
        return naming_chances(self.mechanism, self.sums())

    def names(self) -> float:
        """Return how many labels are named, on average."""
        return float(self.inclusion().sum()) if self.mechanism.k is None else self._ranking().names

    def success(self) -> float:
        """P[the names are a true top k]; by people, where weights came with counts."""
        return self._ranking().top

    def recall(self, top: int | None = None) -> float:
        k = self.mechanism.k
        if k is not None and top in (None, k):
            return self._ranking().right / k
        there = int(np.count_nonzero(self.sums() > 0))
        wanted = there if top is None else check_k(top)
        if not wanted:
            return 0.0
        chances = np.sort(self.inclusion())[::-1]  # they rise with the sums
        return float(chances[:wanted].sum()) / wanted

    def _ranking(self) -> Ranking:
        """How many of the k largest are named, how many of these are right, and P[all are] (Theorem 220).

        A label that is held by as many people as the k-th is right, and one held by more must be there; where there
        are no people beside the sums, by the sums.
        """
        k = self.mechanism.k
        if k is None:
            raise bad_value("a true top k needs a k: write $k=10, for example")
        people = self.scores.values
        kth = np.sort(people)[-k] if k <= len(people) else 0
        known = self.sums(), people >= max(kth, 1), people > kth
        sides = [(share, rank_keys(*known, k, noise)) for share, noise in _sides(self.mechanism) if share]
        return Ranking(*(sum(share * getattr(one, what) for share, one in sides) for what in Ranking.__slots__))


@dataclass(frozen=True, slots=True)
class MixedDistribution:
    """The names of a noisy choice: the mean over its branches, by their chances."""

    mechanism: NamesChoice
    scores: Scores

    def success(self) -> float:
        return float(sum(p * one.success_probability(self.scores) for p, one in self._ways()))

    def recall(self) -> float:
        return float(sum(p * one.expected_recall(self.scores) for p, one in self._ways()))

    def quality(self) -> Quality:
        if any(one.kind == "keys" for one in self.mechanism.branches):
            raise ValueError("the quality of key sets is not known in closed form: ask for expected_recall, or draw")
        return mix((p, one.quality(self.scores)) for p, one in self._ways())

    def _ways(self) -> list[tuple[float, Any]]:
        chances = self.mechanism._choice(self.scores).chances()
        return [(p, one.mechanism) for p, one in zip(chances, self.mechanism.branches, strict=True) if p]


DISTRIBUTIONS: dict[str, Any] = {"KeySet": KeysDistribution, "NamesChoice": MixedDistribution}
