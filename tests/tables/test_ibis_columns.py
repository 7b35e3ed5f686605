"""What Ibis tables are asked, and what is left of it in their sessions."""

import ibis
import narwhals as nw
import pytest

import shortlist as sl
from shortlist.tables.ibis import IbisTable
from tests.tables.tables import opened

ROWS = {"who": list(range(40)), "what": ["a", "b"] * 20, "at": ["g"] * 10 + ["h"] * 30}


@pytest.fixture(params=["duckdb", "sqlite"])
def table(request):
    backend = getattr(ibis, request.param).connect()
    backend.create_table("rows", ibis.memtable(ROWS).to_pyarrow())
    yield backend.table("rows")
    backend.disconnect()


def names(table):
    """Of all tables and views of numbers in memory that the session holds."""
    backend = table.get_backend()
    if backend.name == "duckdb":
        found = backend.con.execute("SELECT table_name, column_name FROM information_schema.columns").fetchall()
        return sorted(name for name, column in found if "memtable" in name and column == "rank")
    found = backend.con.execute("SELECT name, sql FROM sqlite_temp_master").fetchall()
    return sorted(name for name, made in found if "memtable" in name and '"rank"' in made)


@pytest.mark.parametrize("by", [{}, {"by": "at", "groups": ["g", "h"]}], ids=["one list", "groups"])
def test_where_the_winners_stand_is_not_left_in_a_session(table, by):
    words = by if not by else {**by, "groups_per_user": 1}
    scores = sl.count(table, user="who", item="what", candidates=["a", "b", "c"], **words)
    assert len(sl.top_k(scores, 2, epsilon=1.0))
    assert names(table) == []


def ranks(table, beside):
    numbers = nw.to_native(beside)
    return sorted(table.inner_join(numbers, table.who == numbers.n)["rank"].to_pyarrow().to_pylist())


def passing(table, columns):
    return IbisTable(table).passing(list(zip(*columns.values(), strict=True)), tuple(columns), None)


def test_numbers_are_beside_a_table_only_as_long_as_they_are_asked_for(table):
    with passing(table, {"n": range(2), "rank": [3, 4]}) as beside:
        assert ranks(table, beside) == [3, 4]
        assert len(names(table)) == 1
    assert names(table) == []


def test_an_error_drops_them_too(table):
    def stopped():
        with passing(table, {"n": [1], "rank": [2]}) as beside:
            ranks(table, beside)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert names(table) == []


def test_an_answer_is_not_lost_where_nothing_can_be_dropped(table, monkeypatch):
    def refused(*_words, **_more):
        raise PermissionError

    monkeypatch.setattr(type(table.get_backend()), "drop_table", refused)
    with passing(table, {"n": [1], "rank": [2]}) as beside:
        assert ranks(table, beside) == [2]


@pytest.mark.parametrize("by", [{}, {"by": "at", "groups": ["g", "h"]}], ids=["one list", "groups"])
def test_candidates_that_change_after_the_charge_are_not_drawn_from(table, by):
    """Two of two cost nothing; two of three would be a release that nobody paid for."""
    backend = table.get_backend()
    listed = backend.create_table("listed", ibis.memtable({"what": ["a", "b"]}).to_pyarrow())
    asked = opened("top_k", table, user="who", item="what", candidates=listed, **by)
    assert len(asked.schema()) == 2
    backend.insert("listed", ibis.memtable({"what": ["c"]}).to_pyarrow())
    counted = asked.read(None).as_public() if not by else asked.read(None)["g"].as_public()
    assert set(counted.labels) == {"a", "b"}


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
@pytest.mark.parametrize("listed", [[True], [False], [True, False], ["true"]])
def test_listed_truth_values_are_those_of_the_column(kind, listed):
    """SQLite makes 0 of the text 'true'."""
    backend = getattr(ibis, kind).connect()
    backend.raw_sql("CREATE TABLE answers (who INTEGER, yes BOOLEAN, what TEXT)")
    backend.raw_sql("INSERT INTO answers VALUES (1, TRUE, 'a'), (2, TRUE, 'a'), (3, FALSE, 'a'), (4, NULL, 'a')")
    table, wanted = backend.table("answers"), [one in (True, "true") for one in listed]
    counted = sl.count(table, user="who", item="yes", candidates=listed).as_public()
    assert dict(zip(counted.labels, counted.values, strict=True)) == {one: 1 + one for one in wanted}
    grouped = sl.count(table, user="who", item="what", by="yes", groups=listed, candidates=["a"])
    assert {key: grouped[key].as_public().values.tolist() for key in grouped} == {one: [1 + one] for one in wanted}


@pytest.mark.parametrize("by", [{}, {"by": "at", "groups": ["g", "h"], "groups_per_user": 2}], ids=["one", "groups"])
def test_what_was_counted_before_and_is_still_held_is_not_counted_again(table, by):
    """Ibis' cache knows a table by its expression, whatever was written into it since."""
    backend = table.get_backend()
    listed = backend.create_table("listed", ibis.memtable({"what": ["a", "b"]}).to_pyarrow())

    def counts():
        scores = sl.count(table, user="who", item="what", candidates=listed, **by)
        part = scores.as_public() if not by else scores["g"].as_public()
        return scores, dict(zip(part.labels, part.values.tolist(), strict=True))

    held, before = counts()
    backend.insert("rows", ibis.memtable({"who": [100, 101], "what": ["a", "c"], "at": ["g", "g"]}).to_pyarrow())
    backend.insert("listed", ibis.memtable({"what": ["c"]}).to_pyarrow())
    _, after = counts()
    assert after == {**before, "a": before["a"] + 1, "c": 1}
    assert held.public
