"""A box of neighbours, and what the exact laws on it amount to: the one place where exact claims are checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import combinations_with_replacement, product
from typing import Any, Literal, Self

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting import compose as accountant
from shortlist.audit.certified.base import Law, Point, RealLaw, round_outward, round_up
from shortlist.privacy import BoundedRange, Guarantee

Way = Literal["add", "remove", "replace"]
TOLERANCE = 1e-12
"""Balls are turned into floats outwards; a claim that is reached exactly is reached to within this."""
TAILS = (1e-3, 1e-6)
"""Deltas, beyond what the claim gives away at once, at whose epsilons it is checked."""
LARGEST = 700.0
"""Here only what is impossible on one side is left. Beyond, where e^epsilon is no float, sticks are those at it."""
ORDERS = (1.5, 2.0, 4.0, 16.0, 64.0, 1.125)
"""The Renyi orders at which claims other than pure ones are checked; a tight rho is reached near 1."""


def moves(d: int, *ways: Way, step: int = 1) -> list[tuple[int, ...]]:
    """How one person may move d scores of sensitivity `step`: all up, all down, or each any way."""
    steps: dict[Way, tuple[int, ...]] = {"add": (0, step), "remove": (0, -step), "replace": (-step, 0, step)}
    all_moves = dict.fromkeys(move for way in ways for move in product(steps[way], repeat=d))
    return [move for move in all_moves if any(move)]


def neighbours(
    d: int, top: int = 2, *, monotone: bool = False, everywhere: bool = False
) -> Iterator[tuple[Point, Point]]:
    """All pairs with the first in {0..top}^d; sorted ones only (enough if equivariant) unless `everywhere`."""
    ways: tuple[Way, ...] = ("add", "remove") if monotone else ("replace",)
    for x in product(range(top + 1), repeat=d):
        if everywhere or list(x) == sorted(x):
            for move in moves(d, *ways):
                yield x, tuple(a + b for a, b in zip(x, move, strict=True))


def lines(d: int, top: int = 2) -> Iterator[tuple[Point, Point]]:
    """Votes in halves along a line of d places, each with one more person, whose two halves may be apart."""
    for x in product(range(top + 1), repeat=d):
        for one, two in combinations_with_replacement(range(d), 2):
            y = list(x)
            y[one] += 1
            y[two] += 1
            yield x, tuple(y)


Alike = Callable[[Point, Point], Hashable]
"""What two pairs of neighbours share only if their laws differ by nothing but names."""


def alike(x: Point, y: Point, *, exchangeable: bool, shift_invariant: bool) -> Hashable:
    """The pair up to its direction, the order of the scores, and what is added to all of them.

    >>> names = {"exchangeable": True, "shift_invariant": True}
    >>> alike((0, 0, 1), (1, 0, 1), **names) == alike((1, 2, 1), (1, 2, 2), **names)
    True
    """
    if shift_invariant:
        x, y = (tuple(value - max(point) for value in point) for point in (x, y))
    ways = (tuple(zip(*both, strict=True)) for both in ((x, y), (y, x)))
    return min(tuple(sorted(way)) if exchangeable else way for way in ways)


@dataclass(frozen=True, slots=True)
class Proof:
    """What the exact laws on a box say about a claim. Numbers are rounded against the claim: up.

    `least_log_ratio` is rounded down instead: some pair surely has so large a log ratio.
    """

    claim: Guarantee
    pairs: int
    outcomes: int
    log_ratio: float
    least_log_ratio: float
    spread: float
    hockey_stick: float
    """The largest excess of a hockey-stick divergence over the claim's delta, at the epsilons that were tried."""
    renyi: float
    """The largest excess of a Renyi divergence over the claim's, at `ORDERS`; -inf where the claim has none."""
    violation: str = ""
    worst: tuple[Point, Point, Hashable] | None = field(default=None, repr=False)

    @property
    def holds(self) -> bool:
        return not self.violation

    def __str__(self) -> str:
        if self.violation:
            return f"violated: {self.violation}"
        worst = f", largest log ratio {self.log_ratio:.6f}" if self.log_ratio < math.inf else ""
        return f"proved on this box: {self.claim} for {self.pairs:,} pairs of neighbours{worst}"


