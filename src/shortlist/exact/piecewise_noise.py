"""Custom noise: a survival function whose logarithm is piecewise linear with rational knots and slopes.

With slopes in [-1, 0] the hazard is at most 1, which is all that the privacy of an unordered set needs. The
*order* of the winners is another matter: for general noise of this kind it breaks the guarantee
(Proposition 61), so these kinds release sets only.
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
from shortlist.exact.noise_distributions import KINDS, RELATIVE_ERROR, Noise, dyadic, infinite, log_uniform
from shortlist.exact.partial_reals import ball

if TYPE_CHECKING:
    from flint import arb


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
    return _kind(name, tuple(zip(at, slope, heights, strict=True)))


def rationals(name: str, values: Sequence[int | float | Fraction]) -> list[Fraction]:
    """The numbers as fractions, exactly; whatever is not finite is refused by name."""
    try:
        return [Fraction(value.item() if isinstance(value, np.generic) else value) for value in values]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be finite rational numbers, for example [0, Fraction(1, 2)]") from None


Piece = tuple[Fraction, Fraction, Fraction]
"""Where a piece starts, its slope, and ln S at its start."""


def _kind(name: str, pieces: tuple[Piece, ...]) -> Noise:
    return Noise(
        name,
        _Part(pieces, _log_survival),
        _Part(pieces, _log_cdf),
        _Part(pieces, _log_density),
        _Part(pieces, _decay),
        _Part(pieces, _quantile),
        _Part(pieces, _exact_quantile),
        kinks=tuple(float(start) for start, _, _ in pieces),
    )


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
    result: Floats = np.minimum(height[piece] + slope[piece] * (x - start[piece]), 0.0)
    return result


def _log_cdf(pieces: tuple[Piece, ...], x: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        result: Floats = np.log(-np.expm1(_log_survival(pieces, x)))
    return result


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
    result: Floats = start[piece] + (log - height[piece]) / slope[piece]
    return result


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
    for piece in reversed(steep[1:]):
        if log <= ball(piece[2]):
            return _on_piece(piece, log)
        if not log > ball(piece[2]):
            return arb("nan")
    return _on_piece(steep[0], log)


def _on_piece(piece: Piece, log: arb) -> arb:
    left, fall, top = piece
    return ball(left) + (log - ball(top)) / ball(fall)
