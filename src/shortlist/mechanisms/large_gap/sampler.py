"""Races among candidates whose scores are any rational numbers, under Gumbel or any other noise.

Under Gumbel noise equal scores run together: the best of m such noises is Gumbel noise + ln m, and all m are as likely
to have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices
from shortlist.exact.noise_distributions import GUMBEL, RELATIVE_ERROR, Noise
from shortlist.exact.partial_reals import Draw, NoisyScore, rounded
from shortlist.exact.score_intervals import FAR, POSITION_ROUNDING, ranking
from shortlist.sampling.entropy import Source
from shortlist.sampling.race_batch import best_of
from shortlist.sampling.skipping import CHUNK
from shortlist.sampling.uniforms import WordStream, many_below


def rational_winners(
    scores: Sequence[int | Fraction], *, scale: Fraction, source: Source, draws: int, noise: Noise = GUMBEL
) -> Indices:
    """Where score + scale * noise is largest, in each of so many independent races."""
    tied: dict[object, list[int]] = {}
    for i, score in enumerate(scores):
        tied.setdefault(score if noise is GUMBEL else i, []).append(i)
    top, members = max(scores), list(tied.values())
    positions = [Fraction(scores[group[0]] - top) / scale for group in members]
    groups = _Groups(noise, positions, [len(group) for group in members])
    winners = np.empty(draws, np.int64)
    races = max(1, CHUNK // len(tied))
    for start in range(0, draws, races):
        count = min(races, draws - start)
        words = source.words(len(tied) * count).reshape(len(tied), count)
        winners[start : start + count] = groups.winners(words, source)
    ranks, stream = np.empty(draws, np.int64), WordStream(source)
    for group in np.unique(winners).tolist():
        won = np.flatnonzero(winners == group)
        ranks[won] = np.array(members[group])[many_below(len(members[group]), len(won), stream)]
    return ranks


@dataclass(frozen=True, slots=True)
class _Groups:
    """Candidates that run for several: their exact positions in noise units, and for how many."""

    noise: Noise
    positions: list[Fraction]
    sizes: list[int]

    @np.errstate(all="ignore")
    def winners(self, words: NDArray[np.uint64], source: Source) -> Indices:
        """One race in each column of words: by floats where they can tell, otherwise exactly."""
        g: Floats = np.maximum([rounded(one) for one in self.positions], -FAR)[:, None]
        more = np.log(self.sizes)[:, None]
        q, error = self.noise.quantile(words, 0)
        z = g + (q + more)
        error = error + RELATIVE_ERROR * (np.abs(q) + more) + POSITION_ROUNDING * (np.abs(g) + np.abs(z)) + 1e-300
        low, high = np.where(g <= -FAR, -np.inf, z - error), z + error
        winners: Indices = low.argmax(axis=0)
        for race in np.flatnonzero(np.count_nonzero(high >= low.max(axis=0), axis=0) > 1):
            column = words[:, race].tolist()

            @cache
            def noisy(i: int, column: list[int] = column) -> NoisyScore:
                noise = self.noise if self.sizes[i] == 1 else best_of(self.sizes[i])
                return NoisyScore(self.positions[i], Draw(noise, column[i], 64, source))

            winners[race] = ranking(low[:, race], high[:, race], 1, noisy)[0]
        return winners
