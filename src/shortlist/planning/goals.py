"""What a user may aim at, and the cheapest exact law that says how far a mechanism gets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from shortlist.scores import Scores

Goal = Literal["top", "great", "good", "recall"]

GOALS: dict[str, str] = {
    "top": "the released set is exactly the true top k",
    "great": "the set holds the best tenth and nothing beyond rank 1.1 k",
    "good": "the set holds the best hundredth and nothing beyond rank 1.5 k",
    "recall": "expected share of the true top k in the set",
}


def checked_goal(goal: object) -> Goal:
    if not isinstance(goal, str) or goal not in GOALS:
        raise ValueError(f"goal must be one of {', '.join(map(repr, get_args(Goal)))}, for example goal='top'")
    return goal  # type: ignore[return-value]


def recall_of(mechanism: Any, scores: Scores) -> float:
    """The expected share of the true top k: the chances of all that score as much as the k-th, added up."""
    values, k = scores.values, int(mechanism.k)
    correct = values >= np.partition(values, len(values) - k)[len(values) - k]
    return min(1.0, float(mechanism.inclusion_probabilities(scores)[correct].sum()) / k)


def reached(goal: Goal) -> Callable[[Any, Scores], float]:
    """How far a mechanism gets towards the goal on given scores: a chance, or an expected share."""
    if goal == "top":
        return lambda mechanism, scores: float(mechanism.success_probability(scores))
    if goal == "recall":
        return recall_of
    return lambda mechanism, scores: float(getattr(mechanism.quality(scores), goal))
