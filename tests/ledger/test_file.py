"""The file: what is wrong with it is said in one sentence, and nothing is released."""

import os
import resource
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from shortlist import BudgetExceeded, Ledger
from shortlist.ledger import chain
from shortlist.ledger import sqlite as file
from shortlist.ledger.filter import cost_of
from shortlist.ledger.sqlite import in_transaction
from shortlist.privacy import LedgerError, PureDP
from tests.helpers.processes import Looking, in_child
from tests.helpers.support import full_size, sized
from tests.helpers.typed import noting


@pytest.fixture(scope="module")
def forty_charges(tmp_path_factory):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "budget.db", budget=PureDP(10.0))
    for number in range(40):
        ledger.charge(PureDP(0.125), purpose=f"release {number} {'x' * 500}")
    return ledger.path


@pytest.fixture
def ledger(forty_charges, tmp_path):
    return Ledger(shutil.copy(forty_charges, tmp_path / "budget.db"))


def edit(path, *statements):
    """Change a file behind the ledger's back."""
    with closing(sqlite3.connect(path)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement)
        for _, sql in triggers:
            with suppress(sqlite3.OperationalError):  # its table is gone
                db.execute(sql)
        db.commit()


def refused_to_release(ledger, match, purpose=""):
    """A release against this ledger fails before it looks at the data."""
    looks, out = os.pipe()
    with pytest.raises(LedgerError, match=match):
        Looking(0.125, out).release([1, 2], ledger=ledger, purpose=purpose)
    os.close(out)
    seen = os.read(looks, 10)
    os.close(looks)
    assert seen == b""


def test_a_charge_is_synced_to_the_disk(ledger):
    def settings(db):
        return [db.execute(f"PRAGMA {name}").fetchall() for name in ("synchronous", "journal_mode")]

    assert in_transaction(ledger.path, settings, write=True) == [[(3,)], [("delete",)]]


def test_the_file_only_grows(ledger):
    with closing(sqlite3.connect(ledger.path)) as db:
        for statement in ("DELETE FROM entries", "UPDATE entries SET purpose = ''", "UPDATE terms SET content = ''"):
            with pytest.raises(sqlite3.IntegrityError):
                db.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET epsilon = '1/16' WHERE number = 7",
        "UPDATE entries SET purpose = 'nothing to see' WHERE number = 7",
        "UPDATE entries SET time = '' WHERE number = 7",
        "UPDATE entries SET hash = 'abc' WHERE number = 7",
        "UPDATE entries SET total_epsilon = X'00' WHERE number = 7",
        "DELETE FROM entries WHERE number = 7",
        "UPDATE entries SET number = 100 WHERE number = 7",
    ],
)
def test_verify_finds_an_edit_anywhere(ledger, statement):
    edit(ledger.path, statement)
    with pytest.raises(LedgerError, match="damaged or was edited: entr"):
        ledger.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET total_epsilon = '0' WHERE number = 40",
        "UPDATE entries SET hash = 'abc' WHERE number = 39",
        "DELETE FROM entries WHERE number = 39",
        "UPDATE entries SET total_epsilon = 'abc' WHERE number = 40",
        "UPDATE terms SET content = replace(content, '10.0', '99.0')",
        "UPDATE terms SET content = '{}'",
        "DELETE FROM terms",
        "DROP TABLE entries",
        "DELETE FROM entries WHERE number > 20",
        "DELETE FROM entries",
    ],
)
def test_an_edit_of_the_end_or_of_the_terms_is_found_before_the_next_release(ledger, statement):
    edit(ledger.path, statement)
    refused_to_release(ledger, "damaged|another ledger")


def test_an_edit_that_forges_the_sums_is_found_although_its_chain_is_whole(ledger):
    said = {"kind": "charge", "guarantee": "", "refundable": "", "purpose": "", "mechanism": "", "unit": ""}

    def forge(db):
        before = file.read_state(db, ledger._store.origin, ledger.path)
        cost = cost_of(PureDP(1.0), None).where(ledger.terms.limits)
        forged = file.append(db, before, cost, before.total, refund_of=None, **said)
        file.append(db, forged, cost, before.total + cost, refund_of=None, **said)

    in_transaction(ledger.path, forge, write=True)
    assert ledger.spent.epsilon == 6.0, "the last entry alone looks well"
    with pytest.raises(LedgerError, match="entry 41 breaks the rule, or its sums are wrong"):
        ledger.verify()


def test_a_cut_tail_or_an_old_copy_is_found_by_comparing_heads(ledger, tmp_path):
    old = shutil.copy(ledger.path, tmp_path / "backup.db")
    ledger.charge(PureDP(0.5))
    head = ledger.head
    assert ledger.verify(head=head) == 41
    restored = Ledger(old)
    assert restored.verify() == 40, "a chain alone cannot see it"
    with pytest.raises(LedgerError, match="entries after the head you kept have vanished"):
        restored.verify(head=head)
    os.replace(old, ledger.path)
    refused_to_release(ledger, "entries have vanished since it was opened")


def test_another_ledger_in_the_same_place_is_not_charged(ledger, tmp_path):
    other = Ledger(tmp_path / "other.db", budget=PureDP(10.0))
    os.replace(other.path, ledger.path)
    refused_to_release(ledger, "another ledger")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.9])
def test_a_truncated_file_is_refused(ledger, share):
    os.truncate(ledger.path, int(os.path.getsize(ledger.path) * share))
    refused_to_release(ledger, "damaged|not a ledger")
    with pytest.raises(LedgerError):
        Ledger(ledger.path, budget=PureDP(10.0)).verify()


