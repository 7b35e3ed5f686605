"""What a column may hold is decided by its declared type: no row changes how another is read, or what it is called."""

import datetime
import decimal
import uuid
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shortlist as sl
from tests.helpers.typed import present
from tests.tables.tables import ENGINES, TEXT, found, opened, source

DAY = datetime.date(2024, 2, 29)


def counted(table, **more):
    return found(sl.count(table, user="user", item="item", **more))


def objects(*cells):
    return pd.DataFrame({"user": range(len(cells)), "item": pd.Series(cells, dtype=object)})


def test_one_cell_of_an_object_column_changes_nobody_elses():
    """Ids read as text and one number among them: once, one person moved every count by a thousand."""
    rows = [str(n % 3) for n in range(3000)]
    assert counted(objects(*rows), candidates=[0, 1, 2]) == {"0": 1000, "1": 1000, "2": 1000}
    assert counted(objects(*rows, 0), candidates=[0, 1, 2]) == {"0": 1001, "1": 1000, "2": 1000}
    for cells in ([], ["1"], [1], [1.5], [decimal.Decimal(1)], [object()], [None]):
        assert set(counted(objects(*cells), candidates=[1, 2])) == {"1", "2"}


def test_objects_are_text_as_a_csv_file_has_it_and_others_are_missing():
    person = uuid.uuid4()
    cells = ["a", "a", 1, True, DAY, person, "\ud800", 1.0, float("nan"), decimal.Decimal("1.000"), b"a", None, pd.NA]
    cells += [datetime.datetime(2024, 2, 29), pd.Timestamp("2024-02-29"), ("a",), 10**5000]
    assert counted(objects(*cells)) == {"a": 2, "1": 1, "true": 1, "2024-02-29": 1, str(person): 1}


class Odd(int):
    """A number of a caller's own class, whose comparison tells of it."""

    def __le__(self, other):
        raise ValueError(f"{int.__repr__(self)} is private")

    def __ge__(self, other):
        return self <= other

    def __int__(self):
        return int(self <= 0)


def test_an_object_that_raises_is_missing_and_stops_nobodys_count():
    for where in ({}, {"where": "item = 'a'"}, {"most": 1}):
        assert counted(objects("a", Odd(5), "a"), candidates=["a"], **where) == {"a": 2}
    users = pd.DataFrame({"user": pd.Series([Odd(1), "b"], dtype=object), "item": ["a", "a"]})
    assert counted(users, candidates=["a"]) == {"a": 1}


def test_users_of_an_object_column_are_text_too():
    rows = pd.DataFrame({"user": pd.Series([1, "1", True, "a", 2.5], dtype=object), "item": ["x"] * 5})
    assert counted(rows) == {"x": 3}


def test_categories_are_their_text():
    named = pd.DataFrame({"user": [1, 2, 2, 3], "item": pd.Categorical(["a", "b", "a", None], categories=list("zba"))})
    assert counted(named, candidates=["a", "b", "c"]) == {"a": 2, "b": 1, "c": 0}
    numbered = pd.DataFrame({"user": [1, 2], "item": pd.Categorical([1, 2])})
    assert counted(numbered, candidates=[1, 3]) == {"1": 1, "3": 0}
    with pytest.raises(ValueError, match="must be a column of text"):
        counted(pd.DataFrame({"user": [1], "item": pd.Categorical([1.5])}))
    assert counted(pl.DataFrame({"user": [1], "item": ["a"]}, schema_overrides={"item": pl.Categorical})) == {"a": 1}
    coded = pa.table({"user": pa.array([0.0, -0.0, None]).dictionary_encode(), "item": ["a"] * 3})
    assert counted(coded) == {"a": 1}


