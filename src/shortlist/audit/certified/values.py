"""The certified laws of selected items with values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import TYPE_CHECKING, Any, Self

from flint import arb, ctx

from shortlist.audit.certified import sets, unknown_domain
from shortlist.audit.certified.base import PRECISION, Law, power, rational, round_up

if TYPE_CHECKING:
    from shortlist.mechanisms.values import MeasuredSet, NoisyHistogram
    from shortlist.scores import Scores


@dataclass(frozen=True, slots=True)
class GaussianCounts:
    """Counts with Gaussian noise, in units of its deviation."""

    places: tuple[Fraction, ...]

    def stick(self, other: Self, epsilon: float) -> float:
        """sup over events S of P(S) - e^epsilon P'(S) of all noisy counts, rounded up."""
        square = self._square(other)
        with ctx.workprec(PRECISION):
            e, mu, root = arb(rational(epsilon)), arb(rational(square)).sqrt(), arb(2).sqrt()
            if not square:
                return max(0.0, round_up(1 - e.exp()))
            here, there = ((e / mu - mu / 2) / root).erfc() / 2, ((e / mu + mu / 2) / root).erfc() / 2
            return max(0.0, round_up(here - e.exp() * there))

    def log_moment(self, other: Self, order: float) -> float:
        """ln of the integral of density^order other^(1 - order), rounded up."""
        with ctx.workprec(PRECISION):
            r = arb(rational(order))
            return round_up(r * (r - 1) * arb(rational(self._square(other))) / 2)

    def _square(self, other: Self) -> Fraction:
        return sum(((x - y) ** 2 for x, y in zip(self.places, other.places, strict=True)), Fraction(0))


GRID = tuple(Fraction(n, 4) for n in (-12, -2, 0, 1, 3, 4, 7, 20))
"""Where sums are compared, in units of the noise."""


def histogram_law(mechanism: NoisyHistogram, scores: Scores) -> GaussianCounts | Law:
    """The counts under the mechanism's own noise."""
    noisy = mechanism.noise(scores)
    places = tuple(Fraction(value) / noisy.scale for value in scores.values.tolist())
    if noisy.noise.name == "gaussian":
        return GaussianCounts(places)
    table: dict[Any, arb] = {}
    for order in permutations(range(len(places)), mechanism.k):
        losers = [places[i] for i in range(len(places)) if i not in order]
        for sums in combinations(sorted(GRID, reverse=True), mechanism.k):
            here = sum((abs(v - places[i]) for i, v in zip(order, sums, strict=True)), Fraction(0))
            density = power(rational(-here))
            for x in losers:
                density *= _below(sums[-1] - x)
            table[order, sums] = density
    return Law(table, density=True)


def _below(z: Fraction) -> arb:
    """P[N <= z] of Laplace noise of scale 1."""
    tail = power(rational(-abs(z))) / 2
    return 1 - tail if z > 0 else tail


LOW, HIGH = -9, 12
"""Values below and above are not told apart."""


def law_of_measured_set(mechanism: MeasuredSet, scores: Scores) -> Law:
    """{(set, its values in the order of their positions): chance}, for whole scores.

    The set comes with the way it was selected: by the guard, or by the branch for candidates that come from the data.
    """
    parts: Any = mechanism._parts(scores.public)
    x = scores.values.tolist()
    if scores.public:
        selected = sets.law_of_guarded_set(parts.selection, scores)
    else:
        selected = unknown_domain.both_law(parts.selection, x, None)
    chances: dict[Any, arb] = {}
    for outcome, chance in selected.chances.items():
        members = outcome[0] if scores.public else outcome[-1]
        scale = parts.noise(len(members), scores.largest_sensitivity) if members else None
        tables = [_values(x[i], scale, parts.epsilon is None) for i in members]
        for pairs in product(*(table.items() for table in tables)):
            total = chance
            for _, part in pairs:
                total = total * part
            chances[outcome, tuple(value for value, _ in pairs)] = total
    return Law(dict(sorted(chances.items(), key=lambda one: repr(one[0]))))


def _values(count: int, scale: Any, gaussian: bool) -> dict[int, arb]:
    """P[value], cut at both ends."""
    width = arb(rational(scale))

    def at_least(value: int) -> arb:
        if gaussian:
            return ((arb(value - 0.5) - count) / (width * arb(2).sqrt())).erfc() / 2
        distance = value - count
        a = (-1 / width).exp()
        return a**distance / (1 + a) if distance >= 1 else 1 - a ** (1 - distance) / (1 + a)

    ends = [arb(1), *map(at_least, range(LOW + 1, HIGH + 1)), arb(0)]
    return {LOW + n: ends[n] - ends[n + 1] for n in range(len(ends) - 1)}
