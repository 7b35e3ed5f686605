"""The wire: how often it is used, what an error says, and what is known after it was cut."""

import gc
import os
import pickle
import sys
import threading
import time
import warnings
from typing import Any

import polars as pl
import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'shortlist[postgres]'")

import psycopg

import shortlist as sl
from shortlist import Ledger, PureDP
from shortlist._signals import COMMAND, Stopped
from shortlist.ledger import postgres as ledger_line
from shortlist.privacy import BudgetExceeded, LedgerError, OutcomeUnknown
from tests.helpers.postgres import OWNER, QUICK, Server
from tests.helpers.processes import in_child
from tests.helpers.terminal import called
from tests.helpers.typed import present


def test_a_charge_is_two_round_trips_and_a_refund_three(ledger, url, proxy):
    far = Ledger(url("anna", host=proxy.folder))
    proxy.trips = 0
    far.charge(PureDP(0.25), purpose="once")
    assert proxy.trips == 2
    reservation = far.reserve(PureDP(0.5), refundable=("pure",))
    assert proxy.trips == 4
    reservation.refund(PureDP(0.25))
    assert proxy.trips == 7
    assert far.spent.epsilon == 0.5
    assert proxy.trips == 8
    assert proxy.connections == 1


def test_a_release_is_three_round_trips_of_a_table_and_of_numbers(ledger, url, proxy):
    """One that looks at what is left, and the two of its charge."""
    far = Ledger(url("anna", host=proxy.folder))
    rows = pl.DataFrame({"who": range(40), "what": ["tea", "milk"] * 20, "where": ["CH", "DE"] * 20})
    asked: dict[str, Any] = {"user": "who", "item": "what", "epsilon": 0.5, "ledger": far}
    for ask in (
        lambda: sl.top_k(rows, 1, candidates=["tea", "milk"], **asked),
        lambda: sl.top_k(rows, 1, candidates=["tea", "milk"], by="where", groups=["CH"], **asked),
        lambda: sl.select([9, 1], epsilon=0.5, ledger=far),
    ):
        proxy.trips = 0
        ask()
        assert proxy.trips == 3
    assert ledger.verify() == 3


def test_what_fails_after_the_commit_takes_nothing_back(ledger, server, monkeypatch):
    """A session that is cancelled just then has booked, and says so; the lock goes with its connection."""
    real = ledger_line.together

    def cancelled(line, statements, **more):
        return real(line, [*statements[:-1], ("SELECT 1 / 0", None)] if more else statements, **more)

    monkeypatch.setattr(ledger_line, "together", cancelled)
    assert ledger.reserve(PureDP(0.25)).number == 1
    monkeypatch.undo()
    ledger.charge(PureDP(0.25))
    assert ledger.verify() == 2


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("books", [False, True])
def test_an_interrupt_is_an_interrupt_whatever_becomes_of_what_it_cancels(ledger, server, monkeypatch, kind, books):
    """psycopg cancels then what the server is doing, and raises how that ended in the interrupt's place."""
    real = ledger_line.Line.execute

    def pressed(line, query, *words):
        if ("shortlist.charge" in query) != books:
            return real(line, query, *words)
        try:
            raise kind
        except kind:
            raise psycopg.OperationalError("the pipeline was aborted") from None

    ledger.charge(PureDP(0.25))
    with monkeypatch.context() as patch:
        patch.setattr(ledger_line.Line, "execute", pressed)
        with pytest.raises(kind):
            ledger.charge(PureDP(0.25))
    assert ledger.spent.epsilon == 0.25
    while server.sql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") != [(0,)]:
        pass  # the server notices by itself that a connection was closed


def test_a_signal_that_a_command_has_noted_ends_its_wait_for_the_ledger(monkeypatch):
    """While psycopg waits nothing is raised: the next try would wait again."""

    def held():
        raise ledger_line.Failed("55P03", alive=True)

    monkeypatch.setattr(COMMAND, "phase", "working")
    monkeypatch.setattr(COMMAND, "by", 2)
    with pytest.raises(Stopped):
        ledger_line.patiently("q4", 600.0, held)


def test_an_interrupt_that_was_handled_before_is_not_raised_again(ledger, url, proxy):
    """Whoever was interrupted asks what was booked while they handle it."""
    far = Ledger(url("anna", host=proxy.folder))
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        proxy.cut = "after"
        with pytest.raises(OutcomeUnknown) as unknown:
            far.charge(PureDP(0.25))
        assert present(far.find(unknown.value.receipt)).number == 1


