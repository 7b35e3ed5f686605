"""The certified law of a measured set: a selection, and whole noise on each score of what it chose (Theorem 205).

Values are cut to a window, as whoever reads them may do: what is far out falls together.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from flint import arb

from shortlist.certified.curves import rational
from shortlist.certified.law import Law
from shortlist.mechanisms.guarded import certified as guarded
from shortlist.mechanisms.names_choice import certified as names_choice

if TYPE_CHECKING:
    from shortlist.mechanisms.measured.mechanism import MeasuredSet
    from shortlist.scores import Scores

LOW, HIGH = -9, 12
"""Values below and above are not told apart."""


def law(mechanism: MeasuredSet, scores: Scores) -> Law:
    """{(set, its values in the order of their positions): chance}, for whole scores.

    The set comes with the way it was selected: by the guard, or by the branch for candidates that come from the data.
    """
    parts: Any = mechanism._parts(scores.public)
    x = scores.values.tolist()
    sets = guarded.law(parts.selection, scores) if scores.public else names_choice.both_law(parts.selection, x, None)
    chances: dict[Any, arb] = {}
    for outcome, chance in sets.chances.items():
        members = outcome[0] if scores.public else outcome[-1]
        scale = parts.noise(len(members), scores.largest_sensitivity) if members else None
        tables = [_values(x[i], scale, parts.epsilon is None) for i in members]
        for pairs in product(*(table.items() for table in tables)):
            total = chance
            for _, part in pairs:
                total = total * part
            chances[outcome, tuple(value for value, _ in pairs)] = total
    return Law(dict(sorted(chances.items(), key=lambda one: repr(one[0]))))


def _values(count: int, scale: Any, gaussian: bool) -> dict[int, arb]:
    """P[value], cut at both ends."""
    width = arb(rational(scale))

    def at_least(value: int) -> arb:
        if gaussian:
            return ((arb(value - 0.5) - count) / (width * arb(2).sqrt())).erfc() / 2
        distance = value - count
        a = (-1 / width).exp()
        return a**distance / (1 + a) if distance >= 1 else 1 - a ** (1 - distance) / (1 + a)

    ends = [arb(1), *map(at_least, range(LOW + 1, HIGH + 1)), arb(0)]
    return {LOW + n: ends[n] - ends[n + 1] for n in range(len(ends) - 1)}
