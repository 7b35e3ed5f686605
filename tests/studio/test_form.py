"""Names from the data and counts with margins in the studio: planned by public facts, booked, then counted."""

import ast
import csv
import io

import pytest

import shortlist as sl
from shortlist.privacy import ApproxDP
from shortlist.studio.forms import Form
from shortlist.studio.inputs import Folder
from tests.helpers.studios import FILMS, QUESTION, Running, fill


@pytest.fixture
def studio(tmp_path):
    fill(tmp_path)
    sl.Ledger(tmp_path / "both.db", budget=ApproxDP(9.0, 1e-4))
    running = Running(tmp_path)
    yield running
    running.close()


EVERY = {"candidates": "every", "delta": 1e-6, "epsilon": 2.0, "ledger": "both.db", "k": None}


@pytest.mark.parametrize("most", [None, 1, 4])
def test_every_name_that_enough_people_hold_comes_with_counts_and_margins(studio, most):
    status, plan = studio.ask("plan", {**QUESTION, **EVERY, "most": most})
    assert status == 200, plan
    assert (plan["k"], plan["candidates"]) == (None, None)
    assert plan["price"] == "epsilon 2 and delta 1e-6"
    job = studio.release(**EVERY, most=most)
    assert job["state"] == "done", job
    assert len(job["items"]) == len(job["values"]) > 2
    assert all(" ± " in one and one.endswith("(95%)") for one in job["values"])
    assert set(job["items"]) <= set(FILMS)
    assert job["ordered"] is True
    assert f"{len(job['items'])} came out: a name needs about" in job["summary"]
    assert sl.Ledger(studio.folder / "both.db").spent.epsilon == 2.0
    sent = studio.send("GET", f"download/{job['job']}/list.csv")
    rows = list(csv.DictReader(io.StringIO(sent[2].decode())))
    assert list(rows[0]) == ["rank", "item", "value", "margin"]
    assert 'filename="names.csv"' in sent[1]["Content-Disposition"]
    assert "Unlisted secret film" not in str(job)


def test_the_program_for_every_name_runs_again(studio, monkeypatch, capsys):
    job = studio.release(**EVERY, most=2)
    program = studio.send("GET", f"download/{job['job']}/repeat.py")[2].decode()
    monkeypatch.chdir(studio.folder)
    exec(compile(program, "repeat.py", "exec"), {})
    assert "came out" in capsys.readouterr().out
    assert sl.Ledger(studio.folder / "both.db").spent.epsilon == 4.0
    assert (studio.folder / "names.html").exists()


@pytest.mark.parametrize(
    "change", [{}, {"most": 1}, {"candidates": "none", "delta": 1e-6, "ledger": "both.db"}], ids=str
)
def test_the_best_come_with_counts_where_they_are_asked_for(studio, change):
    job = studio.release(values=True, k=2, **change)
    assert job["state"] == "done", job
    assert len(job["values"]) == len(job["items"])
    assert all(one.endswith("(95%)") for one in job["values"])
    assert job["ordered"] is True
    plain = studio.release(k=2)
    assert (plain["values"], plain["margins"]) == ([], False)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({**EVERY, "delta": None}, "delta: without a public list"),
        ({**EVERY, "most": 0}, "most: write a whole number"),
        ({**EVERY, "most": 5000}, "most must be"),
        ({"most": 5000}, "most must be"),
        ({"values": "yes"}, "values: true or false"),
        ({"k": None}, "k: write a whole number"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_booked(studio, change, told):
    status, answer = studio.ask("plan", {**QUESTION, **change})
    assert status == 400
    assert told in answer["error"]
    assert sl.Ledger(studio.folder / "both.db").spent.epsilon == 0


def written(folder, **change):
    fill(folder, rows=10)
    question = {**QUESTION, **EVERY, "epsilon": 0.5, "ledger": "year.db", "purpose": "chart", **change}
    program = ast.parse(Form.of(Folder.of(folder), question).program(Folder.of(folder)))
    calls = (one for one in ast.walk(program) if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute))
    return {ast.unparse(one.func): {word.arg: ast.unparse(word.value) for word in one.keywords} for one in calls}


def test_the_program_asks_for_names_caps_and_counts_again(tmp_path):
    paid = {"ledger": "ledger", "purpose": "'chart'"}
    columns = {"user": "'who'", "item": "'film'"}
    budget = {"budget": "sl.ApproxDP(epsilon=0.5, delta=1e-06)"}
    assert written(tmp_path)["sl.keys"] == {**columns, **budget, **paid}
    assert written(tmp_path, most=3)["sl.keys"] == {**columns, "most": "3", **budget, **paid}
    pasted = {"candidates": "text", "candidates_text": "Alien\nHeat\nRan", "delta": None}
    both = written(tmp_path, k=2, most=3, values=True, **pasted)
    listed = {"candidates": "['Alien', 'Heat', 'Ran']", "most": "3"}
    assert both["sl.top_k"] == {"k": "2", **columns, **listed, "epsilon": "0.5", "values": "True", **paid}


def test_the_smallest_are_asked_for_where_the_list_is_public(studio, monkeypatch, capsys):
    (studio.folder / "few.csv").write_text(
        "who,film\n" + "".join(f"p{n},{film}\n" for n in range(900) for film in FILMS[: 8 if n < 9 else 7])
    )
    asked = {"table": "few.csv", "smallest": True, "k": 1}
    assert studio.ask("plan", {**QUESTION, **asked})[1]["smallest"] is True
    job = studio.release(**asked)
    assert (job["items"], job["smallest"]) == ([FILMS[7]], True)
    program = studio.send("GET", f"download/{job['job']}/repeat.py")[2].decode()
    assert "largest=False" in program
    assert "no forecast" in studio.ask("expected", {**QUESTION, **asked, "users": 900})[1]["told"]
    private = {**asked, "candidates": "none", "delta": 1e-6, "ledger": "both.db"}
    status, answer = studio.ask("plan", {**QUESTION, **private})
    assert (status, answer["error"].split(":")[0]) == (400, "smallest")
    assert studio.release(**{**asked, "smallest": False})["smallest"] is False


def test_a_first_line_that_is_a_candidate_is_a_row_and_is_not_quoted(studio):
    (studio.folder / "bare.csv").write_text("Anna Meier,Lasagne\nBea Roth,Soup\n")
    words = {"table": "bare.csv", "user": "Anna Meier", "item": "Lasagne", "candidates": "text", "k": 1}
    status, told = studio.ask("plan", {**QUESTION, **words, "candidates_text": "Lasagne\nSoup"})
    assert (status, told["error"].partition(",")[0]) == (400, "item: the column is called like one of the candidates")
    assert "Lasagne" not in told["error"]
    assert studio.ask("plan", {**QUESTION, **words, "item": "dish", "candidates_text": "Lasagne\nSoup"})[0] == 200


def test_all_candidates_may_be_measured(studio):
    words = {"candidates": "text", "candidates_text": "Alien\nHeat", "k": 2}
    assert "says nothing about people" in studio.ask("plan", {**QUESTION, **words})[1]["error"]
    status, plan = studio.ask("plan", {**QUESTION, **words, "values": True})
    assert (status, plan["asked_of"].endswith("; candidates as written")) == (200, True)


def test_a_ledger_says_what_is_left_of_its_delta(studio):
    ledgers = {one["name"]: one for one in studio.ask("state", None)[1]["ledgers"]}
    assert "0.0001" in ledgers["both.db"]["delta"]
