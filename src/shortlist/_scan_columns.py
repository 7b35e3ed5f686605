"""Compiled passes over integers of 8 or 16 bits, where `_scan.c` was built: columns that stand high, and who wins.

As in `_scan.py`: None where the compiled function is not there or does not fit, and then NumPy gives the same numbers.
"""

from __future__ import annotations

import ctypes
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Indices, Values, Words
from shortlist._scan import KINDS, MOST, TALL, Rule, Sampled, address, function_for

WIDE = 32
"""Bytes of a row of a block: so many are compared at once."""
KEPT = 1 << 11
"""There is room for so many hits that enter a race."""


def block_columns(values: Values, k: int) -> tuple[Values, Values, int] | None:
    """(the largest score of each column of each whole block, of each block, the k-th largest of these).

    TALL rows of WIDE bytes are a block.
    """
    function = function_for("block_columns", values)
    if function is None:
        return None
    width = WIDE // values.itemsize
    blocks = len(values) // (TALL * width)
    columns, tops = np.empty(blocks * width, values.dtype), np.empty(blocks, values.dtype)
    kth = function(address(values), values.strides[0], blocks, k, address(columns), address(tops))
    return columns, tops, kth


def open_columns(
    values: Values,
    maxima: tuple[Values, Values],
    rule: Rule,
    scale: float,
    crowd: int,
    sample: Sampled,
    wanted: float,
    surely: float,
    paid: float,
) -> tuple[float, int, list[int], NDArray[np.int32]] | Literal["crowded"] | None:
    """(the threshold, from which score on columns are opened, how many by the cuts above them, which ones)."""
    (columns, tops), function = maxima, function_for("open_columns", values)
    if function is None or len(columns) >= 2**31:
        return None
    n, size = len(columns), values.itemsize
    room, counts = np.empty((8 + size) * n, np.int8), (ctypes.c_int64 * (KINDS + 2))()
    opened = address(room)
    scored = address(values), values.strides[0], address(columns), address(tops), len(tops), rule
    rooms = opened + 4 * n, opened + 8 * n, opened, counts
    count = function(*scored, scale, crowd, sample.compiled, wanted, surely, paid, *rooms)
    if count < 0:
        return "crowded"
    cuts, last = counts[KINDS:]
    return rule.threshold, last, counts[:cuts], room[: 4 * count].view(np.int32)


def column_winners(
    values: Values,
    columns: Values,
    batches: list[tuple[int, int, int, int]],
    cut: int,
    opened: NDArray[np.int32],
    words: tuple[Words, Words],
    k: int,
    kind: int,
    rule: Rule,
) -> tuple[Indices, Words, Indices] | None:
    """(who wins, by which words, at which levels), best first; None also where that is not clear.

    A batch is (level, number of trials, number of words, start), as `_scan_columns.h` says; `words` are for skips, and
    for hits.
    """
    function = function_for("column_winners", values) if k <= MOST else None
    if function is None:
        return None
    room, rows = np.empty((KEPT, 3), np.int64), (ctypes.c_int64 * (4 * len(batches)))()
    rows[:] = [number for batch in batches for number in batch]
    place = address(values), values.strides[0], rows, len(batches), address(columns), cut, address(opened)
    skips, fresh = map(address, words)
    if not function(*place, len(columns) * TALL, skips, fresh, k, kind, rule, address(room)):
        return None
    index, level, word = room[:k].T.copy()
    return index, word.view(np.uint64), level