@pytest.mark.parametrize(
    "kind",
    ["float64", "float32", "decimal128(5, 1)", "timestamp[us]", "timestamp[us, tz=UTC]", "duration[us]", "time64[us]",
     "binary", "list<item: int64>", "struct<a: int64>"],
)  # fmt: skip
@pytest.mark.parametrize("engine", ["parquet", "polars", "polars lazy", "pandas", "pyarrow", "duckdb", "ibis"])
def test_items_of_other_kinds_are_refused_by_every_engine(engine, kind, tmp_path):
    """Before a row is read: their equal values can be told apart, or cannot be shown by all engines."""
    types: dict[str, Any] = {
        "float64": pl.Float64, "float32": pl.Float32, "decimal128(5, 1)": pl.Decimal(5, 1), "binary": pl.Binary,
        "timestamp[us]": pl.Datetime("us"), "timestamp[us, tz=UTC]": pl.Datetime("us", "UTC"),
        "duration[us]": pl.Duration("us"), "time64[us]": pl.Time, "list<item: int64>": pl.List(pl.Int64),
        "struct<a: int64>": pl.Struct({"a": pl.Int64}),
    }  # fmt: skip
    if kind == "duration[us]" and engine in ("parquet", "duckdb", "ibis"):
        table = duckdb.sql("SELECT 1 AS user, INTERVAL 30 DAYS AS item")
        table = table if engine == "duckdb" else ibis.memtable({"user": [1], "item": [datetime.timedelta(30)]})
    else:
        table = source(engine, pl.DataFrame(schema={"user": pl.Int64, "item": types[kind]}), tmp_path)
    with pytest.raises(ValueError, match="item='item' must be a column of text, whole numbers"):
        counted(table)


@pytest.mark.parametrize("engine", sorted(set(ENGINES) - set(TEXT)))
def test_candidates_are_made_to_fit_by_one_rule(engine, tmp_path):
    rows = pl.DataFrame({"user": [1, 2], "item": pl.Series([1, 2], dtype=pl.Int8)})
    table = source(engine, rows, tmp_path)
    assert counted(table, candidates=["1", 300, "-2"]) == {1: 1, 300: 0, -2: 0}
    for wrong in ([1.5], [1.0, 0], [True], ["1.5"], ["one"], [2**63], [b"1"], [DAY]):
        with pytest.raises(ValueError, match="candidates do not fit"):
            counted(table, candidates=wrong)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_of_text_takes_no_list_of_numbers(engine, tmp_path):
    """By the declared type alone: a row that holds "1" changes nothing. Where every field is text, 1 is written so."""
    rows = pl.DataFrame({"user": [1, 2], "item": ["1", "tea"], "by": ["1", "2"], "age": [3, 4]})
    table, ledger = source(engine, rows, tmp_path), sl.Ledger(tmp_path / "year.db", budget=sl.PureDP(1.0))
    words: dict[str, Any] = {"user": "user", "item": "item", "epsilon": 0.5, "ledger": ledger}
    grouped: dict[str, Any] = {**words, "candidates": ["1", "tea"], "by": "by", "groups": [1, 2]}
    if engine in TEXT:
        assert counted(table, candidates=[1, True, DAY]) == {"1": 1, "true": 0, DAY.isoformat(): 0}
        assert len(sl.top_k(table, 1, **grouped)) == 2
        return
    for wrong in ([1, 2, 3], ["tea", True], [DAY], np.array([1, 2])):
        with pytest.raises(ValueError, match="candidates must be text, as item='item' is"):
            sl.top_k(table, 1, **words, candidates=wrong)
    with pytest.raises(ValueError, match="groups must be text, as by='by' is"):
        sl.top_k(table, 1, **grouped)
    with pytest.raises(ValueError, match="groups must be text"):
        sl.quantile(table, user="user", value="age", lower=0, upper=9, epsilon=0.5, by="by", groups=[1, 2])
    assert counted(table, candidates=["1", uuid.UUID(int=7)]) == {"1": 1, str(uuid.UUID(int=7)): 0}
    assert ledger.entries() == []


