"""An epsilon that promises nothing is said to be one, once, and never in studies."""

import warnings
from typing import Any

import polars as pl
import pytest

import shortlist as sl

ROWS = pl.DataFrame({"who": range(600), "what": ["tea"] * 400 + ["milk"] * 200, "where": ["CH", "DE"] * 300})
COUNTED: dict[str, Any] = {"user": "who", "item": "what"}
DOORS = {
    "select": lambda **words: sl.select([9, 4, 7], monotone=True, **words),
    "top_k": lambda **words: sl.top_k([9, 4, 7], 2, monotone=True, **words),
    "table": lambda **words: sl.top_k(ROWS, 1, candidates=["tea", "milk"], **COUNTED, **words),
    "groups": lambda **words: sl.top_k(
        ROWS, 1, candidates=["tea", "milk"], by="where", groups=["CH", "DE"], **COUNTED, **words
    ),
    "keys": lambda **words: sl.keys(ROWS, **COUNTED, delta=1e-6, **words),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_large_epsilon_is_told_to_whoever_asked(door):
    with pytest.warns(UserWarning, match="an epsilon above 30 promises nobody anything") as caught:
        DOORS[door](epsilon=31.0)
    assert [one.filename for one in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "An epsilon above 10 promises little" in DOORS[door](epsilon=31.0, allow_large=True).summary
        assert "promises little" not in DOORS[door](epsilon=10.0).summary
    with pytest.raises(TypeError, match="allow_large"):
        DOORS[door](epsilon=31.0, allow_large="yes")


def test_other_budgets_are_told_by_their_epsilon_at_a_tiny_delta():
    with pytest.warns(UserWarning, match="an epsilon above 30"):
        assert "promises little" in sl.top_k([9, 4, 7], 2, monotone=True, budget=sl.ZCDP(20.0)).summary
    assert "promises little" not in sl.top_k([9, 4, 7], 2, monotone=True, budget=sl.ZCDP(0.5)).summary


def test_studies_plans_and_comparisons_never_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = sl.Scores([900, 500, 20], monotone=True)
        sl.compare(scores, k=1, epsilon=50.0)
        sl.plan(scores=scores, k=1, epsilon=50.0)
        sl.mechanisms.OneshotTopK(k=1, epsilon=50.0).release(scores)
