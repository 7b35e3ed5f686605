"""What a refusal tells: one sentence, and nothing private in it or in any error it came from."""

import copy
import pickle
import tempfile
from pathlib import Path
from types import FunctionType
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shortlist as sl
from shortlist import Scores
from shortlist._runtime import MissingPackageError
from shortlist.pate import PATE, MultiLabelPATE
from shortlist.tables.errors import TableError, in_one_sentence
from tests.tables.tables import found

SECRET = "Zebulon"


def chain(error):
    """The error and all it came from, whether a traceback would show it or not."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return seen


def assert_silent(error):
    for one in chain(error):
        told = f"{one} {one!r} {one.args!r} {getattr(one, '__notes__', '')}"
        assert SECRET not in told, type(one)
    assert len(chain(error)) == 1


def spoilt(*texts):
    """Arrow's text of bytes that are no UTF-8."""
    made = pa.array([text.encode() + b"\xff" for text in texts], pa.binary())
    return pa.Array.from_buffers(pa.string(), len(made), made.buffers())


TEXT: dict[str, str | bytes] = {
    "quote.csv": f'user,item\n1,"{SECRET}\n2,b\n',
    "stray.csv": f'user,item\n1,{SECRET}" x"\n',
    "wide.csv": f"user,item\n1,a\n2,{SECRET},c\n",
    "narrow.tsv": f"user\titem\n1\ta\n{SECRET}\n",
    "latin.csv": f"user,item\n1,caf\xe9 {SECRET}\n".encode("latin-1"),
    "latin.tsv": f"user\titem\n1\tcaf\xe9 {SECRET}\n".encode("latin-1"),
    "header.csv": f"us\xe9r,{SECRET}\n1,a\n".encode("latin-1"),
    "missing.csv": f"user,{SECRET}\n1,a\n",
    "torn.csv.gz": f"{SECRET}",
    "half.jsonl": f'{{"user": 1, "item": "{SECRET}"}}\n{{"user": "{SECRET}", "it',
    "line.jsonl": f'"{SECRET}"\n',
    "list.jsonl": f'[{{"user": 1, "item": "{SECRET}"}}]\n',
    "twice.jsonl": f'{{"user": 1, "item": "{SECRET}", "item": "{SECRET}"}}\n',
    "text.parquet": f"user,item\n{SECRET},a\n",
}


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("way", ["count", "candidates", "candidates of a frame"])
def test_files_that_are_refused_leave_no_row_in_any_error(tmp_path, name, way):
    path, content = tmp_path / name, TEXT[name]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    rows = pl.DataFrame({"user": [1], "item": ["a"]})
    rows.write_csv(tmp_path / "rows.csv")
    asked = {
        "count": lambda: sl.count(path, user="user", item="item"),
        "candidates": lambda: sl.count(tmp_path / "rows.csv", user="user", item="item", candidates=path),
        "candidates of a frame": lambda: sl.count(rows, user="user", item="item", candidates=path),
    }[way]
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        asked()
    assert_silent(caught.value)


def test_lists_of_names_that_are_no_text_leave_none_in_any_error(tmp_path):
    (tmp_path / "names.txt").write_bytes(f"{SECRET}\n".encode() + b"\xff")
    with pytest.raises(TableError) as caught:
        sl.count(
            pl.DataFrame({"user": [1], "item": ["a"]}), user="user", item="item", candidates=tmp_path / "names.txt"
        )
    assert_silent(caught.value)
    from shortlist.tables.files import check_public

    (tmp_path / "names.jsonl").write_text(f'{{"{SECRET}\n')
    with pytest.raises(TableError) as caught:
        check_public(str(tmp_path / "names.jsonl"), str(tmp_path / "names.txt"), "user")
    assert_silent(caught.value)


def table():
    return pa.table({"user": [1, 2], "item": spoilt(SECRET, "b")})


def failing():
    """A column that is whole by its declared type, and fails when it is computed."""
    return f"SELECT 1 AS user, CAST('{SECRET}' || user AS INT) AS item FROM (SELECT 1 AS user)"


TABLES = {
    "pyarrow": table,
    "polars": lambda: pl.from_arrow(table()),
    "polars that fails": lambda: pl.LazyFrame({"user": [1], "item": [SECRET]}).with_columns(
        item=pl.col("item").cast(pl.Int64)
    ),
    "pandas": lambda: table().to_pandas(types_mapper=pd.ArrowDtype),
    "pandas text": lambda: pd.DataFrame(
        {"user": [1, 2], "item": pd.Series(pd.arrays.ArrowStringArray(table()["item"]))}
    ),
    "duckdb": lambda: duckdb.connect().from_arrow(table()),
    "duckdb that fails": lambda: duckdb.connect().sql(failing()),
    "ibis": lambda: ibis.memtable(table()),
    "ibis that fails": lambda: ibis.memtable({"user": [1], "item": [SECRET]}).mutate(item=ibis._.item.cast("int64")),
    "sqlite": lambda: sqlite(f"CAST(x'{SECRET.encode().hex()}ff' AS TEXT)"),
}