@pytest.mark.parametrize(("cut", "booked"), [("before", False), ("after", True), ("ended", True)])
def test_a_cut_in_the_middle_of_a_charge_is_unknown_and_find_settles_it(ledger, url, proxy, cut, booked):
    far = Ledger(url("anna", host=proxy.folder))
    head, proxy.cut = far.head, cut
    with pytest.raises(OutcomeUnknown, match="unknown, check") as unknown:
        far.charge(PureDP(0.25), purpose="weekly chart")
    assert (unknown.value.__cause__, unknown.value.__context__) == (None, None)
    entry = far.find(unknown.value.receipt)
    assert (entry is not None) == booked
    assert ledger.spent.epsilon == 0.25 * booked
    assert far.booked_since(head) == (1 if booked else None)
    assert str(pickle.loads(pickle.dumps(unknown.value))) == str(unknown.value)
    far.charge(PureDP(0.25))
    assert ledger.verify() == 1 + booked


def test_what_find_has_said_no_to_is_refused_when_it_arrives_at_last(ledger, url, proxy):
    far = Ledger(url("anna", host=proxy.folder))
    proxy.cut = "late"
    with pytest.raises(OutcomeUnknown) as unknown:
        far.charge(PureDP(0.25))
    assert far.find(unknown.value.receipt) is None
    assert b"SL004" in proxy.arrive()
    assert ledger.verify() == 0
    assert far.find(unknown.value.receipt) is None


def test_what_arrives_before_find_asks_is_found(ledger, url, proxy):
    far = Ledger(url("anna", host=proxy.folder))
    proxy.cut = "late"
    with pytest.raises(OutcomeUnknown) as unknown:
        far.charge(PureDP(0.25))
    assert b"SL004" not in proxy.arrive()
    assert present(far.find(unknown.value.receipt)).number == 1
    assert present(far.find(far.head)).number == 1


def test_the_command_ends_with_5_and_find_says_what_was_booked(ledger, url, proxy, tmp_path):
    table, known = tmp_path / "rows.csv", tmp_path / "known.txt"
    table.write_text("user,item\n" + "".join(f"{n},{'ab'[n % 2]}\n" for n in range(40)))
    known.write_text("a\nb\nc\n")
    book = url("anna", host=proxy.folder)
    line = ("top", str(table), "-k", "1", "--user", "user", "--item", "item", "--candidates", str(known), "--epsilon")
    assert called(*line, "1", "--ledger", book).returncode == 0
    proxy.cut = "after"
    cut = called(*line, "1", "--ledger", book)
    assert (cut.returncode, cut.stdout) == (5, "")
    assert cut.stderr.startswith("shortlist: unknown, check")
    receipt = cut.stderr.partition("find LEDGER ")[2].partition("`")[0]
    assert "it was booked: entry 2, a charge" in called("ledger", "find", book, receipt).stdout
    assert "nothing will be" in called("ledger", "find", book, "0" * 32).stdout
    assert called("ledger", "find", book, "0" * 32, "--json").stdout == '{"booked": false, "entry": null}\n'


def test_a_connection_that_died_between_calls_is_replaced(ledger, server):
    ledger.charge(PureDP(0.25))
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'ledgers' AND pid <> 0")
    ledger.charge(PureDP(0.25))
    assert ledger.verify() == 2


def test_no_connection_is_shared_with_a_child(ledger):
    ledger.charge(PureDP(0.25))

    def child():
        ledger.charge(PureDP(0.25))
        gc.collect()
        return ledger.verify()

    assert in_child(child) == 2
    ledger.charge(PureDP(0.25))
    assert ledger.verify() == 3


def test_leaving_hangs_up_and_nothing_is_said_of_what_was_forgotten(ledger, server, url):
    with Ledger(url("anna")) as one:
        one.charge(PureDP(0.25))
    busy = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'anna'"
    while server.sql(busy) != [(0,)]:
        pass  # the server notices it by itself
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Ledger(url("anna")).charge(PureDP(0.25))
        gc.collect()


def test_a_ledger_that_is_held_is_waited_for_and_the_end_is_an_option(ledger, url, server, monkeypatch):
    monkeypatch.setattr(ledger_line, "SETTINGS", ledger_line.SETTINGS.replace("2s", "20ms"))
    one = Ledger(url("anna"), wait=0.0)
    with ledger_line.Lines(ledger._store._address).take()[0] as holder:
        key = (ledger_line.LOCK, ledger._store._number)
        holder.execute("SELECT pg_advisory_lock(%s, %s)", key)
        with pytest.raises(LedgerError, match="held by another session for 0 seconds"):
            one.charge(PureDP(0.25))
        patient, tries = Ledger(url("anna")), []

        def let_go(_):
            tries.append(1)
            holder.execute("SELECT pg_advisory_unlock_all()")

        monkeypatch.setattr(time, "sleep", let_go)
        patient.charge(PureDP(0.25))
        assert tries
    assert ledger.verify() == 1


