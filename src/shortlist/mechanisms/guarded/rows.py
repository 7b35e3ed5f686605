"""Rows of sets, some of which are none: what many draws of a guard or of a switch give."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shortlist._arrays import Indices, Mask
from shortlist.exact.ranked_subsets import Ranking
from shortlist.mechanisms.canonical.sampler import blocks, member_sets, weights_for
from shortlist.sampling.entropy import Source
from shortlist.sampling.subset_rows import Classes, Weights
from shortlist.sampling.uniforms import WordStream

Rows = Callable[[Weights, int, Source], tuple[Classes, Mask]]
"""(so many classes at once, where there is none)."""


def drawn(
    ranking: Ranking, draws: int, source: Source, *, top: bool, one: Callable[[WordStream], Indices | None], rows: Rows
) -> tuple[Indices, Mask]:
    """(independent sets as sorted rows of positions, where there is none): in rows where that can be, or one by one.

    `top` says whether rows draw the top k beside the classes, or in a race with them.
    """
    sets, none = np.zeros((draws, ranking.k), np.int64), np.zeros(draws, np.bool_)
    weights = weights_for(ranking, draws, top=top)
    if weights is None:
        stream = WordStream(source, ahead=1024)
        for n in range(draws):
            winner = one(stream)
            none[n] = winner is None
            sets[n] = 0 if winner is None else np.sort(winner)
        return sets, none
    for some in blocks(draws):
        classes, none[some] = rows(weights, some.stop - some.start, source)
        there = ~none[some]
        sets[some][there] = member_sets(ranking, Classes(classes.i[there], classes.j[there]), source)
    return sets, none
