"""Sensitivities: where the factor 2 is due, and what is no sensitivity."""

from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from shortlist import Scores


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ({}, 2),
        ({"monotone": True}, 1),
        ({"sensitivity": 3, "neighbours": "replace"}, 6),
        ({"sensitivity": 0.1}, 2 * Fraction(0.1)),
        ({"sensitivity": Fraction(1, 3), "monotone": True}, Fraction(1, 3)),
        ({"sensitivity": Decimal("0.1"), "monotone": True}, Fraction(1, 10)),
        ({"sensitivity": np.float32(0.5)}, 1),
        ({"sensitivity": np.int64(4)}, 8),
        ({"sensitivity": (1, 2)}, 3),
        ({"sensitivity": (0, 5.0)}, 5),
        ({"sensitivity": (2, 3), "monotone": True}, 3),
    ],
)
def test_the_range_sensitivity_has_its_factor_two_only_where_due(question, wanted):
    assert Scores([1, 2], **question).range_sensitivity == wanted


@pytest.mark.parametrize(
    ("question", "error", "message"),
    [
        ({"sensitivity": -1}, ValueError, "negative"),
        ({"sensitivity": float("inf")}, ValueError, "finite"),
        ({"sensitivity": float("nan")}, ValueError, "finite"),
        ({"sensitivity": 0}, ValueError, "positive"),
        ({"sensitivity": (0, 0)}, ValueError, "positive"),
        ({"sensitivity": (1, 2, 3)}, ValueError, "pair"),
        ({"sensitivity": (1, -2)}, ValueError, "negative"),
        ({"sensitivity": "1"}, TypeError, "number"),
        ({"sensitivity": True}, TypeError, "number"),
        ({"sensitivity": np.complex128(1)}, TypeError, "number"),
        ({"sensitivity": (1, 2), "neighbours": "replace"}, ValueError, "replace"),
    ],
)
def test_what_is_no_sensitivity_is_refused(question, error, message):
    with pytest.raises(error, match=message):
        Scores([5, 7], **question)


def allows(one, moves):
    """Whether one person can move the scores by these amounts, one for each score."""
    return any(all(low <= amount <= high for amount in moves) for low, high in one.spans)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("given", [1, (0, 2), (1, 3)])
def test_the_moves_that_are_allowed_are_those_of_the_two_sensitivities(given, monotone):
    scores = Scores([5, 5], sensitivity=given, monotone=monotone)
    one = scores._sensitivity
    allowed = [move for move in product(range(-4, 5), repeat=2) if allows(one, move)]
    assert max(abs(first) for first, _ in allowed) == scores.largest_sensitivity
    assert max(abs(first - second) for first, second in allowed) == scores.range_sensitivity
    assert all(allows(one, (-first, -second)) for first, second in allowed)  # neighboring is symmetric
    assert not any(allows(one, (first, second)) for first, second in [(4, 0), (-4, -4)])
    assert (monotone or given == (0, 2)) is all(first * second >= 0 for first, second in allowed)
