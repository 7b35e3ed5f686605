"""Exact arithmetic on partially drawn noise: real numbers that are never fully written down.

A `Draw` knows some leading bits of its uniform and encloses its noise by Arb balls at the two ends of what it
knows. Where a decision needs more, it draws 64 further bits and never forgets one: the decision is the one
that the exact real numbers would have given. Precision is flint's context, set and restored each time;
a ball is an enclosure at any precision, so another thread that changes it can cost time but never truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from shortlist._arrays import Words
from shortlist.exact.noise_distributions import Noise

if TYPE_CHECKING:
    from flint import arb

Term = tuple[Fraction, "Draw"]

ONE = Fraction(1)


class Bits(Protocol):
    """Whoever gives independent uniform bits: this room asks for more of a number, and makes none."""

    def words(self, count: int) -> Words:
        """`count` independent uniform 64-bit words."""
        ...


def word(source: Bits) -> int:
    """One uniform 64-bit word as a Python integer."""
    return int(source.words(1)[0])


class Draw:
    """Noise Q(U) of scale 1 with U in [value, value + 1] / 2^bits: the rest of U is drawn on demand."""

    __slots__ = ("_source", "bits", "noise", "value")

    def __init__(self, noise: Noise, value: int, bits: int, source: Bits) -> None:
        self.noise = noise
        self.value = value
        self.bits = bits
        self._source = source

    def refine(self) -> None:
        self.value = (self.value << 64) | word(self._source)
        self.bits += 64

    def enclosure(self) -> tuple[arb, arb]:
        """Balls around the least and the largest noise that the known bits allow."""
        quantile = self.noise.exact_quantile
        return quantile(self.value + 1, self.bits), quantile(self.value, self.bits)


class NoisyScore:
    """A runner in the race: its exact position, and its noise; both in units of the noise where the scale is 1."""

    __slots__ = ("draw", "position", "scale")

    def __init__(self, position: Fraction, draw: Draw, scale: Fraction = ONE) -> None:
        self.position = position
        self.draw = draw
        self.scale = scale

    def minus(self, other: NoisyScore) -> tuple[Fraction, list[Term]]:
        """The difference, for `is_positive` and its like."""
        return self.position - other.position, [(self.scale, self.draw), (-other.scale, other.draw)]


def ball(value: Fraction) -> arb:
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def narrowing(offset: Fraction, terms: Sequence[Term]) -> Iterator[tuple[arb, arb]]:
    """Ever narrower (lower, upper) bounds on offset + sum of coefficient * noise."""
    from flint import ctx

    while True:
        with ctx.workprec(64 + max((draw.bits for _, draw in terms), default=0) + _magnitude(offset)):
            low = high = ball(offset)
            for coefficient, draw in terms:
                least, most = draw.enclosure()
                if coefficient < 0:
                    least, most = most, least
                low = low + ball(coefficient) * least
                high = high + ball(coefficient) * most
            bounds = low.lower(), high.upper()
        yield bounds
        for _, draw in terms:
            draw.refine()


def _magnitude(value: Fraction) -> int:
    return max(0, value.numerator.bit_length() - value.denominator.bit_length())


def is_positive(offset: Fraction, terms: Sequence[Term]) -> bool:
    """Whether offset + sum of coefficient * noise is above zero, exactly (zero has probability zero)."""
    return next(bool(low > 0) for low, high in narrowing(offset, terms) if low > 0 or high < 0)


def nearest_float(offset: Fraction, terms: Sequence[Term]) -> float:
    """The float nearest to offset + sum of coefficient * noise: a function of the exact real alone."""
    finite = ((low, high) for low, high in narrowing(offset, terms) if low.is_finite() and high.is_finite())
    ends = ((_to_float(low), _to_float(high)) for low, high in finite)
    return next(low + 0.0 for low, high in ends if low == high)  # one zero: its sign would tell more than its value


def floor_of(offset: Fraction, terms: Sequence[Term]) -> int:
    """floor(offset + sum of coefficient * noise), exactly."""
    finite = ((low, high) for low, high in narrowing(offset, terms) if low.is_finite() and high.is_finite())
    ends = ((math.floor(exactly(low)), math.floor(exactly(high))) for low, high in finite)
    return next(low for low, high in ends if low == high)


def float_bounds(offset: Fraction, terms: Sequence[Term]) -> tuple[float, float]:
    """Floats around offset + sum of coefficient * noise, from the bits drawn so far (more, if those say nothing)."""
    finite = ((low, high) for low, high in narrowing(offset, terms) if low.is_finite() and high.is_finite())
    low, high = next(finite)
    return math.nextafter(_to_float(low), -math.inf), math.nextafter(_to_float(high), math.inf)


def _to_float(exact: arb) -> float:
    """A ball of radius zero, rounded to the nearest float."""
    return rounded(exactly(exact))


def exactly(exact: arb) -> Fraction:
    """A ball of radius zero."""
    mantissa, exponent = (int(part) for part in exact.man_exp())
    return mantissa * Fraction(2) ** exponent


def rounded(exact: Fraction) -> float:
    """The nearest float, which beyond the largest one is an infinity."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def compare(a: NoisyScore, b: NoisyScore) -> int:
    """+1 if a finishes above b, -1 if below, exactly."""
    return 1 if is_positive(*a.minus(b)) else -1


def failures_before_success(value: int, level: int, source: Bits) -> int:
    """floor(ln U / ln(1 - 2^-level)) for U in [value, value + 1] / 2^64, drawing more of U until certain."""
    from flint import arb, ctx, fmpq

    bits = 64
    while True:
        if value:
            with ctx.workprec(64 + bits):
                per_item = arb(fmpq((1 << level) - 1, 1 << level)).log()
                most = (arb(fmpq(value, 1 << bits)).log() / per_item).floor()
                least = (arb(fmpq(value + 1, 1 << bits)).log() / per_item).floor()
            low, high = least.unique_fmpz(), most.unique_fmpz()
            if low is not None and low == high:
                return int(low)
        value = (value << 64) | word(source)
        bits += 64
