"""The certified law of a list of a limited domain, where an absent label counts 0 (Definition 110)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, Any

from flint import arb

from shortlist.certified.curves import power, rational
from shortlist.certified.law import Law, noise_name
from shortlist.certified.races import ordered_law

if TYPE_CHECKING:
    from shortlist.mechanisms.limited_domain.mechanism import LimitedDomainTopK
    from shortlist.scores import Scores


def working_list(counts: Sequence[int], limit: int) -> tuple[list[int], int]:
    """(T, c): the labels that count more than row limit + 1, and more than 0."""
    ranking = sorted([max(count, 0) for count in counts], reverse=True)
    c = ranking[limit] if limit < len(ranking) else 0
    return [i for i, count in enumerate(counts) if count > c], c


def law(mechanism: LimitedDomainTopK, scores: Scores) -> Law:
    """(labels in order, cut before the bar; whether the bar ended them)."""
    return lists_law(mechanism, scores.values.tolist())


def lists_law(mechanism: LimitedDomainTopK, counts: Sequence[int]) -> Law:
    """The same for these counts."""
    assert mechanism.limit is not None
    rate, (offset, many) = Fraction(mechanism._rates[0]), mechanism._bar
    there, c = working_list(counts, mechanism.limit)
    bar = c + 1 + offset
    if noise_name(mechanism.noise) == "gumbel":
        weights = [power(rational(rate * counts[i])) for i in there]
        return Law(_peeled(there, weights, many * power(rational(rate * bar)), mechanism.k))
    k = min(mechanism.k, len(there) + 1)
    chances: dict[Any, arb] = {}
    for order, chance in ordered_law([*(counts[i] for i in there), bar], k, "exponential", 1 / rate).items():
        ended = len(there) in order or len(order) < mechanism.k
        cut = order[: order.index(len(there))] if len(there) in order else order
        key = (tuple(there[i] for i in cut), ended)
        chances[key] = chances.get(key, arb(0)) + chance
    return Law(chances)


def _peeled(there: list[int], weights: list[arb], bar: arb, k: int) -> dict[Any, arb]:
    law: dict[Any, arb] = {}
    for n in range(min(k, len(there)) + 1):
        for order in permutations(range(len(there)), n):
            rest, chance = sum(weights, start=bar), arb(1)
            for i in order:
                chance *= weights[i] / rest
                rest = bar + sum(
                    (w for j, w in enumerate(weights) if j not in order[: order.index(i) + 1]), start=arb(0)
                )
            law[tuple(there[i] for i in order), n < k] = chance * bar / rest if n < k else chance
    return law
