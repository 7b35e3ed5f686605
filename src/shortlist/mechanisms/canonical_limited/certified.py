"""The certified law of canonical sets of a limited domain, where an absent label counts 0 (Theorem 115)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from shortlist.certified.law import Law
from shortlist.certified.races import choice_law
from shortlist.mechanisms.limited_domain.certified import working_list

if TYPE_CHECKING:
    from shortlist.mechanisms.canonical_limited.mechanism import CanonicalLimitedDomain
    from shortlist.scores import Scores


def law(mechanism: CanonicalLimitedDomain, scores: Scores) -> Law:
    """{set: chance}, the counts being those of the scores."""
    return sets_law(mechanism, scores.values.tolist())


def sets_law(mechanism: CanonicalLimitedDomain, counts: Sequence[int]) -> Law:
    """All sets of at most k labels of T, in proportion to e^(epsilon (g m - (1-g) M))."""
    k, limit = mechanism.k, mechanism.limit
    assert limit is not None
    gamma, rate = Fraction(mechanism.gamma), Fraction(mechanism._round)
    there, c = working_list(counts, limit)
    bar = c + 1 + mechanism.offset
    sets = [y for j in range(k + 1) for y in combinations(there, j)]
    exponents = []
    for y in sets:
        inside = min([Fraction(counts[i]) for i in y] + ([bar] if len(y) < k else []))
        outside = max([Fraction(counts[i]) for i in there if i not in y] + [bar])
        exponents.append(rate * (gamma * inside - (1 - gamma) * outside))
    return Law(dict(zip(sets, choice_law(exponents, "gumbel"), strict=True)))
