"""Coins of points whose distance from the target is tiny are decided by that distance, not by its float."""

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from shortlist.sampling import entropy
from tests.helpers.inside import Choice, Node, Uniform


class Words:
    """A stream of one word and then zeros."""

    def __init__(self, first: int) -> None:
        self.words = [first]

    def word(self) -> int:
        return self.words.pop() if self.words else 0


def distance_of(choice: Choice, run: int) -> Fraction:
    return choice.node.distance(int(choice.runs.firsts[run]), choice.runs.target)


def exact(number: Fraction) -> arb:
    return arb(fmpq(number.numerator, number.denominator))


@pytest.mark.parametrize("part", [Fraction(1, 10**8), Fraction(7, 3 * 10**9), Fraction(1, 10**12)])
def test_a_coin_near_its_bound_falls_on_the_right_side(part):
    """q n lies just below a rank, as the q inside a node of several quantiles may."""
    many = 1000
    votes = Node(0, 9, np.array([2, 7]), np.array([many // 2, many // 2]))
    q = (many // 2 - part) / many
    choice = Choice.of(votes, q, Fraction(10**6, 7), True)
    place = next(n for n in range(len(choice.runs.sizes)) if distance_of(choice, n) == part)
    value = 1 << 63
    ctx.prec = 256
    total = int(choice.shares.sums[-1])
    tails = 1 - (-exact(choice.rate * part)).exp()
    pace = exact(Fraction(entropy.SHARES, total)) * (-exact(Fraction(choice.shares.unit))).exp()
    edge = (exact(Fraction(2 * value + 1, 2**65)).log() * tails * pace).exp() * 2**64
    word = int(edge.mid().floor().fmpq().p)
    ctx.prec = 53
    for off in (-(2**20), -64, -8, 8, 64, 2**20):
        clock = [Uniform(lambda: 1 << 63, value)]
        words: Any = Words(word + off)
        still = choice._still_in(place, lambda: distance_of(choice, place), clock, words)
        assert still == (off < 0), off  # no tails in that time: the coin is below e^(-tails time)


@pytest.mark.parametrize("rate", [Fraction(1, 10**400), Fraction(1, 10**290), Fraction(1, 3), Fraction(2**21 + 1)])
def test_the_bounds_of_a_coin_enclose_it(rate):
    votes = Node(0, 9, np.array([2, 7]), np.array([500, 500]))
    for part in (Fraction(1, 10**12), Fraction(1, 10**3), Fraction(1, 3)):
        choice = Choice.of(votes, (500 - part) / 1000, rate, True)
        for place in range(len(choice.runs.sizes)):
            distance = distance_of(choice, place)
            fall = choice.rate * distance
            ctx.prec = 256
            tails = 1 - (-exact(fall)).exp() if fall < 10**4 else arb(1)
            least, most = (exact(Fraction(bound)) for bound in choice._tails(place, partial(Fraction, distance)))
            slack = exact(Fraction(1, 10**9))  # floats of theirs are off by as much, and `_still_in` allows for it
            assert not tails < least * (1 - slack)
            assert not tails > most * (1 + slack)
            ctx.prec = 53
