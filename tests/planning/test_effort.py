"""A search asks for one number of a quality; outside of it every quality is whole."""

import math

import pytest

import shortlist as sl
from shortlist.mechanisms import GuardedListTopK, GuardedTopK, JointTopK, OneshotTopK
from shortlist.planning.plans import counts_of_shape
from shortlist.utility import is_wanted, searching

COUNTS = sl.Scores(counts_of_shape("zipf:1.1", 300, 3000, 8), monotone=True)
MECHANISMS = [
    OneshotTopK(k=8, epsilon=3.0, noise="gumbel"),
    OneshotTopK(k=8, epsilon=3.0, noise="laplace"),
    GuardedTopK(k=8, epsilon=0.3),
    GuardedListTopK(k=8, epsilon=1.0),
    JointTopK(k=8, epsilon=0.1),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
def test_a_search_asks_for_one_number_and_gets_the_same_well_within_the_stated_accuracy(mechanism):
    whole = mechanism.quality(COUNTS)
    for name in ("great", "good", "recall"):
        with searching(name):
            one = mechanism.quality(COUNTS)
        assert getattr(one, name) == pytest.approx(getattr(whole, name), abs=1e-10)
    with searching("good"):
        alone = OneshotTopK(k=8, epsilon=3.0).quality(COUNTS)
    assert math.isnan(alone.top)
    assert math.isnan(alone.recall)


def test_an_error_inside_ends_the_search():
    def broken() -> None:
        with searching("top"):
            assert not is_wanted("good")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert is_wanted("good")
