"""The certified law of the rank with a large gap: the largest gap + r + noise (Theorem 100, 270)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import arb

from shortlist.certified.law import Law
from shortlist.certified.races import choice_law, ordered_law

if TYPE_CHECKING:
    from shortlist.mechanisms.large_gap.mechanism import LargeGap
    from shortlist.scores import Scores

RANKS = 1000
"""The last rank without a limit, where the list of candidates is not public."""


def law(mechanism: LargeGap, scores: Scores) -> Law:
    """{rank: chance}."""
    return Law(rank_law(mechanism, scores, mechanism._scale(scores), "gaussian" if mechanism.sigma else "gumbel"))


def rank_law(mechanism: Any, scores: Scores, scale: Fraction, noise: str) -> dict[int, arb]:
    """{rank: chance}, from 1, by the limit and the regularizer of the mechanism; -inf is never chosen."""
    x = sorted((Fraction(value) for value in scores.values.tolist()), reverse=True)
    last = mechanism.limit or (len(x) - 1 if scores.public else RANKS)
    ranking = [*x, *[Fraction(0)] * (last + 1)]
    shifts = [_added(mechanism.regularizer, j) for j in range(1, last + 1)]
    able = [j for j in range(last) if shifts[j] > -math.inf]
    exponents = [(ranking[j] - ranking[j + 1] + Fraction(shifts[j])) / scale for j in able]
    if noise == "gumbel":
        return dict(zip((j + 1 for j in able), choice_law(exponents, noise), strict=True))
    return {able[i] + 1: chance for (i,), chance in ordered_law(exponents, 1, noise, 1).items()}


def _added(regularizer: Any, rank: int) -> Any:
    if regularizer is None:
        return 0
    value = regularizer(rank) if callable(regularizer) else regularizer[rank - 1]
    return value if isinstance(value, Fraction) else float(value)
