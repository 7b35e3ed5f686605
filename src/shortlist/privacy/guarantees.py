"""What a release promises, as values."""

from __future__ import annotations

import math
from dataclasses import dataclass


def _positive(name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise ValueError(f"{name} must be a positive finite number, for example {name}=1.0")


@dataclass(frozen=True, slots=True)
class PureDP:
    """epsilon-differential privacy: no person changes the odds of any outcome by more than e^epsilon."""

    epsilon: float

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)


@dataclass(frozen=True, slots=True)
class BoundedRange:
    """epsilon-bounded range: all log ratios of the outcomes lie in one window of width epsilon (SPEC 19).

    Implies PureDP(epsilon) and epsilon^2/8-zCDP. Gumbel selection has it; permute-and-flip has not.
    """

    epsilon: float

    def __post_init__(self) -> None:
        _positive("epsilon", self.epsilon)


Guarantee = PureDP | BoundedRange
