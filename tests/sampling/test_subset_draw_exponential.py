"""The arrival of a guard: its bounds hold its ball (after a first word of zero there is none yet)."""

from fractions import Fraction

import pytest
from flint import arb

from shortlist.sampling import subsets
from tests.helpers.inside import Uniform


def arrival_of(word: int) -> subsets.GuardArrivalTime:
    """With v = 2, known to a tenth, and exactly."""
    return subsets.GuardArrivalTime(1.9, 2.1, lambda: arb(2), Fraction(1, 4), Uniform(lambda: word))


@pytest.mark.parametrize("word", [1, 2**63, 2**64 - 1])
def test_the_bounds_hold_the_time(word):
    arrival = arrival_of(word)
    assert arrival.low <= arrival.high
    for _ in range(3):
        low, high = arrival.low, arrival.high
        time = arrival.ball()
        assert low <= float(time.upper())
        assert float(time.lower()) <= high
        arrival.refine()
        assert low <= arrival.low * (1 + 1e-9)
        assert arrival.high <= high * (1 + 1e-9)


def test_nobody_arrives_before_zero():
    assert arrival_of(0).low == 0.0