def test_a_file_with_flipped_bytes_is_refused_or_found(ledger):
    content = bytearray(Path(ledger.path).read_bytes())
    for place in range(200, len(content), 97):
        content[place] ^= 0x55
    Path(ledger.path).write_bytes(content)
    with pytest.raises(LedgerError):
        ledger.verify()


@pytest.mark.parametrize("kind", ["text", "empty", "directory", "database", "newer", "pipe", "link"])
def test_what_is_no_ledger_is_said_so(tmp_path, kind):
    path = tmp_path / "thing"
    if kind == "text":
        path.write_text("user_id,movie\n" * 1000)
    elif kind == "empty":
        path.touch()
    elif kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "database":
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE entries (number INTEGER)")
    else:
        Ledger(path, budget=PureDP(1.0))
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA user_version = 8")
    before = path.stat().st_size if kind != "link" else None
    with pytest.raises(LedgerError, match=r"not a ledger|is not a file|newer version|is not there") as said:
        Ledger(path, budget=PureDP(1.0))
    assert "\n" not in str(said.value)
    assert kind == "link" or path.stat().st_size == before, "it was left alone"


def test_a_folder_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(tmp_path / "nowhere" / "budget.db", budget=PureDP(1.0))


def test_names_that_mean_something_to_sqlite_are_names(tmp_path):
    for name in (":memory:", "a?mode=memory", "b#c", "100%.db", "d e", "ü.db"):
        Ledger(tmp_path / name, budget=PureDP(1.0)).charge(PureDP(0.5))
        assert Ledger(tmp_path / name).spent.epsilon == 0.5
    assert len(list(tmp_path.iterdir())) == 6, "no file but the ledgers is left"


def test_a_journal_of_a_ledger_that_is_gone_is_not_played_into_a_new_one(tmp_path):
    (tmp_path / "budget.db-journal").write_bytes(b"left by a crash")
    with pytest.raises(LedgerError, match="left by a ledger that is gone"):
        Ledger(tmp_path / "budget.db", budget=PureDP(1.0))
    assert not (tmp_path / "budget.db").exists()


def as_nobody(work, *arguments):
    """In a child that may not write what root owns."""

    def unprivileged():
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        return work(*arguments)

    return in_child(unprivileged)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_cannot_be_written_can_be_read_and_releases_nothing(what):
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(f"{folder}/budget.db", budget=PureDP(1.0))
        ledger.charge(PureDP(0.5))
        os.chmod(ledger.path, 0o444 if what == "file" else 0o666)
        os.chmod(folder, 0o755 if what == "file" else 0o555)
        assert as_nobody(lambda: Ledger(ledger.path).spent.epsilon) == 0.5
        as_nobody(refused_to_release, ledger, "cannot be written|no journal can be written")
        os.chmod(folder, 0o755)
        assert ledger.verify() == 1


def test_a_full_disk_releases_nothing_and_harms_nothing(ledger):
    """The operating system refuses to let the file grow, in the middle of a charge."""

    def charge_until_full():
        size = os.path.getsize(ledger.path)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 3000, size + 3000))
        done = 0
        try:
            while True:
                ledger.charge(PureDP(0.001), purpose="y" * 1500)
                done += 1
        except LedgerError as error:
            refused_to_release(ledger, "cannot grow|cannot be read or written", purpose="y" * 1500)
            return done, str(error)

    done, said = in_child(charge_until_full)
    assert "cannot grow" in said or "cannot be read or written" in said
    assert ledger.verify() == 40 + done
    ledger.charge(PureDP(0.125))


def test_a_file_that_may_not_grow_says_the_disk_is_full(ledger, monkeypatch):
    def no_room(db, path):
        db.execute(f"PRAGMA max_page_count = {db.execute('PRAGMA page_count').fetchone()[0]}")

    monkeypatch.setattr("shortlist.ledger.sqlite.check_schema", no_room)
    with suppress(LedgerError):
        for _ in range(20):
            ledger.charge(PureDP(0.001), purpose="y" * 1500)
    refused_to_release(ledger, "the disk is full", purpose="y" * 1500)
    monkeypatch.undo()
    ledger.verify()


def test_a_lock_that_is_never_released_becomes_an_error_and_no_release(ledger):
    ledger = Ledger(ledger.path, wait=0.0)
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        refused_to_release(ledger, "locked by another process")


MANY = sized(5_000, full=20_000)


@full_size
def test_opening_and_admitting_read_as_many_rows_at_thousands_of_entries_as_at_forty(ledger, monkeypatch):
    cost = cost_of(PureDP(2.0**-12), None).where(ledger.terms.limits)
    said = {"kind": "charge", "guarantee": "", "refundable": "", "purpose": "", "mechanism": "", "unit": ""}
    rows: list[Any] = []
    monkeypatch.setattr(file, "entry_of", noting(rows, chain.entry_of))

    def grow(db):
        here = file.read_state(db, ledger._store.origin, ledger.path)
        for _ in range(MANY):
            here = file.append(db, here, cost, here.total + cost, refund_of=None, **said)

    def read_by_opening_and_admitting():
        rows.clear()
        with pytest.raises(BudgetExceeded):
            Ledger(ledger.path).charge(PureDP(9.0))
        Ledger(ledger.path).charge(PureDP(2.0**-12))
        return len(rows)

    before = read_by_opening_and_admitting()
    in_transaction(ledger.path, grow, write=True)
    assert read_by_opening_and_admitting() == before < 20
    assert ledger.verify() == MANY + 42
