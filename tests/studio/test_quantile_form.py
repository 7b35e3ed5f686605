"""Quantiles in the studio: planned by public facts, confirmed, booked once, then counted; of all or of groups."""

import csv
import io

import pytest

import shortlist as sl
from shortlist.studio.forms import Form
from shortlist.studio.inputs import Folder
from tests.helpers.studios import Running, fill

ASKED = {
    "kind": "quantile", "table": "ages.csv", "user": "who", "value": "age", "lower": "0", "upper": "120", "step": "",
    "q": "0.25, 0.5", "epsilon": 30.0, "delta": None, "ledger": "both.db", "purpose": "ages of the year", "unit": "",
    "by": "", "groups": "", "groups_per_user": None,
}  # fmt: skip


@pytest.fixture
def studio(tmp_path):
    fill(tmp_path, rows=10)
    cells = [f"{land}{n},{20 + shift + n % 40},2024-01-{1 + n % 28:02},{land}"
             for shift, land in enumerate(("CH", "DE", "XX")) for n in range(400)]  # fmt: skip
    (tmp_path / "ages.csv").write_text("\n".join(["who,age,day,land", *cells]) + "\n")
    sl.Ledger(tmp_path / "both.db", budget=sl.ApproxDP(90.0, 1e-4))
    running = Running(tmp_path)
    yield running
    running.close()


def test_the_plan_says_what_it_costs_and_opens_nothing(studio):
    (studio.folder / "ages.csv").write_bytes(b"\xff")  # not even a header
    status, plan = studio.ask("plan", ASKED)
    assert status == 200, plan
    assert (plan["q"], plan["k"], plan["price"]) == ([0.25, 0.5], None, "epsilon 30")
    assert "permute-and-flip" in plan["mechanism"]
    assert plan["why"].startswith("Quantile with exponential noise (permute-and-flip)")
    assert sl.Ledger(studio.folder / "both.db").spent.epsilon == 0


def test_quantiles_are_released_and_repeated(studio, monkeypatch, capsys):
    job = studio.release(**ASKED)
    assert job["state"] == "done", job
    assert job["quantiles"] is True
    assert job["items"] == ["a quarter are at or below", "median"]
    assert 28 <= int(job["values"][0]) <= 33
    assert sl.Ledger(studio.folder / "both.db").spent.epsilon == 30.0
    rows = list(csv.DictReader(io.StringIO(studio.send("GET", f"download/{job['job']}/list.csv")[2].decode())))
    assert [row["q"] for row in rows] == ["0.25", "0.5"]
    assert b"ages of the year" in studio.send("GET", f"download/{job['job']}/report.html")[2]
    program = studio.send("GET", f"download/{job['job']}/repeat.py")[2].decode()
    monkeypatch.chdir(studio.folder)
    exec(compile(program, "repeat.py", "exec"), {})
    assert "2 quantiles, as asked for" in capsys.readouterr().out
    assert sl.Ledger(studio.folder / "both.db").spent.epsilon == 60.0


def test_every_group_has_its_own_for_one_charge(studio, monkeypatch, capsys):
    words = {"value": "day", "lower": "2024-01-01", "upper": "2024-12-31", "step": "1", "q": "", "by": "land",
             "groups": "CH, DE", "epsilon": 20.0}  # fmt: skip
    status, plan = studio.ask("plan", {**ASKED, **words})
    assert (status, plan["groups"], plan["price"]) == (200, 2, "epsilon 20"), plan
    job = studio.release(**{**ASKED, **words})
    assert job["state"] == "done", job
    assert [one["key"] for one in job["lists"]] == ["CH", "DE"]
    assert all(one["values"][0].startswith("2024-01-1") for one in job["lists"])
    assert sl.Ledger(studio.folder / "both.db").spent.epsilon == 20.0
    program = studio.send("GET", f"download/{job['job']}/repeat.py")[2].decode()
    monkeypatch.chdir(studio.folder)
    exec(compile(program, "repeat.py", "exec"), {})
    assert "CH" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"kind": "mode"}, "kind: choose"),
        ({"value": ""}, "value: write which column holds"),
        ({"lower": ""}, "lower: write the smallest value"),
        ({"upper": "much"}, "upper: write a public number"),
        ({"upper": "-3"}, "lower must be below upper"),
        ({"q": "half"}, "q: write numbers from 0 to 1"),
        ({"q": "2"}, "q must be from 0 to 1"),
        ({"by": "land"}, "groups must be listed"),
        ({"epsilon": 0}, "epsilon: write a number above 0"),
        ({"epsilon": 900.0}, "no room"),
    ],
)
def test_what_does_not_fit_is_refused_by_the_plan(studio, words, said):
    status, answer = studio.ask("plan", {**ASKED, **words})
    assert status in (400, 409), answer
    assert said in answer["error"] or said == "no room"
    assert sl.Ledger(studio.folder / "both.db").spent.epsilon == 0


def test_a_table_without_the_column_is_not_charged(studio):
    job = studio.release(**{**ASKED, "value": "height"})
    assert job["state"] == "failed"
    assert "no column height" in job["error"]
    assert sl.Ledger(studio.folder / "both.db").spent.epsilon == 0


def test_a_budget_with_a_delta_is_written_into_the_program(tmp_path):
    fill(tmp_path, rows=10)
    request = {**ASKED, "table": "rentals.csv", "ledger": "year.db", "delta": 1e-6, "unit": "reader"}
    form = Form.of(Folder.of(tmp_path), request)
    assert "budget=sl.ApproxDP(epsilon=30.0, delta=1e-06)" in form.program(Folder.of(tmp_path))
    assert "unit='reader'" in form.program(Folder.of(tmp_path))
