"""Binomial coefficients as logarithms, to a stated error, and sums of them along a row in closed form.

``ln C(i + j, i) = i ln(1 + j/i) + j ln(1 + i/j) + ln(n / (2 pi i j)) / 2 + r(n) - r(i) - r(j)`` with n = i + j and r
the remainder of Stirling's formula. No term is larger than the result by more than a few, so that the error is a few
units in the last place of the *result*; a difference of three log-factorials would lose those of ln n!.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from shortlist._arrays import Floats, Indices

ULPS = 2.0**-46
"""`log_choose` is off by at most ULPS (2 + its value): 64 units in the last place, where four or five occur."""

_SERIES_FROM = 32
_TABLED = 1 << 16
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


def _series(x: Floats) -> Floats:
    """r(x) = 1/(12 x) - 1/(360 x^3) + 1/(1260 x^5) - 1/(1680 x^7), less than 2e-17 off from 32 on."""
    y = 1.0 / (x * x)
    result: Floats = (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y / 1680.0))) / x
    return result


def _stirling(x: Indices) -> Floats:
    """r(x) + ln(x) / 2, where a table of it ends."""
    large = np.maximum(x, _SERIES_FROM) * 1.0
    return np.where(x < _SERIES_FROM, _table()[np.minimum(x, _SERIES_FROM)], _series(large) + 0.5 * np.log(large))


@cache
def _table() -> Floats:
    """r(x) + ln(x) / 2, by r(x) = r(x + 1) + (x + 1/2) ln(1 + 1/x) - 1 where the series will not do; 0 is not used."""
    table = _series(np.maximum(np.arange(_TABLED), _SERIES_FROM) * 1.0)
    for x in range(_SERIES_FROM - 1, 0, -1):
        table[x] = table[x + 1] + ((x + 0.5) * math.log1p(1.0 / x) - 1.0)
    return table + 0.5 * np.log(np.maximum(np.arange(_TABLED), 1))


def log_choose(i: Indices, j: Indices) -> Floats:
    """ln C(i + j, i) for i, j >= 0, to ULPS (2 + its value).

    >>> log_choose(np.array([2]), np.array([2])).round(12).tolist()  # ln 6
    [1.791759469228]
    """
    n, x, y = i + j, np.maximum(i, 1) * 1.0, np.maximum(j, 1) * 1.0
    bulk = x * np.log1p(y / x) + y * np.log1p(x / y) - _HALF_LOG_TWO_PI
    if n.max(initial=0) < _TABLED:
        table = _table()
        value = bulk + (table[n] - table[i] - table[j])
    else:
        value = bulk + (_stirling(n) - _stirling(i) - _stirling(j))
    return np.where((i > 0) & (j > 0), np.maximum(value, 0.0), 0.0)


def one_log_choose(i: int, j: int) -> float:
    """The same for one pair: faster than an array of one.

    >>> round(one_log_choose(2, 2), 12)
    1.791759469228
    """
    if not i or not j:
        return 0.0
    if i + j >= _TABLED:
        return float(log_choose(np.array([i]), np.array([j]))[0])
    table = _table()
    bulk = i * math.log1p(j / i) + j * math.log1p(i / j) - _HALF_LOG_TWO_PI
    return max(bulk + float(table[i + j] - table[i] - table[j]), 0.0)


def log_run(i: Indices, first: Indices, last: Indices) -> tuple[Floats, Floats]:
    """(lower, upper) bounds on ln sum_{j = first .. last} C(i + j, i), for 0 <= first <= last.

    The sum is C(i + last + 1, i + 1) - C(i + first, i + 1) (the hockey stick). Where the two are too close for floats,
    it is also between the number of terms times the first and times the last term; these are
    C(i + j, i) = C(i + j, i + 1) (i + 1) / j and C(i + j + 1, i + 1) (i + 1) / (i + j + 1).
    """
    whole, before = log_choose(i + 1, np.array([last, np.maximum(first - 1, 0)]))
    x, y = i + 1.0, np.maximum(first, 1) * 1.0
    lowest = np.where(first > 0, before + np.log(x / y), 0.0)
    highest = whole - np.log((last + x) / x)
    before = np.where(first > 0, before, -np.inf)
    slack = ULPS * (4.0 + 2.0 * whole)
    with np.errstate(divide="ignore"):
        share = -np.expm1(np.minimum(before - whole, 0.0))
        stick = whole + np.log(share)
        error = np.where(slack < 0.25 * share, slack * (1.0 + 2.0 / np.maximum(share, 1e-300)), np.inf)
    terms = np.log((last - first + 1) * 1.0)
    return np.maximum(stick - error, terms + lowest - slack), np.minimum(stick + error, terms + highest + slack)