def prove(
    law_of: Callable[[Point], Law | RealLaw],
    pairs: Iterable[tuple[Point, Point]],
    claim: Guarantee,
    *,
    epsilons: Sequence[float] | None = None,
    alike: Alike | None = None,
) -> Proof:
    """Compare the certified laws of all pairs, both ways round, with the claim; of pairs that are `alike`, the first.

    A pure claim bounds every log ratio (or each outcome's own cost); bounded range bounds their spread; every claim
    bounds hockey-stick divergences at `epsilons` (its own and others, `epsilons_of`, if None) by its `delta_at`, and
    Renyi divergences where it has `rdp`.

    Returns
    -------
    `Proof`: "proved on this box", or the violating pair.

    Raises
    ------
    ValueError
        for a claim that is not pure where the laws are densities at some points, which have no divergence; and for a
        pure one where log ratios have no bound.
    """
    tally = _Tally(claim, epsilons)
    bounds_at = cache(lambda x: _bounds(law) if isinstance(law := law_of(x), Law) else law)
    seen: set[Hashable] = set()
    for x, y in pairs:
        tally.pairs += 1
        kind = (x, y) if alike is None else alike(x, y)
        if kind not in seen:
            seen.add(kind)
            tally.add(x, y, bounds_at(x), bounds_at(y))
    return tally.proof()


@dataclass(frozen=True, slots=True)
class _Bounds:
    """A law in floats, rounded outwards: logarithms, probabilities, costs; outcomes in a fixed order."""

    outcomes: tuple[Hashable, ...]
    low: Floats
    high: Floats
    costs: Floats | None
    density: bool

    def stick(self, other: Self, epsilon: float) -> float:
        return float(np.maximum(self.high - math.exp(min(epsilon, LARGEST)) * other.low, 0.0).sum())

    def log_moment(self, other: Self, order: float) -> float:
        """By logarithms throughout: e^(63 epsilon) leaves all floats long before a claim does."""
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = order * np.log(self.high) + (1 - order) * np.log(other.low)
            return float(np.logaddexp.reduce(np.where(self.high > 0, terms, -np.inf)))


def _bounds(law: Law) -> _Bounds:
    outcomes = tuple(law.chances)
    low = np.array([round_outward(law.chances[one].lower(), -1) for one in outcomes])
    high = np.array([round_up(law.chances[one]) for one in outcomes])
    if not (np.all(low <= high) and np.all(np.isfinite(high))):
        raise ArithmeticError("a probability could not be enclosed: more precision is needed")
    costs = None if law.costs is None else np.array([law.costs[one] for one in outcomes])
    return _Bounds(outcomes, np.maximum(low, 0.0), np.maximum(high, 0.0), costs, law.density)


