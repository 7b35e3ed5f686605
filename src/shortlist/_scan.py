"""Compiled passes over many scores, where `_scan.c` was built: maxima, levels and histograms. `_scan_hits.py` has those
that read random words, `_scan_columns.py` those for short integers.

Optional. Every function here returns None where the compiled one is not there or does not fit (a type or an order of
bytes it does not know, scores that are not aligned, numbers that leave 64 bits), and its caller then does the same in
NumPy; both give the same numbers, bit for bit but for the sign of a zero, on which nothing depends. Nothing here draws.
`SHORTLIST_COMPILED=0` in the environment turns all of it off when the package is first imported.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Indices, Values

NUMBER = 8
"""Of what `_scan.c` offers: a library with another number was built from another version and is left alone."""

TYPES = {np.dtype(name): name for name in
         ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "float32", "float64")}  # fmt: skip

RUN = 512
"""What the check of floats sees on its way are the maxima of so many scores each."""

LOOKED_AT = 1 << 14
"""Fewer floats than these are read twice: they are near."""

MANY = 256
"""Fewer scores than these are partitioned by NumPy in less time than a function of ours is called."""

BINS, PLACES = 201, 191
"""Heights -50, -49.5, .., 50 and thresholds -50, -49.5, .., 45."""
EIGHTHS, FINE = 400, 800
"""Eighths and sixteenths of a unit in 50."""
KINDS = 64
TALL = 64
"""Scores in a column of a block."""
MOST = 128
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


class Sample(ctypes.Structure):
    """What a threshold is chosen by, as `_scan.c` has it: see `Sampled`."""

    _fields_ = (
        ("places", ctypes.c_void_p),
        ("n", ctypes.c_int64),
        ("chance", ctypes.c_void_p),
        ("square", ctypes.c_void_p),
        ("fine", ctypes.c_void_p),
        ("each", ctypes.c_double),
    )


_REAL, _KIND, _RULE, _SAMPLE = ctypes.c_double, ctypes.c_int, ctypes.POINTER(Rule), ctypes.POINTER(Sample)
_SCORES = [_PLACE, _COUNT]
"""Where they are, and how many bytes from one to the next."""

_HITS = [_PLACE, _PLACE, _PLACE]
"""Candidates, levels, and where those of each row end."""
_CONTEST = [_REAL, _COUNT, _REAL, _REAL]
"""1 / scale, the centre of integers and of floats, and the threshold."""

_ARGUMENTS: dict[str, list[Any]] = {
    "run_maxima": [*_SCORES, _COUNT, _COUNT, _PLACE],
    "column_maxima": [*_SCORES, _COUNT, _COUNT, _PLACE, _COUNT, _PLACE],
    "by_level": [*_SCORES, _PLACE, _COUNT, _RULE, _REAL, _PLACE, _COUNT, _PLACE, _PLACE, _PLACE, _PLACE],
    "eighths": [*_SCORES, _COUNT, _RULE, _PLACE, _PLACE],
    "histograms": [*_SCORES, _COUNT, _PLACE, _COUNT, _RULE, _PLACE],
    "threshold": [_PLACE, _COUNT, *_SCORES, _RULE, _SAMPLE, _REAL],
    "kth_largest": [*_SCORES, _COUNT, _COUNT, _PLACE],
    "winners": [*_SCORES, _PLACE, _PLACE, _COUNT, _PLACE, _COUNT, _KIND, *_CONTEST, _PLACE],
    "row_winners": [*_SCORES, _COUNT, *_HITS, _COUNT, _PLACE, _COUNT, _KIND, *_CONTEST, _PLACE, _PLACE, _PLACE],
    "by_row": [_PLACE, _PLACE, _COUNT, _PLACE, _PLACE, _PLACE, _COUNT, _PLACE, _PLACE, _PLACE, _PLACE],
    "hits": [_PLACE, _COUNT, _PLACE, _PLACE, _PLACE, _PLACE, _PLACE],
    "block_columns": [*_SCORES, _COUNT, _COUNT, _PLACE, _PLACE],
    "open_columns": [*_SCORES, _PLACE, _PLACE, _COUNT, _RULE, _REAL, _COUNT, _SAMPLE, *[_REAL] * 3, *[_PLACE] * 4],
    "column_winners": [*_SCORES, *[_PLACE, _COUNT] * 3, _PLACE, _PLACE, _COUNT, _KIND, _RULE, _PLACE],
    "noises": [_PLACE, _PLACE, _COUNT, _KIND, _KIND, _PLACE],
}
_COUNTING = {"hits", "open_columns", "block_columns"}
"""These return a number of 64 bits."""


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
    function.argtypes, function.restype = _ARGUMENTS[name], _COUNT if name in _COUNTING else _KIND
    return function


def function_for(name: str, values: Values) -> Any:
    """The function of that name for scores like these, or None."""
    kind = TYPES.get(values.dtype)
    if LIBRARY is None or kind is None or values.ndim != 1 or not values.flags.aligned:
        return None
    return _function(LIBRARY, name, kind)


def plain_function(name: str) -> Any:
    """The function of that name for whole numbers alone, or None."""
    return None if LIBRARY is None else _function(LIBRARY, name, "")


def run_maxima(values: Values, run: int) -> Values | None:
    """The largest of each run of so many scores, the last of which may be shorter. None also if one is NaN."""
    function = function_for("run_maxima", values)
    if function is None:
        return None
    largest = np.empty(-(-len(values) // run), values.dtype)
    nan = function(address(values), values.strides[0], len(values), run, address(largest))
    return None if nan else largest


def column_maxima(values: Values, block: int, columns: int, blocks: Indices) -> Values | None:
    """The largest of each column of these blocks, which are seen as rows of so many columns."""
    function = function_for("column_maxima", values)
    if function is None:
        return None
    blocks, largest = np.ascontiguousarray(blocks), np.empty(len(blocks) * columns, values.dtype)
    place = address(values), values.strides[0], block, columns
    function(*place, address(blocks), len(blocks), address(largest))
    return largest


def sorted_by_level(
    scores: Values, index: Indices | None, rule: Rule, above: float, starts: Indices | None, size: int
) -> tuple[Indices, list[int], int] | None:
    """(where groups start, sorted by the level of their scores, how many are at each level, how many stand above).

    The scores are all of these, or those at `index`. Group i starts at `size` times `starts[i]`, or times i.
    """
    function = function_for("by_level", scores)
    if function is None:
        return None
    those, groups = (None if one is None else np.ascontiguousarray(one) for one in (index, starts))
    n = len(scores) if those is None else len(those)
    at, begins = (None if one is None else address(one) for one in (those, groups))
    room = np.empty(n + KINDS + 1 + n // 8 + 1, np.int64)  # the starts, the counts, how many stand above, the levels
    ordered = address(room)
    counts = ordered + 8 * n
    above_at, levels = counts + 8 * KINDS, counts + 8 * (KINDS + 1)
    place = address(scores), scores.strides[0], at, n, rule, above, begins, size
    if function(*place, levels, ordered, counts, above_at):
        return None
    *numbers, high = room[n : n + KINDS + 1].tolist()
    return room[:n], numbers, high


def in_eighths(values: Values, rule: Rule) -> tuple[NDArray[np.int16], Indices] | None:
    """(the heights of these scores in eighths from -50 on, cut at 0 and at twice EIGHTHS; how many stand at each)."""
    function = function_for("eighths", values)
    if function is None:
        return None
    places, counts = np.empty(len(values), np.int16), np.zeros(2 * EIGHTHS + 1, np.int64)
    scored = address(values), values.strides[0], len(values)
    return None if function(*scored, rule, address(places), address(counts)) else (places, counts)


def height_counts(values: Values, block: int, blocks: Indices, rule: Rule) -> Indices | None:
    """For each of these blocks, how many of its scores stand at each height -50, -49.5, .., 50."""
    function = function_for("histograms", values)
    if function is None:
        return None
    blocks, counts = np.ascontiguousarray(blocks), np.empty((len(blocks), BINS), np.int64)
    place = address(values), values.strides[0], block
    return None if function(*place, address(blocks), len(blocks), rule, address(counts)) else counts


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a threshold is chosen by: a sample of positions, and the chances of noise, as whole numbers."""

    places: Indices
    each: float
    """So many candidates each of them stands for."""
    chance: Indices
    """Of noise that passes a distance, in half units."""
    square: Indices
    fine: Indices
    """The chances again, in sixteenths from -100 to 100."""
    compiled: Sample = field(init=False)

    def __post_init__(self) -> None:
        chances = map(address, (self.chance, self.square, self.fine))
        object.__setattr__(self, "compiled", Sample(address(self.places), len(self.places), *chances, self.each))


