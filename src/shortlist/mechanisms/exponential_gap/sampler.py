"""The lead of a given winner, exactly: a logistic number above zero, by one lazily drawn uniform (Theorem 258)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Values
from shortlist.exact.partial_reals import Uniform, ball, formula, nearest_float
from shortlist.sampling.entropy import Source
from shortlist.sampling.uniforms import WordStream

if TYPE_CHECKING:
    from flint import arb


def lead_of(values: Values, winner: int, scale: Fraction, source: Source) -> float:
    """scale ln((W + 1 - U) / (W U)), W the sum of e^((x_j - x_winner) / scale) over the others; the nearest float."""
    numbers, sizes = np.unique(np.delete(values, winner), return_counts=True)
    best = Fraction(values[winner].item())
    exponents = [
        (int(size), (Fraction(number) - best) / scale)
        for number, size in zip(numbers.tolist(), sizes.tolist(), strict=True)
        if number > -np.inf
    ]
    coin = Uniform(WordStream(source, ahead=1).word)

    def lead() -> arb:
        total = sum(size * ball(exponent).exp() for size, exponent in exponents)
        u = coin.ball()
        odds: arb = (total + (1 - u)) / (total * u)
        return ball(scale) * odds.log()

    return nearest_float(formula(lead, [coin]))
