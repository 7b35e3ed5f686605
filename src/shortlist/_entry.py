"""Where the `shortlist` command begins: signals first, then all that takes time to load.

So this is the one place where a module of ours is imported inside a function: what comes before `install` could be
stopped by a traceback.
"""

from __future__ import annotations

import sys

from shortlist._signals import COMMAND


def main() -> None:
    """Run the command and end the process.

    It ends with 0, 1 for bad input, 2 for bad usage, 3 for an exceeded budget, 4 while a release waits for
    somebody's approval, 5 if it is not known whether a charge was booked, or 128 + a signal that
    stopped it (130 for Ctrl-C).
    """
    COMMAND.install()
    from shortlist.cli.app import load, work

    load(sys.argv[1:])
    code = COMMAND.run(work)
    COMMAND.ignore()
    sys.exit(code)
