"""Data shapes, from kind to cruel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def shape(name: str, d: int) -> NDArray[np.int64] | NDArray[np.float64]:
    rng = np.random.default_rng(d)
    zipf = np.floor(1e6 / np.arange(1, d + 1) ** 0.8).astype(np.int64)
    if name == "zipf":
        return rng.permutation(zipf)
    if name == "uniform":
        return rng.random(d)
    if name == "tied":
        return np.full(d, 7, np.int64)
    if name == "up":
        return zipf[::-1].copy()
    if name == "down":
        return zipf
    if name == "peak":
        return np.where(np.arange(d) == d // 3, 10**6, 0)
    if name == "periodic":
        return np.where(np.arange(d) % 4096 < 8, 60, 0)
    raise ValueError(name)


SHAPES = ("zipf", "uniform", "tied", "up", "down")
