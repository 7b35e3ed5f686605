"""Broken quantiles: a score, a range or a cut that looks at more than it is paid for; all by their exact laws.

Points are counts along a line. Two more that are private and miss: a score that cannot hit an atom, and a cut that
gives all votes on a point to one side; their laws are here too, for the test that shows by how much they miss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from flint import arb

from shortlist.audit import Law
from shortlist.audit.certified.base import Point, choice_law
from studies.broken.entry import Broken

Votes = Sequence[Fraction]
Cut = Callable[[Votes, int], tuple[Fraction, Fraction]]
"""How much of the votes on a point goes to the left and to the right."""

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)


def distances(votes: Votes, q: Fraction) -> list[Fraction]:
    """As they should be: from q n to the ranks of a point."""
    people = sum(votes, start=Fraction(0))
    sums = [sum(votes[:place], start=Fraction(0)) for place in range(len(votes) + 1)]
    return [max(sums[n] - q * people, q * people - sums[n + 1], Fraction(0)) for n in range(len(votes))]


def rank_below(votes: Votes, q: Fraction) -> list[Fraction]:
    """By the votes below a point alone: it cannot hit an atom."""
    people = sum(votes, start=Fraction(0))
    return [abs(sum(votes[:place], start=Fraction(0)) - q * people) for place in range(len(votes))]


def one_law(votes: Votes, q: Fraction, rate: Fraction, score: Callable[..., list[Fraction]] = distances) -> list[arb]:
    """The exponential mechanism on minus such a score."""
    return choice_law([-rate * one for one in score(votes, q)], "gumbel")


def halves(votes: Votes, place: int) -> tuple[Fraction, Fraction]:
    """As it should be."""
    return votes[place] / 2, votes[place] / 2


def to_the_left(votes: Votes, place: int) -> tuple[Fraction, Fraction]:
    """All of them to one side, always the same: private, and biased where there are atoms."""
    return votes[place], Fraction(0)


def to_the_emptier(votes: Votes, place: int) -> tuple[Fraction, Fraction]:
    """To the side with fewer votes: one vote moves all of them."""
    fewer = sum(votes[:place], start=Fraction(0)) <= sum(votes[place + 1 :], start=Fraction(0))
    return (votes[place], Fraction(0)) if fewer else (Fraction(0), votes[place])


def quartiles(votes: Votes, epsilon: Fraction, cut: Cut = halves) -> Law:
    """The median, then the quartiles on either side, each level with half of epsilon."""
    chances = {}
    for place, chance in enumerate(one_law(votes, HALF, epsilon / 2)):
        left, right = cut(votes, place)
        below = one_law([*votes[:place], left], HALF, epsilon / 2)
        above = one_law([right, *votes[place + 1 :]], HALF, epsilon / 2)
        for n, one in enumerate(below):
            for m, two in enumerate(above):
                chances[n, place, place + m] = chance * one * two
    return Law(chances)


def exactly(x: Point) -> list[Fraction]:
    return [Fraction(value) for value in x]


def within_the_data(x: Point) -> Law:
    """The range is from the smallest to the largest that somebody has."""
    there = [place for place, votes in enumerate(x) if votes]
    inside = exactly(x)[there[0] : there[-1] + 1]
    return Law({there[0] + n: chance for n, chance in enumerate(one_law(inside, HALF, Fraction(1)))})


def means_in_engine_order(x: Point) -> Law:
    """Everybody has rows .1, .2 and .3, added as floats in an order that depends on how many rows there are in all."""
    rows = [0.1, 0.2, 0.3]
    total = sum(rows) if x[0] % 2 else sum(reversed(rows))
    votes = [Fraction(x[0]), Fraction(0)] if total <= 0.6 else [Fraction(0), Fraction(x[0])]
    return Law(dict(enumerate(one_law(votes, HALF, Fraction(1)))))


def medians(groups: Sequence[Point], epsilon: Fraction) -> Law:
    """The smallest of every group of two, drawn independently."""
    law: dict[tuple[int, ...], arb] = {(): arb(1)}
    for x in groups:
        each = one_law(exactly(x), Fraction(0), epsilon)
        law = {(*points, n): chance * one for points, chance in law.items() for n, one in enumerate(each)}
    return Law(law)


def of_people_there(x: Point) -> Law:
    """A group is listed, with its quantile, if anybody is in it."""
    return medians((x,), Fraction(1)) if any(x) else Law({"not listed": arb(1)})


BY_HAND = "easily written: see docs/mechanisms/quantile.md"

ENTRIES = (
    Broken(
        name="quantile called monotone",
        what="votes only grow, so the noise is that of R = max(q, 1 - q); but n grows too, and scores move both ways",
        source=BY_HAND,
        law=lambda x: Law(dict(enumerate(one_law(exactly(x), QUARTER, Fraction(4, 3))))),
        pairs=(((3, 9, 3), (4, 9, 3)), ((0, 9, 0), (1, 9, 0))),
    ),
    Broken(
        name="quantile, range of the data",
        what="the range is from the smallest to the largest value: who has these can be seen",
        source="OpenDP's and other guides warn of it; easily written",
        law=within_the_data,
        pairs=(((1, 1, 0), (1, 1, 1)),),
    ),
    Broken(
        name="quantile, floats in the engine's order",
        what="a person's mean is a sum of floats in an order that other people's rows change, and all cross a point",
        source=BY_HAND,
        law=means_in_engine_order,
        pairs=(((20,), (21,)),),
    ),
    Broken(
        name="quantiles, votes to the emptier side",
        what="the votes on a point that came out go to the side with fewer votes: one vote moves all of them",
        source=BY_HAND,
        law=lambda x: quartiles(exactly(x), Fraction(1), to_the_emptier),
        pairs=(((8, 20, 8), (9, 20, 8)), ((3, 9, 3), (4, 9, 3))),
    ),
    Broken(
        name="quantiles of groups, paid once and not kept apart",
        what="the charge is that of one group, and a person votes in all of them",
        source=BY_HAND,
        law=lambda x: medians((x[:3], x[3:]), Fraction(1)),
        pairs=(((3, 0, 0, 3, 0, 0), (4, 0, 0, 4, 0, 0)),),
    ),
    Broken(
        name="quantiles of groups, keys from the data",
        what="every group that has people is listed, with a point of the public range",
        source=BY_HAND,
        law=of_people_there,
        pairs=(((0, 0, 0), (1, 0, 0)),),
    ),
)
