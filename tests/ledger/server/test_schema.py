"""Who may do what in the server, and that its own sums are the filter's: for analysts with SQL in their hands."""

import itertools
import json
import random
from fractions import Fraction
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'shortlist[postgres]'")

import psycopg

from shortlist import BudgetExceeded, Ledger
from shortlist.ledger import postgres as server_schema
from shortlist.ledger.filter import Amounts, State, admit, has_form
from shortlist.ledger.postgres import CALLED
from shortlist.privacy import ZCDP, ApprovalNeeded, ApproxDP, LedgerError, PureDP
from tests.helpers.postgres import OWNER

TOKENS = itertools.count(1 << 64)
WORDS = ["PureDP", "Looking", "", "", "", ""]


def charging(sql, ledger, epsilon, curve=None, delta="0", *, user="anna", words=WORDS, token=None):
    """A charge by hand: the entry's number, or None, or the error's code."""
    token = token or f"{next(TOKENS):032x}"
    said = [json.dumps(word) if word is not None else None for word in words]
    query = f"SELECT (b.entry).number FROM shortlist.charge({', '.join(['%s'] * 12)}) AS b"
    found = sql(user, query, ledger.name, token, *said, '"by hand"', epsilon, curve, delta)
    return found if isinstance(found, str) else found[0][0]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE shortlist.entries SET purpose = '\"x\"'",
        "DELETE FROM shortlist.entries",
        "TRUNCATE shortlist.entries CASCADE",
        "INSERT INTO shortlist.entries SELECT * FROM shortlist.entries",
        "SELECT * FROM shortlist.entries",
        "SELECT * FROM shortlist.tokens",
        "UPDATE shortlist.ledgers SET limit_epsilon = '99'",
        "INSERT INTO shortlist.analysts VALUES (1, 'ben')",
        "UPDATE shortlist.about SET version = 3",
        "SELECT * FROM shortlist.neighbors",
        "INSERT INTO shortlist.neighbors VALUES (1, 1, 'replace')",
        "SELECT shortlist.caller()",
        "SELECT shortlist.relation_of('x')",
        "ALTER TABLE shortlist.entries DISABLE TRIGGER ALL",
        "DROP TABLE shortlist.entries",
        "DROP SCHEMA shortlist CASCADE",
        "CREATE TABLE shortlist.mine (a integer)",
        "CREATE FUNCTION shortlist.above(words text, more text) RETURNS numeric LANGUAGE sql AS 'SELECT 1::numeric'",
        "CREATE OR REPLACE FUNCTION shortlist.at_most(one text, other text) RETURNS boolean LANGUAGE sql AS 'SELECT 1'",
        "SELECT shortlist.close('NAME', repeat('0', 32), '\"x\"', '\"\"', '\"1\"')",
        "SELECT shortlist.booked(NULL, NULL, NULL)",
        "SELECT shortlist.held('NAME')",
        "SELECT shortlist.opened('NAME')",
        "GRANT EXECUTE ON FUNCTION shortlist.held(text) TO anna",
        f"SET ROLE {OWNER}",
        f"SET SESSION AUTHORIZATION {OWNER}",
    ],
)
def test_an_analyst_cannot_go_around_the_functions(ledger, sql, statement):
    ledger.charge(PureDP(0.5))
    assert sql("anna", statement.replace("NAME", ledger.name)) == "42501"
    assert ledger.verify() == 1


def test_nobody_runs_what_an_analyst_has_made_under_the_name_of_a_function(server, own_base):
    """Where analysts may create in a schema on the path, as in `public` before PostgreSQL 15: others would run it."""
    ledger = Ledger(server.url(own_base), budget=PureDP(4.0))
    ledger.grant("anna")
    server.sql("GRANT CREATE ON SCHEMA public TO PUBLIC", base=own_base)
    for name, words in (("pg_advisory_lock", "integer, smallint"), ("pg_advisory_unlock", "integer, smallint"),
                        ("pg_advisory_xact_lock", "integer, smallint")):  # fmt: skip
        server.sql(
            f"CREATE FUNCTION public.{name}({words}) RETURNS void LANGUAGE plpgsql AS $$ BEGIN "
            "ALTER TABLE shortlist.entries DISABLE TRIGGER USER; END $$", base=own_base, user="anna",
        )  # fmt: skip
    ledger.charge(PureDP(0.5))
    Ledger(server.url(own_base, "another"), budget=PureDP(4.0)).close("over")
    enabled = "SELECT tgenabled FROM pg_trigger WHERE tgrelid = 'shortlist.entries'::regclass AND tgname = 'stays'"
    assert server.sql(enabled, base=own_base) == [("O",)]


