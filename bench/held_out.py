"""Shapes that nothing was tuned on: one winner and the top 100 of ten million scores, against `np.max` (M)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from bench.shapes import shape
from bench.timing import interleaved, ratio
from shortlist.mechanisms import NoisyMax, OneshotTopK

D, ROUNDS, EPSILON = 10**7, 5, 0.1
MOST = {1: 6.0, 100: 6.0}
"""Targets, in M."""
KNOWN_MOST = {1: 4.0, 100: 5.0}
"""Those of the shapes that everything was tuned on."""


def capped(share: float, d: int) -> Any:
    """Zipf counts, shuffled, of which that share is clipped at one cap."""
    rank = np.random.default_rng(1).permutation(d) + 1
    return np.floor(1e6 / np.maximum(rank, share * d) ** 0.8).astype(np.int64)


def mixture(d: int) -> Any:
    rng = np.random.default_rng(2)
    return np.where(rng.random(d) < 0.01, rng.normal(500, 40, d), rng.normal(0, 30, d))


def blocks(size: int, d: int) -> Any:
    """Runs of equal scores."""
    return np.repeat(np.random.default_rng(3).integers(0, 10**4, d // size + 1), size)[:d]


def two_humps(d: int) -> Any:
    rng = np.random.default_rng(4)
    return np.rint(np.where(rng.random(d) < 0.5, rng.normal(1000, 50, d), rng.normal(1300, 50, d))).astype(np.int64)


def heavy(d: int) -> Any:
    return np.floor(np.random.default_rng(5).pareto(0.7, d) * 10).clip(max=2**50).astype(np.int64)


def few(levels: int, d: int) -> Any:
    return np.random.default_rng(6).integers(0, levels, d)


def half_never(d: int) -> Any:
    values = np.random.default_rng(7).normal(0, 100, d)
    values[::2] = -np.inf
    return values


SHAPES: dict[str, Callable[[int], Any]] = {
    **{
        f"Zipf counts, {share:g} of them tied at a cap": partial(capped, share)
        for share in (1e-5, 1e-4, 1e-3, 1e-2, 0.1)
    },
    "1 in 100 from another bell": mixture,
    "two humps of counts": two_humps,
    "runs of 100 equal scores": partial(blocks, 100),
    "runs of 10,000 equal scores": partial(blocks, 10**4),
    "a sine of period 1,000": lambda d: 1000 * np.sin(np.arange(d) * (2 * np.pi / 1000)),
    "8 high scores in every 4,096": lambda d: np.where(np.arange(d) % 4096 < 8, 60, 0),
    "sorted and rotated": lambda d: np.roll(np.sort(np.random.default_rng(8).normal(0, 1000, d)), d // 3),
    "counts with a heavy tail": heavy,
    "exponential scores": lambda d: np.random.default_rng(9).exponential(100, d),
    "two levels": partial(few, 2),
    "ten levels": partial(few, 10),
    "a thousand levels": partial(few, 1000),
    "half of them -inf": half_never,
    "bell, float32": lambda d: np.random.default_rng(10).normal(0, 100, d).astype(np.float32),
    "uniform, int8": lambda d: np.random.default_rng(11).integers(-128, 128, d).astype(np.int8),
    "bell, int16": lambda d: np.random.default_rng(12).normal(0, 3000, d).astype(np.int16),
    "Zipf counts, int32": lambda d: capped(1e-7, d).astype(np.int32),
    "bell, int64": lambda d: np.random.default_rng(13).normal(0, 10**6, d).astype(np.int64),
    "every third of an array": lambda d: np.random.default_rng(14).normal(0, 100, 3 * d)[::3],
}


KNOWN: dict[str, Callable[[int], Any]] = {
    "not held out: shuffled Zipf counts (targets 4 and 5 M)": partial(shape, "zipf"),
    "not held out: uniform (targets 4 and 5 M)": partial(shape, "uniform"),
}


def held_out_table(d: int = D) -> Iterator[str]:
    """Held-out shapes at d = 10^7, exponential noise, epsilon 0.1: times `np.max`, by the processor, min (median)."""
    yield "| shape | one winner (target 6 M) | top 100 (target 6 M) |"
    yield "|---|---|---|"
    for name, made in (SHAPES | KNOWN).items():
        values = made(d)
        runs: dict[str, Callable[[], object]] = {"M": values.max}
        runs["1"] = partial(NoisyMax(epsilon=EPSILON).release, values, monotone=True)
        runs["100"] = partial(OneshotTopK(k=100, epsilon=EPSILON, noise="exponential").release, values, monotone=True)
        times = interleaved(runs, ROUNDS, before=values.max, clock=process_time)
        cells = []
        for k, most in (KNOWN_MOST if name in KNOWN else MOST).items():
            over = min(times[str(k)]) > most * min(times["M"])
            cells.append(f"**{ratio(times, str(k), 'M')}**" if over else ratio(times, str(k), "M"))
        yield f"| {name} | {' | '.join(cells)} |"


TABLES = {"shapes": held_out_table}
