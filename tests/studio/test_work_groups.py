"""A list for every group in the studio: planned by public facts, booked once, then counted."""

import csv
import io

import pytest

import shortlist as sl
from shortlist.privacy import ApproxDP
from tests.helpers.studios import FILMS, QUESTION, Running, fill


@pytest.fixture
def studio(tmp_path):
    fill(tmp_path, rows=10)
    cells = [
        f"{land}{n},{FILMS[(place + shift) % 8]},{land},{week}"
        for shift, land in enumerate(("CH", "DE", "XX"))
        for place, many in enumerate((90, 60, 30, 5))
        for n in range(many)
        for week in (39, 40)
    ]
    (tmp_path / "lands.csv").write_text("\n".join(["who,film,land,week", *cells]) + "\n")
    sl.Ledger(tmp_path / "both.db", budget=ApproxDP(90.0, 1e-4))
    running = Running(tmp_path)
    yield running
    running.close()


GROUPS = {"table": "lands.csv", "by": "land", "groups": "CH, DE", "k": 2, "epsilon": 40.0, "ledger": "both.db",
          "large": True}  # fmt: skip


def test_every_group_has_its_list_for_one_charge(studio, monkeypatch, capsys):
    status, plan = studio.ask("plan", {**QUESTION, **GROUPS, "where": "week >= 40"})
    assert status == 200, plan
    assert (plan["by"], plan["groups"], plan["groups_per_user"], plan["price"]) == ("land", 2, 1, "epsilon 40")
    job = studio.release(**GROUPS, where="week >= 40")
    assert job["state"] == "done", job
    assert [(one["key"], one["items"]) for one in job["lists"]] == [("CH", ["Alien", "Heat"]), ("DE", ["Heat", "Jaws"])]
    assert sl.Ledger(studio.folder / "both.db").spent.epsilon == 40.0
    rows = list(csv.DictReader(io.StringIO(studio.send("GET", f"download/{job['job']}/list.csv")[2].decode())))
    assert [row["land"] for row in rows] == ["CH", "CH", "DE", "DE"]
    assert b"One user is in at most 1 group" in studio.send("GET", f"download/{job['job']}/report.html")[2]
    program = studio.send("GET", f"download/{job['job']}/repeat.py")[2].decode()
    monkeypatch.chdir(studio.folder)
    exec(compile(program, "repeat.py", "exec"), {})
    assert "2 lists, 4 items in all" in capsys.readouterr().out
    assert sl.Ledger(studio.folder / "both.db").spent.epsilon == 80.0


def test_groups_from_the_data(studio):
    words = {"groups": "", "candidates": "none", "delta": 1e-6}
    job = studio.release(**(GROUPS | words))
    assert job["state"] == "done", job
    assert [one["key"] for one in job["lists"]] == ["CH", "DE", "XX"]


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ({"groups": ""}, "groups: write the public groups"),
        ({"candidates": "every", "delta": 1e-6, "k": None}, "by: a list for every group"),
        ({"by": "who"}, "by must name other columns"),
        ({"where": "count(*) > 1"}, "where"),
        ({"groups_per_user": 0}, "groups_per_user: write a whole number"),
        ({"groups_per_user": 3}, "groups_per_user"),
    ],
)
def test_what_does_not_fit_is_refused_by_the_plan(studio, words, field):
    status, answer = studio.ask("plan", {**QUESTION, **GROUPS, **words})
    assert status == 400, answer
    assert field in answer["error"]
    assert sl.Ledger(studio.folder / "both.db").spent.epsilon == 0
