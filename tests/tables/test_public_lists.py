"""A public list is never the table, its file or its memory; and the release says how many were declared public."""

import json
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shortlist as sl
from shortlist.tables import columns
from shortlist.tables.columns import check_public_list

SECRET = "Zebulon"
FILMS = [f"{SECRET}, a film with a long name, part {n % 20}" for n in range(600)]
COLUMNS: dict[str, Any] = {"who": [*range(600)], "film": FILMS, "year": [n % 7 for n in range(600)],
                           "seen": [n % 2 == 0 for n in range(600)]}  # fmt: skip
PAID: dict[str, Any] = {"user": "who", "epsilon": 1.0}


def pandas():
    rows = pd.DataFrame(COLUMNS)
    rows["object"] = pd.Series(FILMS, dtype=object)
    rows["kind"] = rows.film.astype("category")
    rows["nullable"] = rows.year.astype("Int64")
    rows["arrow"] = pd.Series(FILMS, dtype=pd.ArrowDtype(pa.string()))
    return rows


def polars():
    return pl.DataFrame(COLUMNS).with_columns(kind=pl.col("film").cast(pl.Categorical), day=pl.lit("2024-01-01"))


def pyarrow():
    return pa.table({**COLUMNS, "kind": pa.array(FILMS).dictionary_encode()})


VIEWS = {
    **{("pandas", name): pandas for name in pandas().columns},
    **{("polars", name): polars for name in polars().columns},
    **{("pyarrow", name): pyarrow for name in pyarrow().column_names},
}


def refused(listed, table, name="candidates"):
    error = None
    try:
        check_public_list(name, listed, table)
    except ValueError as raised:
        error = raised
    if error is not None:
        assert str(error).startswith(f"{name}: ")
        assert SECRET not in str(error)
        assert (error.__cause__, error.__context__) == (None, None)
    return error is not None


@pytest.mark.parametrize(("library", "column"), VIEWS)
def test_a_column_and_every_view_of_it_is_refused_and_a_copy_is_not(library, column):
    rows: Any = VIEWS[library, column]()
    one = rows[column]
    cut = one.iloc[5:90] if library == "pandas" else one[5:90]
    frame = rows[[column]] if library == "pandas" else rows.select([column])
    for view in (one, cut, frame, {"a": one}, [one], (cut,)):
        assert refused(view, rows), type(view)
    plain = one.to_pylist() if library == "pyarrow" else one.to_list()
    for copy in (plain, one.unique(), pd.Series(plain), pl.Series(plain), pa.array(plain), set(plain), plain[:5]):
        assert not refused(copy, rows), type(copy)
    other = VIEWS[library, column]()
    assert not refused(other[column], rows)


def test_memory_that_two_libraries_share_is_one_memory():
    rows = pandas()
    for name in ("who", "object", "seen"):
        assert refused(rows[name].to_numpy(), rows)
        assert refused(rows[name].to_numpy()[::3], rows)
    assert refused(rows["arrow"].array, rows)
    assert refused(pa.chunked_array(pa.array(rows["arrow"])), rows)
    arrow = pyarrow()
    assert refused(pl.from_arrow(arrow["who"]), arrow)
    assert refused(arrow["film"].chunk(0), arrow)
    assert refused(polars()["who"], polars()) is False
    numbers = np.arange(600)
    assert refused(numbers, pd.DataFrame({"who": numbers}, copy=False))


def test_a_public_list_that_went_into_the_table_is_public():
    """Categories may be declared before any row is there, and a join copies the names of the list."""
    films = pd.Index(sorted(set(FILMS)))
    rows = pd.DataFrame({"who": range(600), "film": pd.Categorical(FILMS, categories=films)})
    assert not refused(films, rows)
    assert not refused(rows.film.cat.categories, rows)
    listed = pl.DataFrame({"film": sorted(set(FILMS)), "id": [*range(20)]})
    joined = pl.DataFrame({"who": range(600), "id": [n % 20 for n in range(600)]}).join(listed, on="id")
    assert not refused(listed["film"], joined)
    assert not refused(listed, joined)


