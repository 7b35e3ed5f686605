"""The certified law of key sets: which labels are named with which noisy sums (Theorem 199, 202).

Gaussian sums are shown by how far above the bar they are, cut at some steps; beyond that they fall together.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from flint import arb

from shortlist.certified.curves import rational
from shortlist.certified.law import Law

if TYPE_CHECKING:
    from shortlist.mechanisms.keys.mechanism import KeySet
    from shortlist.scores import Scores

FAR = 12
"""So many people above the bar sums are told apart."""


def law(mechanism: KeySet, scores: Scores) -> Law:
    """{the sum of each label in steps, None where it is not named: chance}; a count of 0 is an absent label."""
    return sums_law(mechanism, scores.values.tolist())


def sums_law(mechanism: KeySet, counts: list[int]) -> Law:
    """The same for whole sums: in people, or in units of 2^-20 where they are weighted."""
    if mechanism.k is not None and mechanism.k < len(counts):
        raise ValueError("the law is known for all names that reach the bar: leave k= out, or let k be that of all")
    coin = mechanism._coin
    if coin is None:
        parts = [(arb(1), [_gaussian(mechanism, count) for count in counts])]
    else:
        share = _coin_chance(coin)
        parts = [
            (chance, [_geometric(coin, reach, count) for count in counts])
            for reach, chance in ((coin.reach, 1 - share), (coin.reach - 1, share))
        ]
    table: dict[Any, arb] = {}
    for chance, labels in parts:
        if not mechanism.values:  # then it makes no difference how far above the bar a label is
            labels = [{None: label[None], 0: sum(_without(label).values(), start=arb(0))} for label in labels]
        for outcome in product(*(label.items() for label in labels)):
            shown: tuple[Any, ...] = tuple(value for value, _ in outcome)
            if not mechanism.values:
                shown = tuple(i for i, value in enumerate(shown) if value is not None)
            total = chance
            for _, part in outcome:
                total = total * part
            table[shown] = table.get(shown, arb(0)) + total
    return Law(dict(sorted(table.items(), key=lambda one: repr(one[0]))))


def _without(label: dict[int | None, arb]) -> dict[int | None, arb]:
    return {value: chance for value, chance in label.items() if value is not None}


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
    silent = sum((mass for x, mass in masses.items() if count + x <= reach), start=arb(0))
    return {None: silent, **named}


def _masses(epsilon: Fraction, reach: int) -> dict[int, arb]:
    weights = {x: (-arb(rational(epsilon)) * abs(x)).exp() for x in range(-reach, reach + 1)}
    total = sum(weights.values(), start=arb(0))
    return {x: weight / total for x, weight in weights.items()}


def _coin_chance(coin: Any) -> arb:
    """lam, by which the end of the noise has chance delta on average."""
    here, less = (_masses(coin.epsilon, reach)[reach] for reach in (coin.reach, coin.reach - 1))
    return (arb(rational(coin.delta)) - here) / (less - here)
