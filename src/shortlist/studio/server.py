"""The studio's server: loopback only, one secret in the address, and a reason for every request that is let in.

A request is served if it names this machine (`Host`), carries the token as the first part of its path, comes from our
own page (`Origin`, `Sec-Fetch-Site`; the page itself holds no facts and may be opened from anywhere), and, if it
changes something, is a small JSON object. Everything else is refused with a word, and logged by that word alone: no
path, no header and no value of a request ever reaches the log.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from shortlist.studio.folder import Folder
from shortlist.studio.handlers import Answers
from shortlist.studio.limits import BusyError, Connections, Limits
from shortlist.studio.page import lost_page
from shortlist.studio.work import SAID

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
