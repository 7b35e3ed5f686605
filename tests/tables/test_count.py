"""Every engine counts the same rows alike, and the same seed draws the same winners from all of them."""

import datetime
import random
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

import shortlist as sl
from tests.helpers.typed import present
from tests.tables.tables import ENGINES, TEXT, as_text, counts_of, found, source

pytestmark = pytest.mark.usefixtures("one_duckdb")

DAY = datetime.date(2024, 2, 29)
LABELS: dict[str, list[Any]] = {
    "text": [
        *("tea", "Tea", "tea ", " ", "", "żółć", "猫", "🐈", "e\u0301", "é", "a\tb", 'say "hi"', "it's", "a,b", "a\nb"),
        *("x" * 100_000, "'; DROP TABLE counts; --", "NULL", "null", "nan", "0", "00", "true", "\\", "%s", "=1+1"),
        *("\ufeffb", "a\x00b"),
    ],
    "integers": [0, -1, 7, 2**53 + 1, 2**53, -(2**63), 2**63 - 1],
    "dates": [DAY, DAY + datetime.timedelta(1), datetime.date(1970, 1, 1), datetime.date(1, 1, 1)],
    "booleans": [True, False],
}  # fmt: skip


def labels_of(kind, engine=""):
    """The labels of that kind; a CSV file holds no NUL."""
    return [label for label in LABELS[kind] if engine != "csv" or "\0" not in str(label)]


def counted(engine, rows, folder, **question):
    """Counted by that engine; one label has a line break in it."""
    more: dict[str, Any] = {"multiline": True} if engine == "csv" else {}
    return sl.count(source(engine, rows, folder), user="user", **question, **more)


@cache
def rows_of(kind, several=False, engine=""):
    """Random rows with repetitions and missing users and items."""
    rng = random.Random(kind)
    labels = [*labels_of(kind, engine), None]
    columns = {
        "user": [rng.choice([*range(30), None]) for _ in range(600)],
        "item": [rng.choice(labels) for _ in range(600)],
    }
    if several:
        columns["other"] = [rng.choice(["a", "b|", "", None, "a\x1fb"]) for _ in range(600)]
    return pl.DataFrame(columns, schema_overrides={"user": pl.Int64})


EACH = [
    pytest.param(engine, kind, several, marks=[] if (i + j + several) % 2 == 0 else [pytest.mark.long])
    for i, engine in enumerate(ENGINES)
    for j, kind in enumerate(LABELS)
    for several in (False, True)
]
"""Every engine with every kind of label, and in turn with one item column or two; the other half is in the audit."""


@pytest.mark.parametrize(("engine", "kind", "several"), EACH)
def test_counts_are_those_of_plain_python(engine, kind, several, tmp_path):
    rows = rows_of(kind, several, engine)
    items = ["item", "other"] if several else ["item"]
    scores = counted(engine, rows, tmp_path, item=items if several else "item")
    wanted = counts_of(rows, items)
    assert found(scores) == ({as_text(label): n for label, n in wanted.items()} if engine in TEXT else wanted)
    assert (scores.public, scores.monotone, scores.sensitivity, scores.from_table) == (False, True, 1.0, True)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", LABELS)
def test_candidates_that_never_occur_score_zero_and_others_are_ignored(engine, kind, tmp_path):
    rows = rows_of(kind, engine=engine)
    wanted = counts_of(rows)
    listed = LABELS[kind][1:]  # the first one is not listed
    never = {"text": "never", "integers": 12345, "dates": datetime.date(2030, 1, 1)}.get(kind, False)
    given = [*listed, never, never]
    scores = counted(engine, rows, tmp_path, item="item", candidates=given)
    expected = {label: wanted.get(label, 0) for label in given}
    assert found(scores) == ({as_text(label): n for label, n in expected.items()} if engine in TEXT else expected)
    assert scores.public


def winners(scores):
    return [sl.top_k(scores, 5, epsilon=0.1, rng=sl.testing.seeded(seed)).items for seed in range(8)]


@cache
def winners_of_a_frame(engine):
    """Those of the same rows in memory; a CSV file has rows of its own."""
    rows = rows_of("text", engine=engine)
    return winners(sl.count(rows, user="user", item="item", candidates=LABELS["text"]))


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_seed_draws_the_same_winners(engine, tmp_path):
    scores = counted(engine, rows_of("text", engine=engine), tmp_path, item="item", candidates=LABELS["text"])
    assert winners(scores) == winners_of_a_frame("csv" if engine == "csv" else "")


