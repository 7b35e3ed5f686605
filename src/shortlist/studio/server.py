"""A page on this machine, from a table to a private list."""

from __future__ import annotations

import contextlib
import hmac
import json
import math
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from shortlist._text import label_text, terminal_safe
from shortlist.accounting.checks import number_text
from shortlist.example import ROWS, example_files, write_example
from shortlist.pages.release_page import spent_share
from shortlist.pages.summary import caution, in_short, percent, quantile_in_words, risk
from shortlist.pages.theme import asset, page
from shortlist.privacy import Standing
from shortlist.release import GroupedRelease, Release
from shortlist.studio.expected import expected
from shortlist.studio.forms import Offer
from shortlist.studio.inputs import (
    LISTS,
    TABLES,
    BusyError,
    Connections,
    Folder,
    Limits,
    columns_of,
    notes_shown,
    page_words,
)
from shortlist.studio.ledgers import OfficersView, all_facts, budget_risk, new_ledger
from shortlist.studio.planner import Planner
from shortlist.studio.work import SAID, PaidJob, Work
from shortlist.tables.file_sources import format_of


def studio_page() -> str:
    """The page. It holds no facts: it asks the server for them."""
    styles = ("pages/base.css", "pages/release.css", "studio/studio.css")
    return page(
        title="shortlist studio",
        body=asset("studio/studio.html"),
        styles=styles,
        scripts=("studio/tools.js", "studio/shown.js", "studio/officer.js", "studio/studio.js"),
        talks=True,
    )


def lost_page() -> str:
    """For who comes with the address of a studio that has ended, such as an old bookmark. It holds no facts either."""
    return page(
        title="shortlist studio",
        body=(
            '<main><header class="top"><p class="mark">shortlist studio</p><h1>No studio has this address</h1>'
            '<p class="lead">A studio has a new address every time it starts. The right one is in the terminal where '
            "<code>shortlist studio</code> was started; or start it again there.</p></header></main>"
        ),
    )


Answer = tuple[int, str, bytes, str]
"""(status, type, body, how a file is handed over: as an attachment to keep, or inline to look at)."""

SPENT = "It is spent for good, whatever comes out."
UNREADABLE = (
    ": also if a line of the file cannot be read (a quote that is not closed, letters that are not UTF-8), since none "
    "is read before."
)


