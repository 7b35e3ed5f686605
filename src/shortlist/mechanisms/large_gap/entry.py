"""The entry of the rank with a large gap: no method of `top_k`, only a class."""

from __future__ import annotations

from shortlist.mechanisms.entry import Audited, Entry, Named
from shortlist.mechanisms.large_gap.mechanism import LargeGap

ENTRY = Entry(
    kind=LargeGap,
    page="large-gap.md",
    summary="how many: the rank behind which the scores fall off",
    gives="a number k",
    budgets="pure, zCDP, (ε, δ)",
    audited=Audited(
        law="shortlist.mechanisms.large_gap.certified:law",
        sees_level=True,
        ranks=True,
        names=(Named("large-gap", lambda k, budget: LargeGap(budget=budget)),),
    ),
)
