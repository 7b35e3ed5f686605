"""PATE on a box: one teacher's votes change arbitrarily, so every count moves by -1, 0 or 1 (Theorem 105)."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, log

import pytest

from shortlist.exact.stability_test import GaussianTest, quantile_above
from tests.mechanisms.stable.test_box_by_formula import chances, renyi, sorted_sets

DELTA = 1e-3
ORDERS = [1.05, 1.5, 2.0, 3.0, 5.0, 9.0, 17.0]


def pairs(top=6):
    """Sorted counts and all that a teacher can make of them; the law looks at no label."""
    for h in product(range(top + 1), repeat=3):
        if list(h) == sorted(h):
            for move in product((-1, 0, 1), repeat=3):
                other = tuple(a + b for a, b in zip(h, move, strict=True))
                if min(other) >= 0:
                    yield h, other


def thinned(h, other, scale, chance):
    """(the law after the common thinning, the missing mass) of `h` beside its neighbour."""
    weights = [exp(sorted_sets(h, j)[0] / scale) for j in (1, 2, 3)]
    law, missing = {}, 0.0
    for j, weight in enumerate(weights, 1):
        p = weight / sum(weights)
        (gap, found), (_, there) = sorted_sets(h, j), sorted_sets(other, j)
        passed = chance(gap)
        if found is not None and found == there:
            law[j, None], law[j, found] = p * (1 - passed), p * passed
        else:
            law[j, None], missing = p, missing + p * passed
    return law, missing


@cache
def worst(scale, slack):
    """(largest D_a / a, largest missing mass): noise of that scale on the gaps, a test of that slack with s = 1.5."""
    chance = chances(GaussianTest(Fraction(2, 3), quantile_above(DELTA), slack))
    most = missing = 0.0
    for h, other in pairs():
        (p, lost), (q, gone) = thinned(h, other, scale, chance), thinned(other, h, scale, chance)
        missing = max(missing, lost, gone)
        most = max(most, *(renyi(p, q, a) / a for a in ORDERS))
    return most, missing


def test_replacing_a_teacher_costs_what_is_charged():
    """Noise of scale 4 / e, and a test clamped at 2 with sensitivity 2: e^2/8 + 4/(2 s^2) = 1.0139."""
    most, missing = worst(4.0, 2)
    assert missing <= DELTA + 1e-12
    assert most <= 1.0139
    assert most > 0.5  # the box is large enough to see it


def test_the_parameters_of_add_and_remove_break_it():
    """The paper's own: noise of scale 2 / e and a test at 1 claim .3472 and delta."""
    most, missing = worst(2.0, 1)
    assert most > 1.0 > 0.3472
    assert missing > 4 * DELTA


def test_half_of_the_correction_is_not_enough():
    assert worst(4.0, 1)[1] > DELTA
    gumbel_only = 0.0
    for h, other in pairs():
        laws = []
        for counts in (h, other):
            weights = [exp(sorted_sets(counts, j)[0] / 2.0) for j in (1, 2, 3)]
            laws.append([w / sum(weights) for w in weights])
        ratios = [log(a / b) for a, b in zip(*laws, strict=True)]
        gumbel_only = max(gumbel_only, max(ratios) - min(ratios))
    assert gumbel_only == pytest.approx(2.0)  # twice the range that scale 2 / e claims