def sqlite(*cells, kind="TEXT"):
    connection = ibis.sqlite.connect(Path(tempfile.mkdtemp()) / "rows.db")
    connection.raw_sql(f"CREATE TABLE rows (user INTEGER, item {kind})")
    for n, cell in enumerate(cells):
        connection.raw_sql(f"INSERT INTO rows VALUES ({n}, {cell})")
    return connection.table("rows")


@pytest.mark.parametrize("engine", TABLES)
def test_tables_that_are_refused_are_refused_by_count_and_leave_no_row_in_any_error(engine):
    """After `count` naming the winners may not fail for what is in a row: a ledger would have paid by then."""
    with pytest.raises(TableError) as caught:
        sl.count(TABLES[engine](), user="user", item="item")
    assert_silent(caught.value)


def test_candidates_that_cannot_be_read_leave_none_in_any_error():
    rows = pl.DataFrame({"user": [1], "item": ["a"]})
    bad = pl.LazyFrame({"item": [SECRET]}).with_columns(item=pl.col("item").cast(pl.Int64))
    query = duckdb.connect().sql(f"SELECT CAST('{SECRET}' || item AS INT) AS item FROM (SELECT 1 AS item)")
    for candidates in (bad, query, spoilt(SECRET)):
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            sl.count(rows, user="user", item="item", candidates=candidates)
        assert_silent(caught.value)


def test_cells_of_sqlite_that_are_not_of_the_declared_type_are_missing():
    """Its columns hold anything: a text among numbers was counted and could not be named."""
    assert found(sl.count(sqlite("1", "1", "'x'", "1.5", "NULL", kind="INTEGER"), user="user", item="item")) == {1: 2}
    assert found(sl.count(sqlite("1", "0", "7", "'x'", kind="BOOLEAN"), user="user", item="item")) == {
        True: 1,
        False: 1,
    }
    days = found(sl.count(sqlite("'2024-01-01'", "'2024-01-01 10:00'", "'x'", kind="DATE"), user="user", item="item"))
    assert [(str(day), n) for day, n in days.items()] == [("2024-01-01", 2)]


class Label:
    def __hash__(self):
        raise TypeError(SECRET)


class Number:
    def __float__(self):
        raise ValueError(SECRET)

    def __array__(self, *_):
        raise ValueError(SECRET)


@pytest.mark.parametrize(
    "act",
    [
        lambda: Scores([1, 2], labels=[Label(), Label()]),
        lambda: Scores([[1], [SECRET, 2]]),
        lambda: Scores([SECRET, 1]),
        lambda: Scores(pl.Series([SECRET])),
        lambda: Scores(pa.array([[SECRET]])),
        lambda: Scores(pl.DataFrame({SECRET: [1]})),
        lambda: PATE(rho=0.5, delta=1e-6, queries=2, classes=2).label([[1], [SECRET, 2]]),
        lambda: MultiLabelPATE(rho=0.5, delta=1e-6, queries=2).label([[1, 0], [SECRET]]),
        lambda: MultiLabelPATE(rho=0.5, delta=1e-6, queries=2).label([Number(), Number()]),
        lambda: sl.top_k([9, 8, 1], 1, epsilon=1.0, gaps=True).refine([SECRET], variance=1.0),  # type: ignore[list-item]
    ],
)
def test_values_that_are_refused_are_in_no_error(act):
    with pytest.raises((ValueError, TypeError)) as caught:
        act()
    assert_silent(caught.value)


def test_an_interrupt_inside_an_engine_is_an_interrupt_and_tells_nothing():
    def interrupted():
        raise RuntimeError(f"INTERRUPT Error: Interrupted! {SECRET}")

    def stopped():
        try:
            raise RuntimeError(SECRET)
        except RuntimeError:
            raise KeyboardInterrupt  # noqa: B904

    for action in (interrupted, stopped):
        with pytest.raises(KeyboardInterrupt) as caught:
            in_one_sentence("it failed", action)
        assert_silent(caught.value)


def as_ours(function):
    """The function, as if a module of the package had it."""
    places = {**globals(), "__name__": "shortlist.tables.files"}
    return FunctionType(function.__code__, places, argdefs=function.__defaults__, closure=function.__closure__)


