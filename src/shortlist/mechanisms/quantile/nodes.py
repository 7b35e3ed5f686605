"""A range of points with weights on some of them, and its runs: points side by side that share one score.

The score of a point is minus the distance of t = q n from the ranks it covers, below(o) .. at or below(o): weights are
whole numbers, t is a fraction, and the best score is 0 (Definition 242).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from shortlist._arrays import Floats, Indices


@dataclass(frozen=True)
class Node:
    """The points first .. last, and the weights on those places that hold some."""

    first: int
    last: int
    places: Indices
    weights: Indices

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    @cached_property
    def sums(self) -> Indices:
        """The weight at or below each place."""
        sums: Indices = np.cumsum(self.weights)
        return sums

    @property
    def total(self) -> int:
        return int(self.sums[-1]) if len(self.sums) else 0

    def split(self, at: int) -> tuple[Node, Node]:
        """What lies at or below a point, and at or above it: the weight on it goes half to each side, exactly."""
        begin, end = (int(np.searchsorted(self.places, at, side)) for side in ("left", "right"))
        half = self.weights[begin:end] // 2
        left = np.concatenate([self.weights[:begin], half]), np.concatenate([half, self.weights[end:]])
        return Node(self.first, at, self.places[:end], left[0]), Node(at, self.last, self.places[begin:], left[1])

    def distance(self, at: int, target: Fraction) -> Fraction:
        """max(below - t, t - at or below, 0) of one point, exactly."""
        begin, end = (int(np.searchsorted(self.places, at, side)) for side in ("left", "right"))
        below, within = (int(self.sums[n - 1]) if n else 0 for n in (begin, end))
        return max(below - target, target - within, Fraction(0))

    def runs(self, target: Fraction, reach: int | None = None) -> Runs:
        """The runs around the target; all of them, or those within `reach` and perhaps a few more.

        Points that are in no run have a distance above `reach`.
        """
        sums, many = self.sums, len(self.places)
        start, end = 0, many
        if reach is not None:
            start = int(np.searchsorted(sums, _floor(target) - reach, "left"))
            end = min(many, int(np.searchsorted(sums, _floor(target) + 1 + reach, "right")) + 1)
            start = min(start, end)
        here = self.places[start:end]
        edge = int(here[0]) if start else self.first  # what lies before is further away than the reach
        beyond = int(self.places[end]) if end < many else self.last + 1
        at = sums[start:end]
        below = np.concatenate([sums[start - 1 : start] if start else np.zeros(1, np.int64), at[:-1]])[: len(at)]
        gap = np.append(here[1:], beyond) - here - 1 if len(here) else here
        firsts = np.column_stack([here, here + 1]).ravel()
        sizes = np.column_stack([np.ones_like(here), gap]).ravel()
        lower, upper = np.column_stack([below, at]).ravel(), np.column_stack([at, at]).ravel()
        front = (int(here[0]) if len(here) else beyond) - edge
        parts = [np.append(value, part) for value, part in ((edge, firsts), (front, sizes), (0, lower), (0, upper))]
        wide = parts[1] > 0
        firsts, sizes, lower, upper = (part[wide].astype(np.int64) for part in parts)
        return Runs(target, firsts, sizes, lower, upper, (self.first, edge, beyond, self.last + 1))


def _floor(target: Fraction) -> int:
    return target.numerator // target.denominator


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of points: where each begins, how many points it has, the weight below and at or below each of them."""

    target: Fraction
    firsts: Indices
    sizes: Indices
    below: Indices
    within: Indices
    edges: tuple[int, int, int, int]
    """Of the points, the second to the third are in runs, the others far away."""

    @property
    def far(self) -> int:
        """How many points are in no run."""
        first, edge, beyond, end = self.edges
        return edge - first + end - beyond

    def far_point(self, number: int) -> int:
        """One of them, by its number."""
        first, edge, beyond, _ = self.edges
        return first + number if number < edge - first else beyond + number - (edge - first)

    @property
    def distances(self) -> Floats:
        """max(below - t, t - within, 0), to an error of 2^-50 times one more than that."""
        whole = _floor(self.target)
        part = float(self.target - whole)
        far: Floats = np.maximum(np.maximum((self.below - whole) - part, (whole - self.within) + part), 0.0)
        return far

    def distance(self, run: int) -> Fraction:
        """The same of one run, exactly."""
        return max(int(self.below[run]) - self.target, self.target - int(self.within[run]), Fraction(0))
