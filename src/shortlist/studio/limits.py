"""How much the studio takes on at a time, and the connections that it holds open."""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import dataclass

LEDGER_SECONDS = 5.0
"""How long a request waits for a ledger that another process has locked; one charge takes milliseconds."""


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


class BusyError(Exception):
    """The studio has as much to do as it takes on. The sentence says what to do."""


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
