"""From a file to a server: closed first, so that there are never two budgets; interrupted anywhere, it can go on."""

import shutil
import sqlite3
from contextlib import closing

import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'shortlist[postgres]'")

from shortlist import BudgetExceeded, Ledger, PureDP
from shortlist.ledger import postgres as moving
from shortlist.privacy import LedgerError
from tests.helpers.interrupting import every_place
from tests.helpers.postgres import OWNER
from tests.helpers.support import full_size, sized
from tests.helpers.terminal import called


@pytest.fixture
def old(tmp_path):
    ledger = Ledger(tmp_path / "q4.db", budget=PureDP(2.0))
    ledger.charge(PureDP(0.5), purpose="a\x00b 🗳")
    ledger.reserve(PureDP(0.5), refundable=("pure",)).refund(PureDP(0.25))
    return ledger


def test_a_moved_ledger_goes_on_with_its_chain_and_its_file_is_closed(old, url):
    entries = old.entries()
    done = called("ledger", "move", old.path, url())
    assert done.returncode == 0, done.stderr
    assert "is closed for good; it goes on as postgresql://" in done.stdout
    new = Ledger(url())
    assert new.entries() == entries
    assert new.verify(head=entries[-1].hash) == 3
    new.charge(PureDP(1.25))
    with pytest.raises(BudgetExceeded):
        new.charge(PureDP(0.25))
    for one in (old, Ledger(old.path)):
        with pytest.raises(LedgerError, match="books nothing more: it goes on as postgresql://"):
            one.charge(PureDP(0.25))
        assert one.spent.epsilon == 0.75
    assert [entry.kind for entry in old.entries(last=2)] == ["close", "moved"]
    assert old.verify() == 5
    again = called("ledger", "move", old.path, url())
    assert (again.returncode, "was closed for good: it goes on as" in again.stderr) == (1, True)
    shown = called("ledger", "show", old.path)
    assert shown.returncode == 0


def test_a_closed_file_is_refused_in_words_by_versions_that_know_of_no_closing(old):
    old.close("the year is over")
    with closing(sqlite3.connect(old.path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (7,)
    with pytest.raises(LedgerError, match="books nothing more: the year is over"):
        Ledger(old.path).charge(PureDP(0.25))
    with pytest.raises(LedgerError, match="books nothing more"):
        old.close("again")


def test_a_ledger_of_schema_1_moves_too(server, url, tmp_path):
    from pathlib import Path

    golden = Path(__file__).parents[1] / "golden" / "ledgers" / "pure.db"
    path = shutil.copy(golden, tmp_path / "old.db")
    before = Ledger(path).entries()
    moving.move(str(path), url(), 10.0)
    assert Ledger(url()).entries() == before
    assert Ledger(url()).verify() == len(before)


def test_nothing_is_closed_if_the_server_cannot_take_it(old, url, server):
    for target, words in (
        (url().replace("host=", "host=/nowhere"), "cannot be reached"),
        (url("anna"), "cannot be used so by this role"),
        (url().replace("/ledgers?", "/nothing?"), "no such database"),
    ):
        with pytest.raises(LedgerError, match=words):
            moving.move(old.path, target, 0.0)
    Ledger(url(), budget=PureDP(2.0))
    with pytest.raises(LedgerError, match="is there already"):
        moving.move(old.path, url(), 10.0)
    for wrong in ((url(), url()), (old.path, old.path)):
        with pytest.raises(ValueError, match="move takes a ledger's file"):
            moving.move(*wrong, 10.0)
    old.charge(PureDP(0.25))
    assert old.verify() == 4


def test_a_damaged_file_is_not_moved(old, url):
    with closing(sqlite3.connect(old.path, isolation_level=None)) as db:
        db.execute("DROP TRIGGER entries_stay")
        db.execute("UPDATE entries SET purpose = 'other' WHERE number = 1")
        db.execute(
            "CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END"
        )
    with pytest.raises(LedgerError, match="damaged"):
        moving.move(old.path, url(), 10.0)
    with pytest.raises(LedgerError, match="is not there"):
        Ledger(url())


@full_size
def test_an_interrupt_at_any_line_leaves_one_budget_and_the_same_call_goes_on(old, server, tmp_path):
    numbers = iter(range(10**6))

    def run():
        number = next(numbers)
        path = str(shutil.copy(old.path, tmp_path / f"{number}.db"))
        url = server.url("ledgers", f"moved{number}{tmp_path.name.replace('_', '')}"[:60])

        def check(_interrupt):
            there = True
            try:
                Ledger(url)
            except LedgerError:
                there = False
            closed = bool(Ledger(path)._store.state().closed)
            assert closed or not there, "never two"
            found.add((closed, there))
            if [entry.kind for entry in Ledger(path).entries(last=1)] != ["moved"]:
                moving.move(path, url, 10.0)
            assert Ledger(url).verify() == 3
            with pytest.raises(LedgerError, match="closed for good"):
                Ledger(path).charge(PureDP(0.25))

        return lambda: moving.move(path, url, 10.0), check

    found: set[tuple[bool, bool]] = set()
    assert every_place(run, step=sized(131, full=3)) > 2
    assert (False, False) in found
    assert len(found) == 3 or sized(True, full=False)
    assert OWNER in server.url("ledgers")
