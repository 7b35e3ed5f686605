"""One exact draw of a whole number from a law whose chances have rational ratios and a known sum.

The least k with w_1 + .. + w_k > U Z, in balls: U is drawn as far as the decision needs, so that the law is the
stated one and no float is between.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

from shortlist.exact.partial_reals import Uniform, ball
from shortlist.sampling.uniforms import WordStream

if TYPE_CHECKING:
    from flint import arb

Ladder = tuple[int, Callable[[int], Fraction], Callable[[], "arb"]]
"""(least k, ratio of the chances of k + 1 and k, inverse of the least k's chance)."""


def draw_number(ladder: Ladder, most: int | None, stream: WordStream) -> int:
    """K, exactly; `most` is the largest k, None if there is none."""
    from flint import ctx

    uniform = Uniform(stream.word)
    while True:
        with ctx.workprec(64 + uniform.bits):
            number = _least(ladder, most, uniform.ball())
        if number is not None:
            return number
        uniform.refine()


def _least(ladder: Ladder, most: int | None, uniform: arb) -> int | None:
    """The least k whose sum is above U Z; None where the bits that are known do not tell."""
    k, ratio, total = ladder
    aim = uniform * total()
    weight = whole = ball(Fraction(1))
    while k != most and not whole > aim:
        if not whole < aim:
            return None
        weight = weight * ball(ratio(k))
        whole = whole + weight
        k += 1
    return k


def whole_shares(weights: Sequence[Fraction]) -> list[int]:
    """Running sums of whole numbers that are in proportion to the weights, exactly."""
    scale = math.lcm(*(weight.denominator for weight in weights))
    return list(accumulate(int(weight * scale) for weight in weights))


def draw_place(sums: Sequence[int], stream: WordStream) -> int:
    """A place, in proportion to the steps of running sums."""
    return bisect_right(sums, stream.below(sums[-1]))
