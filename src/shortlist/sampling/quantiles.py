"""Draws of quantiles from a grid of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.exact.reals import Uniform, ball, formula, is_positive, to_float
from shortlist.sampling.entropy import SHARES, Shares, WordStream, shares

if TYPE_CHECKING:
    from flint import arb


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
        return np.cumsum(self.weights)

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
            start = int(np.searchsorted(sums, math.floor(target) - reach, "left"))
            end = min(many, int(np.searchsorted(sums, math.floor(target) + 1 + reach, "right")) + 1)
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
        whole = math.floor(self.target)
        part = float(self.target - whole)
        return np.maximum(np.maximum((self.below - whole) - part, (whole - self.within) + part), 0.0)


Distance = Callable[[], Fraction]
"""Of a point from the target, exactly; only where floats do not tell."""

AWAY = 44.0
"""Points whose coins fall below e^-44 / size are far: all of them together are hardly ever proposed."""
STEEP = 1 << 20
"""From this rate on distances are computed as fractions; there are few of them within reach."""
SURE = 1e-9
"""Relative error that floats surely stay below."""
SMALL = 1e-3
"""Below it a float distance may not be of that error."""
TINY = 1e-280
"""Nor a float below this."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One quantile of one node, ready to be drawn again and again."""

    node: Node
    runs: Runs
    rate: Fraction
    """Per unit of weight."""
    flips: bool
    """Permute-and-flip, or the exponential mechanism."""
    falls: Floats
    """rate * distance of each run, and of all far points at least."""
    shares: Shares

    @classmethod
    def of(cls, node: Node, q: Fraction, rate: Fraction, flips: bool) -> Choice:
        target = q * node.total
        want = Fraction(AWAY + math.log(node.size))
        reach = math.ceil(want / rate) if want < rate * node.total else 0
        runs = node.runs(target, reach or None)
        if rate > STEEP:
            falls = np.array([to_float(rate * node.distance(point, target)) for point in runs.firsts.tolist()])
        else:
            falls = float(rate) * runs.distances
        sizes = runs.sizes
        if runs.far:
            falls, sizes = np.append(falls, to_float(rate * reach)), np.append(sizes, runs.far)
        return cls(node, runs, rate, flips, falls, shares(np.log(sizes) - falls))

    def draw(self, stream: WordStream) -> int:
        """A point. With coins, time passes: see `_still_in`."""
        clock: list[Uniform] = []
        out: set[int] = set()
        while True:
            if self.flips:
                clock.append(Uniform(stream.word))
            place = self.shares.propose(stream)
            if place < len(self.runs.sizes):
                size, log_mass = int(self.runs.sizes[place]), None
                point = int(self.runs.firsts[place]) + stream.below(size)
            else:
                size, log_mass = self.runs.far, -math.inf
                point = self.runs.far_point(stream.below(size))
            distance = partial(self.node.distance, point, self.runs.target)
            if not self.shares.accept(place, self._mass(size, distance), stream, log_mass) or point in out:
                continue
            if not self.flips or self._still_in(place, distance, clock, stream):
                return point
            out.add(point)

    def _mass(self, size: int, distance: Distance) -> Callable[[], arb]:
        return lambda: ball(Fraction(size)) * (-ball(self.rate * distance())).exp()

    def _tails(self, place: int, distance: Distance) -> tuple[float, float]:
        """Bounds on the chance 1 - p of tails.

        The distance of a run has an absolute error of 2^-50 (1 + x), so a small one is computed exactly.
        """
        fall = float(self.falls[place])
        if place == len(self.runs.sizes):  # a far point falls further
            return -math.expm1(-fall * (1 - SURE)), 1.0
        if fall < SMALL * to_float(self.rate) or fall < TINY:
            fall = to_float(self.rate * distance())
        if fall < TINY:  # floats that small are not of that relative error
            return 0.0, 2 * TINY
        return -math.expm1(-fall * (1 - SURE)), -math.expm1(-fall * (1 + SURE))

    def _still_in(self, place: int, distance: Distance, clock: Sequence[Uniform], stream: WordStream) -> bool:
        """Whether a point that shows heads for the first time has shown no tails before.

        Each point flips at the times of a Poisson process of rate 1: heads at rate p, tails at rate 1 - p, independent.
        Proposals come at rate S e^unit / SHARES, S the sum of all shares, so the time is the sum of exponential times
        -ln U over that rate; and there were no tails with the chance e^(-(1 - p) time).
        """
        if self.falls[place] == 0 and distance() == 0:
            return True  # its coin always shows heads
        coin, total = Uniform(stream.word), int(self.shares.sums[-1])
        at_least, most = self._tails(place, distance)
        pace = math.exp(math.log(SHARES) - math.log(total) - self.shares.unit)
        if -math.log(coin.high) > most * pace * sum(_age(one.low) for one in clock) * (1 + SURE):
            return True
        if _age(coin.low) < at_least * pace * sum(-math.log(one.high) for one in clock) * (1 - SURE):
            return False

        def left() -> arb:
            tails = 1 - (-ball(self.rate * distance())).exp()
            speed = tails * ball(Fraction(SHARES, total)) * (-ball(Fraction(self.shares.unit))).exp()
            return speed * sum((one.ball().log() for one in clock), start=ball(Fraction(0))) - coin.ball().log()

        return is_positive(formula(left, [coin, *clock]))


def _age(low: float) -> float:
    """-ln U, at most."""
    return -math.log(low) if low > 0 else math.inf


@dataclass(frozen=True, slots=True)
class Recursion:
    """Several quantiles: the middle one of all, then those on either side of what came out (Algorithm 246)."""

    q: tuple[Fraction, ...]
    """Which quantiles, in increasing order."""
    rate: Callable[[Fraction], Fraction]
    """The rate of a node, by the q that is asked inside it."""
    flips: bool

    def draw(self, node: Node, stream: WordStream, start: int = 0, end: int | None = None) -> list[int]:
        """The points of the quantiles from `start` to `end`, in the order of q, inside a node."""
        end = len(self.q) if end is None else end
        if start == end:
            return []
        middle = (start + end) // 2
        low, high = self.q[start - 1] if start else Fraction(0), self.q[end] if end < len(self.q) else Fraction(1)
        q = (self.q[middle] - low) / (high - low)
        at = Choice.of(node, q, self.rate(q), self.flips).draw(stream)
        left, right = node.split(at)
        return [*self.draw(left, stream, start, middle), at, *self.draw(right, stream, middle + 1, end)]
