"""`sl.keys` in every engine: a person's cap is that person's alone, and only what was released comes to Python."""

from functools import cache
from typing import Any

import duckdb
import ibis
import polars as pl
import pytest
from ibis.expr.types import Expr

import shortlist as sl
from shortlist.tables import question as caps
from shortlist.testing import seeded
from tests.helpers.typed import present
from tests.tables.tables import ENGINES, source
from tests.tables.test_caps import SALT, people_and_items

pytestmark = pytest.mark.usefixtures("one_duckdb")

ASK: dict[str, Any] = {"user": "user", "item": "item", "epsilon": 4.0, "delta": 1e-3}
WAYS: list[dict[str, Any]] = [{}, {"most": 1}, {"most": 3}, {"most": 3, "weighted": True}, {"values": False}]


@pytest.fixture(autouse=True)
def salted(monkeypatch):
    """Engines are compared under one salt."""
    monkeypatch.setattr(caps, "fresh_salt", lambda: SALT)


def named(table, **words):
    release = sl.keys(table, **ASK, rng=seeded(8), **words)
    return release.items, release.values, release.margins


PEOPLE = people_and_items(4, people=80)


@cache
def in_order(turn):
    """What the rows, as they stand in a frame of Polars, name: under the one salt of these tests."""
    return named(PEOPLE, **WAYS[turn])


@pytest.mark.parametrize("engine", [*ENGINES, "sqlite"])
def test_every_engine_names_the_same_in_whatever_order_rows_come(engine, tmp_path):
    rows = PEOPLE

    def table(given):
        if engine == "sqlite":
            return ibis.sqlite.connect().create_table("rows", given.to_arrow())
        return source(engine, given, tmp_path)

    shuffled = rows.sample(fraction=1, shuffle=True, seed=3)
    for turn, words in enumerate(WAYS):
        wanted = in_order(turn)
        assert len(present(wanted[0])) > 2
        assert named(table(shuffled), **words) == wanted
    assert named(table(rows), **WAYS[-1]) == wanted


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_of_the_engine_change_nothing(threads, tmp_path):
    rows = people_and_items(5, people=80)
    wanted = [named(rows, **words) for words in WAYS]
    rows.write_parquet(tmp_path / "rows.parquet", row_group_size=100)
    connection = duckdb.connect(config={"threads": threads})
    relation = connection.read_parquet(str(tmp_path / "rows.parquet"))
    assert [named(relation, **words) for words in WAYS] == wanted
    backend = ibis.duckdb.connect(threads=threads)
    assert [named(backend.read_parquet(tmp_path / "rows.parquet"), **words) for words in WAYS] == wanted


def test_only_released_names_leave_an_ibis_backend(monkeypatch, tmp_path):
    """Classes of counts, and the names of those that came out: whatever else is asked of it stays there."""
    rows = people_and_items(6, people=80).vstack(
        pl.DataFrame({"user": [7] * 30, "item": [f"own {n}" for n in range(30)]})
    )
    table, seen = source("ibis", rows, tmp_path), []
    plain = Expr.to_pyarrow

    def noted(asked, *given, **words):
        answer = plain(asked, *given, **words)
        seen.append(str(answer.to_pylist() if hasattr(answer, "to_pylist") else answer.as_py()))
        return answer

    monkeypatch.setattr(Expr, "to_pyarrow", noted)
    for way in ("execute", "to_pandas", "to_polars", "to_pyarrow_batches"):
        monkeypatch.setattr(Expr, way, None, raising=False)
    for words in WAYS:
        seen.clear()
        items = present(named(table, **words)[0])
        assert seen
        told = " ".join(seen)
        assert "own" not in told
        hidden = {label for label in rows["item"] if label not in items}
        assert not any(f"'{label}'" in told for label in hidden)
        assert all(f"'{label}'" in told for label in items)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_charge_comes_before_the_rows_of_every_engine(engine, tmp_path):
    book = sl.Ledger(tmp_path / "book.db", budget=sl.ApproxDP(5.0, 1e-2))
    table = source(engine, people_and_items(7, people=80), tmp_path)
    assert len(sl.keys(table, **ASK, most=2, ledger=book, rng=seeded(1))) > 0
    with pytest.raises(sl.BudgetExceeded):
        sl.keys(table, **ASK, most=2, ledger=book)
    if engine != "jsonl":  # which names its fields in every row
        with pytest.raises(ValueError, match="no column of that name"):
            sl.keys(table, user="nobody", item="item", epsilon=0.5, delta=1e-6, ledger=book)
    assert book.spent.epsilon == 4.0
