"""`sl.keys`: names from a table, with counts and margins; booked before a row is read, and nothing private said."""

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import shortlist as sl
from shortlist import ZCDP, ApproxDP, Release
from shortlist.cli.app import app
from shortlist.mechanisms import KeySet
from shortlist.tables.count import OpenTable
from shortlist.testing import seeded
from tests.helpers.typed import present

pytestmark = pytest.mark.usefixtures("one_duckdb")


def made(people=3000, names=400, each=12, seed=1):
    """Rows of people who hold up to `each` names, Zipf, and one name that one person alone has."""
    rng = np.random.default_rng(seed)
    held = rng.integers(1, each + 1, people)
    chance = 1 / np.arange(1, names + 1) ** 1.1
    items = [f"n{i:03d}" for i in rng.choice(names, held.sum(), p=chance / chance.sum())]
    who = np.repeat(np.arange(people), held).tolist()
    return pl.DataFrame({"who": [*who, 0], "what": [*items, "secret"]})


ROWS = made()
TRUTH: dict[str, int] = dict(ROWS.group_by("what").agg(pl.col("who").n_unique()).iter_rows())
ASK: dict[str, Any] = {"user": "who", "item": "what", "epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize("words", [{}, {"most": 1}, {"most": 2}, {"most": 5}, {"most": 5, "weighted": True}])
@pytest.mark.parametrize("budget", [ApproxDP(1.0, 1e-6), ZCDP(0.05, 1e-6)])
def test_names_come_with_counts_of_people(words, budget):
    release = sl.keys(ROWS, user="who", item="what", budget=budget, rng=seeded(1), **words)
    assert len(release) > 5
    assert "secret" not in release
    assert release.guarantee == release.charge == budget
    values = present(release.values)
    assert values == sorted(values, reverse=True)
    for item, value, margin in zip(present(release.items), values, present(release.margins), strict=True):
        above = value - TRUTH[str(item)]
        assert above < 5 * margin.half_width
        if not words:  # without a cap the counts are those of all holders
            assert above > -5 * margin.half_width
    assert Release.from_json(release.to_json()) == release
    assert release.to_frame().columns == ["rank", "item", "value", "margin"]


def test_without_values_it_is_a_set():
    release = sl.keys(ROWS, **ASK, values=False, rng=seeded(1))
    assert not release.ordered
    assert (release.values, release.margins) == (None, None)
    assert len(release) > 5


def test_every_engine_and_a_file_name_the_same_people(tmp_path):
    ROWS.write_parquet(tmp_path / "rows.parquet")
    ROWS.write_csv(tmp_path / "rows.csv")
    sources = {
        "polars": ROWS,
        "pandas": ROWS.to_pandas(),
        "pyarrow": ROWS.to_arrow(),
        "duckdb": duckdb.from_arrow(ROWS.to_arrow()),
        "parquet": tmp_path / "rows.parquet",
        "csv": str(tmp_path / "rows.csv"),
    }
    ledger = sl.Ledger(tmp_path / "l.db", budget=ApproxDP(50.0, 1e-3))
    for name, rows in sources.items():
        release = sl.keys(rows, **ASK, ledger=ledger, purpose=name, rng=seeded(2))
        assert {"n000", "n001", "n002"} <= set(present(release.items)), name
        assert abs(present(release.values)[0] - TRUTH["n000"]) < 5 * present(release.margins)[0].half_width
        assert present(release.receipt).purpose == name


def test_several_columns_make_a_name():
    rows = ROWS.with_columns(kind=pl.lit("tea"))
    release = sl.keys(rows, user="who", item=["kind", "what"], epsilon=1.0, delta=1e-6, rng=seeded(1))
    assert ("tea", "n000") in release
    assert release.item_columns == ("kind", "what")


def test_many_names_are_measured_in_a_second_pass():
    """Beyond 64 names a person counts for 64 of the names that came out, and the noise does not grow any more."""
    rows = made(people=4000, names=200, each=90, seed=2)
    truth = dict(rows.group_by("what").agg(pl.col("who").n_unique()).iter_rows())
    release = sl.keys(rows, user="who", item="what", epsilon=6.0, delta=1e-6, rng=seeded(1))
    assert len(release) > 64
    mechanism = KeySet(epsilon=6.0, delta=1e-6)
    error = float(mechanism._measuring_deviation(64))
    assert present(release.margins)[0].error == pytest.approx(error, rel=1e-3)
    off = [
        value - truth[str(item)] for item, value in zip(present(release.items), present(release.values), strict=True)
    ]
    assert abs(np.mean(off)) < 6 * error / len(off) ** 0.5 + 5
    assert any("counts for 64 of them" in note for note in release.notes)


def test_a_count_that_was_capped_is_released_by_the_mechanism_too():
    scores = sl.count(ROWS, user="who", item="what", most=3)
    release = KeySet(most=3, epsilon=1.0, delta=1e-6).release(scores, rng=seeded(1))
    assert "n000" in release
    for wrong in (KeySet(most=2, epsilon=1.0, delta=1e-6), KeySet(epsilon=1.0, delta=1e-6)):
        with pytest.raises(ValueError, match="count a table with most="):
            wrong.release(scores)
    uncapped = sl.count(ROWS, user="who", item="what")
    with pytest.raises(ValueError, match="count a table with most=3"):
        KeySet(most=3, epsilon=1.0, delta=1e-6).release(uncapped)
    assert "n000" in KeySet(epsilon=1.0, delta=1e-6).release(uncapped, rng=seeded(1))


def test_small_counts_are_left_out_of_what_was_released():
    every = sl.keys(ROWS, **ASK, most=3, rng=seeded(4))
    least = sorted(present(every.values))[len(every) // 2]
    some = sl.keys(ROWS, **ASK, most=3, at_least=least, rng=seeded(4))
    # the salt of the count is fresh, so names may differ; the rule does not
    assert 0 < len(some) < len(every)
    assert min(present(some.values)) >= least
    assert len(present(some.margins)) == len(some)
    assert f"items with a noisy value below {least:g} are left out" in some.notes
    with pytest.raises(ValueError, match="at_least looks at noisy counts"):
        sl.keys(ROWS, **ASK, values=False, at_least=20)
    with pytest.raises(ValueError, match="at_least must be a number"):
        sl.keys(ROWS, **ASK, at_least=-3)


def test_top_k_leaves_out_small_values_too():
    release = sl.top_k(
        [900, 500, 20, 7], 3, epsilon=2.0, monotone=True, values=True, gaps=True, at_least=200, rng=seeded(1)
    )
    assert release.indices == [0, 1]
    assert len(present(release.gaps)) == len(present(release.margins)) == 2
    with pytest.raises(ValueError, match="at_least"):
        sl.top_k([900, 5], 1, epsilon=1.0, at_least=10)
    with pytest.raises(ValueError, match="at_least"):
        sl.top_k([900, 5], 1, budget=ApproxDP(1.0, 1e-6), values=True, method="gumbel-values", at_least=10)


def test_the_charge_is_booked_before_a_row_is_read(tmp_path, monkeypatch):
    ledger = sl.Ledger(tmp_path / "l.db", budget=ApproxDP(1.5, 1e-5))
    seen = []
    plain = OpenTable.count

    def counting(table, *given):
        if len(table.source):
            seen.append((len(table.source), ledger.spent.epsilon))
        return plain(table, *given)

    monkeypatch.setattr(OpenTable, "count", counting)
    sl.keys(ROWS, **ASK, most=1, ledger=ledger)
    assert seen == [(len(ROWS), 1.0)]
    with pytest.raises(sl.BudgetExceeded):
        sl.keys(ROWS, **ASK, most=1, ledger=ledger)
    assert len(seen) == 1
    with pytest.raises(ValueError, match="no column of that name"):
        sl.keys(ROWS, user="nobody", item="what", epsilon=0.1, delta=1e-7, ledger=ledger)
    assert ledger.spent.epsilon == 1.0


def test_what_does_not_fit_is_refused_in_words():
    with pytest.raises(ValueError, match="without a delta"):
        sl.keys(ROWS, user="who", item="what", epsilon=1.0)
    with pytest.raises((TypeError, ValueError), match="most must be"):
        sl.keys(ROWS, **ASK, most=5000)
    with pytest.raises(TypeError, match="weighted"):
        sl.keys(ROWS, **ASK, weighted="yes")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="ledger must be a Ledger"):
        sl.keys(ROWS, **ASK, ledger="l.db")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="source must be"):
        sl.keys([1, 2], **ASK)


