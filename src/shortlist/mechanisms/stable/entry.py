"""The entry of stable top-k: as many as belong together, the default where no k is given."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from shortlist.exact.stability_test import OptimalTest
from shortlist.mechanisms.entry import Audited, Entry, Fact, Method, Named, Request
from shortlist.mechanisms.plan_rows import EVERY, Goal, Planned, unlisted
from shortlist.mechanisms.stable.mechanism import StableTopK
from shortlist.scores import Scores


def _built(request: Request) -> StableTopK:
    return StableTopK(k=request.k, budget=request.budget, limit=request.limit, fill=request.k is not None)


def _whole(request: Request) -> StableTopK:
    return StableTopK(k=request.size, budget=request.budget)


def _rows(k: int) -> Sequence[Planned]:
    def law(scores: Scores, goal: Goal, p: float, delta: float) -> float:
        largest = np.partition(scores.values, len(scores) - np.array([k, k + 1]))[::-1]
        gap = int(largest[k - 1]) - int(largest[k])
        return float(OptimalTest(Fraction(p), Fraction(delta)).chance(gap))

    label, method = "stable, all or nothing", "all-or-nothing"
    return (unlisted(label, method, law, currencies=("approx",), goals=EVERY, one_pair=True),)


ENTRY = Entry(
    kind=StableTopK,
    page="stable.md",
    summary="chooses k where the gap is large, tests that the set is stable, and releases it without noise",
    gives="a set, or nothing; filled up to k if wanted",
    budgets="(ε, δ), zCDP with a δ",
    methods=(
        Method(
            "stable",
            _built,
            when=lambda request: not request.listed and request.k is None,
            why=lambda request: "StableTopK, because k=None: the data choose k where the scores drop",
            fact=Fact("where the scores fall off behind rank k, its cost does not grow with k", "docs/planning.md"),
            domain="unknown",
            ordered=False,
        ),
        Method("all-or-nothing", _whole, domain="unknown", ordered=False),
    ),
    planned=_rows,
    audited=Audited(
        law="shortlist.mechanisms.stable.certified:law",
        inputs="histograms",
        sees_level=True,
        names=(Named("stable", lambda k, budget: StableTopK(k=k, budget=budget)),),
    ),
)
