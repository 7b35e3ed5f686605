"""The ledgers in the studio: the consent in their words, large epsilons, and the view of whoever answers for one."""

import csv
import io
import sqlite3
import time
from unittest import mock

import pytest

import shortlist as sl
from shortlist.privacy import ZCDP, ApproxDP
from tests.helpers.studios import QUESTION, SECRET, Running, fill


@pytest.fixture
def studio(tmp_path):
    fill(tmp_path)
    sl.Ledger(tmp_path / "large.db", budget=sl.PureDP(99.0))
    running = Running(tmp_path)
    yield running
    running.close()


def test_the_consent_is_in_the_ledgers_words(studio):
    said = studio.ask("plan", {**QUESTION, "epsilon": 0.5})[1]
    assert said["consent"] == "I spend epsilon 0.5 of the 3 in year.db; 2.5 will be left."
    assert (
        said["risk"]
        == "Someone who gave one user a probability of 1% to be in the data can give it at most 1.7% afterwards."
    )
    studio.release(epsilon=0.5)
    said = studio.ask("plan", {**QUESTION, "epsilon": 2.5})[1]
    assert said["consent"] == "I spend epsilon 2.5 of the 3 in year.db; nothing will be left."
    said = studio.ask("plan", {**QUESTION, "epsilon": 0.5, "ordered": True})[1]
    assert "(" not in said["consent"] + said["guarantee"] + said["price"]


@pytest.mark.parametrize("budget", [ApproxDP(3.0, 1e-5), ZCDP(2.0)], ids=str)
def test_other_budgets_are_told_by_what_is_left_of_them(studio, budget):
    sl.Ledger(studio.folder / "other.db", budget=budget)
    status, plan = studio.ask("plan", {**QUESTION, "epsilon": 0.5, "ledger": "other.db"})
    assert status == 200, plan
    left = "; up to 2.5 will be left." if budget.delta else "; then a charge of up to epsilon"
    assert f"in other.db{left}" in plan["consent"]
    assert plan["consent"].startswith(
        "I spend epsilon 0.5 of the 3" if budget.delta else "I spend rho 0.1225 of the 2 in"
    )
    assert "DP" not in plan["consent"]


def test_the_consent_says_that_somebody_else_must_approve(studio):
    for name, budget in (("pure.db", sl.PureDP(3.0)), ("zcdp.db", ZCDP(2.0))):
        sl.Ledger(studio.folder / name, budget=budget, approval=True)
        said = studio.ask("plan", {**QUESTION, "epsilon": 0.5, "ledger": name})[1]["consent"]
        assert f"in {name}, once somebody else has approved it; " in said


def test_a_price_in_another_currency_names_the_budget(studio):
    sl.Ledger(studio.folder / "other.db", budget=ApproxDP(3.0, 1e-5))
    with mock.patch("shortlist.studio.forms.price_text", return_value="rho 0.1"):
        plan = studio.ask("plan", {**QUESTION, "ledger": "other.db"})[1]
    assert plan["consent"].startswith("I spend rho 0.1 from other.db, whose budget is epsilon 3; then a charge")


def test_a_large_epsilon_is_told_and_an_absurd_one_needs_a_tick(studio):
    assert studio.ask("plan", QUESTION)[1]["caution"] == ""
    large = {**QUESTION, "ledger": "large.db", "epsilon": 12.0}
    assert "promises little" in studio.ask("plan", large)[1]["caution"]
    quantile = {"kind": "quantile", "value": "film", "lower": "0", "upper": "9", "epsilon": 31.0}
    for more in ({"epsilon": 31.0}, {"epsilon": 31.0, "large": False}, quantile):
        for route in ("plan", "expected"):
            status, answer = studio.ask(route, {**large, **more})
            assert status == 400
            assert answer["error"].startswith(
                "epsilon: above 30 it promises nobody anything (50% becomes at most 100%)"
            )
    assert studio.ask("plan", {**large, "epsilon": 30.0})[0] == 200
    assert studio.ask("plan", {**large, "epsilon": 31.0, "large": "yes"})[0] == 400
    for more in ({"epsilon": 31.0}, quantile):
        assert studio.ask("plan", {**large, **more, "large": True})[0] == 200
    job = studio.release(**{**large, "epsilon": 31.0, "large": True})
    assert "allow_large=True" in studio.send("GET", f"download/{job['job']}/repeat.py")[2].decode()


def test_the_officer_sees_every_entry_the_odds_and_the_chain(studio):
    for epsilon in (0.5, 1.0):
        studio.release(epsilon=epsilon)
    status, seen = studio.ask("officer", {"ledger": "year.db"})
    assert status == 200, seen
    assert (seen["verified"], seen["promise"], seen["times"]) == (2, "ε = 3", "2 releases")
    assert (seen["booked_text"], seen["guess_text"]) == ("81.8%", "95.3%")
    assert seen["head"] == sl.Ledger(studio.folder / "year.db").head
    assert [row[0] for row in seen["entries"]] == ["1", "2"]
    assert [row[-1] for row in seen["entries"]] == ["epsilon 0.5", "epsilon 1"]
    assert all("films of the week" in row and any("film" in cell for cell in row) for row in seen["entries"])
    assert len(seen["columns"]) == len(seen["entries"][0])
    assert (seen["waiting"], seen["caution"]) == ([], "")
    assert SECRET not in str(seen)
    assert str(studio.folder) not in str(seen)


def test_an_empty_ledger_has_given_nothing_away(studio):
    seen = studio.ask("officer", {"ledger": "large.db"})[1]
    assert (seen["booked_text"], seen["entries"], seen["verified"]) == ("50%", [], 0)
    assert "promises little" in seen["caution"]
    assert "promises little" in next(
        one["caution"] for one in studio.ask("state")[1]["ledgers"] if one["name"] == "large.db"
    )


