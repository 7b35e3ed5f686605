"""Draws from votes shared over rows, on atoms and ties, have the exact law of those weights and of no others near."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from shortlist.sampling.entropy import WordStream
from shortlist.sampling.quantiles import Choice, Node, Recursion
from shortlist.tables.question import TOKENS
from shortlist.testing import seeded
from shortlist.utility.stable import point_chances, sequence_chances
from tests.helpers.support import assert_law, histogram
from tests.tables.tables import votes as votes_of

ROWS = [(1, 0), (1, 2), (1, 2), (2, 2), (3, 2), (3, 4), (4, 1), (5, 2), (5, 2), (5, 3)]
"""People and values: an atom on 2, and three people whose vote is shared."""


def votes(rows, shift=0):
    table = pl.DataFrame(rows, schema=["u", "v"], orient="row")
    [(places, weights)] = votes_of(table, "v", 0, 4)
    return Node(0, 4, places, weights << shift)


@pytest.mark.parametrize("flips", [True, False])
@pytest.mark.parametrize("q", [Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)])
def test_shared_votes_are_drawn_by_their_own_law(q, flips):
    rate = Fraction(1) / (2 * max(q, 1 - q) * TOKENS)
    choice, stream = Choice.of(votes(ROWS), q, rate, flips), WordStream(seeded(8), 4096)
    drawn = histogram([choice.draw(stream) for _ in range(6_000)], 5)
    whole_votes = votes([(n, value) for n, (_, value) in enumerate(ROWS)])  # each row a person
    assert_law(drawn, point_chances(choice.node, q, rate, flips), wrong=point_chances(whole_votes, q, rate, flips))


@pytest.mark.parametrize("flips", [True, False])
def test_several_quantiles_of_shared_votes_are_drawn_by_their_joint_law(flips):
    q = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))

    def rate(inside):
        return Fraction(2) / ((1 if inside in (0, 1) else 2 * max(inside, 1 - inside)) * 2 * TOKENS)

    node = votes(ROWS, shift=1)
    law = sequence_chances(node, q, rate, flips)
    recursion, stream = Recursion(q, rate, flips), WordStream(seeded(9), 4096)
    rows = [recursion.draw(node, stream) for _ in range(4_000)]
    cells = list(law)
    drawn = np.bincount([cells.index(tuple(row)) for row in rows], minlength=len(cells))
    other = sequence_chances(votes([(n, value) for n, (_, value) in enumerate(ROWS)], shift=1), q, rate, flips)
    assert_law(drawn, [law[cell] for cell in cells], wrong=[other[cell] for cell in cells])
