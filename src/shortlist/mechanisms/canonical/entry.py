"""The entry of canonical top-k: a set, chosen by name; the default guards it."""

from __future__ import annotations

from collections.abc import Sequence

from shortlist.mechanisms.canonical.mechanism import CanonicalTopK
from shortlist.mechanisms.entry import Audited, Compared, Entry, Fact, Method
from shortlist.mechanisms.plan_rows import Planned, listed


def _rows(k: int) -> Sequence[Planned]:
    if k == 1:
        return ()
    return (
        listed("canonical", "canonical", lambda p: CanonicalTopK(k=k, epsilon=p), ordered=False, currencies=("pure",)),
        listed("canonical, Gumbel", "canonical", lambda p: CanonicalTopK(k=k, epsilon=p, noise="gumbel"),
               ordered=False, currencies=("zcdp", "approx")),
    )  # fmt: skip


ENTRY = Entry(
    kind=CanonicalTopK,
    page="canonical.md",
    summary="one noisy maximum over all sets of k",
    gives="a set of k",
    budgets="pure; zCDP and (ε, δ) with Gumbel noise",
    methods=(
        Method(
            "canonical",
            lambda request: CanonicalTopK(k=request.size, budget=request.budget),
            fact=Fact(
                "it needed 9.6, 110 and 765 times less epsilon than peeling for the top 10, 100 and 1,000 of Netflix",
                "docs/planning.md",
            ),
        ),
    ),
    compared=(Compared("canonical", lambda k, epsilon: CanonicalTopK(k=k, epsilon=epsilon)),),
    planned=_rows,
    audited=Audited(law="shortlist.mechanisms.canonical.certified:law", one_by_one=True),
)
