"""What must hold on Spark: in one process, on a cluster of worker processes, and through Spark Connect.

Run as a script (`python -m tests.tables.spark_checks local|cluster|connect`): a process has one kind of session only.
"""

from __future__ import annotations

import dataclasses
import datetime
import os
import pickle
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shortlist as sl
from shortlist.scores import Grid
from shortlist.tables import question as caps
from shortlist.tables.errors import TableError
from tests.helpers import taint
from tests.helpers.releases import PUBLIC, UNKNOWN
from tests.helpers.support import FULL, sized
from tests.helpers.typed import present
from tests.tables.groups import test_grouping as grouping
from tests.tables.tables import counts_of, found, votes
from tests.tables.test_caps import SALT, counts_kept, kept_by, weights_of
from tests.tables.test_count import LABELS, rows_of
from tests.tables.where import test_conditions as conditions
from tests.test_quantiles import CASES, by_hand, made
from tests.test_quantiles_groups import LISTED, ages_of
from tests.test_quantiles_groups import made as grouped_people

MASTERS = {"local": "local[2]", "cluster": "local-cluster[2,1,1024]"}
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
QUICK = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": f"{JAVA} -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": JAVA,
}
"""Small tables: what Spark compiles for large ones takes longer than they do, and to look at every class it loads is a
seventh of its time."""


def session(kind):
    from pyspark.sql import SparkSession

    if kind == "connect":
        os.environ["SPARK_TESTING"] = "1"  # a port of its own: the usual one may be taken by another run
        builder = SparkSession.builder.remote("local[2]")
    else:
        builder = SparkSession.builder.master(MASTERS[kind])
    for name, value in QUICK.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


class Cells:
    """Counts the cells of every row that reaches the driver."""

    def __init__(self, spark):
        self.seen = 0
        frame = type(spark.range(1))
        self.collect = frame.collect
        for way in ("toPandas", "toArrow", "toLocalIterator", "take", "head", "first", "tail", "show"):
            setattr(frame, way, self.forbidden)
        frame.collect = lambda table: self.noted(self.collect(table))

    def noted(self, rows):
        self.seen += sum(len(row) for row in rows)
        return rows

    @staticmethod
    def forbidden(*_arguments, **_options):
        raise AssertionError("only collect may bring rows to the driver")


def check(spark, folder, thorough):
    """Jobs are slow to start, so all is checked through Connect alone, and the first part everywhere."""
    cells = Cells(spark)
    plain = rows_of("text", several=True)
    plain.write_parquet(folder / "rows.parquet")
    rows = spark.read.parquet(str(folder / "rows.parquet"))
    only_winners_reach_the_driver(spark, cells, rows, plain)
    if not thorough:
        return
    engines_agree(rows, plain)
    caps_agree(rows, plain)
    keys_agree(cells, rows, plain, folder)
    filters_agree(spark, folder)
    groups_agree(spark, cells, folder)
    types_agree(spark, folder)
    kinds_are_checked(spark)
    broken_text_is_refused(spark)
    sums_and_names(spark, folder)
    own_frames(spark, rows)
    quantiles_agree(spark)
    releases_hold_nothing_private(spark, folder)


def only_winners_reach_the_driver(spark, cells, rows, plain):
    known = spark.range(5000).selectExpr("concat('never ', id) AS item").union(rows.select("item"))
    cells.seen = 0
    scores = sl.count(rows, user="user", item="item", candidates=known)
    counts = counts_of(plain)
    distinct = len({*counts.values(), 0})
    release = sl.top_k(scores, 7, epsilon=1.0)
    assert len(present(release.items)) == 7
    assert cells.seen == 3 * (distinct - 1) + 2 * 7, (cells.seen, distinct)  # classes above 0, winners and their places
    assert len(scores) == 5000 + len(counts)
    assert sorted(counts.values()) == sorted(n for n in found(scores).values() if n)
    assert {counts.get(item, 0) for item in present(release.items)} <= set(counts.values()) | {0}


def engines_agree(rows, plain):
    for items in (["item"], ["item", "other"]):
        scores = sl.count(rows, user="user", item=items)
        assert found(scores) == counts_of(plain, items)
        assert sl.top_k(scores, 3, epsilon=1.0, delta=1e-3).indices is None
    here = sl.count(plain, user="user", item="item", candidates=LABELS["text"])
    there = sl.count(rows, user="user", item="item", candidates=LABELS["text"])
    for seed in range(sized(1, full=3)):
        drawn, wanted = (sl.top_k(one, 4, epsilon=0.1, rng=sl.testing.seeded(seed)) for one in (there, here))
        assert drawn.items == wanted.items


