"""The entry of guarded lists: the default for a list of 8 to 100 items under a pure budget."""

from __future__ import annotations

from collections.abc import Sequence

from shortlist.mechanisms.entry import Audited, Compared, Entry, Fact, Method, Request
from shortlist.mechanisms.guarded_list.mechanism import GuardedListTopK
from shortlist.mechanisms.plan_rows import Planned, listed

FEWEST, MOST = 8, 100
"""Items: one-shot is as good for fewer, and for more the junk takes long to count."""


def takes(request: Request) -> bool:
    """Whether the rule of `method="auto"` takes guarded lists: by k and the budget alone."""
    return request.plain and request.pure and request.ordered and FEWEST <= (request.k or 0) <= MOST


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
    methods=(
        Method(
            "guarded-list",
            lambda request: GuardedListTopK(k=request.size, budget=request.budget),
            when=takes,
            why=f"for a list of {FEWEST} to {MOST} items and a pure budget: the exact order in one round where epsilon "
            "allows it, and one-shot with a hundredth less where not",
            fact=Fact(
                "on all shapes that were tried it cost at most .016 of recall beside one-shot alone",
                "docs/mechanisms/guarded-list.md",
            ),
        ),
    ),
    compared=(Compared("guarded list", lambda k, epsilon: GuardedListTopK(k=k, epsilon=epsilon)),),
    planned=_rows,
    audited=Audited(law="shortlist.mechanisms.guarded_list.certified:law", one_by_one=True, k=2, size=_twice),
)
