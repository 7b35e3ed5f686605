"""Rounding down to a grid, exactly: by float intervals where they can tell."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shortlist._arrays import Floats, Mask

FINE = 20
"""A grid has about 2^FINE points within one scale of the noise."""


def step_for(scale: Fraction) -> Fraction:
    """A power of two, about 2^-FINE of the scale, which floats can hold: a public number, since the scale is."""
    exponent = scale.numerator.bit_length() - scale.denominator.bit_length() - FINE
    return Fraction(2) ** min(max(exponent, -1074), 1023)


@np.errstate(all="ignore")
def floors(low: Floats, high: Floats, step: Fraction) -> tuple[Floats, Mask]:
    """(floor(x / step), whether the interval around x tells it), step a power of two; where it does not, anything."""
    unit = float(step)
    found = np.floor(low / unit)
    return found, (found == np.floor(high / unit)) & np.isfinite(found)
