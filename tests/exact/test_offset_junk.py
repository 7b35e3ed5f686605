"""The mass of the poor sets under offsets, by bounds and in balls, is that of the enumeration."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from shortlist.exact.offset_junk import exact_junk, log_junk
from shortlist.exact.offset_ranking import Stairs, offset_ranking
from shortlist.exact.ranked_subsets import ranked

CASES = [
    ([9, 2, 7, 7, 1, 4, 0, 3], 4, [6, 3, 3, 0], 2),
    ([9, 2, 7, 7, 1, 4, 0, 3], 4, [0, 0, 0, 0], 3),
    ([9, 8, 7, 7, 1, 4, 0, 3, 3, 2], 5, [9, 4, 1, 1, 0], 3),
    ([0.5, 2.25, 1.0, 7.5, 3.0], 2, [4, 0], 1),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_poor_sets_weigh_what_the_enumeration_says(case):
    x, k, less, fewest = case
    plain = ranked(np.array(x), k, Fraction(7, 10), Fraction(3, 5), gap_aware=True)
    of = offset_ranking(plain, Stairs.of([Fraction(one) for one in less]))
    poor = [y for y in combinations(range(len(x)), k) if sum(rank < k for rank in y) < fewest]
    mass = sum(math.exp(-float(of.loss_of(y))) for y in poor)
    low, high = log_junk(of, fewest, tolerance=1e-7)
    assert low <= math.log(mass) <= high
    assert high - low < 1e-6
    assert float(exact_junk(of, fewest, -60.0)) == pytest.approx(mass, rel=1e-12)
    assert math.log(float(exact_junk(of, fewest, 3.0).upper())) >= math.log(mass) - 1e-12
    assert float(exact_junk(of, fewest, 3.0).lower()) <= mass * (1 + 1e-12)


def test_where_no_set_is_poor_there_is_no_mass():
    of = offset_ranking(ranked(np.array([5, 3, 1]), 2, Fraction(1), Fraction(1, 2), gap_aware=True),
                        Stairs.of([Fraction(1), Fraction(0)]))  # fmt: skip
    assert log_junk(of, 1, tolerance=1e-7) == (-math.inf, -math.inf)
