"""Scaled scores as distinct values with multiplicities, which is all that the laws depend on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist._arrays import Floats, Mask

_FAR = 1e300


@dataclass(frozen=True, slots=True)
class Items:
    """Distinct values in increasing order, relative to one of them, with the number of items at each."""

    values: Floats
    counts: Floats
    _eligible: Mask
    _scores: Floats
    """Of all that can be chosen, in the caller's order."""
    _reference: float

    @property
    def size(self) -> int:
        """How many items can be chosen at all."""
        return self._scores.size

    def best(self, number: int) -> Floats:
        """At each value, how many of the ``number`` best items are there (ties in the caller's order)."""
        better = self.counts[::-1].cumsum()[::-1] - self.counts
        return np.clip(number - better, 0.0, self.counts)

    def at_least(self, rank: int) -> Floats:
        """At each value, how many items score at least what the item of this rank (from 1) scores."""
        reached = self.counts[::-1].cumsum()[::-1] - self.counts < rank
        return np.where(reached, self.counts, 0.0)

    def per_item(self, at_values: Floats) -> Floats:
        """A function of the values as a function of the items, 0 for those that cannot be chosen."""
        result = np.zeros(self._eligible.size)
        result[self._eligible] = at_values[np.searchsorted(self.values, _relative(self._scores, self._reference))]
        return result


def items_of(s: Floats, reference_rank: int) -> Items:
    """The items of the scaled scores ``s``, relative to the one of this rank (from 1; at most their number).

    Differences are exact where they are small, so that nothing is lost near the reference.
    """
    eligible = s > -np.inf
    scores = s[eligible]
    rising = np.sort(scores)
    reference = float(rising[-min(reference_rank, scores.size)])
    rising = _relative(rising, reference)
    starts = np.flatnonzero(np.append(True, rising[1:] != rising[:-1]))
    counts = np.diff(np.append(starts, rising.size))
    return Items(rising[starts], counts.astype(np.float64), eligible, scores, reference)


def _relative(scores: Floats, reference: float) -> Floats:
    with np.errstate(over="ignore"):
        return np.clip(scores - reference, -_FAR, _FAR)


def checked_scores(s: Floats) -> Floats:
    """``s`` as a one-dimensional float64 array with at least one finite entry, no NaN and no +inf."""
    scores = np.asarray(s, dtype=np.float64)
    if scores.ndim != 1 or np.isnan(scores).any() or (scores == np.inf).any():
        raise ValueError("s must be a one-dimensional array of scaled scores, each finite or -inf")
    if not (scores > -np.inf).any():
        raise ValueError("s must contain at least one finite score")
    return scores


def checked_k(k: int, s: Floats) -> int:
    """``k`` as an integer from 1 to the number of finite scores."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= np.count_nonzero(s > -np.inf):
        raise ValueError("k must be an integer from 1 to the number of finite scores in s")
    return int(k)