@pytest.mark.parametrize(("kind", "strict"), [("string", True), (object, False), ("category", False)])
def test_pandas_objects_are_text_whatever_they_hold(kind, strict):
    rows = pd.DataFrame({"user": [1, 2], "item": pd.Series(["1", "tea"], dtype=kind)})
    if not strict:
        assert counted(rows, candidates=[1, "tea"]) == {"1": 1, "tea": 1}
        return
    with pytest.raises(ValueError, match="candidates must be text"):
        counted(rows, candidates=[1, "tea"])


@pytest.mark.parametrize("engine", sorted(set(ENGINES) - set(TEXT)))
def test_numbers_without_a_sign_come_out_whole(engine, tmp_path):
    rows = pl.DataFrame({"user": [1, 2], "item": pl.Series([2**64 - 1, 7], dtype=pl.UInt64)})
    scores = sl.count(source(engine, rows, tmp_path), user="user", item="item", candidates=[2**64 - 1, 7, 8])
    release = sl.top_k(scores, 3, epsilon=1.0, ordered=True)
    assert {2**64 - 1, 7, 8} == set(present(release.items))
    assert release.to_frame() is not None


@pytest.mark.parametrize("engine", sorted(set(ENGINES) - {*TEXT, "duckdb", "ibis", "parquet"}))
def test_days_that_cannot_be_shown_are_missing(engine, tmp_path):
    days = pl.Series([0, 10**8, -(10**8), 2**31 - 1, 2932896], dtype=pl.Int32).cast(pl.Date)
    rows = pl.DataFrame({"user": range(5), "item": days})
    wanted = {datetime.date(1970, 1, 1): 1, datetime.date.max: 1}
    assert counted(source(engine, rows, tmp_path)) == wanted
    asked = sl.count(source(engine, rows, tmp_path), user="user", item="item")
    assert asked._content.names([0, 1])


@pytest.mark.parametrize("how", ["relation", "ibis"])
def test_days_beyond_the_years_of_python_are_missing_in_duckdb(how):
    connection = duckdb.connect()
    days = "'infinity', '-infinity', '10000-01-01', '0044-03-15 (BC)', '9999-12-31'"
    connection.execute(f"CREATE TABLE days AS SELECT range AS user, unnest([{days}]::DATE[]) AS item FROM range(2)")
    table = connection.table("days") if how == "relation" else ibis.duckdb.from_connection(connection).table("days")
    assert counted(table) == {datetime.date.max: 2}


@pytest.mark.parametrize("setting", ["COLLATE NOCASE", ""])
@pytest.mark.parametrize("how", ["relation", "ibis"])
def test_text_is_equal_only_if_its_bytes_are(how, setting):
    """With a collation the label of a group was the spelling of one person's row."""
    connection = duckdb.connect()
    if not setting:
        connection.execute("SET default_collation = 'nocase'")
    connection.execute(f"CREATE TABLE rows (user INT, item VARCHAR {setting})")
    connection.execute("INSERT INTO rows VALUES (99, 'TeA')")
    connection.execute("INSERT INTO rows SELECT range, 'tea' FROM range(50)")
    table = connection.table("rows") if how == "relation" else ibis.duckdb.from_connection(connection).table("rows")
    assert counted(table) == {"tea": 50, "TeA": 1}
    assert counted(table, candidates=["tea", "TEA"]) == {"tea": 50, "TEA": 0}


def test_ibis_counts_people_without_a_sketch():
    """Its `nunique` is a sketch in ClickHouse and Druid."""

    import narwhals as nw

    from shortlist.tables import algebra

    table, plan = opened("top_k", ibis.memtable({"user": [1], "item": [2]}), user="user", item="item").table._plan()
    pairs = nw.to_native(algebra._count_users(table, table.rows(plan), ["i0"]))
    words = str(ibis.to_sql(pairs, dialect="clickhouse"))
    assert "DISTINCT" in words
    assert "uniq" not in words.lower()


