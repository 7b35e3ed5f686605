"""Numbers as a person reads them, rounded so that what is printed still holds: costs up, bounds and chances down."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

ALMOST = 0.9999
"""The most that a chance is printed as: nothing that is private is certain."""
DIGITS = 4
"""Of a number in a balance."""
SAME = 12
"""Digits within which a sum is taken for the decimal it is meant to be: ten charges of 0.1 are shown as 1."""


def cost_text(value: float) -> str:
    """Three digits, rounded up.

    >>> cost_text(0.010701), cost_text(0.0107), cost_text(0.0), cost_text(math.inf)
    ('0.0108', '0.0107', 'any', 'none')
    """
    return {0.0: "any", math.inf: "none"}.get(value) or _digits(value, ROUND_CEILING)


def bound_text(value: float, digits: int = 3) -> str:
    """Three digits, rounded down.

    >>> bound_text(0.01079)
    '0.0107'
    """
    return _digits(value, ROUND_FLOOR, digits)


def chance_text(value: float) -> str:
    """Four places, rounded down, and never a certainty.

    >>> chance_text(0.99), chance_text(0.98999), chance_text(1.0)
    ('0.9900', '0.9899', '0.9999')
    """
    floor = Decimal(repr(min(value, ALMOST))).quantize(Decimal("0.0001"), ROUND_FLOOR)
    return f"{floor:.4f}"


def number_text(value: float, *, up: bool = True, same: bool = False) -> str:
    """A number of a balance: four digits, rounded up, or down for what is left; a sum of decimals as their sum.

    What is left is rounded down to its last digit, unless `same` says that a hair more is as good.

    >>> number_text(0.30000000000000004), number_text(1.37001), number_text(1e-06)
    ('0.3', '1.371', '1e-6')
    >>> number_text(1.9999999999999998, up=False)
    '1.999'
    >>> number_text(1.9999999999999998, up=False, same=True)
    '2'
    """
    exact = Context(prec=17).create_decimal(repr(value))
    if up or same:
        exact = Context(prec=SAME, rounding=ROUND_HALF_EVEN).plus(exact)
    rounded = Context(prec=DIGITS, rounding=ROUND_CEILING if up else ROUND_FLOOR).plus(exact)
    return f"{float(rounded):.{DIGITS}g}".replace("e-0", "e-").replace("e+0", "e+")


def _digits(value: float, way: str, digits: int = 3) -> str:
    # repr is the shortest decimal that reads back as the float: 0.0107 is not to become 0.0108 for its last bit
    rounded = Context(prec=digits, rounding=way).create_decimal(repr(value))
    return f"{float(rounded):.{digits}g}"
