"""`sl.quantile`: every engine gives the same votes, one person's rows move nobody else's, and refusals show nothing."""

import datetime
import json
from fractions import Fraction
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import shortlist as sl
from shortlist import Scores
from shortlist.cli.app import app
from shortlist.scores import Grid, Votes
from shortlist.tables.question import TOKENS
from shortlist.testing import seeded
from tests.helpers.taint import leaks
from tests.helpers.typed import present
from tests.tables.tables import votes

pytestmark = pytest.mark.usefixtures("one_duckdb")

DAY = datetime.date(2024, 1, 1)
LAST = datetime.date(2024, 12, 31)
CASES: list[tuple[str, Any, Any, Any]] = [
    ("v", 0.0, 100.0, None),
    ("v", 0, 100, 0.25),
    ("k", 0, 120, None),
    ("d", DAY, LAST, 7),
]


def made(many=240, seed=1):
    rng = np.random.default_rng(seed)
    here = np.arange(many)
    values = [
        None if n % 17 == 0 else float("nan") if n % 19 == 0 else x for n, x in enumerate(rng.normal(50, 40, many))
    ]
    values[5:7] = [float("inf"), float("-inf")]
    users = [None if n % 23 == 0 else "" if n % 29 == 0 else f"p{k}" for n, k in enumerate(rng.integers(0, 40, many))]
    days = [DAY + datetime.timedelta(days=int(n)) for n in rng.integers(-20, 400, many)]
    return pl.DataFrame({"u": users, "v": values, "k": rng.integers(-5, 130, many), "d": days, "n": here})


