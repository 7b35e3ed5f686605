"""Caps on what one person brings: chosen by that person's rows and a salt alone, in every engine alike."""

import hashlib
import math
import operator
import re
from collections import Counter, defaultdict
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shortlist as sl
from shortlist.exact.thresholds import LARGEST_MOST, weight
from shortlist.tables import duckdb as sql
from shortlist.tables import frames
from shortlist.tables import question as caps
from shortlist.tables.errors import TableError
from tests.helpers.support import full_size, sized
from tests.helpers.typed import present
from tests.tables.tables import ENGINES, TEXT, as_text, found, missing, source
from tests.tables.test_count import EACH, counted, rows_of

pytestmark = pytest.mark.usefixtures("one_duckdb")

SALT = "5a17" * 8
MOST = 3
PEOPLE = sized(3, full=6)
"""So many are removed, one at a time."""


@pytest.fixture(autouse=True)
def salted(monkeypatch):
    """Neighbours, and engines, are compared under one salt."""
    monkeypatch.setattr(caps, "fresh_salt", lambda: SALT)


def kept_by(rows: pl.DataFrame, items=("item",), most=MOST, listed=None) -> dict[Any, list[Any]]:
    """What each person keeps, and how many distinct items there were, in plain Python."""
    held = defaultdict(set)
    for row in rows.to_dicts():
        label = tuple(row[name] for name in items)
        if not missing(row["user"]) and row["user"] != "" and not any(map(missing, label)):
            held[row["user"]].add(label)
    own = {}
    for user, labels in held.items():
        some = labels if listed is None else {label for label in labels if label[0] in listed}
        own[user] = sorted(some, key=lambda label: (hashed(user, label), label))[:most]
    return own


def hashed(user, label):
    texts = "\x1f".join([SALT, *map(as_text, (user, *label))])
    return hashlib.md5(texts.encode()).hexdigest()


def shown(label):
    return label if len(label) > 1 else label[0]


def counts_kept(own):
    return Counter(shown(label) for labels in own.values() for label in labels)


