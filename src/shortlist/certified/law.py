"""What a certified law is: a ball for every outcome, or certified divergences from its like."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from flint import arb

Point = tuple[Any, ...]
"""Scores, or counts, of small neighbours."""

GAPS = (0.0, 0.3, 1.0, 2.5, 30.0)
"""Where densities of gaps are compared, in units of the noise."""


@dataclass(frozen=True, slots=True)
class Law:
    """The certified law of one release: a ball for every outcome.

    `density`: outcomes have real parts, and the balls are densities at some of them, so only their ratios mean
    something. `costs`: what each outcome is said to cost, where that depends on the outcome (Definition 22).
    """

    chances: Mapping[Any, arb]
    density: bool = False
    costs: Mapping[Any, float] | None = None


class RealLaw(Protocol):
    """A law over outcomes with real parts whose log ratios have no bound: its divergences from its like are certified.

    Both are rounded up. The moment is that of the Renyi divergence, log_moment / (order - 1).
    """

    def stick(self, other: Self, epsilon: float) -> float: ...

    def log_moment(self, other: Self, order: float) -> float: ...


def rounded_up(ball: arb) -> float:
    """A float no smaller than anything in the ball.

    Raises
    ------
    ArithmeticError
        where the ball holds no number: what is not known must not pass for small.
    """
    if ball.is_nan():
        raise ArithmeticError("a number could not be enclosed: more precision is needed")
    return rounded(ball.upper(), +1)


def rounded(value: arb, way: int) -> float:
    """The next float that way; what is impossible is known to be so, and stays 0."""
    return 0.0 if value.is_zero() else math.nextafter(float(value), way * math.inf)


def noise_name(noise: Any) -> str:
    """A noise by its name, whether it was given by that or as an object."""
    name: str = noise if isinstance(noise, str) else noise.name
    return name


def gap_grid(k: int, scale: Fraction) -> list[tuple[float, ...]]:
    """k gaps, each anywhere on the grid."""
    return list(product([gap * float(scale) for gap in GAPS], repeat=k))
