"""Uniform members of classes of subsets, one row each (Lemma 265)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Indices
from shortlist.sampling.entropy import Source
from shortlist.sampling.uniforms import HALF


def member_rows(k: int, i: Indices, j: Indices, *, merged: bool, source: Source) -> Indices:
    """The ranks of a uniform member of class (i, j) for each row, in no order; i = -1 is the top k.

    A class holds ranks 0 to k - i - 2, rank k + j, and any i of the i + j ranks before that; where they are `merged`,
    all from one rank earlier on. Rows are taken by decreasing i, so that those with a c-th free member stand first.
    """
    by = np.argsort((-i).astype(np.int16), kind="stable")
    i, j = i[by].astype(np.int32), j[by].astype(np.int32)
    at_least = np.searchsorted(-i, -np.arange(k + 1), side="right").tolist()  # rows with i >= c
    ranks = np.empty((k, len(by)), np.int32)
    halves = source.words(sum(at_least[1:]) // 2 + 1).view(np.uint32)
    before = k - i - int(merged)
    used = 0
    for c, (some, free) in enumerate(pairwise(at_least)):
        picked = _below((j[:free] + (c + 1)).view(np.uint32), halves[used : used + free], source)
        used += free
        taken = (ranks[:c, :free] == picked).any(axis=0)
        ranks[c, :free] = np.where(taken, j[:free] + c, picked)
        ranks[c, free:some] = (i + j)[free:some]
        ranks[c, some:] = c - i[some:] - 1
    for c, some in enumerate(at_least[:-1]):
        ranks[c, :some] += before[:some]
    rows = np.empty((len(by), k), np.int64)
    rows[by] = ranks.T
    return rows


def _below(bounds: NDArray[np.uint32], halves: NDArray[np.uint32], source: Source) -> NDArray[np.int32]:
    """A uniform integer below each bound, from half a word each; a half that would favour some is drawn again.

    Of the 2^32 values h, those with h n mod 2^32 >= 2^32 mod n give each floor(h n / 2^32) equally often (Lemire 2019).
    """
    product = halves.astype(np.uint64) * bounds.astype(np.uint64)
    result = (product >> np.uint64(32)).astype(np.int32)
    perhaps = np.flatnonzero(product.astype(np.uint32) < bounds)
    unfair = perhaps[(product[perhaps] & np.uint64(HALF - 1)) < HALF % bounds[perhaps].astype(np.int64)]
    if len(unfair):
        again = source.words(len(unfair)).view(np.uint32)[: len(unfair)]
        result[unfair] = _below(bounds[unfair], again, source)
    return result
