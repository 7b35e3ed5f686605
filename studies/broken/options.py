"""Broken options: a lead paid with its winner, a refund too large, the rarest name, and a group's delta."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import arb

from shortlist.audit import Law
from shortlist.audit.certified.base import GAPS, Point, choice_law, rational
from shortlist.audit.certified.threshold import hybrids_law as hybrid
from shortlist.mechanisms.threshold import HybridTopK
from shortlist.privacy import ApproxDP
from shortlist.scores import Scores
from studies.broken.entry import Broken

SCALE = Fraction(2)
"""R / epsilon of general scores, epsilon 1."""
DELTA = Fraction(1, 1000)


def winner_and_lead(x: Point, *, given: bool) -> Law:
    """Who wins, then a lead of that winner: of the race that it won, or of a race of its own that it may lose."""
    chances = choice_law([Fraction(value) / SCALE for value in x], "gumbel")
    densities: dict[Any, arb] = {}
    for i, chance in enumerate(chances):
        odds = chance / (1 - chance)
        for gap in GAPS:
            ahead = odds * (-arb(gap)).exp()
            lead = ahead / (1 + ahead) ** 2
            densities[i, gap] = lead if given else chance * lead
    return Law(densities, density=True)


def refunded(x: Point, *, threshold: bool) -> Law:
    """Hybrid top-k, with what each outcome is said to cost: its items, and the threshold that ended it or not."""
    mechanism = HybridTopK(threshold=0, k=2, epsilon=1.0)
    law = hybrid(mechanism, Scores([float(value) for value in x]))
    assert law.costs is not None
    paid = {outcome: cost if threshold else len(outcome[0]) / 2 for outcome, cost in law.costs.items()}
    return Law(law.chances, density=True, costs=paid)


def rarest(x: Point, *, public: bool) -> Law:
    """The name with the smallest noisy count, of all on a list or of those that somebody holds."""
    there = [i for i, count in enumerate(x) if public or count > 0]
    return Law(dict(zip(there, choice_law([-Fraction(x[i]) for i in there], "gumbel"), strict=True)))


def group_of_three(x: Point) -> Law:
    """A test that passes as often as (1, DELTA) allows from a tie on, one person at a time (Theorem 103)."""
    passes, delta = arb(0), arb(rational(DELTA))
    for _ in range(int(x[0])):
        passes = arb(1).exp() * passes + delta
    return Law({"passes": passes, "fails": 1 - passes})


ENTRIES = (
    Broken(
        name="lead of a winner, from a race of its own",
        what="winner and lead are paid once, although the lead is not that of the race which the winner won",
        source="by hand: the lead must be drawn given who won",  # (Theorem 258)
        law=lambda x: winner_and_lead(x, given=False),
        pairs=(((0, 0), (1, -1)), ((2, 0), (1, 1))),
    ),
    Broken(
        name="hybrid refunded by its items alone",
        what="a list that the threshold ended is charged for its items, and an empty one not at all",
        source="by hand: the threshold ran too",  # (Theorem 99)
        law=lambda x: refunded(x, threshold=False),
        pairs=(((0, 0), (1, -1)), ((1, 0), (0, 1))),
    ),
    Broken(
        name="smallest count of names from the data",
        what="the rarest name is that of the one person who brought it",
        source="by hand: negated counts need a public list",
        law=lambda x: rarest(x, public=False),
        pairs=(((5, 0), (5, 1)), ((3, 2), (3, 1))),
        claim=ApproxDP(1.0, 1e-3),
    ),
    Broken(
        name="delta of a group, added up",
        what="three people are promised (3 epsilon, 3 delta): the deltas grow by e^epsilon with each of them",
        source="a common slip",
        law=group_of_three,
        pairs=(((0,), (3,)),),
        claim=ApproxDP(3.0, 3e-3),
    ),
)
