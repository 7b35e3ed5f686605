"""Who is one person where a collation takes names for equal, and files that give other bytes each time."""

import os
from typing import Any

import duckdb
import ibis
import pytest

import shortlist as sl


def found(scores):
    shown = scores.as_public()
    return dict(zip(shown.labels, shown.values.tolist(), strict=True))


@pytest.fixture(params=["duckdb", "duckdb-default", "sqlite"])
def rows(request, tmp_path):
    """Three people, two of whom a collation takes for one."""
    setting = "" if request.param == "duckdb-default" else "COLLATE NOCASE"
    if request.param == "sqlite":
        connection = ibis.sqlite.connect(tmp_path / "rows.db")
    else:
        connection = ibis.duckdb.connect()
        if not setting:
            connection.raw_sql("SET default_collation = 'nocase'")
    connection.raw_sql(f"CREATE TABLE rows (user TEXT {setting}, item TEXT, value DOUBLE)")
    connection.raw_sql("INSERT INTO rows VALUES ('bob', 'tea', 5), ('BOB', 'tea', -5), ('eve', 'tea', 1)")
    return connection.table("rows")


def test_people_of_an_ibis_table_are_told_apart_by_bytes(rows):
    """As in a DuckDB relation over the same rows."""
    assert found(sl.count(rows, user="user", item="item")) == {"tea": 3}


def test_one_person_lowers_no_sum_that_others_can_only_raise():
    """BOB's -5 was added to bob's 5 before clipping: the sum fell, though it was said to be monotone."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE rows (user VARCHAR COLLATE NOCASE, item VARCHAR, value DOUBLE)")
    connection.execute("INSERT INTO rows VALUES ('bob', 'tea', 5), ('BOB', 'tea', -5), ('BOB', 'milk', 5)")
    table = ibis.duckdb.from_connection(connection).table("rows")
    for source in (table, connection.table("rows")):
        scores = sl.count(source, user="user", item="item", candidates=["tea", "milk"], value="value", clip=(0, 5))
        assert scores.monotone
        assert found(scores) == {"tea": 5.0, "milk": 5.0}


def test_an_enum_of_people_is_text():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE rows AS SELECT CAST('a' AS ENUM ('a', 'A')) AS user, 'tea' AS item")
    table = ibis.duckdb.from_connection(connection).table("rows")
    assert found(sl.count(table, user="user", item="item")) == {"tea": 1}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv.gz", "rows.jsonl", "rows.parquet", "*.csv"])
def test_a_pipe_is_refused_before_it_is_opened(tmp_path, name):
    """It gave the check other bytes than the count, or waited for ever."""
    os.mkfifo(tmp_path / name.replace("*", "rows"))
    with pytest.raises(OSError, match="is no regular file"):
        sl.count(str(tmp_path / name), user="user", item="item")


def test_what_carries_the_scores_inside_shows_none_of_them():
    """A repr that holds them ends up in logs and reports of errors."""
    scores = sl.count(duckdb.sql("SELECT range AS user, 'tea' AS item FROM range(98765)"), user="user", item="item")
    names: Any = scores._names
    for inner in (scores._runs, names, names.ranking, names.ranking._histogram, names.ranking._histogram.engine):
        assert "98765" not in repr(inner)


def test_sums_and_people_with_numbers_in_sqlite(tmp_path):
    """They were refused, for SQLite has no arrays. What is no number there is missing."""
    connection = ibis.sqlite.connect(tmp_path / "rows.db")
    connection.raw_sql("CREATE TABLE rows (user REAL, item TEXT, value REAL)")
    connection.raw_sql(
        "INSERT INTO rows VALUES (0.0, 'tea', 2.5), (-0.0, 'tea', 1.5), (1, 'tea', 9e999), (2, 'tea', -9e999), "
        "(3, 'tea', 'x'), (4, 'tea', NULL), (5, 'milk', 1e300), (5, 'milk', -1e300), (NULL, 'milk', 1)"
    )
    table, wanted = connection.table("rows"), ["tea", "milk", "water"]
    assert found(sl.count(table, user="user", item="item", candidates=wanted)) == {"tea": 5, "milk": 1, "water": 0}
    sums = sl.count(table, user="user", item="item", candidates=wanted, value="value", clip=(-8, 5))
    assert found(sums) == {"tea": 4.0 + 5.0 - 8.0, "milk": 0.0, "water": 0.0}