def test_what_was_booked_cannot_be_rolled_back(ledger, server):
    with psycopg.connect(host=str(server.folder), dbname="ledgers", user="anna") as line:
        Ledger(ledger.path.replace(OWNER, "anna")).charge(PureDP(0.5))
        line.rollback()
    assert ledger.verify() == 1


def test_the_owner_does_not_edit_by_accident(ledger, sql):
    ledger.charge(PureDP(0.5), unit="user (replace)")
    for statement in (
        "UPDATE shortlist.neighbors SET relation = 'add-remove'", "DELETE FROM shortlist.neighbors",
        "UPDATE shortlist.entries SET purpose = '\"x\"'", "DELETE FROM shortlist.entries",
        "TRUNCATE shortlist.entries CASCADE", "DELETE FROM shortlist.ledgers", "UPDATE shortlist.tokens SET number = 2",
    ):  # fmt: skip
        assert sql(OWNER, statement) == "SL000"
    assert ledger.verify() == 1


def test_only_the_owner_makes_and_closes_and_lets_in(ledger, url, server):
    analyst = Ledger(url("anna"))
    with pytest.raises(LedgerError, match="cannot be used so by this role"):
        Ledger(server.url("ledgers", "annas_own", "anna"), budget=PureDP(9.0))
    with pytest.raises(LedgerError, match="cannot be used so by this role"):
        analyst.close("no more")
    for change in (analyst.grant, analyst.revoke):
        with pytest.raises(LedgerError, match="cannot be used so by this role"):
            change("ben")
    with pytest.raises(LedgerError, match="knows no such role"):
        ledger.grant("nobody here")
    analyst.charge(PureDP(0.5))
    ledger.close("the year is over")
    for one in (ledger, analyst, Ledger(url("anna"))):
        with pytest.raises(LedgerError, match="closed for good and books nothing more: the year is over"):
            one.charge(PureDP(0.5))
        with pytest.raises(LedgerError, match="closed for good"):
            one.reserve(PureDP(0.5))
        assert one.spent.epsilon == 0.5
    assert ledger.verify() == 2
    with pytest.raises(LedgerError, match="closed for good"):
        ledger.close("once more")


def test_who_is_not_let_in_sees_and_charges_nothing(server, url, name, sql):
    ledger = Ledger(url(), budget=PureDP(1.0))
    ledger.grant("anna")
    with pytest.raises(LedgerError, match=r"is not there, or its owner|cannot be used so by this role"):
        Ledger(url("ben"))
    for function in CALLED:
        marks = ", ".join(["NULL"] * (function.count(",")))
        called = f"SELECT shortlist.{function.partition('(')[0]}('{name}'{', ' + marks if marks else ''})"
        assert sql("ben", called) in ("42501", "SL001"), function
    ledger.revoke("anna")
    with pytest.raises(LedgerError, match="is not there, or its owner"):
        Ledger(url("anna"))


def test_two_ledgers_in_one_database_do_not_meet(server, url, name, sql):
    one = Ledger(url(), budget=PureDP(1.0))
    other = Ledger(server.url("ledgers", f"{name}.other"), budget=PureDP(1.0))
    one.grant("anna")
    reservation = one.reserve(PureDP(1.0), refundable=("pure",))
    assert (other.spent.epsilon, other.verify()) == (0.0, 0)
    other.reserve(PureDP(0.5), refundable=("pure",))
    with pytest.raises(ValueError, match="not in the ledger"):
        other._store.refund(reservation.number, reservation.hash, Amounts(Fraction(0), None, Fraction(0)), "x")
    assert other.find(one.head) is None
    assert one.find(other.head) is None
    assert charging(sql, other, "1/8") == "SL001", "anna was let in to the first one only"
    assert (one.verify(), other.verify()) == (1, 1)


