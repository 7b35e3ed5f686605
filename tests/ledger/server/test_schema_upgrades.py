"""Schemas of older versions: what their owner's first use makes of them, and what every row of them stays."""

from types import SimpleNamespace

import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'shortlist[postgres]'")

import psycopg

from shortlist import Ledger, PureDP
from shortlist.ledger.chain import digest
from shortlist.ledger.filter import Terms
from shortlist.ledger.postgres import CALLED, SETTINGS, step, terms_of
from shortlist.privacy import BudgetExceeded, LedgerError
from tests.helpers.postgres import OWNER
from tests.ledger.server.test_schema import charging

CONTENT = """{"budget": {"kind": "PureDP", "epsilon": 1.0}, "split": null, "order": null,
 "limits": ["1", null, "0"]%s, "made": "2026-11-18T00:00:00.000+00:00", "version": "0.2.0", "id": "00"}"""
ZERO_REFUND = "SELECT (b.entry).number FROM shortlist.refund('q4', %s, 1, %s, '\"x\"', '\"x\"', '0', '0') AS b"


def older(server, base, number, *, approval=False):
    """A ledger as a client of that schema made it, with anna and ben let in."""
    content = CONTENT % (', "approval": true' if approval else "")
    with psycopg.connect(host=str(server.folder), dbname=base, user=OWNER, autocommit=True) as line:
        line.execute(SETTINGS)
        for one in range(1, number + 1):
            line.execute(step(one))
        terms = terms_of(Terms.of(PureDP(1.0), None, None))
        line.execute(
            "INSERT INTO shortlist.ledgers (name, content, origin, limit_epsilon, limit_curve, limit_delta, "
            "whole_delta, approval) VALUES ('q4', %s, %s, %s, %s, %s, %s, %s)",
            (content, digest(content), *terms, approval),
        )
        granted = ", ".join(f"shortlist.{function}" for function in CALLED)
        for role in ("anna", "ben"):
            line.execute(f"GRANT USAGE ON SCHEMA shortlist TO {role}; GRANT EXECUTE ON FUNCTION {granted} TO {role}")
            line.execute("INSERT INTO shortlist.analysts VALUES (1, %s)", (role,))
    return SimpleNamespace(name="q4")


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("budget", [None, PureDP(1.0)])
def test_an_older_schema_is_upgraded_when_its_owner_opens_it_and_by_nobody_else(
    server, own_base, sql_in, number, budget
):
    url, run = server.url(own_base), sql_in(own_base)
    old = older(server, own_base, number)
    assert charging(run, old, "1/2") == 1
    for given in (None, PureDP(1.0)):
        with pytest.raises(LedgerError, match=rf"schema {number}, not 4.*its owner opens it once|by this role"):
            Ledger(url.replace(OWNER, "anna"), budget=given)
    assert charging(run, old, "1/8") == 2, "it was left alone"
    ledger = Ledger(url, budget=budget)
    assert (ledger.verify(), ledger.spent.epsilon) == (2, 0.625)
    anna = Ledger(url.replace(OWNER, "anna"))
    anna.reserve(PureDP(0.25), refundable=("pure",)).refund(PureDP(0.125))
    with pytest.raises(BudgetExceeded):
        anna.charge(PureDP(0.5))
    assert (anna.verify(), anna.spent.epsilon) == (4, 0.75)


def test_what_an_upgrade_adds_belongs_to_the_owner_whoever_makes_it(server, own_base, sql_in):
    """A member of the owner may upgrade; analysts must not depend on that member's rights."""
    older(server, own_base, 3)
    server.sql(f"CREATE ROLE member_{own_base} LOGIN IN ROLE {OWNER}")
    Ledger(server.url(own_base, user=f"member_{own_base}"))
    owners = (
        "SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class WHERE relnamespace = 'shortlist'::regnamespace UNION "
        "SELECT DISTINCT pg_get_userbyid(proowner) FROM pg_proc WHERE pronamespace = 'shortlist'::regnamespace"
    )
    assert server.sql(owners, base=own_base) == [(OWNER,)]
    server.sql(f"DROP ROLE member_{own_base}")
    Ledger(server.url(own_base, user="anna")).charge(PureDP(0.5), unit="user (replace)")


def test_requests_and_charges_of_older_schemas_have_no_role_so_they_pay_for_nothing(server, own_base, sql_in):
    run = sql_in(own_base)
    old = older(server, own_base, 1, approval=True)
    approve = f"SELECT shortlist.approve('{old.name}', %s, %s, '\"1\"')"
    assert charging(run, old, "1/2") == 1
    assert isinstance(run("ben", approve, "b" * 32, 1), list)
    assert charging(run, old, "1/4") == 3, "what schema 1 allowed: another cost than that of the request"
    assert charging(run, old, "1/2") == 4
    assert isinstance(run("ben", approve, "c" * 32, 4), list)
    again = Ledger(server.url(own_base))
    assert again.verify() == 5
    assert charging(run, again, "1/2") == 6, "a new request, which states its cost and its role"
    assert isinstance(run("ben", approve, "d" * 32, 6), list)
    assert charging(run, again, "1/2") == 8
    assert [entry.epsilon for entry in again.entries()[-3:]] == ["1/2", "0", "1/2"]
    assert (again.spent.epsilon, again.verify()) == (0.75, 8)
    assert run("anna", "SELECT * FROM shortlist.entries") == "42501"


def test_a_refund_of_nothing_that_an_older_schema_admitted_changes_nothing(server, own_base, sql_in, tmp_path):
    """It made `verify` and `report` fail for good, by an analyst with the right to charge."""
    run = sql_in(own_base)
    old = older(server, own_base, 3)
    assert charging(run, old, "1/2", words=["PureDP", "Looking", "", "user (replace)", "", ""]) == 1
    ((hash,),) = run("anna", "SELECT hash FROM shortlist.rows_between('q4', 1, 1)")
    assert run("anna", ZERO_REFUND, "a" * 32, hash) == [(2,)]
    ledger = Ledger(server.url(own_base))
    assert (ledger.verify(), ledger.spent.epsilon) == (2, 0.5)
    ledger.report(tmp_path / "page.html")
    with pytest.raises(ValueError, match="counts charges for"):
        ledger.charge(PureDP(0.25), unit="user (add-remove)")
    ledger.charge(PureDP(0.5))
    assert ledger.verify() == 3
