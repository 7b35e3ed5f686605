"""The number of runs is drawn by its law, exactly, and decisions that need more bits get them."""

from fractions import Fraction

import numpy as np
import pytest
from flint import ctx

from shortlist import tuned
from shortlist.privacy import Binomial, Capped, NegativeBinomial, Poisson
from studies.broken.run_numbers import chances
from tests.helpers.inside import Seeded, WordStream
from tests.helpers.support import assert_law, full_size, sized

LAWS = {
    NegativeBinomial(mean=3): NegativeBinomial(mean=sized(4.0, full=3.4)),
    NegativeBinomial(mean=3, eta=1): NegativeBinomial(mean=sized(3.8, full=3.3), eta=1),
    NegativeBinomial(mean=3, eta=-0.5): NegativeBinomial(mean=3, eta=sized(-0.1, full=-0.3)),
    Poisson(2.5): Poisson(sized(3.0, full=2.7)),
    Binomial(6, 0.4): Binomial(6, sized(0.47, full=0.43)),
    Capped(NegativeBinomial(mean=10), 5): Capped(Poisson(2.5), 5),
}
"""Each law, and a wrong one that so many draws refute."""


def law_of(runs, most):
    with ctx.workprec(128):
        known = np.array([float(one) for one in chances(runs, most)])
    return np.append(known, max(0.0, 1 - known.sum()))


@full_size
@pytest.mark.parametrize("runs", LAWS, ids=repr)
def test_numbers_have_their_law(runs):
    stream = WordStream(Seeded(11))
    drawn = [tuned.draw_number(runs, stream) for _ in range(sized(3_000, full=400_000))]
    counts = np.bincount(np.minimum(drawn, 41), minlength=42)
    assert_law(counts, law_of(runs, 40), wrong=law_of(LAWS[runs], 40))


def test_a_sure_number_is_drawn():
    stream = WordStream(Seeded(1))
    assert {tuned.draw_number(Binomial(4, 1.0), stream) for _ in range(20)} == {4}


class Words:
    """Bits as they are written here."""

    secure = False

    def __init__(self, *words):
        self.left = list(words)

    def words(self, count):
        return np.array([self.left.pop(0) for _ in range(count)], np.uint64)


@pytest.mark.parametrize(("first", "number"), [((1 << 63) - 1, 0), (1 << 63, 1)])
def test_where_the_first_bits_do_not_tell_more_are_drawn(first, number):
    """Binomial(1, 1/2) is 0 if U < 1/2, and the first 64 bits end at 1/2, or begin there."""
    source = Words(first, 5, 7, 9)
    assert tuned.draw_number(Binomial(1, 0.5), WordStream(source, 1)) == number
    assert len(source.left) < 3


def test_candidates_are_drawn_in_proportion_to_exact_weights():
    sums = tuned.whole_shares([Fraction(1, 3), Fraction(1, 6), Fraction(1, 2)])
    assert sums == [2, 3, 6]
    stream = WordStream(Seeded(3))
    counts = np.bincount([tuned.draw_place(sums, stream) for _ in range(20_000)], minlength=3)
    assert_law(counts, np.array([2, 1, 3]) / 6, wrong=np.array([0.36, 0.14, 0.5]))
