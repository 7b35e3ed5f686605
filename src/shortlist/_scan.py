"""Compiled passes over many scores, where `_scan.c` was built: maxima, levels and histograms.

Optional. Every function here returns None where the compiled one is not there or does not fit (a type or an order of
bytes it does not know, scores that are not aligned, numbers that leave 64 bits), and its caller then does the same in
NumPy; both give the same numbers, bit for bit but for the sign of a zero, on which nothing depends. Nothing here draws.
`SHORTLIST_COMPILED=0` in the environment turns all of it off when the package is first imported.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Values, Words

NUMBER = 2
"""Of what `_scan.c` offers: a library with another number was built from another version and is left alone."""

TYPES = {np.dtype(name): name for name in
         ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float32", "float64")}  # fmt: skip

RUN = 512
"""What the check of floats sees on its way are the maxima of so many scores each."""

LOOKED_AT = 1 << 14
"""Fewer floats than these are read twice: they are near."""

MANY = 256
"""Fewer scores than these are partitioned by NumPy in less time than a function of ours is called."""

BINS = 201
KINDS = 64
SHORT = 32
"""So many winners are found one by one."""

_COUNT, _PLACE = ctypes.c_int64, ctypes.c_void_p


class Rule(ctypes.Structure):
    """How positions follow from scores and levels from positions, as `_scan.c` has it."""

    _fields_ = (
        ("factor", ctypes.c_double),
        ("threshold", ctypes.c_double),
        ("tail", ctypes.c_double),
        ("slack", ctypes.c_double),
        ("bits", ctypes.c_double),
        ("most", ctypes.c_double),
        ("whole", ctypes.c_int64),
        ("centre", ctypes.c_double),
        ("rounded", ctypes.c_void_p),
    )


_ARGUMENTS: dict[str, list[Any]] = {
    "run_maxima": [_PLACE, _COUNT, _COUNT, _COUNT, _PLACE],
    "column_maxima": [_PLACE, _COUNT, _COUNT, _COUNT, _PLACE, _COUNT, _PLACE],
    "levels": [_PLACE, _COUNT, _PLACE, _COUNT, ctypes.POINTER(Rule), _PLACE, ctypes.c_double, ctypes.POINTER(_COUNT)],
    "histograms": [_PLACE, _COUNT, _COUNT, _PLACE, _COUNT, ctypes.POINTER(Rule), _PLACE],
    "by_level": [_PLACE, _PLACE, _COUNT, _PLACE, _PLACE],
    "kth_largest": [_PLACE, _COUNT, _COUNT, _COUNT, _PLACE],
    "winners": [_PLACE, _COUNT, _COUNT, _PLACE, _COUNT, ctypes.c_int, ctypes.c_double, ctypes.c_double, _PLACE],
    "rough": [_PLACE, _COUNT, ctypes.c_int, _PLACE],
}


def library(place: Path) -> ctypes.CDLL | None:
    """The library at that place, if it is one and of this version."""
    try:
        loaded = ctypes.CDLL(str(place))
        number = loaded.scan_number
    except (OSError, AttributeError):
        return None
    number.restype = _COUNT
    return loaded if number() == NUMBER else None


LIBRARY = None if os.environ.get("SHORTLIST_COMPILED") == "0" else library(Path(__file__).with_name("_scan.native"))


@cache
def _function(loaded: ctypes.CDLL, name: str, kind: str) -> Any:
    function = getattr(loaded, f"{name}_{kind}" if kind else name)
    function.argtypes = _ARGUMENTS[name]
    return function


def _known(name: str, values: Values) -> Any:
    """The function of that name for scores like these, or None."""
    kind = TYPES.get(values.dtype)
    if LIBRARY is None or kind is None or values.ndim != 1 or not values.flags.aligned:
        return None
    return _function(LIBRARY, name, kind)


def run_maxima(values: Values, run: int) -> Values | None:
    """The largest of each run of so many scores, the last of which may be shorter. None also if one is NaN."""
    function = _known("run_maxima", values)
    if function is None:
        return None
    largest = np.empty(-(-len(values) // run), values.dtype)
    nan = function(_address(values), values.strides[0], len(values), run, _address(largest))
    return None if nan else largest


def column_maxima(values: Values, block: int, columns: int, blocks: Indices) -> Values | None:
    """The largest of each column of these blocks, which are seen as rows of so many columns."""
    function = _known("column_maxima", values)
    if function is None:
        return None
    blocks, largest = np.ascontiguousarray(blocks), np.empty(len(blocks) * columns, values.dtype)
    place = _address(values), values.strides[0], block, columns
    function(*place, _address(blocks), len(blocks), _address(largest))
    return largest


def score_levels(
    values: Values, index: Indices | None, rule: Rule, above: float
) -> tuple[NDArray[np.int8], int] | None:
    """The level of each score (of those at `index`, if it is given), and how many stand above that height."""
    function = _known("levels", values)
    if function is None:
        return None
    at = None if index is None else np.ascontiguousarray(index)
    n = len(values) if at is None else len(at)
    level, higher = np.empty(n, np.int8), _COUNT()
    place = _address(values), values.strides[0], None if at is None else _address(at)
    return None if function(*place, n, rule, _address(level), above, higher) else (level, higher.value)


def height_counts(values: Values, block: int, blocks: Indices, rule: Rule) -> Floats | None:
    """For each of these blocks, how many of its scores stand at each height -50, -49.5, .., 50."""
    function = _known("histograms", values)
    if function is None:
        return None
    blocks, counts = np.ascontiguousarray(blocks), np.empty((len(blocks), BINS))
    place = _address(values), values.strides[0], block
    return None if function(*place, _address(blocks), len(blocks), rule, _address(counts)) else counts


def sorted_by_level(starts: Indices, level: NDArray[np.int8]) -> tuple[Indices, Indices] | None:
    """(starts sorted by level, how many are at each level), those of one level as they came."""
    if LIBRARY is None:
        return None
    starts, level = np.ascontiguousarray(starts), np.ascontiguousarray(level)
    counts, ordered = np.empty(KINDS, np.int64), np.empty(len(starts), np.int64)
    place = _address(starts), _address(level), len(starts)
    _function(LIBRARY, "by_level", "")(*place, _address(counts), _address(ordered))
    return ordered, counts


def kth_of(values: Values, k: int) -> int | float | None:
    """The k-th largest score; None also where there are few."""
    function = _known("kth_largest", values) if k <= SHORT and len(values) >= MANY else None
    if function is None:
        return None
    kth = np.empty(1, values.dtype)
    function(_address(values), values.strides[0], len(values), k, _address(kth))
    number: int | float = kth.item()
    return number


def clear_winners(values: Values, words: Words, k: int, kind: int, centre: float, factor: float) -> list[int] | None:
    """Where the k highest finishes stand, best first; an empty list where that is not clear. k is at most SHORT."""
    function = _known("winners", values) if words.shape == values.shape and words.flags.c_contiguous else None
    if function is None:
        return None
    places = (_COUNT * k)()
    place = _address(values), values.strides[0], len(values), _address(words)
    return list(places) if function(*place, k, kind, centre, factor, places) else []


def rough_noise(words: Words, kind: int) -> Floats | None:
    """The noise by which `clear_winners` compares, for tests."""
    if LIBRARY is None:
        return None
    noise = np.empty(len(words))
    _function(LIBRARY, "rough", "")(_address(words), len(words), kind, _address(noise))
    return noise


def float_peaks(values: object) -> tuple[Values, Values] | None:
    """Many floats that are all scores (no NaN, no +inf, not all -inf) and the maxima of their runs, from one look.

    None where they are not, or where two looks must do; then `_reading.checked_values` says what is wrong, if anything.
    """
    if type(values) is not np.ndarray or values.dtype.kind != "f" or values.ndim != 1 or len(values) < LOOKED_AT:
        return None
    peaks = run_maxima(values, RUN)
    return None if peaks is None or not -np.inf < peaks.max() < np.inf else (values, peaks)


def _address(array: NDArray[Any]) -> int:
    place: int = array.__array_interface__["data"][0]
    return place
