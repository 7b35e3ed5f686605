"""A ledger on a PostgreSQL server."""

from __future__ import annotations

import ctypes
import json
import logging
import os
import re
import secrets
import selectors
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from importlib.resources import files
from types import NoneType
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qsl, quote, urlencode

import psycopg
from psycopg import pq, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from shortlist._runtime import check_signals, version
from shortlist.accounting.guarantees import ApproxDP
from shortlist.errors import Text, bad_value
from shortlist.ledger import chain
from shortlist.ledger.chain import FACTS, MISTAKES, NAMES, LedgerEntry, LedgerError, Origin, OutcomeUnknown, Store
from shortlist.ledger.filter import RELATIONS, Amounts, State, Terms, admit
from shortlist.ledger.ledger import on_server
from shortlist.ledger.sqlite import PAUSES, SqliteStore

SHOWN = ("host", "hostaddr", "port", "user", "dbname", "service", "sslmode")
"""Of what libpq knows. Everything else might be a secret, or hold one."""
SECRET = ("password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret")
PATIENCE = {"connect_timeout": "10", "keepalives_idle": "30", "tcp_user_timeout": "30000"}
"""Unless the address says otherwise: a network that swallows everything is noticed after half a minute."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
EXAMPLE = 'write "postgresql://user@host/database?name=q4", for example'


class Address:
    """A server, a database and the name of a ledger in it, with what is needed to log in."""

    __slots__ = ("_options", "name")

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.name, self._options = name, options

    @classmethod
    def of(cls, url: str) -> Self:
        """From a URL as libpq has them, with `name=` among its parameters.

        Raises
        ------
        ValueError
            that does not repeat the URL, for there may be a password in it.
        """
        base, _, query = url.partition("?")
        try:
            query = query.replace("+", "%2B")  # libpq knows no other way to write a space than %20
            words = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
        except ValueError:
            words = None
        if words is None or "\0" in url or "%00" in url:
            raise bad_value(f"$path must be the address of a server: {EXAMPLE}")
        names = [value for word, value in words if word == "name"]
        if len(names) != 1 or not NAME.fullmatch(names[0]):
            raise ValueError(
                "name must be given once, in letters, digits, dots, hyphens and underscores, 63 at most, beginning "
                f"with a letter or a digit: {EXAMPLE}"
            )
        rest = urlencode([(word, value) for word, value in words if word != "name"], quote_via=quote)
        options = _options(f"{base}?{rest}" if rest else base)
        if options is None:
            raise bad_value(f"$path must be the address of a server as libpq has them: {EXAMPLE}")
        return cls(names[0], {**PATIENCE, **options})

    def login(self) -> dict[str, Any]:
        """What psycopg is told, with the password. Nobody else is."""
        return {**self._options, "application_name": "shortlist"}

    def __str__(self) -> str:
        """The address without its secrets: it opens the ledger again where no password is asked for."""
        said = {name: str(self._options[name]) for name in SHOWN if self._options.get(name)}
        user, host, port = (said.pop(name, "") for name in ("user", "host", "port"))
        if not re.fullmatch(r"[A-Za-z0-9.-]*", host):  # a socket's folder, several hosts, an IPv6 address
            said["host"], host = host, ""
        if port and (not host or not port.isdigit()):
            said["port"], port = port, ""
        place = (f"{quote(user, safe='')}@" if user else "") + host + (f":{port}" if port else "")
        base = quote(said.pop("dbname", ""), safe="")
        return f"postgresql://{place}/{base}?{urlencode({**said, 'name': self.name}, quote_via=quote)}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    def __reduce__(self) -> Any:
        """A copy in another process has no password: libpq finds it where it found it here, in a file of passwords."""
        return Address, (self.name, {name: one for name, one in self._options.items() if name not in SECRET})


def _options(url: str) -> dict[str, Any] | None:
    try:
        options = conninfo_to_dict(url)
    except Exception:  # its words repeat the URL
        return None
    host, base, port = (str(options.get(name) or "") for name in ("host", "dbname", "port"))
    # a password in which @ or / was not written as %40 or %2F ends up in these, which are shown; so does password=...
    shown = re.fullmatch(r"[0-9,]*", port) and not re.search("[@=]", host) and not re.search("[@/=]", base)
    return options if shown else None


logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what went wrong is said in our words, once

MOST_IDLE = 4
"""Connections that one object keeps for later: as many as threads use it at once, at most so many."""
LOCK = 0x73686C74
"""The first half of an advisory lock's key, "shlt"; the second is the ledger's number."""
SETTINGS = (
    "SET search_path = pg_catalog, pg_temp; SET lock_timeout = '2s'; SET idle_in_transaction_session_timeout = '60s'; "
    "SET default_transaction_isolation = 'read committed'; SET client_encoding = 'UTF8'; "
    "SET standard_conforming_strings = on"
)
"""Of every connection: nobody else's function is found by its name, nobody waits or holds for ever, texts are texts."""
AGAIN = ("40001", "40P01", "55P03", "23505")
"""What is tried again: others were faster, or hold the ledger. Nothing happened."""
STARTING = ("57P03", "53300")
"""The server starts, or has no place for one more connection."""