def test_an_analyst_with_sql_cannot_overdraw(ledger, sql):
    assert charging(sql, ledger, "3") == 1
    for cost in ("2", "1/1" + "0" * 3, "4/2", "1" + "0" * 900, f"{2**60 + 1}/{2**60}"):
        assert charging(sql, ledger, cost) in (None, "SL002"), cost
    for wrong in ("-1", "-1/2", "1/-2", "1/0", "0x1", "1e-3", "NaN", "Infinity", "", " 1", "1/3", "1//2", "0.5",
                  "1/2/3", "1" * 1001, "1/" + "2" * 700, None):  # fmt: skip
        assert charging(sql, ledger, wrong) in (None, "SL002"), wrong
    assert charging(sql, ledger, None, "0") is None, "a rule that the ledger has not admits nothing"
    assert charging(sql, ledger, "0", None, "1/1024") is None
    assert charging(sql, ledger, "0", None, None) == "SL002"
    assert charging(sql, ledger, "2/2") == 2
    assert charging(sql, ledger, f"1/{2**1074}") is None
    assert ledger.remaining.epsilon == 0.0
    assert ledger.verify() == 2


@pytest.mark.parametrize("cost", [("9" * 1000, "0"), ("0", "9" * 1000)], ids=["rule a", "rule b"])
def test_a_cost_that_no_float_holds_is_in_nobodys_way(url, sql, tmp_path, cost):
    """One rule admits it, so that the other is closed; everything can be read and charged on."""
    ledger = Ledger(url(), budget=ApproxDP(1.0, 1e-6))
    ledger.grant("anna")
    assert charging(sql, ledger, *cost) == 1
    assert "booked: epsilon" in str(ledger)
    assert ledger.remaining.delta == 5e-07
    ledger.report(tmp_path / "page.html")
    ledger.charge(PureDP(0.125))
    assert ledger.verify() == 2


@pytest.mark.parametrize("setting", ["standard_conforming_strings = off", "transform_null_equals = on"])
def test_no_setting_of_a_session_changes_what_is_a_text(ledger, server, setting):
    with psycopg.connect(host=str(server.folder), dbname="ledgers", user="anna", autocommit=True) as line:
        line.execute(f"SET {setting}")
        for words in ('"a"b"', '"\\u0041"', '"\t"', '"\\"'):
            said = ['""', '""', words, '""', '""', '""', '"1"', "1/4", None, "0"]
            with pytest.raises(psycopg.Error):
                line.execute(f"SELECT shortlist.charge({', '.join(['%s'] * 12)})", (ledger.name, "a" * 32, *said))
    assert ledger.verify() == 0


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_sessions_that_look_before_they_wait_cannot_both_charge(ledger, server, isolation):
    """Two transactions with the same snapshot: whichever comes second is refused, whatever its isolation."""
    login: dict[str, Any] = {"host": str(server.folder), "dbname": "ledgers", "user": "anna"}
    words = ", ".join(["'\"\"'"] * 7)
    call = f"SELECT (b.entry).number FROM shortlist.charge('{ledger.name}', %s, {words}, '3', NULL, '0') AS b"
    with psycopg.connect(**login) as one, psycopg.connect(**login) as other:
        for line in (one, other):
            line.execute(f"SET TRANSACTION ISOLATION LEVEL {isolation}")
            line.execute("SELECT 1 FROM shortlist.ends(%s)", (ledger.name,))
        assert one.execute(call, ("1" * 32,)).fetchall() == [(1,)]
        one.commit()
        if isolation == "read committed":
            assert other.execute(call, ("2" * 32,)).fetchall() == [(None,)]
        else:
            with pytest.raises(psycopg.Error) as refused:
                other.execute(call, ("2" * 32,))
            assert refused.value.sqlstate in ("40001", "23505")
            other.rollback()
    assert ledger.verify() == 1