class Answers:
    """By route. Routes are fixed words; a job's name is looked up, never a path."""

    def __init__(self, folder: Folder, limits: Limits) -> None:
        self._folder = folder
        self._limits = limits
        self._plans = threading.BoundedSemaphore(limits.plans)
        self._planner = Planner(limits.plan_seconds)
        self._work = Work(folder)
        self._page = studio_page().encode()
        self._asked: dict[str, Any] | None = None  # the last question, so that a page that is loaded again has it

    @property
    def busy(self) -> bool:
        """Whether a release is under way."""
        return self._work.busy

    def close(self) -> None:
        """End the plans that are being computed."""
        self._planner.close()

    def get(self, route: tuple[str, ...]) -> Answer:
        match route:
            case ("page",):
                return 200, "text/html; charset=utf-8", self._page, ""
            case ("state",):
                return _json(self._state())
            case ("job", name):
                job = self._work.job(name)
                return _json({"error": "there is no such release"}, 404) if job is None else _json(self._told(job))
            case ("download", name, kind):
                job = self._work.job(name)
                file = None if job is None else self._work.download(job, kind)
                if file is not None:
                    return 200, file[1], file[2], _handed("attachment", file[0])
            case ("look", name):
                job = self._work.job(name)
                file = None if job is None else self._work.download(job, "report.html")
                if file is not None:
                    return 200, file[1], file[2], _handed("inline", file[0])
            case ("ledger", kind, *name):
                way, kind = ("inline", "report.html") if kind == "look" else ("attachment", kind)
                file = OfficersView.of(self._folder, "/".join(name)).download(kind)
                if file is not None:
                    return 200, file[1], file[2], _handed(way, file[0])
        return _json({"error": "there is nothing of that name"}, 404)

    def post(self, route: tuple[str, ...], request: dict[str, Any]) -> Answer:
        match route:
            case ("ledger",):
                return _json({"name": self._folder.name(new_ledger(self._folder, request)), **self._state()})
            case ("risk",):
                return _json(budget_risk(request))
            case ("officer",):
                return _json(OfficersView.of(self._folder, request.get("ledger")).told())
            case ("columns",):
                return _json(columns_of(self._folder, request))
            case ("example",):
                return _json({"said": self._example(), **self._state()})
            case ("plan",):
                return _json(self._in_turn(self._plan, request))
            case ("expected",):
                return _json(self._in_turn(self._expected, request))
            case ("release",):
                return _json({"job": self._work.confirm(request.get("confirm"), request.get("agree")).name})
        return _json({"error": "there is nothing of that name"}, 404)

    def _state(self) -> dict[str, Any]:
        return {
            "folder": self._folder.root.name,
            "tables": self._folder.files(TABLES),
            "lists": [*self._folder.files(LISTS), *self._folder.files(TABLES)],  # a table is seldom a public list
            "ledgers": all_facts(self._folder),
            "done": [self._told(job) for job in self._work.done()],
            "asked": self._asked,
        }

    def _example(self) -> str:
        """Write the made-up films into the folder, unless something of that name is there: what is there stays."""
        root = str(self._folder.root)
        there = [path for path in example_files(root, "films") if os.path.lexists(path)]
        if not there:
            write_example(root, "films")
            return f"films.parquet ({ROWS:,} made-up rows of nobody) and films.txt were written into the folder."
        names = " and ".join(os.path.basename(path) for path in there)
        return f"There is a {names} in the folder already: nothing was written."

    def _in_turn(self, work: Callable[[dict[str, Any]], dict[str, Any]], request: dict[str, Any]) -> dict[str, Any]:
        if not self._plans.acquire(timeout=self._limits.plan_seconds):
            raise BusyError("the studio is busy with other plans; look at the plan again in a moment")
        try:
            return work(request)
        finally:
            self._plans.release()

    def _plan(self, request: dict[str, Any]) -> dict[str, Any]:
        """The plan and the word that confirms it."""
        plan = Offer.of(self._folder, request)
        before, after = plan.room()
        self._asked = request
        form, chances = plan.question, risk(plan.guarantee)
        name, arguments = self._folder.name(form.ledger), form.arguments
        return {
            "confirm": self._work.offer(plan),
            "k": plan.question.k,
            "smallest": plan.question.smallest,
            "q": arguments.get("q"),
            "candidates": plan.candidates,
            "by": arguments.get("by", ""),
            "groups": len(plan.question.groups),
            "groups_per_user": arguments.get("groups_per_user", 1),
            "asked_of": terminal_safe(plan.question.subject),
            "mechanism": plan.mechanism.name,
            "why": page_words(plan.why[:1].upper() + plan.why[1:] + "."),
            "guarantee": in_short(plan.guarantee),
            "price": plan.price(),
            "consent": plan.consent(name, after),
            "caution": page_words(caution(plan.guarantee)),
            "unit": plan.question.unit,
            "guess": chances.guess,
            "guess_text": percent(chances.guess),
            "posterior": [(percent(one), percent(other)) for one, other in chances.posterior],
            "risk": _risk_in_words(plan),
            "ledger": name,
            "share_before": before.share,
            "share_after": after.share,
            "booked": _booked(name, before, after),
            "spent": SPENT if format_of(str(plan.question.table)) == "parquet" else f"{SPENT[:-1]}{UNREADABLE}",
        }

    def _expected(self, request: dict[str, Any]) -> dict[str, Any]:
        """How good it would be, on made-up counts."""
        return expected(Offer.of(self._folder, request), request, self._planner)

    def _told(self, job: PaidJob) -> dict[str, Any]:
        form, release = job.plan.question, job.release
        told: dict[str, Any] = {
            "job": job.name,
            "state": job.state,
            "share": math.floor(100 * job.share) / 100,
            "booked": job.booked,
        }
        if job.error:
            told["error"] = job.error
        if release is not None and release.receipt is not None:
            receipt = release.receipt
            told |= {
                "k": form.k,
                "quantiles": "q" in form.arguments,
                "smallest": form.smallest,
                "purpose": form.purpose,
                **_listed(release),
                "summary": release.summary,
                "guarantee": in_short(release.guarantee),
                "mechanism": release.mechanism,
                "notes": notes_shown(release),
                "ledger": receipt.ledger,
                "entry": receipt.entry,
                "standing": receipt.balance,
                "share_after": spent_share(receipt.spent, receipt.remaining),
                "head": receipt.head[:16],
            }
        return told


