"""Outcomes as numbers, and the events that tell two inputs apart."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices
from shortlist.mechanisms.base import Draws
from shortlist.release import Release
from shortlist.utility.estimates import Answer

LONGEST = 10_000
"""Streams are read so far."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Draws as columns: one code each, and the reals in them (NaN where a draw has fewer)."""

    codes: Indices
    reals: Floats

    def __len__(self) -> int:
        return len(self.codes)


def read_many(output: Any, draws: int) -> Sample:
    """The draws of a vectorised target: an array with one row each, of integers, of floats, or a pair of both."""
    if isinstance(output, Draws):
        columns = output.indices + 1  # places that are empty leave no trace, so rows may be of any width
        if output.chosen is not None:
            columns = np.concatenate([output.chosen.reshape(len(columns), -1) + 1, columns], axis=1)
        reals = np.empty((len(columns), 0)) if output.reals is None else output.reals
        return Sample(columns @ _mixers(columns.shape[1]), reals)
    if isinstance(output, list):
        _check_rows(len(output), draws)
        return read_each(output)
    parts = output if isinstance(output, tuple) else (output,)
    whole, real = [], []
    for part in parts:
        array = np.asarray(part)
        _check_rows(len(array) if array.ndim else 1, draws)
        columns = array.reshape(draws, -1)
        if array.dtype.kind == "f":
            real.append(columns.astype(np.float64))
        elif array.dtype.kind in "iub":
            whole.append(columns.astype(np.int64))
        else:
            raise TypeError("a target that takes draws= must return arrays of integers or floats, or a list of outputs")
    reals = np.concatenate(real, axis=1) if real else np.empty((draws, 0))
    if not whole:
        return Sample(np.zeros(draws, np.int64), reals)
    columns = np.concatenate(whole, axis=1)
    if columns.shape[1] == 1:
        return Sample(columns[:, 0], reals)
    return Sample(columns @ _mixers(columns.shape[1]), reals)


def _check_rows(rows: int, draws: int) -> None:
    if rows != draws:
        raise ValueError(f"a target that takes draws= must return {draws} rows, not {rows}")


def read_each(outputs: list[Any]) -> Sample:
    """One output after the other, whatever they are."""
    codes, reals = [], []
    for output in outputs:
        numbers: list[float] = []
        codes.append(_code(_token(output, numbers)))
        reals.append(numbers)
    width = max(map(len, reals), default=0)
    table = np.full((len(reals), width), np.nan)
    for row, numbers in zip(table, reals, strict=True):
        row[: len(numbers)] = numbers
    return Sample(np.array(codes, np.int64), table)


def together(samples: list[Sample]) -> Sample:
    """One after the other, as wide as the widest."""
    width = max(sample.reals.shape[1] for sample in samples)
    return Sample(
        np.concatenate([one.codes for one in samples]), np.concatenate([widen(one, width) for one in samples])
    )


def widen(sample: Sample, width: int) -> Floats:
    """The reals in at least so many columns, NaN in the new ones."""
    missing = np.full((len(sample), max(width - sample.reals.shape[1], 0)), np.nan)
    return np.concatenate([sample.reals, missing], axis=1)


def _token(output: Any, reals: list[float]) -> Any:
    """The discrete part of an output, nested tuples of plain things; its reals go into the list."""
    if isinstance(output, bool | str | bytes | int | np.integer | np.bool_) or output is None:
        return output.item() if isinstance(output, np.generic) else output
    if isinstance(output, float | np.floating):
        value = float(output)
        if not math.isfinite(value):
            return repr(value)
        reals.append(value)
        return "real"
    if isinstance(output, Release):
        return _release(output, reals)
    if isinstance(output, Answer):
        return (output.branch, _token(output.gap, reals))
    if isinstance(output, set | frozenset):
        return ("set", tuple(sorted(repr(_token(one, reals)) for one in output)))
    if isinstance(output, Mapping):
        return tuple((repr(key), _token(output[key], reals)) for key in sorted(output, key=repr))
    if isinstance(output, np.ndarray):
        return tuple(_token(one, reals) for one in output.tolist())
    if isinstance(output, list | tuple):
        return tuple(_token(one, reals) for one in output)
    if isinstance(output, Iterator):
        return tuple(_token(one, reals) for one in islice(output, LONGEST))
    if is_dataclass(output):
        return tuple(_token(getattr(output, field.name), reals) for field in fields(output))
    return repr(output)


def _release(release: Release, reals: list[float]) -> Any:
    """All that a release shows about the scores."""
    names = release.items if release.indices is None else release.indices
    who = None if names is None else tuple(names) if release.ordered else tuple(sorted(names, key=repr))
    soft = release.soft_min if release.soft_max is None else release.soft_max
    parts = (release.values, release.gaps, release.answers, soft, release.p_value)
    return (who, release.k, release.used, release.stopped, *(_token(part, reals) for part in parts))


