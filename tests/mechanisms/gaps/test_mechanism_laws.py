"""Exact laws of what gaps and values come with: the same as without them, and as certified and drawn."""

from typing import Any

import numpy as np
import pytest

from shortlist import Scores
from shortlist.audit import Law, certify
from shortlist.mechanisms import (
    ExponentialWithGap,
    GumbelTopKValues,
    LargeGap,
    MeasuredTopK,
    NoisyMax,
    OneshotTopK,
    TopKWithGaps,
)
from shortlist.testing import seeded
from shortlist.utility import Quality
from tests.helpers.support import assert_law
from tests.helpers.typed import of_kind

X = [5.0, 3.5, 3.0, 0.0, -1.0, -np.inf]


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
@pytest.mark.parametrize("k", [1, 3])
def test_gaps_and_values_change_nothing_of_who_is_released(noise, k):
    plain = OneshotTopK(k=k, epsilon=1.5, noise=noise)
    gaps, measured = (
        TopKWithGaps(k=k, epsilon=1.5, noise=noise),
        MeasuredTopK(k=k, epsilon=2.0, theta=0.75, noise=noise),
    )
    for mechanism in (gaps, measured):
        assert mechanism.success_probability(X) == pytest.approx(plain.success_probability(X), abs=1e-9)
        np.testing.assert_allclose(mechanism.inclusion_probabilities(X), plain.inclusion_probabilities(X), atol=2e-9)
        assert mechanism.quality(X).recall == pytest.approx(plain.quality(X).recall, abs=1e-9)
        assert mechanism.success_probability(X[:5], largest=False) == pytest.approx(
            plain.success_probability([-x for x in X[:5]]), abs=1e-9
        )
    drawn = gaps.release_many(X, draws=6000, rng=seeded(1)).indices
    right = int(np.count_nonzero((np.sort(drawn, axis=1) == np.arange(k)).all(axis=1)))
    p = gaps.success_probability(X)
    assert_law([right, 6000 - right], [p, 1 - p], wrong=[0.85 * p, 1 - 0.85 * p])


def test_the_winner_with_its_gap_is_that_of_the_exponential_mechanism():
    here, plain = ExponentialWithGap(epsilon=1.0), NoisyMax(epsilon=1.0, noise="gumbel")
    np.testing.assert_allclose(here.probabilities(X), plain.probabilities(X), atol=1e-12)
    assert here.success_probability(X) == pytest.approx(plain.success_probability(X))
    given = ExponentialWithGap(epsilon=1.0, winner=1)
    assert given.probabilities(X).tolist() == [0, 1, 0, 0, 0, 0]
    assert given.success_probability(X) == 0
    for word in Quality.__slots__:
        assert getattr(here.quality(X), word) == pytest.approx(getattr(plain.quality(X), word), abs=1e-9)
    assert given.quality(X).recall == 0


@pytest.mark.parametrize("more", [{}, {"limit": 2}, {"regularizer": [0, -float("inf"), 1.5]}])
def test_ranks_have_the_certified_law(more):
    x, mechanism = [9, 7, 3, 2], LargeGap(epsilon=2.0, **more)
    words: Any = {"monotone": True}
    certified = of_kind(Law, certify(mechanism, Scores(x, **words))).chances
    found = mechanism.probabilities(x, **words)
    assert found.sum() == pytest.approx(1.0)
    for rank, chance in enumerate(found, 1):
        assert chance == pytest.approx(float(certified[rank].mid()) if rank in certified else 0.0, abs=1e-12)
    drawn = np.bincount(mechanism.release_many(x, draws=4000, rng=seeded(1), **words), minlength=len(found) + 1)[1:]
    assert_law(drawn[found > 0], found[found > 0], wrong=np.sqrt(found[found > 0]) / np.sqrt(found[found > 0]).sum())


def test_values_change_nothing_of_who_is_released_under_gumbel_noise():
    values = GumbelTopKValues(k=2, mu=0.5)
    plain = OneshotTopK(k=2, epsilon=1.0, noise="gumbel")  # monotone: scale 1 / (1/2) of both
    words: Any = {"monotone": True}
    assert values.success_probability(X, **words) == pytest.approx(plain.success_probability(X, **words), abs=1e-9)
    assert values.quality(X, **words).good == pytest.approx(plain.quality(X, **words).good, abs=1e-9)
    inclusion = values.inclusion_probabilities(X, **words)
    np.testing.assert_allclose(inclusion, plain.inclusion_probabilities(X, **words), atol=2e-9)
    assert abs(values.success_probability(X) - plain.success_probability(X)) > 0.01  # for general scores they differ
    drawn = values.release_many(X, draws=6000, rng=seeded(1), **words).indices
    for i, p in enumerate(inclusion[:3]):
        times = int((drawn == i).any(axis=1).sum())
        assert_law([times, 6000 - times], [p, 1 - p], wrong=[0.85 * p, 1 - 0.85 * p])


@pytest.mark.parametrize(
    "mechanism",
    [
        OneshotTopK(k=2, epsilon=1.5),
        TopKWithGaps(k=2, epsilon=1.5),
        MeasuredTopK(k=2, epsilon=2.0, theta=0.75, noise="laplace"),
        GumbelTopKValues(k=2, mu=0.5),
    ],
)
def test_the_chances_of_all_sets_say_the_same(mechanism):
    sets = mechanism.probabilities(X)
    assert sum(sets.values()) == pytest.approx(1, abs=1e-9)
    assert sets[0, 1] == pytest.approx(mechanism.success_probability(X), abs=1e-9)
    for i, chance in enumerate(mechanism.inclusion_probabilities(X)):
        assert sum(p for one, p in sets.items() if i in one) == pytest.approx(chance, abs=2e-9)
    assert mechanism.probabilities([6.0, *X[1:]])[0, 1] > sets[0, 1] + 1e-3


def test_private_scores_are_not_studied():
    private = Scores([5, 3, 1], monotone=True)._as_counted()
    for mechanism, law in (
        (TopKWithGaps(k=1, epsilon=1.0), "success_probability"),
        (MeasuredTopK(k=1, epsilon=1.0), "quality"),
        (ExponentialWithGap(epsilon=1.0), "probabilities"),
        (LargeGap(epsilon=1.0), "probabilities"),
        (LargeGap(epsilon=1.0), "success_probability"),
        (GumbelTopKValues(k=1, mu=0.5), "quality"),
    ):
        with pytest.raises(ValueError, match="would show people's data"):
            getattr(mechanism, law)(private)
