"""Parameters are checked once, at the door; and numbers are rounded in a stated direction."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
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
        try:
            as_float = float(value)
        except OverflowError:  # a whole number beyond all floats
            as_float = math.inf
        if (as_float > least if above else as_float >= least) and as_float < below:
            return as_float
    bound = "greater than" if above else "at least"
    room = f"{bound} {least:g}" + (f" and less than {below:g}" if below < math.inf else " and finite")
    example = "1e-6" if below == 1 else f"{least + 1:g}"
    raise ValueError(f"{name} must be a number {room}: write {name}={example}, for example")


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
    raise ValueError(f"{name} must be a whole number from 1 to {last}: write {name}=10, for example")


def flag(name: str, value: object) -> bool:
    """`value` as a truth value; a ValueError names the argument otherwise."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise ValueError(f"{name} must be True or False: write {name}=True, for example")


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