def test_refunds_are_checked_in_the_server(ledger, sql, url):
    anna = Ledger(url("anna"))
    free = anna.reserve(PureDP(1.0), refundable=())
    pure = anna.reserve(PureDP(1.0), refundable=("pure",))

    def refund(reservation, epsilon, curve="0", user="anna", hash=None):
        words = (
            ledger.name,
            f"{next(TOKENS):032x}",
            reservation.number,
            hash or reservation.hash,
            '"x"',
            '"1"',
            epsilon,
            curve,
        )
        found = sql(user, f"SELECT (b.entry).number FROM shortlist.refund({', '.join(['%s'] * 8)}) AS b", *words)
        return found if isinstance(found, str) else found[0][0]

    assert refund(free, "1/2") == "SL007"
    assert refund(pure, "3/2") == "SL007"
    assert refund(pure, "0", "1/2") == "SL007", "rule (b) was not proved"
    assert refund(pure, "-1/2") == refund(pure, None) == "SL002"
    assert refund(pure, "1/2", user="ben") == "SL005", "only whoever charged"
    assert refund(pure, "1/2", hash="0" * 64) == "SL005"
    assert refund(pure, "1/2") == 3
    assert refund(pure, "1/4") == "SL006"
    assert ledger.spent.epsilon == 1.5
    assert ledger.verify() == 3


@pytest.mark.parametrize(
    "words",
    [
        ["no quotes"], ['"open'], ['"\\u0041"'], ['"\\ud800"'], ['"\\x41"'], ['"é"'], ['"a"b"'], ['"\t"'], ["1"],
        ['"' + "x" * 120_001 + '"'], [None], ['"\\u00E9"'], ['"\\/"'], ['"\\u000a"'],
    ],
    ids=str,
)  # fmt: skip
def test_only_one_way_to_write_a_text_is_booked(ledger, sql, words):
    """So that what a server hashed is what everybody reads."""
    query = f"SELECT (b.entry).number FROM shortlist.charge({', '.join(['%s'] * 12)}) AS b"
    said = ['""', '""', words[0], '""', '""', '""', '"1"', "1/4", None, "0"]
    assert sql("anna", query, ledger.name, "a" * 32, *said) == "SL002"
    assert ledger.verify() == 0


LETTERS = [
    "a",
    '"',
    "\\",
    "/",
    "\n",
    "\b",
    "\x00",
    "\x0b",
    "\x1f",
    "\x7f",
    "\x80",
    "é",
    "\ud7ff",
    "\ue000",
    "￿",
    "🗳",
    "'",
]


def test_every_text_is_hashed_alike_here_and_there(ledger):
    draw = random.Random(7)
    for _ in range(12):
        words = "".join(draw.choices(LETTERS, k=60))
        ledger.charge(PureDP(0.25), purpose=words, mechanism=words, unit=words, source=words)
        entry = ledger.entries(last=1)[0]
        assert entry.purpose == entry.mechanism == entry.unit == entry.source == words
    assert ledger.verify() == 12


def test_a_role_of_any_name_is_written_alike_here_and_there(server, ledger):
    role = 'Zoë "q" \\ 🗳\n'
    quoted = '"' + role.replace('"', '""') + '"'
    server.sql(f"CREATE ROLE {quoted} LOGIN")
    ledger.grant(role)
    from urllib.parse import quote

    Ledger(ledger.path.replace(OWNER, quote(role, safe=""))).charge(PureDP(0.25))
    assert ledger.entries()[0].who == role
    assert ledger.verify() == 1


