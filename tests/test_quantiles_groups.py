"""Quantiles of groups: every engine gives the same votes, one person moves their groups alone, and one charge pays."""

import datetime
from functools import cache
from itertools import product
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import shortlist as sl
from shortlist.audit import Law, prove
from shortlist.audit.certified import stable
from shortlist.cli.app import app
from shortlist.mechanisms import Quantile
from shortlist.privacy import PureDP
from shortlist.scores import Grid
from shortlist.tables.question import TOKENS
from shortlist.testing import seeded
from tests.helpers.taint import leaks
from tests.tables.tables import votes
from tests.test_quantiles import by_hand

pytestmark = pytest.mark.usefixtures("one_duckdb", "one_salt")


@pytest.fixture
def one_salt(monkeypatch):
    """Counts that are compared break ties alike."""
    monkeypatch.setattr("shortlist.tables.question.fresh_salt", lambda: "5a17" * 8)


LISTED = ["CH", "DE", "FR"]
WORDS: dict[str, Any] = {"user": "u", "value": "k", "lower": 0, "upper": 120, "by": "c", "groups": LISTED}


def made(many=300, seed=1):
    rng = np.random.default_rng(seed)
    users = [None if n % 23 == 0 else "" if n % 29 == 0 else f"p{k}" for n, k in enumerate(rng.integers(0, 50, many))]
    names = np.array(["CH", "DE", "FR", "XX", None], object)
    here = rng.choice(names, many, p=[0.4, 0.3, 0.15, 0.1, 0.05]).tolist()
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(days=int(n)) for n in rng.integers(0, 3, many)]
    ages = [None if n % 31 == 0 else int(k) for n, k in enumerate(rng.integers(-5, 130, many))]
    return pl.DataFrame({"u": users, "k": ages, "c": here, "d": days, "w": rng.integers(1, 4, many)})


def ages_of(table: Any, upper: int = 120, **words: Any) -> list[list[tuple[int, int]]]:
    found = votes(table, "k", 0, upper, **words)
    return [list(zip(places.tolist(), weights.tolist(), strict=True)) for places, weights in found]


def plainly(rows, most, per_user):
    """In plain Python: whose groups are kept, and each group's votes by the words of the promise."""
    here = rows.drop_nulls().filter(pl.col("u") != "", pl.col("c").is_in(LISTED))
    many = {(u, c): n for u, c, n in here.group_by("u", "c").len().rows()}
    kept = {u: sorted({c for v, c in many if v == u}, key=lambda c: -many[u, c]) for u, _ in many}
    assert all(
        len({many[u, c] for c in own}) == len(own) or len(own) <= most for u, own in kept.items()
    )  # no ties: these are broken by a hash
    pairs = {(u, c) for u, own in kept.items() for c in own[:most]}
    parts = [here.filter((pl.col("c") == c) & pl.col("u").is_in([u for u, own in pairs if own == c])) for c in LISTED]
    return [by_hand(part, "k", Grid.of(0, 120), per_user) for part in parts]


def without_ties(rows, most):
    """The people whose groups all have different numbers of rows."""
    here = rows.drop_nulls().filter(pl.col("c").is_in(LISTED))
    counts = here.group_by("u", "c").len()
    ties = counts.group_by("u").agg(tied=pl.col("len").n_unique() < pl.len(), held=pl.len())
    odd = ties.filter(pl.col("tied") & (pl.col("held") > most))["u"]
    return rows.filter(~pl.col("u").is_in(odd.to_list()))


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("per_user", ["share", "median", "mean", "min", "max", "sum"])
def test_every_engine_gives_the_votes_of_plain_python(tmp_path, per_user, most):
    rows = without_ties(made(), most)
    rows.write_parquet(tmp_path / "t.parquet")
    rows.write_csv(tmp_path / "t.csv")
    arrow = rows.to_arrow()
    engines: dict[str, Any] = {
        "polars": rows, "lazy": rows.lazy(), "arrow": arrow, "pandas": arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "plain pandas": rows.with_columns(pl.col("k").cast(pl.Float64)).to_pandas(),
        "duckdb": duckdb.sql("SELECT * FROM arrow"), "parquet": str(tmp_path / "t.parquet"),
        "csv": str(tmp_path / "t.csv"), "ibis": ibis.duckdb.connect().create_table("t", arrow),
        "sqlite": ibis.sqlite.connect().create_table("t", rows.drop("d").to_arrow()),
    }  # fmt: skip
    words: Any = {"per_user": per_user, "by": "c", "groups": LISTED, "groups_per_user": most}
    expected = plainly(rows, most, per_user)
    assert all(expected)
    for turn, (name, table) in enumerate(engines.items()):
        if (turn + len(per_user) + most) % 2 or name == "sqlite":  # engines take turns
            assert ages_of(table, **words) == expected, name