def test_errors_of_our_own_stay_what_they_are_inside_an_engine(tmp_path):
    """With all that they hold, and without what they came from: that may quote a row."""
    ledger = sl.Ledger(tmp_path / "l.db", budget=sl.privacy.PureDP(1.0))
    with pytest.raises(sl.privacy.BudgetExceeded) as refused:
        ledger.charge(sl.privacy.PureDP(2.0))
    own = [refused.value, sl.privacy.LedgerError("it is locked"), TableError("it has no such column"),
           MissingPackageError("it needs a package", name="zstandard")]  # fmt: skip
    for error in own:

        def failed(error=error):
            try:
                raise ValueError(SECRET)
            except ValueError:
                raise error  # noqa: B904

        with pytest.raises(type(error)) as caught:
            in_one_sentence("it failed", as_ours(failed))
        assert (caught.value, str(caught.value)) == (error, str(error))
        assert_silent(caught.value)
        frames = [one.frame for one in caught.traceback if one.name == "failed"]
        assert not frames


@pytest.mark.parametrize("kind", [TableError, MissingPackageError, sl.privacy.LedgerError])
def test_a_function_of_the_callers_that_runs_on_rows_tells_nothing_by_our_errors(kind):
    def told(cell):
        raise kind(cell)

    rows = pl.LazyFrame({"user": [1], "item": [SECRET]})
    rows = rows.with_columns(pl.col("item").map_elements(told, return_dtype=pl.String))
    with pytest.raises(TableError, match=rf"the engine refused \({kind.__name__}\)$") as caught:
        sl.count(rows, user="user", item="item", candidates=["a"])
    assert_silent(caught.value)


@pytest.mark.parametrize("kind", [ValueError, TypeError, KeyError, ImportError, OSError, RuntimeError, Exception])
def test_no_other_error_passes_an_engine(kind):
    def failed():
        raise kind(SECRET)

    with pytest.raises(TableError, match=rf"^it failed: the engine refused \({kind.__name__}\)$") as caught:
        in_one_sentence("it failed", failed)
    assert_silent(caught.value)


def private(public):
    rows = pl.DataFrame({"user": [1, 2, 2], "item": ["a", "a", SECRET]})
    return sl.count(rows, user="user", item="item", candidates=["b", "a"] if public else None)


@pytest.mark.parametrize("public", [True, False])
def test_counted_scores_show_nothing_before_they_are_called_public(public):
    scores = private(public)
    closed = [lambda: scores.values, lambda: scores.labels, lambda: pickle.dumps(scores), lambda: copy.copy(scores),
              lambda: copy.deepcopy(scores)]  # fmt: skip
    for look in closed if public else [*closed, lambda: len(scores), lambda: bool(scores)]:
        with pytest.raises((ValueError, TypeError), match=r"say so: scores.as_public\(\)") as caught:
            look()
        assert_silent(caught.value)
    read: Any
    for read in (iter, vars, list):
        with pytest.raises((TypeError, ValueError)):
            read(scores)
    assert np.asarray(scores).shape == ()
    assert SECRET not in f"{scores!r} {scores} {np.asarray(scores)}"
    assert not public or len(scores) == 2


@pytest.mark.parametrize("public", [True, False])
def test_scores_that_are_called_public_show_themselves(public):
    shown = private(public).as_public()
    assert dict(zip(shown.labels, shown.values.tolist(), strict=True)) == (
        {"a": 2, "b": 0} if public else {"a": 2, SECRET: 1}
    )
    assert len(shown) == 2


def test_a_callers_own_scores_stay_as_they_are():
    own = Scores({SECRET: 3, "b": 1})
    assert (len(own), list(own.labels), own.values.tolist()) == (2, [SECRET, "b"], [3, 1])
    assert pickle.loads(pickle.dumps(own)).values.tolist() == [3, 1]


@pytest.mark.parametrize("by", [None, "place"])
def test_what_an_engine_holds_is_in_no_repr_even_where_tables_print_themselves(by):
    """A debugger shows the locals of a traceback; Ibis prints rows where it is interactive, as in a notebook."""
    rows = pl.DataFrame({"user": [*range(7919)], "item": [SECRET] * 7919, "place": ["here"] * 7919})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ibis.options, "interactive", True)
        for table in (ibis.memtable(rows), rows, rows.to_arrow(), rows.to_pandas(), duckdb.connect().from_arrow(rows)):
            words: Any = {} if by is None else {"by": by}
            names: Any = sl.count(table, user="user", item="item", **words)._names
            histogram = names if by else names.ranking._histogram
            inside = [names, histogram, histogram.engine, *histogram._classes.values()]
            assert not any(plant in repr(one) for one in inside for plant in (SECRET, "7919"))
