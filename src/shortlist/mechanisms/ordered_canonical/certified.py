"""The certified law of ordered canonical lists: a race of all lists, from the definition (Definition 186)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

from shortlist.certified.law import Law, noise_name
from shortlist.certified.races import choice_law

if TYPE_CHECKING:
    from shortlist.mechanisms.ordered_canonical.mechanism import OrderedCanonicalTopK
    from shortlist.scores import Scores


def law(mechanism: OrderedCanonicalTopK, scores: Scores) -> Law:
    """{list: chance} for all ordered lists of k."""
    lost, rate = losses(scores.values.tolist(), mechanism.k), mechanism._rate(scores)
    chances = choice_law([-rate * loss for loss in lost.values()], noise_name(mechanism._kind))
    return Law(dict(zip(lost, chances, strict=True)))


def losses(x: Sequence[float], k: int) -> dict[tuple[int, ...], Fraction]:
    """The loss of every ordered list of k: its worst miss, or minus the least gap if the list is right."""
    exact = [Fraction(value) for value in x]
    best = sorted(exact, reverse=True)
    gap = min((best[i] - best[i + 1] for i in range(min(k, len(x) - 1))), default=Fraction(0))
    table = {}
    for order in permutations(range(len(x)), k):
        missed = max(best[place] - exact[i] for place, i in enumerate(order))
        table[order] = missed if missed > 0 else -gap
    return table
