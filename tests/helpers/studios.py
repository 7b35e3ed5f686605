"""A studio for the tests: a folder with made-up tables, a server on a free port, and any kind of request."""

import json
import threading
import time
from http.client import HTTPConnection

import numpy as np

import shortlist as sl
from shortlist.studio.inputs import Folder
from shortlist.studio.server import Limits, Studio

SECRET = "person-4711"
"""A user of the tables: private, so nobody but the tables may ever say it."""

FILMS = ["Alien", "Heat", "Jaws", "Ran", "Vertigo", "Gilda", "Fargo", "Psycho"]


def fill(folder, rows=4000):
    """A table, a list of candidates and a ledger of epsilon 3."""
    rng = np.random.default_rng(0)
    films = np.minimum(rng.zipf(1.5, rows), len(FILMS)) - 1
    people = rng.integers(0, 600, rows)
    lines = [f"person-{who},{FILMS[what]}" for who, what in zip(people, films, strict=True)]
    text = "\n".join(["who,film", f"{SECRET},Unlisted secret film", *lines]) + "\n"
    (folder / "rentals.csv").write_text(text)
    (folder / "films.txt").write_text("\n".join(FILMS) + "\n")
    sl.Ledger(folder / "year.db", budget=sl.PureDP(3.0))


QUESTION = {
    "table": "rentals.csv", "user": "who", "item": "film", "candidates": "file", "candidates_file": "films.txt", "k": 3,
    "epsilon": 1.0, "delta": None, "ordered": False, "ledger": "year.db", "purpose": "films of the week",
}  # fmt: skip


PATIENT = Limits(plan_seconds=600.0)
"""However busy the machine is, no plan takes too long."""


class Running:
    """A studio in a thread of this process, and its log."""

    def __init__(self, folder, limits=PATIENT):
        self.log: list[str] = []
        self.folder = folder
        self.server = Studio(Folder.of(folder), log=self.log.append, limits=limits)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    @property
    def address(self):
        return self.server.address

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def send(self, method, path, body=None, headers=None, *, token=True):
        """(status, headers, bytes) of one request; headers given replace the ordinary ones, None leaves one out."""
        ordinary = {"Origin": self.origin, "Content-Type": "application/json"} if method == "POST" else {}
        sent = {name: value for name, value in {**ordinary, **(headers or {})}.items() if value is not None}
        connection = HTTPConnection("127.0.0.1", self.server.server_port)
        try:
            raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            connection.request(method, f"/{self.server.token}/{path}" if token else path, raw, sent)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def ask(self, path, body=None):
        """The JSON answer to an ordinary request, and its status."""
        status, _, raw = self.send("GET" if body is None else "POST", path, body)
        return status, json.loads(raw)

    def release(self, **changes):
        """Plan, confirm and wait."""
        status, plan = self.ask("plan", {**QUESTION, **changes})
        assert status == 200, plan
        status, started = self.ask("release", {"confirm": plan["confirm"], "agree": True})
        assert status == 200, started
        return self.finished(started["job"])

    def finished(self, job):
        """The state of a job that has ended. The pauses leave the processor to it; nothing depends on them."""
        while (told := self.ask(f"job/{job}")[1])["state"] not in ("done", "failed"):
            time.sleep(0.01)
        return told

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