def test_ties_between_groups_are_broken_alike_in_every_engine():
    rows = made(200, seed=4)
    arrow = rows.to_arrow()
    tables = [rows, arrow, duckdb.sql("SELECT * FROM arrow"), ibis.duckdb.connect().create_table("t", arrow)]
    ages = [ages_of(table, by="c", groups=LISTED) for table in tables]
    assert ages[1:] == ages[:1] * 3


@pytest.mark.parametrize("by", ["d", "w", ("c", "w")])
def test_keys_are_texts_numbers_dates_or_several(by):
    rows = made(200, seed=2)
    parts = rows.drop_nulls().select(by if isinstance(by, str) else list(by)).unique().sort(pl.all()).rows()
    groups = [row[0] if len(row) == 1 else row for row in parts]
    found = sl.quantile(rows, **{**WORDS, "by": by, "groups": groups, "groups_per_user": 2}, epsilon=50.0)
    assert list(found) == groups
    assert list(sl.GroupedRelease.from_json(found.to_json())) == groups


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("per_user", ["share", "mean"])
def test_one_person_moves_their_groups_alone_by_one_vote_each(most, per_user):
    rows = made(250, seed=3)
    words: Any = {"per_user": per_user, "by": "c", "groups": LISTED, "groups_per_user": most}
    whole = [dict(one) for one in ages_of(rows, **words)]
    moved = 0
    for person in ("p1", "p7", "p30", "p31"):
        left = [dict(one) for one in ages_of(rows.filter(pl.col("u") != person), **words)]
        taken = [
            {place: one.get(place, 0) - two.get(place, 0) for place in one | two}
            for one, two in zip(whole, left, strict=True)
        ]
        sums = [sum(one.values()) for one in taken]
        assert all(weight >= 0 for one in taken for weight in one.values())
        assert sum(one > 0 for one in sums) <= most
        assert set(sums) <= {0, TOKENS if per_user == "share" else 1}
        moved += sum(one > 0 for one in sums)
    assert moved


TINY: list[Any] = [(("a", 0), ("b", 0)), (("a", 2), ("b", 2)), (("a", 0), ("a", 2), ("b", 2)), ()]
"""The rows that one person may have, and none."""


@pytest.mark.parametrize("most", [1, 2])
def test_all_groups_together_are_within_epsilon_on_a_box(most):
    """Two groups, three points, up to four people with one to three rows each: our own votes, certified laws."""

    def laws(people, share):
        table = [(u, c, k) for u, own in enumerate(people) for c, k in own]
        rows = pl.DataFrame(table, schema={"u": pl.Int64, "c": pl.String, "k": pl.Int64}, orient="row")
        each = []
        for ages in ages_of(rows, 2, by="c", groups=["a", "b"], groups_per_user=most):
            counts = np.zeros(3, np.int64)
            for place, weight in ages:
                counts[place] = weight
            scores = sl.Scores(counts, sensitivity=TOKENS, monotone=True)
            each.append(stable.quantile_law(Quantile(q=0.0, budget=share, votes_per_user=TOKENS), scores).chances)
        return Law({(one, two): p * r for one, p in each[0].items() for two, r in each[1].items()})

    pairs = [((*others, 3), (*others, own)) for others in product(range(3), repeat=3) for own in range(3)]
    proof = prove(cache(lambda point: laws([TINY[n] for n in point], PureDP(1.0 / most))), pairs, PureDP(1.0))
    assert proof.holds
    assert proof.log_ratio > 0.5  # most of it is used
    if most == 2:  # paid once and not shared by the groups of a person
        people = prove(cache(lambda point: laws([TINY[n] for n in point], PureDP(1.0))), pairs, PureDP(1.0))
        assert not people.holds


