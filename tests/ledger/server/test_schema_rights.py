"""Rights follow a role, not a name that was given again; what an analyst books is bounded, and can always be read."""

import itertools
import json

import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'shortlist[postgres]'")

from shortlist import Ledger, PureDP
from shortlist.ledger.postgres import PostgresStore, move
from shortlist.privacy import ApproxDP, LedgerError
from tests.ledger.server.test_schema import TOKENS, charging

people = itertools.count(1)


def refund(sql, ledger, entry, epsilon, *, user, curve="0"):
    words = ledger.name, f"{next(TOKENS):032x}", entry.number, entry.hash, '"x"', '"x"', epsilon, curve
    found = sql(user, f"SELECT (b.entry).number FROM shortlist.refund({', '.join(['%s'] * 8)}) AS b", *words)
    return found if isinstance(found, str) else found[0][0]


@pytest.fixture
def person(server):
    """A role that may be dropped."""
    name = f"person_{next(people)}"
    server.sql(f"CREATE ROLE {name} LOGIN")
    return name


def made_anew(server, name):
    for base in ("ledgers", "postgres"):
        server.sql(f"DROP OWNED BY {name}", base=base)
    server.sql(f"DROP ROLE {name}", f"CREATE ROLE {name} LOGIN")


def test_a_new_role_under_an_old_name_inherits_nothing(server, url, name, sql, person):
    ledger = Ledger(url(), budget=PureDP(4.0))
    other = Ledger(server.url("ledgers", f"{name}.other"), budget=PureDP(4.0))
    ledger.grant(person)
    Ledger(url(person)).reserve(PureDP(1.0), refundable=("pure",))
    (entry,) = ledger.entries()
    made_anew(server, person)
    other.grant(person)  # lets the new role call the functions
    assert charging(sql, ledger, "1/2", user=person) == "SL001"
    with pytest.raises(LedgerError, match="is not there, or its owner has not let this role in"):
        Ledger(url(person))
    ledger.grant(person)
    assert refund(sql, ledger, entry, "1/2", user=person) == "SL005"
    assert charging(sql, ledger, "1/2", user=person) == 2
    assert (ledger.verify(), ledger.spent.epsilon) == (2, 1.5)


def test_an_approval_is_not_inherited_and_nobody_approves_their_own_under_another_name(server, url, sql, person):
    ledger = Ledger(url(), budget=PureDP(4.0), approval=True)
    for role in (person, "ben"):
        ledger.grant(role)
    approve = f"SELECT shortlist.approve('{ledger.name}', %s, %s, '\"1\"')"
    assert charging(sql, ledger, "1/2", user=person) == 1
    assert isinstance(sql("ben", approve, "a" * 32, 1), list)
    made_anew(server, person)
    ledger.grant(person)
    assert charging(sql, ledger, "1/2", user=person) == 3, "a request of their own"
    renamed = f"{person}_renamed"
    server.sql(f"ALTER ROLE {person} RENAME TO {renamed}")
    ledger.grant(renamed)
    assert sql(renamed, approve, "b" * 32, 3) == "SL010"
    assert ledger.verify() == 3


def test_a_renamed_role_has_no_rights_until_it_is_let_in_again(server, url, sql, person):
    ledger = Ledger(url(), budget=PureDP(4.0))
    ledger.grant(person)
    server.sql(f"ALTER ROLE {person} RENAME TO {person}_x")
    assert charging(sql, ledger, "1/2", user=f"{person}_x") == "SL001"
    server.sql(f"CREATE ROLE {person} LOGIN IN ROLE {person}_x")
    assert charging(sql, ledger, "1/2", user=person) == "SL001", "the old name is another role's now"
    ledger.grant(f"{person}_x")
    assert charging(sql, ledger, "1/2", user=f"{person}_x") == 1


def test_a_restored_database_gives_a_role_of_the_same_number_nothing(server, url, sql, person):
    """As after a restore into a server where roles have other numbers: both must agree."""
    ledger = Ledger(url(), budget=PureDP(4.0))
    ledger.grant(person)
    server.sql(
        "UPDATE shortlist.analysts SET role_id = (SELECT oid FROM pg_roles WHERE rolname = 'ben') "
        f"WHERE role = '{person}'", base="ledgers",
    )  # fmt: skip
    assert charging(sql, ledger, "1/2", user=person) in ("SL001", "42501")
    assert charging(sql, ledger, "1/2", user="ben") in ("SL001", "42501")
    ledger.grant(person)
    assert charging(sql, ledger, "1/2", user=person) == 1


@pytest.mark.parametrize("refundable", ["", "pure"])
@pytest.mark.parametrize("nothing", ["0", "0/8"])
def test_a_refund_of_nothing_is_refused(ledger, sql, refundable, nothing):
    assert charging(sql, ledger, "1", words=["PureDP", "Looking", "", "", refundable, ""]) == 1
    assert refund(sql, ledger, ledger.entries()[0], nothing, user="anna", curve=nothing) == "SL002"
    assert ledger.verify() == 1


# Lengths