@pytest.mark.parametrize("terms", [
    {"budget": ApproxDP(1.0, 1e-6)}, {"budget": ApproxDP(1.0, 1e-6), "split": 0.0}, {"budget": ZCDP(0.5, 1e-7)},
    {"budget": PureDP(0.1)}, {"budget": ApproxDP(1.0, 1e-6), "split": 1.0},
    {"budget": ApproxDP(2.0, 1e-6), "order": 9.0},
])  # fmt: skip
def test_the_server_admits_what_the_filter_admits_to_the_last_bit(server, url, name, sql, terms):
    """Drawn costs, near what is left: the server's answer, and its sums, are those of the exact filter."""
    ledger = Ledger(url(), **terms)
    ledger.grant("anna")
    draw, here, verdicts = random.Random(str(terms)), ledger._store.origin.start, set()
    for _ in range(14):
        cost = drawn(draw, ledger.terms.limits, here)
        expected = None
        try:
            amounts, total = admit(ledger.terms, here, cost) if has_form(ledger.terms.limits, cost) else (None, None)
        except BudgetExceeded:
            amounts = total = None
        if amounts is not None and total is not None:
            expected, here = here.number + 1, State(here.number + 1, "", total, here.charges + 1)
            assert amounts.delta == cost.delta
        assert charging(sql, ledger, *cost.as_text()) == expected, cost
        verdicts.add(expected is None)
        assert ledger._store.state().total == here.total
    assert ledger.verify() == here.number
    assert verdicts == {True, False}


def drawn(draw, limits, here):
    """A cost: tiny, what is left of a currency, a hair more, or missing."""

    def one(limit, spent):
        left = (limit or Fraction(1)) - (spent or 0)
        choice = draw.randrange(7)
        if choice == 0:
            return None
        if choice < 3:
            return max(left, Fraction(0)) + Fraction(draw.choice([0, 0, 1]), 2 ** draw.choice([60, 1074]))
        return max(left, Fraction(1, 2**70)) * Fraction(draw.randrange(1, 2**20), 2**22)

    delta = draw.choice([Fraction(0), Fraction(0), one(limits.delta, here.total.delta) or Fraction(0)])
    return Amounts(one(limits.epsilon, here.total.epsilon), one(limits.curve, here.total.curve), delta)


def test_the_first_charge_may_have_all_of_delta_and_no_later_one(url, sql):
    ledger = Ledger(url(), budget=ApproxDP(1.0, 1e-6))
    ledger.charge(ApproxDP(0.5, 9e-7))
    assert (ledger.spent.rho, ledger.remaining.rho) == (None, None)
    assert charging(sql, ledger, "1/4", "0", str(Fraction(1e-7) * 2), user=OWNER) is None
    ledger.charge(ApproxDP(0.25, 9e-8))
    assert ledger.verify() == 2


def test_approval_is_checked_in_the_server(server, url, sql):
    ledger = Ledger(url(), budget=PureDP(1.0), approval=True)
    ledger.grant("anna")
    ledger.grant("ben")
    assert charging(sql, ledger, "1/2") == 1, "a request"
    assert charging(sql, ledger, "1/2") == 1, "the same request"
    assert ledger.spent.epsilon == 0.0
    approve = f"SELECT shortlist.approve('{ledger.name}', %s, 1, '\"1\"')"
    assert sql("anna", approve, "a" * 32) == "SL010"
    assert isinstance(sql("ben", approve, "b" * 32), list)
    assert sql("ben", approve, "c" * 32) == "SL009"
    assert charging(sql, ledger, "1/2", words=["PureDP", "Looking", "", "another", "", ""]) == 3, (
        "not what was approved"
    )
    assert charging(sql, ledger, "3/4") == 4, "the same words at a higher cost"
    assert charging(sql, ledger, "1/2") == 5
    assert charging(sql, ledger, "1/2") == 4, "an approval pays for one release: this one waits for its own"
    kinds = ["request", "approval", "request", "request", "charge"]
    assert [entry.kind for entry in ledger.entries()] == kinds
    assert [entry.epsilon for entry in ledger.entries()] == ["1/2", "0", "1/2", "3/4", "1/2"]
    assert ledger.verify() == 5
    with pytest.raises(ApprovalNeeded):
        ledger.charge(PureDP(0.25))


# Schemas