class _Tally:
    """Goes through the pairs and keeps the worst of each kind."""

    def __init__(self, claim: Guarantee, epsilons: Sequence[float] | None) -> None:
        self.claim = claim
        pure = claim.as_pure()
        self.pure = math.inf if pure is None else pure.epsilon
        self.window = claim.epsilon if isinstance(claim, BoundedRange) else math.inf
        self.deltas = _deltas(claim, None if epsilons is None else tuple(epsilons))
        self.orders = [(order, rdp) for order in ORDERS if (rdp := claim.rdp(order)) < math.inf]
        self.pairs = self.outcomes = 0
        self.log_ratio = self.least = self.spread = 0.0
        self.stick = self.renyi = -math.inf
        self.violation = ""
        self.worst: tuple[Point, Point, Hashable] | None = None

    def add(self, x: Point, y: Point, here: _Bounds | RealLaw, there: _Bounds | RealLaw) -> None:
        if isinstance(here, _Bounds) and isinstance(there, _Bounds):
            if here.density and self.pure == math.inf:
                raise ValueError(f"densities at some points are compared with pure claims only, not with {self.claim}")
            if here.outcomes != there.outcomes:
                here, there = _align(here, there)
            self._compare_ratios(x, y, here, there)
            if here.density:
                return
        else:
            if self.pure < math.inf:
                raise ValueError(f"log ratios have no bound here and are not compared with {self.claim}, a pure claim")
            self.log_ratio = self.spread = math.inf
        for one, two in ((here, there), (there, here)):
            self._compare_divergences(x, y, one, two)

    def _compare_ratios(self, x: Point, y: Point, here: _Bounds, there: _Bounds) -> None:
        self.outcomes = max(self.outcomes, len(here.outcomes))
        with np.errstate(divide="ignore", invalid="ignore"):
            up, down = (
                np.where(one.high > 0, np.log(one.high) - np.log(two.low), -np.inf)
                for one, two in ((here, there), (there, here))
            )
            surely = np.maximum(np.log(here.low) - np.log(there.high), np.log(there.low) - np.log(here.high))
        most = np.maximum(np.maximum(up, down), 0.0)
        at = int(np.argmax(most))
        if most[at] > self.log_ratio:
            self.log_ratio, self.worst = float(most[at]), (x, y, here.outcomes[at])
        self.least = max(self.least, float(np.nanmax(surely, initial=0.0)))
        finite = up[np.isfinite(up)]
        back = down[np.isfinite(down)]
        spread = float(finite.max() + back.max()) if finite.size and back.size else 0.0
        self.spread = max(self.spread, spread)
        self._compare_costs(x, y, here, most)
        if self.window < math.inf and spread > self.window + TOLERANCE:
            self._note(f"log ratios spread over {spread:.6f} on {x} and {y}, more than {self.window:g}")

    def _compare_costs(self, x: Point, y: Point, here: _Bounds, most: Floats) -> None:
        limits: Floats | float = self.pure if here.costs is None else np.minimum(here.costs, self.pure)
        over = np.where(np.isinf(limits), -np.inf, most - np.where(np.isinf(limits), 0.0, limits))
        at = int(np.argmax(over))
        if over[at] > TOLERANCE * (1 + min(most[at], 1e3)):
            limit = float(np.broadcast_to(limits, most.shape)[at])
            self._note(f"outcome {here.outcomes[at]} has log ratio {most[at]:.6f} on {x} and {y}, more than {limit:g}")

    def _compare_divergences(self, x: Point, y: Point, one: Any, two: Any) -> None:
        for epsilon, delta in self.deltas:
            stick = one.stick(two, epsilon)
            self.stick = max(self.stick, stick - delta)
            if stick > delta + TOLERANCE:
                self._note(
                    f"the hockey stick at epsilon {epsilon:g} is {stick:.6g} on {x} and {y}, more than {delta:g}"
                )
        for order, rdp in self.orders:
            divergence = one.log_moment(two, order) / (order - 1)
            self.renyi = max(self.renyi, divergence - rdp)
            if divergence > rdp + TOLERANCE * order:
                self._note(f"the Renyi divergence of order {order:g} is {divergence:.6g} on {x} and {y}, not {rdp:.6g}")

    def _note(self, violation: str) -> None:
        self.violation = self.violation or violation

    def proof(self) -> Proof:
        if not self.pairs:
            raise ValueError("pairs must not be empty: give at least one pair of neighbours")
        return Proof(
            self.claim, self.pairs, self.outcomes, self.log_ratio, self.least, self.spread, self.stick, self.renyi,
            self.violation, self.worst,
        )  # fmt: skip


@lru_cache
def _deltas(claim: Guarantee, epsilons: tuple[float, ...] | None) -> list[tuple[float, float]]:
    """(epsilon, delta) to compare with; those of a composition take longer than the laws of a small box."""
    points = [*epsilons_of(claim), LARGEST] if epsilons is None else epsilons
    return [(epsilon, claim.delta_at(epsilon)) for epsilon in points]


def epsilons_of(claim: Guarantee) -> list[float]:
    """Where the claim's delta is compared: at its own epsilon, where little is left of delta, and from 0 to there."""
    lost = accountant.thinning_total(claim.curves())
    ends = [claim.epsilon_at(lost + tail) for tail in (0.0, lost, *TAILS) if lost + tail < 1]
    points = [share * end for end in ends if end < math.inf for share in (1.0, 0.5, 0.25)]
    return list(dict.fromkeys((getattr(claim, "epsilon", 0.0), 0.0, *points)))


def _align(one: _Bounds, two: _Bounds) -> tuple[_Bounds, _Bounds]:
    """Both over the outcomes of either; whatever a law does not list has probability 0."""
    outcomes = tuple(dict.fromkeys((*one.outcomes, *two.outcomes)))

    def spread(law: _Bounds) -> _Bounds:
        place = {outcome: i for i, outcome in enumerate(law.outcomes)}
        at = [place.get(outcome, -1) for outcome in outcomes]
        low, high = (np.append(values, 0.0)[at] for values in (law.low, law.high))
        costs = None if law.costs is None else np.append(law.costs, np.inf)[at]
        return _Bounds(outcomes, low, high, costs, law.density)

    first, second = spread(one), spread(two)
    if first.costs is not None and second.costs is not None:
        costs = np.minimum(first.costs, second.costs)
        first = _Bounds(outcomes, first.low, first.high, costs, first.density)
    return first, second