def test_a_label_is_no_path_and_a_table_in_an_engine_is_known_by_identity(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("who,film\n1,rows.csv\n")
    (tmp_path / "link.csv").symlink_to(tmp_path / "rows.csv")
    assert not refused(["rows.csv", "b.csv"], "rows.csv")
    assert refused("link.csv", "rows.csv")
    assert refused(tmp_path / "rows.csv", "*.csv")
    assert refused({"CH": "rows.csv"}, tmp_path / "link.csv")
    relation = duckdb.connect().sql("SELECT 1 AS who, 'a' AS film")
    assert refused(relation, relation)
    assert not refused(duckdb.connect().sql("SELECT 'a' AS film"), relation)
    table = ibis.memtable({"who": [1], "film": [SECRET]})
    for query in (table, table.film, table.select("film"), table[["film"]], table.select(a=table.film)):
        assert refused(query, table)
    for query in (ibis.memtable({"film": ["a"]}), table.select("film").distinct(), table.filter(table.who > 3)):
        assert not refused(query, table)


def test_a_table_of_a_database_asked_for_twice_is_one_table():
    line = ibis.duckdb.connect()
    line.create_table("rows", {"film": [SECRET], "year": [1]})
    table, again = line.table("rows"), line.table("rows")
    for query in (again, again.film, again.select("film")):
        assert refused(query, table)
    assert not refused(line.create_table("films", {"film": [SECRET]}), table)
    assert not refused(ibis.duckdb.connect().create_table("rows", {"film": [SECRET], "year": [1]}), table)


def test_a_part_of_a_polars_table_in_several_parts_is_refused():
    parts = [pl.DataFrame({"film": FILMS[:300]}), pl.DataFrame({"film": FILMS[300:]})]
    table = pl.concat(parts, rechunk=False)
    assert table["film"].n_chunks() == 2
    for part in (*parts, table, table["film"], table["film"][290:310]):
        assert refused(part, table)
    assert not refused(parts[0], parts[1])


ASKS: dict[str, Any] = {
    "count": lambda rows, listed, ledger: sl.count(rows, user="who", item="film", candidates=listed),
    "count groups": lambda rows, listed, ledger: sl.count(rows, user="who", item="film", by="year", groups=listed),
    "top_k": lambda rows, listed, ledger: sl.top_k(rows, 2, item="film", candidates=listed, ledger=ledger, **PAID),
    "select": lambda rows, listed, ledger: sl.select(rows, item="film", candidates=listed, ledger=ledger, **PAID),
    "top_k groups": lambda rows, listed, ledger: sl.top_k(
        rows, 2, item="film", candidates=["a", "b", "c"], by="year", groups=listed, ledger=ledger, **PAID
    ),
    "quantile groups": lambda rows, listed, ledger: sl.quantile(
        rows, value="year", lower=0, upper=9, by="film", groups=listed, ledger=ledger, **PAID
    ),
    "quote": lambda rows, listed, ledger: sl.quote(sl.top_k, rows, 2, item="film", candidates=listed, **PAID),
}


@pytest.mark.parametrize("ask", ASKS)
def test_every_question_refuses_them_before_a_charge(tmp_path, ask):
    ledger = sl.Ledger(tmp_path / "l.db", budget=sl.PureDP(9.0))
    rows = polars()
    wrong = rows["year"] if ask in ("count groups", "top_k groups") else rows["film"]
    for listed in (wrong, wrong[3:], rows):
        with pytest.raises(ValueError, match=r"^(candidates|groups): .* is not a public list") as caught:
            ASKS[ask](rows, listed, ledger)
        assert SECRET not in str(caught.value)
    assert ledger.entries() == []
    ASKS[ask](rows, wrong.unique(), ledger)  # a copy: nobody can tell


def test_no_cell_is_looked_at():
    """Of a table whose cells cannot be read the answer is the same, and of a longer one it takes no longer."""

    class Cell:
        def closed(self, *_):
            raise RuntimeError(SECRET)

        __eq__ = __hash__ = __str__ = __repr__ = __len__ = __bool__ = __iter__ = __lt__ = closed

    cells = np.empty(3, object)
    cells[:] = [Cell(), Cell(), Cell()]
    rows = pd.DataFrame({"film": pd.Series(cells, dtype=object, copy=False)})
    assert refused(rows["film"], rows)
    assert not refused(np.empty(3, object), rows)


def test_what_a_library_no_longer_tells_is_no_error(monkeypatch):
    def changed(value):
        raise AttributeError(SECRET)
        yield

    monkeypatch.setattr(columns, "_buffers", changed)
    rows = polars()
    assert not refused(rows["film"], rows)
    assert refused(rows, rows)


# ---- what the release says


def test_the_release_says_how_many_candidates_were_declared_public():
    release = sl.top_k(polars(), 2, item="film", candidates=["a", "b", "b", "c"], **PAID)
    said = "3 candidates, declared public by the caller"
    assert release.candidates == 3
    assert f"2 of 2 asked for. {said}." in release.summary
    assert said in str(release)
    assert said in release.note
    assert said in release._repr_html_()
    text = release.to_json()
    assert json.loads(text)["extras"]["candidates"] == 3
    again = sl.Release.from_json(text)
    assert (again, again.candidates) == (release, 3)
    old = json.loads(text)
    del old["extras"]["candidates"]
    assert "declared" not in str(sl.Release.from_json(json.dumps(old)))


def test_the_page_says_it_too(tmp_path):
    release = sl.top_k(polars(), 2, item="film", candidates=["a", "b", "c"], **PAID)
    release.report(tmp_path / "a.html")
    assert "3 candidates, declared public by the caller" in (tmp_path / "a.html").read_text()
    lists: dict[int, list[str]] = {0: ["a", "b"], 1: [f"{n}" for n in range(1200)]}
    asked: dict[str, Any] = {"item": "film", "by": "year", "groups": [0, 1], **PAID}
    for candidates, said in ((["a", "b", "c"], "3"), (lists, "2 to 1,200")):
        grouped: Any = sl.top_k(polars(), 1, candidates=candidates, **asked)
        words = f"{said} candidates for each list, declared public by the caller"
        grouped.report(tmp_path / "b.html")
        assert words in str(grouped)
        assert words in (tmp_path / "b.html").read_text()
        assert sl.GroupedRelease.from_json(grouped.to_json()) == grouped


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("values", [True, False])
def test_it_is_said_of_named_candidates_alone(values, largest):
    plain = sl.top_k([9, 4, 7], 2, epsilon=1.0, monotone=True, values=values, largest=largest)
    named = sl.top_k({"a": 9, "b": 4, "c": 7}, 2, epsilon=1.0, monotone=True, public=True, values=values,
                     largest=largest)  # fmt: skip
    assert (plain.candidates, named.candidates) == (None, 3)
    assert "declared" not in str(plain)


def test_nothing_is_said_of_candidates_from_the_data():
    rows = polars()
    for release in (
        sl.top_k(rows, 2, item="film", delta=1e-6, **PAID),
        sl.keys(rows, item="film", delta=1e-6, **PAID),
        sl.top_k(rows, 2, item="film", by="year", delta=1e-6, **PAID),
        sl.quantile(rows, value="year", lower=0, upper=9, **PAID),
    ):
        assert "declared" not in str(release)
        assert "candidates" not in json.loads(release.to_json()).get("extras", {})
