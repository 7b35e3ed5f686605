"""One interrupt in a run, at a place of our choice: a trace hook raises KeyboardInterrupt at its n-th line."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from pathlib import Path

import shortlist

OURS = str(Path(shortlist.__file__).parent)
FILES = (contextlib.__file__,)
"""Whose lines count besides ours: what our code calls while it holds something."""


HOLDING = ("ledger/sqlite.py", "ledger/sqlite.py", "server/line.py", "contextlib.py")


class Interrupt(KeyboardInterrupt):
    """Ours, and no one's at the keyboard."""


def interrupted(work, place, *, opcodes=False):
    """Run work() with an interrupt at its `place`-th line or return (or operation), from 1.

    Returns the interrupt, whose traceback holds all frames as a notebook's would, or None if work has fewer lines.
    """

    def press_control_c():
        raise Interrupt

    interrupt = None
    try:
        at_line(work, place, press_control_c, opcodes=opcodes)
    except Interrupt as raised:
        interrupt = raised
    forget_handled()
    return interrupt


def forget_handled():
    """Where a hook raises just as an `except` ends, Python goes on as if that exception were handled for ever.

    No program of a user has such a hook. Call it where nothing is handled.
    """
    ctypes.pythonapi.PyErr_SetHandledException(ctypes.py_object(None))


def at_line(work, place, act, *, opcodes=False):
    """Run work(), and act() at its `place`-th line or return (or operation).

    Lines of modules that hold nothing, such as sums and checks of rows, count when they are first reached.
    """
    left, passed = place, set()

    def watch(frame, event, _argument):
        nonlocal left
        name = frame.f_code.co_filename
        if not (name.startswith(OURS) or name in FILES):
            return None
        if opcodes:
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        here = name, frame.f_lineno, event
        if event == "opcode" or (event in ("line", "return") and (name.endswith(HOLDING) or here not in passed)):
            passed.add(here)
            left -= 1
            if left == 0:
                act()
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        work()
    finally:
        sys.settrace(before)


def every_place(run, *, opcodes=False, step=1):
    """Interrupt fresh runs at every place in turn: `run()` returns (work, check), `check(interrupt)` looks at the mess.

    Returns how many interrupts there were.
    """
    place = 1
    while True:
        work, check = run()
        interrupt = interrupted(work, place, opcodes=opcodes)
        if interrupt is None:
            return (place - 1) // step
        check(interrupt)
        place += step
