"""A plan speaks of the mechanisms as they are when nothing but the budget is said."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import shortlist as sl
from shortlist.execute import choose_mechanism
from shortlist.mechanisms.base import Request
from shortlist.planning.plans import counts_of_shape

# low enough that no row is sure, high enough that some are likely
ASKED = [(1, 0.01, None), (2, 0.03, 2), (3, 0.04, None), (4, 0.1, None), (9, 0.3, 2)]


@pytest.mark.parametrize(("k", "epsilon", "most"), ASKED)
def test_every_row_is_the_law_of_what_its_method_builds(k, epsilon, most):
    shape: dict[str, Any] = {"items": 60, "users": 3_000, "shape": "zipf:1.1"}
    found = sl.plan(k=k, epsilon=epsilon, delta=1e-4, most=most, **shape)
    values = counts_of_shape(shape["shape"], shape["items"], shape["users"], k)
    values = np.floor(values * min(1.0, (most or math.inf) * 3_000 / values.sum())).astype(np.int64)
    scores = sl.Scores(values, monotone=True)
    methods = {one.method for one in found.rows}
    assert methods >= {"all-or-nothing", "limited-domain"} | ({"histogram", "keys"} if most else set())
    for one in found.rows:
        budget: Any = sl.PureDP(epsilon)
        if one.budget == "approx":
            budget = sl.ApproxDP(epsilon, 1e-4)
        elif one.budget == "zcdp":
            budget = sl.ZCDP(one.rho, 5e-5 if one.domain == "unknown" else 0.0)
        request = Request(k, budget, one.ordered and k > 1, public=one.domain == "known", most=most)
        built: Any = choose_mechanism(request, one.method).mechanism
        assert one.top == pytest.approx(built.success_probability(scores), abs=1e-6), one
        recall = built.expected_recall(scores) if hasattr(built, "expected_recall") else built.quality(scores).recall
        assert one.recall == pytest.approx(recall, abs=1e-6), one


def test_rows_of_counted_tables_are_the_law_of_what_their_methods_build():
    """Where capped weights came with the counts."""
    rng = np.random.default_rng(1)
    items = [set(rng.zipf(1.5, rng.integers(1, 9)).clip(max=30).tolist()) for _ in range(400)]
    held = [(who, f"item {n}") for who, own in enumerate(items) for n in own]
    scores = sl.count(pl.DataFrame(held, schema=["who", "what"], orient="row"), user="who", item="what").as_public()
    found = sl.plan(k=3, epsilon=1.5, delta=1e-2, scores=scores, budget="approx")
    for one in found.rows:
        request = Request(3, sl.ApproxDP(1.5, 1e-2), one.ordered, public=False, weighed=True)
        built: Any = choose_mechanism(request, one.method).mechanism
        assert one.top == pytest.approx(built.success_probability(scores), abs=1e-6), one
    assert {one.method for one in found.rows} >= {"keys", "names-choice"}
