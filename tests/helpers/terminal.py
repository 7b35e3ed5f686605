"""Commands as a person meets them: real processes, in a pipe or on a real terminal; or, sooner, in this process."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

from shortlist._signals import COMMAND
from shortlist.cli.app import work

SHORTLIST = Path(sys.executable).parent / "shortlist"


def run(*arguments, cwd=None):
    """In a pipe."""
    command = [str(SHORTLIST), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def main():
    """As the console's own `main`, for a process that goes on: it gets its signals back."""
    COMMAND.begin()
    COMMAND.install()
    try:
        sys.exit(COMMAND.run(work))
    finally:
        COMMAND.restore()


def called(*arguments, cwd=None):
    """In this process, for a test of words and files: a process takes longer to start than most commands to work."""
    command, out, err = ["shortlist", *map(str, arguments)], io.StringIO(), io.StringIO()
    with (
        patch("sys.argv", command), contextlib.chdir(cwd or "."), contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):  # fmt: skip
        code: Any = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
    return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())


class Terminal:
    """A process on a pseudo-terminal."""

    def __init__(self, *arguments, cwd=None, columns=100):
        self.master, slave = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns)}
        environment.pop("NO_COLOR", None)
        command = [str(SHORTLIST), *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, cwd=cwd, env=environment, start_new_session=True
        )
        os.close(slave)
        self.raw = b""

    def read(self, until=None):
        """Everything shown until the process ends, or until some text is shown; only the test's own limit ends it."""
        while True:
            ready, _, _ = select.select([self.master], [], [], 0.1)
            if ready:
                try:
                    piece = os.read(self.master, 65536)
                except OSError:  # the other end is closed
                    break
                self.raw += piece
            if until is not None and until in self.shown:
                return self.shown
            if self.process.poll() is not None and not ready:
                break
        self.process.wait()
        return self.shown

    @property
    def shown(self):
        """As a person sees it, without colours."""
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.raw.decode(errors="replace")).replace("\r\n", "\n")
