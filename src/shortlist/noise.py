"""Noise by name, and noise that a user defines: `piecewise_noise`, and `custom_noise` from code.

A survival function whose logarithm is piecewise linear, with rational knots and slopes in [-1, 0], has a hazard of at
most 1, which is all that the privacy of an unordered set needs. The *order* of the winners is another matter: for
general noise of this kind it breaks the guarantee (Proposition 61), so these kinds release sets only.

Code is read at public knots and joined by straight lines (Theorem 260). The piecewise distribution that comes out *is*
that of the noise: it is what is drawn, exactly, and what is proved. The code only proposes it, and is not called again.
So no code, however wrong, can break the guarantee of a set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist._arrays import Floats, Indices, Words
from shortlist.exact.noise import KINDS, RELATIVE_ERROR, Noise, dyadic, infinite, log_uniform
from shortlist.exact.reals import ball, exactly

if TYPE_CHECKING:
    from flint import arb

__all__ = ["Noise", "custom_noise", "piecewise_noise"]


def piecewise_noise(
    knots: Sequence[int | float | Fraction], slopes: Sequence[int | float | Fraction], *, name: str = "custom"
) -> Noise:
    """Noise with ln P(N > x) = 0 up to the first knot, with slope `slopes[j]` from `knots[j]` on.

    Parameters
    ----------
    knots
        Increasing rational numbers (floats are taken as the exact binary fractions they are).
    slopes
        As many, each in [-1, 0]; the last one negative, so that the noise is finite. A slope of 0 is a
        stretch that the noise never falls into.
    name
        What releases call it.

    Returns
    -------
    A noise kind for `NoisyMax` and for unordered `OneshotTopK`.

    Raises
    ------
    ValueError
        naming the argument.

    Examples
    --------
    >>> piecewise_noise([0], [-1], name="exponential again")
    <noise exponential again>
    """
    if not isinstance(name, str) or name in KINDS:
        raise ValueError("name must be a word of its own, not that of a named noise")
    at = rationals("knots", knots)
    slope = rationals("slopes", slopes)
    if not at or len(at) != len(slope):
        raise ValueError("knots and slopes must have the same length, at least one: one slope after each knot")
    if any(a >= b for a, b in pairwise(at)):
        raise ValueError("knots must increase strictly; sort them and drop repeated ones")
    if any(not -1 <= one <= 0 for one in slope):
        raise ValueError("slopes must lie in [-1, 0]: a steeper fall than e^-x would break the guarantee")
    if slope[-1] == 0:
        raise ValueError("the last slope must be negative: with 0 the noise would be infinite")
    if max(map(abs, at)) > 2**30 or any(-(2**-30) < one < 0 for one in slope):
        raise ValueError("knots must lie within 2^30 of 0, and slopes be 0 or at most -2^-30")
    heights = [Fraction(0)]
    for (left, right), fall in zip(pairwise(at), slope, strict=False):
        heights.append(heights[-1] + fall * (right - left))
    pieces = tuple(zip(at, slope, heights, strict=True))
    laws = (_log_survival, _log_cdf, _log_density, _decay, _quantile, _exact_quantile)
    parts: dict[str, Any] = {law.__name__[1:]: _Part(pieces, law) for law in laws}
    return Noise(name, kinks=tuple(map(float, at)), **parts)


def rationals(name: str, values: Sequence[int | float | Fraction]) -> list[Fraction]:
    """The numbers as fractions, exactly; whatever is not finite is refused by name."""
    try:
        return [Fraction(value.item() if isinstance(value, np.generic) else value) for value in values]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be finite rational numbers, for example [0, Fraction(1, 2)]") from None


Piece = tuple[Fraction, Fraction, Fraction]
"""Where a piece starts, its slope, and ln S at its start."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One function of the law of given pieces. Equal ones compare equal and can be pickled, as closures cannot."""

    pieces: tuple[Piece, ...]
    law: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        return self.law(self.pieces, *arguments)


@cache
def _floats(pieces: tuple[Piece, ...], *, steep: bool = False) -> tuple[Floats, Floats, Floats]:
    """(starts, slopes, heights), of all pieces or of those that fall."""
    start, slope, height = np.array([piece for piece in pieces if piece[1] < 0 or not steep], np.float64).T
    return start, slope, height


def _log_survival(pieces: tuple[Piece, ...], x: Floats) -> Floats:
    start, slope, height = _floats(pieces)
    piece = np.maximum(np.searchsorted(start, x, side="right") - 1, 0)
    return np.minimum(height[piece] + slope[piece] * (x - start[piece]), 0.0)


def _log_cdf(pieces: tuple[Piece, ...], x: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(_log_survival(pieces, x)))


def _log_density(pieces: tuple[Piece, ...], x: Floats) -> Floats:
    start, slope, _ = _floats(pieces)
    piece = np.searchsorted(start, x, side="right") - 1
    with np.errstate(divide="ignore"):
        hazard: Floats = np.log(np.where(piece < 0, 0.0, -slope[piece]))
    return hazard + _log_survival(pieces, x)


def _decay(pieces: tuple[Piece, ...], x: Floats) -> Floats:
    return -_log_survival(pieces, x)


