"""Ctrl-C, a hang-up or a termination end the command with one line and 128 + the signal, at whatever moment they come.

While the command is loaded there is nothing to take away, so it ends on the spot: an error raised inside an import
could get lost, or be told by a traceback. While it works `Stopped` is raised, and what was made for a while goes as
after any other error. It is raised in our own code alone: inside an import, or inside a library, it could be lost, and
some end the process when an error comes where they expect none. There it is noted, tried again after a moment, and
raised at the next `check` at the latest. When the command ends, nothing may stop it any more.
"""

from __future__ import annotations

import os
import signal
import sys

from shortlist._runtime import SIGNAL_CHECKS

TYPE_CHECKING = False  # that of `typing`, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any, Literal

STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name))


OURS = os.path.dirname(os.path.abspath(__file__))
AGAIN = 0.02
"""Seconds until a signal that could not be raised is tried again."""


class Stopped(BaseException):
    """A signal ended the command."""


class Command:
    """What a signal does to the one command that this process runs."""

    def __init__(self) -> None:
        self.begin()
        self.clean: Callable[[], None] = lambda: None
        """Takes away what was made for a while; whoever makes such things says how."""
        self._before: dict[int, Any] = {}
        self._unraisable = sys.unraisablehook

    def begin(self) -> None:
        """As if nothing had come yet."""
        self.phase: Literal["loading", "working", "ending", "telling"] = "loading"
        self.by: int | None = None
        """The signal that came first."""
        self.more: Callable[[], str] | None = None
        """Says whether something was booked, where it may be."""
        self._process = os.getpid()

    def install(self) -> None:
        """Take the signals over, but for those that whoever started the command wants ignored (nohup)."""
        sys.unraisablehook = self._lost
        for kind in STOPS:
            if signal.getsignal(kind) is not signal.SIG_IGN:
                self._before[kind] = signal.signal(kind, self._stop)

    def ignore(self) -> None:
        """All is done and told: nothing may change it while the process ends."""
        for kind in self._before:
            signal.signal(kind, signal.SIG_IGN)

    def restore(self) -> None:
        """Give them back, for a process that goes on."""
        if hasattr(signal, "setitimer") and signal.SIGALRM in self._before:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for kind, handler in self._before.items():
            signal.signal(kind, handler)
        self._before.clear()
        sys.unraisablehook = self._unraisable

    def run(self, work: Callable[[], int]) -> int:
        """The exit code of the work, or of the signal that stopped it, which is told in one line."""
        try:
            try:
                self.phase = "working"
                code = work()
            finally:
                self.phase = "ending"
        except BaseException:
            self.phase = "ending"
            if self.by is None:
                raise
            code = 128 + self.by
        if self.by is None or code == 0:
            return code
        self._tell()
        return 128 + self.by

    def check(self) -> None:
        """Raise a signal that was noted and could not be raised when it came."""
        if self.by is not None and self.phase == "working":
            raise Stopped

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._process:  # a forked child: its parent tells
            os._exit(128 + number)
        if self.phase == "loading":
            _end("shortlist: stopped; nothing was booked\n", number)
        if self.phase == "telling":
            _end("shortlist: stopped; see `shortlist ledger show` for what was booked\n", self.by or number)
        self.by = self.by or number
        self._raise(frame)

    def _raise(self, frame: FrameType | None) -> None:
        """Raise, if an error reaches us from there; otherwise try again."""
        if self.phase != "working":
            return
        if _reaches_us(frame):
            raise Stopped
        if hasattr(signal, "setitimer"):
            if signal.SIGALRM not in self._before:
                self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, lambda _, frame: self._raise(frame))
            signal.setitimer(signal.ITIMER_REAL, AGAIN)

    def _lost(self, event: Any) -> None:
        """Python cannot raise in a finalizer, and would print a traceback."""
        if not isinstance(event.exc_value, Stopped):
            self._unraisable(event)

    def _tell(self) -> None:
        self.clean()
        self.phase = "telling"
        state = "nothing was booked" if self.more is None else self.more()
        self.phase = "ending"
        _write(f"shortlist: stopped; {state}\n")


COMMAND = Command()
SIGNAL_CHECKS.append(COMMAND.check)


def _reaches_us(frame: FrameType | None) -> bool:
    """Whether no import and no library stands between that frame and our own code."""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(OURS):
            return True
        if file.startswith("<frozen importlib") or "site-packages" in file or "dist-packages" in file:
            return False
        frame = frame.f_back
    return True


def _write(text: str) -> None:
    """To the screen, whoever still listens."""
    try:
        os.write(2, text.encode(errors="replace"))
    except OSError:
        return


def _end(text: str, number: int) -> None:
    _write(text)
    os._exit(128 + number)