def caps_agree(rows, plain):
    """The same salt keeps the same items; one person, removed, takes away what that person kept and nothing else."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(caps, "fresh_salt", lambda: SALT)
        every: list[tuple[list[str], dict[str, Any]]] = [
            (["item", "other"], {"most": 2}), (["item"], {"most": 2, "candidates": LABELS["text"]}), (["item"], {}),
        ]  # fmt: skip
        for items, asked in sized(every[:2], full=every):
            here, there = (sl.count(table, user="user", item=items, **asked) for table in (plain, rows))
            assert found(there) == found(here)
            assert there.most == here.most
            assert (there._weights is None) == ("candidates" in asked)
            if there._weights is not None:
                assert weights_of(there) == weights_of(here)
                assert there._weights.counts([0]) == [found(there)[there._weights.names([0])[0]]]
        shuffled = rows.repartition(7, "item").where("user <> 3")
        less = sl.count(shuffled, user="user", item="item", most=2)
        assert found(less) == counts_kept(kept_by(plain.filter(pl.col("user") != 3), most=2))


def keys_agree(cells, rows, plain, folder):
    """The same salt and the same draw name the same, however rows are partitioned; nothing but classes of counts and
    names that were released reaches the driver; booked before a row is read."""
    book = sl.Ledger(folder / "keys.db", budget=sl.ApproxDP(1e3, 1e-1))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(caps, "fresh_salt", lambda: SALT)
        every: list[dict[str, Any]] = [{"most": 2, "weighted": True}, {}, {"most": 1}]
        for asked in sized(every[:1], full=every):
            question: dict[str, Any] = {"user": "user", "item": "item", "epsilon": 8.0, "delta": 1e-2, **asked}
            here = sl.keys(plain, **question, rng=sl.testing.seeded(3))
            cells.seen = 0
            there = sl.keys(rows, **question, rng=sl.testing.seeded(3), ledger=book, purpose="keys")
            assert len(there) > 0
            assert (there.items, there.values, there.margins) == (here.items, here.values, here.margins)
            assert present(there.receipt).purpose == "keys"
            scores = sl.count(plain, user="user", item="item", most=asked.get("most"))
            classes = [len(present(names).sizes) for names in (scores._names, scores._weights)]
            assert cells.seen <= 3 * sum(classes) + 5 * len(there)
            if sized("weighted" in asked, full=True):
                parted = sl.keys(rows.repartition(5, "item"), **question, rng=sl.testing.seeded(3))
                assert parted.items == here.items
    few = rows.where("user = 3")
    assert sl.keys(few, user="user", item="item", epsilon=1.0, delta=1e-9, rng=sl.testing.seeded(3)).items == []


def filters_agree(spark, folder):
    """The rows that plain Python keeps, of every kind of column."""
    rng = random.Random(5)
    kinds = conditions.CELLS.keys() - {"u"}  # Spark has no whole numbers without a sign
    cells: dict[str, list[Any]] = {
        "n": conditions.WHOLE, "m": conditions.WHOLE, "f": conditions.REAL, "t": conditions.TEXTS,
        "s": conditions.TEXTS, "d": conditions.DAYS, "b": [True, False],
    }  # fmt: skip
    rows = [{name: rng.choice([None, *cells[name]]) for name in kinds} for _ in range(60)] * len(SPARK_TREES)
    schema = {name: kind for name, kind in conditions.SCHEMA.items() if name in kinds}
    frame = pl.DataFrame(rows, schema=schema).with_row_index("row").with_columns(
        row=pl.col("row").cast(pl.Int64), who=pl.col("row").cast(pl.Int64)
    )  # fmt: skip
    frame.write_parquet(folder / "filters.parquet")
    table = spark.read.parquet(str(folder / "filters.parquet"))
    blocks = [
        (f"row BETWEEN {60 * n} AND {60 * n + 59} AND ({conditions.written(tree)})", tree)
        for n, tree in enumerate(SPARK_TREES)
    ]
    here = frame.to_dicts()
    wanted = {
        row["row"] for n, (_, tree) in enumerate(blocks) for row in here[60 * n :][:60]
        if conditions.truth(tree, row) is True
    }  # fmt: skip
    kept = set(found(sl.count(table, user="who", item="row", where=" OR ".join(f"({one})" for one, _ in blocks))))
    assert kept == wanted, [blocks[row // 60][0] for row in kept ^ wanted]


SPARK_TREES: list[Any] = [
    ("and", ("not", ("compare", "n", "<>", "9007199254740993")), ("null", "n", True)),
    ("or", ("not", ("compare", "t", ">", "1.5")), ("in", "t", True, ("'a'", "'é'", "'10'"))),
    ("or", ("between", "f", True, "0.1", "1.5"), ("compare", "t", "<", "DATE '2024-03-01'")),
    ("and", ("compare", "t", "<=", ("column", "s")), ("not", ("compare", "n", "<", ("column", "f")))),
    ("or", ("compare", "b", "<>", "TRUE"), ("and", ("compare", "d", ">", "DATE '1969-12-31'"), ("null", "f", False))),
]
"""Every kind of reading once: each on its own block of the same rows, so that one job has them all."""


def groups_agree(spark, cells, folder):
    """The groups of plain Python; the driver gets three cells for each score of a group, and the winners."""
    plain = grouping.rows_of(1)
    plain.write_parquet(folder / "groups.parquet")
    rows = spark.read.parquet(str(folder / "groups.parquet"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(caps, "fresh_salt", lambda: SALT)
        some, few = ["CH", "ch", "IT"], plain.filter(pl.col("country").is_in(["CH", "ch", "IT"]))
        part, kept = sized((rows.where(rows.country.isin(some)), few), full=(rows, plain))  # a job for each group
        for name in sized(("capped names and keys",), full=("own lists", "capped", "keys from the data")):
            asked, facts = grouping.QUESTIONS[name]
            scores = sl.count(part, user="user", item="film", by="country", **asked)
            keys = grouping.PUBLIC if "groups" in asked else None
            assert grouping.found(scores) == grouping.wanted(grouping.groups_of(kept, **facts), keys), name
        if FULL:
            one_person_moves_one_group(spark, rows)
        asked, facts = grouping.QUESTIONS["public"]
        cells.seen = 0
        scores = sl.count(rows, user="user", item="film", by="country", **asked)
        lists = sl.top_k(scores, 2, epsilon=1.0)
        counts = grouping.groups_of(plain, **facts).values()
        assert cells.seen == 3 * sum(len(set(one.values())) for one in counts) + 2 * 2 * len(lists)
        assert dict(lists.to_frame().dtypes) == {"country": "string", "item": "string"}


def one_person_moves_one_group(spark, rows):
    """Whoever comes with three groups; in the suite it follows from the groups being those of plain Python."""
    own = pl.DataFrame({"user": ["me"] * 3, "film": ["film 1"] * 3, "country": ["CH", "DE", "new"], "week": [40] * 3})
    both = rows.unionByName(spark.createDataFrame(own.rows(), own.columns).select(*rows.columns))
    before, after = (grouping.found(sl.count(one, user="user", item="film", by="country")) for one in (rows, both))
    assert sum(before.get(key) != after[key] for key in after) == 1


def types_agree(spark, folder):
    for kind in sized(("dates",), full=("integers", "dates", "booleans")):  # integers and truth are filtered by, too
        plain = rows_of(kind)
        plain.write_parquet(folder / f"{kind}.parquet")
        rows = spark.read.parquet(str(folder / f"{kind}.parquet"))
        scores = sl.count(rows, user="user", item="item", candidates=LABELS[kind])
        assert found(scores) == {label: counts_of(plain).get(label, 0) for label in LABELS[kind]}


def kinds_are_checked(spark):
    """By the declared types, before a row is read."""
    rows = spark.sql("SELECT 1 AS user, 1.5D AS d, 1.5 AS n, timestamp'2024-01-01' AS t, INTERVAL 1 DAY AS i, "
                     "array(1) AS a, 'TeA' COLLATE UTF8_LCASE AS c, 7Y AS b, date'10000-01-01' AS late")  # fmt: skip
    for item in "dntiac":
        with pytest.raises(ValueError, match="must be a column of text"):
            sl.count(rows, user="user", item=item)
    with pytest.raises(ValueError, match="must be a column of plain values"):
        sl.count(rows, user="a", item="b")
    assert found(sl.count(rows, user="user", item="b", candidates=["7", 300])) == {7: 1, 300: 0}
    assert found(sl.count(rows, user="user", item="late")) == {}
    with pytest.raises(ValueError, match="candidates do not fit"):
        sl.count(rows, user="user", item="b", candidates=[1.5])
    with pytest.raises(ValueError, match="candidates must be text, as item='s'"):
        sl.count(rows.selectExpr("user", "CAST(b AS string) AS s"), user="user", item="s", candidates=[7])
    with pytest.raises(ValueError, match="of the same kinds"):
        sl.count(rows, user="user", item="b", candidates=rows.selectExpr("CAST(b AS string) AS b"))


def broken_text_is_refused(spark):
    """By `count`: Spark would show other letters in the place of such bytes. Its error may quote the row."""
    rows = spark.sql("SELECT 1 AS user, CAST(X'5A6562756C6F6EFF' AS STRING) AS item UNION ALL SELECT 2, 'tea'")
    questions: list[dict[str, Any]] = [{}, {"candidates": ["tea"]}]
    for question in questions:
        with pytest.raises(TableError) as caught:
            sl.count(rows, user="user", item="item", **question)
        assert "Zebulon" not in str(caught.value)
        assert (caught.value.__context__, caught.value.__cause__) == (None, None)


def sums_and_names(spark, folder):
    names = {"user": "us`er; --", "item": "it.em", "value": "score"}
    nan = float("nan")
    plain = pl.DataFrame(
        {
            "user": [1.0, 1.0, 2.0, nan, None, 3.0, 3.0],
            "item": ["a", "a", "a", "a", "a", "b", "b"],
            "value": [0.1, 9.0, -7.0, 1.0, 1.0, nan, 2.5],
        }
    )
    plain.rename(names).write_parquet(folder / "sums.parquet")
    rows = spark.read.parquet(str(folder / "sums.parquet"))
    asked: dict[str, Any] = {"candidates": ["a", "b", "c"], "clip": (-1.5, 4.0)}
    there = sl.count(rows, user=names["user"], item=names["item"], value=names["value"], **asked)
    here = sl.count(plain, user="user", item="item", value="value", **asked)
    assert found(there) == found(here) == {"a": 2.5, "b": 2.5, "c": 0.0}
    with pytest.raises(ValueError, match="no column of that name"):
        sl.count(rows, user="nobody", item=names["item"])


def quantiles_agree(spark):
    """The votes of plain Python, in one kind of value for each way to make one of a person's rows, or in all."""
    made_up = made(60)
    rows = spark.createDataFrame(made_up.rows(), "u string, v double, k bigint, d date, n bigint")
    every = [*enumerate(("share", "median", "mean", "min", "max", "sum"))]
    for turn, per_user in sized(every[1:3], full=every):
        for value, lower, upper, step in sized([CASES[turn % 3]], full=CASES):
            if not (per_user == "sum" and value == "d"):
                places, weights = (part.tolist() for part in votes(rows, value, lower, upper, step, per_user)[0])
                expected = by_hand(made_up, value, Grid.of(lower, upper, step), per_user)
                assert list(zip(places, weights, strict=True)) == expected, per_user
    grouped = grouped_people(60)
    there = spark.createDataFrame(grouped.rows(), "u string, k bigint, c string, d date, w bigint")
    for per_user in sized(("share",), full=("share", "median", "mean", "min", "max", "sum")):
        asked: Any = {"per_user": per_user, "by": "c", "groups": LISTED}
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(caps, "fresh_salt", lambda: SALT)
            assert ages_of(there, **asked) == ages_of(grouped, **asked), per_user
    words: Any = {"user": "u", "value": "k", "lower": 0, "upper": 120, "by": "c", "groups": LISTED, "epsilon": 1.0}
    assert sl.quantile(there, **words).to_frame().columns == ["c", "q", "value"]
    release = sl.quantile(rows, user="u", value="d", lower=CASES[3][1], upper=CASES[3][2], epsilon=1.0)
    assert release.to_frame().collect()[0][1] == release.item