def test_ibis_refuses_text_where_texts_that_differ_are_equal(monkeypatch):
    backend = ibis.duckdb.connect()
    rows = backend.create_table("rows", ibis.memtable({"user": [1], "item": ["a"], "number": [2]}))
    monkeypatch.setattr(type(backend), "name", "mysql")
    with pytest.raises(ValueError, match="takes texts for equal that differ"):
        sl.count(rows, user="user", item="item")


def test_ibis_on_sqlite_tells_texts_apart(tmp_path):
    connection = ibis.sqlite.connect(tmp_path / "rows.db")
    connection.raw_sql("CREATE TABLE rows (user INTEGER, item TEXT COLLATE NOCASE)")
    connection.raw_sql("INSERT INTO rows VALUES (9, 'TeA'), (1, 'tea'), (2, 'tea')")
    assert counted(connection.table("rows")) == {"tea": 2, "TeA": 1}
    assert counted(connection.table("rows"), candidates=["TEA", "tea"]) == {"tea": 2, "TEA": 0}


def test_an_enum_is_text():
    rows = duckdb.sql("SELECT 1 AS user, CAST('a' AS ENUM ('a', 'b')) AS item")
    assert counted(rows, candidates=["a", "c"]) == {"a": 1, "c": 0}


def test_candidates_of_another_kind_in_a_query_are_refused(tmp_path):
    table = source("ibis", pl.DataFrame({"user": [1], "item": [1]}), tmp_path)
    with pytest.raises(ValueError, match="of the same kinds"):
        counted(table, candidates=table.select(item=table.item.cast("float64")))


def test_candidates_in_a_table_file_of_another_kind_are_made_to_fit(tmp_path):
    pl.DataFrame({"user": [1], "item": [1]}).write_parquet(tmp_path / "rows.parquet")
    (tmp_path / "known.csv").write_text("item\n1\n2\n")
    assert counted(tmp_path / "rows.parquet", candidates=tmp_path / "known.csv") == {1: 1, 2: 0}
    pl.DataFrame({"user": [1], "item": ["1"]}).write_parquet(tmp_path / "texts.parquet")
    with pytest.raises(ValueError, match="candidates must be text"):
        counted(tmp_path / "texts.parquet", candidates=tmp_path / "rows.parquet")
    (tmp_path / "known.csv").write_text("item\n1\n1.5\n")
    with pytest.raises(ValueError, match="candidates do not fit"):
        counted(tmp_path / "rows.parquet", candidates=tmp_path / "known.csv")


@pytest.mark.parametrize("engine", sorted(set(ENGINES) - set(TEXT)))
@pytest.mark.parametrize("largest", [2**53 + 1, 2**64 - 1])
def test_sums_take_integers_that_are_no_floats(engine, largest, tmp_path):
    rows = pl.DataFrame({"user": [1, 2], "item": ["a", "a"], "value": pl.Series([3, largest], dtype=pl.UInt64)})
    asked = {"candidates": ["a"], "value": "value", "clip": (0, 5)}
    assert counted(source(engine, rows, tmp_path), **asked) == {"a": 8.0}


def test_arrow_has_other_types_of_text_and_days():
    rows = pa.table({"user": [1, 2], "item": pa.array(["a", "b"], pa.string_view())})
    assert counted(rows, candidates=["a", "c"]) == {"a": 1, "c": 0}
    times = pa.array([86_400_000, 86_400_005], pa.int64()).cast(pa.date64())
    assert counted(pa.table({"user": [1, 2], "item": times})) == {datetime.date(1970, 1, 2): 2}
    wrapped = pd.DataFrame(
        {"user": [1, 2], "item": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([times])))}
    )
    assert counted(wrapped) == {datetime.date(1970, 1, 2): 2}


def test_item_columns_may_have_the_names_of_released_ones():
    rows = duckdb.sql("SELECT 1 AS user, 'x' AS value, 'y' AS rank")
    scores = sl.count(rows, user="user", item=["value", "rank"], candidates=[("x", "y"), ("x", "z")])
    frame = sl.top_k(scores, 1, epsilon=1.0, ordered=True).to_frame()
    assert frame.columns == ["rank", "item value", "item rank"]
