"""Searches: the points that come back are on the two sides, were tried, and are as close as was asked."""

import math

import pytest

from shortlist.exact import search


@pytest.mark.parametrize(
    ("middle", "close"),
    [
        (lambda: search.within(1e-9), lambda low, high: high - low <= 1e-9),
        (lambda: search.within_ratio(1e-9), lambda low, high: high <= low * (1 + 1e-9)),
        (lambda: search.halvings(40), lambda low, high: high - low == pytest.approx(9.0 / 2**40)),
    ],
    ids=["width", "ratio", "halvings"],
)
@pytest.mark.parametrize("edge", [1.0 + 2**-30, 3.3, 10.0])
def test_the_two_points_enclose_the_edge_and_were_tried(middle, close, edge):
    tried = {1.0: False, 10.0: True}

    def holds(x):
        tried[x] = x >= edge
        return tried[x]

    low, high = search.bisect(holds, 1.0, 10.0, middle())
    assert (tried[low], tried[high]) == (False, True)
    assert low < edge <= high
    assert close(low, high)


@pytest.mark.parametrize("edge", [1, 2, 77, 99, 100])
def test_whole_numbers_end_as_neighbours(edge):
    assert search.bisect(lambda n: n >= edge, 0, 100, search.whole_numbers) == (edge - 1, edge)


def test_nothing_is_tried_where_the_points_are_close_already():
    def never(_):
        raise AssertionError

    assert search.bisect(never, 4, 5, search.whole_numbers) == (4, 5)
    assert search.bisect(never, 1.0, 1.5, search.within(0.5)) == (1.0, 1.5)
    assert search.bisect(never, 1.0, 2.0, search.halvings(0)) == (1.0, 2.0)


@pytest.mark.parametrize("power", [1, 3, 9])
def test_a_change_of_sign_is_enclosed_by_points_that_were_tried(power):
    tried = {0.0: -2.0, 2.0: 2.0**power - 2}

    def function(x):
        tried[x] = x**power - 2
        return tried[x]

    low, high = search.find_crossing(function, (0.0, tried[0.0]), (2.0, tried[2.0]), 1e-10)
    assert tried[low] <= 0 < tried[high] or math.isclose(low, high)
    assert 0 < high - low <= 1e-10
