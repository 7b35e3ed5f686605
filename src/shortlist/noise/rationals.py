"""A race among candidates whose scores are any rational numbers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from shortlist.noise.contest import ROUNDING, ranking
from shortlist.noise.entropy import Source
from shortlist.noise.kinds import Noise
from shortlist.noise.lazy import Draw, NoisyScore, rounded


@np.errstate(all="ignore")
def rational_winner(scores: Sequence[Fraction], *, scale: Fraction, noise: Noise, source: Source) -> int:
    """Where score + scale * noise is largest: by floats where they can tell, otherwise exactly."""
    top = max(scores)
    exact = [(score - top) / scale for score in scores]
    words = source.words(len(exact))
    g = np.array([rounded(one) for one in exact])
    q, error = noise.quantile(words, 0)
    z = g + q
    error = error + ROUNDING * (np.abs(g) + np.abs(z)) + 1e-300

    @cache
    def noisy(i: int) -> NoisyScore:
        return NoisyScore(exact[i], Draw(noise, int(words[i]), 64, source))

    return int(ranking(z - error, z + error, 1, noisy)[0])