CODE = re.compile(rb":\s+([0-9A-Z]{5})\s*$", re.MULTILINE)
"""A refusal in which the server's code stands in place of its words."""
CODES_ONLY = 3
"""libpq's PQERRORS_SQLSTATE."""
DIAGNOSIS = 10.0
"""Seconds that asking for a code may take."""


class Line(psycopg.Connection[tuple[Any, ...]]):
    """A connection that says nothing when it is forgotten: in a child process it is its parent's."""

    __del__ = NoneType  # a function of C: an interrupt in one of Python's would be lost


class Failed(Exception):  # noqa: N818 - never seen outside of this folder
    """What the server answered, by its code alone: its words may repeat what it was sent."""

    def __init__(self, code: str, *, alive: bool) -> None:
        super().__init__(code)
        self.code, self.alive = code, alive


class Lines:
    """The connections of one object. Nothing is locked: taking one from the list is one call of C."""

    __slots__ = ("_address", "_idle", "_process")

    def __init__(self, address: Address) -> None:
        self._address = address
        self._idle: list[Line] = []
        self._process = os.getpid()

    def __reduce__(self) -> Any:
        return Lines, (self._address,)

    def take(self) -> tuple[Line, bool]:
        """(a connection, whether it was used before)."""
        if self._process != os.getpid():
            self._idle, self._process = [], os.getpid()
        with suppress(IndexError):
            while True:
                line = self._idle.pop()
                if not line.closed:
                    return line, True
        return _connect(self._address), False

    def keep(self, line: Line) -> None:
        """For the next call."""
        if len(self._idle) < MOST_IDLE and self._process == os.getpid():
            self._idle.append(line)
        else:
            line.close()

    def close_connections(self) -> None:
        """Close what is kept."""
        while self._idle and self._process == os.getpid():
            self._idle.pop().close()

    def use(self, work: Callable[[Line], chain.Found]) -> chain.Found:
        """What `work` finds by a connection that is its own. If it raises, the connection is closed.

        A connection that was kept and turns out to be dead is replaced once, if `work` says that nothing was booked.
        """
        line, used = self.take()
        good = False
        try:
            try:
                answer = work(line)
                good = not line.closed
                return answer
            finally:
                if good:
                    self.keep(line)
                else:
                    line.close()
        except Failed as failed:
            if not used or failed.alive or failed.code == "unknown":
                raise
        finally:
            if not good:
                line.close()  # the first one may have been interrupted
        self.close_connections()  # they are as old as the one that is dead
        return self.use(work)


def _connect(address: Address) -> Line:
    code = None
    try:
        line = Line.connect(autocommit=True, prepare_threshold=None, **address.login())
    except psycopg.Error as error:
        code = error.sqlstate
        if code is None:
            code = "08001" if isinstance(error, psycopg.errors.ConnectionTimeout) else _refusal(address)
    if code is not None:
        raise Failed(code, alive=False)
    good = False
    try:
        rows_of(line, SETTINGS)
        good = True
        return line
    finally:
        if not good:
            line.close()


