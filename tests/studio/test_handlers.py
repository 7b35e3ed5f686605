"""The first steps in the studio: made-up films to try it on, a forecast before the consent, a notebook to repeat it."""

import json
import re
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote, unquote

import pytest

import shortlist as sl
from tests.helpers.studios import QUESTION, Running, fill
from tests.helpers.typed import present


@pytest.fixture
def studio(tmp_path):
    sl.Ledger(tmp_path / "year.db", budget=sl.PureDP(3.0))
    sl.Ledger(tmp_path / "both.db", budget=sl.ApproxDP(9.0, 1e-4))
    running = Running(tmp_path)
    yield running
    running.close()


FILMS = {"table": "films.parquet", "user": "user_id", "item": "film"}


def test_the_made_up_films_are_written_once(studio):
    status, found = studio.ask("example", {})
    assert status == 200
    assert "40,000 made-up rows" in found["said"]
    assert [one["name"] for one in found["tables"]] == ["films.parquet"]
    written = (studio.folder / "films.parquet").read_bytes()
    assert "nothing was written" in studio.ask("example", {})[1]["said"]
    assert (studio.folder / "films.parquet").read_bytes() == written
    job = studio.release(**FILMS)
    assert job["state"] == "done", job
    assert "film 001" in job["items"]


@pytest.mark.parametrize("name", ["films.parquet", "films.txt"])
def test_what_is_there_stays_as_it_is(studio, name):
    (studio.folder / name).write_text("mine")
    assert f"There is a {name} in the folder already" in studio.ask("example", {})[1]["said"]
    assert (studio.folder / name).read_text() == "mine"
    assert len(list(studio.folder.glob("films.*"))) == 1


def test_the_folder_cannot_be_named_by_the_page(studio):
    studio.ask("example", {"folder": "/tmp", "name": "evil"})
    assert (studio.folder / "films.txt").exists()


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"values": True, "purpose": "*a* [link](x) \\ # `tick`"},
        {"candidates": "every", "k": None, "delta": 1e-6, "ledger": "both.db"},
        {"kind": "quantile", "value": "age", "lower": "16", "upper": "90", "q": "0.5", "step": ""},
        {"kind": "quantile", "value": "day", "lower": "2024-01-01", "upper": "2024-12-31", "q": "0.5", "step": "1"},
    ],
    ids=str,
)
def test_the_notebook_repeats_the_release(studio, change, monkeypatch):
    studio.ask("example", {})
    if change.get("value") == "day":
        (studio.folder / "days.csv").write_text(
            "user_id,day\n" + "".join(f"{n},2024-02-0{1 + n % 9}\n" for n in range(99))
        )
    job = studio.release(**FILMS | ({"table": "days.csv"} if change.get("value") == "day" else {}) | change)
    assert job["state"] == "done", job
    status, headers, raw = studio.send("GET", f"download/{job['job']}/repeat.ipynb")
    assert status == 200
    assert headers["Content-Disposition"].endswith('.ipynb"')
    notebook = json.loads(raw)
    if find_spec("nbformat"):
        import_module("nbformat").validate(notebook)
    assert [cell["id"] for cell in notebook["cells"]] == [f"cell-{place}" for place in range(5)]
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    names: dict[str, Any] = {}
    monkeypatch.chdir(studio.folder)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "cell", "exec"), names)
    assert len(names["release"]) >= 1
    assert len(list(studio.folder.glob("*.html"))) == 1
    ledger = sl.Ledger(studio.folder / str(change.get("ledger", "year.db")))
    assert ledger.spent.epsilon == 2.0


def test_markdown_in_a_purpose_is_text_in_the_notebook(studio):
    studio.ask("example", {})
    job = studio.release(**FILMS, purpose="<img src=x> [a](b)")
    notebook = json.loads(studio.send("GET", f"download/{job['job']}/repeat.ipynb")[2])
    assert "".join(notebook["cells"][0]["source"]).startswith("# \\<img src=x\\> \\[a\\](b)\n")


