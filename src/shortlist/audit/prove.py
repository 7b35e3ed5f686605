"""Prove a claim on a box: compare certified distributions on small neighboring inputs with what is promised.

Certified distributions are written from the formulas in docs/mechanisms, not from the samplers. They ask a mechanism
only how much noise it adds, as its sampler does: a wrong calibration shows on the box.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from itertools import combinations_with_replacement, product
from typing import Any, Self

import numpy as np
from flint import ctx

from shortlist._arrays import Floats
from shortlist.accounting import compose as accountant
from shortlist.audit.certified.base import PRECISION, Entry, Law, Point, RealLaw, round_outward, round_up
from shortlist.audit.entries import entry_of
from shortlist.errors import bad_value
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.base import Budget
from shortlist.pate import PATE, MultiLabelPATE
from shortlist.privacy import BoundedRange, Guarantee
from shortlist.scores import Number, Scores

AnyLaw = Law | RealLaw
TOLERANCE = 1e-12
"""Balls are turned into floats outwards; a claim that is reached exactly is reached to within this."""
TAILS = (1e-3, 1e-6)
"""Deltas, beyond what the claim gives away at once, at whose epsilons it is checked."""
LARGEST = 700.0
"""Here only what is impossible on one side is left. Beyond, where e^epsilon is no float, sticks are those at it."""
ORDERS = (1.5, 2.0, 4.0, 16.0, 64.0, 1.125)
"""The Renyi orders at which claims other than pure ones are checked; a tight rho is reached near 1."""


Sensitivity = Number | tuple[Number, Number]


def steps_of(sensitivity: Sensitivity, monotone: bool) -> list[Point]:
    """Return how far one user may move each score, for every way in which they move together.

    A pair says how far adding a user moves a score down and up; removing the user moves it back.

    >>> steps_of(1, monotone=True), steps_of((0, 2), monotone=False)
    ([(0, 1), (0, -1)], [(0, 2), (-2, 0)])
    """
    stated = Scores([0], sensitivity=sensitivity, monotone=monotone).sensitivity  # checked
    down, up = (_whole(one) for one in (stated if isinstance(stated, tuple) else (stated, stated)))
    if monotone:
        ways = [(0, up), (0, -down), (0, down), (0, -up)]
    else:
        ways = [tuple(sorted({-down, 0, up})), tuple(sorted({-up, 0, down}))]
    return [way for way in dict.fromkeys(ways) if any(way)]


def _whole(number: Any) -> Any:
    """Return what scores may be made of: an integer, or the nearest float."""
    return int(number) if number == int(number) else float(number)


def check_moves(subject: object, sensitivity: Sensitivity) -> None:
    """Refuse a sensitivity where neighbors are people who come or go: these move each count by 1, whatever it says."""
    how = entry_of(subject)
    if how is not None and how.inputs != "scores" and sensitivity not in (1, (0, 1)):
        raise bad_value(
            f"{type(subject).__name__} is tried on counts of people, with one more: leave $sensitivity= out"
        )


def neighbours(
    d: int, top: int = 2, *, monotone: bool = False, sensitivity: Sensitivity = 1, everywhere: bool = False
) -> Iterator[tuple[Point, Point]]:
    """Yield all pairs with the first in {0, .., top}^d times the sensitivity, and what one user may make of it.

    Only first points in ascending order, which is enough where the order of candidates makes no difference, unless
    `everywhere`.
    """
    ways = steps_of(sensitivity, monotone)
    unit = max(max(way) for way in ways)
    moves = [move for move in dict.fromkeys(one for way in ways for one in product(way, repeat=d)) if any(move)]
    for x in product((unit * n for n in range(top + 1)), repeat=d):
        if everywhere or list(x) == sorted(x):
            for move in moves:
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
    pairs: int = 0
    outcomes: int = 0
    log_ratio: float = 0.0
    least_log_ratio: float = 0.0
    spread: float = 0.0
    hockey_stick: float = -math.inf
    """The largest excess of a hockey-stick divergence over the claim's delta, at the epsilons that were tried."""
    renyi: float = -math.inf
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
        tally.grow(pairs=tally.proof.pairs + 1)
        kind = (x, y) if alike is None else alike(x, y)
        if kind not in seen:
            seen.add(kind)
            tally.add(x, y, bounds_at(x), bounds_at(y))
    if not tally.proof.pairs:
        raise ValueError("pairs must not be empty: give at least one pair of neighbours")
    return tally.proof


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
        self.proof = Proof(claim)
        pure = claim.as_pure()
        self.pure = math.inf if pure is None else pure.epsilon
        self.window = claim.epsilon if isinstance(claim, BoundedRange) else math.inf
        self.deltas = _deltas(claim, None if epsilons is None else tuple(epsilons))
        self.orders = [(order, rdp) for order in ORDERS if (rdp := claim.rdp(order)) < math.inf]

    def add(self, x: Point, y: Point, here: _Bounds | RealLaw, there: _Bounds | RealLaw) -> None:
        claim = self.proof.claim
        if isinstance(here, _Bounds) and isinstance(there, _Bounds):
            if here.density and self.pure == math.inf:
                raise ValueError(f"densities at some points are compared with pure claims only, not with {claim}")
            if here.outcomes != there.outcomes:
                here, there = _align(here, there)
            self._compare_ratios(x, y, here, there)
            if here.density:
                return
        else:
            if self.pure < math.inf:
                raise ValueError(f"log ratios have no bound here and are not compared with {claim}, a pure claim")
            self.grow(log_ratio=math.inf, spread=math.inf)
        for one, two in ((here, there), (there, here)):
            self._compare_divergences(x, y, one, two)

    def _compare_ratios(self, x: Point, y: Point, here: _Bounds, there: _Bounds) -> None:
        with np.errstate(divide="ignore", invalid="ignore"):
            up, down = (
                np.where(one.high > 0, np.log(one.high) - np.log(two.low), -np.inf)
                for one, two in ((here, there), (there, here))
            )
            surely = np.maximum(np.log(here.low) - np.log(there.high), np.log(there.low) - np.log(here.high))
        most = np.maximum(np.maximum(up, down), 0.0)
        at = int(np.argmax(most))
        if most[at] > self.proof.log_ratio:
            self.proof = replace(self.proof, log_ratio=float(most[at]), worst=(x, y, here.outcomes[at]))
        finite = up[np.isfinite(up)]
        back = down[np.isfinite(down)]
        spread = float(finite.max() + back.max()) if finite.size and back.size else 0.0
        least = float(np.nanmax(surely, initial=0.0))
        self.grow(outcomes=len(here.outcomes), least_log_ratio=least, spread=spread)
        self._compare_costs(x, y, here, most)
        if self.window < math.inf and spread > self.window + TOLERANCE:
            self._note(f"log ratios spread over {spread:.6f} on {x} and {y}, more than {self.window:g}")

    def _compare_costs(self, x: Point, y: Point, here: _Bounds, most: Floats) -> None:
        limits = np.minimum(np.inf if here.costs is None else here.costs, self.pure)
        over = np.where(np.isinf(limits), -np.inf, most - np.where(np.isinf(limits), 0.0, limits))
        at = int(np.argmax(over))
        if over[at] > TOLERANCE * (1 + min(most[at], 1e3)):
            limit = float(np.broadcast_to(limits, most.shape)[at])
            self._note(f"outcome {here.outcomes[at]} has log ratio {most[at]:.6f} on {x} and {y}, more than {limit:g}")

    def _compare_divergences(self, x: Point, y: Point, one: Any, two: Any) -> None:
        for epsilon, delta in self.deltas:
            stick = one.stick(two, epsilon)
            self.grow(hockey_stick=stick - delta)
            if stick > delta + TOLERANCE:
                self._note(
                    f"the hockey stick at epsilon {epsilon:g} is {stick:.6g} on {x} and {y}, more than {delta:g}"
                )
        for order, rdp in self.orders:
            divergence = one.log_moment(two, order) / (order - 1)
            self.grow(renyi=divergence - rdp)
            if divergence > rdp + TOLERANCE * order:
                self._note(f"the Renyi divergence of order {order:g} is {divergence:.6g} on {x} and {y}, not {rdp:.6g}")

    def _note(self, violation: str) -> None:
        self.proof = replace(self.proof, violation=self.proof.violation or violation)

    def grow(self, **more: Any) -> None:
        """Keep the larger of each number."""
        self.proof = replace(self.proof, **{name: max(getattr(self.proof, name), n) for name, n in more.items()})


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