def _refusal(address: Address) -> str:
    """Return the code by which a server refuses a connection; "08001" if no server answers.

    libpq reports a refusal in words only, in the server's language. This connects once more, with libpq set to report
    codes. If the server now accepts the connection, it had no place for it a moment ago.
    """
    target = make_conninfo(**address.login()).encode()
    request = pq.PGconn.connect_start(target)
    try:
        if not _report_codes(request):
            return "57P03" if pq.PGconn.ping(target) == pq.Ping.REJECT else "08001"
        if _finish_connecting(request, time.monotonic() + DIAGNOSIS):
            return "53300"
        codes = [code.decode() for code in CODE.findall(request.error_message)]
    except psycopg.Error:
        return "08001"
    finally:
        request.finish()
    return next((code for code in codes if code in STARTING), codes[-1] if codes else "08001")


def _report_codes(request: pq.abc.PGconn) -> bool:
    """Let a connection report codes in place of words. False where libpq's function is not found, as on Windows."""
    module = sys.modules[type(request).__module__]
    try:
        library = module.impl.pq if pq.__impl__ == "python" else ctypes.CDLL(str(module.__file__))
        choose = library.PQsetErrorVerbosity
    except (OSError, AttributeError):
        return False
    choose.argtypes, choose.restype = [ctypes.c_void_p, ctypes.c_int], ctypes.c_int
    choose(request.pgconn_ptr, CODES_ONLY)  # type: ignore[attr-defined]
    return True


def _finish_connecting(request: pq.abc.PGconn, until: float) -> bool:
    """Whether a connection that was started is made before it is too late."""
    waits = selectors.EVENT_WRITE
    while request.status != pq.ConnStatus.BAD and (left := until - time.monotonic()) > 0:
        with selectors.DefaultSelector() as selector:
            selector.register(request.socket, waits)
            selector.select(left)
        now = request.connect_poll()
        if now in (pq.PollingStatus.OK, pq.PollingStatus.FAILED):
            return now == pq.PollingStatus.OK
        waits = selectors.EVENT_READ if now == pq.PollingStatus.READING else selectors.EVENT_WRITE
    return False


def rows_of(line: Line, query: str, parameters: Sequence[object] | None = None) -> list[tuple[Any, ...]]:
    """The rows that one statement gives, in one round trip."""
    return together(line, [(query, parameters)])[0]


def together(
    line: Line, statements: Sequence[tuple[Any, Sequence[object] | None]], *, commit: int | None = None
) -> list[list[tuple[Any, ...]]]:
    """The rows of several statements that are sent together, in one round trip. After one that fails none is run.

    `commit` is the place of the statement by which something is booked: once the server has said that it is done, it is
    booked, whatever fails after it.

    Raises
    ------
    Failed
        with the code of what went wrong; "unknown" if something was to be booked and the connection is gone.
    """
    cursors: list[Any] = []

    def work(line: Line) -> None:
        if len(statements) == 1:
            cursors.append(line.execute(*statements[0]))
            return
        with line.pipeline():
            for statement in statements:
                cursors.append(line.execute(*statement))  # noqa: PERF401 - those before one that fails count

    try:
        in_codes(line, work, booking=commit is not None)
    except Failed:
        if commit is None or [cursor.statusmessage for cursor in cursors[commit : commit + 1]] != ["COMMIT"]:
            raise
        line.close()  # with it ends what it holds
    return [cursor.fetchall() if cursor.description is not None else [] for cursor in cursors]


def in_codes(line: Line, work: Callable[[Line], chain.Found], *, booking: bool = False) -> chain.Found:
    """What `work` gives. An error of the server's is raised by its code, and carries no other error along.

    Where an interrupt came first it is the interrupt that is raised: psycopg cancels then what the server is doing, and
    how that ends may take its place.
    """
    failed: BaseException | None = None
    before = sys.exc_info()[1]  # what the caller handles, which stands behind every error of ours
    try:
        return work(line)
    except psycopg.Error as error:
        ended = line.closed or line.broken or error.diag.severity_nonlocalized in ("FATAL", "PANIC")
        alive = not ended and error.sqlstate is not None
        code = (error.sqlstate or "08006") if alive or not booking else "unknown"
        failed = _interrupt_behind(error, before) or Failed(code, alive=alive)
    raise failed


def _interrupt_behind(error: BaseException, before: BaseException | None) -> BaseException | None:
    """What was interrupting when this error came of it; nothing of what was handled before."""
    behind = error.__context__
    while behind is not None and behind is not before and isinstance(behind, Exception | GeneratorExit):
        behind = behind.__context__
    return None if behind is before else behind


