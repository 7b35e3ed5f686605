"""Names for the arrays that walk through the library."""

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