# Mechanisms


def certify(mechanism: Mechanism | PATE | MultiLabelPATE, scores: Scores | Point) -> AnyLaw:
    """Return the certified distribution of what the mechanism releases on these scores, or a crowd on these counts.

    Raises
    ------
    ValueError
        where none is known.
    """
    law = _how(mechanism).law
    with ctx.workprec(PRECISION):
        return law(mechanism, scores)


def _how(subject: object) -> Entry:
    how = entry_of(subject)
    if how is None:
        raise ValueError(
            f"no certified distribution is known for {type(subject).__name__}; use sl.audit, which only draws"
        )
    return how


def prove_mechanism(
    mechanism: Mechanism,
    *,
    d: int = 3,
    top: int = 2,
    monotone: bool = False,
    sensitivity: Sensitivity = 1,
    public: bool = True,
    claim: Guarantee | None = None,
) -> Proof:
    """Enumerate the mechanism on all neighbors of the box {0, .., top}^d and compare it with its charge.

    Neighbors are what one user of this `sensitivity` may make of the scores. Without a `claim` the charge must also fit
    the budget that was asked for. Where the order of the scores makes no difference, one order of each is enough. If
    the list is not `public`, a count of 0 is an absent label.

    >>> from shortlist.mechanisms import NoisyMax
    >>> print(prove_mechanism(NoisyMax(epsilon=1.0), d=2, top=1))
    proved on this box: PureDP(epsilon=1.0) for 24 pairs of neighbours, largest log ratio 1.000000
    """

    def law(x: Point) -> AnyLaw:
        return certify(mechanism, Scores(list(x), sensitivity=sensitivity, monotone=monotone, public=public))

    how, free = _how(mechanism), mechanism.is_permutation_invariant
    check_moves(mechanism, sensitivity)
    if how.inputs == "histograms":
        monotone, free = True, True
        pairs: Iterable[tuple[Point, Point]] = (pair for pair in neighbours(d, top, monotone=True) if min(pair[1]) >= 0)
    elif how.inputs == "line":
        votes, free = with_two_votes(mechanism), False
        law = lambda x: certify(votes, on_a_line(x))  # noqa: E731
        pairs = lines(d, top)
    else:
        pairs = neighbours(d, top, monotone=monotone, sensitivity=sensitivity, everywhere=not free)
    shift = how.inputs == "scores" and not how.sees_level
    same = partial(alike, exchangeable=free, shift_invariant=shift)
    promised = mechanism.charge if claim is None else claim
    proof = prove(_remember(law, shift, how.relabelled), pairs, promised, alike=same)
    budget = mechanism.guarantee
    if claim is None and proof.holds and isinstance(budget, Budget) and budget.excess(proof.claim) > TOLERANCE:
        return replace(proof, violation=f"{proof.claim} does not fit the budget {budget}")
    return proof


