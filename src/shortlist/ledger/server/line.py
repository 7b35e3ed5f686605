"""Connections to a server, each used by one call at a time, which an interrupt may cut anywhere.

A connection is kept between calls, so that a charge is two round trips: one that looks, one that books. After anything
unexpected it is closed and not used again, and with it ends whatever it held. A child process opens its own.
"""

from __future__ import annotations

import ctypes
import logging
import os
import re
import selectors
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import NoneType
from typing import Any, TypeVar

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo

from shortlist._signals import COMMAND
from shortlist.ledger.errors import LedgerError
from shortlist.ledger.server.address import Address
from shortlist.ledger.turn import PAUSES

Found = TypeVar("Found")

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
        return _dialled(self._address), False

    def keep(self, line: Line) -> None:
        """For the next call."""
        if len(self._idle) < MOST_IDLE and self._process == os.getpid():
            self._idle.append(line)
        else:
            line.close()

    def hang_up(self) -> None:
        """Close what is kept."""
        while self._idle and self._process == os.getpid():
            self._idle.pop().close()

    def use(self, work: Callable[[Line], Found]) -> Found:
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
                self._done(line, good)
        except Failed as failed:
            if not used or failed.alive or failed.code == "unknown":
                raise
        finally:
            if not good:
                line.close()  # the first one may have been interrupted
        self.hang_up()  # they are as old as the one that is dead
        return self.use(work)

    def _done(self, line: Line, good: bool) -> None:
        if good:
            self.keep(line)
        else:
            line.close()


def _dialled(address: Address) -> Line:
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
        if _connects(request, time.monotonic() + DIAGNOSIS):
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


def _connects(request: pq.abc.PGconn, until: float) -> bool:
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
    line: Line, statements: Sequence[tuple[str, Sequence[object] | None]], *, commit: int | None = None
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
            cursors.append(line.execute(*_plain(statements[0])))
            return
        with line.pipeline():
            for statement in statements:
                cursors.append(line.execute(*_plain(statement)))  # noqa: PERF401 - those before one that fails count

    try:
        in_codes(line, work, booking=commit is not None)
    except Failed:
        if commit is None or [cursor.statusmessage for cursor in cursors[commit : commit + 1]] != ["COMMIT"]:
            raise
        line.close()  # with it ends what it holds
    return list(map(_rows, cursors))


def in_codes(line: Line, work: Callable[[Line], Found], *, booking: bool = False) -> Found:
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


def booked(line: Line, number: int, query: str, parameters: Sequence[object]) -> tuple[Any, ...]:
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


def _plain(statement: tuple[str, Sequence[object] | None]) -> tuple[Any, ...]:
    return statement if statement[1] is not None else (statement[0],)


def _rows(cursor: Any) -> list[tuple[Any, ...]]:
    return cursor.fetchall() if cursor.description is not None else []


def patiently(path: str, wait: float, work: Callable[[], Found]) -> Found:
    """What `work` gives, tried again for so many seconds while others are faster or the server starts.

    Raises
    ------
    LedgerError
        in one sentence, whatever is wrong with the server; nothing was booked.
    """
    until, pause = time.monotonic() + wait, PAUSES[0]
    while True:
        failed: Failed | None = None
        try:
            return work()
        except Failed as one:
            failed = one
        if failed.code not in (*AGAIN, *STARTING) or time.monotonic() >= until:
            break
        COMMAND.check()  # a signal that came while psycopg waited: nothing was booked
        time.sleep(pause)
        pause = min(2 * pause, PAUSES[1])
    raise LedgerError(f"{path} {meaning(failed.code, wait)}")


def meaning(code: str, wait: float) -> str:
    """What the server's code means for the one who reads it."""
    meanings = {
        "3F": "is not there: no ledger was made in this database; its owner makes one with budget=",
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
