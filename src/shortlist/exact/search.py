"""Where a monotone function changes sign, and where a condition begins to hold: the searches of the whole package.

Two others keep their own: `quadrature.find_range` narrows two ends whose stopping rules hang together, and
`saddlepoint` does many at once by Newton's steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

Number = TypeVar("Number", int, float)
Middle = Callable[[Number, Number], Number | None]
"""Where to look next between two points; None where they are close enough."""


def bisect(holds: Callable[[Number], bool], low: Number, high: Number, middle: Middle[Number]) -> tuple[Number, Number]:
    """Two points, as near as `middle` wants, between which a condition begins to hold.

    It fails at `low` and holds at `high`; at the points that are returned it does the same, and was tried.

    >>> bisect(lambda n: n * n > 50, 0, 100, whole_numbers)
    (7, 8)
    """
    while (here := middle(low, high)) is not None:
        low, high = (low, here) if holds(here) else (here, high)
    return low, high


def whole_numbers(low: int, high: int) -> int | None:
    """Halves until the points are neighbours."""
    return (low + high) // 2 if high - low > 1 else None


def neighbours(low: float, high: float) -> float | None:
    """Halves until no float is between the points."""
    middle = low + (high - low) / 2
    return middle if low < middle < high else None


def within(width: float) -> Middle[float]:
    """Halves until the points are at most `width` apart."""
    return lambda low, high: (low + high) / 2 if high - low > width else None


def within_ratio(share: float) -> Middle[float]:
    """Halves the ratio of two positive points until the larger is at most (1 + share) times the smaller."""
    return lambda low, high: _geometric_mean(low, high) if high > low * (1.0 + share) else None


def _geometric_mean(low: float, high: float) -> float:
    """Also where the product of two floats is none: a search would stand still at 0, or at infinity."""
    product = low * high
    return math.sqrt(product) if 0.0 < product < math.inf else math.sqrt(low) * math.sqrt(high)


def halvings(count: int) -> Middle[float]:
    """Halves an interval so many times."""
    turns = iter(range(count))
    return lambda low, high: (low + high) / 2 if next(turns, None) is not None else None


def find_crossing(
    function: Callable[[float], float], start: tuple[float, float], end: tuple[float, float], close: float
) -> tuple[float, float]:
    """Points near the change of sign, on the side of `start` and on that of `end`, at most `close` apart;
    both were tried.

    `start` and `end` are (x, function(x)), start below end, one value positive and the other not. False
    position, and the end that stays put counts half (Illinois), so that both ends move; every fourth try
    halves, for functions that are flat on one side.
    """
    (low, at_low), (high, at_high) = start, end
    positive_low = at_low > 0
    moved_low = moved_high = False
    tries = 0
    while high - low > close:
        tries += 1
        share = at_low / (at_low - at_high) if tries % 4 else 0.5
        middle = min(max(low + (high - low) * share, low + close / 3), high - close / 3)
        value = function(middle)
        if (value > 0) == positive_low:
            low, at_low, at_high = middle, value, at_high / 2 if moved_low else at_high
            moved_low, moved_high = True, False
        else:
            high, at_high, at_low = middle, value, at_low / 2 if moved_high else at_low
            moved_low, moved_high = False, True
    return low, high
