"""The entry of guarded lists: a list in one round that cannot collapse."""

from __future__ import annotations

from collections.abc import Sequence

from shortlist.mechanisms.entry import Audited, Compared, Entry, Method
from shortlist.mechanisms.guarded_list.mechanism import GuardedListTopK
from shortlist.mechanisms.plan_rows import Planned, listed


def _rows(k: int) -> Sequence[Planned]:
    if k == 1:
        return ()
    row = listed("guarded list", "guarded-list", lambda p: GuardedListTopK(k=k, epsilon=p), ordered=True,
                 currencies=("pure",))  # fmt: skip
    return (row,)


def _twice(mechanism: GuardedListTopK) -> int:
    """How many scores an audit tries: with fewer there is no guard."""
    return 2 * mechanism.k


ENTRY = Entry(
    kind=GuardedListTopK,
    page="guarded-list.md",
    summary="ordered canonical top-k that falls back to one-shot where it would return junk",
    gives="k items in order, and which way it went",
    budgets="pure",
    methods=(Method("guarded-list", lambda request: GuardedListTopK(k=request.size, budget=request.budget)),),
    compared=(Compared("guarded list", lambda k, epsilon: GuardedListTopK(k=k, epsilon=epsilon)),),
    planned=_rows,
    audited=Audited(law="shortlist.mechanisms.guarded_list.certified:law", one_by_one=True, k=2, size=_twice),
)
