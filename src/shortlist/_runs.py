"""A monotone sequence stored by its runs of equal numbers: what a table's counts are.

It reads like an array (length, indexing, slicing from a place on, `searchsorted`) and costs what its distinct numbers
cost. `ranking` and the classes of `exact.subset_classes` take it in place of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shortlist._arrays import Indices, Values


@dataclass(frozen=True, slots=True, repr=False)
class Runs:
    """`values[r]` from where run r - 1 ends up to `ends[r]`."""

    values: Values
    ends: Indices

    @classmethod
    def of(cls, values: Values, sizes: Indices) -> Runs:
        return cls(values, np.cumsum(sizes))

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def __getitem__(self, place: Any) -> Any:
        """The numbers at these places; a slice from a place on is a view, one up to a place is an array."""
        if not isinstance(place, slice):
            return self.values[np.searchsorted(self.ends, place, side="right")]
        start = place.start or 0
        if place.stop is not None:
            return self[np.arange(start, place.stop)]
        first = int(np.searchsorted(self.ends, start, side="right"))
        return Runs(self.values[first:], self.ends[first:] - start)

    def searchsorted(self, values: Values, side: Literal["left", "right"] = "left") -> Indices:
        """Where each value would go; the runs must increase."""
        return self.starts_and_length[np.searchsorted(self.values, values, side=side)]

    @property
    def starts_and_length(self) -> Indices:
        return np.append(0, self.ends)

    def map(self, function: Callable[[Values], Values]) -> Runs:
        """A function of every number."""
        return Runs(function(self.values), self.ends)

    def expanded(self) -> Values:
        """All numbers: one by one, whole ones in 4 bytes if they fit."""
        values = self.values
        if values.dtype.kind == "i" and values.min(initial=0) >= -(2**31) and values.max(initial=0) < 2**31:
            values = values.astype(np.int32)
        return np.repeat(values, np.diff(self.ends, prepend=0))
