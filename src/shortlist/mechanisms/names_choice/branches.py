"""What a noisy choice chooses from: mechanisms for names from the data, each with its bar (Definition 208).

All here is public: k, the budget, the limit, and whether capped weights came with the counts. A bar is the largest of
some order statistics of the counts, each with a public number added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from shortlist._text import about
from shortlist.exact.partial_reals import rounded, rounded_down
from shortlist.exact.subset_classes import log_choose
from shortlist.mechanisms.canonical_limited.mechanism import GAMMA, MOST_CLASSES, CanonicalLimitedDomain
from shortlist.mechanisms.contract import Mechanism
from shortlist.mechanisms.keys.mechanism import KeySet
from shortlist.mechanisms.limited_domain.mechanism import LimitedDomainTopK, default_limit, quick_list
from shortlist.mechanisms.oneshot.mechanism import epsilon_of_a_round
from shortlist.mechanisms.unknown_domain import DeltaBudget, bar_in_words
from shortlist.privacy import ZCDP, ApproxDP

SHARE = Fraction(1, 10)
"""Of epsilon, for the choice; of rho its square."""
WIDEST = 2600
"""Limits of sets go up to it, or to 10 k."""
SPREAD = tuple(map(Fraction, ("1/10", "1/4", "1/2", "1", "2", "3", *(str(2**n - 1) for n in range(3, 32)))))
"""At ranks k + k f, f one of these, a set is asked whether the sets of such ranks drown it."""
CROWD = 3
"""So many times what a crowd of sets weighs is held against them: where sets drown they do so all at once."""
SETS_AHEAD, LIST_AHEAD = 8, 5
"""Where all bars are cleared, sets and the list stand so many times 1/epsilon_0 before the key set."""
LONG = 24
"""Beyond so many names a list stands no longer before a key set: its noise grows with k, that of a key set does not."""
FEW = 3
"""Up to so many names in order, under (epsilon, delta), exponential noise has the lower bar."""
FAR = Fraction(1 << 2000)
"""For what is beyond all floats."""

Kind = Literal["sets", "list", "keys"]


@dataclass(frozen=True, slots=True)
class Branch:
    """A mechanism that may be chosen, and its bar: the largest of h_(rank) + number over its marks."""

    kind: Kind
    mechanism: Mechanism
    marks: tuple[tuple[int, Fraction], ...]
    """(rank, a public number)."""
    row: int
    """The rank above which a name must stand; 0 for a key set."""
    offset: float
    """By how many people, about; for a key set so many shared votes are needed."""

    @property
    def used(self) -> str:
        """Which way it went, as a release says."""
        return {"sets": f"a set of the first {self.row - 1:,}", "list": "a list", "keys": "a key set"}[self.kind]

    @property
    def height(self) -> str:
        """Where its bar stands, in words and public numbers."""
        if self.kind == "keys":
            return f"{about(self.offset)} shared votes (1/sqrt(t) for each of a person's t names)"
        return bar_in_words(self.offset, self.row)

    def bar(self, counts: Sequence[int]) -> Fraction:
        """By counts in decreasing order, with zeros beyond them. Private."""
        return max(counts[rank - 1] + number for rank, number in self.marks)


@dataclass(frozen=True, slots=True)
class Parts:
    """A budget in two: the bounded range of the choice, and what is left for the mechanism that was chosen."""

    choice: float
    rest: DeltaBudget

    @classmethod
    def of(cls, budget: DeltaBudget) -> Parts:
        """Each rounded down, so that together they fit."""
        if isinstance(budget, ZCDP):
            first = rounded_down(SHARE**2 * Fraction(budget.rho))
            rest = rounded_down(Fraction(budget.rho) - Fraction(first))
            _check_shared(first, rest)
            return cls(epsilon_of_a_round(1, ZCDP(first)), ZCDP(rest, budget.delta))
        first = rounded_down(SHARE * Fraction(budget.epsilon))
        rest = rounded_down(Fraction(budget.epsilon) - Fraction(first))
        _check_shared(first, rest)
        return cls(first, ApproxDP(rest, budget.delta))


def branches(
    k: int, parts: Parts, *, limit: int | None = None, most: int | None = None, in_order: bool = False
) -> tuple[Branch, ...]:
    """What is chosen from: sets at several limits (not for an order), a list, and a key set where there are weights."""
    slack = 1 / Fraction(parts.choice)
    sets = [] if in_order else [limited_set(k, rows, parts.rest, slack) for rows in limits(k, limit)]
    keys = [] if most is None or limit is not None else [_keys(k, most, parts.rest, in_order)]
    ahead = 0 if keys and k > LONG else LIST_AHEAD * slack
    names = limited_list(k, default_limit(k) if limit is None else limit, parts.rest, ahead, in_order)
    return (*sets, names, *keys)


def limits(k: int, limit: int | None) -> tuple[int, ...]:
    """The limits of sets: 2k, 8k, 32k .. up to 2600 or 10 k, or the one that was given; so that they can be weighed."""
    if limit is not None:
        wanted: Iterable[int] = (limit,)
    else:
        wanted = (2 * k * 4**n for n in range(16) if 2 * k * 4**n <= max(WIDEST, 10 * k))
    return tuple(rows for rows in wanted if k * rows <= MOST_CLASSES)


def limited_set(k: int, rows: int, budget: DeltaBudget, slack: Fraction) -> Branch:
    """Its bar, and for larger ranks where the sets that reach so far would outweigh the top k: no lower than that."""
    mechanism = CanonicalLimitedDomain(k=k, budget=budget, limit=rows)
    inner = GAMMA * Fraction(mechanism._round)
    ranks = sorted({k + max(1, round(k * f)) for f in SPREAD if k + max(1, round(k * f)) <= rows})
    crowd = log_choose(np.full(len(ranks), k), np.array(ranks, np.int64) - k).tolist()
    heavy, ahead = CROWD / inner, SETS_AHEAD * slack
    drowned = ((rank, heavy * Fraction(more) - ahead) for rank, more in zip(ranks, crowd, strict=True))
    marks = ((rows + 1, slack + 1 + mechanism.offset), *drowned)
    return Branch("sets", mechanism, marks, rows + 1, 1 + rounded(mechanism.offset))


def limited_list(k: int, rows: int, budget: DeltaBudget, ahead: Fraction | int, in_order: bool) -> Branch:
    """For few names in order with exponential noise, whose bar is lower; of Gumbel noise the exact law is known.

    However far its bar is cleared, it stands no lower than `ahead` below the k-th count: sets may then be better.
    """
    if in_order and k <= FEW and isinstance(budget, ApproxDP):
        mechanism = LimitedDomainTopK(k=k, budget=budget, limit=rows, noise="exponential")
        offset = mechanism._bar[0]
    else:
        mechanism = quick_list(k, rows, budget)
        offset = Fraction(mechanism.offset) if math.isfinite(mechanism.offset) else FAR
    marks = ((rows + 1, 1 + offset), (k, Fraction(-ahead)))
    return Branch("list", mechanism, marks, rows + 1, 1 + rounded(offset))


def _keys(k: int, most: int, budget: DeltaBudget, in_order: bool) -> Branch:
    """Its bar is not compared: the k-th count is, which moves as all other bars do."""
    mechanism = KeySet(most=most, weighted=True, values=False, k=k, in_order=in_order, budget=budget)
    return Branch("keys", mechanism, ((k, Fraction(0)),), 0, mechanism.bar)


def _check_shared(first: float, rest: float) -> None:
    if not (first and rest):
        raise ValueError("the budget is too small to be shared by a choice and a release; choose a larger one")
