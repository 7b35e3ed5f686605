"""Partially drawn reals, and the scores that they are added to, as intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key, lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from shortlist._arrays import Floats, Indices, Values, Words
from shortlist.exact.noise import PLAIN, ROUGH, Noise

if TYPE_CHECKING:
    from flint import arb


Term = tuple[Fraction, "Draw"]

ZERO, ONE = Fraction(0), Fraction(1)

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


class Lazy(Partial, Protocol):
    """Such a number with float bounds, and with a ball around it, ever narrower."""

    def ball(self) -> arb: ...

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


class Draw(Uniform):
    """Noise Q(U) of scale 1 with U in [value, value + 1] / 2^bits: the rest of U is drawn on demand."""

    __slots__ = ("noise",)

    def __init__(self, noise: Noise, value: int, bits: int, source: Bits) -> None:
        super().__init__(partial(word, source), value, bits)
        self.noise = noise

    def enclosure(self) -> tuple[arb, arb]:
        """Balls around the least and the largest noise that the known bits allow."""
        return self.noise.exact_quantile(self.value + 1, self.bits), self.noise.exact_quantile(self.value, self.bits)


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

    def number(self, offset: Fraction = ZERO) -> Real:
        """Return it, and an offset, as a real number."""
        return total(self.position + offset, [(self.scale, self.draw)])

    def minus(self, other: NoisyScore) -> Real:
        """Return the difference of two."""
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


def shows(chance: Callable[[], arb], coin: Uniform, others: Sequence[Partial] = ()) -> bool:
    """Whether a coin shows heads, exactly: that is the chance of it, of which other lazy numbers may be a part."""
    return is_positive(formula(lambda: chance() - coin.ball(), [coin, *others]))


def nearest_float(real: Real) -> float:
    """The float nearest to a real: a function of the exact number alone."""
    ends = ((to_float(exactly(low)), to_float(exactly(high))) for low, high in _finite(real))
    return next(low + 0.0 for low, high in ends if low == high)  # one zero: its sign would tell more than its value


def floor_of(real: Real) -> int:
    """The largest whole number that is not above a real, exactly."""
    ends = ((math.floor(exactly(low)), math.floor(exactly(high))) for low, high in _finite(real))
    return next(low for low, high in ends if low == high)


def float_bounds(real: Real) -> tuple[float, float]:
    """Floats around a real, from the bits drawn so far (more, if those say nothing)."""
    low, high = next(_finite(real))
    return math.nextafter(to_float(exactly(low)), -math.inf), math.nextafter(to_float(exactly(high)), math.inf)


def exactly(exact: arb) -> Fraction:
    """A ball of radius zero."""
    mantissa, exponent = (int(part) for part in exact.man_exp())
    return mantissa * Fraction(2) ** exponent


def to_float(exact: Fraction) -> float:
    """The nearest float, which beyond the largest one is an infinity."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def floor_to_float(exact: Fraction) -> float:
    """Return the largest float that is not above."""
    nearest = to_float(exact)
    return math.nextafter(nearest, -math.inf) if math.isfinite(nearest) and Fraction(nearest) > exact else nearest


def compare(a: NoisyScore, b: NoisyScore) -> int:
    """+1 if a finishes above b, -1 if below, exactly."""
    return 1 if is_positive(a.minus(b)) else -1


def failures_before_success(value: int, level: int, source: Bits) -> int:
    """Return floor(ln U / ln(1 - 2^-level)) for U in [value, value + 1] / 2^64, drawing more of U until certain."""
    uniform, miss = Uniform(partial(word, source), value), Fraction((1 << level) - 1, 1 << level)
    return floor_of(formula(lambda: uniform.ball().log() / ball(miss).log(), [uniform]))


POSITION_ROUNDING = 2.0**-50
"""Relative error of a position: one rounded difference, one rounded factor, one product."""

SHORT = 32
"""So many winners are compared one by one in less time than in arrays."""

EXACT_FLOATS = 2**52
"""A whole centre up to here, and whatever is near it, are floats as they are."""

FAR = 1e300
"""Positions are clamped here. What lies beyond has a one-sided interval."""


