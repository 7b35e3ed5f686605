"""A page on this machine, from a table to a private list: its HTTP."""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from shortlist.pages.theme import asset, page
from shortlist.studio.answers import OURS, Answer, Answers, BusyError, answer_json
from shortlist.studio.inputs import Folder


@dataclass(frozen=True, slots=True)
class Limits:
    """What keeps a studio that is asked too much from locking its own user out."""

    connections: int = 32
    """Open at a time; each has a thread and a descriptor."""
    silence: float = 15.0
    """Seconds until a silent connection is closed."""
    plans: int = 2
    """Computed at a time; others wait."""
    plan_seconds: float = 20.0
    """How long a plan may wait, and how long the process that computes it may take until it is ended."""


class Connections:
    """So many at a time. A new one takes the place of the one that has waited longest without being served."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._served: dict[socket.socket, bool] = {}
        self._changed = threading.Condition()

    def __len__(self) -> int:
        with self._changed:
            return len(self._served)

    def enter(self, connection: socket.socket) -> bool:
        """Let one in, if there is room or an idle one makes room; False if all are being served."""
        with self._changed:
            if len(self._served) >= self._most:
                idle = next((one for one, served in self._served.items() if not served), None)
                if idle is None:
                    return False
                with contextlib.suppress(OSError):
                    idle.shutdown(socket.SHUT_RDWR)  # its thread finds it closed, and leaves
                if not self._changed.wait_for(lambda: idle not in self._served, GRACE):
                    return False
            self._served[connection] = False
            return True

    def serve(self, connection: socket.socket, served: bool) -> None:
        """Note whether one is being served: then it may stay. The one that was served last is the last to go."""
        with self._changed:
            if self._served.pop(connection, None) is not None:
                self._served[connection] = served

    def leave(self, connection: socket.socket) -> None:
        with self._changed:
            self._served.pop(connection, None)
            self._changed.notify_all()


GRACE = 5.0
"""Seconds for a thread to find its connection closed: far more than it takes."""


MOST_BYTES = 1 << 20
"""Of a request's body."""
BUSY = json.dumps({"error": "the studio is busy with other connections; try again in a moment"}).encode()
TOKEN = "refused: token"
LOST = page(title="shortlist studio", body=asset("studio/lost.html")).encode()
"""For who comes with the address of a studio that has ended, such as an old bookmark. It holds no facts either."""
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class RefusedError(Exception):
    """A request that is not served, by its status and the word for the log."""


