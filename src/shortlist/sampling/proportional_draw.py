"""Drawing one of many with chances in proportion to masses that are known as exact expressions.

Floats give every mass an integer share that is surely above it; a proposal in proportion to the shares is accepted
with the exact ratio of mass to share, decided in balls where floats are not enough. So the law is the exact one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.exact.partial_reals import Uniform, ball, formula, is_positive
from shortlist.sampling.uniforms import WordStream

if TYPE_CHECKING:
    from flint import arb

SHARES = 1 << 52
"""The shares add up to about so many."""

SHARE_SLACK = 2e-4
"""By how much shares are raised; the logarithms must be right to half of it."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Integer shares of the masses e^logs, all above SHARES e^(log - unit)."""

    logs: Floats
    unit: float
    sums: Indices

    def propose(self, stream: WordStream) -> int:
        """One place, in proportion to the shares."""
        return int(np.searchsorted(self.sums, stream.below(int(self.sums[-1])), side="right"))

    def accepted(self, place: int, mass: Callable[[], arb], stream: WordStream, log_mass: float | None = None) -> bool:
        """A coin with the chance SHARES mass / (share e^unit); the mass is that of the place, or less."""
        share = int(self.sums[place]) - (int(self.sums[place - 1]) if place else 0)
        coin = Uniform(stream.word)
        ratio = (
            (float(self.logs[place]) if log_mass is None else log_mass) - self.unit + math.log(SHARES) - math.log(share)
        )
        if math.log(coin.high) < ratio - SHARE_SLACK:
            return True
        factor, unit = Fraction(SHARES, share), Fraction(self.unit)
        return is_positive(formula(lambda: ball(factor) * mass() * (-ball(unit)).exp() - coin.ball(), [coin]))


def shares(logs: Floats) -> Shares:
    """The shares of masses whose logarithms are known to within half of SHARE_SLACK (-inf for none)."""
    top = float(logs.max())
    unit = top + float(np.log(np.exp(logs - top).sum()))
    return Shares(logs, unit, np.cumsum(np.floor(np.exp(logs - unit + SHARE_SLACK) * SHARES).astype(np.int64) + 1))