@pytest.mark.parametrize(("place", "most"), [(0, 10**6), (1, 10**6), (2, 10_000), (3, 1_000), (5, 10_000)])
@pytest.mark.parametrize("letter", ["x", '"', "\n", "é", "🗳"])
def test_texts_have_the_documented_length_in_characters(ledger, sql, place, most, letter):
    words = ["", "", "", "", "", ""]
    words[place] = letter * (most + 1)
    assert charging(sql, ledger, "1/8", words=words) == "SL002"
    words[place] = letter * most
    assert charging(sql, ledger, "1/8", words=words) == 1
    assert ledger.verify() == 1


def test_a_backslash_before_a_letter_counts_once(ledger, sql):
    for unit, booked in (("\\u0041" * 143, True), ("\\u0041" * 144, False)):
        assert (charging(sql, ledger, "1/8", words=["", "", "", unit, "", ""]) == 1) == booked


def test_a_long_first_entry_is_not_read_at_every_call(url, name, sql, monkeypatch):
    ledger = Ledger(url(), budget=ApproxDP(4.0, 1e-6))
    ledger.grant("anna")
    long = "🗳" * 10**6
    assert charging(sql, ledger, "0", "0", words=[long, long, "", "", "", ""]) == 1
    for _ in range(2):
        ledger.charge(PureDP(0.25))
    ((ends,),) = sql("anna", f"SELECT sum(length(mechanism) + length(guarantee)) FROM shortlist.ends('{name}')")
    assert ends < 10_000
    assert ledger.verify() == 3
    assert json.dumps(ledger.entries()[0].guarantee) == json.dumps(long)
    ledger.charge(PureDP(0.25))
    assert ledger.verify() == 4


def test_long_entries_are_read_in_parts_and_all_of_them(ledger, sql, monkeypatch):
    long, parts, real = "x" * 10**6, [], PostgresStore._rows
    for _ in range(40):
        assert charging(sql, ledger, "0", words=[long, "", "", "", "", ""])

    def rows(self, line, function, *words):
        found = real(self, line, function, *words)
        parts.append(len(found))
        return found

    monkeypatch.setattr(PostgresStore, "_rows", rows)
    assert ledger.verify() == 40
    assert max(parts) < 40
    parts.clear()
    assert [entry.number for entry in ledger.entries()] == [*range(1, 41)]
    assert [entry.number for entry in ledger.entries(last=36)] == [*range(5, 41)]
    assert max(parts) < 36


# Neighbors


@pytest.mark.parametrize("unit", [
    "", "user", "user (replace)", "(add-remove)", "training record (replaces one teacher's votes)", "user (Replace)",
    "\\(replace)", '"(replace)', "(replace)\\", "a\0 🗳 (add-remove)", "(replace) ",
])  # fmt: skip
def test_the_server_reads_the_relation_that_python_reads(ledger, server, sql, unit):
    written = json.dumps(unit).replace("'", "''")
    stated = server.sql(f"SELECT shortlist.relation_of('{written}')", base="ledgers")[0][0]
    ends = {"(replace)": "replace", "(add-remove)": "add-remove", "(replaces one teacher's votes)": "replace"}
    relation = next((one for end, one in ends.items() if unit.endswith(end)), "")
    assert (stated or "") == relation
    assert charging(sql, ledger, "1/8", words=["PureDP", "Looking", "", unit, "", ""]) == 1
    other = "user (add-remove)" if relation == "replace" else "user (replace)"
    booked = charging(sql, ledger, "0", words=["PureDP", "Looking", "", other, "", ""])
    assert booked == ("SL011" if relation else 2), "whatever client charges, and at no cost too"
    assert ledger.verify() == Ledger(ledger.path).verify() == (1 if relation else 2)


def test_of_two_first_charges_for_different_neighbors_one_is_refused_in_words(ledger, url, sql, monkeypatch):
    anna, real = Ledger(url("anna")), PostgresStore._call

    def late(self, line, function, *words):
        monkeypatch.undo()
        assert charging(sql, ledger, "1/8", user="ben", words=["PureDP", "Looking", "", "user (replace)", "", ""]) == 1
        return real(self, line, function, *words)

    monkeypatch.setattr(PostgresStore, "_call", late)
    with pytest.raises(ValueError, match="has just charged this ledger for other neighbors"):
        anna.charge(PureDP(0.25), unit="user (add-remove)")
    with pytest.raises(ValueError, match='counts charges for neighbours="replace"'):
        anna.charge(PureDP(0.25), unit="user (add-remove)")
    assert ledger.verify() == 1


def test_a_ledger_that_moves_keeps_to_its_relation(url, tmp_path, sql):
    old = Ledger(tmp_path / "q4.db", budget=PureDP(2.0))
    old.charge(PureDP(0.5), unit="user (replace)")
    move(old.path, url(), 10.0)
    new = Ledger(url())
    with pytest.raises(ValueError, match='counts charges for neighbours="replace"'):
        new.charge(PureDP(0.25), unit="user (add-remove)")
    assert new.verify() == 1
