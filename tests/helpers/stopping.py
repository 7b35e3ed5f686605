"""`python -m tests.helpers.stopping MOMENT SIGNAL ARGUMENTS..`: the real command, with a real signal at that moment.

The process sends the signal to itself, so nothing depends on how fast it is.
"""

from __future__ import annotations

import atexit
import os
import sys
from importlib import import_module
from typing import Any


def send():
    os.kill(os.getpid(), NUMBER)


class AtImport:
    """The signal comes when a module is looked for: before it is loaded, and inside Python's import."""

    def __init__(self, name):
        self._name = name

    def find_spec(self, name, *_):
        if name == self._name:
            send()


def before(module, name):
    """The signal comes when that function is called."""
    home: Any = import_module(module)
    *owners, name = name.split(".")
    for owner in owners:
        home = getattr(home, owner)
    work = getattr(home, name)

    def stopped(*arguments, **words):
        send()
        return work(*arguments, **words)

    setattr(home, name, stopped)


def after(module, name):
    """The signal comes when that function is done."""
    home: Any = import_module(module)
    *owners, name = name.split(".")
    for owner in owners:
        home = getattr(home, owner)
    work = getattr(home, name)

    def stopped(*arguments, **words):
        found = work(*arguments, **words)
        send()
        return found

    setattr(home, name, stopped)


def counting():
    """From another thread, while DuckDB counts: the main thread is not in Python."""
    from contextlib import contextmanager

    import shortlist.cli.output as progress_bar
    import shortlist.tables.duckdb as engine

    engine.EVERY = 0.0
    sent: list[float] = []

    def tell(share):
        if not sent and share > 0:
            sent.append(share)
            send()

    @contextmanager
    def bar():
        yield tell

    vars(progress_bar)["bar"] = bar


def in_a_finalizer():
    """Where Python cannot raise: the signal is noted, and stops the command at its next step."""
    from shortlist.cli.releases import Delivery

    class Dies:
        def __del__(self):
            send()

    deliver = Delivery.deliver

    def delivered(*arguments):
        Dies()
        return deliver(*arguments)

    setattr(Delivery, "deliver", delivered)  # noqa: B010


MOMENTS = {
    "loading numpy": lambda: sys.meta_path.insert(0, AtImport("numpy")),
    "loading the commands": lambda: sys.meta_path.insert(0, AtImport("shortlist.cli.releases")),
    "loading DuckDB": lambda: sys.meta_path.insert(0, AtImport("duckdb")),
    "inside DuckDB's import": lambda: sys.meta_path.insert(0, AtImport("_duckdb")),
    "before the charge": lambda: before("shortlist.tables.count", "OpenTable.schema"),
    "after the charge": lambda: before("shortlist.tables.count", "OpenTable.count"),
    "counting": counting,
    "drawing": lambda: before("shortlist.execute", "Plan.present"),
    "in a finalizer": in_a_finalizer,
    "writing": lambda: after("shortlist.release_io", "note_temporary"),
    "written": lambda: after("shortlist.release_io", "_sync"),
    "reported": lambda: before("shortlist.release_io", "_sync"),
    "done": lambda: after("shortlist.cli.releases", "Delivery.deliver"),
    "ending": lambda: atexit.register(send),
}

if __name__ == "__main__":
    moment, number, *rest = sys.argv[1:]
    NUMBER = int(number)
    sys.argv = ["shortlist", *rest]
    MOMENTS[moment]()
    from shortlist._entry import main

    main()
