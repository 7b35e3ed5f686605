"""Nothing private can be reached from a release: for every engine, every family of mechanisms, every way to look."""

import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import shortlist as sl
from shortlist import ZCDP, ApproxDP, Ledger, PureDP
from shortlist._arrays import Frame
from shortlist.mechanisms import SparseVector
from shortlist.pate import PATE, MultiLabelPATE
from shortlist.release import Extras
from shortlist.testing import seeded
from tests.helpers.releases import CAPPED, LINES, NUMBERED, PUBLIC, UNKNOWN, WEIGHED
from tests.helpers.support import full_size, sized
from tests.helpers.taint import CANDIDATES, COUNTS, check_release, leaks, rows_of
from tests.helpers.typed import present
from tests.tables.tables import ENGINES, source

pytestmark = pytest.mark.usefixtures("one_duckdb")

ROWS = rows_of()


EVERY = sized(4, full=1)
"""In the suite an engine meets one mechanism in four, the next engine the next: each is tried by two of them; and so
with the kinds of lists, of which each mechanism meets one."""


@full_size
@pytest.mark.parametrize("engine", ENGINES)
def test_releases_from_tables_hold_nothing_private(engine, tmp_path):
    table, turn = source(engine, ROWS, tmp_path), ENGINES.index(engine) % EVERY
    listed = sl.count(table, user="user", item="item", candidates=CANDIDATES)
    for mechanism in [*PUBLIC.values()][turn::EVERY]:
        check_release(mechanism.release(listed, rng=seeded(5)))
    unlisted = sl.count(table, user="user", item="item")
    for mechanism in [*UNKNOWN.values(), *WEIGHED.values()][turn::EVERY]:
        check_release(mechanism.release(unlisted, rng=seeded(5)))
    questions: list[dict[str, Any]] = [{"k": 2}, {"k": 2, "values": True}, {"k": 1}]
    for asked in questions:
        check_release(sl.top_k(listed, **asked, epsilon=1.0, rng=seeded(5)))
    check_release(sl.top_k(unlisted, 2, epsilon=1.0, delta=1e-6, rng=seeded(5)))


@pytest.mark.parametrize("engine", ENGINES)
def test_releases_from_capped_counts_hold_nothing_private(engine, tmp_path):
    """Nobody has more than six items here, so that kept counts are the counts that are looked for."""
    table = source(engine, ROWS, tmp_path)
    listed = sl.count(table, user="user", item="item", candidates=CANDIDATES, most=6)
    for mechanism in CAPPED.values():
        check_release(mechanism.release(listed, rng=seeded(5)))
    unlisted = sl.count(table, user="user", item="item", most=6)
    check_release(sl.top_k(unlisted, 2, epsilon=1.0, delta=1e-6, rng=seeded(5)))


@full_size
@pytest.mark.parametrize("engine", ENGINES)
def test_keys_of_every_engine_hold_nothing_private(engine, tmp_path):
    """Two names are released at most: the others stay below the bar that `at_least` adds, or are no secret any more."""
    table = source(engine, ROWS, tmp_path)
    book = Ledger(tmp_path / "book.db", budget=ApproxDP(100.0, 1e-2))
    asked: list[dict[str, Any]] = [{}, {"most": 2}, {"most": 6}, {"values": False}]
    turn = ENGINES.index(engine) % 4
    for words in (*sized(asked[turn : turn + 1], full=asked), {"most": 6, "at_least": 4000}):
        release = sl.keys(table, user="user", item="item", epsilon=1.0, delta=1e-6, ledger=book, rng=seeded(5), **words)
        check_release(release)
    assert set(release) == {"tea", "milk"}
    check_release(sl.top_k(table, 2, user="user", item="item", epsilon=1.0, delta=1e-6, ledger=book, rng=seeded(5)))
    known: Any = {"candidates": CANDIDATES, "largest": False, "values": True}
    check_release(sl.top_k(table, 1, user="user", item="item", epsilon=1.0, rng=seeded(5), **known))


