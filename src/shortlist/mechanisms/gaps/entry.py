"""The entries of lists with gaps, and of lists that are measured afterwards: the default where gaps are wanted."""

from __future__ import annotations

from shortlist.mechanisms.entry import Audited, Entry, Method, Named, Request
from shortlist.mechanisms.gaps.mechanism import MeasuredTopK, TopKWithGaps


def _built(request: Request) -> TopKWithGaps | MeasuredTopK:
    kind = MeasuredTopK if request.values else TopKWithGaps
    return kind(k=request.size, budget=request.budget)


WITH_GAPS = Entry(
    kind=TopKWithGaps,
    page="top-k-with-gaps.md",
    summary="the k largest noisy scores, and by how much each leads the next, free of charge",
    gives="k items in order with gaps",
    budgets="pure",
    methods=(
        Method(
            "gaps",
            _built,
            when=lambda request: request.listed and request.gaps,
            why="gaps were requested, and a pure budget releases them with the list at no extra cost",
            values=True,
            gaps=True,
        ),
    ),
    audited=Audited(law="shortlist.mechanisms.gaps.certified:law"),
)

MEASURED = Entry(
    kind=MeasuredTopK,
    page="top-k-with-gaps.md",
    summary="selects with half of epsilon, measures with the other, and combines measurements and gaps",
    gives="k items in order with values and gaps",
    budgets="pure",
    audited=Audited(
        law="shortlist.mechanisms.gaps.certified:measured_law",
        sees_level=True,
        names=(Named("measured", lambda k, budget: MeasuredTopK(k=k, budget=budget)),),
    ),
)

ENTRY = (WITH_GAPS, MEASURED)
