"""Compiled passes over random words, where `_scan.c` was built: who is hit, and who wins.

As in `_scan.py`: None where the compiled function is not there or does not fit, and then NumPy gives the same numbers.
"""

from __future__ import annotations

import ctypes
import math

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Values, Words
from shortlist._scan import MOST, Rule, address, function_for, plain_function


def hits_of(
    batches: Indices, starts: Indices, firsts: Words, words: Words, most: int
) -> tuple[Indices, Indices] | None:
    """(which candidates are hit, their levels): at most so many. None also where floats or words do not suffice.

    A row of `batches` is (level, length, stride, number of groups, number of words); the groups are in `starts`.
    """
    function = plain_function("hits")
    if function is None:
        return None
    room = np.empty((2, most), np.int64)
    index = address(room)
    place = address(batches), len(batches), address(starts), address(firsts), address(words)
    count = function(*place, index, index + 8 * most)
    return None if count < 0 else (room[0, :count], room[1, :count])


def sorted_by_row(
    hits: tuple[Indices, Indices], sizes: Indices, starts: Indices, rows: int
) -> tuple[Indices, Indices, Indices] | None:
    """(candidates, levels, where each row's end): of hits of many rows, which are counted through rows and candidates.

    They come as places and levels, level by level; level j has `sizes[j]` candidates, in `starts` one after another.
    """
    function = plain_function("by_row")
    if function is None:
        return None
    (places, level), n = hits, len(hits[0])
    firsts, room, ends = np.cumsum(sizes) - sizes, np.empty((3, n), np.int64), np.empty(rows, np.int64)
    place = address(places), address(level), n, address(sizes), address(firsts), address(starts), rows
    index = address(room) + 8 * n
    function(*place, address(room), address(ends), index, index + 8 * n)
    return room[1], room[2], ends


def clear_rows(
    values: Values, hits: tuple[Indices, Indices, Words], ends: Indices, k: int, kind: int, rule: Rule
) -> tuple[Indices, NDArray[np.bool_]] | None:
    """(the winners of rows of hits, in no order; in which rows they are clear); `ends` is where a row's hits end."""
    function = function_for("row_winners", values) if k <= MOST else None
    if function is None:
        return None
    (index, level, words), rows, d = hits, len(ends), len(values)
    clear, won, heights = np.empty(rows, np.bool_), np.zeros((rows, k), np.int64), np.empty(d)
    place = address(values), values.strides[0], d, address(index), address(level), address(ends), rows
    noise = kind, rule.factor, rule.whole, rule.centre, rule.threshold
    function(*place, address(words), k, *noise, address(heights), address(clear), address(won))
    return won, clear


def clear_winners(
    values: Values, words: Words, k: int, kind: int, factor: float, centre: int | float
) -> list[int] | None:
    """Where the k highest finishes stand, best first; an empty list where that is not clear."""
    function = function_for("winners", values) if words.shape == values.shape and k <= MOST else None
    if function is None:
        return None
    whole, real = (0, centre) if values.dtype.kind == "f" else (centre, 0.0)
    places = (ctypes.c_int64 * k)()
    place = address(values), values.strides[0], None, None, len(values), address(words)
    return list(places) if function(*place, k, kind, factor, whole, real, -math.inf, places) else []


def clear_hits(values: Values, hits: tuple[Indices, Indices, Words], k: int, kind: int, rule: Rule) -> list[int] | None:
    """The same of hits (which candidates, at which levels, their words), if these finish above the rule's threshold."""
    function = function_for("winners", values) if k <= MOST else None
    if function is None:
        return None
    index, level, words = (np.ascontiguousarray(one) for one in hits)
    places = (ctypes.c_int64 * k)()
    place = address(values), values.strides[0], address(index), address(level), len(index), address(words)
    clear = function(*place, k, kind, rule.factor, rule.whole, rule.centre, rule.threshold, places)
    return list(places) if clear else []


def noises(words: Words, level: Indices, kind: int, in_rows: bool = False) -> Floats | None:
    """The noise by which finishes are compared, for tests."""
    function = plain_function("noises")
    if function is None:
        return None
    noise = np.empty(len(words))
    function(address(words), address(level), len(words), kind, in_rows, address(noise))
    return noise
