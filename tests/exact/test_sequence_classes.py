"""Reaches of places, unit by unit and by a search: the same numbers."""

from dataclasses import replace

import numpy as np
import pytest

from shortlist.exact import sequences


@pytest.mark.parametrize("values", [[9, 7, 7, 3, 0], [5, 5, 5], [40, 8, 3, 2, 1], [0.5, 3.0, -2.25, 3.0]])
@pytest.mark.parametrize("gap", [False, True])
def test_reaches_by_units_are_those_of_a_search(values, gap):
    steps, _ = sequences.ladder(np.array(values), 2, gap=gap)
    assert steps.above is not None
    losses = np.arange(steps.first - 3, steps.last + 4)
    assert np.array_equal(steps.reach(losses), replace(steps, above=None).reach(losses))


def test_scores_far_apart_are_not_counted_by_units():
    for values in (np.array([0, 3 * sequences.WIDE]), np.array([1.0, 1e300]), np.array([2**63 - 1, -(2**63)])):
        assert sequences.ladder(values, 1)[0].above is None