def test_the_officer_downloads_what_the_ledger_reports(studio):
    (studio.folder / "own").mkdir()
    sl.Ledger(studio.folder / "own" / "q 4.db", budget=sl.PureDP(3.0))
    studio.release(ledger="own/q 4.db", purpose="=1+1")
    status, headers, page = studio.send("GET", "ledger/report.html/own/q%204.db")
    assert status == 200
    assert headers["Content-Disposition"] == 'attachment; filename="q 4-ledger.html"'
    assert b"verified: it has one entry" in page
    status, headers, table = studio.send("GET", "ledger/report.csv/own/q%204.db")
    (row,) = csv.DictReader(io.StringIO(table.decode()))
    assert (row["number"], row["purpose"], row["epsilon"]) == ("1", "'=1+1", "1.0")
    ledger = sl.Ledger(studio.folder / "own" / "q 4.db")
    ledger.report(studio.folder / "q4.html")
    assert (studio.folder / "q4.html").read_bytes() == page
    assert (studio.folder / "q4.csv").read_bytes() == table


@pytest.mark.parametrize("name", ["../year.db", "nowhere.db", "rentals.csv", "", None, 3])
def test_only_ledgers_of_the_folder_are_shown(studio, name):
    status, answer = studio.ask("officer", {"ledger": name})
    assert status == 400
    assert "ledger" in answer["error"]


@pytest.mark.parametrize("path", ["ledger/evil/year.db", "ledger/report.html/a/../year.db", "ledger/report.html/b.db"])
def test_other_downloads_are_refused(studio, path):
    assert studio.send("GET", path)[0] in (400, 404)


def test_a_broken_chain_is_not_shown_as_whole(studio):
    import sqlite3

    studio.release()
    with sqlite3.connect(studio.folder / "year.db") as db:
        for (trigger,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f'DROP TRIGGER "{trigger}"')
        db.execute("UPDATE entries SET purpose = 'another'")
    db.close()
    status, answer = studio.ask("officer", {"ledger": "year.db"})
    assert status == 400
    assert "year.db" in answer["error"]
    assert studio.send("GET", "ledger/report.html/year.db")[0] == 400


def test_approvals_that_wait_are_shown_with_the_request_alone(studio):
    sl.Ledger(studio.folder / "two.db", budget=sl.PureDP(3.0), approval=True)
    job = studio.release(ledger="two.db")
    assert job["state"] == "failed"
    assert "waits for somebody else's approval" in job["error"]
    seen = studio.ask("officer", {"ledger": "two.db"})[1]
    (one,) = seen["waiting"]
    assert (one["number"], one["purpose"]) == (1, "films of the week")
    assert "rentals.csv" in one["source"]
    assert b"Waiting for approval" in studio.send("GET", "ledger/report.html/two.db")[2]
    with (
        mock.patch("shortlist.ledger.sqlite.user_name", return_value="somebody else"),
        mock.patch("shortlist.ledger.sqlite.user_name", return_value="somebody else"),
    ):
        sl.Ledger(studio.folder / "two.db").approve(1)
    seen = studio.ask("officer", {"ledger": "two.db"})[1]
    assert seen["waiting"] == []
    assert seen["entries"][1][-1] == "approves entry 1: no charge"
    assert b"Waiting for approval" not in studio.send("GET", "ledger/report.html/two.db")[2]


def test_a_locked_database_of_the_folder_does_not_hold_up_the_page(studio):
    """Any program may hold the lock of a file called .db for as long as it likes."""
    held = []
    for n in range(12):
        db = sqlite3.connect(studio.folder / f"other{n:02}.db", isolation_level=None)
        db.execute("CREATE TABLE t (a)")
        db.execute("BEGIN EXCLUSIVE")
        held.append(db)
    began = time.monotonic()
    status, state = studio.ask("state")
    assert time.monotonic() - began < 20
    assert status == 200
    assert [one["name"] for one in state["ledgers"]] == ["large.db", "year.db"]
    for db in held:
        db.close()


@pytest.mark.parametrize("route", ["plan", "officer"])
def test_a_locked_ledger_is_told_in_words_and_soon(studio, monkeypatch, route):
    monkeypatch.setattr("shortlist.studio.inputs.LEDGER_SECONDS", 0.1)
    db = sqlite3.connect(studio.folder / "year.db", isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    began = time.monotonic()
    status, told = studio.ask(route, QUESTION)
    assert time.monotonic() - began < 20
    assert (status, "locked by another process" in told["error"]) == (400, True)
    db.close()


def test_a_ledger_that_is_locked_after_the_plan_ends_the_release_and_lets_others_on(studio, monkeypatch):
    """One release runs at a time: one that waits for a lock keeps those from other ledgers waiting."""
    monkeypatch.setattr("shortlist.studio.inputs.LEDGER_SECONDS", 0.1)
    plan = studio.ask("plan", QUESTION)[1]
    db = sqlite3.connect(studio.folder / "year.db", isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    began = time.monotonic()
    job = studio.ask("release", {"confirm": plan["confirm"], "agree": True})[1]["job"]
    while (told := studio.ask(f"job/{job}")[1])["state"] not in ("done", "failed") and time.monotonic() - began < 20:
        time.sleep(0.05)
    db.close()
    assert (told["state"], told["booked"]) == ("failed", False)
    assert "locked by another process" in told["error"]
    assert studio.release(ledger="large.db")["state"] == "done"
    assert sl.Ledger(studio.folder / "year.db").entries() == []
