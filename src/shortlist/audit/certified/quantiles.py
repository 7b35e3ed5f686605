"""The certified law of private quantiles, point by point from the formulas (Definition 242, Algorithm 246)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, log2
from typing import TYPE_CHECKING

from flint import arb

from shortlist.audit.certified.base import Law, choice_law

if TYPE_CHECKING:
    from shortlist.mechanisms.quantiles import Quantile
    from shortlist.scores import Scores


Chances = dict[tuple[int, ...], arb]


def quantile_law(mechanism: Quantile, scores: Scores) -> Law:
    """{(place for each q): chance}, from the counts at each place and the stated q, noise and epsilon of a level."""
    wanted = mechanism.q if isinstance(mechanism.q, tuple) else (mechanism.q,)
    q = [Fraction(str(one)) for one in wanted]
    votes = [Fraction(count) for count in scores.values.tolist()]
    stated, noise = mechanism.votes_per_user, str(mechanism.noise)
    share = len(votes) * Fraction(scores.largest_sensitivity) if stated is None else Fraction(stated)
    rate = Fraction(mechanism.epsilon_of_a_level) / share
    if mechanism.levels != ceil(log2(len(q) + 1)):
        raise ArithmeticError("the number of levels is not that of the recursion")
    return Law(_part(votes, 0, q, Fraction(0), Fraction(1), rate, noise))


def _part(
    votes: list[Fraction], first: int, q: Sequence[Fraction], low: Fraction, high: Fraction, rate: Fraction, noise: str
) -> Chances:
    """The law of these q between low and high, on the points from the first on."""
    if not q:
        return {(): arb(1)}
    middle = len(q) // 2
    inside = (q[middle] - low) / (high - low)
    moved = Fraction(1) if inside in (0, 1) else 2 * max(inside, 1 - inside)
    people, table = sum(votes, start=Fraction(0)), {}
    scores = []
    for place in range(len(votes)):
        below = sum(votes[:place], start=Fraction(0))
        within = below + votes[place]
        scores.append(-max(below - inside * people, inside * people - within, Fraction(0)))
    chances = choice_law([rate / moved * score for score in scores], noise)
    for place, chance in enumerate(chances):
        half = votes[place] / 2
        before = _part([*votes[:place], half], first, q[:middle], low, q[middle], rate, noise)
        after = _part([half, *votes[place + 1 :]], first + place, q[middle + 1 :], q[middle], high, rate, noise)
        for head, one in before.items():
            for tail, two in after.items():
                table[*head, first + place, *tail] = chance * one * two
    return table
