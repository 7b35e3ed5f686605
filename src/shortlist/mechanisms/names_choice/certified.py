"""The certified law of a noisy choice: which branch, and what it names (Definition 208), written from the formulas.

An absent label counts 0. Weights, where a key set may be chosen, are given beside the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import arb

from shortlist.certified.law import Law
from shortlist.certified.races import choice_law
from shortlist.mechanisms.canonical_limited import certified as canonical_limited
from shortlist.mechanisms.keys import certified as keys
from shortlist.mechanisms.limited_domain import certified as limited_domain

if TYPE_CHECKING:
    from shortlist.mechanisms.names_choice.branches import Branch
    from shortlist.mechanisms.names_choice.mechanism import NamesChoice
    from shortlist.scores import Scores


def law(mechanism: NamesChoice, scores: Scores) -> Law:
    """{(branch, what it names): chance}, the counts being those of the scores; without key sets."""
    return both_law(mechanism, scores.values.tolist(), None)


def both_law(mechanism: NamesChoice, counts: Sequence[int], weights: Sequence[int] | None) -> Law:
    """The same with the weights of the same labels, in units of 2^-20."""
    rate = Fraction(mechanism.rate)
    return mixed_law(mechanism.branches, rate, counts, weights, in_order=mechanism.in_order)


def mixed_law(
    branches: Sequence[Branch], rate: Fraction, counts: Sequence[int], weights: Sequence[int] | None, *, in_order: bool
) -> Law:
    """Of any branches, chosen at that rate."""
    table: dict[Any, arb] = {}
    for branch, chance in zip(branches, choices(branches, rate, counts), strict=True):
        for shown, here in _names(branch, in_order, counts, weights).items():
            key = (branch.kind, branch.row, shown)
            table[key] = table.get(key, arb(0)) + chance * here
    return Law(table)


def _names(branch: Branch, in_order: bool, counts: Sequence[int], weights: Sequence[int] | None) -> dict[Any, arb]:
    """The law of one branch: sorted sets, or lists in order."""
    mechanism: Any = branch.mechanism
    if branch.kind == "sets":
        return dict(canonical_limited.sets_law(mechanism, counts).chances)
    if branch.kind == "keys":
        if in_order or weights is None:
            raise ValueError("the law of a key set is known for sets, and with the weights of the labels")
        return dict(keys.sums_law(mechanism, list(weights)).chances)
    table: dict[Any, arb] = {}
    for (order, _), chance in limited_domain.lists_law(mechanism, counts).chances.items():
        shown = order if in_order else tuple(sorted(order))
        table[shown] = table.get(shown, arb(0)) + chance
    return table


def choices(branches: Sequence[Branch], rate: Fraction, counts: Sequence[int]) -> list[arb]:
    """P[each branch is chosen], in proportion to e^(-rate bar), a bar the largest of h_(rank) + a number."""
    ranked = sorted(counts, reverse=True)

    def bar(branch: Branch) -> Fraction:
        rows = ((ranked[rank - 1] if rank <= len(ranked) else 0, number) for rank, number in branch.marks)
        return max(count + Fraction(number) for count, number in rows)

    return choice_law([-rate * bar(branch) for branch in branches], "gumbel")
