"""The certified law of a noisy histogram (Theorem 196), written from the formulas of independent noise.

Under a pure claim the density of an order and its k sums before they are rounded, at points of a grid:
prod f(v_j - x_(i_j)) over the winners, times prod F(v_k - x_l) over the losers, Laplace noise.

Gaussian noise: all counts with their noise say more than the k largest of them, so a bound on what all of them show is
one on what is released. With mu^2 = sum (x_i - y_i)^2 / sigma^2 the hockey stick is
Phi(mu/2 - e/mu) - e^e Phi(-mu/2 - e/mu), and the moment of order r is e^(r (r-1) mu^2 / 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, Self

from flint import arb, ctx

from shortlist.certified.curves import PRECISION, power, rational
from shortlist.certified.law import Law, rounded_up

if TYPE_CHECKING:
    from shortlist.mechanisms.histogram.mechanism import NoisyHistogram
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
                return max(0.0, rounded_up(1 - e.exp()))
            here, there = ((e / mu - mu / 2) / root).erfc() / 2, ((e / mu + mu / 2) / root).erfc() / 2
            return max(0.0, rounded_up(here - e.exp() * there))

    def log_moment(self, other: Self, order: float) -> float:
        """ln of the integral of density^order other^(1 - order), rounded up."""
        with ctx.workprec(PRECISION):
            r = arb(rational(order))
            return rounded_up(r * (r - 1) * arb(rational(self._square(other))) / 2)

    def _square(self, other: Self) -> Fraction:
        return sum(((x - y) ** 2 for x, y in zip(self.places, other.places, strict=True)), Fraction(0))


GRID = tuple(Fraction(n, 4) for n in (-12, -2, 0, 1, 3, 4, 7, 20))
"""Where sums are compared, in units of the noise."""


def law(mechanism: NoisyHistogram, scores: Scores) -> GaussianCounts | Law:
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
