"""The certified density of the exponential mechanism with its gap (Theorem 86)."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import TYPE_CHECKING

from flint import arb

from shortlist.certified.curves import power, rational
from shortlist.certified.law import GAPS, Law

if TYPE_CHECKING:
    from shortlist.mechanisms.exponential_gap.mechanism import ExponentialWithGap
    from shortlist.scores import Scores


def law(mechanism: ExponentialWithGap, scores: Scores) -> Law:
    """The joint density of winner and gap is logistic: e^(theta - g) / (1 + e^(theta - g))^2 (Theorem 86).

    Of a given winner divided by its chance, 1 / (1 + e^-theta).
    """
    labels = list(scores.labels)
    given = None if mechanism.winner is None else labels.index(mechanism.winner)
    scale = mechanism._scale(scores)
    m = [rational(Fraction(value) / scale) for value in scores.values.tolist()]
    densities: dict[Hashable, arb] = {}
    for s in range(len(m)) if given is None else (given,):
        theta = arb(m[s]) - sum((power(m[j]) for j in range(len(m)) if j != s), start=arb(0)).log()
        for gap in GAPS:
            odds = (theta - arb(gap)).exp()
            densities[s, gap] = odds / (1 + odds) ** 2
            if given is not None:
                densities[s, gap] *= 1 + (-theta).exp()
    return Law(densities, density=True)
