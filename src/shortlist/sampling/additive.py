"""Numbers plus noise: the additive release that measuring mechanisms share."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shortlist._arrays import Floats, Indices, Values, Words
from shortlist.exact.noise_distributions import LAPLACE, Noise
from shortlist.exact.partial_reals import Draw, floor_of, nearest_float, total, word
from shortlist.exact.truncated_geometric import LARGEST, Geometric
from shortlist.sampling.entropy import Source
from shortlist.sampling.race_batch import Grid, Runner, Runners

FLOAT_ERROR = 2.0**-40
"""Relative, of float operations here; the truth is about 2^-52."""
FAR = 2.0**52


def add_noise(value: int | float | Fraction, *, scale: Fraction, noise: Noise, source: Source) -> float:
    """value + scale * noise as an exact real, correctly rounded to the nearest float.

    The result is a function of that real alone, so that it says no more than the real mechanism does. `value`
    must be finite; a result beyond the largest float is rounded to an infinity, as the format defines.
    """
    return nearest_float(total(Fraction(value), [(scale, Draw(noise, word(source), 64, source))]))


def add_pure_noise(values: Values, *, scale: Fraction, source: Source) -> list[float]:
    """Each number with fresh noise: whole ones with two-sided geometric noise, so that they stay whole, or Laplace."""
    if values.dtype.kind == "f":
        return [add_noise(one, scale=scale, noise=LAPLACE, source=source) for one in values.tolist()]
    counts = values.astype(np.int64)
    words, level = source.words(len(counts)), np.zeros(len(counts), np.int64)
    return [float(n) for n in Geometric(1 / scale).sums(counts, words, level, source)]


def add_noise_to_rows(values: Values, *, scale: Fraction, noise: Noise, source: Source) -> Floats:
    """The same for every number of a table of public ones, rounded down to the grid of that scale."""
    centres, which = np.unique(values, return_inverse=True)
    grid = Grid.around(centres[-1].item(), scale)
    runners = Runners(grid, [Runner(Fraction(centre), scale, noise) for centre in centres.tolist()])
    columns = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return runners.run(which.reshape(values.shape), len(values), source).values(columns)


def add_whole_noise(values: Indices, *, scale: Fraction, noise: Noise, source: Source) -> Indices:
    """value + scale * noise as exact reals, each rounded to the nearest whole number."""
    return whole_sums(
        values, Fraction(1), scale, noise, source.words(len(values)), np.zeros(len(values), np.int64), source
    )


@np.errstate(all="ignore")
def whole_sums(
    values: Indices, per: Fraction, scale: Fraction, noise: Noise, words: Words, level: Indices, source: Source
) -> Indices:
    """per * value + scale * noise, rounded to the nearest whole number, of survival uniforms that begin so.

    Floats where they are sure, exact arithmetic on the same bits where they are not.
    """
    q, error = noise.quantile(words, level)
    place, shift = values * float(per) + 0.5, float(scale) * q
    slack = float(scale) * error + FLOAT_ERROR * (np.abs(place) + np.abs(shift))
    nearest = np.floor(place + shift)
    sure = (np.abs(nearest) < FAR) & (np.floor(place + shift - slack) == np.floor(place + shift + slack))
    sums: Indices = np.where(sure, nearest, 0.0).astype(np.int64)
    for i in np.flatnonzero(~sure).tolist():
        draw = Draw(noise, int(words[i]), 64 + int(level[i]), source)
        exact = floor_of(total(int(values[i]) * per + Fraction(1, 2), [(scale, draw)]))
        sums[i] = min(max(exact, -LARGEST), LARGEST)
    return sums