@dataclass(frozen=True, slots=True)
class Contest:
    """Scores, an exact scale, a noise kind, and how many winners are wanted."""

    values: Values
    k: int
    scale: Fraction
    noise: Noise
    centre: int | float

    def positions(self, items: Values) -> Floats:
        """(items - centre) / scale to a relative error of POSITION_ROUNDING or to 1e-300, clamped to +-FAR."""
        (difference, doublings), (factor, inverse) = _subtract(items, self.centre), _inverse(self.scale)
        exponent = doublings + inverse
        with np.errstate(over="ignore", under="ignore"):
            if isinstance(exponent, int) and exponent == 0:
                result = difference * factor
            elif inverse > 0:  # scale up before the product, down after it: no bit is lost to underflow
                result = np.ldexp(difference, exponent) * factor
            else:
                result = np.ldexp(difference * factor, exponent)
        return np.minimum(np.maximum(result, -FAR), FAR)

    def intervals(self, items: Values, words: Words, level: Indices | int) -> tuple[Floats, Floats]:
        """(low, high) around each finish. A candidate at -inf never finishes: both ends are -inf."""
        g = self.positions(items)
        q, error = self.noise.quantile(words, level)
        z = g + q
        error = error + POSITION_ROUNDING * (np.abs(g) + np.abs(z)) + 1e-300
        low, high = z - error, z + error
        if max(-g.min(initial=0.0), g.max(initial=0.0)) >= FAR:
            low = np.where(g <= -FAR, -np.inf, low)
            high = np.where(g >= FAR, np.inf, high)
            if items.dtype.kind == "f":
                high = np.where(items == -np.inf, -np.inf, high)
        return low, high

    @np.errstate(all="ignore")
    def clear_winners(self, words: Words) -> Indices | None:
        """The positions of the k highest finishes, best first, from one word each, where few operations tell it.

        That is nearly always: None where two that matter are too close, or a word is extreme. Finishes z are good to
        2 ROUGH + 2^-48 |z|, by |g| <= |z| + 45, which grows slower than z: what is far enough below the next one that
        is left out is above all others too. Every error is at least that of `intervals`.
        """
        rough, k, (factor, exponent) = self.noise.rough, self.k, _inverse(self.scale)
        if rough is None or k > SHORT or exponent or not -EXACT_FLOATS <= self.centre <= EXACT_FLOATS:
            return None
        if np.minimum.reduce(words) < PLAIN or np.maximum.reduce(words) >= (1 << 64) - PLAIN:
            return None
        z = np.subtract(self.values, self.centre, dtype=np.float64)
        z *= factor
        z += rough(words)
        best, finishes = highest(z, self.k)
        for one, other in pairwise(finishes):
            error = 4 * ROUGH + 2.0**-47 * (abs(one) + abs(other)) if other > -math.inf else 0.0
            if not one - other > error:
                return None
        return np.array(best)

    def noisy_score(self, index: int, word: int, level: int, source: Bits) -> NoisyScore:
        """The same finish as an exact, lazily drawn number."""
        position = (Fraction(self.values[index].item()) - Fraction(self.centre)) / self.scale
        return NoisyScore(position, Draw(self.noise, word, 64 + level, source))


@lru_cache
def _inverse(scale: Fraction) -> tuple[float, int]:
    """(factor, exponent): 1 / scale = factor * 2^exponent to 53 bits. The exponent is 0 unless the scale is extreme."""
    above, below = scale.as_integer_ratio()
    exponent = below.bit_length() - above.bit_length() + 1
    if abs(exponent) < 900:
        return below / above, 0
    return float(1 / (scale * Fraction(2) ** exponent)), exponent


def _subtract(items: Values, centre: int | float) -> tuple[Floats, Indices | int]:
    """(difference, doublings): items - centre = difference * 2^doublings to 52 bits, without overflow."""
    if items.dtype.kind == "f":
        x = items.astype(np.float64, copy=False)
        with np.errstate(over="ignore"):
            difference = x - centre
        lost = np.isinf(difference)
        if not lost.any():
            return difference, 0
        return np.where(lost, x / 2 - centre / 2, difference), lost.astype(np.int64)
    whole = items.astype(np.int64, copy=False)
    exact = whole - np.int64(centre)
    if not len(whole) or (whole.min().item() - centre >= -(2**63) and whole.max().item() - centre < 2**63):
        return exact.astype(np.float64), 0
    lost = ((whole ^ np.int64(centre)) & (whole ^ exact)) < 0  # the difference left 64 bits
    return np.where(lost, whole.astype(np.float64) - float(centre), exact.astype(np.float64)), 0


def kth_largest(values: Values, k: int) -> int | float:
    """The centre that keeps rounding harmless: a score far above it can then win only by itself."""
    best = np.maximum.reduce(values) if k == 1 else np.partition(values, len(values) - k)[len(values) - k]
    return best.item()


def highest(z: Floats, k: int) -> tuple[list[int], list[float]]:
    """(where the k largest stand, the k + 1 largest, or all if there are no more), falling."""
    if k == 1:
        top = int(z.argmax())
        one, z[top] = float(z[top]), -np.inf
        return [top], [one, float(np.maximum.reduce(z))]
    wanted = min(k + 1, len(z))
    places = z.argpartition(len(z) - wanted)[len(z) - wanted :]
    best = sorted(zip(z[places].tolist(), places.tolist(), strict=True), reverse=True)
    return [place for _, place in best[:k]], [one for one, _ in best]


def ranking(low: Floats, high: Floats, k: int, exact: Callable[[int], NoisyScore]) -> Indices:
    """The positions of the k highest finishes, best first.

    Candidates are cut into runs whose intervals are separated from all others; a run of several is sorted
    exactly. `exact(i)` gives the lazily drawn number behind interval i, the same one each time.
    """
    least = np.partition(low, len(low) - k)[len(low) - k]
    order = np.flatnonzero((high >= least) & (high > -np.inf))
    order = order[np.argsort(-high[order], kind="stable")]
    apart = np.minimum.accumulate(low[order]) > np.append(high[order][1:], -np.inf)
    apart[-1:] = True
    ends = np.flatnonzero(apart) + 1
    starts = np.append(0, ends[:-1])

    def lower(i: int, j: int) -> int:
        return compare(exact(j), exact(i))

    by_finish = cmp_to_key(lower)
    for run in np.flatnonzero((ends - starts > 1) & (starts < k)):
        members = slice(starts[run], ends[run])
        order[members] = sorted(order[members].tolist(), key=by_finish)
    return order[:k]