def weights_kept(own):
    total: Counter[Any] = Counter()
    for labels in own.values():
        for label in labels:
            total[shown(label)] += math.isqrt(2**40 // len(labels))
    return total


def weights_of(scores) -> dict[Any, int]:
    """Label to weight."""
    names = scores._weights
    numbers = np.repeat(names.scores, names.sizes).tolist()
    return dict(zip(names.names(range(len(numbers))), numbers, strict=True))


def people_and_items(seed, people=60, items=25, each=12):
    rng = np.random.default_rng(seed)
    labels = [f"item {n}" for n in rng.zipf(1.2, people * each) % items]
    return pl.DataFrame({"user": rng.integers(0, people, people * each), "item": labels})


@pytest.mark.parametrize(("engine", "kind", "several"), EACH)
def test_every_engine_keeps_what_plain_python_keeps(engine, kind, several, tmp_path):
    rows = rows_of(kind, several, engine)
    items = ["item", "other"] if several else ["item"]
    if engine in TEXT:
        rows = rows.with_columns(pl.col("item").map_elements(as_text, pl.String))
    scores = counted(engine, rows, tmp_path, item=items, most=MOST)
    own = kept_by(rows, items)
    assert found(scores) == counts_kept(own)
    assert weights_of(scores) == weights_kept(own)
    assert scores.most == MOST
    plain = counted(engine, rows, tmp_path, item=items)
    assert plain.most is None
    assert weights_of(plain) == weights_kept(kept_by(rows, items, most=64))


@pytest.mark.parametrize("engine", ENGINES)
def test_items_off_the_public_list_use_up_no_cap(engine, tmp_path):
    rows = people_and_items(1)
    listed = ["item 1", "item 2", "item 3", "item 4", "item 5", "never"]
    scores = sl.count(source(engine, rows, tmp_path), user="user", item="item", candidates=listed, most=2)
    wanted = counts_kept(kept_by(rows, most=2, listed=listed))
    assert found(scores) == {label: wanted[label] for label in listed}
    assert scores._weights is None
    assert repr(scores) == "Scores(6 candidates, most=2, sensitivity=1.0, monotone, add-remove, public)"


def check_locality(count, rows, most=MOST, people=PEOPLE):
    """Remove a person: each count of what is kept moves by 0 or 1, at most `most` of them, the squares of the weights
    add up to 1 at most. Rows in another order: nothing moves. Returns the counts and the weights."""
    kept, weight = count(rows)
    assert (kept, weight) == count(rows.sample(fraction=1, shuffle=True, seed=1)), "the order of rows matters"
    for user in rows["user"].unique().sort()[:people]:
        less, light = count(rows.filter(pl.col("user") != user))
        steps = [kept[label] - less.get(label, 0) for label in kept]
        assert less.keys() <= kept.keys()
        assert set(steps) <= {0, 1}
        assert sum(steps) <= most
        moved = [weight[label] - light.get(label, 0) for label in weight]
        assert light.keys() <= weight.keys()
        assert min(moved) >= 0
        assert sum(step**2 for step in moved) <= 2**40
    return kept, weight


def counting(engine, folder, most=MOST):
    def count(rows):
        scores = sl.count(source(engine, rows, folder), user="user", item="item", most=most)
        return found(scores), weights_of(scores)

    return count


@full_size
@pytest.mark.parametrize("engine", ENGINES)
def test_removing_a_person_moves_nothing_but_what_that_person_kept(engine, tmp_path):
    check_locality(counting(engine, tmp_path), people_and_items(2))


@full_size
def test_a_hash_that_says_nothing_moves_nobody_else_either(tmp_path, monkeypatch):
    """The lemma needs nothing of the hash: ties fall to the item."""
    changed(monkeypatch, SAME)
    rows = people_and_items(3)
    here = check_locality(counting("parquet", tmp_path), rows)

    class Same:
        @staticmethod
        def md5(words, **_):
            return hashlib.md5(b"same")

    monkeypatch.setattr(frames, "hashlib", Same)
    for engine in ("polars", "pandas", "pyarrow"):
        assert check_locality(counting(engine, tmp_path), rows) == here


def changed(monkeypatch, order, column="0 AS nothing"):
    """The statement that caps, in another order, which may look at a further column of the pairs."""
    written = sql.cap_items

    def other(pairs, keys, cap, within=()):
        statement = written(f"SELECT *, {column} FROM ({pairs})", keys, cap, within)
        found, times = re.subn(r"ORDER BY md5\(.*?\)\), i0", order, statement)
        if times != 1:
            raise ValueError("nothing was changed")
        return found

    monkeypatch.setattr(sql, "cap_items", other)


SAME = "ORDER BY md5('same'), i0"
BROKEN = {
    "no order": ("",),
    "a draw for each row": ("ORDER BY draw", "random() AS draw"),
    "the most popular first": ("ORDER BY fame DESC, i0", "count(*) OVER (PARTITION BY i0) AS fame"),
}


@full_size
@pytest.mark.parametrize("broken", BROKEN)
def test_what_is_not_local_fails_the_same_test(broken, monkeypatch):
    changed(monkeypatch, *BROKEN[broken])
    rows, most = people_and_items(4, people=3000, items=40, each=10), MOST
    if broken == "the most popular first":  # of two items equally well known: everybody's choice turns on one person
        rows, most = pl.DataFrame({"user": [*range(1, 101)] * 2 + [0], "item": ["a"] * 100 + ["b"] * 101}), 1
    connection = duckdb.connect()

    def count(some):
        connection.execute("SELECT setseed(0.5)").fetchall()
        connection.register("given", some.to_arrow())
        scores = sl.count(connection.table("given"), user="user", item="item", most=most)
        return found(scores), weights_of(scores)

    with pytest.raises(AssertionError):
        check_locality(count, rows, most=most)


def test_neither_threads_nor_the_parts_of_a_table_matter(tmp_path):
    rows = people_and_items(5, people=1500, items=300, each=20)
    for part, some in enumerate(rows.iter_slices(3_000)):
        some.write_parquet(tmp_path / f"part {part}.parquet", row_group_size=500)
    wanted = counting("polars", tmp_path)(rows)
    for threads in (1, 4):
        connection = duckdb.connect(config={"threads": threads})
        for order in ("true", "false"):
            connection.execute(f"SET preserve_insertion_order = {order}")
            scores = sl.count(connection.read_parquet(str(tmp_path / "*.parquet")), user="user", item="item", most=MOST)
            assert (found(scores), weights_of(scores)) == wanted
    assert counting("parquet", tmp_path)(rows) == wanted
    scores = sl.count(str(tmp_path / "part*.parquet"), user="user", item="item", most=MOST)
    assert (found(scores), weights_of(scores)) == wanted


CASES = pl.DataFrame(
    {
        "user": ["Ann", "ANN", "ann", "Ann", "ann", "ann", "bob", "", None, ""] * 2,
        "item": ["Tea", "tea", "TEA", "tEA", "Tea", "tea", "TEA", "tea", "tea", "milk"] * 2,
    }
)


def test_people_and_items_are_told_apart_by_their_bytes_whatever_the_collation(tmp_path, monkeypatch):
    own = kept_by(CASES, most=1)
    connection = duckdb.connect()
    connection.execute("SET default_collation = 'NOCASE'")
    connection.register("given", CASES.to_arrow())
    connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    connection.execute("CREATE TABLE other AS SELECT * FROM given ORDER BY item DESC")
    for table in ("rows", "other"):
        scores = sl.count(connection.table(table), user="user", item="item", most=1)
        assert (found(scores), weights_of(scores)) == (counts_kept(own), weights_kept(own))
    changed(monkeypatch, SAME)
    first = [sl.count(connection.table(table), user="user", item="item", most=1) for table in ("rows", "other")]
    assert found(first[0]) == found(first[1]) == {"TEA": 2, "Tea": 1, "tea": 1}


@pytest.mark.parametrize("engine", [*ENGINES, "sqlite"])
def test_a_person_without_a_name_is_nobody(engine, tmp_path):
    """Many would share that name, and what one of them keeps would turn on the rows of another."""
    own = kept_by(CASES)
    table: Any = source(engine, CASES, tmp_path) if engine != "sqlite" else None
    if engine == "sqlite":
        table = ibis.sqlite.connect().create_table("rows", CASES.to_arrow())
    questions: list[dict[str, Any]] = [{"most": MOST}, {}]
    for asked in questions:
        scores = sl.count(table, user="user", item="item", **asked)
        assert (found(scores), weights_of(scores)) == (counts_kept(own), weights_kept(own))


def test_a_dictionary_of_categories_has_no_say():
    """Its order comes from everybody's rows."""
    rows = people_and_items(6, people=20)
    wanted = counting("polars", None)(rows)
    names = rows["item"].unique().sort(descending=True)
    connection = duckdb.connect()
    connection.register("given", rows.to_arrow())
    listed = ", ".join(f"'{name}'" for name in names)
    connection.execute(f"CREATE TYPE kind AS ENUM ({listed})")
    connection.execute("CREATE TABLE enums AS SELECT user, item::kind AS item FROM given")
    frame = rows.to_pandas()
    tables = [
        rows.with_columns(pl.col("item").cast(pl.Enum(names))),
        rows.with_columns(pl.col("item").cast(pl.Categorical)),
        frame.assign(item=pd.Categorical(frame["item"], categories=names.to_list())),
        pa.table({"user": rows["user"].to_arrow(), "item": rows["item"].to_arrow().dictionary_encode()}),
        connection.table("enums"),
    ]
    for table in tables:
        scores = sl.count(table, user="user", item="item", most=MOST)
        assert (found(scores), weights_of(scores)) == wanted


USERS: dict[str, list[Any]] = {
    "floats": [float(n) / 4 if n else -0.0 for n in range(30)],
    "timestamps": [1_700_000_000_000_000 + n for n in range(30)],
    "bytes": [bytes([n, 255]) for n in range(30)],
}


OWN = ("parquet", "polars", "pandas", "pyarrow", "duckdb", "ibis")
NAMED = [(engine, kind) for engine in OWN for kind in USERS]
"""In the suite an engine meets every other kind of name, and the next engine the others."""


@full_size
@pytest.mark.parametrize(("engine", "kind"), NAMED[:: sized(2, full=1)])
def test_people_may_be_called_by_floats_times_or_bytes(engine, kind, tmp_path):
    """Their texts differ between engines, and so may what they keep: it is theirs alone all the same."""
    rows = people_and_items(7, people=30)
    names: Any = pl.Series("user", USERS[kind])
    names = names.cast(pl.Datetime("us")) if kind == "timestamps" else names
    rows = rows.with_columns(user=names.gather(rows["user"]))
    kept, weight = check_locality(counting(engine, tmp_path), rows, people=sized(2, full=3))
    assert sum(kept.values()) == rows.unique().group_by("user").len()["len"].clip(upper_bound=MOST).sum()
    assert sum(weight.values()) == sum(weights_kept(kept_by(rows)).values())
    if kind == "floats":
        zeros = rows.with_columns(user=pl.when(pl.col("user") == 0).then(0.0).otherwise(pl.col("user")))
        gone = pl.concat([zeros, pl.DataFrame({"user": [float("nan")], "item": ["item 1"]})])
        assert counting(engine, tmp_path)(gone) == (kept, weight)


def test_sqlite_keeps_the_same():
    rows = people_and_items(8)
    own = kept_by(rows)
    table = ibis.sqlite.connect().create_table("rows", rows.to_arrow())
    scores = sl.count(table, user="user", item="item", most=MOST)
    assert (found(scores), weights_of(scores)) == (counts_kept(own), weights_kept(own))
    assert sl.count(table, user="user", item="item", candidates=["item 1"], most=1).most == 1


def test_a_backend_without_a_hash_refuses_a_cap_and_makes_no_weights(monkeypatch, tmp_path):
    table = source("ibis", people_and_items(8), tmp_path)
    monkeypatch.setattr(type(table.get_backend()), "has_operation", classmethod(lambda *_: False))
    with pytest.raises(TableError, match="has no MD5"):
        sl.count(table, user="user", item="item", most=1)
    assert sl.count(table, user="user", item="item")._weights is None


def test_weights_are_whole_and_their_squares_add_up_to_one_at_most():
    for t in range(1, LARGEST_MOST + 1):
        assert weight(t) == math.isqrt(2**40 // t) == np.floor(np.sqrt(np.floor(2.0**40 / t)))
        assert t * weight(t) ** 2 <= 2**40
    told = duckdb.execute("SELECT t, floor(sqrt(floor(1099511627776.0::DOUBLE / t))) FROM range(1, 4097) AS counted(t)")
    assert all(weight(t) == found for t, found in told.fetchall())
    assert [weight(t) for t in (1, 2, 3, 4, 5, 64)] == [1048576, 741455, 605395, 524288, 468937, 131072]


@pytest.mark.parametrize("engine", ["parquet", "polars", "pandas", "pyarrow", "duckdb", "ibis"])
def test_weights_have_the_scores_of_their_items_beside_them(engine, tmp_path):
    rows = people_and_items(9)
    questions: list[dict[str, Any]] = [{}, {"most": 2}]
    for asked in questions:
        scores = sl.count(source(engine, rows, tmp_path), user="user", item="item", **asked)
        names, counts = present(scores._weights), found(scores)
        positions = [*range(int(names.sizes.sum()))][::-1]
        assert names.counts(positions) == [counts[label] for label in names.names(positions)]
        assert (names.names([]), names.counts([])) == ([], [])
        assert names.most == asked.get("most", 64)


def test_an_item_that_nobody_keeps_is_not_there():
    """Whether somebody has it is told by the rows of those who keep others."""
    rows = pl.DataFrame({"user": [1] * 70, "item": range(70)})
    scores = sl.count(rows, user="user", item="item", most=2)
    assert sorted(found(scores).values()) == [1, 1]
    plain = sl.count(rows, user="user", item="item")
    assert len(found(plain)) == 70
    assert sorted(weights_of(plain).values()) == [131072] * 64


def test_weights_are_those_of_the_rows_that_were_counted(tmp_path):
    """They are read when they are needed, from what is held."""
    connection = duckdb.connect()
    connection.register("given", people_and_items(10).to_arrow())
    connection.execute("CREATE TABLE rows AS SELECT * FROM given")
    scores = sl.count(connection.table("rows"), user="user", item="item")
    wanted = weights_kept(kept_by(people_and_items(10), most=64))
    connection.execute("DELETE FROM rows")
    assert weights_of(scores) == wanted


def test_a_salt_is_drawn_once_for_each_capped_count_and_for_no_other(monkeypatch, tmp_path):
    rows, drawn = people_and_items(11), []

    def salt():
        drawn.append("x")
        return SALT

    monkeypatch.setattr(caps, "fresh_salt", salt)
    for engine in ("parquet", "polars", "duckdb", "ibis"):
        table = source(engine, rows, tmp_path)
        for asked, salts in (({"candidates": ["item 1"]}, 0), ({}, 1), ({"most": 2}, 1)):
            drawn.clear()
            scores = sl.count(table, user="user", item="item", **asked)
            assert len(drawn) == salts
            found(scores)
            assert len(drawn) == salts
    drawn.clear()
    with pytest.raises(FileNotFoundError):
        sl.count(str(tmp_path / "nothing.csv"), user="user", item="item", most=2)
    assert drawn == ["x"]  # before a row is looked for


def test_salts_are_fresh(monkeypatch):
    monkeypatch.undo()
    assert len({caps.fresh_salt() for _ in range(50)}) == 50
    assert all(re.fullmatch("[0-9a-f]{32}", caps.fresh_salt()) for _ in range(50))
    rows = pl.DataFrame({"user": [1] * 64, "item": range(64)})
    kept = {tuple(found(sl.count(rows, user="user", item="item", most=1))) for _ in range(40)}
    assert len(kept) > 5


def test_no_item_is_favoured(monkeypatch):
    """Each of 20 items of 4,000 people is kept as often as the others."""
    rows = pl.DataFrame({"user": np.repeat(np.arange(4000), 20), "item": np.tile(np.arange(20), 4000)})
    kept = found(sl.count(rows, user="user", item="item", most=1))
    assert sum(kept.values()) == 4000
    assert max(abs(n - 200) for n in kept.values()) < 6 * math.sqrt(200)


@pytest.mark.parametrize("most", [0, -1, 4097, 2**70])
def test_a_cap_that_is_none_is_refused(most):
    with pytest.raises(ValueError, match="most must be a whole number from 1 to 4096"):
        sl.count(people_and_items(1), user="user", item="item", most=most)


@pytest.mark.parametrize("most", [1.0, True, "3", np.float64(2)])
def test_a_cap_is_a_whole_number(most):
    with pytest.raises(TypeError, match="most must be a whole number"):
        sl.count(people_and_items(1), user="user", item="item", most=most)


def test_sums_have_no_cap():
    rows = people_and_items(1).with_columns(value=pl.lit(1.0))
    with pytest.raises(ValueError, match="most is for counts of people, not for sums"):
        sl.count(rows, user="user", item="item", value="value", clip=(0, 1), candidates=["item 1"], most=1)


def test_plain_scores_have_no_cap_to_speak_of():
    assert sl.Scores([1, 2]).most is None
    with pytest.raises(TypeError):
        sl.Scores([1, 2], most=1)  # type: ignore[call-arg]
    capped = sl.count(people_and_items(1), user="user", item="item", most=operator.index(np.int64(2)))
    assert (capped.most, capped.as_public().most) == (2, 2)
    assert repr(capped) == "Scores(candidates from data, most=2, sensitivity=1.0, monotone, add-remove)"


@pytest.mark.parametrize("name", ["user", "item"])
def test_a_text_that_is_none_is_refused_before_it_is_sorted(name):
    """A sort of DuckDB makes other texts of such bytes: two people, or two items, would be one."""
    made = pa.array([b"a", b"", b"\xff"], pa.binary())
    texts = pa.Array.from_buffers(pa.string(), 3, made.buffers())
    columns = {"user": pa.array(["x", "y", "z"]), "item": pa.array(["t", "t", "t"])} | {name: texts}
    table = duckdb.connect().from_arrow(pa.table(columns))
    for asked in ({}, {"most": 1}, {"most": 1, "candidates": ["t"]}):
        if name == "item" and "candidates" in asked:
            assert found(sl.count(table, user="user", item="item", **asked)) == {"t": 0}
            continue
        with pytest.raises(TableError, match="not UTF-8"):
            sl.count(table, user="user", item="item", **asked)