def refuse_if(wrong: object, status: HTTPStatus, word: str) -> None:
    """Serve nothing to a request of which this is true."""
    if wrong:
        raise RefusedError(status, word)


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
        self.answers = Answers(folder, self.limits.plans, self.limits.plan_seconds)
        self._log = log or (lambda line: print(line, file=sys.stderr, flush=True))
        self._log_lock = threading.Lock()

    def server_bind(self) -> None:
        """Without the standard library's question to the name service, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def server_close(self) -> None:
        super().server_close()
        if hasattr(self, "answers"):  # the port may have been taken
            self.answers.planner.close()

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

    def say(self, line: str) -> None:
        with self._log_lock:
            self._log(f"{time.strftime('%H:%M:%S')} {line}")

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke: its kind, not its words."""
        self.say(f"connection ended: {type(sys.exception()).__name__}")


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Studio
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "shortlist", ""

    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(self.server.limits.silence)

    def do_GET(self) -> None:
        try:
            route = self._admit()
            request = self._body() if self.command == "POST" else None
            self.server.connections.serve(self.connection, True)  # not before: a body that trickles in is no work
            answers = self.server.answers
            answer = answers.get(route) if request is None else answers.post(route, request)
        except RefusedError as error:
            self._refuse(*error.args)
            return
        except BusyError as error:
            answer = answer_json({"error": str(error)}, 503)
        except OURS as error:
            answer = answer_json({"error": self.server.folder.words(error)}, 400)
        except Exception as error:  # its words might show something
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"failed: {type(error).__name__}")
            return
        self._send(answer)
        self.server.connections.serve(self.connection, False)
        self.server.say(f"{self.command} {route[0] if answer.status != 404 else 'unknown'} {answer.status}")

    do_POST = do_GET  # noqa: N815 - the name that the standard library asks for

    def _admit(self) -> tuple[str, ...]:
        """The parts of the path after the token, if the request may come in at all."""
        hosts = self.headers.get_all("Host") or []
        names = [f"{name}:{self.server.server_port}" for name in ("127.0.0.1", "localhost")]
        refuse_if(len(hosts) != 1 or hosts[0] not in names, HTTPStatus.MISDIRECTED_REQUEST, "refused: host")
        token, route = self._parts()
        refuse_if(not self._is_token(token), HTTPStatus.FORBIDDEN, TOKEN)
        origins = self.headers.get_all("Origin") or []
        other = (origins or self.command == "POST") and origins != [f"http://{hosts[0]}"]
        refuse_if(other, HTTPStatus.FORBIDDEN, "refused: origin")
        arrives = route == ("page",) and self.headers.get("Sec-Fetch-Mode") == "navigate"
        same = arrives or self.headers.get("Sec-Fetch-Site", "none") in ("same-origin", "none")
        refuse_if(not same, HTTPStatus.FORBIDDEN, "refused: site")
        lengths = self.headers.get_all("Content-Length") or []
        body = lengths not in ([], ["0"]) or self.headers.get("Transfer-Encoding")
        refuse_if(self.command == "GET" and body, HTTPStatus.BAD_REQUEST, "refused: body")
        return route

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.server.token.encode())

    def _parts(self) -> tuple[str, tuple[str, ...]]:
        """(token, route) of a path without tricks."""
        usual = self.path.startswith("/") and not self.path.startswith("//") and len(self.path) <= 2000
        refuse_if(not usual, HTTPStatus.FORBIDDEN, TOKEN)
        try:
            split = urlsplit(self.path)
            token, *rest = unquote(split.path, errors="strict")[1:].split("/")
        except ValueError:
            raise RefusedError(HTTPStatus.BAD_REQUEST, "refused: path") from None
        plain = all(part.isprintable() and part not in (".", "..") and "\\" not in part for part in rest)
        tricky = not rest or split.query or not plain
        refuse_if(tricky and self._is_token(token), HTTPStatus.NOT_FOUND, "refused: path")
        refuse_if(tricky, HTTPStatus.FORBIDDEN, TOKEN)
        return token, tuple(rest) if rest != [""] else ("page",)

    def _body(self) -> dict[str, Any]:
        """A JSON object of a modest size."""
        typed = self.headers.get_content_type() == "application/json"
        refuse_if(not typed, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "refused: type")
        lengths = self.headers.get_all("Content-Length") or []
        unknown = self.headers.get("Transfer-Encoding") or len(lengths) != 1 or not lengths[0].isascii()
        refuse_if(unknown, HTTPStatus.LENGTH_REQUIRED, "refused: length")
        refuse_if(not lengths[0].isdigit() or len(lengths[0]) > 12, HTTPStatus.BAD_REQUEST, "refused: length")
        refuse_if(int(lengths[0]) > MOST_BYTES, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "refused: size")
        raw, body = self.rfile.read(int(lengths[0])), None
        with contextlib.suppress(ValueError, RecursionError):
            body = json.loads(raw)
        whole = len(raw) == int(lengths[0]) and isinstance(body, dict)
        refuse_if(not whole, HTTPStatus.BAD_REQUEST, "refused: body")
        return dict(body or {})

    def _refuse(self, status: HTTPStatus, word: str) -> None:
        """One word, and the connection ends: what is left of the request is not read."""
        self.close_connection = True
        self.server.say(f"{word} {status.value}")
        answer = answer_json({"error": status.phrase}, status)
        if word == TOKEN and self.command == "GET" and "text/html" in self.headers.get("Accept", ""):
            answer = Answer(LOST, "text/html; charset=utf-8", status=status)  # an old bookmark; nobody reads JSON
        self._send(answer, closing=True)

    def _send(self, answer: Answer, *, closing: bool = False) -> None:
        self.send_response_only(answer.status)
        headers = {**HEADERS, "Content-Type": answer.kind, "Content-Length": str(len(answer.body))}
        # A report that is looked at runs nothing, and has an origin of its own.
        framed = answer.kind.startswith("text/html") and not answer.disposition
        headers["Content-Security-Policy"] = "frame-ancestors 'none'" if framed else "sandbox"
        if answer.disposition:
            headers["Content-Disposition"] = answer.disposition
        if closing:
            headers["Connection"] = "close"
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(answer.body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses (broken request lines, other methods, endless headers): as we do."""
        self._refuse(HTTPStatus(code), "refused: request")

    def log_message(self, *_: Any) -> None:
        """Only `say` writes: the standard lines would hold the path, and the token with it."""
