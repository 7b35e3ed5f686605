"""The entry of Gumbel values: a list with values that say nothing about the item beside them, only by name."""

from __future__ import annotations

from shortlist.mechanisms.entry import Audited, Entry, Method, Request
from shortlist.mechanisms.gumbel_values.mechanism import GumbelTopKValues


def _built(request: Request) -> GumbelTopKValues:
    return GumbelTopKValues(k=request.size, budget=request.budget)  # type: ignore[arg-type]


ENTRY = Entry(
    kind=GumbelTopKValues,
    page="gumbel-values.md",
    summary="Gumbel noise once, the k largest noisy scores released as they are",
    gives="k items in order with noisy values",
    budgets="(ε, δ)",
    methods=(
        Method(
            "gumbel-values",
            _built,
            values=True,
        ),
    ),
    audited=Audited(law="shortlist.mechanisms.gumbel_values.certified:law", sees_level=True),
)
