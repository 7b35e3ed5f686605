"""The words for the quality of a set."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from shortlist.mechanisms import CanonicalTopK, GuardedTopK, JointTopK, OneshotTopK


def test_quality_is_a_value():
    found = OneshotTopK(k=1, epsilon=1.0).quality([3, 1])
    assert found == OneshotTopK(k=1, epsilon=1.0).quality([3, 1])
    with pytest.raises(FrozenInstanceError):
        found.top = 1.0  # type: ignore[misc]


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
