"""The words for the quality of a set."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from fractions import Fraction
from math import ceil, floor

import pytest

from shortlist.mechanisms import CanonicalTopK, GuardedTopK, JointTopK, OneshotTopK
from shortlist.utility import Quality, good_ranks, great_ranks, widen_by_ties


def test_ranks_are_those_of_the_definition_for_every_k():
    for k in range(1, 2001):
        assert great_ranks(k) == (ceil(Fraction(k, 10)), floor(Fraction(11, 10) * k))
        assert good_ranks(k) == (ceil(Fraction(k, 100)), floor(Fraction(3, 2) * k))


def test_a_good_set_may_be_any_great_set():
    for k in range(1, 2001):
        assert good_ranks(k)[0] <= great_ranks(k)[0] <= k <= great_ranks(k)[1] <= good_ranks(k)[1]


def test_quality_is_a_value():
    found = Quality(top=0.1, great=0.2, good=0.3, recall=0.4)
    assert found == Quality(0.1, 0.2, 0.3, 0.4)
    with pytest.raises(FrozenInstanceError):
        found.top = 1.0  # type: ignore[misc]


def test_ranks_that_a_tie_crosses_are_moved_to_its_ends():
    assert widen_by_ties([9, 7, 7, 7, 2], 2, 3) == (1, 4)
    assert widen_by_ties([9, 7, 7, 7, 2], 4, 4) == (4, 4)
    assert widen_by_ties([9, 7, 7, 7, 2], 1, 1) == (1, 1)
    assert widen_by_ties([5, 5, 5], 1, 1) == (0, 3)
    assert widen_by_ties([5, 4, 3], 3, 9) == (3, 9)


@pytest.mark.parametrize("scores", [[3, 2, 2, 0], [5, 5, 5, 5], [9, 9, 1, 1, 1, 0], [4, 3, 3, 3, 3, 2, 2, 1]])
@pytest.mark.parametrize(
    "build",
    [
        lambda k: CanonicalTopK(k=k, epsilon=1.0),
        lambda k: CanonicalTopK(k=k, epsilon=1.0, noise="gumbel"),
        lambda k: GuardedTopK(k=k, epsilon=1.0),
        lambda k: OneshotTopK(k=k, epsilon=1.0),
        lambda k: JointTopK(k=k, epsilon=1.0),
    ],
    ids=["canonical", "canonical, Gumbel", "guarded", "one-shot", "joint"],
)
def test_a_right_set_is_great_and_a_great_one_good_whatever_ties(build, scores):
    for k in range(1, len(scores)):
        found = build(k).quality(scores, monotone=True)
        assert found.top <= found.great + 1e-9
        assert found.great <= found.good + 1e-9
        mirrored = build(k).quality(scores[::-1], monotone=True)
        assert (found.great, found.good) == pytest.approx((mirrored.great, mirrored.good), abs=1e-9)
