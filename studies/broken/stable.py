"""Broken stable sets: a test for counts used for scores that move both ways, and noise charged as if on one gap."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import arb

from shortlist.audit import Law
from shortlist.audit.certified.base import Point, ordered_law
from shortlist.privacy import ZCDP, ApproxDP
from studies.broken.entry import Broken

EPSILON, DELTA = Fraction(1), Fraction(1, 100)


def stable_law(x: Point, unit: Fraction) -> Law:
    """The better of two, or nothing: the Laplace test of a gap in whole units, with these EPSILON and DELTA."""
    best = max(range(len(x)), key=lambda i: x[i])
    ranking = sorted((Fraction(value) for value in x), reverse=True)
    lead = (ranking[0] - ranking[1]) / unit
    gap = lead.numerator // lead.denominator
    chances: dict[Any, arb] = {None: arb(1)}
    if gap:
        need = (1 / (2 * arb(DELTA.numerator) / DELTA.denominator)).log() - (gap - 1)
        success = (-need).exp() / 2 if need >= 0 else 1 - need.exp() / 2
        chances = {None: 1 - success, best: success}
    return Law(chances)


def rank_law(x: Point) -> Law:
    """The rank with the larger of two gaps under Gaussian noise of deviation 1."""
    ranking = sorted(x, reverse=True)
    return Law(ordered_law([ranking[0] - ranking[1], ranking[1] - ranking[2]], 1, "gaussian", 1))


ENTRIES = (
    Broken(
        name="stable set, scores that move both ways",
        what="gaps are counted in sensitivities, although one person moves a gap by two of them",
        source="a slip: the constants of counts, used for other scores",
        law=lambda x: stable_law(x, Fraction(1)),
        pairs=(((6, 3), (5, 4)), ((4, 2), (3, 3)), ((2, 0), (1, 1))),
        claim=ApproxDP(1.0, 0.01),
    ),
    Broken(
        name="large gap, gaussian noise charged as one number",
        what="the noisy maximum over all gaps is charged 1 / (2 sigma^2), the price of a single gap",
        source="a slip: the charge of one number, for a maximum",
        law=rank_law,
        pairs=(((2, 1, 1), (2, 2, 1)), ((3, 2, 1), (3, 2, 2))),
        claim=ZCDP(0.5),
    ),
)
