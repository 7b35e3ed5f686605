"""`compare` where names come from the data: exact success and recall of what may answer, the default among it."""

import math

import numpy as np
import pandas as pd
import pytest

import shortlist as sl
from shortlist import ApproxDP
from shortlist.mechanisms import CanonicalLimitedDomain, KeySet, NamesChoice

DELTA, BUDGET = 1e-6, ApproxDP(1.0, 1e-6)


@pytest.fixture(scope="module")
def rows():
    """500 people who hold four things each, of 25."""
    rng = np.random.default_rng(3)
    weights = 1 / np.arange(1, 26)
    held = [rng.choice(25, 4, replace=False, p=weights / weights.sum()) for _ in range(500)]
    return pd.DataFrame({"who": np.repeat(np.arange(500), 4), "what": [f"thing {i:02}" for one in held for i in one]})


def recalls(table):
    return {row.mechanism: row.recall for row in table.rows}


def test_counted_rows_have_key_sets_and_the_choice_with_its_key_set(rows):
    public = sl.count(rows, user="who", item="what").as_public()
    table = sl.compare(public, 5, epsilon=1.0, delta=DELTA)
    found = recalls(table)
    assert found["noisy choice"] == NamesChoice(k=5, most=64, budget=BUDGET).expected_recall(public)
    assert found["key set of shared votes"] == KeySet(k=5, values=False, budget=BUDGET).expected_recall(public)
    assert found["canonical, limited domain"] == CanonicalLimitedDomain(k=5, budget=BUDGET).expected_recall(public)
    assert {"limited domain, Gumbel", "stable, all or nothing"} <= set(found)
    assert not table.limit
    row = next(row for row in table.rows if row.mechanism == "noisy choice")
    assert row.top == NamesChoice(k=5, most=64, budget=BUDGET).success_probability(public)
    assert math.isnan(row.good)
    assert len(table.to_frame()) == len(table.rows)


def test_plain_counts_and_capped_ones(rows):
    counts = rows["what"].value_counts().to_dict()
    plain = recalls(sl.compare(counts, 5, monotone=True, public=False, epsilon=1.0, delta=DELTA))
    scores = sl.Scores(counts, monotone=True, public=False)
    assert plain["noisy choice"] == pytest.approx(NamesChoice(k=5, budget=BUDGET).expected_recall(scores.as_public()))
    assert "key set of shared votes" not in plain
    capped = sl.count(rows, user="who", item="what", most=2).as_public()
    found = recalls(sl.compare(capped, 5, epsilon=[0.5, 1.0], delta=1e-6))
    assert found["key set, at most 2 a person"] == KeySet(k=5, most=2, values=False, budget=BUDGET).expected_recall(
        capped
    )


def test_a_delta_belongs_to_names_from_the_data_and_is_needed_there(rows):
    public = sl.count(rows, user="who", item="what").as_public()
    with pytest.raises(ValueError, match="delta=1e-6"):
        sl.compare(public, 5, epsilon=1.0)
    with pytest.raises(ValueError, match="public list"):
        sl.compare([9, 5, 1], 2, epsilon=1.0, delta=1e-6)
    for delta in (0.0, 0.7, math.nan):
        with pytest.raises(ValueError, match="delta"):
            sl.compare(public, 5, epsilon=1.0, delta=delta)


def test_a_plan_of_counted_rows_knows_their_weights(rows):
    public = sl.count(rows, user="who", item="what").as_public()
    found = sl.plan(k=5, scores=public, epsilon=1.0, goal="recall", budget="approx", domain="unknown")
    reached = {row.mechanism: row.reached for row in found.rows}
    assert reached["noisy choice"] == NamesChoice(k=5, most=64, budget=BUDGET).expected_recall(public)
    assert reached["key set of shared votes"] == KeySet(k=5, values=False, budget=BUDGET).expected_recall(public)
    assert len(reached) == len(found.rows)