def test_an_interrupt_is_answered_while_others_hold_the_ledger_and_what_still_waits_is_not_booked(
    ledger, server, proxy, url
):
    far = Ledger(url("anna", host=proxy.folder), wait=0.0)
    head, others = far.head, Ledger(url("ben"), wait=0.0)
    waits = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with ledger_line.Lines(ledger._store._address).take()[0] as holder:
        holder.execute("SELECT pg_advisory_lock(%s, %s)", (ledger_line.LOCK, ledger._store._number))
        proxy.cut = "late"
        with pytest.raises(OutcomeUnknown) as unknown:
            far.charge(PureDP(0.25))
        late = threading.Thread(target=proxy.arrive)
        late.start()
        while server.sql(waits) != [(1,)]:
            pass
        assert far.booked_since(head) is None
        assert others.find(unknown.value.receipt) is None
    late.join()
    assert ledger.verify() == 0


def test_threads_share_one_ledger_and_never_overspend(ledger):
    done = []

    def spend():
        try:
            while True:
                ledger.charge(PureDP(0.25))
                done.append(1)
        except BudgetExceeded:
            return

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == ledger.verify() == 16


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda url: url.replace("host=", "host=/nowhere"), "cannot be reached"),
        (lambda url: url.replace("/ledgers?", "/nothing?"), "the server has no such database"),
        (lambda url: url.replace("book_owner@", "stranger@"), "refuses this login"),
        (lambda url: url.replace("/ledgers?", "/postgres?"), "no ledger was made in this database"),
        (lambda url: url.replace("name=", "name=other"), "is not there, or its owner"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence_without_the_servers_words(ledger, url, change, words):
    secret = "s3cret-pass"
    said = change(url()).replace("@/", f":{secret}@/")
    with pytest.raises(LedgerError, match=words) as wrong:
        Ledger(said, wait=0.0)
    error: BaseException | None = wrong.value
    while error is not None:
        assert secret not in repr(error) + str(error)
        error = error.__cause__ or error.__context__


@pytest.fixture
def german(monkeypatch):
    """A server with four places, two of them for superusers, that asks anna for a password; in German, if it can."""
    monkeypatch.setenv("LANGUAGE", "de")
    small = "max_connections = 4\nsuperuser_reserved_connections = 2\n"
    small += "lc_messages = 'C.utf8'\n" if sys.platform == "linux" else ""
    one = Server(settings=QUICK + small)
    try:
        one.roles()
        one.base("ledgers")
        one.sql("ALTER ROLE anna PASSWORD 'right'")
        (one.data / "pg_hba.conf").write_text("local all anna scram-sha-256\nlocal all all trust\n")
        one.sql("SELECT pg_reload_conf()")
        made = Ledger(one.url("ledgers"), budget=PureDP(4.0))
        made.grant("anna")
        made._store.close_connections()
        yield one
    finally:
        one.stop()


def test_a_full_server_is_waited_for_in_any_language_and_a_wrong_password_is_not(german, monkeypatch):
    address = german.url("ledgers", user="anna:right")
    login: dict[str, Any] = {"host": str(german.folder), "dbname": "ledgers"}
    wrong = german.url("ledgers", user="anna:wrong")
    with pytest.raises(LedgerError, match="refuses this login"):
        Ledger(wrong)
    with psycopg.connect(**login, user=OWNER) as first, psycopg.connect(**login, user=OWNER) as other:
        with pytest.raises(psycopg.OperationalError) as refused:
            psycopg.connect(**login, user="anna", password="right")
        assert refused.value.sqlstate is None
        for address_of in ("anna:right", "ben"):
            with pytest.raises(LedgerError, match="no place for one more connection for 0 seconds"):
                Ledger(german.url("ledgers", user=address_of), wait=0.0)
        naps = []

        def nap(_):
            naps.append(1)
            first.close()

        monkeypatch.setattr(time, "sleep", nap)
        Ledger(address).charge(PureDP(0.25))
        assert naps
        other.close()


def test_a_server_that_does_not_sync_is_not_trusted(ledger, url, monkeypatch):
    real = ledger_line.together

    def unsynced(line, statements, **more):
        rows = real(line, statements, **more)
        return [[(*rows[0][0][:7], False)], *rows[1:]] if "look" in statements[0][0] else rows

    monkeypatch.setattr("shortlist.ledger.postgres.together", unsynced)
    with pytest.raises(LedgerError, match="fsync is off"):
        Ledger(url())


def test_a_charge_is_durable_whatever_the_session_says(ledger, url, server):
    statement = (
        "DO $$ BEGIN PERFORM set_config('synchronous_commit', 'off', false); "
        f"PERFORM shortlist.find('{ledger.name}', '{'0' * 32}'); "
        "IF current_setting('synchronous_commit') <> 'on' THEN RAISE EXCEPTION 'off'; END IF; END $$"
    )
    server.sql(statement, base="ledgers", user="anna")


def test_pickled_ledgers_open_their_own_connections(ledger):
    ledger.charge(PureDP(0.25))
    copy = pickle.loads(pickle.dumps(ledger))
    copy.charge(PureDP(0.25))
    assert ledger.verify() == copy.verify() == 2
    assert os.getpid() == copy._store._lines._process
