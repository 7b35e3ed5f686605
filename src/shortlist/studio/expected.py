"""How good the list would be if the counts looked as the analyst expects: `sl.plan` on made-up counts of that shape."""

from __future__ import annotations

from typing import Any

from shortlist.privacy import ApproxDP
from shortlist.studio.form import Offer
from shortlist.studio.planner import Planner

MOST_ITEMS = 20_000
"""Counts beyond these are far behind the top, and would only take time."""


def expected(plan: Offer, request: dict[str, Any], planner: Planner) -> dict[str, Any] | None:
    """What each mechanism would reach with this budget, and the epsilon it would need; None if nothing was described.

    Raises
    ------
    ValueError
        naming the field, for a description that is none, or saying that the plan takes too long.
    """
    users, shape, items = request.get("users"), request.get("shape"), plan.candidates or request.get("items") or 10_000
    if users is None or plan.question.k is None or plan.question.by:  # groups share the budget
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
    return planner.ask(facts, budget.epsilon)
