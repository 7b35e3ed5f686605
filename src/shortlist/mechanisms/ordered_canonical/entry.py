"""The entry of ordered canonical top-k: a list in one round, which `top_k` takes only by name."""

from __future__ import annotations

from collections.abc import Sequence

from shortlist.mechanisms.entry import Audited, Compared, Entry, Fact, Method
from shortlist.mechanisms.ordered_canonical.mechanism import OrderedCanonicalTopK
from shortlist.mechanisms.plan_rows import Planned, listed


def _rows(k: int) -> Sequence[Planned]:
    if k == 1:
        return ()
    return (
        listed("ordered canonical", "ordered-canonical", lambda p: OrderedCanonicalTopK(k=k, epsilon=p), ordered=True,
               currencies=("pure",)),
        listed("ordered canonical, Gumbel", "ordered-canonical",
               lambda p: OrderedCanonicalTopK(k=k, epsilon=p, noise="gumbel"), ordered=True,
               currencies=("zcdp", "approx")),
    )  # fmt: skip


ENTRY = Entry(
    kind=OrderedCanonicalTopK,
    page="ordered-canonical.md",
    summary="one noisy maximum over all lists of k, in which the right list leads by its gap",
    gives="k items in order",
    budgets="pure; zCDP and (ε, δ) with Gumbel noise",
    methods=(
        Method(
            "ordered-canonical",
            lambda request: OrderedCanonicalTopK(k=request.size, budget=request.budget),
            fact=Fact(
                "for the exact order of eight public lists it needed 0.43 to 0.56 of the epsilon of joint",
                "docs/mechanisms/ordered-canonical.md",
            ),
        ),
    ),
    compared=(Compared("ordered canonical", lambda k, epsilon: OrderedCanonicalTopK(k=k, epsilon=epsilon)),),
    planned=_rows,
    audited=Audited(law="shortlist.mechanisms.ordered_canonical.certified:law", one_by_one=True),
)
