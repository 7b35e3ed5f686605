"""Caps for frames in memory: only people who have more items than they keep are hashed, in Python."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np

from shortlist._arrays import Indices, Mask
from shortlist._files import as_text
from shortlist.exact.thresholds import UNIT
from shortlist.tables.caps import BETWEEN, Cap


def capped(pairs: Any, keys: list[str], cap: Cap) -> Any:
    """Scores and weights per item, from the distinct (user, item) pairs of a frame (caps.py)."""
    people = people_of(pairs)
    held = np.bincount(people)[people]
    heavy = np.flatnonzero(held > cap.most)
    keeps = held <= cap.most
    if len(heavy):
        keeps[heavy] = first_of(pairs[heavy], keys, people[heavy], cap)
    weights = np.floor(np.sqrt(np.floor(float(UNIT**2) / np.minimum(held, cap.most)))).astype(np.int64)
    made = {"score": keeps if cap.caps_scores else np.ones(len(held)), "weight": np.where(keeps, weights, 0)}
    own = [
        nw.new_series(name, column.astype(np.int64), nw.Int64, backend=pairs.implementation)
        for name, column in made.items()
        if name == "score" or cap.weighted
    ]
    counts = pairs.select(*keys).with_columns(*own).group_by(keys).agg(*(nw.col(one.name).sum() for one in own))
    return counts.filter(nw.col("score") > 0)


def people_of(pairs: Any) -> Indices:
    """A number for the person of each row, the same for the same person.

    Arrow has no window over groups: narwhals joins there, and a join of arrow keeps no order of rows.
    """
    if pairs.implementation is nw.Implementation.PYARROW:
        chunks = pairs["u"].to_native().dictionary_encode().unify_dictionaries().chunks
        numbers = np.concatenate([np.empty(0, np.int64), *(chunk.indices.to_numpy() for chunk in chunks)])
    else:
        numbers = pairs.with_row_index("n").select(nw.col("n").min().over("u")).to_numpy().ravel()
    people: Indices = numbers.astype(np.int64)
    return people


def first_of(pairs: Any, keys: list[str], people: Indices, cap: Cap) -> Mask:
    """Which of these pairs are among the first of their person."""
    hashes = hashes_of(pairs, ("u", *keys), cap.salt)
    high, low = np.frombuffer(b"".join(hashes), ">u8").astype(np.uint64).reshape(-1, 2).T
    order = np.lexsort((low, high, people))
    same = [column[order[1:]] == column[order[:-1]] for column in (people, high, low)]
    if np.logical_and.reduce(same).any():  # equal hashes: by the item then
        items = list(zip(*(pairs[key].to_list() for key in keys), strict=True))
        order = np.array(sorted(range(len(items)), key=lambda n: (people[n], hashes[n], items[n])), np.int64)
    starts = np.flatnonzero(np.append(True, np.diff(people[order]) != 0))
    ranks = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    first = np.empty(len(order), np.bool_)
    first[order] = ranks < cap.most
    return first


def hashes_of(rows: Any, columns: Sequence[str], salt: str) -> list[bytes]:
    """The hash of each row by these columns."""
    words = map(BETWEEN.join, zip(*(map(_text, rows[name].to_list()) for name in columns), strict=True))
    start = salt + BETWEEN
    return [hashlib.md5((start + one).encode(), usedforsecurity=False).digest() for one in words]


def _text(cell: Any) -> str:
    """The same for equal cells: there is one zero."""
    if type(cell) is str:
        return cell
    return as_text(cell + 0.0 if isinstance(cell, float) else cell)
