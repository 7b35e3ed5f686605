"""What the studio says is in its own words: fields by their names, no argument of Python, no file of the repository."""

import re
from importlib.resources import files

import pytest

import shortlist as sl
from shortlist.studio.expected import SHAPES, expected
from shortlist.studio.folder import Folder
from shortlist.studio.planner import Planner
from shortlist.studio.quantile_form import offered
from shortlist.studio.wording import page_words
from tests.helpers.studios import QUESTION, Running, fill


@pytest.fixture
def studio(tmp_path):
    fill(tmp_path)
    sl.Ledger(tmp_path / "large.db", budget=sl.PureDP(20.0))
    running = Running(tmp_path)
    yield running
    running.close()


@pytest.mark.parametrize("column", ["userid", "it's", 'a "b"'])
def test_a_missing_column_is_told_by_its_field(column):
    said = page_words(f"user={column!r}: the table has no column of that name; write it as the table does")
    assert (
        said == f"user: the table has no column {column}; write it as the table does, or read the names of its columns"
    )


@pytest.mark.parametrize(
    "change", [{}, {"ordered": True}, {"values": True}, {"ledger": "large.db", "epsilon": 12.0}], ids=str
)
def test_a_plan_names_nothing_of_a_program(studio, change):
    status, plan = studio.ask("plan", {**QUESTION, **change})
    assert status == 200
    assert not re.search(r"docs/|sl\.|\.md", str(plan))
    assert not re.search(r"docs/|sl\.|\.md", str(studio.ask("state")[1]))


def test_a_misspelt_column_is_told_by_its_field_and_costs_nothing(studio):
    job = studio.release(user="userid")
    assert job["error"].startswith("user: the table has no column userid;")
    assert sl.Ledger(studio.folder / "year.db").spent.epsilon == 0


def test_shapes_are_told_as_the_page_calls_them(studio):
    class Known(Planner):
        def ask(self, facts, epsilon):
            return {"described": f"top 3 of 8 items, 5,000 users, {facts['shape']}", "rows": [], "bound": 0.1}

    offer = offered(Folder.of(studio.folder), QUESTION)
    for shape, words in SHAPES.items():
        told = expected(offer, {"users": 5000, "shape": shape}, Known(1.0))["told"]
        assert (words in told, shape in told) == (True, False)
    page = files("shortlist").joinpath("studio/assets/studio.html").read_text()
    assert re.findall(r'<option value="(\w+:[\d.]+)"', page) == list(SHAPES)
    assert "zipf" not in re.sub(r'value="[^"]*"', "", page)


def test_an_entry_without_a_purpose_says_so(studio):
    studio.release(purpose="")
    ledgers = {one["name"]: one for one in studio.ask("state")[1]["ledgers"]}
    assert [one["purpose"] for one in ledgers["year.db"]["entries"]] == ["not said"]


@pytest.mark.parametrize("k", [8, 500])
def test_a_list_as_long_as_the_candidates_is_refused_with_the_longest_that_is_one(studio, k):
    status, answer = studio.ask("plan", {**QUESTION, "k": k})
    assert status == 400
    assert answer["error"].startswith("k: there are 8 candidates")
    assert answer["error"].endswith("write a number from 1 to 7")
    assert studio.ask("plan", {**QUESTION, "k": 7})[0] == 200
    alone = {"candidates": "text", "candidates_text": "Alien", "k": 1}
    assert "only one candidate" in studio.ask("plan", {**QUESTION, **alone})[1]["error"]


def test_what_is_booked_is_told_once(studio):
    assert studio.ask("plan", QUESTION)[1]["booked"] == "year.db: epsilon 0 of 3 is booked, 1 after this."
