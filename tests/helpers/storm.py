"""One interrupt per run, at every place where Python code of ours can be interrupted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import shortlist
from tests.helpers.interrupting import forget_handled

HOME = Path(shortlist.__file__).parent


class MissedError(AssertionError):
    """A place that was not reached again: some lines run for some numbers only."""


class Storm:
    """Work that is run once to see where it passes, and then once for each place, interrupted there.

    A place is a line before it runs, or a return before it happens, the first time that it is reached.
    """

    def __init__(self, work, files, before=lambda: None):
        self._work, self._before = work, before
        self._files = {str(HOME / name) for name in files}
        assert all(Path(file).is_file() for file in self._files)
        self.places: list[Any] = []

        def note(place):
            if place not in self.places:
                self.places.append(place)

        work()  # what only the first run does is not reached again
        self._traced(note)

    def strike(self, place, deliver):
        """Run the work and deliver the interrupt at that place; returns what the work returned, or raises."""
        struck: list[Any] = []

        def look(here):
            if here == place and not struck:
                struck.append(here)
                deliver()

        try:
            returned = self._traced(look)
        finally:
            if not struck:
                raise MissedError(f"{place} was not reached again")
        forget_handled()
        return returned

    def _traced(self, look):
        def local(frame, event, _):
            if event in ("line", "return"):
                look((event, Path(frame.f_code.co_filename).name, frame.f_code.co_name, frame.f_lineno))
            return local

        def traced(frame, event, _):
            return local if frame.f_code.co_filename in self._files else None

        forget_handled()  # of a strike that raised
        self._before()
        before = sys.gettrace()
        sys.settrace(traced)
        try:
            return self._work()
        finally:
            sys.settrace(before)


def interrupt():
    """As Python's own handler of Ctrl-C does."""
    raise KeyboardInterrupt