def test_one_charge_pays_for_all_groups(tmp_path):
    ledger = sl.Ledger(tmp_path / "q.db", budget=sl.PureDP(1.0))
    found = sl.quantile(made(), **WORDS, q=[0.25, 0.75], epsilon=1.0, groups_per_user=2, ledger=ledger)
    assert len(ledger.entries()) == 1
    assert ledger.spent.epsilon == 1.0
    assert found.per_group == sl.PureDP(0.5)
    assert found.guarantee == sl.PureDP(1.0)
    assert "by c" in (ledger.entries()[0].source or "")
    with pytest.raises(sl.BudgetExceeded):
        sl.quantile(made(), **WORDS, epsilon=0.1, ledger=ledger)
    whole = sl.Ledger(tmp_path / "a.db", budget=sl.ApproxDP(1.0, 1e-6))
    sl.quantile(made(), **WORDS, budget=sl.ApproxDP(1.0, 1e-6), ledger=whole)
    assert len(whole.entries()) == 1


def test_a_release_of_groups_is_shown_and_kept(tmp_path):
    rows = made(3000, seed=5)
    found = sl.quantile(rows, **WORDS, q=[0.25, 0.75], epsilon=30.0)
    assert list(found) == LISTED
    assert found.to_frame().columns == ["c", "q", "value"]
    assert [one.values == sorted(one.values or []) for one in found.values()] == [True] * 3
    assert sl.GroupedRelease.from_json(found.to_json()) == found
    found.report(tmp_path / "page.html")
    assert "DE" in (tmp_path / "page.html").read_text()
    found.plot()
    assert "permute-and-flip" in found.why
    assert "share one vote in a group" in " ".join(found["CH"].notes)
    days = sl.quantile(rows, **{**WORDS, "value": "d", "lower": datetime.date(2024, 1, 1),
                                "upper": datetime.date(2024, 12, 31)}, epsilon=30.0)  # fmt: skip
    assert "2024-01" in str(days)
    table = duckdb.sql("SELECT * FROM rows")
    assert sl.quantile(table, **WORDS, epsilon=1.0).to_frame().columns == ["c", "q", "value"]
    said = sl.quantile(rows, **{**WORDS, "user": None}, epsilon=1.0)
    assert len(said) == 3


def test_a_group_of_nobody_is_released_like_any_other():
    rows = made().clear()
    found = sl.quantile(rows, **WORDS, epsilon=1.0)
    assert [len(one) for one in found.values()] == [1, 1, 1]


def test_a_release_of_groups_reaches_no_row():
    secret = [4_000_000 + n for n in range(400)]
    rows = pl.DataFrame({"u": [f"PLANT{n}" for n in range(400)], "k": secret, "c": ["CH", "PLANTED"] * 200})
    assert leaks(sl.quantile(rows, **WORDS, epsilon=1.0, rng=seeded(1)), ("PLANT",), frozenset(secret)) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"groups": None}, "groups must be listed for quantiles"),
        ({"by": None}, "go with by"),
        ({"by": "u"}, "other columns than user"),
        ({"by": "no"}, "no column of that name"),
        ({"groups_per_user": 4}, "more than the 3 groups"),
        ({"user": None, "groups_per_user": 2}, "must be 1 where each row is a person"),
        ({"groups": ["CH", "CH"]}, "a key twice"),
        ({"groups": [1.5]}, "do not fit"),
        ({"method": "joint"}, "method must be one of"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(words, said):
    with pytest.raises((ValueError, TypeError), match=said):
        sl.quantile(made(), **{**WORDS, **words}, epsilon=1.0)


def test_numbers_in_memory_have_no_groups():
    with pytest.raises((ValueError, TypeError), match="value must be"):
        sl.quantile([1, 2, 3], by="c", groups=["a"], lower=0, upper=9, epsilon=1.0)


def test_the_command_has_groups(tmp_path):
    rows, path, book = made(400), str(tmp_path / "t.csv"), str(tmp_path / "q.db")
    rows.write_csv(path)
    ledger = sl.Ledger(book, budget=sl.PureDP(9.0))
    words = ["quantile", path, "--user", "u", "--value", "k", "--lower", "0", "--upper", "120", "--epsilon", "2"]
    run = CliRunner().invoke(app, [*words, "--by", "c", "--groups", "CH,DE", "--ledger", book, "--json"])
    assert run.exit_code == 0, run.output
    assert list(sl.GroupedRelease.from_json(run.stdout)) == ["CH", "DE"]
    assert len(ledger.entries()) == 1
    assert "groups must be listed" in str(CliRunner().invoke(app, [*words, "--by", "c"]).exception)
    shown = CliRunner().invoke(app, [*words, "--by", "w", "--groups", "1,2", "--one-row-each"])
    assert shown.exit_code != 0