def threshold_place(tops: Values, scores: Values, sample: Sampled, rule: Rule, enough: float) -> int | None:
    """The place of the threshold in its grid; -1 where none is high enough."""
    function = function_for("threshold", scores)
    if function is None:
        return None
    scored = address(scores), scores.strides[0]
    place: int = function(address(tops), len(tops), *scored, rule, sample.compiled, enough)
    return None if place < -1 else place


def kth_of(values: Values, k: int) -> int | float | None:
    """The k-th largest score; None also where there are few."""
    function = function_for("kth_largest", values) if k <= MOST and len(values) >= MANY else None
    if function is None:
        return None
    kth = np.empty(1, values.dtype)
    function(address(values), values.strides[0], len(values), k, address(kth))
    number: int | float = kth.item()
    return number


def float_peaks(values: object) -> tuple[Values, Values] | None:
    """Many floats that are all scores (no NaN, no +inf, not all -inf) and the maxima of their runs, from one look.

    None where they are not, or where two looks must do; then `_reading.checked_values` says what is wrong, if anything.
    """
    if type(values) is not np.ndarray or values.dtype.kind != "f" or values.ndim != 1 or len(values) < LOOKED_AT:
        return None
    peaks = run_maxima(values, RUN)
    return None if peaks is None or not -np.inf < peaks.max() < np.inf else (values, peaks)


def address(array: NDArray[Any]) -> int:
    place: int = array.__array_interface__["data"][0]
    return place
