"""Tables in PostgreSQL, through Ibis: counted there, alike, with only scores and winners on the wire."""

import datetime
import itertools
import random
from typing import Any
from zoneinfo import ZoneInfo

import ibis
import polars as pl
import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'shortlist[postgres]'")

import psycopg

import shortlist as sl
from shortlist import PureDP
from shortlist.tables import question as caps
from shortlist.tables.errors import TableError
from tests.helpers.support import in_suite
from tests.helpers.typed import present
from tests.tables.groups import test_grouping as grouping
from tests.tables.spark_checks import SPARK_TREES
from tests.tables.tables import counts_of, found
from tests.tables.test_caps import SALT, counts_kept, kept_by, weights_of
from tests.tables.test_count import LABELS, rows_of
from tests.tables.where import test_conditions as conditions

numbers = itertools.count(1)
KINDS: dict[Any, str] = {
    pl.Int64: "bigint", pl.Int32: "integer", pl.UInt32: "bigint", pl.Float64: "double precision", pl.String: "text",
    pl.Date: "date", pl.Boolean: "boolean",
}  # fmt: skip


@pytest.fixture(scope="module")
def base(server):
    """A database with columns that take texts for equal."""
    server.base("rows")
    server.sql(
        "CREATE EXTENSION IF NOT EXISTS citext",
        "CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        base="rows",
    )
    return "rows"


@pytest.fixture(scope="module")
def wire(server, base):
    """Ibis' connection, and how many cells came through it."""

    class Wire:
        cells = 0
        here = ibis.postgres.connect(host=str(server.folder), user="postgres", database=base)

    real = Wire.here.to_pyarrow

    def counted(*words, **more):
        table = real(*words, **more)
        Wire.cells += table.num_rows * table.num_columns if hasattr(table, "num_rows") else 1
        return table

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(Wire.here), "to_pyarrow", lambda _, *words, **more: counted(*words, **more))
        yield Wire
    Wire.here.disconnect()


@pytest.fixture
def loaded(server, base, wire):
    """Rows as a table of the server."""

    def load(rows: pl.DataFrame, **kinds):
        name = f"t{next(numbers)}"
        columns = ", ".join(f'"{one}" {kinds.get(one, KINDS.get(rows[one].dtype))}' for one in rows.columns)
        with psycopg.connect(host=str(server.folder), dbname=base, user="postgres") as line:
            line.execute(f"CREATE TABLE {name} ({columns})")
            marks = ", ".join(["%s"] * len(rows.columns))
            line.cursor().executemany(f"INSERT INTO {name} VALUES ({marks})", rows.rows())
        return wire.here.table(name)

    return load


@pytest.fixture(autouse=True)
def salted(monkeypatch):
    monkeypatch.setattr(caps, "fresh_salt", lambda: SALT)


def without_nul(rows):
    """PostgreSQL's texts hold no NUL."""
    return rows.filter(pl.all_horizontal(~pl.col(pl.String).str.contains("\0", literal=True).fill_null(False)))


@pytest.mark.parametrize("kind", ["text", "integers", "dates", "booleans"])
def test_counts_are_those_of_plain_python(loaded, kind):
    rows = without_nul(rows_of(kind, several=True))
    table = loaded(rows)
    assert found(sl.count(table, user="user", item="item")) == counts_of(rows)
    assert found(sl.count(table, user="user", item=["item", "other"])) == counts_of(rows, ("item", "other"))
    known = [label for label in LABELS[kind] if "\0" not in str(label)]
    with_list = sl.count(table, user="user", item="item", candidates=known)
    assert found(with_list) == {label: counts_of(rows).get(label, 0) for label in known}


def test_only_scores_and_winners_reach_this_process(loaded, wire):
    rows = without_nul(rows_of("text"))
    table = loaded(rows)
    counts = counts_of(rows)
    wire.cells = 0
    release = sl.top_k(table, 5, user="user", item="item", epsilon=5.0, candidates=[*counts, "never"])
    assert len(present(release.items)) == 5
    assert wire.cells == 3 * len({*counts.values()}) + 2 * 5, "sizes of classes, and winners with their places"


@pytest.mark.parametrize("kind", ["text COLLATE caseless", "citext"])
def test_texts_that_the_server_takes_for_equal_are_counted_apart(loaded, kind):
    """Otherwise a label would be one person's spelling, and two people would be one."""
    who, what = ([f"{'uU'[n % 2]}{n // 2}" for n in range(60)], [("tea", "TEA", "milk")[n % 3] for n in range(60)])
    table = loaded(pl.DataFrame({"who": who, "what": what, "also": what}), who=kind, what=kind, also=kind)
    assert found(sl.count(table, user="who", item="what")) == {"tea": 20, "TEA": 20, "milk": 20}
    listed = sl.count(table, user="who", item="what", candidates=["tea", "gin"])
    assert found(listed) == {"tea": 20, "gin": 0}
    assert found(sl.count(table, user="who", item="what", where="what = 'TEA'")) == {"TEA": 20}
    assert sum(found(sl.count(table, user="who", item="what", most=1)).values()) == 60
    lists = sl.count(table, user="who", item="what", by="also", groups=["tea", "TEA"])
    assert grouping.found(lists) == {"tea": {"tea": 20}, "TEA": {"TEA": 20}}


