"""What a ledger notes of a quantile, and engines that agree to the last step."""

import datetime
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shortlist as sl
from shortlist.cli.app import app
from shortlist.scores import Grid
from shortlist.tables import duckdb as engine
from shortlist.testing import seeded
from tests.tables.tables import opened, votes
from tests.test_quantiles import made

ROWS = pl.DataFrame({"u": [1, 2, 3], "v": [4, 5, 6]})


def test_a_ledger_notes_that_the_randomness_was_seeded(tmp_path):
    for number, rows in enumerate(([1, 2, 3], ROWS)):
        ledger = sl.Ledger(tmp_path / f"{number}.db", budget=sl.PureDP(3.0))
        words: Any = {} if isinstance(rows, list) else {"user": "u", "value": "v"}
        for rng in (None, seeded(1)):
            sl.quantile(rows, lower=0, upper=9, epsilon=1.0, ledger=ledger, rng=rng, **words)
        assert ["seeded" in (entry.source or "") for entry in ledger.entries()] == [False, True]


def test_the_guarantee_is_booked_where_only_that_has_room(tmp_path):
    """The finer statement of a whole budget does not fit a ledger of that budget, and the budget does."""
    budget = sl.ApproxDP(1.0, 1e-6)
    ledger = sl.Ledger(tmp_path / "q.db", budget=budget)
    release = sl.quantile([1, 2, 3], lower=0, upper=9, budget=budget, ledger=ledger)
    assert release.charge == budget
    with pytest.raises(sl.BudgetExceeded):
        sl.quantile([1, 2, 3], lower=0, upper=9, budget=budget, ledger=ledger)


def test_an_approval_covers_one_range_alone(tmp_path):
    noted: list[str | None] = []
    for lower, upper, step in ((0, 9, None), (0, 10, None), (1, 9, None), (0, 9, 3), (0.0, 9.0, 0.1)):
        both: list[tuple[Any, Any]] = [(ROWS, {"user": "u", "value": "v"}), ([1, 2, 3], {})]
        for rows, words in both:
            ledger = sl.Ledger(tmp_path / f"{len(noted)}.db", budget=sl.PureDP(1.0))
            sl.quantile(rows, lower=lower, upper=upper, step=step, epsilon=1.0, ledger=ledger, **words)
            noted.append(ledger.entries()[0].source)
    assert len(set(noted)) == len(noted)
    assert noted[:2] == [
        "a polars table: user u, value v from 0 to 9 by 1, share of a person's rows",
        "numbers in memory, from 0 to 9 by 1",
    ]


def test_a_grid_says_all_of_itself():
    day = datetime.date(2024, 1, 1)
    assert Grid.of(day, day + datetime.timedelta(days=30), 7).in_words == "from 2024-01-01 to 2024-01-29 by 7 days"
    assert Grid.of(0, 1, 0.1).in_words == "from 0 to 1 by 0.1"
    assert Grid.of(0, 1, Fraction(1, 3)).in_words == "from 0 to 1 by 1/3"


def test_the_command_books_its_range(tmp_path):
    path, book = str(tmp_path / "t.csv"), str(tmp_path / "q.db")
    ROWS.write_csv(path)
    ledger = sl.Ledger(book, budget=sl.PureDP(1.0))
    asked = ["--user", "u", "--value", "v", "--lower", "0", "--upper", "9", "--epsilon", "1", "--ledger", book]
    assert CliRunner().invoke(app, ["quantile", path, *asked]).exit_code == 0
    assert "from 0 to 9 by 1" in (ledger.entries()[0].source or "")


@pytest.mark.parametrize("kind", ["S3", "c16", "m8[s]", "V4"])
def test_a_refusal_does_not_depend_on_whether_there_is_a_row(kind):
    for length in (0, 2):
        with pytest.raises(TypeError, match="rows must be"):
            sl.quantile(np.zeros(length, kind), lower=0, upper=9, epsilon=1.0)


def test_the_mean_of_one_persons_rows_does_not_wrap():
    values = np.full(2**23 + 1, 2**40 - 2)
    values[::2] += 1
    [(found, weights)] = votes(pl.DataFrame({"u": 0, "v": values}), "v", 0, 2**40 - 1, per_user="mean")
    assert (found.tolist(), weights.tolist()) == ([2**40 - 2], [1])


def test_means_of_large_numbers_are_the_same_in_every_engine(tmp_path):
    rng = np.random.default_rng(5)
    rows = pl.DataFrame({"u": rng.integers(0, 30, 400), "v": rng.integers(0, 2**40, 400)})
    rows.write_parquet(tmp_path / "t.parquet")
    arrow = rows.to_arrow()
    engines = [rows, duckdb.sql("SELECT * FROM arrow"), str(tmp_path / "t.parquet"),
               ibis.duckdb.connect().create_table("t", arrow),
               ibis.sqlite.connect().create_table("t", arrow)]  # fmt: skip
    sums = rows.group_by("u").agg(pl.col("v").sum() // pl.len())["v"]
    for table in engines:
        assert votes(table, "v", 0, 2**40 - 1, per_user="mean")[0][0].tolist() == sorted(sums.to_list())


def test_decimals_at_half_steps_are_the_same_in_every_engine(tmp_path):
    cells = [Decimal(n) / 100 for n in range(5, 1000, 10)] * 2
    arrow = pa.table({"u": list(range(len(cells))), "v": pa.array(cells, pa.decimal128(18, 2))})
    pl.from_arrow(arrow).write_parquet(tmp_path / "t.parquet")  # type: ignore[union-attr]
    engines = [arrow, pl.from_arrow(arrow), arrow.to_pandas(types_mapper=pd.ArrowDtype), str(tmp_path / "t.parquet"),
               duckdb.sql("SELECT * FROM arrow"), ibis.duckdb.connect().create_table("t", arrow)]  # fmt: skip
    everybody = [votes(table, "v", 0, 10, 0.1)[0] for table in engines]
    wanted = Grid.of(0, 10, 0.1).places(np.array(list(map(float, cells))))
    for places, weights in everybody:
        assert np.repeat(places, weights >> 16).tolist() == sorted(wanted.tolist())


def test_where_memory_is_too_short_for_lists_windows_are_taken():
    """The same votes either way, and an error of another kind is raised as it is."""
    rows = made(120, seed=6)
    arrow = rows.to_arrow()
    connection = duckdb.connect()
    connection.register("held", arrow)
    table, plan = opened("quantile", connection.table("held"), user="u", value="k", lower=0, upper=120).table._plan()
    source = replace(table.source, relation="held")
    tried: list[bool] = []

    def short(statement: str) -> Any:
        tried.append("list_sort" in statement)
        if tried[-1]:
            raise duckdb.OutOfMemoryException("private")
        return connection.execute(statement)

    [whole] = engine.run_votes(connection.execute, source, plan)
    [again] = engine.run_votes(short, source, plan)
    assert tried == [True, False]
    assert [part.tolist() for part in whole] == [part.tolist() for part in again]
    with pytest.raises(duckdb.CatalogException):
        engine.run_votes(lambda statement: connection.execute("SELECT * FROM nothing"), source, plan)
