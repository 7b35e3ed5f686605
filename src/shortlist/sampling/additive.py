"""Numbers plus noise: the additive release that measuring mechanisms share."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shortlist._arrays import Floats, Values
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.partial_reals import Draw, floor_of, nearest_float, total, word
from shortlist.sampling.entropy import Source
from shortlist.sampling.grid import Grid, Runners
from shortlist.sampling.threshold_runner import Runner


def add_noise(value: int | float | Fraction, *, scale: Fraction, noise: Noise, source: Source) -> float:
    """value + scale * noise as an exact real, correctly rounded to the nearest float.

    The result is a function of that real alone, so that it says no more than the real mechanism does. `value`
    must be finite; a result beyond the largest float is rounded to an infinity, as the format defines.
    """
    return nearest_float(total(Fraction(value), [(scale, Draw(noise, word(source), 64, source))]))


def add_noise_to_rows(values: Values, *, scale: Fraction, noise: Noise, source: Source) -> Floats:
    """The same for every number of a table of public ones, rounded down to the grid of that scale."""
    centres, which = np.unique(values, return_inverse=True)
    grid = Grid.around(centres[-1].item(), scale)
    runners = Runners(grid, [Runner(Fraction(centre), scale, noise) for centre in centres.tolist()])
    columns = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return runners.run(which.reshape(values.shape), len(values), source).values(columns)


def add_whole_noise(value: int, *, scale: Fraction, noise: Noise, source: Source) -> int:
    """value + scale * noise as an exact real, rounded to the nearest whole number."""
    return floor_of(total(value + Fraction(1, 2), [(scale, Draw(noise, word(source), 64, source))]))