def label_number(label: Any) -> int:
    """A number for any label, not negative, and (but for a chance of 2^-62) its own."""
    return _code(_token(label, [])) >> 1 & (1 << 62) - 1


@lru_cache(maxsize=1 << 16)
def _code(token: Any) -> int:
    return int.from_bytes(hashlib.blake2b(repr(token).encode(), digest_size=8).digest(), "big", signed=True)


def _mixers(columns: int) -> NDArray[np.int64]:
    """Odd multipliers: rows of small integers get distinct codes, but for collisions of chance 2^-64."""
    words = [hashlib.blake2b(str(i).encode(), digest_size=8).digest() for i in range(columns)]
    return np.array([int.from_bytes(word, "big", signed=True) | 1 for word in words], np.int64)


Flags = NDArray[np.bool_]
Tree = int | tuple[int, float, Any, Any]
"""A leaf's number, or (feature, threshold, tree below or at it, tree above it)."""

DEPTH = 7
LEAST = 40
"""No leaf is learned from fewer draws than this."""
BINS = 48


@dataclass(frozen=True, slots=True)
class Event:
    """The outputs whose cell is among `cells`; probable under the `likely` input (0 or 1) of a pair."""

    trees: dict[int, Tree]
    cells: frozenset[tuple[int, int]]
    likely: int
    width: int = 0

    def count(self, sample: Sample) -> int:
        """How many draws are in the event."""
        if not self.trees:
            return int(np.isin(sample.codes, [code for code, _ in self.cells]).sum())
        total = 0
        table = widen(sample, self.width)[:, : self.width]
        for code in {code for code, _ in self.cells}:
            rows = sample.codes == code
            leaves = _leaves(self.trees.get(code, 0), _features(table[rows]))
            total += int(np.isin(leaves, [leaf for other, leaf in self.cells if other == code]).sum())
        return total

    def as_json(self) -> dict[str, Any]:
        trees, cells = [*self.trees.items()], sorted(map(list, self.cells))
        return {"trees": trees, "cells": cells, "likely": self.likely, "width": self.width}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Event:
        cells = frozenset((code, leaf) for code, leaf in content["cells"])
        return cls(dict(content["trees"]), cells, content["likely"], content["width"])


def learn(one: Sample, two: Sample, *, delta: float, trials: int, z: float = 3.3) -> tuple[Event, float]:
    """The event whose bound promises to be largest with so many fresh trials, and that bound as it looks here.

    Trees are grown on one half of the draws, and which leaves to take is decided on the other.
    """
    samples, width = [one, two], max(one.reals.shape[1], two.reals.shape[1])
    trees: dict[int, Tree] = {}
    if width:
        (grow, one), (against, two) = _halves(one), _halves(two)
        trees, samples = _grow_trees(grow, against, width), [one, two]
    tallies = [_cells(trees, sample, width) for sample in samples]
    sizes = [len(sample) for sample in samples]
    best, event = -math.inf, Event(trees, frozenset(), 0, width)
    for likely in (0, 1):
        cells, bound = _cut(tallies[likely], tallies[1 - likely], sizes[likely], sizes[1 - likely], delta, trials, z)
        if bound > best:
            best, event = bound, Event(trees, cells, likely, width)
    return event, best


def _halves(sample: Sample) -> tuple[Sample, Sample]:
    return tuple(Sample(sample.codes[start::2], sample.reals[start::2]) for start in (0, 1))  # type: ignore[return-value]


def _cells(trees: dict[int, Tree], sample: Sample, width: int) -> dict[tuple[int, int], int]:
    """How many draws are in each cell."""
    codes, counts = np.unique(sample.codes, return_counts=True)
    if not width:
        return {(int(code), 0): int(count) for code, count in zip(codes, counts, strict=True)}
    table = widen(sample, width)
    result: dict[tuple[int, int], int] = {}
    for code in codes.tolist():
        leaves = _leaves(trees.get(code, 0), _features(table[sample.codes == code]))
        for leaf, count in zip(*np.unique(leaves, return_counts=True), strict=True):
            result[code, int(leaf)] = int(count)
    return result


def _cut(
    here: dict[tuple[int, int], int],
    there: dict[tuple[int, int], int],
    size: int,
    other: int,
    delta: float,
    trials: int,
    z: float,
) -> tuple[frozenset[tuple[int, int]], float]:
    """The cells of largest likelihood ratio, as many as make the bound largest."""
    cells = list(dict.fromkeys((*here, *there)))
    a = np.array([here.get(cell, 0) for cell in cells], float)
    b = np.array([there.get(cell, 0) for cell in cells], float)
    order = np.argsort(-((a + 0.5) / size) / ((b + 1.0) / other), kind="stable")
    p, q = np.cumsum(a[order]) / size, np.cumsum(b[order]) / other
    n = min(size, trials)  # what is seen in few draws is not trusted more than they allow
    slack = 1.5 * z / n
    low = p - z * np.sqrt(p / n) - slack - delta
    high = q + z * np.sqrt(q / n) + slack
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = np.where(low > 0, np.log(np.maximum(low, 1e-300)) - np.log(high), -np.inf)
    if not len(bounds) or bounds.max() == -np.inf:
        return frozenset(cells[i] for i in order[:1]), -math.inf
    at = int(np.argmax(bounds))
    return frozenset(cells[i] for i in order[: at + 1]), float(bounds[at])