@pytest.mark.parametrize("engine", ENGINES)
def test_quantiles_of_every_engine_hold_nothing_private(engine, tmp_path):
    """Everybody's value lies outside the range, so that none can come out; the names are plants too."""
    numbers = [4_000_000 + n for n in range(300)]
    people = pl.DataFrame({"user": [f"PLANT {n}" for n in range(300)], "item": [str(n) for n in numbers]})
    people = people.with_columns(value=pl.Series(numbers)).select("user", "item", "value")
    table = source(engine, people, tmp_path)
    book = Ledger(tmp_path / "book.db", budget=ApproxDP(100.0, 1e-2))
    asked: list[dict[str, Any]] = [{}, {"q": [0.25, 0.5], "budget": ZCDP(0.5)}, {"per_user": "mean"}, {"user": None}]
    for words in asked[ENGINES.index(engine) % 2 :: 2]:
        paid = {} if "budget" in words else {"epsilon": 1.0}
        known: Any = {"user": "user", "value": "value", "lower": 0, "upper": 100, **paid, **words}
        release = sl.quantile(table, ledger=book, rng=seeded(5), **known)
        assert leaks(release, ("PLANT",), frozenset(numbers)) == []


def test_quantiles_of_counts_hold_nothing_private():
    for mechanism in LINES.values():
        release = mechanism.release([*COUNTS.values()], monotone=True, rng=seeded(5))
        assert leaks(release, (), frozenset(COUNTS.values())) == []


@full_size
@pytest.mark.parametrize("kind", ["mapping", "numpy", "pandas", "arrow"])
def test_releases_from_lists_of_scores_hold_nothing_private(kind):
    import pandas as pd

    kinds: dict[str, Callable[[], dict[str, Any]]] = {
        "mapping": lambda: {"values": COUNTS},
        "numpy": lambda: {"values": np.array([*COUNTS.values()]), "labels": np.array([*COUNTS])},
        "pandas": lambda: {"values": pd.Series(COUNTS)},
        "arrow": lambda: {"values": pa.array([*COUNTS.values()]), "labels": [*pa.array([*COUNTS])]},
    }
    given, turn = kinds[kind](), [*kinds].index(kind) % EVERY
    for mechanism in [*PUBLIC.values(), *NUMBERED.values()][turn::EVERY]:
        check_release(mechanism.release(sl.Scores(**given, monotone=True, public=True), rng=seeded(5)))
    for mechanism in [*UNKNOWN.values()][turn::EVERY]:
        check_release(mechanism.release(sl.Scores(**given, monotone=True, public=False), rng=seeded(5)))


def test_paid_releases_hold_nothing_private(tmp_path):
    ledger = Ledger(tmp_path / "book.db", budget=ZCDP(100.0, 0.1))
    path = source("parquet", ROWS, tmp_path)
    for mechanism in {**UNKNOWN, **WEIGHED}.values():
        scores = sl.count(path, user="user", item="item")
        release = mechanism.release(scores, ledger=ledger, purpose="a purpose")
        assert present(release.receipt).purpose == "a purpose"
        check_release(release)
    scores = sl.Scores(COUNTS, monotone=True, public=True)
    pure = Ledger(tmp_path / "pure.db", budget=PureDP(100.0))
    for name in ("hybrid", "hybrid, stopped", "set"):
        check_release(PUBLIC[name].release(scores, ledger=pure, rng=seeded(5)))


def test_answers_of_streams_and_crowds_hold_nothing_private():
    stream = SparseVector(threshold=4000, k=5, epsilon=2.0, monotone=True).stream([*COUNTS.values()], rng=seeded(5))
    assert leaks(list(stream)) == []
    votes = np.zeros((COUNTS["tea"], 3), int)
    votes[:, 1] = 1
    assert leaks(MultiLabelPATE(rho=0.5, delta=1e-6, queries=3).label(votes)) == []
    assert leaks(PATE(rho=0.5, delta=1e-6, queries=3, classes=2).label([1] * COUNTS["tea"])) == []


