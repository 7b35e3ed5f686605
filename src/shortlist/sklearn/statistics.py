"""Rows as whole numbers: what is summed over people is exact, and so is the bound on one person's part of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.exact.noise_distributions import LAPLACE
from shortlist.sampling.additive import add_whole_noise
from shortlist.sampling.entropy import Source

CELL = 1 << 20
"""Steps between 0 and the clip of a single number."""
ROW = 1 << 10
"""Steps of a row's absolute sum: products of two are below its square."""
MOST_ROWS = 1 << 40
"""Sums of so many products fit into 64 bits."""


def checked_rows(X: Floats) -> Floats:
    """Refuse a table so long that sums would not fit; its length is public."""
    if len(X) > MOST_ROWS:
        raise ValueError("X must have at most 2^40 rows")
    return X


def clipped_cells(X: Floats, clip: float, *, signed: bool) -> Indices:
    """Each number clipped to [0, clip], or [-clip, clip], in whole steps of clip / CELL. What is no number is 0."""
    with np.errstate(all="ignore"):
        steps = np.rint(np.clip(np.nan_to_num(X / clip), -1.0 if signed else 0.0, 1.0) * CELL)
    return np.clip(steps.astype(np.int64), -CELL if signed else 0, CELL)


def bounded_rows(X: Floats, clip: float, most: int) -> Indices:
    """Rows in steps of clip / most, cut towards 0, scaled down where their absolute values sum to more than `most`."""
    with np.errstate(all="ignore"):
        rows = np.nan_to_num(X / clip, posinf=0.0, neginf=0.0)
        sums = np.abs(rows).sum(axis=1, keepdims=True)
        steps: Indices = np.trunc(np.nan_to_num(rows / np.maximum(sums, 1.0)) * most).astype(np.int64)
    steps[np.abs(steps).sum(axis=1) > most] = 0  # rounding above; a function of the row alone
    return steps


def noisy_sums(sums: Indices, *, sensitivity: int, epsilon: float, source: Source) -> Indices:
    """Whole sums plus exact Laplace noise of scale sensitivity / epsilon, rounded: epsilon-DP if one person moves
    the sums by at most `sensitivity` in all."""
    scale = Fraction(sensitivity) / Fraction(epsilon)
    return add_whole_noise(sums.ravel(), scale=scale, noise=LAPLACE, source=source).reshape(sums.shape)


def signs(y: Any, classes: Sequence[Any]) -> Indices:
    """1 for the second class, -1 for the first, 0 for anything else."""
    labels = np.asarray(y)
    ways: Indices = (labels == classes[1]).astype(np.int64) - (labels == classes[0]).astype(np.int64)
    return ways


def two_classes(classes: object) -> tuple[Any, Any]:
    """Two labels that are public knowledge."""
    if not isinstance(classes, Sequence | np.ndarray) or isinstance(classes, str) or len(classes) != 2:
        raise ValueError("classes must be two labels that are public knowledge: write classes=(0, 1)")
    first, second = classes
    if first == second:
        raise ValueError("classes must be two different labels: write classes=(0, 1)")
    return first, second


def positive(name: str, value: object) -> float:
    """A finite number above 0."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not 0 < plain < math.inf:
        raise ValueError(f"{name} must be a number above 0: write {name}=1.0, for example")
    return float(plain)