def own_frames(spark, rows):
    release = sl.top_k(sl.count(rows, user="user", item="item", candidates=["tea", "猫"]), 1, epsilon=1.0, ordered=True)
    frame = release.to_frame()
    assert {one.metadata["shortlist"] for one in frame.schema.fields} == {release.note}
    assert type(frame) is type(rows)
    assert frame.columns == ["rank", "item"]
    assert dict(frame.dtypes) == {"rank": "bigint", "item": "string"}
    again = sl.Release.from_json(release.to_json())
    assert again == release == pickle.loads(pickle.dumps(release))
    assert type(again.to_frame()) is type(rows)
    empty = dataclasses.replace(release, items=[], indices=None)
    assert dict(empty.to_frame().dtypes) == {"rank": "bigint", "item": "string"}
    dates = spark.createDataFrame([(1, datetime.date(2024, 1, 1))], ["user", "item"])
    assert found(sl.count(dates, user="user", item="item")) == {datetime.date(2024, 1, 1): 1}


def releases_hold_nothing_private(spark, folder):
    taint.rows_of().write_parquet(folder / "taint.parquet")
    rows = spark.read.parquet(str(folder / "taint.parquet"))
    listed = sl.count(rows, user="user", item="item", candidates=taint.CANDIDATES)
    unlisted = sl.count(rows, user="user", item="item")
    taint.check_release(sl.keys(rows, user="user", item="item", epsilon=1.0, delta=1e-6, rng=sl.testing.seeded(5)))
    for mechanisms, scores in ((PUBLIC, listed), (UNKNOWN, unlisted)):
        for mechanism in [*mechanisms.values()][:: sized(20, full=1)]:  # the other engines try them all
            taint.check_release(mechanism.release(scores, rng=sl.testing.seeded(5)))


def main(kind):
    spark = session(kind)
    try:
        with tempfile.TemporaryDirectory() as folder:
            check(spark, Path(folder), thorough=kind == "connect")
    finally:
        spark.stop()
    print("all is well")


if __name__ == "__main__":
    main(sys.argv[1])