def _listed(release: Release | GroupedRelease) -> dict[str, Any]:
    """What came out: one list, or one for each group."""
    if not isinstance(release, Release):
        return {"lists": [{"key": terminal_safe(str(key)), **_listed(one)} for key, one in release.items()]}
    if release.q is not None:
        names = list(map(quantile_in_words, release.q))
        return {"items": names, "values": [str(one) for one in release.items or ()], "margins": False, "ordered": False}
    return {
        "items": [terminal_safe(label_text(item)) for item in release.items or ()],
        "values": release.texts().get("value", []),
        "margins": bool(release.margins),
        "ordered": release.ordered,
    }


def _booked(name: str, before: Standing, after: Standing) -> str:
    """How the ledger stands now and how it would: what is booked, and what is left."""
    most = "up to " if after.delta and not after.nothing_left else ""
    left = f"{most}{after.left_text} will be left" if after.currency == "epsilon" else f"then {after.admits}"
    booked = f"{number_text(after.booked)} of {number_text(after.of)}"
    return f"{name}: {before.so_far} is booked now, {booked} with this release; {left}."


def _risk_in_words(plan: Offer) -> str:
    """What it means for one person, in a sentence."""
    chances, unit = risk(plan.guarantee), plan.question.unit
    if not chances.posterior:
        return ""
    before, after = chances.posterior[0]
    now = percent(after)
    was = percent(before)
    return f"Someone who gave one {unit} a probability of {was} to be in the data can give it at most {now} afterwards."


def _handed(way: str, name: str) -> str:
    """How a file is handed over; its name in any script (RFC 6266), and in letters that every browser reads."""
    plain = "".join(letter if letter.isascii() and letter not in '"\\%' else "_" for letter in name)
    whole = "" if plain == name else f"; filename*=UTF-8''{quote(name, safe='')}"
    return f'{way}; filename="{plain}"{whole}'


def _json(value: dict[str, Any], status: int = 200) -> Answer:
    return status, "application/json", json.dumps(value).encode(), ""


MOST_BYTES = 1 << 20
"""Of a request's body."""
BUSY = json.dumps({"error": "the studio is busy with other connections; try again in a moment"}).encode()
TOKEN = "refused: token"
LOST = lost_page().encode()
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class RefusedError(Exception):
    """A request that is not served: its status, and the word for the log."""

    def __init__(self, status: HTTPStatus, word: str) -> None:
        super().__init__(word)
        self.status, self.word = status, word