def call_serializable(line: Line, number: int, query: str, parameters: Sequence[object]) -> tuple[Any, ...]:
    """The row that a function of the server gives in a serializable transaction, with the ledger held; durable.

    All of it is one round trip. The ledger is held before the transaction begins, for a serializable one sees what
    there was at its first statement: one that waited inside would have to be tried again. If anything fails the caller
    closes the connection, which lets the ledger go.
    """
    key = (LOCK, number)
    hold = [("BEGIN", None), ("SELECT pg_advisory_lock(%s, %s)", key), ("COMMIT", None)]
    book = [("BEGIN ISOLATION LEVEL SERIALIZABLE", None), (query, parameters), ("COMMIT", None)]
    rows = together(line, [*hold, *book, ("SELECT pg_advisory_unlock(%s, %s)", key)], commit=len(hold) + 2)
    return rows[len(hold) + 1][0]


def patiently(path: str, wait: float, work: Callable[[], chain.Found]) -> chain.Found:
    """What `work` gives, tried again for so many seconds while others are faster or the server starts.

    Raises
    ------
    LedgerError
        in one sentence, whatever is wrong with the server; nothing was booked.
    """
    until, pause = time.monotonic() + wait, PAUSES[0]
    while True:
        try:
            return work()
        except Failed as failed:
            code = failed.code
        if code not in (*AGAIN, *STARTING) or time.monotonic() >= until:
            raise LedgerError(Text(f"{path} {meaning(code, wait)}"))
        check_signals()  # a signal that came while psycopg waited: nothing was booked
        time.sleep(pause)
        pause = min(2 * pause, PAUSES[1])


def meaning(code: str, wait: float) -> str:
    """What the server's code means for the one who reads it."""
    meanings = {
        "3F": "is not there: no ledger was made in this database; its owner makes one with $budget=",
        "42883": "is not there: this database holds no ledgers that this version of shortlist knows",
        "42501": "cannot be used so by this role: its owner lets analysts in (`shortlist ledger grant`), and only the "
        "owner makes and closes ledgers",
        "42704": "knows no such role: an administrator makes roles (CREATE ROLE)",
        "SL000": "cannot be changed: a ledger only grows",
        "SL001": "is not there, or its owner has not let this role in (`shortlist ledger grant`)",
        "SL002": "cannot book this: a number or a text is longer or other than a ledger keeps",
        "SL003": "was closed for good and books nothing more",
        "SL004": "was asked before whether this was booked, and has said no: it is not booked; ask again",
        "25006": "cannot be written: the server is a standby, or read-only; give the address of the primary",
        "53100": "cannot grow: the server's disk is full; make room and try again",
        "53300": f"has had no place for one more connection for {wait:g} seconds",
        "57P03": f"has been starting or stopping for {wait:g} seconds; see what the server is doing",
        "55P03": f"has been held by another session for {wait:g} seconds; see what that session is doing",
        "08": "cannot be reached or logged in to: check the address, the database, the user and its password (it may "
        "stand in ~/.pgpass), and that the server runs",
        "28": "refuses this login: check the user and its password (it may stand in ~/.pgpass)",
        "3D": "is not there: the server has no such database, check the address",
        "57": "ended the connection: it stops, or an administrator asked for it; try again",
    }
    known = [text for start, text in meanings.items() if code.startswith(start)]
    return known[0] if known else f"cannot be used: the server says {code}"


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
    return files("shortlist.ledger").joinpath(f"schema-{number}.sql").read_text("utf-8")


def terms_of(terms: Terms) -> list[str | None]:
    """What the server checks charges against: the limits, and all of delta if the first charge may choose it."""
    whole = str(Fraction(terms.budget.delta)) if isinstance(terms.budget, ApproxDP) else None
    return [*terms.limits.as_text(), whole]