# Trees over reals


def _features(reals: Floats) -> Floats:
    """The reals, their sums up to each (places, where they are gaps), and the place of the lowest bit of each.

    The last is what floating-point noise gives away: x + noise lies on a grid that depends on x (Mironov 2012).
    """
    sums = np.cumsum(reals, axis=1)[:, 1:]
    return np.concatenate([reals, sums, lowest_bits(reals)], axis=1)


def lowest_bits(values: Floats) -> Floats:
    """log2 of the largest power of two that divides each value; 0 and NaN get NaN."""
    bits = values.view(np.uint64) if values.flags.c_contiguous else np.ascontiguousarray(values).view(np.uint64)
    fraction = (bits & np.uint64((1 << 52) - 1)) | np.uint64(1 << 52)
    exponent = ((bits >> np.uint64(52)) & np.uint64(0x7FF)).astype(np.float64) - 1075
    lowest = fraction & (~fraction + np.uint64(1))
    place = np.log2(lowest.astype(np.float64)) + exponent
    return np.where((values == 0) | np.isnan(values), np.nan, place)


def _grow_trees(one: Sample, two: Sample, width: int) -> dict[int, Tree]:
    both = together([one, two])
    table = widen(both, width)
    side = np.arange(len(both)) < len(one)
    trees: dict[int, Tree] = {}
    for code, count in zip(*np.unique(both.codes, return_counts=True), strict=True):
        if count >= 2 * LEAST:
            rows = both.codes == code
            trees[int(code)] = _grow(_features(table[rows]), side[rows], 0, 1)
    return trees


def _grow(features: Floats, side: Flags, depth: int, number: int) -> Tree:
    """Split where the two inputs are told apart best; leaves are numbered as in a heap."""
    if depth == DEPTH or len(side) < 2 * LEAST:
        return number
    best, place = 0.0, None
    for j in range(features.shape[1]):
        gain, threshold = _split(features[:, j], side)
        if gain > best:
            best, place = gain, (j, threshold)
    if place is None or best < 4.0:
        return number
    low = ~(features[:, place[0]] > place[1])  # NaN goes with the low ones
    return (
        place[0],
        place[1],
        _grow(features[low], side[low], depth + 1, 2 * number),
        _grow(features[~low], side[~low], depth + 1, 2 * number + 1),
    )


def _split(column: Floats, side: Flags) -> tuple[float, float]:
    """(gain in log likelihood, threshold) of the best split of one feature."""
    values = column[~np.isnan(column)]
    if not len(values):
        return 0.0, 0.0
    places = np.unique(np.quantile(values, np.arange(BINS + 1) / BINS, method="lower"))
    bins = np.searchsorted(places, column, side="left")
    bins[np.isnan(column)] = 0
    a = np.cumsum(np.bincount(bins[side], minlength=len(places) + 1))[: len(places)]
    b = np.cumsum(np.bincount(bins[~side], minlength=len(places) + 1))[: len(places)]
    total_a, total_b = int(side.sum()), int((~side).sum())
    fair = (a + b >= LEAST) & (total_a + total_b - a - b >= LEAST)
    if not fair.any():
        return 0.0, 0.0
    gains = _information(a, b) + _information(total_a - a, total_b - b) - _information(total_a, total_b)
    gains = np.where(fair, gains, -np.inf)
    at = int(np.argmax(gains))
    return float(gains[at]), float(places[at])


def _information(a: Any, b: Any) -> Any:
    """The log likelihood of a heads and b tails at their own share."""
    from scipy.special import xlogy

    return xlogy(a, a) + xlogy(b, b) - xlogy(a + b, a + b)


def _leaves(tree: Tree, features: Floats) -> Indices:
    """Which leaf each row is in."""
    if isinstance(tree, int):
        return np.full(len(features), tree, np.int64)
    j, threshold, below, above = tree
    low = ~(features[:, j] > threshold)
    result = np.empty(len(features), np.int64)
    result[low] = _leaves(below, features[low])
    result[~low] = _leaves(above, features[~low])
    return result


# Bounds


def proportion_bounds(count: int, trials: int, alpha: float) -> tuple[float, float]:
    """Clopper-Pearson: (lower, upper) bounds on a probability, each wrong with chance at most alpha."""
    from scipy.special import betaincinv

    low = float(betaincinv(count, trials - count + 1, alpha)) if count else 0.0
    high = float(betaincinv(count + 1, trials - count, 1 - alpha)) if count < trials else 1.0
    return low, high