def test_caps_keep_what_plain_python_keeps(loaded):
    rows = without_nul(rows_of("text", several=True))
    table = loaded(rows)
    asked: dict[str, Any]
    for asked in ({"most": 2}, {}, {"most": 2, "candidates": ["tea", *counts_of(rows)]}):
        here, there = (sl.count(one, user="user", item="item", **asked) for one in (rows, table))
        assert found(there) == found(here)
        if there._weights is not None:
            assert weights_of(there) == weights_of(here)
    less = sl.count(table.filter(table.user != 3), user="user", item="item", most=2)
    assert found(less) == counts_kept(kept_by(rows.filter(pl.col("user") != 3), most=2))


@pytest.mark.parametrize("name", in_suite(grouping.QUESTIONS, 0, 2, 4, 6))
def test_groups_are_those_of_plain_python(loaded, name):
    asked, facts = grouping.QUESTIONS[name]
    rows = grouping.rows_of(1)
    scores = sl.count(loaded(rows), user="user", item="film", by="country", **asked)
    keys = grouping.PUBLIC if "groups" in asked else None
    assert grouping.found(scores) == grouping.wanted(grouping.groups_of(rows, **facts), keys)


def test_groups_are_released_from_the_server(loaded, server):
    rows = grouping.rows_of(1)
    ledger = sl.Ledger(server.url("ledgers", "of_groups"), budget=PureDP(30.0))
    words: dict[str, Any] = {"user": "user", "item": "film", "by": "country", "groups": grouping.PUBLIC}
    lists = sl.top_k(loaded(rows), 2, epsilon=20.0, candidates=grouping.FILMS, ledger=ledger, **words)
    assert {key: len(present(one.items)) for key, one in lists.items()} == dict.fromkeys(grouping.PUBLIC, 2)
    assert ledger.spent.epsilon == 20.0


def test_filters_keep_what_plain_python_keeps(loaded):
    rng = random.Random(5)
    cells: dict[str, list[Any]] = {
        "n": conditions.WHOLE, "m": conditions.WHOLE, "f": conditions.REAL, "t": conditions.TEXTS,
        "s": conditions.TEXTS, "d": conditions.DAYS, "b": [True, False],
    }  # fmt: skip
    rows = [{name: rng.choice([None, *cells[name]]) for name in cells} for _ in range(60)]
    schema = {name: conditions.SCHEMA[name] for name in cells}
    frame = pl.DataFrame(rows, schema=schema).with_row_index("row").with_columns(
        row=pl.col("row").cast(pl.Int64), who=pl.col("row").cast(pl.Int64)
    )  # fmt: skip
    table = loaded(frame)
    for tree in SPARK_TREES:
        wanted = {row["row"] for row in frame.to_dicts() if conditions.truth(tree, row) is True}
        where = conditions.written(tree)
        assert set(found(sl.count(table, user="who", item="row", where=where))) == wanted, where


def test_kinds_of_columns_are_checked_and_nulls_are_nobodys(server, base, wire):
    server.sql(
        "CREATE TABLE kinds (who uuid, n bigint, at timestamptz, amount numeric(40, 3), tags text[], day date, "
        "far date, f float8)",
        "INSERT INTO kinds SELECT CASE WHEN i % 10 = 0 THEN NULL ELSE md5((i / 2)::text)::uuid END, i % 3, "
        "'2026-03-29 00:30+00'::timestamptz + i * interval '1 hour', i / 7.0, ARRAY['a'], date '2026-01-01' + i % 2, "
        "CASE WHEN i % 2 = 0 THEN 'infinity' ELSE '2026-01-01' END::date, "
        "CASE WHEN i % 2 = 0 THEN 'NaN' ELSE '1' END::float8 FROM generate_series(1, 60) AS i",
        base=base,
    )  # fmt: skip
    table = wire.here.table("kinds")
    for refused in ("at", "amount", "tags", "f"):
        with pytest.raises(ValueError, match="must be a column of text, whole numbers"):
            sl.count(table, user="who", item=refused)
    with pytest.raises((ValueError, TableError)):
        sl.count(table, user="tags", item="n")
    rows = server.sql("SELECT who, n, day, f, amount, at FROM kinds", base=base)
    for item, place in (("n", 1), ("day", 2)):
        people: dict[Any, set[Any]] = {}
        for row in rows:
            if row[0] is not None:
                people.setdefault(row[place], set()).add(row[0])
        assert found(sl.count(table, user="who", item=item)) == {label: len(them) for label, them in people.items()}
    assert set(found(sl.count(table, user="n", item="far"))) == {datetime.date(2026, 1, 1)}, "no day is infinite"
    for zone in ("Europe/Zurich", "Pacific/Auckland", "UTC"):  # a day is that of the session that asks
        wire.here.raw_sql(f"SET TimeZone = '{zone}'").close()
        local: dict[Any, set[Any]] = {}
        for row in rows:
            if row[0] is not None:
                local.setdefault(row[5].astimezone(ZoneInfo(zone)).date(), set()).add(row[0])
        days = found(sl.count(table.mutate(local=table.at.date()), user="who", item="local"))
        assert days == {day: len(them) for day, them in local.items()}, zone
    sums = sl.count(table, user="n", item="day", value="amount", clip=(0, 4), candidates=[datetime.date(2026, 1, 1)])
    assert found(sums) == {datetime.date(2026, 1, 1): 12.0}
    assert found(sl.count(table, user="f", item="n")) == {0: 1, 1: 1, 2: 1}, "NaN is nobody"


