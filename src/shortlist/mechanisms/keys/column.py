"""The sums that a key set is made of: of counts that were capped, of weights that came with them, or plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shortlist._arrays import Indices, Mask, Values
from shortlist.exact.key_bars import Cap
from shortlist.mechanisms.keys.recount import Recounted
from shortlist.scores import Scores


@dataclass(frozen=True, slots=True)
class Column:
    """Capped sums by their distinct numbers, decreasing, and where each label stands among the scores."""

    scores: Values
    sizes: Indices
    order: Indices | None

    @classmethod
    def of(cls, scores: Scores, cap: Cap) -> Column:
        held = scores._capped if cap.weighted else scores._names
        if held is not None:
            return cls(held.scores, held.sizes, None)
        values = np.maximum(scores._numbers.astype(np.int64), 0)  # an absent label counts 0, or below
        distinct, sizes = np.unique(values, return_counts=True)
        return cls(distinct[::-1], sizes[::-1], np.argsort(-values, kind="stable"))

    def places(self, positions: Sequence[int] | Indices) -> list[int]:
        where = np.asarray(positions, np.int64)
        places: list[int] = (where if self.order is None else self.order[where]).tolist()
        return places


def by_score(scores: Scores) -> Indices:
    """Where the labels stand among public scores, by their places among the weights; -1 for none."""
    weights = scores._capped
    assert weights is not None
    where = {label: place for place, label in enumerate(scores.labels)}
    return np.array([*(where[label] for label in weights.names(range(int(weights.sizes.sum())))), -1], np.int64)


def sums_of(scores: Scores, cap: Cap) -> Values:
    """The sum of every label of public scores, in their order; none is below 0."""
    weights = scores._capped
    if weights is None or not cap.weighted:
        return np.maximum(scores.values, 0)
    sums = np.zeros(len(scores.values), np.int64)
    sums[by_score(scores)[:-1]] = np.repeat(weights.scores, weights.sizes)
    return sums


def sums_and_right(scores: Scores, cap: Cap, k: int) -> tuple[Values, Mask, Mask]:
    """(the sum of every label, which may be in a true top k, which must be): public scores.

    Whoever is held by as many people as the k-th may, by more must; where there are no people beside the sums, by the
    sums.
    """
    sums, people = sums_of(scores, cap), scores.values
    kth = np.sort(people)[-k] if k <= len(people) else 0
    return sums, people >= max(kth, 1), people > kth


def people_of(scores: Scores, places: list[int]) -> tuple[list[int], int]:
    """(how many people hold each of these, of how many of them one person counts at most)."""
    held = scores._capped
    assert held is not None
    if isinstance(held, Recounted):
        return held.people(places)
    return held.counts(places), len(places) if scores.most is None else min(len(places), scores.most)
