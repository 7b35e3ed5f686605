"""Where a monotone function changes sign."""

from __future__ import annotations

from collections.abc import Callable


def crossing(
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