def test_a_newer_schema_is_refused_and_left_alone(server, own_base):
    url = server.url(own_base)
    ledger = Ledger(url, budget=PureDP(1.0))
    server.sql("UPDATE shortlist.about SET version = 5", base=own_base)
    for act in (ledger.verify, lambda: Ledger(url), lambda: Ledger(url, budget=PureDP(1.0)),
                lambda: ledger.charge(PureDP(0.1)),
                lambda: Ledger(server.url(own_base, "another"), budget=PureDP(1.0))):  # fmt: skip
        with pytest.raises(LedgerError, match=r"schema 5, not 4 as this version's.*upgrade"):
            act()


def test_an_older_schema_is_upgraded_by_its_owner_alone_with_every_entry(server, own_base, monkeypatch):
    """A step that a later version might take, from the schema of this one."""
    url = server.url(own_base)
    old = Ledger(url, budget=PureDP(1.0))
    old.charge(PureDP(0.25))
    old.grant("anna")
    first = server_schema.step

    def step(number):
        return (
            "ALTER TABLE shortlist.ledgers ADD note text; UPDATE shortlist.about SET version = 5"
            if number == 5
            else first(number)
        )

    monkeypatch.setattr("shortlist.ledger.postgres.NEWEST", 5)
    monkeypatch.setattr(server_schema, "step", step)
    for budget in (None, PureDP(1.0)):
        with pytest.raises(LedgerError, match=r"schema 4, not 5.*its owner opens it|cannot be used so by this role"):
            Ledger(url.replace(OWNER, "anna"), budget=budget)
    again = Ledger(url)
    again.charge(PureDP(0.25))
    assert again.verify(head=old._store.seen.head) == 2
    assert Ledger(url.replace(OWNER, "anna")).spent.epsilon == 0.5


def test_another_programs_schema_of_that_name_is_left_alone(server, own_base):
    server.sql("CREATE SCHEMA shortlist", "CREATE TABLE shortlist.mine (a int)",
               f"GRANT USAGE ON SCHEMA shortlist TO {OWNER}", base=own_base)  # fmt: skip
    for budget in (None, PureDP(1.0)):
        with pytest.raises(LedgerError, match=r"holds no ledgers|cannot be used"):
            Ledger(server.url(own_base), budget=budget)


def test_eight_ways_to_make_the_same_ledger_give_one(server, own_base):
    from tests.helpers.processes import finish, start

    def make_and_charge():
        Ledger(server.url(own_base), budget=PureDP(1.0)).charge(PureDP(1 / 16))
        return True

    assert all(finish(*child) for child in [start(make_and_charge) for _ in range(4)])
    assert Ledger(server.url(own_base)).verify() == 4


@pytest.fixture(scope="module")
def edited(server):
    """A database whose triggers an administrator has switched off."""
    base = server.base("edited")
    Ledger(server.url(base, "first"), budget=PureDP(1.0))
    off = [f"ALTER TABLE shortlist.{table} DISABLE TRIGGER ALL" for table in ("entries", "ledgers")]
    server.sql(*off, base=base)
    return base


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE shortlist.entries SET purpose = '\"y\"' WHERE number = 2", "does not follow"),
        ("DELETE FROM shortlist.entries WHERE number = 3", "vanished|missing"),
        ("UPDATE shortlist.entries SET total_epsilon = '0' WHERE number = 3", "does not follow"),
        ("UPDATE shortlist.entries SET mechanism = 'x' WHERE number = 3", "not what a ledger writes"),
        ("UPDATE shortlist.ledgers SET limit_epsilon = '9' WHERE true", "limits that the server checks"),
        ("UPDATE shortlist.ledgers SET content = replace(content, '1.0', '9.0') WHERE true", "terms|limits"),
    ],
)
def test_what_an_administrator_edits_is_found(server, edited, name, statement, words):
    url = server.url(edited, name)
    ledger = Ledger(url, budget=PureDP(1.0))
    for _ in range(3):
        ledger.charge(PureDP(0.25))
    column = "id" if "ledgers SET" in statement else "ledger"
    own = f"(SELECT id FROM shortlist.ledgers WHERE name = '{name}')"
    server.sql(f"{statement} AND {column} = {own}", base=edited)
    with pytest.raises(LedgerError, match=words):
        ledger.verify() if column == "ledger" else Ledger(url).verify()
