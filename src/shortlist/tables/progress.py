"""How far DuckDB is, told to whoever asked."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

EVERY = 0.1
"""Seconds between two looks."""


@contextlib.contextmanager
def watched(connection: Any, tell: Callable[[float], None] | None) -> Iterator[None]:
    """While the body runs statements, a second thread tells the share of the rows that were read."""
    if tell is None:
        yield
        return
    connection.execute("SET enable_progress_bar = true")
    connection.execute("SET enable_progress_bar_print = false")
    done = threading.Event()

    def look() -> None:
        while not done.wait(EVERY):
            try:
                share = connection.query_progress()
            except Exception:  # the work was stopped, and its connection closed
                return
            if share >= 0:
                tell(min(share / 100, 1.0))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    tell(1.0)
