"""What an old file gets in its first write, with every row and the chain as they were."""

import getpass
import shutil
import sqlite3
from contextlib import closing

import pytest

from shortlist import BudgetExceeded, Ledger, PureDP
from shortlist.privacy import ApprovalNeeded, ApproxDP, LedgerError
from tests.ledger.test_file import edit
from tests.ledger.test_ledger_golden import FACTS, GOLDEN


def schema(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("PRAGMA user_version").fetchone()[0]


def rows(path):
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT * FROM entries ORDER BY number").fetchall()


@pytest.mark.parametrize("name", FACTS)
def test_an_old_ledger_is_upgraded_by_its_first_write_and_by_nothing_else(name, tmp_path):
    path = shutil.copy(GOLDEN / name, tmp_path)
    ledger, old = Ledger(path), rows(path)
    ledger.verify()
    ledger.entries()
    with pytest.raises(BudgetExceeded):
        ledger.charge(PureDP(1e6))
    assert schema(path) == 1
    ledger.charge(PureDP(0.001), source="films.parquet: user u, item film")
    assert schema(path) == 6
    assert rows(path)[: len(old)] == old
    again = Ledger(path)
    assert again.verify(head=FACTS[name]["head"]) == len(old) + 1
    assert again.entries()[-1].source == "films.parquet: user u, item film"
    assert all(entry.who is None for entry in again.entries()[:-1])


def test_a_new_ledger_notes_who_asked_and_which_table(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", budget=PureDP(1.0))
    ledger.charge(PureDP(0.1), source="films.parquet: user u, item film")
    (entry,) = ledger.entries()
    assert schema(ledger.path) == 6
    assert (entry.who, entry.source, entry.request) == (getpass.getuser(), "films.parquet: user u, item film", None)


@pytest.mark.parametrize("name", ["pure-approval", "split-approval"])
def test_requests_of_schema_2_are_read_but_cover_no_cost(name, tmp_path, monkeypatch):
    """Made before requests stated their cost: one that was charged, one that was approved, one that waits."""
    path = shutil.copy(GOLDEN.parent / "schema_2" / f"{name}.db", tmp_path)
    monkeypatch.setattr("shortlist.ledger.sqlite.user_name", lambda: "anna")
    monkeypatch.setattr("shortlist.ledger.sqlite.user_name", lambda: "anna")
    ledger, old = Ledger(path), rows(path)
    assert (schema(path), ledger.verify(), ledger.spent.epsilon) == (2, 6, 0.5)
    said = {"mechanism": "NoisyMax(..)", "unit": "user", "source": "films.parquet: user u, item film"}
    with pytest.raises(ApprovalNeeded, match="entry 7"):
        ledger.charge(PureDP(0.25), purpose="second", **said)
    assert (schema(path), rows(path)[:6]) == (6, old)
    again = Ledger(path)
    assert again.verify() == 7
    assert (again.entries()[-1].epsilon, again.spent.epsilon) == ("1/4", 0.5)


def test_a_ledger_that_was_closed_in_schema_2_stays_closed(tmp_path):
    path = shutil.copy(GOLDEN.parent / "schema_2" / "closed.db", tmp_path)
    ledger = Ledger(path)
    assert (schema(path), ledger.verify(), ledger.spent.epsilon) == (3, 2, 0.5)
    with pytest.raises(LedgerError, match="closed for good and books nothing more: the year is over"):
        ledger.charge(PureDP(0.1))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE facts SET who = 'somebody' WHERE number = 3",
        "UPDATE facts SET source = 'another table' WHERE number = 3",
        "UPDATE facts SET request = 1 WHERE number = 3",
        "DELETE FROM facts WHERE number = 3",
        "INSERT INTO facts VALUES (4, 'somebody', '', NULL)",
        "INSERT INTO facts VALUES (-1, 'somebody', '', NULL)",
        "UPDATE facts SET number = 9 WHERE number = 3",
        "UPDATE facts SET who = X'00' WHERE number = 3",
    ],
)
def test_an_edit_of_the_facts_is_found_at_once_at_the_end_and_by_verify(tmp_path, statement):
    ledger = Ledger(tmp_path / "budget.db", budget=PureDP(1.0))
    for _ in range(3):
        ledger.charge(PureDP(0.1))
    edit(ledger.path, statement)
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(ledger.path)


def test_an_edit_of_the_facts_in_the_middle_is_found_by_verify(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", budget=ApproxDP(1.0, 1e-6))
    for _ in range(5):
        ledger.charge(PureDP(0.1))
    edit(ledger.path, "UPDATE facts SET who = 'somebody' WHERE number = 3")
    with pytest.raises(LedgerError, match="entry 3 does not follow"):
        ledger.verify()


def test_the_facts_only_grow(tmp_path):
    ledger = Ledger(tmp_path / "budget.db", budget=PureDP(1.0))
    ledger.charge(PureDP(0.1))
    with closing(sqlite3.connect(ledger.path)) as db:
        for statement in ("DELETE FROM facts", "UPDATE facts SET who = ''"):
            with pytest.raises(sqlite3.IntegrityError):
                db.execute(statement)
