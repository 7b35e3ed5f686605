"""What others do while a ledger moves: a charge is carried over, and a name that was taken meanwhile is refused."""

import shutil

import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'shortlist[postgres]'")

from shortlist import BudgetExceeded, Ledger, PureDP
from shortlist.ledger import postgres as moving
from shortlist.ledger.postgres import Making
from shortlist.privacy import LedgerError


@pytest.fixture
def old(tmp_path):
    return Ledger(tmp_path / "q4.db", budget=PureDP(2.0))


@pytest.fixture
def after_the_rehearsal(monkeypatch):
    """Let others do something after everything was tried, before the file is closed."""

    def doing(work):
        copy = Making.copy

        def copied(self, *words, **named):
            copy(self, *words, **named)
            if named.get("rehearse"):
                work()

        monkeypatch.setattr(Making, "copy", copied)

    return doing


@pytest.mark.parametrize("before", [0, 1])
def test_a_charge_between_the_trial_and_the_closing_moves_too(old, url, after_the_rehearsal, before):
    for _ in range(before):
        old.charge(PureDP(0.5))
    after_the_rehearsal(lambda: Ledger(old.path).charge(PureDP(1.5), purpose="meanwhile"))
    moving.move(old.path, url(), 10.0)
    new = Ledger(url())
    assert new.spent.epsilon == 1.5 + 0.5 * before
    assert new.verify() == 1 + before
    with pytest.raises(BudgetExceeded):
        new.charge(PureDP(1.0))


def test_an_empty_ledger_does_not_become_another_one_that_took_its_name_meanwhile(old, url, after_the_rehearsal):
    after_the_rehearsal(lambda: Ledger(url(), budget=PureDP(99.0)))
    with pytest.raises(LedgerError, match="is there already"):
        moving.move(old.path, url(), 10.0)
    assert [entry.kind for entry in old.entries()] == ["close"]


def test_an_older_copy_that_took_its_place_meanwhile_is_not_what_arrived(old, url, tmp_path, monkeypatch):
    copy = shutil.copy(old.path, tmp_path / "copy.db")
    old.charge(PureDP(1.5))

    def stop(self, *words, rehearse=False):
        if not rehearse:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Making, "copy", stop)
        with pytest.raises(KeyboardInterrupt):
            moving.move(old.path, url(), 10.0)
    moving.move(str(copy), url(), 10.0)
    with pytest.raises(LedgerError, match="is there already"):
        moving.move(old.path, url(), 10.0)
    assert [entry.kind for entry in old.entries()] == ["charge", "close"], "it does not say that it has arrived"


@pytest.mark.parametrize("rest", ["/base?name=q4", "anna@db?name=q4", "anna@db/base?service=x&name=q4"])
def test_an_address_that_others_complete_is_refused_for_it_may_be_another_one_next_time(old, rest):
    with pytest.raises(ValueError, match="its host and database written out"):
        moving.move(old.path, f"postgresql://{rest}", 0.0)
    old.charge(PureDP(0.5))


def test_everybody_is_no_role(ledger, sql_rights):
    before = sql_rights()
    with pytest.raises(ValueError, match="role must be the name of a role"):
        ledger.grant("public")
    assert sql_rights() == before


@pytest.fixture
def sql_rights(server):
    return lambda: server.sql("SELECT nspacl::text FROM pg_namespace WHERE nspname = 'shortlist'", base="ledgers")
