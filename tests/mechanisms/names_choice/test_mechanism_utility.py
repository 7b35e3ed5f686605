"""Exact success and recall of the noisy choice where a key set is among the branches, against its draws."""

import numpy as np
import pandas as pd
import pytest

import shortlist as sl
from shortlist.mechanisms import KeySet, NamesChoice
from tests.helpers.support import assert_law, full_size, sized
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
@pytest.mark.parametrize(("k", "epsilon", "in_order"), [(10, 0.8, False), (8, 0.8, False), (6, 1.2, True)])
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
    keys = present(drawn.chosen) == len(mechanism.branches) - 1
    alone = mechanism.branches[-1].mechanism
    assert isinstance(alone, KeySet)
    assert abs(hits[keys].mean() / k - alone.expected_recall(public)) < 6 * hits[keys].std() / k / keys.sum() ** 0.5


def test_the_right_ones_are_by_people_and_not_by_weights(public):
    """Held by few who hold little, some things weigh more than those that many people hold."""
    mechanism = KeySet(k=4, epsilon=50.0, delta=1e-4, values=False)
    people = np.argsort(-public.values, kind="stable")[:4]
    weights = present(public._capped)
    heaviest = {public.labels.index(name) for name in weights.names(range(4))}
    share = len(heaviest & set(people.tolist())) / 4
    assert share < 1
    assert mechanism.expected_recall(public) == pytest.approx(share, abs=0.1)


def test_scores_without_weights_are_refused():
    with pytest.raises(ValueError, match="count a table"):
        NamesChoice(k=3, epsilon=1.0, delta=1e-3, most=64).expected_recall([9, 8, 7, 3], monotone=True)
