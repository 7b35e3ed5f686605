"""What the studio says is in its own words: fields by their names, no argument of Python, no file of the repository."""

import re
from importlib.resources import files

import pytest

import shortlist as sl
from shortlist.studio.expected import SHAPES, forecast
from shortlist.studio.forms import Offer
from shortlist.studio.inputs import Folder, error_text, notes_of
from shortlist.studio.planner import Planner
from tests.helpers.studios import QUESTION, Running, fill


@pytest.fixture
def studio(tmp_path):
    fill(tmp_path)
    sl.Ledger(tmp_path / "large.db", budget=sl.PureDP(20.0))
    running = Running(tmp_path)
    yield running
    running.close()


@pytest.mark.parametrize("column", ["userid", "it's", 'a "b"'])
def test_a_missing_column_is_told_by_its_field(studio, column):
    said = studio.release(user=column)["error"]
    assert (
        said == f"user: the table has no column {column}; write it as the table does, or read the names of its columns"
    )


def test_who_waits_for_approval_is_shown_the_view_that_names_the_ledger():
    said = error_text(sl.privacy.ApprovalNeeded("two.db", 2))
    assert said.startswith("entry 2 of two.db waits for somebody else's approval, as “The ledgers” says; then ask")
    assert "LEDGER" not in said


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
    assert job["error"].startswith("user: the table has no column userid; write it as the table does, or read")
    assert studio.release(item="filmm")["error"] == "item: the table has no column filmm; did you mean 'film'?"
    (studio.folder / "rentals.csv").write_text("r0663,waste\nr0664,noise\n")
    said = studio.release(user="R0663", item="Waste")["error"]
    assert said.endswith("has the file a line of names?")  # a row of data stands there, and is not told
    assert not [word for word in ("r0663", "waste") if word in said]
    assert sl.Ledger(studio.folder / "year.db").spent.epsilon == 0


class Known(Planner):
    """Answers at once, and says of how many people."""

    def ask(self, facts, epsilon):
        described = f"top {facts['k']} of {facts['items']:,} items, {facts['users']:,} users, {facts['shape']}"
        return {"described": described, "rows": [], "bound": 0.1}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"by": "land", "groups": "CH, DE, FR"}, "600 people in each group, counts"),
        ({"by": "land", "groups": "CH, DE, FR"}, "1,800 people in 3 groups are taken as 600 in every group;"),
        ({"by": "land", "groups": "CH, DE, FR", "groups_per_user": 2}, "1,200 people in each group, counts"),
        ({"by": "land", "groups": "CH, DE, FR", "groups_per_user": 3}, "1,800 people in each group, counts"),
        ({"by": "land", "candidates": "none"}, "is not known: this is of a group of 1,800."),
        ({"where": "film <> 'Ran'"}, "People are here those who have rows that count."),
        (
            {"candidates": "none"},
            "Fewer than 3 may come out: a name needs enough people. 10,000 items are only a guess.",
        ),
        ({"candidates": "none", "items": 50}, "top 3 of 50 items, 1,800 people"),
        ({"users": None}, "top 3 of 8 items, 10,000 people"),
        ({"unit": "citizen"}, "1,800 people"),
    ],
    ids=str,
)
def test_a_forecast_says_of_how_many_people_it_is(studio, change, said):
    sl.Ledger(studio.folder / "both.db", budget=sl.ApproxDP(9.0, 1e-4))
    asked = {**QUESTION, "users": 1800, "shape": "zipf:1.1", "delta": 1e-6, "ledger": "both.db", **change}
    answer = forecast(Offer.of(Folder.of(studio.folder), asked), asked, Known(1.0))
    assert said in answer["told"]
    assert "users" not in answer["told"]
    guesses = asked["users"] is None or (asked["candidates"] == "none" and "items" not in asked)
    assert (answer["guessed"], answer["told"].endswith("are only a guess.")) == (guesses, guesses)


def test_nothing_is_certain_and_counts_are_no_part_of_the_comparison(studio):
    class Sure(Planner):
        def ask(self, facts, epsilon):
            return {"described": "", "rows": [{"mechanism": "guarded", "reached": 1.0, "needed": 0.1}], "bound": 0.1}

    for values, others in ((False, "public facts alone"), (True, "names alone")):
        asked = {**QUESTION, "users": 5000, "shape": "zipf:1.1", "values": values}
        answer = forecast(Offer.of(Folder.of(studio.folder), asked), asked, Sure(1.0))
        assert others in answer["others"]
        assert "a chance of more than 99.9%" in answer["told"]
        assert answer["rows"][0]["runs"] is not values


