"""Rough laws find a place and never tell what is there: outside of a search every law is whole and exact."""

import math

import pytest

import shortlist as sl
from shortlist.mechanisms import GuardedListTopK, GuardedTopK, JointTopK, LimitedDomainTopK, OneshotTopK
from shortlist.planning.plans import shaped
from shortlist.utility.effort import among, is_rough, is_wanted, rough, searching

COUNTS = sl.Scores(shaped("zipf:1.1", 300, 3000, 8), monotone=True)
MECHANISMS = [
    OneshotTopK(k=8, epsilon=3.0, noise="gumbel"),
    OneshotTopK(k=8, epsilon=3.0, noise="laplace"),
    GuardedTopK(k=8, epsilon=0.3),
    GuardedListTopK(k=8, epsilon=1.0),
    JointTopK(k=8, epsilon=0.1),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
def test_a_rough_law_is_near_the_exact_one_and_leaves_no_trace(mechanism):
    before = mechanism.quality(COUNTS)
    with rough():
        found = mechanism.quality(COUNTS)
    for name in ("top", "great", "good", "recall"):
        assert getattr(found, name) == pytest.approx(getattr(before, name), abs=2e-6)
    assert found != before  # it was another computation
    assert mechanism.quality(COUNTS) == before


def test_a_rough_recall_of_a_list_from_the_data_is_near_the_exact_one():
    mechanism = LimitedDomainTopK(k=8, budget=sl.ZCDP(0.05, 1e-6))
    with rough():
        found = mechanism.expected_recall(COUNTS)
    assert found == pytest.approx(mechanism.expected_recall(COUNTS), abs=2e-6)


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
    seen: list[bool] = []

    def broken() -> None:
        with searching("top"), rough():
            seen.extend([is_rough(), is_wanted("good")])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert [*seen, is_rough(), is_wanted("good")] == [True, False, False, True]


def test_how_much_is_enough_depends_on_who_asks():
    assert among(1, 2, 3) == 1
    with searching("top"):
        assert among(1, 2, 3) == 2
        with rough():
            assert among(1, 2, 3) == 3
    with rough():
        assert among(1, 2, 3) == 3
