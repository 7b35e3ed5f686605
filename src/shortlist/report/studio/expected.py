"""How good the list would be if the counts looked as the analyst expects: `sl.plan` on made-up counts of that shape."""

from __future__ import annotations

import math
from typing import Any

from shortlist.planning import plan as planned
from shortlist.privacy import ApproxDP
from shortlist.report.studio.question import Plan

TARGET = 0.99
SHOWN = 5
"""So many mechanisms are shown, the cheapest first."""
MOST_ITEMS = 20_000
"""Counts beyond these are far behind the top, and would only take time."""


def expected(plan: Plan, asked: dict[str, Any]) -> dict[str, Any] | None:
    """What each mechanism would reach with this budget, and the epsilon it would need; None if nothing was described.

    Raises
    ------
    ValueError
        naming the field, for a description that is none.
    """
    users, shape, items = asked.get("users"), asked.get("shape"), plan.candidates or asked.get("items") or 10_000
    if users is None:
        return None
    for name, number in (("users", users), ("items", items)):
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 10**10:
            raise ValueError(f"{name}: write a whole number, for example 50000")
    budget = plan.question.budget
    facts: dict[str, Any] = {
        "k": plan.question.k,
        "items": min(items, MOST_ITEMS),
        "users": users,
        "shape": shape,
        "budget": "approx" if isinstance(budget, ApproxDP) else "pure",
        "domain": "known" if plan.candidates else "unknown",
        "ordered": plan.question.ordered,
        **({"delta": budget.delta} if isinstance(budget, ApproxDP) else {}),
    }
    reached = {row.mechanism: row.reached for row in planned(epsilon=budget.epsilon, **facts).rows}
    needed = planned(target=TARGET, **facts)
    rows = [
        {
            "mechanism": row.mechanism,
            "reached": reached[row.mechanism],
            "needed": row.epsilon if math.isfinite(row.epsilon) else None,
        }
        for row in needed.rows
        if row.mechanism in reached
    ]
    return {"described": needed.described, "rows": rows[:SHOWN], "bound": needed.bound}
