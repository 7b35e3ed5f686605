"""Caps need people apart: where 'Bob' = 'bob', one's items would use up what the other keeps."""

import ibis
import pytest

import shortlist as sl
from shortlist.tables import ibis as module


def _table(users: list[object]) -> ibis.Table:
    connection = ibis.duckdb.connect()
    return connection.create_table("rows", ibis.memtable({"who": users, "what": [1, 2, 3]}))


def test_text_users_of_a_caseless_backend_are_not_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CASELESS", ("duckdb",))
    table = _table(["Bob", "bob", "bob"])
    with pytest.raises(ValueError, match="two people would be one"):
        sl.count(table, user="who", item="what", candidates=[1, 2, 3], most=1)
    assert sl.count(table, user="who", item="what")._capped is None


def test_numbered_users_of_a_caseless_backend_are_capped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CASELESS", ("duckdb",))
    table = _table([1, 2, 2])
    scores = sl.count(table, user="who", item="what", candidates=[1, 2, 3], most=1).as_public()
    assert sum(scores.values.tolist()) == 2
