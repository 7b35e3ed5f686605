"""Groups are the same in every engine, and nobody's rows decide which groups another person keeps."""

import hashlib
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shortlist as sl
from shortlist.tables import question as caps
from tests.helpers.support import full_size, sized
from tests.tables.tables import TEXT, as_text, source

pytestmark = pytest.mark.usefixtures("one_duckdb")

SALT = "5a17" * 8
ENGINES = ("parquet", "csv", "polars", "polars lazy", "pandas", "pyarrow", "duckdb", "ibis")
PUBLIC = ["CH", "DE", "FR", "nobody"]
COUNTRIES = ["CH", "DE", "FR", "IT", None, "ch"]
FILMS = ["film 1", "film 2", "film 3", "film 4", "never"]


@pytest.fixture(autouse=True)
def salted(monkeypatch):
    """Neighbours, and engines, are compared under one salt."""
    monkeypatch.setattr(caps, "fresh_salt", lambda: SALT)


def hashed(*parts):
    return hashlib.md5("\x1f".join([SALT, *map(as_text, parts)]).encode()).hexdigest()


def groups_of(rows, *, by=("country",), groups=None, films=None, per_user=1, most=None) -> dict[Any, Counter[Any]]:
    """People per item in each group, in plain Python, in the order that is promised."""
    held: dict[Any, dict[Any, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for row in rows.to_dicts():
        key = tuple(row[name] for name in by)
        if row["user"] is None or row["film"] is None or None in key:
            continue
        own = films[key[0]] if isinstance(films, dict) and key[0] in films else films
        if (groups is not None and key not in groups) or (own is not None and row["film"] not in own):
            continue
        held[row["user"]][key].append(row["film"])
    counts: dict[Any, Counter[Any]] = defaultdict(Counter)
    for user, own_groups in held.items():
        order = sorted(own_groups, key=lambda key: (-len(own_groups[key]), hashed(user, *key), key))
        for key in order[:per_user]:
            names = sorted(set(own_groups[key]), key=lambda film: (hashed(user, film), film))
            counts[key].update(names[:most])
    return counts


def found(scores) -> dict[Any, dict[Any, int]]:
    """Key to item to score, asked for by name; of keys from the data too."""
    numbers = range(scores._number)
    keys = scores._names.keys(list(numbers))
    shown: dict[Any, dict[Any, int]] = {}
    for key, n in zip(keys, numbers, strict=True):
        part = scores._make(n).as_public()
        shown[key] = {item: score for item, score in zip(part.labels, part.values.tolist(), strict=True) if score}
    return shown


def rows_of(seed, people=40, rows=400):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "user": [f"p{n}" if n else None for n in rng.integers(0, people, rows)],
            "film": [f"film {n}" if n else None for n in rng.integers(0, 7, rows)],
            "country": [COUNTRIES[n] for n in rng.choice(6, rows, p=[0.3, 0.3, 0.2, 0.1, 0.05, 0.05])],
            "week": rng.integers(38, 43, rows),
        }
    )  # fmt: skip


def wanted(counts, keys=None):
    shown = {key[0] if len(key) == 1 else key: dict(count) for key, count in counts.items()}
    return shown if keys is None else {key: shown.get(key, {}) for key in keys}


QUESTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "public": ({"groups": PUBLIC, "candidates": FILMS}, {"groups": {(k,) for k in PUBLIC}, "films": FILMS}),
    "two each": (
        {"groups": PUBLIC, "candidates": FILMS, "groups_per_user": 2},
        {"groups": {(k,) for k in PUBLIC}, "films": FILMS, "per_user": 2},
    ),
    "own lists": (
        {"groups": PUBLIC, "candidates": {"CH": FILMS[:2], "DE": FILMS[2:], "FR": FILMS, "nobody": ["film 1"]}},
        {
            "groups": {(k,) for k in PUBLIC},
            "films": {"CH": FILMS[:2], "DE": FILMS[2:], "FR": FILMS, "nobody": ["film 1"]},
        },
    ),
    "names from the data": ({"groups": PUBLIC}, {"groups": {(k,) for k in PUBLIC}}),
    "capped": (
        {"groups": PUBLIC, "candidates": FILMS, "most": 2, "groups_per_user": 3},
        {"groups": {(k,) for k in PUBLIC}, "films": FILMS, "most": 2, "per_user": 3},
    ),
    "keys from the data": ({"groups_per_user": 2}, {"per_user": 2}),
    "capped names and keys": ({"most": 1, "groups_per_user": 2}, {"most": 1, "per_user": 2}),
}


