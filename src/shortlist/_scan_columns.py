"""Compiled passes over integers of 8 or 16 bits, where `_scan.c` was built: maxima of columns, and which are high.

As in `_scan.py`: None where the compiled function is not there or does not fit, and then NumPy gives the same numbers.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from shortlist._arrays import Indices, Values
from shortlist._scan import KINDS, TALL, Opened, Rule, address, function_for, plain_function

WIDE = 32
"""Bytes of a row of a block: so many are compared at once."""


def block_columns(values: Values) -> tuple[Values, Values] | None:
    """(the largest score of each column of each whole block, of each block): TALL rows of WIDE bytes are a block."""
    function = function_for("block_columns", values)
    if function is None:
        return None
    width = WIDE // values.itemsize
    blocks = len(values) // (TALL * width)
    columns, tops = np.empty(blocks * width, values.dtype), np.empty(blocks, values.dtype)
    function(address(values), values.strides[0], blocks, address(columns), address(tops))
    return columns, tops


def open_columns(
    columns: Values, tops: Values, rule: Rule, scale: float, crowd: int, chance: Indices, wanted: float
) -> tuple[float, Opened, int, list[int], Indices] | Literal["crowded"] | None:
    """(the threshold, which columns are opened, from which score on, how many by the cuts above them, their starts)."""
    function, starts_of = function_for("open_columns", columns), plain_function("column_starts")
    if function is None or len(columns) >= 2**31:
        return None
    n, width = len(columns), WIDE // columns.itemsize
    above, room, counts = np.empty(n, np.int8), np.empty(n, np.int32), np.empty(KINDS + 2, np.int64)
    place = address(columns), address(tops), len(tops), rule, scale, crowd, address(chance), wanted
    count = function(*place, address(above), address(room), address(counts))
    if count < 0:
        return "crowded"
    starts = np.empty(count, np.int64)
    starts_of(address(room), count, address(above), width, address(counts), address(starts))
    *numbers, cuts, last = counts.tolist()
    return rule.threshold, Opened(above, cuts, width), last, numbers[:cuts], starts
