"""Draws of large gaps and stable sets, and the gap beside the exponential mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
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
        g: Floats = np.maximum([reals.to_float(one) for one in self.positions], -reals.FAR)[:, None]
        more = np.log(self.sizes)[:, None]
        q, error = self.noise.quantile(words, 0)
        z = g + (q + more)
        error = error + RELATIVE_ERROR * (np.abs(q) + more) + reals.POSITION_ROUNDING * (np.abs(g) + np.abs(z)) + 1e-300
        low, high = np.where(g <= -reals.FAR, -np.inf, z - error), z + error
        winners: Indices = low.argmax(axis=0)
        for race in np.flatnonzero(np.count_nonzero(high >= low.max(axis=0), axis=0) > 1):
            column = words[:, race].tolist()

            @cache
            def noisy(i: int, column: list[int] = column) -> reals.NoisyScore:
                noise = self.noise if self.sizes[i] == 1 else best_of(self.sizes[i])
                return reals.NoisyScore(self.positions[i], reals.Draw(noise, column[i], 64, source))

            winners[race] = reals.ranking(low[:, race], high[:, race], 1, noisy)[0]
        return winners


WORDS = 1 << 64


def passes(test: StabilityTest, gaps: Indices, source: Source) -> Mask:
    """True with the test's probability at each gap, by a coin of its own; never at a tie, where there is no set."""
    distinct, which = np.unique(gaps, return_inverse=True)
    bounds = np.array([_bounds(test, gap) for gap in distinct.tolist()], np.uint64)[which]
    words, stream = source.words(len(gaps)), WordStream(source, ahead=1)
    passed: Mask = words < bounds[:, 0]
    for i in np.flatnonzero(~passed & (words <= bounds[:, 1])):
        passed[i] = _is_below(test, int(gaps[i]), reals.Uniform(stream.word, int(words[i])))
    return passed & (gaps > 0)


def _is_below(test: StabilityTest, gap: int, coin: reals.Uniform) -> bool:
    """Whether the coin shows less than the chance: exactly."""
    return reals.is_positive(reals.formula(lambda: test.chance(max(gap, 1)) - coin.ball(), [coin]))


def _bounds(test: StabilityTest, gap: int) -> tuple[int, int]:
    """A word below the first passes for sure, one above the second fails for sure; those between, hardly any, may."""
    from flint import ctx

    with ctx.workprec(128):
        words = test.chance(max(gap, 1)) * WORDS
        if not words.is_finite():
            return 0, WORDS - 1
        low, high = math.floor(reals.exactly(words.lower())), math.ceil(reals.exactly(words.upper()))
    return min(max(low, 0), WORDS - 1), min(max(high, 1), WORDS) - 1


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
