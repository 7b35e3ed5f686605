"""Where public offsets come from: the rule of `loss="offset"`, or a profile that the caller knows (Definition 183).

Nothing here looks at scores. Offsets are only ever rounded down, which can cost some gain but no accuracy at the top.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from shortlist._arrays import Values
from shortlist.exact.offset_ranking import Stairs
from shortlist.scores import Scores

Profile = Sequence[int | float | Fraction] | Values
"""About what the k best score: k public numbers."""

RISE = 3
"""The offset of the l-th best member is RISE (k - l)^2 / k nats, until it meets the cap."""

STEPS = 5
"""The cap is so many steps of a fortieth of ln C(d, k): an eighth of it."""

MOST_STAIRS = 16
"""A profile is rounded down to so many different offsets."""

SIGNIFICANT = 8
"""The smallest step has so many bits and one more: coarse numbers keep the arithmetic short."""


def crowd(k: int, d: int) -> float:
    """ln C(d, k)"""
    return math.lgamma(d + 1) - math.lgamma(k + 1) - math.lgamma(d - k + 1)


def rule_gamma(k: int) -> Fraction:
    """The weight of the score inside, for the rule's offsets: a public constant (Definition 183)."""
    return Fraction(13, 20) if k < 15 else Fraction(31, 50) if k < 60 else Fraction(11, 20)


def rule_applies(k: int, d: int) -> bool:
    """Whether the rule has offsets for k of d candidates; otherwise its loss is the gap-aware one."""
    return k >= 3 and 2 * k <= d and _step(k, d) > 0


def rule_stairs(k: int, d: int, rate: Fraction) -> Stairs:
    """The offsets of `loss="offset"` at `rate` nats for each unit of score: from k, d and the rate alone."""
    step = _step(k, d)
    grid = _grid(step / rate)
    heights = [math.floor(n * step / rate / grid) * grid for n in range(STEPS + 1)]
    return Stairs.of(
        [heights[min(STEPS, math.floor(Fraction(RISE * left**2, k) / step))] for left in range(k - 1, -1, -1)]
    )


def profile_stairs(profile: Profile, d: int, inner: Fraction) -> Stairs:
    """The offsets of a profile, p_l - p_k, rounded down; `inner` nats for each unit of the score inside.

    An offset of more than ln C(d, k) nats can do no more than one of ln C(d, k): it is cut there.
    """
    ranking = sorted((Fraction(one) for one in profile), reverse=True)
    most = Fraction(math.ceil(crowd(len(ranking), d)) + 1) / inner
    offsets = [min(one - ranking[-1], most) for one in ranking]
    if not offsets[0]:
        return Stairs.of(offsets)
    grid = _grid(offsets[0] / (1 << SIGNIFICANT))
    whole = [math.floor(one / grid) for one in offsets]
    return Stairs.of([one * grid for one in _rounded_down(whole)])


def _rounded_down(offsets: list[int]) -> list[int]:
    """At most MOST_STAIRS different ones, the largest change as small as can be."""
    low, high = 0, offsets[0]
    while low < high:
        middle = (low + high) // 2
        if len(set(_merged(offsets, middle))) <= MOST_STAIRS:
            high = middle
        else:
            low = middle + 1
    return _merged(offsets, high)


def _merged(offsets: list[int], change: int) -> list[int]:
    """Each lowered by at most `change`, to the offset of a member further down: as few different ones as can be."""
    result, at = [], offsets[-1]
    for one in reversed(offsets):
        at = at if one - at <= change else one
        result.append(at)
    return result[::-1]


def _step(k: int, d: int) -> Fraction:
    """A fortieth of ln C(d, k), rounded down to sixteenths of a nat."""
    return Fraction(math.floor(16 * crowd(k, d) / (8 * STEPS)), 16)


def _grid(size: Fraction) -> Fraction:
    """A power of two, 2^-SIGNIFICANT of the size or somewhat less."""
    exponent = size.numerator.bit_length() - size.denominator.bit_length() - 1
    return Fraction(2) ** (exponent - SIGNIFICANT)


def checked_profile(profile: Any, k: int) -> tuple[int | float | Fraction, ...] | None:
    """k public numbers, as Python's own; whatever may have been counted from rows is refused."""
    if profile is None:
        return None
    if isinstance(profile, Scores):
        raise TypeError(
            "profile must be public numbers, and Scores may be private: what shapes the choice may not look at the "
            "data. Pass numbers that were released before or guessed, for example profile=[900, 500, 400]"
        )
    if not isinstance(profile, list | tuple | np.ndarray):
        raise TypeError(
            "profile must be a list of public numbers, for example profile=[900, 500, 400]; a frame or a series may "
            "hold people's counts. If its numbers are public, write profile=list(...)"
        )
    numbers = [_number(one.item() if isinstance(one, np.generic) else one) for one in profile]
    if len(numbers) != k:
        raise ValueError(f"profile must have k={k} numbers, one for each item, not {len(numbers)}")
    return tuple(numbers)


def _number(one: object) -> int | float | Fraction:
    if isinstance(one, bool) or not isinstance(one, int | float | Fraction):
        raise TypeError("profile must hold numbers, for example profile=[900, 500, 400]")
    if isinstance(one, float) and not math.isfinite(one):
        raise ValueError("profile must hold finite numbers, for example profile=[900, 500, 400]")
    return one