class Making:
    """Makes the tables and functions in a database, and ledgers in them."""

    __slots__ = ("_address", "_lines", "_wait")

    def __init__(self, address: Address, wait: float) -> None:
        self._address, self._lines, self._wait = address, Lines(address), wait

    def make(self, terms: Callable[[], Terms]) -> None:
        """Make a new ledger, unless there is one of that name or nobody told this role."""
        if not self._is_there():
            fixed = terms()
            self.copy(fixed, chain.new_terms(fixed), [], others=True)

    def copy(
        self,
        terms: Terms,
        content: str,
        entries: Sequence[LedgerEntry],
        *,
        rehearse: bool = False,
        others: bool = False,
    ) -> None:
        """Make a ledger with these entries, whole or not at all, unless it is there already.

        Raises
        ------
        LedgerError
            if there is another one of that name, and `others` is false; when it is only rehearsed, if there is any.
        """
        columns = "name, content, origin, limit_epsilon, limit_curve, limit_delta, whole_delta, approval, mixed"
        row = (self._address.name, content, chain.digest(content), *terms_of(terms), terms.approval, terms.mixed)
        make = f"INSERT INTO shortlist.ledgers ({columns}) VALUES ({_marks(row)}) ON CONFLICT DO NOTHING RETURNING id"

        def work(line: Line) -> None:
            self.bring_up_to_date(line)
            if made := rows_of(line, make, row):
                _fill(line, made[0][0], entries)
            elif not others:
                self._check_same(line, content, entries, rehearse)

        self.run(work, undo=rehearse)

    def run(self, work: Callable[[Line], None], *, undo: bool = False) -> None:
        """Run `work` in one transaction on a connection of its own, as others let it."""

        def transaction(line: Line) -> None:
            with line.transaction(force_rollback=undo):
                work(line)

        try:
            path = str(self._address)
            patiently(path, self._wait, lambda: self._lines.use(lambda line: in_codes(line, transaction)))
        finally:
            self._lines.close_connections()

    def _is_there(self) -> bool:
        """Whether there is a ledger of that name in a schema that is up to date, for this role."""
        code, look = "", "SELECT version FROM shortlist.look(%s, 0)"
        try:
            rows = self._lines.use(lambda line: rows_of(line, look, (self._address.name,)))
            return bool(rows[0][0] >= NEWEST)
        except Failed as failed:
            code = failed.code
        finally:
            self._lines.close_connections()
        return not code.startswith(("3F", "42883", "42501", "SL001"))  # what else is wrong is told by opening it

    def bring_up_to_date(self, line: Line) -> None:
        """Make the newest schema of the one that is there, as its owner: what is added must be theirs too."""
        rows_of(line, "SELECT pg_advisory_xact_lock(%s, 0)", (LOCK,))
        facts = "SELECT current_setting('server_encoding'), current_setting('server_version_num')::int < 130000"
        ((encoding, old),) = rows_of(line, facts)
        if encoding != "UTF8" or old:
            raise LedgerError(f"{self._address} cannot hold ledgers: that needs PostgreSQL 13 or later, in UTF8")
        there = _schema_of(line)
        if 0 < there < NEWEST:
            owners = "SELECT pg_get_userbyid(nspowner) FROM pg_catalog.pg_namespace WHERE nspname = 'shortlist'"
            ((owner,),) = rows_of(line, owners)
            rows_of(line, f"SET LOCAL ROLE {sql.Identifier(owner).as_string(line)}")
        for number in range(there + 1, NEWEST + 1):
            rows_of(line, step(number))

    def _check_same(self, line: Line, content: str, entries: Sequence[LedgerEntry], rehearse: bool) -> None:
        """Whether what is there has these terms and these entries: an older copy of a ledger has the same terms."""
        heads = (chain.digest(content), *(entry.hash for entry in entries[-1:]))
        same = "SELECT origin FROM shortlist.ledgers WHERE name = %s UNION ALL SELECT hash FROM shortlist.entries "
        same += "WHERE ledger = (SELECT id FROM shortlist.ledgers WHERE name = %s) AND hash = %s"
        there = rows_of(line, same, (self._address.name, self._address.name, heads[-1]))
        if rehearse or [row[0] for row in there] != list(heads):
            raise LedgerError(f"{self._address} is there already: choose another name")


def _marks(values: Sequence[object]) -> str:
    """The places of these values in a statement."""
    return ", ".join(["%s"] * len(values))


