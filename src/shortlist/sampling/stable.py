"""Draws of large gaps and stable sets, and the gap beside the exponential mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Mask, Values
from shortlist.exact import reals
from shortlist.exact.noise import GUMBEL, RELATIVE_ERROR, Noise
from shortlist.exact.thresholds import StabilityTest
from shortlist.sampling.entropy import Source, WordStream, many_below
from shortlist.sampling.race import best_of
from shortlist.sampling.skipping import CHUNK

if TYPE_CHECKING:
    from flint import arb


def rational_winners(
    scores: Sequence[int | Fraction], *, scale: Fraction, source: Source, draws: int, noise: Noise = GUMBEL
) -> Indices:
    """Where score + scale * noise is largest, in each of so many independent races."""
    tied: dict[object, list[int]] = {}
    for i, score in enumerate(scores):
        tied.setdefault(score if noise is GUMBEL else i, []).append(i)
    top, members = max(scores), list(tied.values())
    positions = [Fraction(scores[group[0]] - top) / scale for group in members]
    winners = np.empty(draws, np.int64)
    races = max(1, CHUNK // len(tied))
    for start in range(0, draws, races):
        count = min(races, draws - start)
        words = source.words(len(tied) * count).reshape(len(tied), count)
        winners[start : start + count] = _winners(noise, positions, [len(group) for group in members], words, source)
    ranks, stream = np.empty(draws, np.int64), WordStream(source)
    for group in np.unique(winners).tolist():
        won = np.flatnonzero(winners == group)
        ranks[won] = np.array(members[group])[many_below(len(members[group]), len(won), stream)]
    return ranks


@np.errstate(all="ignore")
def _winners(
    noise: Noise, positions: list[Fraction], sizes: list[int], words: NDArray[np.uint64], source: Source
) -> Indices:
    """One race in each column of words, by floats where they can tell, otherwise exactly.

    Who runs stands at these positions, in noise units, each for so many candidates.
    """
    g: Floats = np.maximum([reals.to_float(one) for one in positions], -reals.FAR)[:, None]
    more = np.log(sizes)[:, None]
    q, error = noise.quantile(words, 0)
    z = g + (q + more)
    error = error + RELATIVE_ERROR * (np.abs(q) + more) + reals.POSITION_ROUNDING * (np.abs(g) + np.abs(z)) + 1e-300
    low, high = np.where(g <= -reals.FAR, -np.inf, z - error), z + error
    winners: Indices = low.argmax(axis=0)
    for race in np.flatnonzero(np.count_nonzero(high >= low.max(axis=0), axis=0) > 1):
        column = words[:, race].tolist()

        @cache
        def noisy(i: int, column: list[int] = column) -> reals.NoisyScore:
            own = noise if sizes[i] == 1 else best_of(sizes[i])
            return reals.NoisyScore(positions[i], reals.Draw(own, column[i], 64, source))

        winners[race] = reals.ranking(low[:, race], high[:, race], 1, noisy)[0]
    return winners


def passes(test: StabilityTest, gaps: Indices, source: Source) -> Mask:
    """True with the test's probability at each gap, by a coin of its own; never at a tie, where there is no set."""
    coins = [reals.Uniform(partial(reals.word, source)) for _ in gaps]
    pairs = zip(gaps.tolist(), coins, strict=True)
    return np.array([gap > 0 and reals.shows(partial(test.chance, gap), coin) for gap, coin in pairs], np.bool_)


def lead_of(values: Values, winner: int, scale: Fraction, source: Source) -> float:
    """scale ln((W + 1 - U) / (W U)), W the sum of e^((x_j - x_winner) / scale) over the others; the nearest float."""
    numbers, sizes = np.unique(np.delete(values, winner), return_counts=True)
    best = Fraction(values[winner].item())
    exponents = [
        (int(size), (Fraction(number) - best) / scale)
        for number, size in zip(numbers.tolist(), sizes.tolist(), strict=True)
        if number > -np.inf
    ]
    coin = reals.Uniform(WordStream(source, ahead=1).word)

    def lead() -> arb:
        total = sum(size * reals.ball(exponent).exp() for size, exponent in exponents)
        u = coin.ball()
        odds: arb = (total + (1 - u)) / (total * u)
        return reals.ball(scale) * odds.log()

    return reals.nearest_float(reals.formula(lead, [coin]))
