"""What groups are charged where lists differ, the smallest of every group, and groups of a table in one call."""

from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import shortlist as sl
from shortlist import ApproxDP, PureDP
from shortlist.execute import larger_share, plain_share
from tests.helpers.typed import of_kind, present

MANY = 60
BUDGET = ApproxDP(4.0, 1e-6)
VECTORS = [[30 * (i == n % 5) + i for i in range(40)] for n in range(MANY)]


def lists(k, method="oneshot-gumbel", vectors=None, **words):
    scores = [sl.Scores(one, monotone=True) for one in VECTORS] if vectors is None else vectors
    return sl.top_k(scores, k, budget=BUDGET, method=method, rng=sl.testing.seeded(1), **words)


def test_lists_of_one_length_get_the_larger_share_and_stay_within_the_budget():
    release = lists(3)
    assert of_kind(ApproxDP, release.per_group).epsilon > 1.05 * BUDGET.epsilon / MANY
    assert BUDGET.excess(release.charge) <= 0
    assert release.guarantee == BUDGET


def test_lists_of_different_lengths_are_within_the_budget_too():
    """The larger share is reckoned by one charge: that of the first list says nothing of the others."""
    lengths = {n: 3 if n == 0 else 1 for n in range(MANY)}
    release = lists(lengths)
    assert release.per_group == plain_share(BUDGET, MANY)
    assert BUDGET.excess(release.charge) <= 0
    assert [len(release[n]) for n in range(3)] == [3, 1, 1]


def test_lists_that_are_charged_otherwise_than_their_mechanism_says_are_within_the_budget_too():
    """Replacing a person is a question of its own; what is charged for it is looked at, and not what was proposed."""
    replaced = [sl.Scores(one, neighbours="replace") for one in VECTORS]
    release = lists(3, vectors=replaced)
    assert BUDGET.excess(release.charge) <= 0


def test_a_share_that_was_proposed_for_another_charge_would_be_too_much():
    proposed = present(larger_share(BUDGET, MANY, lambda one: sl.privacy.BoundedRange(one.epsilon)))
    assert BUDGET.excess(sl.privacy.PureDP(of_kind(ApproxDP, proposed).epsilon).repeat(MANY)) > 0


def rows() -> pl.DataFrame:
    counts = {"CH": {"tea": 90, "milk": 60, "rum": 5}, "DE": {"tea": 4, "milk": 80, "rum": 95}}
    cells = [
        (f"{land}{n}", what, land, week)
        for land, goods in counts.items()
        for what, many in goods.items()
        for n in range(many)
        for week in (39, 40)
    ]
    return pl.DataFrame(cells, schema=["who", "what", "land", "week"], orient="row")


ASK: dict[str, Any] = {"user": "who", "item": "what", "by": "land", "groups": ["CH", "DE"]}
GOODS = ["tea", "milk", "rum", "salt"]


@pytest.mark.parametrize("values", [False, True])
def test_the_smallest_of_every_group(values):
    scores = sl.count(rows(), candidates=GOODS[:3], **ASK)
    release = sl.top_k(scores, 1, epsilon=50.0, largest=False, values=values)
    assert {key: one.items for key, one in release.items()} == {"CH": ["rum"], "DE": ["tea"]}
    assert {one.largest for one in release.values()} == {False}
    assert release.mechanism.endswith("on negated scores")
    if values:
        assert [round(present(one.values)[0]) for one in release.values()] == pytest.approx([5, 4], abs=2)


def test_the_smallest_of_lists_of_scores():
    vectors = [[9, 4, 700, 800], [300, 500, 2, 900]]
    release = sl.top_k(vectors, 1, epsilon=50.0, monotone=True, largest=False)
    assert [one.items for one in release.values()] == [[1], [2]]
    with pytest.raises(ValueError, match="may never be chosen"):
        sl.top_k([[1.0, -np.inf, 3.0], [1.0, 2.0, 3.0]], 1, epsilon=1.0, largest=False)


def test_the_smallest_names_of_the_data_are_refused():
    with pytest.raises(ValueError, match="largest=False needs a public list"):
        sl.top_k(sl.count(rows(), **ASK), 1, epsilon=1.0, delta=1e-6, largest=False)


@pytest.mark.parametrize("kind", ["polars", "file", "duckdb"])
def test_groups_of_a_table_in_one_call(kind, tmp_path):
    ledger = sl.Ledger(tmp_path / "l.db", budget=PureDP(200.0))
    table = rows()
    if kind == "file":
        table.write_parquet(tmp_path / "rows.parquet")
    connection = duckdb.connect()
    source = {
        "polars": table, "file": tmp_path / "rows.parquet", "duckdb": connection.from_arrow(table.to_arrow()),
    }[kind]  # fmt: skip
    release = sl.top_k(
        source, 2, epsilon=50.0, where="week >= 40 AND what <> 'rum'", candidates=GOODS, ledger=ledger, **ASK
    )
    assert {key: one.items for key, one in release.items()} == {"CH": ["milk", "tea"], "DE": ["milk", "tea"]}
    assert ledger.spent.epsilon == 50.0
    entry = ledger.entries()[-1]
    assert "by land" in present(entry.source)
    assert "where week >= 40" in present(entry.source)
    best = sl.select(source, epsilon=50.0, candidates=GOODS, ledger=ledger, **ASK)
    assert [one.item for one in best.values()] == ["tea", "rum"]


def test_a_table_of_groups_is_booked_before_a_row_is_read(tmp_path):
    ledger = sl.Ledger(tmp_path / "l.db", budget=PureDP(1.0))
    with pytest.raises(ValueError, match="by='nowhere': the table has no column"):
        sl.top_k(rows(), 1, epsilon=1.0, candidates=GOODS, ledger=ledger, **(ASK | {"by": "nowhere"}))
    assert ledger.spent.epsilon == 0
    with pytest.raises(sl.BudgetExceeded):
        sl.top_k(rows(), 1, epsilon=2.0, candidates=GOODS, ledger=ledger, **ASK)
    with pytest.raises(TypeError, match="parallel is for a list of score lists"):
        sl.top_k(rows(), 1, epsilon=1.0, candidates=GOODS, parallel=True, **ASK)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="which are counted already: leave it out"):
        sl.top_k(sl.count(rows(), candidates=GOODS, **ASK), 1, epsilon=1.0, where="week >= 40")


def test_keys_of_some_rows():
    some = sl.keys(rows(), user="who", item="what", where="land = 'CH'", most=1, epsilon=20.0, delta=1e-3)
    assert set(present(some.items)) == {"tea", "milk"} | ({"rum"} & set(present(some.items)))
    assert "tea" in some
    none = sl.keys(rows(), user="who", item="what", where="week > 99", most=1, epsilon=20.0, delta=1e-6)
    assert none.items == []


@pytest.mark.parametrize("parallel", [False, True])
def test_every_list_of_a_call_is_checked_by_its_own_facts(parallel):
    """Two tables may have as many candidates and differ in what one person can move."""
    rows = pl.DataFrame({"who": ["a", "b"], "what": ["x", "y"], "paid": [1.0, 400.0]})
    known: Any = {"user": "who", "item": "what", "candidates": ["x", "y", "z"]}
    counts, sums = sl.count(rows, **known), sl.count(rows, **known, value="paid", clip=(0, 500))
    asked: Any = {"k": 1, "epsilon": 1.0, "delta": 1e-6, "method": "limited-domain", "parallel": parallel}
    for lists in ([sums, counts], [counts, sums]):
        with pytest.raises(ValueError, match="counts"):
            sl.top_k(lists, **asked)
