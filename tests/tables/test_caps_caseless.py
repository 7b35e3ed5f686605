"""Caps need people apart: where 'Bob' = 'bob', one's items would use up what the other keeps."""

import sqlite3

import ibis
import pytest

import shortlist as sl
from shortlist.tables import ibis as module


def _table(users: list[object]) -> ibis.Table:
    connection = ibis.duckdb.connect()
    return connection.create_table("rows", ibis.memtable({"who": users, "what": [1, 2, 3]}))


def test_text_users_of_a_caseless_backend_are_not_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HIDDEN", {})
    table = _table(["Bob", "bob", "bob"])
    with pytest.raises(ValueError, match="two people would be one"):
        sl.count(table, user="who", item="what", candidates=[1, 2, 3], most=1)
    assert sl.count(table, user="who", item="what")._weights is None


def test_numbered_users_of_a_caseless_backend_are_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HIDDEN", {})
    table = _table([1, 2, 2])
    scores = sl.count(table, user="who", item="what", candidates=[1, 2, 3], most=1).as_public()
    assert sum(scores.values.tolist()) == 2


def test_texts_in_a_caseless_column_of_numbers_are_two_people(tmp_path) -> None:
    with sqlite3.connect(tmp_path / "rows.db") as db:
        db.execute("CREATE TABLE rows (who INTEGER COLLATE NOCASE, what INTEGER)")
        db.executemany("INSERT INTO rows VALUES (?, ?)", [("Bob", 1), ("bob", 2), (7, 1), (7.0, 2)])
    table = ibis.sqlite.connect(tmp_path / "rows.db").table("rows")
    scores = sl.count(table, user="who", item="what", candidates=[1, 2], most=1).as_public()
    assert sum(scores.values.tolist()) == 3  # 7 and 7.0 are one
