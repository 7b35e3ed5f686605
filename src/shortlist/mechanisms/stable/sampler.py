"""One bit each: whether top-j sets pass their test of stability. Exact, by one lazily drawn uniform number for each."""

from __future__ import annotations

import math

import numpy as np

from shortlist._arrays import Indices, Mask
from shortlist.exact.partial_reals import Uniform, exactly, formula, is_positive
from shortlist.exact.stability_test import StabilityTest
from shortlist.sampling.entropy import Source
from shortlist.sampling.uniforms import WordStream

WORDS = 1 << 64


def passes(test: StabilityTest, gap: int, source: Source) -> bool:
    """True with the test's probability at that gap; never at a tie, where there is no set to speak of."""
    return _is_below(test, gap, Uniform(WordStream(source, ahead=1).word)) and gap > 0


def passes_many(test: StabilityTest, gaps: Indices, source: Source) -> Mask:
    """The same for many gaps at once, each with a coin of its own."""
    distinct, which = np.unique(gaps, return_inverse=True)
    bounds = np.array([_bounds(test, gap) for gap in distinct.tolist()], np.uint64)[which]
    words, stream = source.words(len(gaps)), WordStream(source, ahead=1)
    passed: Mask = words < bounds[:, 0]
    for i in np.flatnonzero(~passed & (words <= bounds[:, 1])):
        passed[i] = _is_below(test, int(gaps[i]), Uniform(stream.word, int(words[i])))
    return passed & (gaps > 0)


def _is_below(test: StabilityTest, gap: int, coin: Uniform) -> bool:
    """Whether the coin shows less than the chance: exactly."""
    return is_positive(formula(lambda: test.chance(max(gap, 1)) - coin.ball(), [coin]))


def _bounds(test: StabilityTest, gap: int) -> tuple[int, int]:
    """A word below the first passes for sure, one above the second fails for sure; those between, hardly any, may."""
    from flint import ctx

    with ctx.workprec(128):
        words = test.chance(max(gap, 1)) * WORDS
        if not words.is_finite():
            return 0, WORDS - 1
        low, high = math.floor(exactly(words.lower())), math.ceil(exactly(words.upper()))
    return min(max(low, 0), WORDS - 1), min(max(high, 1), WORDS) - 1
