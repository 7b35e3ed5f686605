"""Parameters are checked once, at the door; and numbers are rounded in a stated direction."""

from __future__ import annotations

import math
import operator
from fractions import Fraction

import numpy as np


def number(name: str, value: object, *, least: float = 0.0, above: bool = False, below: float = math.inf) -> float:
    """`value` as a float in [least, below), or in (least, below) if `above`; never NaN, never infinite.

    Raises
    ------
    ValueError
        names the argument, the numbers it may be, and one to write instead.
    """
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        found = float(value)
        if (found > least if above else found >= least) and found < below:
            return found
    bound = "greater than" if above else "at least"
    room = f"{bound} {least:g}" + (f" and less than {below:g}" if below < math.inf else " and finite")
    example = 1e-6 if below == 1 else least + 1.0
    raise ValueError(f"{name} must be a number {room}: write {name}={example:g}, for example")


def count(name: str, value: object) -> int:
    """`value` as a whole number of at least 1; a ValueError names the argument otherwise."""
    if not isinstance(value, bool):
        try:
            found = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            found = 0
        if found >= 1:
            return found
    raise ValueError(f"{name} must be a whole number of at least 1: write {name}=10, for example")


def up(exact: Fraction) -> float:
    """The least float that is not below `exact`."""
    nearest = float(exact)
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def sum_up(terms: list[tuple[float, int]]) -> float:
    """The sum of value * count, rounded up; infinite as soon as one value is."""
    if any(math.isinf(value) for value, _ in terms):
        return math.inf
    return up(sum((Fraction(value) * times for value, times in terms), Fraction(0)))
