"""The entry of measured sets: names with a noisy count of each, the default where values are wanted without gaps."""

from __future__ import annotations

from shortlist.mechanisms.entry import Audited, Entry, Method, Request
from shortlist.mechanisms.measured.mechanism import MeasuredSet


def _built(request: Request) -> MeasuredSet:
    return MeasuredSet(k=request.size, budget=request.budget, limit=request.limit)


def _wanted(request: Request) -> bool:
    """Values, under every budget; of candidates that come from the data too, for a fixed k."""
    return request.measured and (request.listed or request.k is not None)


ENTRY = Entry(
    kind=MeasuredSet,
    page="measured.md",
    summary="selects a set with one part of the budget, and measures each of its members with the other",
    gives="at most k items in order of their noisy values, with margins",
    budgets="pure, zCDP, (ε, δ)",
    methods=(
        Method(
            "measured-set",
            _built,
            when=_wanted,
            why="MeasuredSet, the default for values: it selects items, then measures each with fresh noise",
            domain="either",
            values=True,
        ),
    ),
    audited=Audited(law="shortlist.mechanisms.measured.certified:law", sees_level=True, one_by_one=True),
)
