"""The entry of the exponential mechanism with its gap: no method of `top_k`, only a class."""

from __future__ import annotations

from shortlist.mechanisms.entry import Audited, Entry, Named
from shortlist.mechanisms.exponential_gap.mechanism import ExponentialWithGap

ENTRY = Entry(
    kind=ExponentialWithGap,
    page="exponential-with-gap.md",
    summary="the exponential mechanism's winner with its lead, and how sure that lead makes it",
    gives="one winner with its gap and a p-value",
    budgets="pure",
    audited=Audited(
        law="shortlist.mechanisms.exponential_gap.certified:law",
        names=(
            Named("exponential-with-gap", lambda k, budget: ExponentialWithGap(budget=budget)),
            Named("gap-of-a-winner", lambda k, budget: ExponentialWithGap(budget=budget, winner=0)),
        ),
    ),
)
