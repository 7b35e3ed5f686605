"""A wire between a client and a PostgreSQL server that counts round trips, and can be cut in the middle of a charge."""

from __future__ import annotations

import contextlib
import select
import socket
import threading

MARK = b"shortlist.charge"
"""What a message that books holds."""


PARTS = (b"P", b"B", b"D", b"E", b"C")
"""So begins what is sent together, to be answered at its end: parse, bind, describe, execute, close."""
ENDS = (b"S\x00\x00\x00\x04", b"H\x00\x00\x00\x04")
"""Sync and Flush."""
_FACTS = b"SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0"
ENDED = b"E" + (4 + len(_FACTS)).to_bytes(4, "big") + _FACTS
"""What a server says to a session that is ended."""


def _whole(client: socket.socket, words: bytes) -> bytes:
    """All that is sent together, however it was split on its way."""
    while not any(end in words[-10:] for end in ENDS):
        more = client.recv(1 << 20)
        if not more:
            break
        words += more
    return words


class Proxy:
    """Listens on a socket of its own.

    `cut` says what happens to the next message that books: "before" it reaches the server, "after" the server has
    answered and before the client hears it, "late": the client is cut off and the server gets it when `arrive` is
    called, "ended": the server has booked, and then an administrator ends the session before it says so, "part": the
    server gets the first `share` of its bytes.
    """

    def __init__(self, folder, server) -> None:
        self.folder, self._server = str(folder), str(server.folder / ".s.PGSQL.5432")
        self.cut: str | None = None
        self.share = 0.5
        self.trips = self.connections = 0
        self._sockets: list[socket.socket] = []
        self._late: list[tuple[socket.socket, bytes]] = []
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(f"{folder}/.s.PGSQL.5432")
        self._door.listen(64)
        self._threads = [threading.Thread(target=self._open, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)  # a daemon: nothing depends on its end

    def _open(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            self.connections += 1
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server)
            self._sockets += [client, server]
            thread = threading.Thread(target=self._carry, args=(client, server), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        heard = True  # whether the server spoke last
        with contextlib.suppress(OSError):
            while True:
                ready, _, _ = select.select([client, server], [], [])
                source = ready[0]
                words = source.recv(1 << 20)
                if not words:
                    break
                if source is server:
                    heard = True
                    client.sendall(words)
                    continue
                self.trips += heard
                heard = False
                if self.cut is not None and words[:1] in PARTS:  # a part that came alone would begin what is cut
                    words = _whole(client, words)
                if self.cut is not None and MARK in words:
                    self._cut(words, client, server)
                    return
                server.sendall(words)
        client.close()
        server.close()

    def _cut(self, words: bytes, client: socket.socket, server: socket.socket) -> None:
        how, self.cut = self.cut, None
        if how == "late":
            self._late.append((server, words))
        if how in ("after", "ended"):
            server.sendall(words)
            self._answered(server)
        if how == "part":
            server.sendall(words[: int(self.share * len(words))])
        if how == "ended":
            client.sendall(ENDED)
        client.close()
        if how != "late":
            server.close()

    @staticmethod
    def _answered(server: socket.socket) -> None:
        """Until the server is ready for the next query: all of it was done."""
        seen = b""
        while not seen.endswith((b"Z\x00\x00\x00\x05I", b"Z\x00\x00\x00\x05E")):
            seen += server.recv(1 << 20)

    def arrive(self) -> bytes:
        """Let the server have what it should have had long ago; what it answers."""
        server, words = self._late.pop()
        server.sendall(words)
        seen = b""
        while not seen.endswith((b"Z\x00\x00\x00\x05I", b"Z\x00\x00\x00\x05E", b"Z\x00\x00\x00\x05T")):
            seen += server.recv(1 << 20)
        server.close()
        return seen
