"""Scores by rank, and the gap behind each in whole range sensitivities: what stable sets are chosen and tested by."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from shortlist._arrays import Indices
from shortlist.mechanisms.large_gap.mechanism import largest
from shortlist.mechanisms.unknown_domain import largest_counts
from shortlist.scores import Scores


def are_general(scores: Scores) -> bool:
    """Whether a public list has other scores than whole-number counts under add/remove: from public facts."""
    counts = scores.monotone and scores.largest_sensitivity == 1 and not isinstance(scores.sensitivity, tuple | list)
    numbers = scores._numbers if scores._names is None else scores._names.scores
    whole = numbers.dtype.kind != "f" and not scores._turned  # negated counts are none
    return scores.public and not (counts and whole and scores.neighbours == "add-remove")


def ranked_gaps(scores: Scores, most: int) -> tuple[Indices, list[int]]:
    """(positions, largest score first; the gap behind each rank from 1 on, in whole range sensitivities).

    Counts are followed by zeros: an absent label counts 0, and beyond the data there is no set. Of general scores the
    gap behind the last one is not there: nobody is next.
    """
    if not are_general(scores):
        positions, counts = largest_counts(scores._sequence, most + 1)
        values = [*(counts if scores.public else np.maximum(counts, 0)).tolist(), 0, 0]
        return positions, [here - behind for here, behind in pairwise(values)]
    numbers = scores._numbers
    able = np.flatnonzero(numbers > -np.inf) if numbers.dtype.kind == "f" else np.arange(len(numbers))
    positions = able[np.argsort(numbers[able], kind="stable")[::-1][: most + 1]]
    ranking = [Fraction(value) for value in largest(scores, most + 1)]
    return positions, [int((here - behind) // scores.range_sensitivity) for here, behind in pairwise(ranking)]


def some_of(scores: Scores, positions: list[int]) -> Scores:
    """The question about these candidates of a public list alone."""
    numbers, neighbours = scores._numbers[positions], scores.neighbours
    return Scores(numbers, sensitivity=scores.sensitivity, monotone=scores.monotone, neighbours=neighbours)
