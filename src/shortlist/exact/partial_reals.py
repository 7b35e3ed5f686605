"""Exact decisions on partially drawn numbers: reals that are never fully written down.

A `Uniform` knows some leading bits of a real number in (0, 1) and draws 64 more on demand; a `Draw` is the noise of
one. A `Real` is anything computed from such numbers, enclosed by Arb balls from the bits that are known. Where a
decision needs more, 64 further bits of each are drawn and none is ever forgotten: the decision is the one that the
exact real numbers would have given. Precision is flint's context, set and restored each time; a ball is an enclosure
at any precision, so another thread that changes it can cost time but never truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Protocol

from shortlist._arrays import Words
from shortlist.exact.noise_distributions import Noise

if TYPE_CHECKING:
    from flint import arb

Term = tuple[Fraction, "Draw"]

ONE = Fraction(1)

NUDGE = 2.0**-50
"""Relative error of the float bounds of a uniform: two rounded operations."""


class Bits(Protocol):
    """Whoever gives independent uniform bits: this room asks for more of a number, and makes none."""

    def words(self, count: int) -> Words:
        """`count` independent uniform 64-bit words."""
        ...


def word(source: Bits) -> int:
    """One uniform 64-bit word as a Python integer."""
    return int(source.words(1)[0])


class Partial(Protocol):
    """A number that is known by so many bits, and can draw more."""

    @property
    def bits(self) -> int: ...

    def refine(self) -> None: ...


class Exact(Partial, Protocol):
    """Such a number with a ball around it, ever narrower."""

    def ball(self) -> arb: ...


class Lazy(Exact, Protocol):
    """Such a number with float bounds."""

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


class Uniform:
    """U in [value, value + 1] / 2^bits; `more` gives the next 64 bits of it, and the first if there is no value."""

    __slots__ = ("_more", "bits", "value")

    def __init__(self, more: Callable[[], int], value: int | None = None, bits: int = 64) -> None:
        self._more = more
        self.value = more() if value is None else value
        self.bits = bits

    @property
    def low(self) -> float:
        """At most U."""
        return (self.value / (1 << self.bits)) * (1.0 - NUDGE)

    @property
    def high(self) -> float:
        """At least U."""
        return min(1.0, ((self.value + 1) / (1 << self.bits)) * (1.0 + NUDGE))

    def ball(self) -> arb:
        from flint import arb, fmpq

        return arb(fmpq(2 * self.value + 1, 2 << self.bits), fmpq(1, 2 << self.bits))

    def refine(self) -> None:
        self.value = (self.value << 64) | self._more()
        self.bits += 64


class Draw:
    """Noise Q(U) of scale 1 with U in [value, value + 1] / 2^bits: the rest of U is drawn on demand."""

    __slots__ = ("noise", "uniform")

    def __init__(self, noise: Noise, value: int, bits: int, source: Bits) -> None:
        self.noise = noise
        self.uniform = Uniform(partial(word, source), value, bits)

    @property
    def bits(self) -> int:
        return self.uniform.bits

    def refine(self) -> None:
        self.uniform.refine()

    def enclosure(self) -> tuple[arb, arb]:
        """Balls around the least and the largest noise that the known bits allow."""
        quantile, value, bits = self.noise.exact_quantile, self.uniform.value, self.uniform.bits
        return quantile(value + 1, bits), quantile(value, bits)


@dataclass(frozen=True, slots=True)
class Real:
    """A real number that depends on partially drawn ones."""

    bounds: Callable[[], tuple[arb, arb]]
    """(lower, upper) bounds on it from the bits that are known, at the precision of the moment."""
    numbers: Sequence[Partial]
    magnitude: int = 0
    """About so many bits stand before its point."""


def formula(expression: Callable[[], arb], numbers: Sequence[Partial]) -> Real:
    """Any expression, by a ball around it."""

    def bounds() -> tuple[arb, arb]:
        value = expression()
        return value.lower(), value.upper()

    return Real(bounds, numbers)


def total(offset: Fraction, terms: Sequence[Term]) -> Real:
    """offset + sum of coefficient * noise, by balls around both ends."""

    def bounds() -> tuple[arb, arb]:
        low = high = ball(offset)
        for coefficient, draw in terms:
            least, most = draw.enclosure()
            if coefficient < 0:
                least, most = most, least
            low = low + ball(coefficient) * least
            high = high + ball(coefficient) * most
        return low.lower(), high.upper()

    magnitude = max(0, offset.numerator.bit_length() - offset.denominator.bit_length())
    return Real(bounds, [draw for _, draw in terms], magnitude)


class NoisyScore:
    """A runner in the race: its exact position, and its noise; both in units of the noise where the scale is 1."""

    __slots__ = ("draw", "position", "scale")

    def __init__(self, position: Fraction, draw: Draw, scale: Fraction = ONE) -> None:
        self.position = position
        self.draw = draw
        self.scale = scale

    def minus(self, other: NoisyScore) -> Real:
        """The difference of two."""
        return total(self.position - other.position, [(self.scale, self.draw), (-other.scale, other.draw)])


def ball(value: Fraction) -> arb:
    """The smallest ball around a fraction."""
    from flint import arb, fmpq

    return arb(fmpq(value.numerator, value.denominator))


def around(low: float, high: float) -> arb:
    """A ball around all numbers between two floats."""
    from flint import arb

    return arb(low).union(arb(high))


def narrowing(real: Real) -> Iterator[tuple[arb, arb]]:
    """Ever narrower (lower, upper) bounds on a real."""
    from flint import ctx

    while True:
        with ctx.workprec(64 + max((number.bits for number in real.numbers), default=0) + real.magnitude):
            bounds = real.bounds()
        yield bounds
        for number in real.numbers:
            number.refine()


def _finite(real: Real) -> Iterator[tuple[arb, arb]]:
    return ((low, high) for low, high in narrowing(real) if low.is_finite() and high.is_finite())


def is_positive(real: Real) -> bool:
    """Whether a real is above zero, exactly (zero has probability zero)."""
    return next(bool(low > 0) for low, high in narrowing(real) if low > 0 or high < 0)


def nearest_float(real: Real) -> float:
    """The float nearest to a real: a function of the exact number alone."""
    ends = ((_to_float(low), _to_float(high)) for low, high in _finite(real))
    return next(low + 0.0 for low, high in ends if low == high)  # one zero: its sign would tell more than its value


def floor_of(real: Real) -> int:
    """The largest whole number that is not above a real, exactly."""
    ends = ((math.floor(exactly(low)), math.floor(exactly(high))) for low, high in _finite(real))
    return next(low for low, high in ends if low == high)


def float_bounds(real: Real) -> tuple[float, float]:
    """Floats around a real, from the bits drawn so far (more, if those say nothing)."""
    low, high = next(_finite(real))
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


def rounded_down(exact: Fraction) -> float:
    """The largest float that is not above, for numbers from 0 on that floats reach."""
    nearest = float(exact)
    return nearest if Fraction(nearest) <= exact else math.nextafter(nearest, 0.0)


def compare(a: NoisyScore, b: NoisyScore) -> int:
    """+1 if a finishes above b, -1 if below, exactly."""
    return 1 if is_positive(a.minus(b)) else -1


def failures_before_success(value: int, level: int, source: Bits) -> int:
    """floor(ln U / ln(1 - 2^-level)) for U in [value, value + 1] / 2^64, drawing more of U until certain."""
    from flint import arb, fmpq

    uniform = Uniform(partial(word, source), value)

    def bounds() -> tuple[arb, arb]:
        per_item = ball(Fraction((1 << level) - 1, 1 << level)).log()
        least, most = (arb(fmpq(end, 1 << uniform.bits)).log() / per_item for end in (uniform.value + 1, uniform.value))
        return least.lower(), most.upper()

    return floor_of(Real(bounds, [uniform]))