def _inverse(pieces: tuple[Piece, ...], log: Floats) -> Floats:
    start, slope, height = _floats(pieces, steep=True)
    piece = np.searchsorted(-height, -log, side="right") - 1
    return start[piece] + (log - height[piece]) / slope[piece]


def _quantile(pieces: tuple[Piece, ...], words: Words, level: Indices | int) -> tuple[Floats, Floats]:
    """The inverse is monotone: take it at both ends of what is known of ln U."""
    log, error = log_uniform(words, level)
    radius = np.where(np.isinf(error), 0.0, error)
    least, most = _inverse(pieces, np.minimum(log + radius, 0.0)), _inverse(pieces, log - radius)
    slack = RELATIVE_ERROR * (abs(_floats(pieces)[0]).max() + np.abs(least) + np.abs(most) + 1.0)
    return 0.5 * (least + most), np.where(np.isinf(error), np.inf, 0.5 * (most - least) + slack)


def _exact_quantile(pieces: tuple[Piece, ...], v: int, bits: int) -> arb:
    """Not a number where the precision cannot tell which piece it is: whoever asks refines."""
    from flint import arb

    if v == 0:
        return infinite(+1)
    log, steep = dyadic(v, bits).log(), [piece for piece in pieces if piece[1] < 0]
    left, fall, top = next(piece for piece in reversed(steep) if piece is steep[0] or not log > ball(piece[2]))
    if log <= ball(top) or top == steep[0][2]:
        return ball(left) + (log - ball(top)) / ball(fall)
    return arb("nan")


FINEST = Fraction(1, 2**30)
"""Slopes are whole multiples of this."""

BITS = 192
"""The working precision at which the code is called."""

MOST_KNOTS = 4097

Number = int | float | Fraction


def custom_noise(
    log_survival: Callable[[arb], arb],
    *,
    low: Number,
    high: Number,
    knots: int = 65,
    lipschitz: Number = 1,
    name: str = "custom",
) -> Noise:
    """Noise whose ln P(N > x) is that of the code at equally spaced knots, and linear between them; for sets only.

    Below `low` there is no noise: the law is that of the code given N > low. Above `high` its last slope goes on. At
    the knots ln S is that of the code up to lipschitz (high - low) / 2^30 (Theorem 260).

    Parameters
    ----------
    log_survival
        x to ln P(N > x) as `flint.arb`: the code is called once at every knot, with a ball around it.
    low, high
        Public numbers between which the code is read, for example -4 and 12.
    knots
        At how many places, both ends included: from 2 to 4097.
    lipschitz
        How steeply ln P(N > x) may fall. The noise is stretched by this number, so that it falls at most as e^-x does.
    name
        What releases call it.

    Returns
    -------
    A noise kind for `NoisyMax` and for unordered `OneshotTopK`.

    Raises
    ------
    ValueError, TypeError
        naming the argument; and if ln P(N > x) is not a finite ball, rises, or falls too steeply between two knots.

    Examples
    --------
    >>> custom_noise(lambda x: -((1 + x.exp()).log()), low=-4, high=12, name="nearly logistic")
    <noise nearly logistic>
    """
    from flint import ctx

    (first, last), (most,) = rationals("low and high", [low, high]), rationals("lipschitz", [lipschitz])
    if not first < last:
        raise ValueError("low must be below high: the code is read between them")
    if not isinstance(knots, int) or isinstance(knots, bool) or not 2 <= knots <= MOST_KNOTS:
        raise ValueError(f"knots must be a whole number from 2 to {MOST_KNOTS}, for example knots=65")
    if most <= 0:
        raise ValueError("lipschitz must be above 0: the bound on how steeply ln P(N > x) falls, for example 1")
    step = (last - first) / (knots - 1)
    places = [first + j * step for j in range(knots)]
    with ctx.workprec(BITS):
        heights = [_height(log_survival, place) for place in places]
        falls = [(after - before) / ball(step * most) for before, after in pairwise(heights)]
        slopes = [_slope(fall, at) for fall, at in zip(falls, places, strict=False)]
    if slopes[-1] == 0:
        raise ValueError("log_survival must fall before high: its last slope goes on for ever. Choose a larger high")
    return piecewise_noise([place * most for place in places], [*slopes, slopes[-1]], name=name)


def _height(log_survival: Callable[[arb], arb], place: Fraction) -> arb:
    from flint import arb

    height = log_survival(ball(place))
    if not isinstance(height, arb):
        raise TypeError("log_survival must return a flint.arb, made of its argument by arithmetic and methods of arb")
    if not height.is_finite():
        raise ValueError(f"log_survival must be finite at the knots; at {float(place):g} it is not: move low or high")
    return height


def _slope(fall: arb, at: Fraction) -> Fraction:
    """The nearest multiple of FINEST in [-1, 0]; a ball that lies outside of it, or is too wide to tell, is refused."""
    if fall < -1:
        raise ValueError(
            f"log_survival falls too steeply after {float(at):g}: stretch the noise by a larger lipschitz="
        )
    if fall > 0:
        raise ValueError(f"log_survival rises after {float(at):g}: the logarithm of a survival function never does")
    if not 4 * fall.rad() < ball(FINEST):
        raise ValueError(f"log_survival is known too roughly near {float(at):g}: choose fewer knots, or mend its code")
    slope = round(exactly(fall.mid()) / FINEST) * FINEST
    return min(max(slope, Fraction(-1)), Fraction(0))