def test_a_rare_name_says_nothing():
    few = pl.DataFrame({"who": [1, 2, 3], "what": ["secret", "secret", "other"]})
    release = sl.keys(few, **ASK, rng=seeded(1))
    assert release.items == []
    assert "secret" not in str(release) + release.to_json() + repr(release)
    assert (release.values, release.margins) == ([], [])
    assert sl.keys(few.clear(), **ASK, rng=seeded(1)).notes == release.notes


def test_one_persons_label_comes_out_with_probability_delta():
    """One person brings many names nobody else has: one is shown with a chance of at most delta."""
    delta = 0.05
    rows = pl.DataFrame({"who": [1] * 64, "what": [f"s{i}" for i in range(64)]})
    scores, source = sl.count(rows, user="who", item="what"), seeded(1)
    mechanism = KeySet(epsilon=1.0, delta=delta, values=False)
    shown = sum(len(mechanism.release(scores, rng=source)) > 0 for _ in range(400))
    assert shown <= 400 * delta + 5.5 * (400 * delta) ** 0.5
    assert shown > 0


def test_the_command(tmp_path):
    ROWS.write_parquet(tmp_path / "rows.parquet")
    run = CliRunner()
    table, book, out = (str(tmp_path / name) for name in ("rows.parquet", "l.db", "names.csv"))
    sl.Ledger(book, budget=ApproxDP(3.0, 1e-5))
    asked = ["keys", table, "--user", "who", "--item", "what", "--epsilon", "1", "--delta", "1e-6"]
    shown = run.invoke(app, [*asked, "--json", "--ledger", book, "--out", out])
    assert shown.exit_code == 0, shown.output
    release = Release.from_json(shown.stdout.strip())
    assert "n000" in release
    assert present(release.receipt).purpose == "keys of rows.parquet"
    assert json.loads(shown.stdout)["extras"]["margins"]
    assert Path(out).read_text().startswith("rank,item,value,margin")
    plain = run.invoke(app, [*asked, "--most", "1", "--at-least", "40"])
    assert plain.exit_code == 0
    assert "(95%)" in plain.stdout
    assert run.invoke(app, [*asked[:-2]]).exit_code != 0
    assert run.invoke(app, [*asked, "--no-values", "--at-least", "4"]).exit_code != 0
