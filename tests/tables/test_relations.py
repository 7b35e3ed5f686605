"""Counts of a DuckDB relation are in its own connection while they are needed, and never longer."""

import gc
from typing import Any

import duckdb
import pytest

import shortlist as sl
from shortlist.tables.errors import in_one_sentence

ASKED: dict[str, dict[str, Any]] = {
    "all": {},
    "listed": {"candidates": ["tea", "milk"]},
    "capped": {"most": 1},
    "groups": {"by": "place"},
    "listed groups": {"by": "place", "groups": ["here"], "candidates": ["tea"]},
}


@pytest.fixture
def connection():
    with duckdb.connect() as one:
        one.execute("CREATE TABLE rows AS SELECT range AS who, 'tea' AS what, 'here' AS place FROM range(9)")
        yield one


def left(connection):
    gc.collect()
    tables = connection.sql("SELECT table_name FROM duckdb_tables() WHERE table_name <> 'rows'").fetchall()
    return tables + connection.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()


@pytest.mark.parametrize("asked", ASKED)
def test_counts_go_with_the_scores(connection, asked):
    scores = sl.count(connection.table("rows"), user="who", item="what", **ASKED[asked])
    assert left(connection)
    del scores
    assert left(connection) == []


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_work_that_is_stopped_leaves_no_counts_behind(connection, monkeypatch, asked, error):
    """After each statement in turn: some of them have made a table by then."""
    stopped = True
    for last in range(1, 20):
        done = 0

        def stopping(what, action, last=last):
            nonlocal done
            result, done = in_one_sentence(what, action), done + 1
            if done == last:
                raise error
            return result

        with monkeypatch.context() as patch:
            patch.setattr("shortlist.tables.duckdb.in_one_sentence", stopping)
            try:
                sl.count(connection.table("rows"), user="who", item="what", **ASKED[asked])
                stopped = False
            except error:
                pass
        assert left(connection) == []
        if not stopped:
            break
    assert last > 1
    assert not stopped