def test_the_forecast_needs_no_table_and_says_what_to_fill_in(tmp_path):
    fill(tmp_path)
    (tmp_path / "rentals.csv").write_bytes(b"\x00 this is no table")
    sl.Ledger(tmp_path / "both.db", budget=sl.ApproxDP(9.0, 1e-4))
    studio = Running(tmp_path)
    quantile = {"kind": "quantile", "value": "age", "lower": "16", "upper": "90"}
    every = {"candidates": "every", "k": None, "delta": 1e-6, "ledger": "both.db"}
    try:
        assert "made-up films" in studio.ask("expected", {**QUESTION, **quantile})[1]["told"]
        told = studio.ask("expected", {**QUESTION, **every})[1]["told"]
        bar = re.match(r"A name comes out if it has about ([\d.]+) shared votes \(", told)
        assert float(present(bar)[1]) == pytest.approx(
            float(sl.mechanisms.KeySet(epsilon=1.0, delta=1e-6).bar), rel=0.05
        )
        capped = studio.ask("expected", {**QUESTION, **every, "most": 2})[1]["told"]
        bar = re.match(r"A name comes out if it has about ([\d.]+) people;", capped)
        assert float(present(bar)[1]) == pytest.approx(
            float(sl.mechanisms.KeySet(epsilon=1.0, delta=1e-6, most=2).bar), rel=0.05
        )
        words = {"users": 5000, "shape": "zipf:1.1", "by": "land", "groups": "CH, DE", "groups_per_user": 2}
        groups = studio.ask("expected", {**QUESTION, **words})[1]
        assert "8 items, 5,000 people in each group, counts" in groups["told"]
        assert "5,000 people in 2 groups, each in 2, are taken as 5,000 in every group;" in groups["told"]
        alone = studio.ask("expected", {**QUESTION, "users": 5000, "shape": "zipf:1.1", "epsilon": 0.5})[1]
        assert groups["rows"] == alone["rows"]  # each of two groups has half of epsilon
        assert [row["mechanism"] for row in alone["rows"] if row["runs"]] == ["guarded"]
        assert (alone["guessed"], "public facts alone" in alone["others"]) == (False, True)
        first = studio.ask("expected", {**QUESTION, **words, "quick": True})[1]
        assert set(first) == {"told"}  # an estimate says that it is one, and that the plan follows
        assert first["told"].startswith("A first estimate: ")
        assert first["told"].endswith("Working it out, on made-up counts …")
        counts = studio.ask("expected", {**QUESTION, "users": 5000, "shape": "zipf:1.1", "values": True})[1]["told"]
        assert re.search(
            r"chance of (more than )?[\d.]+%; on average .* of its 3 names belong there\. A count .* most \d+,", counts
        )
        wrong = studio.ask("expected", {**QUESTION, "users": 5000, "shape": "evil", "quick": True})
        assert wrong == (200, {"told": "Working it out, on made-up counts …"})
    finally:
        studio.close()


def test_a_report_is_looked_at_without_an_origin_or_scripts(studio):
    studio.ask("example", {})
    job = studio.release(**FILMS)
    kept = studio.send("GET", f"download/{job['job']}/report.html")
    seen = studio.send("GET", f"look/{job['job']}")
    assert (seen[0], seen[2]) == (200, kept[2])
    assert [one[1]["Content-Disposition"].split(";")[0] for one in (kept, seen)] == ["attachment", "inline"]
    ledger = studio.send("GET", "ledger/look/year.db")
    assert (ledger[0], ledger[1]["Content-Disposition"]) == (200, 'inline; filename="year-ledger.html"')
    assert [one[1]["Content-Security-Policy"] for one in (kept, seen, ledger)] == ["sandbox"] * 3
    assert studio.send("GET", "look/nothing")[0] == 404


@pytest.mark.parametrize("name", ["日本.db", 'a"; x="b.db', "größe.db"])
def test_a_ledger_of_any_name_is_handed_over(studio, name):
    sl.Ledger(studio.folder / name, budget=sl.PureDP(1.0))
    status, headers, _ = studio.send("GET", f"ledger/report.csv/{quote(name)}")
    ways, plain, whole = headers["Content-Disposition"].split("; f")
    assert (status, ways) == (200, "attachment")
    assert plain.isascii()
    assert plain.count('"') == 2
    assert unquote(whole) == f"ilename*=UTF-8''{name.removesuffix('.db')}-ledger.csv"


def test_what_is_missing_is_said_in_words(studio):
    studio.ask("example", {})
    said = {name: studio.ask("plan", {**QUESTION, **FILMS, name: ""})[1]["error"] for name in ("ledger", "table")}
    assert said == {
        "ledger": "ledger: choose the ledger that pays, or make one right below",
        "table": "table: choose a table of the folder",
    }
    assert studio.ask("plan", {**QUESTION, **FILMS, "groups": "CH, DE"})[1]["error"].startswith("by: write the column")
