"""Races among candidates whose scores are any rational numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from shortlist._arrays import Indices, Words
from shortlist.noise.contest import ROUNDING, ranking
from shortlist.noise.entropy import Source
from shortlist.noise.kinds import Noise
from shortlist.noise.lazy import Draw, NoisyScore, rounded
from shortlist.noise.skipping import CHUNK


@np.errstate(all="ignore")
def rational_winners(
    scores: Sequence[int | Fraction], *, scale: Fraction, noise: Noise, source: Source, draws: int
) -> Indices:
    """Where score + scale * noise is largest, in each of so many independent races: by floats where they can tell."""
    top = max(scores)
    exact = [Fraction(score - top) / scale for score in scores]
    g = np.array([rounded(one) for one in exact])[:, None]
    winners = np.empty(draws, np.int64)
    races = max(1, CHUNK // len(exact))
    for start in range(0, draws, races):
        count = min(races, draws - start)
        words = source.words(len(exact) * count).reshape(len(exact), count)
        q, error = noise.quantile(words, 0)
        z = g + q
        error = error + ROUNDING * (np.abs(g) + np.abs(z)) + 1e-300
        low, high = z - error, z + error
        found = low.argmax(axis=0)
        for race in np.flatnonzero(np.count_nonzero(high >= low.max(axis=0), axis=0) > 1):

            @cache
            def noisy(i: int, column: Words = words[:, race]) -> NoisyScore:
                return NoisyScore(exact[i], Draw(noise, int(column[i]), 64, source))

            found[race] = ranking(low[:, race], high[:, race], 1, noisy)[0]
        winners[start : start + count] = found
    return winners
