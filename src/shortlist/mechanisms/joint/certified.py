"""The certified law of joint sequences: in proportion to e^(-rate times the worst miss) (Definition 76)."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

from shortlist.certified.law import Law
from shortlist.certified.races import choice_law

if TYPE_CHECKING:
    from shortlist.mechanisms.joint.mechanism import JointTopK
    from shortlist.scores import Scores


def law(mechanism: JointTopK, scores: Scores) -> Law:
    """{sequence: chance} for all ordered sequences of k."""
    x = [Fraction(value) for value in scores.values.tolist()]
    ranking, rate = sorted(x, reverse=True), mechanism._rate(scores)
    orders = list(permutations(range(len(x)), mechanism.k))
    losses = [max(ranking[place] - x[i] for place, i in enumerate(order)) for order in orders]
    return Law(dict(zip(orders, choice_law([-rate * loss for loss in losses], "gumbel"), strict=True)))
