"""The certified distributions of items that come from the data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from math import prod
from typing import TYPE_CHECKING, Any

from flint import arb

from shortlist.audit.certified import base
from shortlist.audit.certified.base import Entry, Law, add, choice_law, gather, independent, power, rational

if TYPE_CHECKING:
    from shortlist.mechanisms.partition import Branch, KeySet, NamesChoice
    from shortlist.mechanisms.unknown_domain import CanonicalLimitedDomain, LimitedDomainTopK
    from shortlist.scores import Scores


def working_list(counts: Sequence[int], limit: int) -> tuple[list[int], int]:
    """(T, c): the labels that count more than row limit + 1, and more than 0."""
    ranking = sorted([max(count, 0) for count in counts], reverse=True)
    c = ranking[limit] if limit < len(ranking) else 0
    return [i for i, count in enumerate(counts) if count > c], c


def lists_law(mechanism: LimitedDomainTopK, counts: Sequence[int]) -> Law:
    """(labels in order, cut before the bar; whether the bar ended them)."""
    assert mechanism.limit is not None
    rate, (offset, many) = Fraction(mechanism._rates[0]), mechanism._bar
    there, c = working_list(counts, mechanism.limit)
    bar = c + 1 + offset
    if base.noise_name(mechanism.noise) == "gumbel":
        weights, rung = [power(rational(rate * counts[i])) for i in there], many * power(rational(rate * bar))
        law: dict[Any, arb] = {}
        for n in range(min(mechanism.k, len(there)) + 1):
            for order in permutations(range(len(there)), n):
                rests = [rung + add(w for j, w in enumerate(weights) if j not in order[:m]) for m in range(n + 1)]
                chance = prod((weights[i] / rest for i, rest in zip(order, rests, strict=False)), start=arb(1))
                ended = n < mechanism.k
                law[tuple(there[i] for i in order), ended] = chance * rung / rests[-1] if ended else chance
        return Law(law)
    k = min(mechanism.k, len(there) + 1)
    lists = []
    for order, chance in base.ordered_law([*(counts[i] for i in there), bar], k, "exponential", 1 / rate).items():
        ended = len(there) in order or len(order) < mechanism.k
        cut = order[: order.index(len(there))] if len(there) in order else order
        lists.append(((tuple(there[i] for i in cut), ended), chance))
    return Law(gather(lists))


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


FAR = 12
"""So many people above the bar sums are told apart."""


def sums_law(mechanism: KeySet, counts: list[int]) -> Law:
    """{the sum of each label in steps, None where it is not named: chance}; a count of 0 is an absent label.

    Whole sums: in people, or in units of 2^-20 where they are weighted.
    """
    if mechanism.k is not None and mechanism.k < len(counts):
        raise ValueError("the law is known for all names that reach the bar: leave k= out, or let k be that of all")
    coin = mechanism._coin
    if coin is None:
        parts = [(arb(1), [_gaussian(mechanism, count) for count in counts])]
    else:
        here, less = (_masses(coin.epsilon, reach)[reach] for reach in (coin.reach, coin.reach - 1))
        share = (arb(rational(coin.delta)) - here) / (less - here)  # the end of the noise has chance delta on average
        parts = [
            (chance, [_geometric(coin, reach, count) for count in counts])
            for reach, chance in ((coin.reach, 1 - share), (coin.reach - 1, share))
        ]
    outcomes: list[tuple[Any, arb]] = []
    for chance, labels in parts:
        if mechanism.values:
            outcomes += ((shown, chance * part) for shown, part in independent(labels))
            continue
        for label in labels:  # it makes no difference how far above the threshold a label is
            label[0] = add(label.pop(value) for value in [*label] if value is not None)
        for shown, part in independent(labels):
            outcomes.append((tuple(i for i, value in enumerate(shown) if value is not None), chance * part))
    return Law(dict(sorted(gather(outcomes).items(), key=lambda one: repr(one[0]))))


def _gaussian(mechanism: KeySet, count: int) -> dict[int | None, arb]:
    """P[the rounded noisy sum is so many steps], from the bar on."""
    if count == 0:
        return {None: arb(1)}
    bar = mechanism._bar
    unit = (1 << 20) if mechanism.weighted else 1
    place, width = Fraction(count, unit) / bar.grid, Fraction(bar.sigma) / bar.grid

    def at_least(step: int) -> arb:
        far = (Fraction(step) - Fraction(1, 2) - place) / width
        return (arb(rational(far)) / arb(2).sqrt()).erfc() / 2

    steps = FAR * (1 if bar.grid == 1 else 4)
    ends = [at_least(step) for step in range(bar.step, bar.step + steps + 1)]
    table: dict[int | None, arb] = {None: 1 - ends[0]}
    for n in range(steps):
        table[bar.step + n] = ends[n] - ends[n + 1]
    table[bar.step + steps] = ends[-1]
    return table


def _geometric(coin: Any, reach: int, count: int) -> dict[int | None, arb]:
    """P[count + X = v] for v above `reach`, X cut at `reach`."""
    if count == 0:
        return {None: arb(1)}
    masses = _masses(coin.epsilon, reach)
    named: dict[int | None, arb] = {count + x: mass for x, mass in masses.items() if count + x > reach}
    silent = add(mass for x, mass in masses.items() if count + x <= reach)
    return {None: silent, **named}


def _masses(epsilon: Fraction, reach: int) -> dict[int, arb]:
    weights = {x: (-arb(rational(epsilon)) * abs(x)).exp() for x in range(-reach, reach + 1)}
    whole = add(weights.values())
    return {x: weight / whole for x, weight in weights.items()}


def both_law(mechanism: NamesChoice, counts: Sequence[int], weights: Sequence[int] | None = None) -> Law:
    """{(branch, what it names): chance}; key sets with the weights of the same labels, in units of 2^-20."""
    rate = Fraction(mechanism.rate)
    return law_of_mixture(mechanism.branches, rate, counts, weights, in_order=mechanism.in_order)


def law_of_mixture(
    branches: Sequence[Branch], rate: Fraction, counts: Sequence[int], weights: Sequence[int] | None, *, in_order: bool
) -> Law:
    """Of any branches, chosen at that rate."""
    return Law(
        gather(
            ((branch.kind, branch.row, shown), chance * here)
            for branch, chance in zip(branches, choices(branches, rate, counts), strict=True)
            for shown, here in _names(branch, in_order, counts, weights).items()
        )
    )


def _names(branch: Branch, in_order: bool, counts: Sequence[int], weights: Sequence[int] | None) -> dict[Any, arb]:
    """The law of one branch: sorted sets, or lists in order."""
    mechanism: Any = branch.mechanism
    if branch.kind == "sets":
        return dict(sets_law(mechanism, counts).chances)
    if branch.kind == "keys":
        if in_order or weights is None:
            raise ValueError("the law of a key set is known for sets, and with the weights of the labels")
        return dict(sums_law(mechanism, list(weights)).chances)
    lists = lists_law(mechanism, counts).chances.items()
    return gather((order if in_order else tuple(sorted(order)), chance) for (order, _), chance in lists)


def choices(branches: Sequence[Branch], rate: Fraction, counts: Sequence[int]) -> list[arb]:
    """P[each branch is chosen], in proportion to e^(-rate bar), a bar the largest of h_(rank) + a number."""
    ranked = sorted(counts, reverse=True)

    def bar(branch: Branch) -> Fraction:
        rows = ((ranked[rank - 1] if rank <= len(ranked) else 0, number) for rank, number in branch.marks)
        return max(count + Fraction(number) for count, number in rows)

    return choice_law([-rate * bar(branch) for branch in branches], "gumbel")


def _of_counts(law: Callable[[Any, list[int]], Law]) -> Callable[[Any, Scores], Law]:
    """Return the law of scores that are counts."""
    return lambda mechanism, scores: law(mechanism, scores.values.tolist())


NAMES: dict[str, Any] = {"inputs": "histograms", "sees_level": True}
ENTRIES = (
    Entry(
        "LimitedDomainTopK",
        _of_counts(lists_law),
        ("limited-domain",),
        {
            "limited-domain": lambda k: {"limit": k + 1},
            "limited-domain-exponential": lambda k: {"limit": k + 1, "noise": "exponential"},
        },
        **NAMES,
    ),
    Entry(
        "CanonicalLimitedDomain",
        _of_counts(sets_law),
        ("canonical-limited-domain",),
        {"canonical-limited-domain": {}},
        **NAMES,
    ),
    Entry(  # nobody may bring more labels than count
        "KeySet",
        _of_counts(sums_law),
        ("keys",),
        {"keys": {"k": None, "most": 3}, "keys-2": {"k": None, "most": 2}},
        size=lambda mechanism: min(3, mechanism.most),
        **NAMES,
    ),
    Entry("NamesChoice", _of_counts(both_law), ("names-choice",), {"names-choice": {}}, **NAMES),
)
