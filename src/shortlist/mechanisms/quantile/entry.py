"""The entry of private quantiles: no method of `top_k`, which takes candidates in no order."""

from __future__ import annotations

from shortlist.mechanisms.entry import Audited, Entry, Named
from shortlist.mechanisms.quantile.mechanism import Quantile

ENTRY = Entry(
    kind=Quantile,
    page="quantile.md",
    summary="a median or other quantiles of one number per person, on a public grid of any size",
    gives="one point of the grid for each q",
    budgets="pure, zCDP, (ε, δ)",
    audited=Audited(
        law="shortlist.mechanisms.quantile.certified:law",
        inputs="line",
        sees_level=True,
        one_by_one=True,
        size=lambda mechanism: 3,
        names=(
            Named("quantile", lambda k, budget: Quantile(q=0.5, budget=budget, votes_per_user=1)),
            Named(
                "quantile-gumbel", lambda k, budget: Quantile(q=0.25, budget=budget, noise="gumbel", votes_per_user=1)
            ),
            Named("quantiles", lambda k, budget: Quantile(q=(0.25, 0.5, 0.75), budget=budget, votes_per_user=1)),
        ),
    ),
)