def _schema_of(line: Line) -> int:
    """The number of the schema that is there; 0 if there is none."""
    if not rows_of(line, "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = 'shortlist'"):
        return 0
    ((there,),) = rows_of(line, "SELECT max(version) FROM shortlist.about")
    if there is None or there > NEWEST:
        raise LedgerError(f"the database is of schema {there}, not {NEWEST} as this version's; upgrade shortlist")
    return int(there)


def _fill(line: Line, ledger: int, entries: Sequence[LedgerEntry]) -> None:
    """Entries of another ledger, word for word."""
    charges, rows = 0, []
    for entry in entries:
        charges += entry.kind == "charge"
        columns: dict[str, Any] = {name: getattr(entry, name) for name in (*NAMES, *FACTS)}
        columns |= {name: json.dumps(columns[name]) for name in TEXTS if columns[name] is not None}
        rows.append((ledger, *columns.values(), charges))
    if rows:
        with line.cursor() as cursor:
            cursor.executemany(f"INSERT INTO shortlist.entries VALUES ({_marks(rows[0])})", rows)
    first = next((entry for entry in entries if entry.relation), None)
    if first is not None:
        rows_of(line, "INSERT INTO shortlist.neighbors VALUES (%s, %s, %s)", (ledger, first.number, first.relation))


COLUMNS = ", ".join(f'"{name}"' for name in (*NAMES, *FACTS))
ENTRY = ", ".join(f'(booked.entry)."{name}"' for name in (*NAMES, *FACTS))
TEXTS = ("mechanism", "guarantee", "purpose", "unit", "version", "refundable", "who", "source")
"""Columns that hold JSON strings."""


class OldSchemaError(LedgerError):
    """A ledger that its owner has to upgrade first."""


class Session(NamedTuple):
    """A connection, and the token under which it writes."""

    line: Line
    token: str


