"""When a guard arrives: e^-v U^(1/a), drawn lazily; v is known by float bounds and, if those do not tell, exactly."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

from shortlist.exact.partial_reals import Uniform, ball
from shortlist.sampling.subset_rejection import ERROR

if TYPE_CHECKING:
    from flint import arb


class Known(Protocol):
    """A number by float bounds, by closer ones, and exactly."""

    def bounds(self, *, fine: bool) -> tuple[float, float]: ...

    def exact(self) -> arb: ...


class LateArrival:
    """The time e^-v U^(1/a) of a guard with noise of rate a < 1."""

    __slots__ = ("_a", "_clock", "_tries", "_v")

    def __init__(self, v: Known, a: Fraction, clock: Uniform) -> None:
        self._v = v
        self._a = a
        self._clock = clock
        self._tries = 0

    @property
    def low(self) -> float:
        return self._time(self._bounds()[1], self._clock.low, -1.0)

    @property
    def high(self) -> float:
        return self._time(self._bounds()[0], self._clock.high, +1.0)

    def _bounds(self) -> tuple[float, float]:
        return self._v.bounds(fine=self._tries > 0)

    def _time(self, v: float, uniform: float, sign: float) -> float:
        if not uniform:
            return 0.0
        log = -v + math.log(uniform) / float(self._a)
        return math.exp(min(log + sign * ERROR * (1.0 + abs(v) + abs(log)), 700.0))

    @property
    def bits(self) -> int:
        return self._clock.bits

    def ball(self) -> arb:
        from flint import arb

        low, high = self._bounds()
        middle, radius = (high + low) / 2, (high - low) / 2 + ERROR * (1.0 + abs(high) + abs(low))
        v = self._v.exact() if self._tries > 2 else arb(middle, radius)
        return (self._clock.ball().log() / ball(self._a) - v).exp()

    def refine(self) -> None:
        self._clock.refine()
        self._tries += 1
