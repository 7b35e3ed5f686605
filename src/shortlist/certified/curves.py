"""Piecewise sums of exponentials in balls: closed under products, and integrated in closed form.

Exponential, Laplace and piecewise-linear custom noise have survival functions of this kind, so every probability and
density of a race or of a sparse vector is an integral of a product of them: nothing is approximated but by balls whose
radii are carried along. Rates and knots are exact rationals.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from flint import arb, fmpq

Poly = dict[fmpq, arb]
"""{rate: coefficient}: the sum of coefficient e^(rate z)."""

PRECISION = 160
"""Bits of the balls; results are trusted to what their radii say, whatever this is."""


def rational(value: int | float | Fraction) -> fmpq:
    """The number itself: floats are binary fractions."""
    exact = Fraction(value)
    return fmpq(exact.numerator, exact.denominator)


@dataclass(frozen=True, slots=True)
class Curve:
    """polys[i] on knots[i - 1] <= z < knots[i]; the first piece starts at -inf, the last one ends at +inf."""

    knots: tuple[fmpq, ...]
    polys: tuple[Poly, ...]

    def __mul__(self, other: Curve) -> Curve:
        return self._with(other, _times)

    def __add__(self, other: Curve) -> Curve:
        return self._with(other, _plus)

    def complement(self) -> Curve:
        """1 minus this."""
        return Curve(self.knots, tuple(_plus({fmpq(0): arb(1)}, _scaled(poly, arb(-1))) for poly in self.polys))

    def scaled(self, factor: arb) -> Curve:
        return Curve(self.knots, tuple(_scaled(poly, factor) for poly in self.polys))

    def _with(self, other: Curve, join: Callable[[Poly, Poly], Poly]) -> Curve:
        knots = tuple(sorted({*self.knots, *other.knots}))
        starts: list[fmpq | None] = [None, *knots]
        return Curve(knots, tuple(join(self._from(start), other._from(start)) for start in starts))

    def _from(self, start: fmpq | None) -> Poly:
        return self.polys[0 if start is None else bisect_right(self.knots, start)]

    def integral(self) -> arb:
        """Over the whole line. Pieces that reach to infinity must vanish there."""
        return self._total(_integral)

    def sum(self) -> arb:
        """Over all whole z; the knots must be whole."""
        return self._total(_sum)

    def _total(self, piece: Callable[[Poly, fmpq | None, fmpq | None], arb]) -> arb:
        edges: list[fmpq | None] = [None, *self.knots, None]
        total = arb(0)
        for poly, low, high in zip(self.polys, edges[:-1], edges[1:], strict=True):
            if poly:
                total += piece(poly, low, high)
        return total


def product(curves: Iterable[Curve]) -> Curve:
    """The product of all curves, at every z."""
    return reduce(lambda one, two: one * two, curves)


def _times(one: Poly, two: Poly) -> Poly:
    result: Poly = {}
    for rate, factor in one.items():
        for other, coefficient in two.items():
            both = rate + other
            old = result.get(both)
            result[both] = factor * coefficient if old is None else old + factor * coefficient
    return result


def _plus(one: Poly, two: Poly) -> Poly:
    result = dict(one)
    for rate, coefficient in two.items():
        old = result.get(rate)
        result[rate] = coefficient if old is None else old + coefficient
    return result


def _scaled(poly: Poly, factor: arb) -> Poly:
    return {rate: coefficient * factor for rate, coefficient in poly.items()}


def power(rate: fmpq) -> arb:
    """e^rate."""
    return arb(rate).exp()


def _integral(poly: Poly, low: fmpq | None, high: fmpq | None) -> arb:
    total = arb(0)
    for rate, coefficient in poly.items():
        if rate == 0:
            if low is None or high is None:
                raise ArithmeticError("this integral does not converge")
            total += coefficient * arb(high - low)
            continue
        if (high is None and rate > 0) or (low is None and rate < 0):
            raise ArithmeticError("this integral does not converge")
        top = power(rate * high) if high is not None else arb(0)
        bottom = power(rate * low) if low is not None else arb(0)
        total += coefficient * (top - bottom) / arb(rate)
    return total


def _sum(poly: Poly, low: fmpq | None, high: fmpq | None) -> arb:
    """Over whole z with low <= z < high."""
    total = arb(0)
    for rate, coefficient in poly.items():
        if low is None or (high is None and rate >= 0):
            raise ArithmeticError("this sum does not converge")
        if rate == 0:
            assert high is not None
            total += coefficient * arb(high - low)
            continue
        top = power(rate * high) if high is not None else arb(0)
        total += coefficient * (top - power(rate * low)) / (power(rate) - 1)
    return total


# The noises whose survival functions are of this kind

Pieces = tuple[tuple[fmpq, ...], tuple[Poly, ...]]
ONE: Poly = {fmpq(0): arb(1)}
_EXPONENTIAL: Pieces = ((fmpq(0),), (ONE, {fmpq(-1): arb(1)}))
_LAPLACE: Pieces = ((fmpq(0),), ({fmpq(0): arb(1), fmpq(1): arb(-1) / 2}, {fmpq(-1): arb(1) / 2}))
NAMED = {"exponential": _EXPONENTIAL, "laplace": _LAPLACE}


def custom(knots: Sequence[int | float | Fraction], slopes: Sequence[int | float | Fraction]) -> Pieces:
    """The survival function of `piecewise_noise(knots, slopes)`."""
    at, fall = [rational(knot) for knot in knots], [rational(slope) for slope in slopes]
    height, polys = fmpq(0), [ONE]
    for place, (start, slope) in enumerate(zip(at, fall, strict=True)):
        polys.append({slope: power(height - slope * start)})
        if place + 1 < len(at):
            height += slope * (at[place + 1] - start)
    return tuple(at), tuple(polys)


def survival(noise: Pieces, scale: fmpq, at: fmpq) -> Curve:
    """P(at + scale N > z), as a function of z."""
    return _placed(noise, scale, at, derivative=False)


def below(noise: Pieces, scale: fmpq, at: fmpq) -> Curve:
    """P(at + scale N <= z)."""
    return survival(noise, scale, at).complement()


def density(noise: Pieces, scale: fmpq, at: fmpq) -> Curve:
    """The density of at + scale N at z."""
    return _placed(noise, scale, at, derivative=True)


def _placed(noise: Pieces, scale: fmpq, at: fmpq, *, derivative: bool) -> Curve:
    knots, polys = noise
    curve = []
    for poly in polys:
        one: Poly = {}
        for rate, coefficient in poly.items():
            steep = rate / scale
            if derivative and rate == 0:
                continue
            factor = coefficient * power(-steep * at)
            one[steep] = -factor * arb(steep) if derivative else factor
        curve.append(one)
    return Curve(tuple(at + scale * knot for knot in knots), tuple(curve))