def test_a_wrong_query_says_nothing_of_the_rows(server, base, wire):
    server.sql("CREATE TABLE odd (who int, what text)", "INSERT INTO odd VALUES (1, 'SECRET-ROW')", base=base)
    table = wire.here.table("odd")
    broken = table.mutate(n=table.what.cast("int64"))
    with pytest.raises(TableError) as wrong:
        sl.count(broken, user="who", item="n")
    error: BaseException | None = wrong.value
    while error is not None:
        assert "SECRET" not in str(error) + repr(error.args)
        error = error.__cause__ or error.__context__


ODD = ["1", "-2.5", "1e308", "-1e308", "3e-320", "-3e-320", "'NaN'", "'Infinity'", "'-Infinity'", "NULL"]
SUMS = [1.0, -2.5, 4.0, -4.0, 0.0, 0.0, 0.0, 4.0, -4.0, 0.0]


@pytest.mark.parametrize("kind", ["numeric", "double precision"])
@pytest.mark.parametrize("wide", [1.0, 1e6, 1e-6, 1e140, 1e-140])
def test_a_number_beyond_all_floats_is_no_error(server, base, wire, kind, wide):
    """PostgreSQL refuses products and casts that are no float, and its own numbers reach 1e131072: one person could do
    that, so that an error would tell of them."""
    name = f"far{next(numbers)}"
    cells = [cell.replace("308", "400").replace("320", "400") for cell in ODD] if kind == "numeric" else ODD
    rows = ", ".join(f"({who}, 'a{who}', {cell}, 'g')" for who, cell in enumerate(cells))
    server.sql(
        f"CREATE TABLE {name} (who int, what text, amount {kind}, at text)",
        f"INSERT INTO {name} VALUES {rows}",
        base=base,
    )
    table, items = wire.here.table(name), [f"a{who}" for who in range(len(cells))]
    words: Any = {"user": "who", "item": "what", "candidates": items}
    sums = found(sl.count(table, value="amount", clip=(-4 * wide, 4 * wide), **words))
    if wide == 1.0:
        assert [sums[item] for item in items] == SUMS
    if kind != "numeric":
        above = found(sl.count(table, where="amount > 0", **words))
        assert [item for item in items if above[item]] == ["a0", "a2", "a4", "a7"], "small, and not 0 in a filter"
    by: Any = {"by": "at", "groups": ["g"], "groups_per_user": 1}
    assert len(sl.count(table, user="who", item="what", value="amount", clip=(0, 4 * wide), candidates=items, **by))
    for per_user in ("sum", "share"):
        ends: Any = {"lower": 0.0, "upper": 4 * wide, "step": wide / 100}
        median = sl.quantile(table, user="who", value="amount", per_user=per_user, epsilon=9.0, **ends)
        assert 0 <= median.item <= 4 * wide


@pytest.mark.parametrize("groups", [False, True], ids=["one list", "groups"])
def test_nothing_is_left_on_the_server_but_what_is_public(server, base, wire, groups):
    """Which counts the winners have is told to the server by a table of numbers: it goes at once."""
    name = f"passing{next(numbers)}"
    server.sql(f"CREATE TABLE {name} (who int, what text, at text)", base=base)
    server.sql(f"INSERT INTO {name} SELECT n, 'a' || n % 3, 'g' || n % 2 FROM generate_series(1, 50) n", base=base)
    before = _private(wire.here)
    words: Any = {"by": "at", "groups": ["g0", "g1"], "groups_per_user": 1} if groups else {}
    scores = sl.count(wire.here.table(name), user="who", item="what", candidates=["a0", "a1", "a2"], **words)
    assert len(sl.top_k(scores, 2, epsilon=1.0))
    assert _private(wire.here) == before


def _private(here):
    """Temporary tables of places, which were made of numbers in memory: lists of candidates and of groups have none."""
    asked = "SELECT table_name, column_name FROM information_schema.columns WHERE table_name LIKE 'ibis%memtable%'"
    with here.raw_sql(asked) as cursor:
        return [row for row in cursor.fetchall() if row[1] == "rank"]
