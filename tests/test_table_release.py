"""`sl.top_k` and `sl.select` of a table: booked before a row is read, and the same as of what `sl.count` gives."""

from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset

import shortlist as sl
from shortlist import ApproxDP, PureDP
from shortlist.query import TABLE_OPTIONS
from shortlist.tables.count import OpenTable
from shortlist.testing import seeded
from tests.helpers.typed import present

pytestmark = pytest.mark.usefixtures("one_duckdb")

ITEMS = ["ash"] * 900 + ["elm"] * 10 + ["fir"] * 500 + ["oak"] * 300
ROWS = pl.DataFrame({"who": range(len(ITEMS)), "what": ITEMS, "stars": [float(n % 5) for n in range(len(ITEMS))]})
TREES = ["ash", "elm", "fir", "oak", "yew"]
ASK: Any = {"user": "who", "item": "what", "candidates": TREES}


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"largest": False},
        {"values": True, "most": 1},
        {"value": "stars", "clip": (0, 5)},
        {"unit": "tree", "ordered": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "duckdb", "parquet"])
def test_a_table_is_counted_and_released_in_one_call(kind, words, tmp_path):
    ROWS.write_parquet(tmp_path / "rows.parquet")
    rows: Any = {
        "polars": lambda: ROWS,
        "pandas": ROWS.to_pandas,
        "pyarrow": ROWS.to_arrow,
        "duckdb": lambda: duckdb.from_arrow(ROWS.to_arrow()),
        "parquet": lambda: tmp_path / "rows.parquet",
    }[kind]()
    ledger = sl.Ledger(tmp_path / "l.db", budget=PureDP(3.0))
    counting = {name: words[name] for name in words if name in TABLE_OPTIONS | {"unit"}}
    asking = {name: words[name] for name in words if name not in counting}
    apart = sl.top_k(sl.count(rows, **ASK, **counting), 2, epsilon=1.0, rng=seeded(1), **asking)
    paid: list[dict[str, Any]] = [{}, {"ledger": ledger, "purpose": "trees"}]
    for more in paid:
        at_once = sl.top_k(rows, 2, epsilon=1.0, rng=seeded(1), **ASK, **words, **more)
        assert at_once.items == apart.items
        assert at_once.values == apart.values
        assert (at_once.why, at_once.unit, at_once.guarantee) == (apart.why, apart.unit, apart.guarantee)
    assert present(at_once.receipt).purpose == "trees"
    assert ledger.spent.epsilon == 1.0


def test_names_from_the_data_and_one_winner():
    assert sl.select(ROWS, user="who", item="what", epsilon=1.0, delta=1e-6).item == "ash"
    release = sl.top_k(ROWS, 3, user="who", item="what", epsilon=1.0, delta=1e-6, values=True)
    assert "elm" not in release
    assert sl.select(ROWS, epsilon=1.0, largest=False, **ASK).item in ("yew", "elm")
    assert len(sl.top_k(ROWS, 2, epsilon=1.0, user="who", item="what", candidates=iter(TREES))) == 2


def test_the_charge_is_on_the_disk_before_a_row_is_read(tmp_path, monkeypatch):
    ledger = sl.Ledger(tmp_path / "l.db", budget=PureDP(1.5))
    seen = []
    plain = OpenTable.count

    def counting(table, *given):
        if len(table.source):
            seen.append((len(table.source), ledger.spent.epsilon))
        return plain(table, *given)

    monkeypatch.setattr(OpenTable, "count", counting)
    sl.top_k(ROWS, 2, epsilon=1.0, ledger=ledger, **ASK)
    assert seen == [(len(ROWS), 1.0)]
    with pytest.raises(sl.BudgetExceeded):
        sl.top_k(ROWS, 2, epsilon=1.0, ledger=ledger, **ASK)
    assert len(seen) == 1
    refused: list[dict[str, Any]] = [
        {"user": "nobody"}, {"item": "nothing"}, {"candidates": []}, {"most": 0}, {"method": "keys"},
    ]  # fmt: skip
    for wrong in refused:
        with pytest.raises((TypeError, ValueError)):
            sl.top_k(ROWS, 2, epsilon=0.1, ledger=ledger, **{**ASK, **wrong})
    assert ledger.spent.epsilon == 1.0
    assert len(seen) == 1


def test_what_does_not_go_together_is_refused_in_words(tmp_path):
    ledger = sl.Ledger(tmp_path / "l.db", budget=ApproxDP(3.0, 1e-5))
    scores = sl.count(ROWS, **ASK)
    for words, told in (
        ({"user": "who"}, "item must be the name of a column"),
        ({"item": "what"}, "user must be the name of a column"),
        ({"candidates": TREES}, "must be the name of a column"),
        ({**ASK, "monotone": True}, "monotone: of a table this follows from the count"),
        ({**ASK, "labels": TREES, "public": True}, "labels, public: of a table this follows"),
        ({**ASK, "itme": "what"}, "itme is no word"),
        ({**ASK, "memory": "1GB"}, "memory is for files"),
    ):
        with pytest.raises((TypeError, ValueError), match=told):
            sl.top_k(ROWS, 2, epsilon=1.0, ledger=ledger, **words)
    with pytest.raises(TypeError, match="these are Scores"):
        sl.top_k(scores, 2, epsilon=1.0, ledger=ledger, user="who", item="what")
    with pytest.raises(TypeError, match="source must be"):
        sl.top_k([1, 2], 1, epsilon=1.0, user="who", item="what")
    with pytest.raises(TypeError, match="ledger must be a Ledger"):
        sl.top_k(ROWS, 2, epsilon=1.0, ledger="l.db", **ASK)  # type: ignore[call-overload]
    assert ledger.spent.epsilon == 0


