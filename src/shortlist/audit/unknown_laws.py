"""Certified laws where the list of candidates comes from the data: an absent label counts 0.

Lists and sets of a limited domain (Definition 110, Theorem 115), chosen ranks and stable sets (Theorem 100, 104).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

from flint import arb

from shortlist.audit.enumeration import Law, Point, neighbours
from shortlist.audit.set_laws import canonical
from shortlist.certified.curves import power, rational
from shortlist.certified.races import choice_law, ordered_law
from shortlist.exact.stability_test import GaussianTest, LaplaceTest
from shortlist.mechanisms import CanonicalLimitedDomain, CanonicalTopK, LargeGap, LimitedDomainTopK, StableTopK
from shortlist.mechanisms.large_gap.mechanism import last_rank, offsets
from shortlist.pate import MultiLabelPATE
from shortlist.scores import Scores

STOP = "#"


def histograms(labels: int, top: int) -> Iterator[tuple[Point, Point]]:
    """All histograms with counts up to `top`, each with one more user, who may bring any labels."""
    for x, y in neighbours(labels, top, monotone=True):
        if min(y) >= 0:
            yield x, y


def working_list(counts: Sequence[int], limit: int) -> tuple[list[int], int]:
    """(T, c): the labels that count more than row limit + 1."""
    ranked = sorted(counts, reverse=True)
    c = ranked[limit] if limit < len(ranked) else 0
    return [i for i, count in enumerate(counts) if count > c], c


def limited_domain(mechanism: LimitedDomainTopK, scores: Scores) -> Law:
    """(labels in order, cut before the bar; whether the bar ended them)."""
    counts, rate, (offset, many) = scores.values.tolist(), Fraction(mechanism._rates[0]), mechanism._bar
    there, c = working_list(counts, mechanism._limit)
    bar = c + 1 + offset
    if mechanism.noise == "gumbel":
        weights = [power(rational(rate * counts[i])) for i in there]
        return Law(_peeled(there, weights, many * power(rational(rate * bar)), mechanism.k))
    k = min(mechanism.k, len(there) + 1)
    law: dict[Any, arb] = {}
    for order, chance in ordered_law([*(counts[i] for i in there), bar], k, "exponential", 1 / rate).items():
        ended = len(there) in order or len(order) < mechanism.k
        cut = order[: order.index(len(there))] if len(there) in order else order
        key = (tuple(there[i] for i in cut), ended)
        law[key] = law.get(key, arb(0)) + chance
    return Law(law)


def _peeled(there: list[int], weights: list[arb], bar: arb, k: int) -> dict[Any, arb]:
    law: dict[Any, arb] = {}
    for n in range(min(k, len(there)) + 1):
        for order in permutations(range(len(there)), n):
            left, chance = sum(weights, start=bar), arb(1)
            for i in order:
                chance *= weights[i] / left
                left = bar + sum(
                    (w for j, w in enumerate(weights) if j not in order[: order.index(i) + 1]), start=arb(0)
                )
            law[tuple(there[i] for i in order), n < k] = chance * bar / left if n < k else chance
    return law


def canonical_limited(mechanism: CanonicalLimitedDomain, scores: Scores) -> Law:
    """All sets of at most k labels of T, in proportion to e^(epsilon (g m - (1-g) M))."""
    counts, k, limit = scores.values.tolist(), mechanism.k, mechanism.limit
    assert limit is not None
    gamma, rate = Fraction(mechanism.gamma), Fraction(mechanism._round)
    there, c = working_list(counts, limit)
    bar = c + 1 + mechanism.offset
    chosen = [y for j in range(k + 1) for y in combinations(there, j)]
    exponents = []
    for y in chosen:
        inside = min([Fraction(counts[i]) for i in y] + ([bar] if len(y) < k else []))
        outside = max([Fraction(counts[i]) for i in there if i not in y] + [bar])
        exponents.append(rate * (gamma * inside - (1 - gamma) * outside))
    return Law(dict(zip(chosen, choice_law(exponents, "gumbel"), strict=True)))


def large_gap(mechanism: LargeGap, scores: Scores) -> Law:
    """Ranks in proportion to e^((gap + r) / scale)."""
    return Law(_ranks(scores, mechanism.limit, mechanism.regularizer, 1 / mechanism._scale(scores)))


def _ranks(scores: Scores, limit: int | None, regularizer: Any, rate: Fraction) -> dict[int, arb]:
    last = last_rank(scores, limit)
    ranked = [*sorted((Fraction(value) for value in scores.values.tolist()), reverse=True), *[Fraction(0)] * (last + 1)]
    added = offsets(regularizer, last)
    able = [j for j in range(last) if added[j] is not None]
    exponents = [rate * (ranked[j] - ranked[j + 1] + (added[j] or 0)) for j in able]
    return dict(zip((j + 1 for j in able), choice_law(exponents, "gumbel"), strict=True))


def stable(mechanism: StableTopK, scores: Scores) -> Law:
    """(rank, its set or None): the set is named with the chance that its test passes, which a tie never does.

    Where it is filled up: (rank, whether the test passed, the labels).
    """
    parts, counts = mechanism._parts, scores.values.tolist()
    if mechanism.k is not None and not mechanism.fill:
        ranks = {mechanism.k: arb(1)}
    else:
        ranks = _ranks(scores, mechanism.limit, mechanism.regularizer, 1 / mechanism._scale)
    order = sorted(range(len(counts)), key=lambda i: (-counts[i], i))
    law: dict[Any, arb] = {}
    for j, chance in ranks.items():
        ranked = [*(counts[i] for i in order), *[0] * (j + 1)]
        passed = passing(parts.test, ranked[j - 1] - ranked[j])
        found: dict[tuple[int, ...] | None, arb] = {None: chance * (1 - passed)}
        if not passed.is_zero():
            found[tuple(sorted(order[:j]))] = chance * passed
        for chosen, share in found.items():
            if not mechanism.fill:
                law[j, chosen] = share
                continue
            for labels, part in _filled(mechanism, scores, chosen or ()).items():
                law[j, chosen is not None, labels] = share * part
    return Law(law)


def _filled(mechanism: StableTopK, scores: Scores, chosen: tuple[int, ...]) -> dict[tuple[int, ...], arb]:
    """k labels of the stable set, or that set and as many others as make k: canonical rounds."""
    k, counts = mechanism.k, scores.values.tolist()
    assert k is not None
    if len(chosen) == k:
        return {chosen: arb(1)}
    inside = len(chosen) > k
    public = scores.public or inside
    kept = () if inside else chosen
    among = list(chosen) if inside else [i for i in range(len(counts)) if i not in chosen]
    one_round = mechanism._filling(k - len(kept), public=public)
    left = Scores([counts[i] for i in among], monotone=True, public=public)
    law = canonical(one_round, left) if isinstance(one_round, CanonicalTopK) else canonical_limited(one_round, left)
    return {tuple(sorted((*kept, *(among[i] for i in y)))): part for y, part in law.chances.items()}


def pate_law(pate: MultiLabelPATE, counts: Sequence[int]) -> Law:
    """The set of labels, or None: a rank by Gumbel noise on the gaps, then the test, for gaps that move by 2."""
    ranked = [*sorted(counts, reverse=True), 0]
    rate = 1 / pate._scale
    gaps = [ranked[j] - ranked[j + 1] for j in range(len(counts))]
    law: dict[Any, arb] = {None: arb(0)}
    for j, chance in enumerate(choice_law([rate * gap for gap in gaps], "gumbel")):
        passed = passing(pate._test, gaps[j])
        law[None] += chance * (1 - passed)
        if gaps[j]:
            chosen = tuple(i for i, count in enumerate(counts) if count >= ranked[j])
            law[chosen] = law.get(chosen, arb(0)) + chance * passed
    return Law(law)


def ballots(labels: int, teachers: int) -> Iterator[tuple[Point, Point]]:
    """Counts of votes, and what one teacher may make of them: every count one more, one less, or the same."""
    for x, y in neighbours(labels, teachers):
        if min(y) >= 0 and max(y) <= teachers:
            yield x, y


def passing(test: Any, gap: int) -> arb:
    """The chance of passing, from the formulas (Theorem 102, 103): the optimal test by its recursion."""
    if gap == 0:
        return arb(0)
    if isinstance(test, GaussianTest):
        above = max(gap, test.slack) - test.slack
        return ((arb(test.z) - arb(rational(test.rate)) * above) / arb(2).sqrt()).erfc() / 2
    e, delta = arb(rational(test.epsilon)), arb(rational(test.delta))
    if isinstance(test, LaplaceTest):
        need = (1 / (2 * delta)).log() - e * (gap - 1)
        return (-need).exp() / 2 if need >= 0 else 1 - need.exp() / 2
    chance = arb(0)
    for _ in range(gap):
        steps = (e.exp() * chance + delta, 1 - (-e).exp() * (1 - chance - delta), arb(1))
        chance = min(steps, key=float)
    return chance
