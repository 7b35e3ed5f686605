"""Numbers that callers pass, checked, and rounded in the direction that is said."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import numpy as np

from shortlist.errors import bad_value


def number(name: str, value: object, *, least: float = 0.0, above: bool = False, below: float = math.inf) -> float:
    """`value` as a float in [least, below), or in (least, below) if `above`; never NaN, never infinite.

    Raises
    ------
    ValueError
        names the argument, the numbers it may be, and one to write instead.
    """
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        try:
            as_float = float(value)
        except OverflowError:  # a whole number beyond all floats
            as_float = math.inf
        if (as_float > least if above else as_float >= least) and as_float < below:
            return as_float
    bound = "greater than" if above else "at least"
    room = f"{bound} {least:g}" + (f" and less than {below:g}" if below < math.inf else " and finite")
    example = "1e-6" if below == 1 else f"{least + 1:g}"
    raise bad_value(f"${name} must be a number {room}: write ${name}={example}, for example")


def count(name: str, value: object, most: int = 2**53) -> int:
    """`value` as a whole number from 1 to `most`; a ValueError names the argument otherwise."""
    if not isinstance(value, bool):
        try:
            whole = operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            whole = 0
        if 1 <= whole <= most:
            return whole
    last = "2^53" if most == 2**53 else most
    raise bad_value(f"${name} must be a whole number from 1 to {last}: write ${name}=10, for example")


def flag(name: str, value: object) -> bool:
    """`value` as a truth value; a ValueError names the argument otherwise."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise bad_value(f"${name} must be True or False: write ${name}=True, for example")


def orders_with_costs(orders: object, epsilons: object) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Renyi orders, ascending, and their epsilons; one number each, or as many of the one as of the other."""
    places, costs = _several(orders), _several(epsilons)
    if not places or len(places) != len(costs):
        raise ValueError("orders and epsilons must be equally many: write RenyiDP(orders=[2, 8], epsilons=[0.1, 0.3])")
    pairs = sorted(
        (number("orders", order, least=1.0, above=True), number("epsilons", cost))
        for order, cost in zip(places, costs, strict=True)
    )
    if len({order for order, _ in pairs}) < len(pairs):
        raise ValueError("orders must differ from one another: write each order once, with its least epsilon")
    return tuple(order for order, _ in pairs), tuple(cost for _, cost in pairs)


def _several(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)


def up(exact: Fraction) -> float:
    """The least float that is not below `exact`."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    return nearest if Fraction(nearest) >= exact else math.nextafter(nearest, math.inf)


def sum_up(terms: list[tuple[float, int]]) -> float:
    """The sum of value * count, rounded up; infinite as soon as one value is."""
    if any(math.isinf(value) for value, _ in terms):
        return math.inf
    return up(sum((Fraction(value) * times for value, times in terms), Fraction(0)))


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