def test_shapes_are_told_as_the_page_calls_them(studio):
    offer = Offer.of(Folder.of(studio.folder), QUESTION)
    for shape, words in SHAPES.items():
        told = forecast(offer, {"users": 5000, "shape": shape}, Known(1.0))["told"]
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
    assert (
        studio.ask("plan", QUESTION)[1]["booked"]
        == "year.db: epsilon 0 of 3 is booked now, 1 of 3 with this release; 2 will be left."
    )


@pytest.mark.parametrize("rows", [1, 2])
def test_a_result_says_what_a_reader_of_its_numbers_has_to_know_once(rows):
    counts = [[0] * 12] * rows if rows > 1 else [0] * 12
    release = sl.top_k(counts, k=11, epsilon=1e-3, monotone=True, values=True)
    notes = notes_of(release)
    assert len([note for note in notes if note.startswith("A value below its ± says little")]) == 1
    assert not [note for note in notes if "=" in note]  # no argument of Python
    assert len(set(notes)) == len(notes)
    lists = [release] if isinstance(release, sl.Release) else list(release.values())
    named = [note for one in lists for note in one.notes]
    assert {note[1:].rstrip(".") for note in (*named, *release.notes)} <= {note[1:].rstrip(".") for note in notes}


def test_the_screen_shows_these_notes_and_no_bar_twice(studio):
    sl.Ledger(studio.folder / "both.db", budget=sl.ApproxDP(9.0, 1e-4))
    asked = {"candidates": "none", "delta": 1e-6, "ledger": "both.db", "values": True, "k": 9}
    job = studio.release(**asked)
    whole = " ".join([job["summary"], *job["notes"]])
    assert whole.count("a name must stand about") == 1
    assert "A set, sorted by label" not in whole


def test_what_a_bad_line_costs_is_said_before_the_consent(studio):
    (studio.folder / "t.parquet").write_bytes(b"")  # nothing of it is read for a plan
    text, footer = (
        studio.ask("plan", {**QUESTION, "table": name})[1]["spent"] for name in ("rentals.csv", "t.parquet")
    )
    assert text.startswith("It is spent for good, whatever comes out: also if a line of the file cannot be read (")
    assert footer == "It is spent for good, whatever comes out."


def test_a_ledger_says_what_is_left_and_for_which_tables_it_paid(studio):
    sl.Ledger(studio.folder / "both.db", budget=sl.ApproxDP(9.0, 1e-4))
    for _ in range(6):
        studio.release(epsilon=0.5)
    ledgers = {one["name"]: one for one in studio.ask("state")[1]["ledgers"]}
    one = ledgers["year.db"]
    assert one["left"].startswith("Nothing is left. Ask whoever keeps this budget: ")
    assert (one["number"], len(one["entries"]), one["tables"]) == (6, 5, ["rentals.csv"])
    assert (ledgers["large.db"]["left"], ledgers["large.db"]["tables"]) == ("Epsilon 20 is left.", [])
    assert ledgers["both.db"]["left"] == "Up to epsilon 9 is left."


def test_a_budget_is_told_in_odds_before_a_ledger_is_made_with_it(studio):
    assert studio.ask("risk", {"epsilon": 3}) == (
        200,
        {
            "risk": "Once all of it is spent: best guess whether one user is in the data, "
            "right at most 95.3% of the time.",
            "caution": "",
        },
    )
    assert "promises little" in studio.ask("risk", {"epsilon": 10.5, "delta": 1e-6})[1]["caution"]
    assert studio.ask("risk", {"epsilon": "1,5"})[0] == 400


def test_the_last_question_is_there_for_a_page_that_is_loaded_again(studio):
    assert studio.ask("state")[1]["asked"] is None
    studio.ask("plan", {**QUESTION, "epsilon": 9.0})  # refused: it has no room
    assert studio.ask("state")[1]["asked"] is None
    studio.ask("plan", QUESTION)
    assert studio.ask("state")[1]["asked"] == QUESTION
