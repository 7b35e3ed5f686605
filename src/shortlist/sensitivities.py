"""How far one person can move a score, and one score against another: exactly, from what the caller says of it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np


def exact_sensitivities(sensitivity: object, monotone: bool, neighbours: str) -> tuple[Fraction, Fraction]:
    """(Delta, R): the most one person moves one score, and one score against another.

    R = max over i, j of |(x_i - x'_i) - (x_j - x'_j)|; here alone it is decided when a factor 2 is due. One number
    Delta: R = Delta if monotone, 2 Delta otherwise. A pair (down, up): R = down + up, or the larger if monotone.
    """
    if isinstance(sensitivity, tuple | list):
        if len(sensitivity) != 2:
            raise ValueError("sensitivity must be one number or a pair (down, up)")
        if neighbours == "replace":
            raise ValueError(
                'a pair of sensitivities says what adding a person does; with neighbours="replace" give the most '
                "that replacing a person can move one score"
            )
        down, up = map(_exact_sensitivity, sensitivity)
    else:
        down = up = _exact_sensitivity(sensitivity)
    largest = max(down, up)
    if largest == 0:
        raise ValueError("sensitivity must be positive: if nobody can move a score, nothing is private here")
    return largest, largest if monotone else down + up


of_a_float = lru_cache(exact_sensitivities)
"""The same, remembered; for floats alone, since True is no sensitivity and would be found as 1.0."""


def _exact_sensitivity(value: object) -> Fraction:
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | Fraction | Decimal | np.integer | np.floating
    ):
        raise TypeError("sensitivity must be a number or a pair of numbers, for example sensitivity=1.0")
    try:
        exact = Fraction(value.item() if isinstance(value, np.integer | np.floating) else value)
    except (ValueError, TypeError, OverflowError):
        raise ValueError("sensitivity must be finite: the most that one person can move one score") from None
    if exact < 0:
        raise ValueError("sensitivity must not be negative: it is the most that one person can move one score")
    return exact
