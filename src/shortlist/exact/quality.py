"""How good a released set is, in four numbers (Definition 118)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quality:
    """What a mechanism that returns k of d items achieves, the items ranked by score.

    A set *holds the head h* if it contains ranks 1 to h and *reaches t* if its worst item has rank t.
    """

    top: float
    """P[the k best], equal scores taken as equal."""
    great: float
    """P[head at least k/10 and reach at most 1.1 k]; tied scores ranked in the caller's order."""
    good: float
    """P[head at least k/100 and reach at most 1.5 k]; tied scores ranked in the caller's order."""
    recall: float
    """Expected share of correct items, an item being correct if its score is at least the k-th best."""


def great_ranks(k: int) -> tuple[int, int]:
    """(h, t): a set is great if it contains ranks 1..h and nothing beyond rank t."""
    return -(-k // 10), 11 * k // 10


def good_ranks(k: int) -> tuple[int, int]:
    """(h, t): a set is good if it contains ranks 1..h and nothing beyond rank t."""
    return -(-k // 100), 3 * k // 2
