"""One number plus noise: the additive release that measuring mechanisms share."""

from __future__ import annotations

from fractions import Fraction

from shortlist.noise.entropy import Source, word
from shortlist.noise.kinds import Noise
from shortlist.noise.lazy import Draw, nearest_float


def add_noise(value: int | float | Fraction, *, scale: Fraction, noise: Noise, source: Source) -> float:
    """value + scale * noise as an exact real, correctly rounded to the nearest float.

    The result is a function of that real alone, so that it says no more than the real mechanism does. `value`
    must be finite; a result beyond the largest float is rounded to an infinity, as the format defines.
    """
    return nearest_float(Fraction(value), [(scale, Draw(noise, word(source), 64, source))])