class PostgresStore(Store[Session]):
    """Reads in one round trip, writes in two; both look first whether it is the ledger that was opened."""

    __slots__ = ("_address", "_lines", "_number")

    def __init__(self, address: Address, wait: float) -> None:
        self._address, self._lines = address, Lines(address)
        self.path, self.name, self.wait, self.tried = str(address), address.name, wait, None
        self.origin, self.seen, self._number = self._patiently(self._first_look)

    @classmethod
    def at(cls, url: str, wait: float, terms: Callable[[], Terms] | None) -> Self:
        """The ledger there; if there is none, it is made with these terms, by whoever may.

        An owner who opens a ledger of an older schema upgrades it.
        """
        address = Address.of(url)
        making = Making(address, wait)
        if terms is not None:
            making.make(terms)
        try:
            return cls(address, wait)
        except OldSchemaError as old:
            try:
                making.run(making.bring_up_to_date)
            except LedgerError:  # a role that may not
                raise old from None
        return cls(address, wait)

    def find(self, token: str) -> LedgerEntry | None:
        """The entry with this hash, or that this token became; if none did, none ever will."""
        if len(token) == 32:
            rows = self._patiently(lambda line: self._select(line, "find", token))
        else:
            rows = self._read(lambda session, _: self._select(session.line, "with_hash", token))
        return rows[0] if rows else None

    def share(self, role: str, *, allowed: bool) -> None:
        """Let a role charge and read this ledger, or no longer."""
        if not isinstance(role, str) or not role or "\0" in role or role == "public":  # "public" would be everybody
            raise bad_value('$role must be the name of a role of the server, for example "analyst"')
        granted = ", ".join(f"shortlist.{function}" for function in CALLED)
        allow = "INSERT INTO shortlist.analysts SELECT %s, %s, oid FROM pg_roles WHERE rolname = %s "
        allow += "ON CONFLICT (ledger, role) DO UPDATE SET role_id = EXCLUDED.role_id"
        forbid = "DELETE FROM shortlist.analysts WHERE ledger = %s AND role = %s"

        def work(line: Line) -> None:
            if not allowed:
                rows_of(line, forbid, (self._number, role))
                return
            name = sql.Identifier(role).as_string(line)
            grants = f"USAGE ON SCHEMA shortlist TO {name}", f"EXECUTE ON FUNCTION {granted} TO {name}"
            steps = ("BEGIN", None), *((f"GRANT {one}", None) for one in grants)
            together(line, [*steps, (allow, (self._number, role, role)), ("COMMIT", None)])

        self._patiently(work)

    def close_connections(self) -> None:
        """Close the connections that are kept."""
        self._lines.close_connections()

    def _patiently(self, work: Callable[[Line], chain.Found]) -> chain.Found:
        return patiently(self.path, self.wait, lambda: self._lines.use(work))

    def _read(self, work: Callable[[Session, State], chain.Found]) -> chain.Found:
        return self._patiently(lambda line: work(Session(line, ""), self._check(line)))

    def _write(self, work: chain.Write[Session], *, number: int = 0, closed: bool = False) -> State:
        """What `work` writes, under a token of its own.

        Raises
        ------
        OutcomeUnknown
            if the connection was cut while the server wrote.
        """
        token = secrets.token_hex(16)

        def once(line: Line) -> State:
            before = self._check(line)
            chain.check_open(self.path, before)
            return work(Session(line, token), before)

        def attempt() -> State | Failed:
            try:
                return self._lines.use(once)
            except Failed as failed:
                if failed.code != "unknown" and failed.code not in MISTAKES:
                    raise
                return failed

        answer = patiently(self.path, self.wait, attempt)
        if not isinstance(answer, Failed):
            return answer
        if answer.code == "unknown":
            raise OutcomeUnknown(self.path, token)
        raise bad_value(MISTAKES[answer.code].format(number=number))

    def _rows(self, session: Session, first: int, last: int) -> list[LedgerEntry]:
        """A server gives long entries in several parts."""
        return self._select(session.line, "rows_between", first, last)

    def _charge(self, session: Session, before: State, cost: Amounts, said: chain.Words) -> chain.Charged:
        """Charge in the server, which decides (Proposition 261); the words of a refusal were found here."""
        self.tried = session.token
        words = [*(json.dumps(said[name]) for name in chain.WORDS), json.dumps(version()), *cost.as_text()]
        entry, after = self._call(session, "charge", *words)
        if entry is None:  # others took the room between the look and the charge
            admit(self.origin.terms, self._check(session.line), cost)
            raise LedgerError(f"{self.path} has no room for this now, or the server counts otherwise than shortlist")
        return (before, entry.number) if entry.kind == "request" or after is None else (after, None)

    def _refund(self, session: Session, before: State, charge: LedgerEntry, back: Amounts, said: str) -> State:
        if not (back.epsilon or back.curve):
            return before
        words = (charge.number, charge.hash, json.dumps(said), json.dumps(version()), *back.as_text()[:2])
        return self._call(session, "refund", *words)[1] or before

    def _approve(self, session: Session, before: State, request: int) -> State:
        return self._call(session, "approve", request, json.dumps(version()))[1] or before

    def _close(self, session: Session, before: State, kind: str, reason: str, target: str) -> State:
        """Only the owner may."""
        return self._call(session, kind, *map(json.dumps, (reason, target, version())))[1] or before

    def _call(self, session: Session, function: str, *words: object) -> tuple[LedgerEntry | None, State | None]:
        """(the entry, where the ledger stands after it), checked as if it were read; no state: it was there before."""
        parameters, booked = (self.name, session.token, *words), "(booked.entry).charges, booked.previous"
        query = f"SELECT {ENTRY}, {booked} FROM shortlist.{function}({_marks(parameters)}) AS booked"
        *row, charges, previous = call_serializable(session.line, self._number, query, parameters)
        if row[0] is None:
            return None, None
        entry = self._entry(tuple(row))
        if previous is None:
            return entry, None
        if entry.hash != entry.chain_hash(previous):
            how = f"entry {entry.number} was booked, but does not follow the entry before it"
            raise chain.damage_error(self.path, how)
        after = chain.state_after(entry, charges, self.seen.neighbors)
        self.seen = after  # what is returned is this call's own: another thread may write `seen` before it is read
        return entry, after

    def _first_look(self, line: Line) -> tuple[Origin, State, int]:
        look, ends = self._look(line, 0)
        number, content, start, limits, approval = look[1:6]
        origin = Origin.of(content, self.path)
        terms = origin.terms
        if (start, limits, approval, look[8]) != (origin.hash, terms_of(terms), terms.approval, terms.mixed):
            raise chain.damage_error(self.path, "the limits that the server checks are not those of its terms")
        return origin, self._stands(origin, ends, look[9]), number

    def _check(self, line: Line) -> State:
        """Where the ledger stands, if it is still the one that was opened and has not gone back since."""
        seen = self.seen
        look, ends = self._look(line, seen.number)
        same = (look[1], look[3]) == (self._number, self.origin.hash)
        self._check_same(same, not seen.number or look[6] == seen.head)
        self.seen = state = self._stands(self.origin, ends, look[9])
        return state

    def _look(self, line: Line, seen: int) -> tuple[tuple[Any, ...], list[tuple[Any, ...]]]:
        stands = "SELECT * FROM shortlist.look(%s, %s)", (self.name, seen)
        look, ends = together(line, [stands, (f"SELECT {COLUMNS}, charges FROM shortlist.ends(%s)", (self.name,))])
        if look[0][0] != NEWEST:
            older = look[0][0] < NEWEST
            todo = "its owner opens it once, which upgrades it" if older else "upgrade to use it"
            refused = OldSchemaError if older else LedgerError
            raise refused(f"{self.path} is of schema {look[0][0]}, not {NEWEST} as this version's: {todo}")
        if not look[0][7]:
            raise LedgerError(f"{self.path} cannot be trusted: its server does not sync what it commits (fsync is off)")
        return look[0], ends

    def _stands(self, origin: Origin, ends: list[tuple[Any, ...]], neighbors: str | None) -> State:
        """By the last entry, and what the server counts up to it. A long first entry is left to `verify`."""
        if neighbors not in (None, *RELATIONS):
            raise chain.damage_error(self.path, "the neighboring relation that it keeps to cannot be read")
        entries = {entry.number: entry for entry in (self._entry(row[:-1]) for row in ends)}
        return origin.state_at_end(entries, ends[-1][-1] if ends else 0, self.path, neighbors or "")

    def _select(self, line: Line, function: str, *words: object) -> list[LedgerEntry]:
        parameters = (self.name, *words)
        query = f"SELECT {COLUMNS} FROM shortlist.{function}({_marks(parameters)})"
        return [self._entry(row) for row in rows_of(line, query, parameters)]

    def _entry(self, row: tuple[Any, ...]) -> LedgerEntry:
        columns = dict(zip((*NAMES, *FACTS), row, strict=True))
        try:
            texts = {name: json.loads(columns[name]) for name in TEXTS if columns[name] is not None}
        except (ValueError, TypeError):
            raise chain.damage_error(self.path, f"entry {columns['number']} is not what a ledger writes") from None
        return chain.entry_of(tuple({**columns, **texts}.values()), self.path)


