"""Groups in DuckDB: items by short numbers, equal by bytes alone, and winners looked up some at a time."""

from typing import Any

import duckdb
import pytest

import shortlist as sl
from shortlist.tables import duckdb as engine
from tests.tables.groups.test_grouping import found

ROWS = [
    ("Bob", "Tea", "CH"), ("Bob", "tea", "CH"), ("bob", "tea", "CH"), ("bob", "tea", "ch"), ("bob", "TEA", "ch"),
    ("eve", "milk", "ch"), ("eve", "milk", "CH"), ("eve", "Milk", "ch"), ("eve", "wine", "XX"),
]  # fmt: skip
WORDS: dict[str, Any] = {"user": "who", "item": "what", "by": "where"}


@pytest.fixture(params=["", "NOCASE", "NOCASE.NOACCENT"])
def rows(request):
    connection = duckdb.connect()
    if request.param:
        connection.execute(f"SET default_collation = '{request.param}'")
    connection.execute('CREATE TABLE rows (who VARCHAR, what VARCHAR, "where" VARCHAR)')
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", ROWS)
    return connection.table("rows")


def test_items_and_groups_are_equal_by_bytes_whatever_the_connection_says(rows):
    listed = sl.count(rows, **WORDS, groups=["CH", "ch"], candidates=["Tea", "tea", "milk", "Milk"], groups_per_user=2)
    assert found(listed) == {"CH": {"Tea": 1, "tea": 2, "milk": 1}, "ch": {"tea": 1, "milk": 1, "Milk": 1}}
    own = {"CH": ["Tea", "TEA"], "ch": ["tea", "TEA", "Milk"]}
    scores = sl.count(rows, **WORDS, groups=["CH", "ch"], candidates=own, groups_per_user=2)
    assert found(scores) == {"CH": {"Tea": 1}, "ch": {"tea": 1, "TEA": 1, "Milk": 1}}
    assert {key: set(scores[key].as_public().labels) for key in scores} == {key: set(own[str(key)]) for key in own}


@pytest.mark.parametrize("at_once", [1, 2, 3, 10_000])
def test_winners_are_the_same_however_many_are_looked_up_at_once(monkeypatch, at_once):
    monkeypatch.setattr(engine, "AT_ONCE", at_once)
    table = duckdb.connect().sql('SELECT i % 7 AS who, i % 5 AS what, i % 3 AS "where" FROM range(60) AS r(i)')
    scores = sl.count(table, **WORDS, groups=[0, 1, 2], candidates=range(9), groups_per_user=2)
    for key in scores:
        labels = scores[key].as_public().labels
        assert (len(labels), set(labels)) == (9, set(range(9)))  # each once, also those that nobody has
    capped = sl.count(table, **WORDS, groups=[0, 1, 2], candidates=range(9), groups_per_user=2, most=2)
    assert all(set(capped[key].as_public().labels) == set(range(9)) for key in capped)
