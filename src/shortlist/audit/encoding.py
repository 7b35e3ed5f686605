"""Any output as a code and some reals: what events are made of.

Whatever is lost here (a collision of codes, say) is post-processing: it can only make the auditor see less.
"""

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
from shortlist.estimates import Answer
from shortlist.mechanisms.contract import Draws
from shortlist.release import Release

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
        return _read_draws(output)
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


def _read_draws(draws: Draws) -> Sample:
    """Many draws of a mechanism. Places that are empty leave no trace, so rows may be of any width."""
    parts = [draws.indices] if draws.chosen is None else [draws.chosen.reshape(len(draws.indices), -1), draws.indices]
    columns = np.concatenate(parts, axis=1) + 1
    reals = np.empty((len(columns), 0)) if draws.reals is None else draws.reals
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
        np.concatenate([one.codes for one in samples]), np.concatenate([widened(one, width) for one in samples])
    )


def widened(sample: Sample, width: int) -> Floats:
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