@pytest.mark.parametrize("kind", ["arrow dataset", "pandas groups", "polars groups", "DuckDB connection"])
def test_what_is_no_table_is_refused_before_it_is_booked(kind, tmp_path):
    frame = pd.DataFrame({"who": ["a", "b"], "what": ["tea", "milk"]})
    made = {
        "arrow dataset": lambda: dataset.dataset(pa.Table.from_pandas(frame)),
        "pandas groups": lambda: frame.groupby("what"),
        "polars groups": lambda: pl.DataFrame(frame).group_by("what"),
        "DuckDB connection": lambda: duckdb.connect().execute("SELECT 1 AS who, 2 AS what"),
    }
    ledger = sl.Ledger(tmp_path / "year.db", budget=sl.PureDP(3.0))
    with pytest.raises(TypeError, match="source must be") as refusal:
        sl.top_k(made[kind](), user="who", item="what", candidates=["tea", "milk"], k=1, epsilon=1.0, ledger=ledger)
    assert not ledger.entries()
    assert ("con.sql" in str(refusal.value)) == (kind == "DuckDB connection")


def test_a_table_that_cannot_be_read_says_that_its_charge_stays(tmp_path):
    (tmp_path / "rows.csv").write_text('who,what,n\n1,"tea,1\n2,milk,2\n')
    ledger = sl.Ledger(tmp_path / "year.db", budget=sl.ApproxDP(9.0, 1e-3))
    rows, known = str(tmp_path / "rows.csv"), ["tea", "milk", "water"]
    words: dict[str, Any] = {"user": "who", "ledger": ledger, "epsilon": 1.0}
    asks = (
        lambda: sl.top_k(rows, 1, item="what", candidates=known, **words),
        lambda: sl.top_k(rows, 1, item="what", candidates=known, by="n", groups=["1", "2"], **words),
        lambda: sl.keys(rows, item="what", delta=1e-5, **words),
        lambda: sl.quantile(rows, value="n", lower=0, upper=9, **words),
        lambda: sl.quantile(rows, value="n", lower=0, upper=9, by="what", groups=["tea", "milk"], **words),
    )
    for entry, ask in enumerate(asks, 1):
        with pytest.raises(ValueError, match="a quote opens") as caught:
            ask()
        assert caught.value.__notes__ == [
            f"The ledger was charged before a row was read, and the charge stays: entry {entry}."
        ]
    with pytest.raises(ValueError, match="a quote opens") as caught:
        sl.top_k(rows, 1, item="what", candidates=known, **{**words, "ledger": None})
    assert not hasattr(caught.value, "__notes__")


def test_without_room_in_the_ledger_not_even_the_header_is_looked_at(tmp_path):
    (tmp_path / "rows.csv").write_text("who,what,n\n1,tea,1\n")
    ledger = sl.Ledger(tmp_path / "year.db", budget=sl.ApproxDP(0.5, 1e-3))
    rows, known = str(tmp_path / "rows.csv"), ["tea", "milk", "water"]
    words: dict[str, Any] = {"user": "nobody", "ledger": ledger, "epsilon": 1.0}
    for ask in (
        lambda: sl.top_k(rows, 1, item="what", candidates=known, **words),
        lambda: sl.top_k(rows, 1, item="what", candidates=known, by="n", groups=["1", "2"], **words),
        lambda: sl.keys(rows, item="what", delta=1e-5, **words),
        lambda: sl.quantile(rows, value="n", lower=0, upper=9, **words),
        lambda: sl.quantile(rows, value="n", lower=0, upper=9, by="what", groups=["tea", "milk"], **words),
    ):
        with pytest.raises(sl.BudgetExceeded):
            ask()


def test_counts_of_other_candidates_than_were_charged_are_not_drawn_from(monkeypatch):
    """Two of two candidates cost nothing: two of four, drawn under that charge, would be free."""
    rows = pl.DataFrame({"user": [1, 2, 3], "item": ["a", "b", "c"]})
    other = sl.count(rows, user="user", item="item", candidates=["a", "b", "c", "d"])
    monkeypatch.setattr(OpenTable, "count", lambda *_: other)
    with pytest.raises(ValueError, match="the candidates changed between the charge and the count"):
        sl.top_k(rows, 2, epsilon=1.0, user="user", item="item", candidates=["a", "b"])