def by_hand(rows, value, grid, per_user):
    """The votes in plain Python, from the words of the promise."""
    places: dict[str, list[int]] = {}
    for user, cell in rows.select("u", value).rows():
        if user and cell is not None and cell == cell:
            number = Fraction(cell.toordinal()) if value == "d" else cell
            if per_user == "sum":
                whole = max(min(number / float(grid.step), 2.0**33), -(2.0**33))
                places.setdefault(user, []).append(int(np.floor(whole + 0.5)))
            else:
                places.setdefault(user, []).append(int(grid.places(np.array([float(number)]))[0]))
    votes: dict[int, int] = {}
    for own in places.values():
        own.sort()
        r = len(own)
        shares = [(own[j], TOKENS * (j + 1) // r - TOKENS * j // r) for j in range(r)]
        one = {"median": own[(r - 1) // 2], "mean": sum(own) // r, "min": own[0], "max": own[-1], "sum": 0}
        if per_user == "sum":
            one["sum"] = min(max(sum(own) + grid.start, 0), grid.size - 1)
        for place, weight in shares if per_user == "share" else [(one[per_user], 1)]:
            votes[place] = votes.get(place, 0) + weight
    return sorted((place, weight) for place, weight in votes.items() if weight)


@pytest.mark.parametrize("per_user", ["share", "median", "mean", "min", "max", "sum"])
def test_every_engine_gives_the_votes_of_plain_python(tmp_path, per_user):
    rows = made(120)
    rows.write_parquet(tmp_path / "t.parquet")
    rows.write_csv(tmp_path / "t.csv")
    arrow, connection = rows.to_arrow(), duckdb.connect()
    connection.register("held", arrow)
    engines = {
        "polars": rows, "lazy": rows.lazy(), "arrow": arrow, "pandas": arrow.to_pandas(types_mapper=pd.ArrowDtype),
        "duckdb": connection.sql("SELECT * FROM held ORDER BY n DESC"), "parquet": str(tmp_path / "t.parquet"),
        "csv": str(tmp_path / "t.csv"), "ibis": ibis.duckdb.connect().create_table("t", arrow),
        "sqlite": ibis.sqlite.connect().create_table("t", rows.select("u", "v", "k").to_arrow()),
    }  # fmt: skip
    turn = 0
    for value, lower, upper, step in CASES:
        if per_user == "sum" and value == "d":
            continue
        for name, table in engines.items():
            turn += 1  # engines take turns: each meets every kind of value in one of the six tests
            if (name == "sqlite" and value == "d") or (turn + len(per_user)) % 3:
                continue
            [(places, weights)] = votes(table, value, lower, upper, step, per_user)
            assert list(zip(places.tolist(), weights.tolist(), strict=True)) == by_hand(
                rows, value, Grid.of(lower, upper, step), per_user
            ), (name, value)


@pytest.mark.parametrize("per_user", ["share", "median", "mean", "min", "max", "sum"])
def test_removing_a_person_takes_away_one_vote_and_moves_nothing_else(per_user):
    rows = made(120, seed=2)
    grid = Grid.of(0.0, 100.0, 0.5)

    def dense_votes(table):
        dense = np.zeros(grid.size, np.int64)
        [(places, weights)] = votes(table, "v", 0.0, 100.0, 0.5, per_user)
        dense[places] = weights
        return dense

    whole = dense_votes(rows)
    for person in ("p1", "p7", "p30"):
        taken = whole - dense_votes(rows.filter(pl.col("u") != person))
        assert taken.min() >= 0
        assert taken.sum() in (0, TOKENS if per_user == "share" else 1)


def test_each_row_is_a_person_where_that_is_said():
    rows = made(50)
    for table in (rows, duckdb.sql("SELECT * FROM rows")):
        assert votes(table, "k", 0, 120, user=None)[0][1].sum() == 50


def test_quantiles_of_a_table_come_in_the_kind_of_its_values(tmp_path):
    rows = made(2000, seed=3)
    dates = sl.quantile(rows, user="u", value="d", q=[0.25, 0.75], lower=DAY, upper=LAST, epsilon=20.0)
    assert all(isinstance(one, datetime.date) for one in present(dates.values))
    assert dates.values == sorted(present(dates.values))
    assert dates.to_frame()["value"].to_list() == dates.values
    assert dates.q == dates.to_frame()["q"].to_list() == [0.25, 0.75]
    assert sl.Release.from_json(dates.to_json()) == dates
    whole = sl.quantile(rows, user="u", value="k", lower=0, upper=120, epsilon=20.0)
    assert type(whole.item) is int
    assert 45 < whole.item < 80
    assert whole.values == [whole.item]
    real = sl.quantile(rows, user="u", value="v", lower=0.0, upper=100.0, budget=sl.ZCDP(20.0))
    assert type(real.item) is float
    assert "exponential mechanism" in real.mechanism
    assert "the rows of a person share one vote" in real.notes
    for release in (dates, whole, real):
        release.report(tmp_path / "page.html")
        assert "quantile" in (tmp_path / "page.html").read_text()
        assert release.summary.startswith(("1 quantile,", "2 quantiles,"))
        assert str(present(release.items)[0]) in str(release)
        release.plot()


def test_arrays_and_series_have_one_number_for_each_person(tmp_path):
    ages = [31, 44, 27, 65, 38] * 400
    for rows in (ages, np.array(ages), pl.Series(ages), pd.Series(ages), np.array(ages, float)):
        assert sl.quantile(rows, lower=0, upper=120, step=1, epsilon=2.0).item == 38
    days = [DAY + datetime.timedelta(days=n % 9) for n in range(900)]
    assert sl.quantile(days, lower=DAY, upper=LAST, epsilon=5.0).item == DAY + datetime.timedelta(days=4)
    assert sl.quantile([], lower=0, upper=3, epsilon=1.0).item in range(4)
    for rows in ([1, 2], [1, 2.5], [1, None], [], np.zeros(0), np.zeros(0, int)):  # no value changes the grid
        ledger = sl.Ledger(tmp_path / f"{len(rows)}{type(rows)}.db", budget=sl.PureDP(9.0))
        sl.quantile(rows, lower=0, upper=9, epsilon=1.0, ledger=ledger)
        assert "numbers in memory, from 0 to 9 by 1" in str(ledger.entries()[0].source)
    assert sl.quantile([float("nan"), 2.0], lower=0, upper=3, step=1, epsilon=1.0).item in range(4)


def test_an_empty_table_gives_a_point_and_no_error():
    rows = made(10).clear()
    for per_user in ("share", "median", "mean", "min", "max", "sum"):
        found = sl.quantile(rows, user="u", value="k", q=[0.1, 0.9], lower=0, upper=9, per_user=per_user, epsilon=1.0)
        assert len(found) == 2


def test_the_charge_is_booked_before_a_row_is_read(tmp_path):
    rows, path = made(300), tmp_path / "t.parquet"
    rows.write_parquet(path)
    ledger = sl.Ledger(tmp_path / "q.db", budget=sl.PureDP(1.0))
    words: Any = {"user": "u", "value": "k", "lower": 0, "upper": 120}
    release = sl.quantile(str(path), epsilon=0.75, ledger=ledger, purpose="the median", **words)
    assert release.receipt is not None
    assert release.receipt.purpose == "the median"
    with pytest.raises(sl.BudgetExceeded):
        sl.quantile(str(path), epsilon=0.75, ledger=ledger, **words)
    torn = tmp_path / "torn.csv"
    torn.write_text('u,k\n1,2\n2,"3\n')
    with pytest.raises(ValueError, match="cannot be counted"):
        sl.quantile(str(torn), epsilon=0.1, ledger=ledger, **words)
    assert len(ledger.entries()) == 2  # the charge of what could not be read stays
    with pytest.raises(ValueError, match="no column of that name"):
        sl.quantile(str(path), epsilon=0.1, ledger=ledger, **{**words, "value": "no"})
    assert len(ledger.entries()) == 2


def test_a_release_reaches_no_row():
    secret = [4_000_000 + n for n in range(400)]
    rows = pl.DataFrame({"u": [f"PLANT{n}" for n in range(400)], "v": secret})
    release = sl.quantile(rows, user="u", value="v", lower=0, upper=100, epsilon=1.0, rng=seeded(1))
    assert leaks(release, ("PLANT",), frozenset(secret)) == []


WORDS: dict[str, Any] = {
    "user": "u", "q": 0.5, "lower": 0, "upper": 9, "step": None, "per_user": "share", "epsilon": 1.0, "delta": None,
    "budget": None, "method": "auto", "unit": "user", "memory": None, "multiline": False,
}  # fmt: skip
ROWS = pl.DataFrame({"u": [1, 2], "v": [70001, 70002], "t": ["SECRET", "SECRET"]})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"lower": None}, "public numbers you choose"),
        ({"lower": 9}, "lower must be below upper"),
        ({"step": -1}, "step must be above 0"),
        ({"step": 100}, "not be larger"),
        ({"step": 1e-15}, "2\\^40 points"),
        ({"upper": float("inf")}, "finite"),
        ({"upper": LAST}, "two numbers or two dates"),
        ({"lower": DAY, "upper": LAST}, "give lower and upper as numbers"),
        ({"q": 2}, "from 0 to 1"),
        ({"value": "t"}, "numbers or dates"),
        ({"value": None}, "value must be the name"),
        ({"value": "u"}, "different columns"),
        ({"user": "w"}, "no column of that name"),
        ({"per_user": "mode"}, "per_user must be one of"),
        ({"per_user": "sum", "step": 1e-11}, "too fine"),
        ({"method": "joint"}, "method must be one of"),
        ({"memory": "512MB"}, "memory is for files"),
        ({"epsilon": None}, "epsilon"),
        ({"unit": ""}, "unit must be a word"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(words, said):
    with pytest.raises((ValueError, TypeError), match=said) as refused:
        sl.quantile(ROWS, **{"user": "u", "value": "v", "lower": 0, "upper": 9, "epsilon": 1.0, **words})
    assert "7000" not in str(refused.value)
    assert "SECRET" not in str(refused.value)


def test_grids_are_what_was_written():
    tenth = Grid.of(0, 1, 0.1)
    assert (tenth.size, tenth.point(3), tenth.kind) == (11, 0.3, "real")
    assert Grid.of(0.0, 100.0).step == Fraction(1, 2**14)
    assert Grid.of(-3, 4).start == 3
    assert Grid.of(DAY, LAST, datetime.timedelta(days=7)).point(1) == datetime.date(2024, 1, 8)
    assert Grid.of(0, 9).places(np.array([-5.0, 0.4, 0.5, 8.6, 1e300])).tolist() == [0, 0, 1, 9, 9]


def test_votes_show_nothing_to_other_mechanisms():
    votes = Scores._of_table(
        Votes(Grid.of(0, 9), np.array([3]), np.array([2])), sensitivity=1, monotone=True, public=True, unit="user"
    )
    with pytest.raises(ValueError, match="counted from people's rows"):
        _ = votes.values
    with pytest.raises(TypeError, match="votes on a grid"):
        _ = votes.as_public().values
    with pytest.raises(ValueError, match="as_public"):
        sl.mechanisms.Quantile(q=0.5, epsilon=1.0).runs(votes)
    assert sl.mechanisms.Quantile(q=0.5, epsilon=1.0).runs(votes.as_public())[1].first == 3


def test_bounds_on_the_command_line_are_read_as_written(tmp_path):
    rows, run = tmp_path / "t.csv", CliRunner()
    rows.write_text("u,k,d\n1,2,2024-03-01\n2,3,2024-05-01\n")
    asked = ["quantile", str(rows), "--user", "u", "--epsilon", "1", "--json"]
    for value, lower, upper in (("k", "-3", "9"), ("k", "0.5", "9.5"), ("d", "2024-01-01", "2024-12-31")):
        shown = run.invoke(app, [*asked, "--value", value, "--lower", lower, "--upper", upper])
        assert lower in (*map(str, sl.Release.from_json(shown.stdout).notes), shown.stdout) or shown.exit_code == 0
    wrong = run.invoke(app, [*asked, "--value", "k", "--lower", "SECRET", "--upper", "9"])
    assert "must be a number or a date" in str(wrong.exception) + wrong.output


def test_the_rule_is_public():
    words: dict[str, Any] = {"user": "u", "value": "v", "lower": 0, "upper": 9, "epsilon": 1.0}
    assert "permute-and-flip" in sl.quantile(ROWS, **words).why
    assert sl.quantile(ROWS, **words, method="exponential").why == "named by the caller"
    assert "not pure" in sl.quantile(ROWS, **words, delta=1e-6).why


def test_json_has_the_quantiles_once():
    text = json.loads(sl.quantile([1, 2, 3], lower=0, upper=9, epsilon=1.0).to_json())
    assert text["extras"] == {"q": [0.5]}
    assert "values" not in text


def test_the_command_prints_quantiles_and_books_them(tmp_path):
    rows, path, book = made(400), str(tmp_path / "t.csv"), str(tmp_path / "q.db")
    rows.write_csv(path)
    sl.Ledger(book, budget=sl.ApproxDP(9.0, 1e-6))
    run, out = CliRunner(), str(tmp_path / "out.csv")
    asked = ["quantile", path, "--user", "u", "--value", "k", "--lower", "0", "--upper", "120", "--epsilon", "2"]
    shown = run.invoke(app, [*asked, "-q", "0.25", "-q", "0.75", "--json", "--ledger", book, "--out", out])
    assert shown.exit_code == 0, shown.output
    release = sl.Release.from_json(shown.stdout)
    assert release.q == [0.25, 0.75]
    assert present(release.receipt).purpose == "quantile of t.csv"
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == "q,value"
    plain = run.invoke(app, ["quantile", path, "--one-row-each", *asked[4:]])
    assert "1 quantile, as asked for." in plain.stdout
    assert run.invoke(app, [*asked, "--one-row-each"]).exit_code != 0
    assert run.invoke(app, ["quantile", path, *asked[4:]]).exit_code != 0
    torn = tmp_path / "torn.csv"
    torn.write_text('u,k\n1,2\n2,"3\n')
    failed = run.invoke(app, ["quantile", str(torn), *asked[2:], "--ledger", book])
    assert "the charge stays" in failed.output


def test_the_contract_has_quartiles_of_the_example():
    rows, _ = sl.example("films")
    words: Any = {"user": "user_id", "value": "age", "q": [0.25, 0.5, 0.75], "lower": 0, "upper": 120}
    found = present(sl.quantile(rows, epsilon=1.0, **words).values)
    assert found == sorted(found)
    assert all(16 <= age <= 90 for age in found)


@pytest.mark.parametrize("odd", [10**400, -(10**400), "private", None, object(), float("nan"), complex(1, 1)])
def test_no_cell_of_a_list_raises_an_error(odd):
    """What one person brings may count or not; it must not show by an error before anything is booked."""
    release = sl.quantile([1, 3, 3, odd], q=0.5, lower=0, upper=10, epsilon=50.0, rng=seeded(1))
    assert present(release.values)[0] in (1, 2, 3)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_missing_value_of_a_series_is_left_out(library):
    made: Any = {
        "pandas": lambda: pd.Series([3, None, 3, 3], dtype="Int64"),
        "polars": lambda: pl.Series([3, None, 3, 3]),
        "pyarrow": lambda: pa.array([3, None, 3, 3]),
    }
    release = sl.quantile(made[library](), q=0.5, lower=0, upper=10, epsilon=50.0, rng=seeded(1))
    assert present(release.values) == [3]


def test_a_masked_array_is_refused():
    masked: Any = np.ma.array([1, 9, 9], mask=[False, True, True])
    with pytest.raises(TypeError, match="rows must be"):
        sl.quantile(masked, q=0.5, lower=0, upper=10, epsilon=1.0)


def test_cells_without_a_number_are_left_out_and_a_note_says_so(tmp_path):
    (tmp_path / "days.csv").write_text("who,days\n" + "".join(f"{n},{4 if n % 2 else 'long'}\n" for n in range(400)))
    path = str(tmp_path / "days.csv")
    release = sl.quantile(path, user="who", value="days", q=0.5, lower=0, upper=60, epsilon=5.0, rng=seeded(1))
    assert release.values == [4]
    assert any("a cell that holds no such value is left out" in note for note in release.notes)