class Studio(ThreadingHTTPServer):
    """The server, its token and what it may answer."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, folder: Folder, *, port: int = 0, log: Callable[[str], None] | None = None, limits: Limits | None = None
    ) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.token = secrets.token_urlsafe(32)
        self.folder = folder
        self.limits = limits or Limits()
        self.connections = Connections(self.limits.connections)
        self.answers = Answers(folder, self.limits)
        self._log = log or _to_stderr
        self._log_lock = threading.Lock()

    def server_bind(self) -> None:
        """Without the standard library's question to the name service, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def server_close(self) -> None:
        super().server_close()
        if hasattr(self, "answers"):  # the port may have been taken
            self.answers.close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread for the connection, if it is let in; otherwise two lines, which fit into the system's buffer."""
        if self.connections.enter(request):
            super().process_request(request, client_address)
            return
        self.say("refused: busy 503")
        head = f"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: {len(BUSY)}"
        with contextlib.suppress(OSError):
            request.setblocking(False)
            request.sendall(f"{head}\r\nRetry-After: 1\r\nConnection: close\r\n\r\n".encode() + BUSY)
        self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.connections.leave(request)

    @property
    def address(self) -> str:
        """What the analyst opens. Whoever has it may spend the budget."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, ...]:
        return f"127.0.0.1:{self.server_port}", f"localhost:{self.server_port}"

    def say(self, line: str) -> None:
        with self._log_lock:
            self._log(f"{time.strftime('%H:%M:%S')} {line}")

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke: its kind, not its words."""
        kind = sys.exception()
        self.say(f"connection ended: {type(kind).__name__}")


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Studio
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "shortlist", ""

    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(self.server.limits.silence)

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def _serve(self, method: str) -> None:
        try:
            route = self._admitted(method)
            request = self._body() if method == "POST" else None
            self.server.connections.serve(self.connection, True)  # not before: a body that trickles in is no work
            if request is not None:
                status, kind, body, handed = self.server.answers.post(route, request)
            else:
                status, kind, body, handed = self.server.answers.get(route)
        except RefusedError as error:
            self._refuse(error.status, error.word)
            return
        except BusyError as error:
            status, kind, handed, body = 503, "application/json", "", json.dumps({"error": str(error)}).encode()
        except SAID as error:
            status, kind, handed = 400, "application/json", ""
            body = json.dumps({"error": self.server.folder.words(error)}).encode()
        except Exception as error:  # its words might show something
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"failed: {type(error).__name__}")
            return
        self._send(status, kind, body, handed)
        self.server.connections.serve(self.connection, False)
        self.server.say(f"{method} {route[0] if status != 404 else 'unknown'} {status}")

    def _admitted(self, method: str) -> tuple[str, ...]:
        """The parts of the path after the token, if the request may come in at all."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            raise RefusedError(HTTPStatus.MISDIRECTED_REQUEST, "refused: host")
        token, route = self._parts()
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            raise RefusedError(HTTPStatus.FORBIDDEN, TOKEN)
        origins = self.headers.get_all("Origin") or []
        own = [f"http://{hosts[0]}"]
        if (origins or method == "POST") and origins != own:
            raise RefusedError(HTTPStatus.FORBIDDEN, "refused: origin")
        arrives = route == ("page",) and self.headers.get("Sec-Fetch-Mode") == "navigate"
        if self.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none") and not arrives:
            raise RefusedError(HTTPStatus.FORBIDDEN, "refused: site")
        lengths = self.headers.get_all("Content-Length") or []
        if method == "GET" and (lengths not in ([], ["0"]) or self.headers.get("Transfer-Encoding")):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "refused: body")
        return route

    def _parts(self) -> tuple[str, tuple[str, ...]]:
        """(token, route) of a path without tricks."""
        if not self.path.startswith("/") or self.path.startswith("//") or len(self.path) > 2000:
            raise RefusedError(HTTPStatus.FORBIDDEN, TOKEN)
        try:
            split = urlsplit(self.path)
            token, *rest = unquote(split.path, errors="strict")[1:].split("/")
        except ValueError:
            raise RefusedError(HTTPStatus.BAD_REQUEST, "refused: path") from None
        plain = all(part.isprintable() and part not in (".", "..") and "\\" not in part for part in rest)
        if not rest or split.query or not plain:
            known = hmac.compare_digest(token.encode(), self.server.token.encode())
            word = "refused: path" if known else TOKEN
            raise RefusedError(HTTPStatus.NOT_FOUND if known else HTTPStatus.FORBIDDEN, word)
        return token, tuple(rest) if rest != [""] else ("page",)

    def _body(self) -> dict[str, Any]:
        """A JSON object of a modest size."""
        if self.headers.get_content_type() != "application/json":
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "refused: type")
        lengths = self.headers.get_all("Content-Length") or []
        if self.headers.get("Transfer-Encoding") or len(lengths) != 1 or not lengths[0].isascii():
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "refused: length")
        if not lengths[0].isdigit() or len(lengths[0]) > 12:
            raise RefusedError(HTTPStatus.BAD_REQUEST, "refused: length")
        if int(lengths[0]) > MOST_BYTES:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "refused: size")
        raw = self.rfile.read(int(lengths[0]))
        try:
            body = json.loads(raw)
        except (ValueError, RecursionError):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "refused: body") from None
        if len(raw) != int(lengths[0]) or not isinstance(body, dict):
            raise RefusedError(HTTPStatus.BAD_REQUEST, "refused: body")
        return body

    def _refuse(self, status: HTTPStatus, word: str) -> None:
        """One word, and the connection ends: what is left of the request is not read."""
        self.close_connection = True
        self.server.say(f"{word} {status.value}")
        kind, body = "application/json", json.dumps({"error": status.phrase}).encode()
        if word == TOKEN and self.command == "GET" and "text/html" in self.headers.get("Accept", ""):
            kind, body = "text/html; charset=utf-8", LOST  # somebody with an old bookmark, who reads no JSON
        self._send(status, kind, body, "", closing=True)

    def _send(self, status: int, kind: str, body: bytes, handed: str, *, closing: bool = False) -> None:
        self.send_response_only(status)
        headers = {**HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}
        headers["Content-Security-Policy"] = "frame-ancestors 'none'" if kind.startswith("text/html") else "sandbox"
        if handed:  # a report that is looked at runs nothing, and has an origin of its own
            headers["Content-Disposition"] = handed
            headers["Content-Security-Policy"] = "sandbox"
        if closing:
            headers["Connection"] = "close"
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses (broken request lines, other methods, endless headers): as we do."""
        self._refuse(HTTPStatus(code), "refused: request")

    def log_message(self, *_: Any) -> None:
        """Only `say` writes: the standard lines would hold the path, and the token with it."""


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
