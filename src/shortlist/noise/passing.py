"""One bit: whether a top-j set passes its test of stability. Exact, by one lazily drawn uniform number."""

from __future__ import annotations

from shortlist.laws.stability import StabilityTest
from shortlist.noise.entropy import Source
from shortlist.noise.uniforms import Stream, Uniform, is_positive


def passes(test: StabilityTest, gap: int, source: Source) -> bool:
    """True with the test's probability at that gap; never at a tie, where there is no set to speak of."""
    coin = Uniform(Stream(source, ahead=1))
    passed = is_positive(lambda: test.chance(max(gap, 1)) - coin.ball(), [coin])
    return passed and gap > 0
