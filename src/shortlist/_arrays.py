"""Names for the arrays that walk through the library, and what is done to them in several rooms."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Mask: TypeAlias = NDArray[np.bool_]
Values: TypeAlias = NDArray[Any]
"""Scores as stored: one dimension, any integer type up to 64 bits, float32 or float64."""


def sorted_rows(positions: Indices) -> Indices:
    """Every row sorted, with -1, where a position is missing, at its end."""
    beyond = np.iinfo(np.int64).max
    rows = np.sort(np.where(positions < 0, beyond, positions), axis=1)
    return np.where(rows == beyond, -1, rows)
