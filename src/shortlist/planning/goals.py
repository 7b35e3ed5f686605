"""What a user may aim at."""

from __future__ import annotations

from typing import get_args

from shortlist.mechanisms.plan_rows import Goal

GOALS: dict[str, str] = {
    "top": "the released set is exactly the true top k",
    "great": "the set holds the best tenth and nothing beyond rank 1.1 k",
    "good": "the set holds the best hundredth and nothing beyond rank 1.5 k",
    "recall": "expected share of the true top k in the set",
}


def checked_goal(goal: object) -> Goal:
    """A goal by its word."""
    if not isinstance(goal, str) or goal not in GOALS:
        raise ValueError(f"goal must be one of {', '.join(map(repr, get_args(Goal)))}, for example goal='top'")
    return goal  # type: ignore[return-value]
