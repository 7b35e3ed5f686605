"""Exact utility as methods of mechanisms: what `shortlist.utility` knows, loaded when it is asked for.

A class takes the methods that it has by name (`quality = utility.quality`). The function that makes its exact
distribution stands in `shortlist.utility`, under the name of the class: a mechanism draws without that code. Everything
is exact, to 1e-8 or better, and nothing is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from shortlist._arrays import Floats
from shortlist._runtime import LazyModule, lazy_import
from shortlist.scores import QuestionOptions

if TYPE_CHECKING:
    from shortlist.mechanisms.base import Mechanism
    from shortlist.utility import Quality
    from shortlist.utility import estimates as estimates
else:
    estimates = LazyModule("shortlist.utility.estimates")  # margins, and what gaps say: of released numbers alone


def distribution(self: Mechanism, scores: object, question: QuestionOptions) -> Any:
    """Return the exact distribution of what this mechanism releases for these public scores."""
    public = self._validate_public(scores, question)
    return lazy_import("shortlist.utility", "distribution")(self, public)


def probabilities(self: Mechanism, scores: object, **question: Unpack[QuestionOptions]) -> dict[Any, float]:
    """Return P[each set of k candidates], whatever its order: exact, to 1e-9, for at most 100,000 sets."""
    return distribution(self, scores, question).sets()


def winner_probabilities(self: Mechanism, scores: object, **question: Unpack[QuestionOptions]) -> Floats:
    """Return P[candidate i wins], for every candidate: exact, and they sum to 1."""
    return distribution(self, scores, question).winners()


def success_probability(self: Mechanism, scores: object, **question: Unpack[QuestionOptions]) -> float:
    """Return P[the released items are a true top k], ties counting as equal: exact, to 1e-8."""
    return distribution(self, scores, question).success()


def quality(self: Mechanism, scores: object, **question: Unpack[QuestionOptions]) -> Quality:
    """Return P[top], P[great], P[good] and the expected recall of the items (Definition 118): exact, to 1e-8."""
    return distribution(self, scores, question).quality()


def number_correct(self: Mechanism, scores: object, **question: Unpack[QuestionOptions]) -> Floats:
    """Return P[c of the released items score at least the k-th largest], c = 0..k: exact, to 1e-8."""
    return distribution(self, scores, question).number_correct()


def inclusion_probabilities(self: Mechanism, scores: object, **question: Unpack[QuestionOptions]) -> Floats:
    """Return P[candidate i is released], for every candidate: exact, to 1e-8."""
    return distribution(self, scores, question).inclusion()


def order_probability(self: Mechanism, scores: object, **question: Unpack[QuestionOptions]) -> float:
    """Return P[the released list is the true top k in order], ties counting as equal: exact, to 1e-8."""
    return distribution(self, scores, question).in_order()


def guard_probability(self: Mechanism, scores: object, **question: Unpack[QuestionOptions]) -> float:
    """Return P[the guard wins, so that one-shot top-k is used]: exact, to 1e-8."""
    return distribution(self, scores, question).guard


def number_released(self: Mechanism, scores: object, **question: Unpack[QuestionOptions]) -> Floats:
    """Return P[n items are released], n = 0..k: exact, to 1e-9. What it costs depends on this number."""
    return distribution(self, scores, question).numbers()


def expected_recall(self: Mechanism, scores: object, **question: Unpack[QuestionOptions]) -> float:
    """Return the expected share of a true top k that is named: exact, to 1e-9."""
    return distribution(self, scores, question).recall()