EACH = [
    pytest.param(engine, name, marks=[] if engine == "parquet" or (i + j) % 2 else [pytest.mark.long])
    for i, engine in enumerate(ENGINES)
    for j, name in enumerate(QUESTIONS)
]
"""Every engine with every other question, and the next engine with the others; files with all of them."""


@pytest.mark.parametrize(("engine", "name"), EACH)
def test_every_engine_counts_what_plain_python_counts(engine, name, tmp_path):
    asked, facts = QUESTIONS[name]
    rows = rows_of(1)
    scores = sl.count(source(engine, rows, tmp_path), user="user", item="film", by="country", **asked)
    assert found(scores) == wanted(groups_of(rows, **facts), PUBLIC if "groups" in asked else None)
    if "candidates" in asked:
        lists = asked["candidates"]
        sizes = [len(lists[key] if isinstance(lists, dict) else lists) for key in PUBLIC]
        assert [len(scores[key]) for key in scores] == sizes
        part = scores["CH"].as_public()
        assert set(part.labels) == set(lists["CH"] if isinstance(lists, dict) else lists)


@pytest.mark.parametrize("engine", ENGINES)
def test_several_columns_make_one_key_and_filters_come_first(engine, tmp_path):
    rows = rows_of(2).with_columns(week=pl.col("week").cast(pl.String) if engine in TEXT else pl.col("week"))
    weeks = ["40", "41"] if engine in TEXT else [40, 41]
    keys = [(country, week) for country in ("CH", "DE") for week in weeks]
    asked: dict[str, Any] = {
        "groups": keys,
        "candidates": FILMS,
        "where": "week >= 40 AND country <> 'DE' OR week = 41",
    }
    scores = sl.count(source(engine, rows, tmp_path), user="user", item="film", by=["country", "week"], **asked)
    some = rows.filter(
        (pl.col("country") != "DE") & (pl.col("week").cast(pl.Int64) >= 40) | (pl.col("week").cast(pl.Int64) == 41)
    )
    counts = groups_of(some, by=("country", "week"), groups=set(keys), films=FILMS)
    assert found(scores) == wanted(counts, keys)


@pytest.mark.parametrize("engine", ["parquet", "polars", "pandas", "pyarrow", "duckdb", "ibis"])
def test_sums_are_clipped_for_each_person_in_each_group(engine, tmp_path):
    rows = pl.DataFrame(
        {
            "user": ["a", "a", "a", "a", "b", "b"],
            "film": ["x", "x", "y", "x", "x", "x"],
            "country": ["CH", "CH", "CH", "DE", "DE", "DE"],
            "stars": [3.0, 4.0, -1.0, 5.0, 1.5, -1.5],
        }
    )
    asked: dict[str, Any] = {"groups": ["CH", "DE"], "candidates": ["x", "y", "z"], "value": "stars", "clip": (-2, 5)}
    scores = sl.count(source(engine, rows, tmp_path), user="user", item="film", by="country", **asked)
    assert found(scores) == {"CH": {"x": 5.0, "y": -1.0}, "DE": {}}
    part = scores["CH"].as_public()
    assert dict(zip(part.labels, part.values.tolist(), strict=True)) == {"x": 5.0, "z": 0.0, "y": -1.0}


PEOPLE, TITLES = st.sampled_from(["p", "q", "r"]), st.sampled_from(["film 1", "film 2", "film 9"])
ROW = st.tuples(PEOPLE, TITLES, st.sampled_from(["CH", "DE", "FR", "IT"]))