def prove_pate(
    crowd: PATE | MultiLabelPATE, *, labels: int = 3, teachers: int = 5, claim: Guarantee | None = None
) -> Proof:
    """Enumerate one query on all counts of so many teachers' votes, one teacher's votes replaced."""
    same = partial(alike, exchangeable=True, shift_invariant=False)
    promised = crowd.query if claim is None else claim
    pairs = ((x, y) for x, y in neighbours(labels, teachers) if min(y) >= 0 and max(y) <= teachers)
    return prove(lambda counts: certify(crowd, counts), pairs, promised, alike=same)


def _remember(law: Callable[[Point], AnyLaw], shift: bool, relabel: bool) -> Callable[[Point], AnyLaw]:
    """Compute each distribution once per shift, and once for all orders where outcomes are (sorted set, rest)."""
    plain_at = cache(law)

    def law_at(x: Point) -> AnyLaw:
        point = tuple(value - max(x) for value in x) if shift else x
        if not relabel:
            return plain_at(point)
        order = sorted(range(len(x)), key=lambda i: point[i])
        plain = plain_at(tuple(point[i] for i in order))
        assert isinstance(plain, Law)
        renamed = {
            (tuple(sorted(order[i] for i in members)), rest): chance
            for (members, rest), chance in plain.chances.items()
        }
        return Law(dict(sorted(renamed.items())))

    return law_at


def with_two_votes(mechanism: Any) -> Any:
    """Return the mechanism for counts in halves of votes: it draws by the ratio of a count to a user's votes."""
    return mechanism if getattr(mechanism, "votes_per_user", None) is None else replace(mechanism, votes_per_user=2)


def on_a_line(x: Point) -> Scores:
    """Return votes along a line in halves, of which one user has two."""
    return Scores(list(x), sensitivity=2, monotone=True)