def move(source: str, url: str, wait: float) -> str:
    """Close a ledger's file for good and go on with its chain on a server, as the owner there; returns the new address.

    Everything is tried on the server before, and undone. Interrupted after the file was closed, the same call goes on
    where it was; once the ledger has arrived the file says so, and it cannot be moved again.

    Raises
    ------
    LedgerError
        if either cannot be used, there is a ledger of that name already, or the file went elsewhere.
    """
    if on_server(source) or not on_server(url):
        raise ValueError("move takes a ledger's file and the address of a server: move q4.db postgresql://...")
    address = Address.of(url)
    here = address.login()
    if not ((here.get("host") or here.get("hostaddr")) and here.get("dbname")) or here.get("service"):
        # the same call, made again, must not go to another server than the first one
        raise ValueError(f"move takes an address with its host and database written out: {EXAMPLE}")
    book, making, target = SqliteStore(chain.check_path(source), wait), Making(address, wait), str(address)
    book.verify(None)
    content, entries = book.content(), book.after(0, chain.MOST_ENTRIES)
    closing = [entry for entry in entries if entry.kind in chain.CLOSING]
    if not closing:
        making.copy(book.origin.terms, content, entries, rehearse=True)
        book.close("close", "moved to a server", target)
        entries = book.after(0, chain.MOST_ENTRIES)  # others may have charged the file until it was closed
    elif len(closing) > 1 or closing[0].source != target:
        went = f"it goes on as {closing[0].source}" if closing[0].source else closing[0].purpose
        raise LedgerError(f"{book.path} was closed for good: {went}")
    making.copy(book.origin.terms, content, [entry for entry in entries if entry.kind not in chain.CLOSING])
    book.close("moved", "it has arrived", target)
    return target
