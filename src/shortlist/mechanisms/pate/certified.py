"""Certified laws of one query to teachers, by the counts of their votes (Theorem 105, 271)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import arb

from shortlist.certified.law import Law
from shortlist.certified.races import choice_law, ordered_law
from shortlist.mechanisms.stable.certified import passing

if TYPE_CHECKING:
    from shortlist.mechanisms.pate.mechanism import PATE, MultiLabelPATE


def law(pate: MultiLabelPATE, counts: Sequence[int]) -> Law:
    """The set of labels, or None: k, or a rank by noise on the gaps; then the test, for gaps that move by 2."""
    ranking = [*sorted(counts, reverse=True), 0]
    gaps = [ranking[j] - ranking[j + 1] for j in range(len(counts))]
    chances: dict[Any, arb] = {None: arb(0)}
    if pate.k is None:
        ranks = dict(enumerate(_rank_chances([gap / pate._scale for gap in gaps], pate.sigma_1)))
    else:
        ranks = {pate.k - 1: arb(1)}
    for j, chance in ranks.items():
        success = passing("gaussian", pate._test, gaps[j])
        chances[None] += chance * (1 - success)
        if gaps[j]:
            labels = tuple(i for i, count in enumerate(counts) if count >= ranking[j])
            chances[labels] = chances.get(labels, arb(0)) + chance * success
    return Law(chances)


def _rank_chances(exponents: list[Fraction], sigma: float | None) -> list[arb]:
    if sigma is None:
        return choice_law(exponents, "gumbel")
    return list(ordered_law(exponents, 1, "gaussian", 1).values())


def class_law(pate: PATE, counts: Sequence[int]) -> Law:
    """The class with the most votes: Gaussian noise of that deviation, or Gumbel noise of scale 2 / e.

    A vote that is replaced moves two counts.
    """
    if pate.sigma is not None:
        return Law(ordered_law(list(counts), 1, "gaussian", Fraction(pate.sigma)))
    whole = pate._mechanism.guarantee.as_pure()
    assert whole is not None
    return Law(ordered_law(list(counts), 1, "gumbel", 2 / Fraction(whole.epsilon)))