def leaky(frame):
    """As version 0.1.0 made them: a release that brings along a way to make its frame."""
    release = sl.top_k(sl.count(ROWS.to_arrow(), user="user", item="item"), 2, epsilon=2.0, delta=1e-4)
    object.__setattr__(release, "frame", frame)
    return release


@dataclasses.dataclass(frozen=True, slots=True)
class Counts:
    """The private histogram, with a method that makes frames."""

    counts: pa.Table

    def make(self, columns):
        return pa.table(columns)


def test_the_test_finds_a_bound_method():
    counts = Counts(pa.table({"item": [*COUNTS], "score": [*COUNTS.values()]}))
    found = leaks(leaky(counts.make))
    assert {"a method", "a plant in a Table"} <= set(found)
    assert "a plant in the pickle" in found
    assert b"PLANT-gamma" in pickle.dumps(leaky(counts.make))


def test_the_test_finds_a_closure():
    private = dict(COUNTS)

    def make(columns):
        return {**columns, **private}

    found = leaks(leaky(make))
    assert {"a function", "a cell", "a plant in a str", "a plant in a int"} <= set(found)


def test_the_test_finds_a_view():
    column = np.array([(7, b"PLANT")], dtype=[("n", int), ("t", "S5")])
    release = leaky(None)
    release.items[0] = column[0]
    assert "a plant in a ndarray" in leaks(release)


def test_the_test_finds_a_number_and_a_text():
    for plant in (COUNTS["tea"], "PLANT-gamma"):
        release = leaky(None)
        object.__setattr__(release, "notes", (f"{plant} people",))
        assert "a plant in what is shown" in leaks(release)
    release = leaky(None)
    object.__setattr__(release, "extras", Extras(k=COUNTS["tea"]))
    assert "a plant in a int" in leaks(release)


def test_a_release_takes_nothing_that_reaches_a_table():
    release = leaky(None)
    with pytest.raises(TypeError, match="frame must be words"):
        dataclasses.replace(release, frame=lambda columns: columns)
    assert dataclasses.replace(release, frame=Frame("polars", ("String",))).frame.engine == "polars"
    with pytest.raises(ValueError, match="engine must be one of"):
        Frame("sqlite")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="types must be"):
        Frame("polars", ("Enum(categories=['SECRET'])" * 2,))


def test_a_type_that_lists_its_values_is_not_told():
    """An enumeration knows all labels there are: its name is no public word."""
    import polars as pl

    kinds = pl.Enum([*COUNTS])
    rows = ROWS.with_columns(pl.col("item").cast(kinds))
    for table in (rows, rows.to_pandas(), rows.to_arrow()):
        check_release(sl.top_k(sl.count(table, user="user", item="item"), 2, epsilon=2.0, delta=1e-4))


def test_labels_become_values_of_their_own():
    private = np.array([3, 4, 5])
    structured = np.array([(1, "x"), (2, "y")], dtype=[("a", int), ("b", "U1")])
    labels = [private[0], np.str_("a"), np.bool_(True), np.float64(0.5), structured[0], pa.array(["p", "q"])[0],
              memoryview(b"m"), (np.int64(8), "t"), pa.scalar(9)]  # fmt: skip
    from shortlist.release import plain_label

    plain = [plain_label(label) for label in labels]
    assert plain == [3, "a", True, 0.5, (1, "x"), "p", b"m", (8, "t"), 9]
    assert [type(label) for label in plain] == [int, str, bool, float, tuple, str, bytes, tuple, int]
    assert leaks(plain) == []
    release = sl.Scores([9000, 1], labels=[pa.array(["winner", "PLANT"])[0], "loser"], monotone=True, public=True)
    assert leaks(sl.select(release, epsilon=1.0)) == []