@full_size
@pytest.mark.parametrize("engine", ["parquet", "polars", "pandas", "pyarrow"])
@settings(max_examples=sized(8, full=200))
@given(
    rows=st.lists(ROW, max_size=14), own=st.lists(ROW, max_size=10), per_user=st.integers(1, 2), listed=st.booleans()
)
def test_one_person_moves_few_groups_and_nobody_else(engine, rows, own, per_user, listed, tmp_path_factory):
    """All rows of a person are added: at most so many groups move, each by one for some items; nothing else does."""
    folder = tmp_path_factory.mktemp("rows")
    mine = [("me", film, country) for _, film, country in own]
    asked: dict[str, Any] = {"groups": PUBLIC, "candidates": FILMS} if listed else {}

    def counted(table):
        frame = pl.DataFrame(table, schema={"user": pl.String, "film": pl.String, "country": pl.String}, orient="row")
        scores = sl.count(
            source(engine, frame, folder), user="user", item="film", by="country", groups_per_user=per_user, **asked
        )
        return found(scores)

    before, after = counted(rows), counted([*mine[:3], *rows, *mine[3:]])
    moved = [key for key in {*before, *after} if before.get(key, {}) != after.get(key, {})]
    assert len(moved) <= per_user
    for key in moved:
        one, other = before.get(key, {}), after.get(key, {})
        assert all(0 <= other.get(item, 0) - one.get(item, 0) <= 1 for item in {*one, *other})


def test_a_choice_by_how_crowded_groups_are_fails_the_same_test():
    """Keep each person's least crowded group: one more person in a group moves everybody who is in both."""
    rows = [(f"p{n}", country) for n in range(5) for country in ("A", "B")]

    def chosen(table):
        crowd = Counter(country for _, country in set(table))
        held = defaultdict(set)
        for user, country in table:
            held[user].add(country)
        return {user: min(own, key=lambda country: (crowd[country], country)) for user, own in held.items()}

    before, after = chosen(rows), chosen([*rows, ("new", "A")])
    assert sum(before[user] != after[user] for user in before) == 5


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"by": "country", "groups": ["CH", "CH"]}, ValueError, "a key twice"),
        ({"by": "country", "groups": []}, ValueError, "must not be empty"),
        ({"by": "country", "groups": "CH"}, TypeError, "must be a list of keys"),
        ({"by": "country", "groups": [1.5]}, ValueError, "groups do not fit"),
        ({"by": "country", "groups": ["CH"], "groups_per_user": 2}, ValueError, "more than the 1 groups"),
        ({"by": "country", "groups_per_user": 0}, ValueError, "from 1 to 4096"),
        ({"by": "country", "groups_per_user": 1.0}, TypeError, "a whole number from 1"),
        ({"by": "user"}, ValueError, "other columns than user"),
        ({"by": ["country", "country"]}, ValueError, "names a column twice"),
        ({"by": 5}, TypeError, "must be the name of a column"),
        ({"by": "nowhere"}, ValueError, "by='nowhere': the table has no column"),
        ({"by": "country", "candidates": FILMS}, ValueError, "do not go with public candidates"),
        ({"by": "country", "groups": ["CH"], "candidates": {"DE": FILMS}}, ValueError, "exactly the groups"),
        ({"groups": ["CH"]}, TypeError, "go with by"),
    ],
)
def test_questions_that_make_no_groups_are_refused(asked, error, words):
    with pytest.raises(error, match=words):
        sl.count(rows_of(3), user="user", item="film", **asked)


def test_groups_show_nothing_that_is_private():
    scores = sl.count(rows_of(4), user="user", item="film", by="country")
    for look in (lambda: len(scores), lambda: list(scores), lambda: scores["CH"], lambda: scores.groups):
        with pytest.raises(ValueError, match="as_public"):
            look()
    assert repr(scores) == "GroupedScores(groups from data by country, 1 per user, candidates from data)"
    with pytest.raises(TypeError, match="pickle"):
        __import__("pickle").dumps(scores)
