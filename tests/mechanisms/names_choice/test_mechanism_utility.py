"""Exact success and recall of the noisy choice where a key set is among the branches, against its draws."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import shortlist as sl
from shortlist.mechanisms import KeySet, MeasuredSet, NamesChoice
from shortlist.utility import Quality
from tests.helpers.support import assert_law, full_size, in_suite, sized
from tests.helpers.typed import present


@pytest.fixture(scope="module")
def public():
    """400 people with one to nine things each, of 30; those who hold few prefer other things."""
    rng = np.random.default_rng(5)
    rows = []
    for who in range(400):
        number = int(rng.integers(1, 10))
        weights = np.arange(1.0, 31) ** -0.3 if number > 2 else np.where(np.arange(30) > 25, 1.0, 0.01)
        rows += [(who, f"thing {i:02}") for i in rng.choice(30, number, replace=False, p=weights / weights.sum())]
    return sl.count(pd.DataFrame(rows, columns=["who", "what"]), user="who", item="what").as_public()


@full_size
@pytest.mark.parametrize(
    ("k", "epsilon", "in_order"), in_suite([(10, 0.8, False), (8, 0.8, False), (6, 1.2, True)], 1, 2)
)
def test_draws_have_the_exact_success_and_recall(public, k, epsilon, in_order):
    mechanism, draws = (
        NamesChoice(k=k, epsilon=epsilon, delta=1e-4, most=64, in_order=in_order),
        sized(1500, full=90_000),
    )
    drawn = mechanism.release_many(public, draws=draws, rng=sl.testing.seeded(4))
    right = np.flatnonzero(public.values >= np.sort(public.values)[-k])
    hits = np.isin(drawn.indices, right).sum(axis=1)
    chances = mechanism.choice_probabilities(public)
    assert 0.05 < chances[-1] < 0.99  # a key set is taken, and not always
    top, off = mechanism.success_probability(public), sized(0.1, full=0.06)
    above = np.flatnonzero(public.values > np.sort(public.values)[-k])
    seen = int(((hits == k) & (np.isin(drawn.indices, above).sum(axis=1) == len(above))).sum())
    assert_law([seen, draws - seen], [top, 1 - top], wrong=[top + off, 1 - off - top])
    recall, spread = mechanism.expected_recall(public), hits.std() / k / draws**0.5
    assert abs(hits.mean() / k - recall) < 6 * spread
    keys = present(drawn.chosen)[:, 0] == len(mechanism.branches) - 1
    alone = mechanism.branches[-1].mechanism
    assert isinstance(alone, KeySet)
    assert abs(hits[keys].mean() / k - alone.expected_recall(public)) < 6 * hits[keys].std() / k / keys.sum() ** 0.5


def test_the_right_ones_are_by_people_and_not_by_weights(public):
    """Held by few who hold little, some things weigh more than those that many people hold."""
    mechanism = KeySet(k=4, epsilon=50.0, delta=1e-4, values=False)
    people = np.argsort(-public.values, kind="stable")[:4]
    weights = present(public._weights)
    heaviest = {public.labels.index(name) for name in weights.names(range(4))}
    share = len(heaviest & set(people.tolist())) / 4
    assert share < 1
    assert mechanism.expected_recall(public) == pytest.approx(share, abs=0.1)


def test_many_draws_and_chances_of_key_sets_speak_of_the_same_positions(public):
    """Draws gave places in the ranking by weight, and chances stand in the order of the scores."""
    mechanism, draws = KeySet(epsilon=0.8, delta=1e-4, values=False), 4_000
    found = mechanism.release_many(public, draws=draws, rng=sl.testing.seeded(6))
    named = np.bincount(found[found >= 0], minlength=len(public))
    chances = mechanism.inclusion_probabilities(public)
    unsure = np.flatnonzero((chances > 0.05) & (chances < 0.95))
    assert len(unsure) > 3
    for place in unsure.tolist():
        chance = float(chances[place])
        other = chance + (0.08 if chance < 0.5 else -0.08)
        assert_law([named[place], draws - named[place]], [chance, 1 - chance], wrong=[other, 1 - other])
    assert not named[chances < 1e-12].any()


def test_scores_without_weights_are_refused():
    with pytest.raises(ValueError, match="count a table"):
        NamesChoice(k=3, epsilon=1.0, delta=1e-3, most=64).expected_recall([9, 8, 7, 3], monotone=True)


def test_quality_is_that_of_the_branches_by_their_chances(public):
    counts = sl.Scores([40, 31, 30, 12, 9, 2], labels=list("abcdef"), monotone=True, public=False)
    mechanism = NamesChoice(k=3, epsilon=1.0, delta=1e-3)
    ways: list[Any] = [one.mechanism for one in mechanism.branches]
    chances = mechanism.choice_probabilities(counts)
    quality = mechanism.quality(counts)
    for word in Quality.__slots__:
        mean = sum(p * getattr(way.quality(counts), word) for p, way in zip(chances, ways, strict=True))
        assert getattr(quality, word) == pytest.approx(mean, abs=1e-12)
    assert quality.top == pytest.approx(mechanism.success_probability(counts), abs=1e-12)
    assert quality.recall == pytest.approx(mechanism.expected_recall(counts), abs=1e-12)
    with pytest.raises(ValueError, match="key sets is not known in closed form"):
        NamesChoice(k=8, epsilon=0.8, delta=1e-4, most=64).quality(public)


@pytest.mark.parametrize("public_list", [True, False])
def test_measuring_changes_nothing_of_who_is_named(public_list):
    counts = sl.Scores([40, 31, 30, 12, 9, 2], labels=list("abcdef"), monotone=True, public=public_list)
    mechanism = MeasuredSet(k=2, budget=sl.ApproxDP(1.0, 1e-3))
    draws = 1500
    drawn = mechanism.release_many(counts, draws=draws, rng=sl.testing.seeded(6)).indices
    right = int((np.sort(drawn, axis=1) == [0, 1]).all(axis=1).sum())
    p = mechanism.success_probability(counts)
    assert mechanism.quality(counts).top == pytest.approx(p, abs=1e-8)
    assert_law([right, draws - right], [p, 1 - p], wrong=[0.7 * p, 1 - 0.7 * p])