@pytest.mark.parametrize("engine", ENGINES)
def test_clipped_sums_are_those_of_plain_python(engine, tmp_path):
    rng = random.Random(5)
    values = [*(rng.choice([0.1, -0.7, 3.25, 1e9, -1e300, 2.0, float("inf"), None]) for _ in range(400)), float("nan")]
    rows = pl.DataFrame(
        {
            "user": [rng.randrange(20) for _ in values],
            "item": [rng.choice("abc") for _ in values],
            "value": pl.Series(values, dtype=pl.Float64),
        }
    )
    if engine == "jsonl":  # JSON has no infinities
        rows = rows.filter(pl.col("value").is_finite() | pl.col("value").is_null())
    low, high, steps = -1.5, 4.0, 2.0**21  # 4 is 2^23 steps
    people: dict[tuple[str, Any], int] = {}
    for row in rows.drop_nulls().to_dicts():
        if row["value"] == row["value"]:
            held = max(min(row["value"] * steps, 2.0**36), -(2.0**36))
            key = row["item"], row["user"]
            people[key] = people.get(key, 0) + int(np.floor(held + 0.5))
    wanted = dict.fromkeys("abcd", 0)
    for (item, _), total in people.items():
        wanted[item] += max(min(total, int(high * steps)), int(low * steps))
    scores = sl.count(
        source(engine, rows, tmp_path),
        user="user", item="item", candidates=list("abcd"), value="value", clip=(low, high),
    )  # fmt: skip
    assert found(scores) == {label: total / steps for label, total in wanted.items()}
    assert (scores.range_sensitivity, scores.monotone) == (Fraction(11, 2), False)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("several", [False, True])
def test_a_release_comes_back_in_the_callers_kind_of_frame(engine, several, tmp_path):
    rows = rows_of("integers", several)
    table = source(engine, rows, tmp_path)
    items = ["item", "other"] if several else "item"
    known = [*counts_of(rows, items if several else ["item"])]
    release = sl.top_k(sl.count(table, user="user", item=items, candidates=known), 3, epsilon=5.0)
    frame = release.to_frame()
    own = table.collect() if engine == "polars lazy" else table
    kind: Any = pl.DataFrame if isinstance(table, str) else type(own)
    assert isinstance(frame, kind)
    names = ["item", "other"] if several else ["item"]
    assert list(frame.column_names if engine == "pyarrow" else frame.columns) == names
    assert len(present(release.items)) == 3


def test_float_users_have_one_zero_and_no_nan(tmp_path):
    nan = float("nan")
    rows = pl.DataFrame(
        {"user": [1.0, 1.0, nan, None, 0.0, -0.0], "item": ["a", "a", "b", "b", "a", "a"]}, strict=False
    )
    for engine in set(ENGINES) - set(TEXT):
        scores = sl.count(source(engine, rows, tmp_path), user="user", item="item")
        assert found(scores) == {"a": 2}, engine


FORMS = ("list", "tuple", "polars", "pandas", "pyarrow", "numpy", "text", "csv", "parquet", "duckdb", "frame")


@pytest.mark.parametrize(
    ("engine", "how"),
    [  # all become rows of Python values before an engine sees them: three engines for each form, the rest in the audit
        pytest.param(engine, how, marks=[] if (i + j) % 3 == 0 else [pytest.mark.long])
        for i, engine in enumerate(ENGINES)
        for j, how in enumerate(FORMS)
    ],
)
def test_candidates_come_in_many_forms(engine, how, tmp_path):
    import duckdb

    rows = rows_of("text").filter(pl.col("item").is_in(["tea", "Tea", "猫", ""]) | pl.col("item").is_null())
    names = ["tea", "猫", "water"]
    listed = pl.DataFrame({"item": names})
    (tmp_path / "names.txt").write_text("\ufefftea\r\n猫\n\nwater\n", encoding="utf-8")
    listed.write_csv(tmp_path / "names.csv")
    listed.write_parquet(tmp_path / "names.parquet")
    series = listed["item"]
    forms = {
        "list": names, "tuple": tuple(names), "polars": series, "pandas": series.to_pandas(), "frame": listed,
        "pyarrow": series.to_arrow(), "numpy": np.array(names), "text": str(tmp_path / "names.txt"),
        "csv": tmp_path / "names.csv", "parquet": tmp_path / "names.parquet",
        "duckdb": duckdb.read_parquet(str(tmp_path / "names.parquet")),
    }  # fmt: skip
    wanted = {name: counts_of(rows).get(name, 0) for name in names}
    assert found(sl.count(source(engine, rows, tmp_path), user="user", item="item", candidates=forms[how])) == wanted


def test_an_ibis_query_of_candidates_stays_in_its_backend(tmp_path):
    rows = rows_of("text")
    table = source("ibis", rows, tmp_path)
    listed = table.filter(table.item.isin(["tea", "猫"])).select("item")
    scores = sl.count(table, user="user", item="item", candidates=listed)
    assert found(scores) == {name: counts_of(rows)[name] for name in ("tea", "猫")}


@pytest.mark.parametrize("engine", ENGINES)
def test_names_of_columns_are_data_and_not_code(engine, tmp_path):
    names = {"user": 'user" OR 1=1; --', "item": "it'em`; DROP TABLE rows", "other": "score"}
    rows = rows_of("text", several=True, engine=engine)
    table = source(engine, rows.rename(names), tmp_path)
    more: dict[str, Any] = {"multiline": True} if engine == "csv" else {}
    scores = sl.count(table, user=names["user"], item=[names["item"], names["other"]], **more)
    assert found(scores) == counts_of(rows, ["item", "other"])
