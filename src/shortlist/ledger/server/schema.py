"""How ledgers get into a database, and who may use them there: by the role that owns them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib.resources import files
from typing import Any

from psycopg import sql

from shortlist._version import version
from shortlist.accounting.guarantees import ApproxDP
from shortlist.ledger.chain import FACTS, NAMES, LedgerEntry, digest
from shortlist.ledger.errors import LedgerError
from shortlist.ledger.schema import now
from shortlist.ledger.server.address import Address
from shortlist.ledger.server.line import LOCK, Failed, Line, Lines, in_codes, patiently, rows_of, together
from shortlist.ledger.terms import Terms

NEWEST = 4
"""The schema that this version makes and uses. An older one is upgraded by its owner, a newer one is refused."""
CALLED = (
    "look(text, bigint)", "rows_between(text, bigint, bigint)", "ends(text)", "with_hash(text, text)",
    "find(text, text)", "charge(text, text, text, text, text, text, text, text, text, text, text, text)",
    "refund(text, text, bigint, text, text, text, text, text)", "approve(text, text, bigint, text)",
)  # fmt: skip
"""What an analyst may call; nothing else."""


def step(number: int) -> str:
    """What makes schema `number` of the one before it; the first one, of nothing."""
    return files("shortlist.ledger.server").joinpath(f"schema-{number}.sql").read_text("utf-8")


def terms_of(terms: Terms) -> list[str | None]:
    """What the server checks charges against: the limits, and all of delta if the first charge may choose it."""
    whole = str(Fraction(terms.budget.delta)) if isinstance(terms.budget, ApproxDP) else None
    return [*terms.limits.as_text(), whole]


class Making:
    """Makes the tables and functions in a database, and ledgers in them."""

    __slots__ = ("_address", "_lines", "_wait")

    def __init__(self, address: Address, wait: float) -> None:
        self._address, self._lines, self._wait = address, Lines(address), wait

    def unless_there(self, terms: Callable[[], Terms]) -> None:
        """Make a new ledger, unless there is one of that name or nobody told this role."""
        if not self._is_there():
            fixed = terms()
            content = {**fixed.as_json(), "made": now(), "version": version(), "id": secrets.token_hex(16)}
            self._copied(fixed, json.dumps(content), [], others=True)

    def copy(self, terms: Terms, content: str, entries: Sequence[LedgerEntry], *, rehearse: bool = False) -> None:
        """Make a ledger with these entries, whole or not at all, unless it is there already.

        Raises
        ------
        LedgerError
            if there is another one of that name; when it is only rehearsed, if there is any.
        """
        self._copied(terms, content, entries, rehearse=rehearse)

    def _copied(
        self, terms: Terms, content: str, entries: Sequence[LedgerEntry], rehearse: bool = False, others: bool = False
    ) -> None:
        def work(line: Line) -> None:
            with line.transaction(force_rollback=rehearse):
                if not self._make(line, terms, content, entries) and not others:
                    self._check_same(line, content, entries, rehearse)

        try:
            patiently(str(self._address), self._wait, lambda: self._lines.use(lambda line: in_codes(line, work)))
        finally:
            self._lines.hang_up()

    def _is_there(self) -> bool:
        """Whether there is a ledger of that name in a schema that is up to date, for this role."""
        code = ""
        try:
            rows = self._lines.use(
                lambda line: rows_of(line, "SELECT version FROM shortlist.look(%s, 0)", (self._address.name,))
            )
            return bool(rows[0][0] >= NEWEST)
        except Failed as failed:
            code = failed.code
        finally:
            self._lines.hang_up()
        return not code.startswith(("3F", "42883", "42501", "SL001"))  # what else is wrong is told by opening it

    def _make(self, line: Line, terms: Terms, content: str, entries: Sequence[LedgerEntry]) -> bool:
        """Whether it was made; if not there is one of that name."""
        self._bring_up_to_date(line)
        made = rows_of(
            line,
            "INSERT INTO shortlist.ledgers (name, content, origin, limit_epsilon, limit_curve, limit_delta, "
            "whole_delta, approval, mixed) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING "
            "RETURNING id",
            (self._address.name, content, digest(content), *terms_of(terms), terms.approval, terms.mixed),
        )
        if made and entries:
            _fill(line, made[0][0], entries)
        return bool(made)

    def upgraded(self) -> bool:
        """Upgrade the schema of a database in which there are ledgers; False for a role that may not."""

        def work(line: Line) -> None:
            with line.transaction():
                self._bring_up_to_date(line)

        try:
            patiently(str(self._address), self._wait, lambda: self._lines.use(lambda line: in_codes(line, work)))
        except LedgerError:
            return False
        finally:
            self._lines.hang_up()
        return True

    def _bring_up_to_date(self, line: Line) -> None:
        """Make the newest schema of the one that is there, as its owner: what is added must be theirs too."""
        rows_of(line, "SELECT pg_advisory_xact_lock(%s, 0)", (LOCK,))
        self._check_database(line)
        there = _schema_of(line)
        if 0 < there < NEWEST:
            ((owner,),) = rows_of(
                line, "SELECT pg_get_userbyid(nspowner) FROM pg_catalog.pg_namespace WHERE nspname = 'shortlist'"
            )
            rows_of(line, f"SET LOCAL ROLE {sql.Identifier(owner).as_string(line)}")
        for number in range(there + 1, NEWEST + 1):
            rows_of(line, step(number))

    def _check_same(self, line: Line, content: str, entries: Sequence[LedgerEntry], rehearse: bool) -> None:
        """Whether what is there has these terms and these entries: an older copy of a ledger has the same terms."""
        heads = (digest(content), *(entry.hash for entry in entries[-1:]))
        same = "SELECT origin FROM shortlist.ledgers WHERE name = %s UNION ALL SELECT hash FROM shortlist.entries "
        same += "WHERE ledger = (SELECT id FROM shortlist.ledgers WHERE name = %s) AND hash = %s"
        there = rows_of(line, same, (self._address.name, self._address.name, heads[-1]))
        if rehearse or [row[0] for row in there] != list(heads):
            raise LedgerError(f"{self._address} is there already: choose another name")

    def _check_database(self, line: Line) -> None:
        ((encoding, old),) = rows_of(
            line, "SELECT current_setting('server_encoding'), current_setting('server_version_num')::int < 130000"
        )
        if encoding != "UTF8" or old:
            raise LedgerError(
                f"{self._address} cannot hold ledgers: it needs PostgreSQL 13 or later, and a database in UTF8"
            )


def _schema_of(line: Line) -> int:
    """The number of the schema that is there; 0 if there is none."""
    if not rows_of(line, "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'shortlist'"):
        return 0
    ((there,),) = rows_of(line, "SELECT max(version) FROM shortlist.about")
    if there is None or there > NEWEST:
        raise LedgerError(
            f"the database is of schema {there}, not {NEWEST} as this version's; upgrade shortlist to use it"
        )
    return int(there)


def _fill(line: Line, ledger: int, entries: Sequence[LedgerEntry]) -> None:
    """Entries of another ledger, word for word."""
    charges, rows = 0, []
    for entry in entries:
        charges += entry.kind == "charge"
        texts = ("mechanism", "guarantee", "purpose", "unit", "version", "refundable", "who", "source")
        columns: dict[str, Any] = {name: getattr(entry, name) for name in (*NAMES, *FACTS)}
        columns |= {name: json.dumps(columns[name]) for name in texts if columns[name] is not None}
        rows.append((ledger, *columns.values(), charges))
    marks = ", ".join(["%s"] * len(rows[0]))
    with line.cursor() as cursor:
        cursor.executemany(f"INSERT INTO shortlist.entries VALUES ({marks})", rows)
    first = next((entry for entry in entries if entry.relation), None)
    if first is not None:
        rows_of(line, "INSERT INTO shortlist.neighbors VALUES (%s, %s, %s)", (ledger, first.number, first.relation))


def share(line: Line, ledger: int, role: str, allowed: bool) -> None:
    """Let a role call what analysts call, for this ledger; or no longer."""
    if not allowed:
        rows_of(line, "DELETE FROM shortlist.analysts WHERE ledger = %s AND role = %s", (ledger, role))
        return
    name = sql.Identifier(role).as_string(line)
    granted = ", ".join(f"shortlist.{function}" for function in CALLED)
    together(
        line,
        [
            ("BEGIN", None),
            (f"GRANT USAGE ON SCHEMA shortlist TO {name}", None),
            (f"GRANT EXECUTE ON FUNCTION {granted} TO {name}", None),
            (
                "INSERT INTO shortlist.analysts SELECT %s, %s, oid FROM pg_roles WHERE rolname = %s "
                "ON CONFLICT (ledger, role) DO UPDATE SET role_id = EXCLUDED.role_id",
                (ledger, role, role),
            ),
            ("COMMIT", None),
        ],
    )
